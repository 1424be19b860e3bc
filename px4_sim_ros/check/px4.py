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

from px4_sim_ros.check.body import base_m, steering_rad, top_speed_m_s, track_m
from px4_sim_ros.check.figures import Figures
from px4_sim_ros.check.wings import WingFigures
from px4_sim_ros.model.frames import flu_to_frd
from px4_sim_ros.model.parameters import Parameters
from px4_sim_ros.model.rotation import cross, scaled, unit
from px4_sim_ros.model.vehicle.elements import Servo
from px4_sim_ros.model.vehicle.sections import Rotor
from px4_sim_ros.model.vehicle.vehicle import Vehicle

# Whether PX4 believes of a vehicle's wing and surfaces what the vehicle file says of them.
#
# PX4 has the torque of each control surface in forward, right and down axes (CA_SV_CS0_TRQ_R and
# following), which output moves it (PWM_MAIN_FUNC1 and following: 201 is surface 0), and which
# outputs are turned round (PWM_MAIN_REV, a bit for each), in the axes of the file, also where
# that stands on its tail.

_FIRST_SURFACE = 201            # of PWM_MAIN_FUNCn
_SURFACE_AXES = ('R', 'rolls', ('left', 'right')), ('P', 'pitches', ('down', 'up')), (
    'Y', 'yaws', ('left', 'right'))
# Of the largest moment of a surface: less is by the way.
_MATTERS = 0.05
# PX4's airspeed is calibrated, 2.4 % below the true one in the air at home.
_STALL_TOLERANCE = 0.05
_FEED_FORWARD_TOLERANCE = 0.2

# Defaults of PX4's parameters, and what its airframes set (ROMFS/px4fmu_common/init.d-posix/
# airframes), as far as it is read here.
_DEFAULTS: dict[str, float] = {
    'MPC_THR_HOVER': 0.5, 'FW_RR_FF': 0.5, 'FW_PR_FF': 0.5, 'FW_AIRSPD_STALL': 7.0,
    'FW_AIRSPD_TRIM': 15.0}
_AILERONS_AND_ELEVATOR = {
    'CA_SV_CS0_TRQ_R': -0.5, 'CA_SV_CS1_TRQ_R': 0.5, 'CA_SV_CS2_TRQ_P': 1.0}
_FOUR_MOTORS = {f'PWM_MAIN_FUNC{i}': 100.0 + i for i in range(1, 5)}


def _rotors(*places: tuple[float, float, float]) -> dict[str, float]:
    """Return the parameters of rotors by forward, right and moment coefficient."""
    return {f'CA_ROTOR{i}_{key}': value for i, place in enumerate(places)
            for key, value in zip(('PX', 'PY', 'KM'), place)}


_QUAD = _rotors((0.1515, 0.245, 0.05), (-0.1515, -0.1875, 0.05),
                (0.1515, -0.245, -0.05), (-0.1515, 0.1875, -0.05))
