# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whether PX4 believes of a vehicle's surfaces what the vehicle file says of them.

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

_FIRST_SURFACE = 201            # of PWM_MAIN_FUNCn
_AXES = ('R', 'rolls', ('left', 'right')), ('P', 'pitches', ('down', 'up')), (
    'Y', 'yaws', ('left', 'right'))
# Of the largest moment of a surface: less is by the way.
_MATTERS = 0.05
# The air is thinner at home than PX4's calibrated airspeed has it, and stall is no sharp edge.
_STALL_TOLERANCE = 0.1

# What PX4's airframes set (ROMFS/px4fmu_common/init.d-posix/airframes), as far as it is read here.
_AILERONS_AND_ELEVATOR = {
    'CA_SV_CS0_TRQ_R': -0.5, 'CA_SV_CS1_TRQ_R': 0.5, 'CA_SV_CS2_TRQ_P': 1.0}
_AIRFRAMES: dict[int, dict[str, float]] = {
    1030: {**_AILERONS_AND_ELEVATOR, 'CA_SV_CS3_TRQ_Y': 1.0, 'PWM_MAIN_FUNC3': 204,
           'PWM_MAIN_FUNC6': 201, 'PWM_MAIN_FUNC7': 202, 'PWM_MAIN_FUNC8': 203,
           'PWM_MAIN_REV': 256},
    1040: {**_AILERONS_AND_ELEVATOR, 'PWM_MAIN_FUNC6': 201, 'PWM_MAIN_FUNC7': 202,
           'PWM_MAIN_FUNC8': 203},
    1041: {'CA_SV_CS0_TRQ_P': 0.5, 'CA_SV_CS0_TRQ_Y': -0.5, 'CA_SV_CS1_TRQ_P': 0.5,
           'CA_SV_CS1_TRQ_Y': 0.5, 'PWM_MAIN_FUNC6': 201, 'PWM_MAIN_FUNC7': 202,
           'PWM_MAIN_REV': 96},
    1042: {**_AILERONS_AND_ELEVATOR, 'PWM_MAIN_FUNC7': 201, 'PWM_MAIN_FUNC8': 202,
           'PWM_MAIN_FUNC9': 203},
}


def of_surfaces(vehicle: Vehicle) -> list[str]:
    """Return a sentence about each servo whose surfaces turn the vehicle the wrong way."""
    told = {**_AIRFRAMES.get(vehicle.px4_airframe, {}), **vehicle.px4_parameters}
    return [f'servos.{servo.name}: {reason}' for servo in vehicle.servos
            for reason in _reasons(vehicle, servo, told)]


def of_stall(vehicle: Vehicle, stall_speed_m_s: float) -> list[str]:
    """Return a sentence about the stall speed that PX4 is told, if the wing has another one."""
    told = vehicle.px4_parameters.get('FW_AIRSPD_STALL')
    if told is None or abs(told - stall_speed_m_s) <= _STALL_TOLERANCE * stall_speed_m_s:
        return []
    reason = f'by surfaces and mass it is {stall_speed_m_s:.3g} m/s'
    return [f'px4_parameters.FW_AIRSPD_STALL = {told:g}: {reason}']


def _reasons(
    vehicle: Vehicle, servo: Servo, told: typing.Mapping[str, float],
) -> list[str]:
    """Return what a servo does otherwise than PX4 believes."""
    output = servo.control + 1
    surface = int(told.get(f'PWM_MAIN_FUNC{output}', 0)) - _FIRST_SURFACE
    turned = -1.0 if int(told.get('PWM_MAIN_REV', 0)) >> servo.control & 1 else 1.0
    moment_frd = scaled(turned, _moment_frd(vehicle, servo))
    reasons: list[str] = []
    for (axis, verb, ways), moment in zip(_AXES, moment_frd):
        name = f'CA_SV_CS{surface}_TRQ_{axis}'
        believed = told.get(name, 0.0)
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
