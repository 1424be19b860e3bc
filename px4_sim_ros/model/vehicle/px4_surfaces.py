# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whether PX4 believes of a vehicle's wing and surfaces what the vehicle file says of them.

PX4 has the torque of each control surface in forward, right and down axes (CA_SV_CS0_TRQ_R and
following), which output moves it (PWM_MAIN_FUNC1 and following: 201 is surface 0), and which
outputs are turned round (PWM_MAIN_REV, a bit for each), in the axes of the file, also where that
stands on its tail.
"""
from __future__ import annotations

import math
import typing

from px4_sim_ros.model.frames import flu_to_frd
from px4_sim_ros.model.rotation import cross, scaled, unit
from px4_sim_ros.model.vehicle.elements import Servo
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.model.vehicle.wing_figures import WingFigures

_FIRST_SURFACE = 201            # of PWM_MAIN_FUNCn
_AXES = ('R', 'rolls', ('left', 'right')), ('P', 'pitches', ('down', 'up')), (
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


def told(vehicle: Vehicle) -> dict[str, float]:
    """Return what PX4 has of a vehicle: its defaults, the airframe's, the file's parameters.

    Of an airframe that is not known here it is that of the file.
    """
    airframe = _AIRFRAMES.get(vehicle.px4_airframe)
    known = {} if airframe is None else {**_DEFAULTS, **airframe}
    return {**known, **vehicle.px4_parameters}


def said(vehicle: Vehicle, name: str) -> str:
    """Return the beginning of a sentence about a parameter: its value, and whose it is."""
    if name in vehicle.px4_parameters:
        return f'px4_parameters.{name} = {vehicle.px4_parameters[name]:g}'
    reason = f'px4_parameters.{name} is missing, and PX4 has {told(vehicle)[name]:g}'
    return reason


def of_surfaces(vehicle: Vehicle) -> list[str]:
    """Return a sentence about each servo whose surfaces turn the vehicle the wrong way."""
    has = told(vehicle)
    return [f'servos.{servo.name}: {reason}' for servo in vehicle.servos
            for reason in _reasons(vehicle, servo, has)]


def of_wing(vehicle: Vehicle, figures: WingFigures) -> list[str]:
    """Return a sentence about each parameter of PX4 that is not as the wing is.

    A feed-forward is the deflection over the rate that it gives, at the trim speed of PX4.
    """
    has = told(vehicle)
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
    """Return what a servo does otherwise than PX4 believes."""
    output = servo.control + 1
    surface = int(has.get(f'PWM_MAIN_FUNC{output}', 0)) - _FIRST_SURFACE
    turned = -1.0 if int(has.get('PWM_MAIN_REV', 0)) >> servo.control & 1 else 1.0
    moment_frd = scaled(turned, _moment_frd(vehicle, servo))
    reasons: list[str] = []
    for (axis, verb, ways), moment in zip(_AXES, moment_frd):
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
