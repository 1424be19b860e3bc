# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whether a vehicle's PX4 parameters say of its parts what the vehicle file says of them.

PX4's control allocation has rotors in forward, right and down axes, and a moment coefficient that
is positive for one that turns counter-clockwise seen from above (PX4's parameter reference,
CA_ROTOR0_PX and following); what a file does not set is the airframe's. Its rovers know track,
base, steering angle and top speed.
"""
from __future__ import annotations

import math
import re
import typing

from px4_sim_ros.model.parameters import Parameters
from px4_sim_ros.model.vehicle.px4_surfaces import of_surfaces, of_wing, said, told
from px4_sim_ros.model.vehicle.sections import Rotor
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.model.vehicle.vehicle_figures import Figures
from px4_sim_ros.model.vehicle.wheel_figures import base_m, steering_rad, top_speed_m_s, track_m
from px4_sim_ros.model.vehicle.wing_figures import WingFigures

# Parameters are often rounded; a rotor on the other side is never nearer than this.
_TOLERANCE_M = 0.01
_TOLERANCE = 0.02
_HOVER_TOLERANCE = 0.05
_FIRST_MOTOR = 101              # of PWM_MAIN_FUNCn
_SAME_WAY = math.cos(math.radians(45.0))
_ROTOR_PARAMETER = re.compile(r'CA_ROTOR(\d+)_(PX|PY|PZ|KM)')
# Axis of position_m (forward, left, up), its sign there, and the words for it.
_AXES = {'PX': (0, 1.0, 'forward'), 'PY': (1, -1.0, 'to the right'), 'PZ': (2, -1.0, 'down')}

_OF_WHEELS: dict[str, tuple[typing.Callable[[Vehicle], float], str]] = {
    'RD_WHEEL_TRACK': (track_m, 'm'), 'RA_WHEEL_BASE': (base_m, 'm'),
    'RA_MAX_STR_ANG': (steering_rad, 'rad'), 'RO_MAX_THR_SPEED': (top_speed_m_s, 'm/s')}


def contradictions(vehicle: Vehicle, figures: typing.Iterable[Parameters] = ()) -> list[str]:
    """Return a sentence about each parameter that is not as the parts and figures are.

    :param figures: of `all_figures`
    """
    motors = _motors(vehicle)
    found = [f'px4_parameters.{name} = {value:g}: {reason}'
             for name, value in vehicle.px4_parameters.items()
             if (reason := _reason(vehicle, motors, name, value)
                 or _of_wheels(vehicle, name, value))]
    found = found or _of_order(vehicle, motors)
    for some in figures:
        if isinstance(some, Figures):
            found += _of_hover(vehicle, some)
        elif isinstance(some, WingFigures):
            found += of_wing(vehicle, some)
    return found + of_surfaces(vehicle)


def _motors(vehicle: Vehicle) -> dict[int, Rotor]:
    """Return the rotors by PX4's motor, from 0 on: the function of the output that drives each."""
    has = told(vehicle)
    outputs = [i if rotor.control < 0 else rotor.control
               for i, rotor in enumerate(vehicle.rotors)]
    return {int(has.get(f'PWM_MAIN_FUNC{output + 1}', _FIRST_MOTOR + output)) - _FIRST_MOTOR: rotor
            for output, rotor in zip(outputs, vehicle.rotors)}


def _of_hover(vehicle: Vehicle, figures: Figures) -> list[str]:
    """Return a sentence if PX4 begins with another hover thrust."""
    value = told(vehicle).get('MPC_THR_HOVER', figures.hover_command)
    return [] if abs(value - figures.hover_command) <= _HOVER_TOLERANCE else [
        f"{said(vehicle, 'MPC_THR_HOVER')}: hover_command is {figures.hover_command:.3g}"]


def _of_order(vehicle: Vehicle, motors: typing.Mapping[int, Rotor]) -> list[str]:
    """Return a sentence about each rotor that is not where, or does not turn as, PX4 has it.

    Airframes have rotors of other frames, so only the direction of a place counts.
    """
    has = told(vehicle)
    sentences: list[str] = []
    for i, rotor in sorted(motors.items()):
        if not 0 <= i < has.get('CA_ROTOR_COUNT', 0):
            if 'CA_ROTOR_COUNT' in has:
                sentences.append(f'rotors: no output of PX4 drives the one at {rotor.position_m}:'
                             f' see PWM_MAIN_FUNCn and CA_ROTOR_COUNT')
            continue
        right, forward = -rotor.position_m[1], rotor.position_m[0]
        told_place = has.get(f'CA_ROTOR{i}_PX', 0.0), has.get(f'CA_ROTOR{i}_PY', 0.0)
        spin = has.get(f'CA_ROTOR{i}_KM', 0.0) * rotor.spin
        along = forward * told_place[0] + right * told_place[1]
        if rotor.lifts and (
                along < _SAME_WAY * math.hypot(forward, right) * math.hypot(*told_place)
                or spin < 0.0):
            sentences.append(
                f'rotors: the one of motor {i + 1} is {forward:g} m forward and {right:g} m to the'
                f' right and turns {rotor.turns}; PX4 has it at CA_ROTOR{i}_PX ='
                f' {told_place[0]:g}, CA_ROTOR{i}_PY = {told_place[1]:g}, CA_ROTOR{i}_KM ='
                f" {has.get(f'CA_ROTOR{i}_KM', 0.0):g}")
    return sentences


def _of_wheels(vehicle: Vehicle, name: str, value: float) -> str:
    """Return what contradicts a parameter of a rover, '' for nothing."""
    if not vehicle.drives or name not in _OF_WHEELS:
        return ''
    figure, unit = _OF_WHEELS[name]
    expected = figure(vehicle)
    return '' if abs(value - expected) <= _TOLERANCE * expected else (
        f'by wheels, servos and motors it is {expected:.4g} {unit}')


def _reason(
    vehicle: Vehicle, motors: typing.Mapping[int, Rotor], name: str, value: float,
) -> str:
    """Return what contradicts one parameter, '' for nothing."""
    count = len(vehicle.rotors)
    if name == 'CA_ROTOR_COUNT' and value != count:
        return f'there are {count} rotors'
    match = _ROTOR_PARAMETER.fullmatch(name)
    if match is None:
        return ''
    index, key = int(match[1]), match[2]
    if index not in motors:
        return f'there are {count} rotors, from 0 on'
    rotor = motors[index]
    if key == 'KM':
        sign = 'positive' if rotor.spin > 0.0 else 'negative'
        return '' if value * rotor.spin > 0.0 else (
            f'must be {sign}, since this rotor turns {rotor.turns}')
    axis, side, words = _AXES[key]
    expected_m = side * rotor.position_m[axis] + 0.0       # without the sign of a zero
    return '' if abs(value - expected_m) <= _TOLERANCE_M else (
        f'by position_m this rotor is {expected_m:g} m {words}')