_AIRFRAMES: dict[int, dict[str, float]] = {
    1030: {**_AILERONS_AND_ELEVATOR, 'CA_SV_CS3_TRQ_Y': 1.0, 'PWM_MAIN_FUNC3': 204,
           'PWM_MAIN_FUNC5': 101, 'PWM_MAIN_FUNC6': 201, 'PWM_MAIN_FUNC7': 202,
           'PWM_MAIN_FUNC8': 203, 'PWM_MAIN_REV': 256, 'CA_ROTOR_COUNT': 1},
    1040: {**_AILERONS_AND_ELEVATOR, **_FOUR_MOTORS, **_QUAD, 'CA_ROTOR_COUNT': 5,
           'PWM_MAIN_FUNC5': 105, 'PWM_MAIN_FUNC6': 201, 'PWM_MAIN_FUNC7': 202,
           'PWM_MAIN_FUNC8': 203, 'FW_RR_FF': 0.1, 'FW_PR_FF': 0.2},
    1041: {**_FOUR_MOTORS, **_rotors((1, 1, 0.05), (-1, -1, 0.05), (1, -1, -0.05), (-1, 1, -0.05)),
           'CA_ROTOR_COUNT': 4, 'CA_SV_CS0_TRQ_P': 0.5, 'CA_SV_CS0_TRQ_Y': -0.5,
           'CA_SV_CS1_TRQ_P': 0.5, 'CA_SV_CS1_TRQ_Y': 0.5, 'PWM_MAIN_FUNC6': 201,
           'PWM_MAIN_FUNC7': 202, 'PWM_MAIN_REV': 96, 'FW_RR_FF': 0.1, 'FW_PR_FF': 0.0},
    1042: {**_AILERONS_AND_ELEVATOR, **_FOUR_MOTORS, **_QUAD, 'CA_ROTOR_COUNT': 4,
           'PWM_MAIN_FUNC7': 201, 'PWM_MAIN_FUNC8': 202, 'PWM_MAIN_FUNC9': 203,
           'FW_RR_FF': 0.1, 'FW_PR_FF': 0.2},
    6011: {**_FOUR_MOTORS, 'PWM_MAIN_FUNC5': 105, 'PWM_MAIN_FUNC6': 106, 'CA_ROTOR_COUNT': 6,
           **_rotors((0, 1, -0.05), (0, -1, 0.05), (0.866025, -0.5, -0.05),
                     (-0.866025, 0.5, 0.05), (0.866025, 0.5, 0.05), (-0.866025, -0.5, -0.05))},
    10016: {**_FOUR_MOTORS, **_QUAD, 'CA_ROTOR_COUNT': 4},
}


def px4_values(vehicle: Vehicle) -> dict[str, float]:
    """Return PX4's parameters of a vehicle: its defaults, the airframe's, the file's.

    Of an airframe that is not known here it is that of the file.
    """
    airframe = _AIRFRAMES.get(vehicle.px4_airframe)
    known = {} if airframe is None else {**_DEFAULTS, **airframe}
    return {**known, **vehicle.px4_parameters}


def said(vehicle: Vehicle, name: str) -> str:
    """Return the beginning of a sentence about a parameter: its value, and whose it is."""
    if name in vehicle.px4_parameters:
        return f'px4_parameters.{name} = {vehicle.px4_parameters[name]:g}'
    reason = f'px4_parameters.{name} is missing, and PX4 has {px4_values(vehicle)[name]:g}'
    return reason


def of_surfaces(vehicle: Vehicle) -> list[str]:
    """Return a sentence about each servo whose surfaces turn the vehicle the wrong way."""
    has = px4_values(vehicle)
    return [f'servos.{servo.name}: {reason}' for servo in vehicle.servos
            for reason in _reasons(vehicle, servo, has)]


def of_wing(vehicle: Vehicle, figures: WingFigures) -> list[str]:
    """Return a sentence about each parameter of PX4 that is not as the wing is.

    A feed-forward is the deflection over the rate that it gives, at the trim speed of PX4.
    """
    has = px4_values(vehicle)
    slower = figures.trim_speed_m_s / has.get('FW_AIRSPD_TRIM', figures.trim_speed_m_s)
    expected = (
        ('FW_AIRSPD_STALL', figures.stall_speed_m_s, _STALL_TOLERANCE, 'stall_speed_m_s'),
        ('FW_RR_FF', slower / figures.roll_rate_rad_s, _FEED_FORWARD_TOLERANCE,
         '1 / roll_rate_rad_s at FW_AIRSPD_TRIM'),
        ('FW_PR_FF', slower / figures.pitch_rate_rad_s, _FEED_FORWARD_TOLERANCE,
         '1 / pitch_rate_rad_s at FW_AIRSPD_TRIM'))
    return [f'{said(vehicle, name)}: {what} is {value:.3g}'
            for name, value, tolerance, what in expected
            if abs(has.get(name, value) - value) > tolerance * value]


def _reasons(
    vehicle: Vehicle, servo: Servo, has: typing.Mapping[str, float],
) -> list[str]:
    """Return how a servo differs from what PX4 believes."""
    output = servo.control + 1
    surface = int(has.get(f'PWM_MAIN_FUNC{output}', 0)) - _FIRST_SURFACE
    turned = -1.0 if int(has.get('PWM_MAIN_REV', 0)) >> servo.control & 1 else 1.0
    moment_frd = scaled(turned, _moment_frd(vehicle, servo))
    reasons: list[str] = []
    for (axis, verb, ways), moment in zip(_SURFACE_AXES, moment_frd):
        name = f'CA_SV_CS{surface}_TRQ_{axis}'
        believed = has.get(name, 0.0)
        if believed * moment < 0.0 and abs(moment) > _MATTERS * math.hypot(*moment_frd):
            reasons.append(
                f'a positive output {output} of PX4 {verb} it {ways[moment > 0.0]};'
                f' by {name} = {believed:g} it must be {ways[believed > 0.0]}')
    return reasons


