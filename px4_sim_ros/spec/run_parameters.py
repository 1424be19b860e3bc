# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the clock, of a recording and of a replay."""
from __future__ import annotations

import dataclasses

from px4_sim_ros.model.errors import ParameterError, did_you_mean, shown
from px4_sim_ros.model.parameters import Parameters, parameter
from px4_sim_ros.step import side_topics
from px4_sim_ros.step.graph import Graph

_SLOWEST, _FASTEST = 0.01, 1000.0
SPEEDS = f'0 or at least {_SLOWEST:g} and at most {_FASTEST:g}'
"""The speed factors that are allowed, in words."""


def is_speed(factor: float) -> bool:
    """Return whether a speed factor is allowed."""
    # A signal has to wait for the end of a step.
    return factor == 0.0 or _SLOWEST <= factor <= _FASTEST


@dataclasses.dataclass(frozen=True)
class ManagerParameters(Parameters):
    """How time passes, and what happens when it does not."""

    speed_factor: float = parameter(
        'simulated over wall time; 0 means as fast as possible', minimum=0, maximum=_FASTEST)
    paused: bool = parameter('hold time, from the start on or at the end of this step')
    step_count: int = parameter('steps that sim/step takes while paused', minimum=1)
    startup_timeout_s: float = parameter(
        'wall time for all nodes to become active', 's', above=0)
    step_timeout_s: float = parameter(
        'wall time after which a step that is not complete is overdue', 's', above=0)
    on_overdue: str = parameter(
        'what to do when a step is overdue', choices=('wait', 'pause', 'fail'))

    def __post_init__(self) -> None:
        if not is_speed(self.speed_factor):
            raise ParameterError(
                f'speed_factor = {self.speed_factor}: must be 0 or at least {_SLOWEST}')


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
        'what becomes of the run when recording fails',
        choices=('continue', 'fail'))


def recorded(graph: Graph, parameters: RecorderParameters) -> dict[str, int]:
    """Return of how many messages of a topic one is recorded, 0: none, by its name in the graph."""
    known, wanted = [*graph.topics, *side_topics.RECORDED], parameters.topics.split()
    for name in wanted:
        if name not in known:
            raise ParameterError(f'recorder.topics = {shown(name)}: there is no such topic'
                                 f'{did_you_mean(name, known)}; there are {", ".join(known)}')
    return {name: 0 if wanted and name not in wanted
            else 1 if name in side_topics.RECORDED else parameters.every for name in known}


@dataclasses.dataclass(frozen=True)
class PlayerParameters(Parameters):
    """Which flight is flown again."""

    bag: str = parameter('folder whose actuator commands are used')
