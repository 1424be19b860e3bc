# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of whoever drives the clock."""
from __future__ import annotations

import dataclasses

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.parameters import Parameters, parameter

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
    step_count: int = parameter('steps that sim/step goes on while paused', minimum=1)
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
