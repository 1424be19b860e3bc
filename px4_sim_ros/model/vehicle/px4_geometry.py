# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whether a vehicle's PX4 parameters say of its parts what the vehicle file says of them.

PX4's control allocation has rotors in forward, right and down axes, and a moment coefficient that
is positive for one that turns counter-clockwise seen from above (PX4's parameter reference,
CA_ROTOR0_PX and following). Its rovers know track, base, steering angle and top speed.
"""
from __future__ import annotations

import re
import typing

from px4_sim_ros.model.vehicle.px4_surfaces import of_stall, of_surfaces
from px4_sim_ros.model.vehicle.sections import Rotor
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.model.vehicle.wheel_figures import base_m, steering_rad, top_speed_m_s, track_m

# Parameters are often rounded; a rotor on the other side is never nearer than this.
_TOLERANCE_M = 0.01
_TOLERANCE = 0.02
_ROTOR_PARAMETER = re.compile(r'CA_ROTOR(\d+)_(PX|PY|PZ|KM)')
# Axis of position_m (forward, left, up), its sign there, and the words for it.
_AXES = {'PX': (0, 1.0, 'forward'), 'PY': (1, -1.0, 'to the right'), 'PZ': (2, -1.0, 'down')}

_OF_WHEELS: dict[str, tuple[typing.Callable[[Vehicle], float], str]] = {
    'RD_WHEEL_TRACK': (track_m, 'm'), 'RA_WHEEL_BASE': (base_m, 'm'),
    'RA_MAX_STR_ANG': (steering_rad, 'rad'), 'RO_MAX_THR_SPEED': (top_speed_m_s, 'm/s')}


def contradictions(vehicle: Vehicle, stall_speed_m_s: float | None = None) -> list[str]:
    """Return a sentence about each parameter that is not as rotors, wheels and surfaces are.

    :param stall_speed_m_s: of its wing, if it has one
    """
    found = [f'px4_parameters.{name} = {value:g}: {reason}'
            for name, value in vehicle.px4_parameters.items()
            if (reason := _reason(vehicle.rotors, name, value) or _of_wheels(vehicle, name, value))]
    if stall_speed_m_s is not None:
        found += of_stall(vehicle, stall_speed_m_s)
    return found + of_surfaces(vehicle)


def _of_wheels(vehicle: Vehicle, name: str, value: float) -> str:
    """Return what contradicts a parameter of a rover, '' for nothing."""
    if not vehicle.drives or name not in _OF_WHEELS:
        return ''
    figure, unit = _OF_WHEELS[name]
    expected = figure(vehicle)
    return '' if abs(value - expected) <= _TOLERANCE * expected else (
        f'by wheels, servos and motors it is {expected:.4g} {unit}')


def _reason(rotors: typing.Sequence[Rotor], name: str, value: float) -> str:
    """Return what contradicts one parameter, '' for nothing."""
    count = len(rotors)
    if name == 'CA_ROTOR_COUNT' and value != count:
        return f'there are {count} rotors'
    match = _ROTOR_PARAMETER.fullmatch(name)
    if match is None:
        return ''
    index, key = int(match[1]), match[2]
    if index >= count:
        return f'there are {count} rotors, from 0 on'
    rotor = rotors[index]
    if key == 'KM':
        sign = 'positive' if rotor.spin > 0.0 else 'negative'
        return '' if value * rotor.spin > 0.0 else (
            f'must be {sign}, since this rotor turns {rotor.turns}')
    axis, side, words = _AXES[key]
    expected_m = side * rotor.position_m[axis] + 0.0       # without the sign of a zero
    return '' if abs(value - expected_m) <= _TOLERANCE_M else (
        f'by position_m this rotor is {expected_m:g} m {words}')
