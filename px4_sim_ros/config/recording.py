# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of recording and of flying a recording again."""
from __future__ import annotations

import dataclasses

from px4_sim_ros.model.parameters import Parameters, parameter


@dataclasses.dataclass(frozen=True)
class RecorderParameters(Parameters):
    """Where a bag goes, and how."""

    folder: str = parameter('that the bag becomes; it must not exist yet')
    run_file: str = parameter('description of the run that the bag carries')
    compression: str = parameter('of each chunk', choices=('none', 'lz4', 'zstd'))
    flush_us: int = parameter(
        'simulated time after which what was recorded is on disk', 'us', minimum=1000)
    split_size_mb: float = parameter('a new file after so much; 0: never', 'MB', minimum=0)
    split_duration_s: float = parameter(
        'a new file after so much simulated time; 0: never', 's', minimum=0)
    on_failure: str = parameter(
        'what becomes of the run when nothing can be recorded any more',
        choices=('continue', 'fail'))


@dataclasses.dataclass(frozen=True)
class PlayerParameters(Parameters):
    """Which flight is flown again."""

    bag: str = parameter('folder whose actuator commands are used')
