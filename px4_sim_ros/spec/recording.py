# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of recording and of flying a recording again."""
from __future__ import annotations

import dataclasses

from px4_sim_ros.model.errors import ParameterError, did_you_mean
from px4_sim_ros.model.parameters import Parameters, parameter
from px4_sim_ros.step import side_topics
from px4_sim_ros.step.graph import Graph


@dataclasses.dataclass(frozen=True)
class RecorderParameters(Parameters):
    """Where a bag goes, and how."""

    folder: str = parameter('that the bag becomes; it must not exist yet')
    run_file: str = parameter('description of the run that the bag carries')
    topics: str = parameter(
        'which are recorded, separated by spaces, as they are called in the graph; empty: all.'
        ' What replay and report need may be missing then')
    every: int = parameter(
        'of so many messages of a topic of the step one is recorded; replay needs all', minimum=1)
    compression: str = parameter('of each chunk', choices=('none', 'lz4', 'zstd'))
    flush_us: int = parameter(
        'simulated time after which what was recorded is on disk', 'us', minimum=1000)
    split_size_mb: float = parameter('a new file after so much; 0: never', 'MB', minimum=0)
    split_duration_s: float = parameter(
        'a new file after so much simulated time; 0: never', 's', minimum=0)
    on_failure: str = parameter(
        'what becomes of the run when nothing can be recorded any more',
        choices=('continue', 'fail'))


def recorded(graph: Graph, parameters: RecorderParameters) -> dict[str, int]:
    """Return of how many messages of a topic one is recorded, 0: none, by its name in the graph.

    :raises ParameterError: a topic that is named is none
    """
    known, wanted = [*graph.topics, *side_topics.RECORDED], parameters.topics.split()
    for name in wanted:
        if name not in known:
            raise ParameterError(f'recorder.topics = {name!r}: there is no such topic'
                                 f'{did_you_mean(name, known)}; there are {", ".join(known)}')
    return {name: 0 if wanted and name not in wanted
            else 1 if name in side_topics.RECORDED else parameters.every for name in known}


@dataclasses.dataclass(frozen=True)
class PlayerParameters(Parameters):
    """Which flight is flown again."""

    bag: str = parameter('folder whose actuator commands are used')
