# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the embedded autopilot cannot do, said before anything starts."""
from __future__ import annotations

from px4_sim_ros.link.pilot.block import UPLOADED, PilotParameters
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.faults.autopilot import AutopilotParameter, Mode, Px4Failure, Sticks
from px4_sim_ros.model.vehicle.checks import check_is_multirotor
from px4_sim_ros.spec.configuration import Configuration

_BY_HAND = 'the embedded autopilot has no modes to fly by hand'
_CANNOT = {
    Sticks: f'sticks: {_BY_HAND}', Mode: f'mode: {_BY_HAND}',
    AutopilotParameter: 'parameter: the embedded autopilot has none',
    Px4Failure: 'px4_failure: the embedded autopilot has none'}


def check_embedded(configuration: Configuration) -> None:
    """Check that the embedded autopilot can fly what is wanted.

    :raises ParameterError: only PX4 can, and why
    """
    check_is_multirotor(configuration.vehicle)
    if 'pilot' in configuration.nodes and (
            configuration.of_node('pilot', PilotParameters).missions == UPLOADED):
        raise ParameterError(
            f'pilot.missions = {UPLOADED!r}: the embedded autopilot has no navigator; fly with the'
            ' autopilot px4')
    for event in configuration.scenario.events if configuration.scenario else ():
        if (reason := _CANNOT.get(type(event.action))) and not event.refused:
            raise ParameterError(f'scenario {configuration.world.scenario}: event {event.name}:'
                                 f' {reason}; fly with the autopilot px4')
