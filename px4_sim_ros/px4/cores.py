# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which core an autopilot has for itself."""
from __future__ import annotations

import os
import typing


def core_of(instance: int, cores: typing.Iterable[int]) -> int:
    """Return which of some cores an autopilot keeps to; each instance has another while they last.

    The first core is left to the world.
    """
    found = sorted(cores)
    return found[-1 - instance % max(len(found) - 1, 1)]


def shared_core_of(instance: int) -> int:
    """Return the core that an autopilot has with the step, which needs no other one.

    So each instance has another while they last, and the first core is one of them.
    """
    cores = sorted(os.sched_getaffinity(0))
    return cores[-1 - instance % len(cores)]