def _moment_frd(vehicle: Vehicle, servo: Servo) -> tuple[float, float, float]:
    """Return the moment of a small positive control in flow along the chords, / pressure."""
    total = [0.0, 0.0, 0.0]
    for surface in vehicle.surfaces:
        if surface.servo == servo.name:
            force = scaled(
                surface.effect * surface.lift_slope * surface.area_m2, unit(surface.normal))
            total = [a + b for a, b in zip(total, cross(surface.position_m, force))]
    x, y, z = total
    return flu_to_frd(scaled(-1.0 if servo.reverse else 1.0, (x, y, z)))


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
    has = px4_values(vehicle)
    outputs = [i if rotor.control < 0 else rotor.control
               for i, rotor in enumerate(vehicle.rotors)]
    return {int(has.get(f'PWM_MAIN_FUNC{output + 1}', _FIRST_MOTOR + output)) - _FIRST_MOTOR: rotor
            for output, rotor in zip(outputs, vehicle.rotors)}


def _of_hover(vehicle: Vehicle, figures: Figures) -> list[str]:
    """Return a sentence if PX4 begins with another hover thrust."""
    value = px4_values(vehicle).get('MPC_THR_HOVER', figures.hover_command)
    return [] if abs(value - figures.hover_command) <= _HOVER_TOLERANCE else [
        f"{said(vehicle, 'MPC_THR_HOVER')}: hover_command is {figures.hover_command:.3g}"]


def _of_order(vehicle: Vehicle, motors: typing.Mapping[int, Rotor]) -> list[str]:
    """Return a sentence about each rotor that is not where, or does not turn as, PX4 has it.

    Airframes have rotors of other frames, so only the direction of a place counts.
    """
    has = px4_values(vehicle)
    sentences: list[str] = []
    for i, rotor in sorted(motors.items()):
        if not 0 <= i < has.get('CA_ROTOR_COUNT', 0):
            if 'CA_ROTOR_COUNT' in has:
                sentences.append(f'rotors: no output of PX4 drives the one at {rotor.position_m}:'
                             f' see PWM_MAIN_FUNCn and CA_ROTOR_COUNT')
            continue
        right, forward = -rotor.position_m[1], rotor.position_m[0]
        px4_place = has.get(f'CA_ROTOR{i}_PX', 0.0), has.get(f'CA_ROTOR{i}_PY', 0.0)
        spin = has.get(f'CA_ROTOR{i}_KM', 0.0) * rotor.spin
        along = forward * px4_place[0] + right * px4_place[1]
        if rotor.lifts and (
                along < _SAME_WAY * math.hypot(forward, right) * math.hypot(*px4_place)
                or spin < 0.0):
            sentences.append(
                f'rotors: the one of motor {i + 1} is {forward:g} m forward and {right:g} m to the'
                f' right and turns {rotor.turns}; PX4 has it at CA_ROTOR{i}_PX ='
                f' {px4_place[0]:g}, CA_ROTOR{i}_PY = {px4_place[1]:g}, CA_ROTOR{i}_KM ='
                f" {has.get(f'CA_ROTOR{i}_KM', 0.0):g}")
    return sentences


def _of_wheels(vehicle: Vehicle, name: str, value: float) -> str:
    """Return the contradiction to a parameter of a rover, or ''."""
    if not vehicle.drives or name not in _OF_WHEELS:
        return ''
    figure, unit = _OF_WHEELS[name]
    expected = figure(vehicle)
    return '' if abs(value - expected) <= _TOLERANCE * expected else (
        f'by wheels, servos and motors it is {expected:.4g} {unit}')


def _reason(
    vehicle: Vehicle, motors: typing.Mapping[int, Rotor], name: str, value: float,
) -> str:
    """Return the contradiction to one parameter, or ''."""
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
