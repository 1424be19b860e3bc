# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""All numbers of an autopilot: a record of what changes, and one of constants.

The law (`estimator`, `controller`, `commander`) is functions of the two, which are called `m` and
`c` there. World vectors are ENU, body vectors FLU, attitudes (w, x, y, z) from body to world.
"""
from __future__ import annotations

import dataclasses
import typing

import numpy as np

from px4_sim_ros.autopilot.commander import CommanderParameters
from px4_sim_ros.autopilot.controller import ControllerParameters, allocation
from px4_sim_ros.autopilot.estimator import EstimatorParameters
from px4_sim_ros.model.environment.atmosphere import STANDARD_GRAVITY_M_S2
from px4_sim_ros.model.parameters import Parameters
from px4_sim_ros.model.vehicle.vehicle import MOST_ROTORS, Vehicle

_VECTOR, _QUATERNION = (float, 3), (float, 4)

MEMORY = np.dtype([
    # The sample that is answered.
    ('time_us', int), ('specific_force_m_s2', *_VECTOR), ('gyro_rad_s', *_VECTOR),
    ('field_t', *_VECTOR),
    ('pressure_pa', float),
    ('fix_m', *_VECTOR), ('fix_velocity_m_s', *_VECTOR),      # in the frame of the estimate
    # The reply to it.
    ('controls', float, 16), ('reply_armed', int),
    # When the last sample of each kind came; -1: none has come.
    ('answered_us', int), ('imu_us', int), ('magnetometer_us', int), ('barometer_us', int),
    ('gnss_us', int),
    # Means at rest, from how many samples.
    ('started_us', int),                                      # with the first IMU sample
    ('force_samples', int), ('mean_force_m_s2', *_VECTOR),
    ('field_samples', int), ('mean_field_t', *_VECTOR),
    ('height_samples', int), ('mean_height_m', float),
    ('fix_samples', int), ('mean_fix_m', *_VECTOR),                 # from the first fix
    ('magnetic_heading_rad', float),                          # of the field there, from east
    # The estimate.
    ('aligned', bool),
    ('attitude', *_QUATERNION), ('rate_rad_s', *_VECTOR),
    ('velocity_m_s', *_VECTOR), ('position_m', *_VECTOR),
    ('gyro_bias_rad_s', *_VECTOR),
    # Control.
    ('integral_m_s2', *_VECTOR),
    ('thrust_fraction', float),                               # of the weight, as last commanded
    # What is flown.
    ('armed', bool), ('in_air', bool), ('mode', int),
    ('target_m', *_VECTOR), ('yaw_rad', float),
    # In the modes for them: an attitude, rates, and a thrust as a share of the greatest.
    ('wanted_attitude', *_QUATERNION), ('wanted_rate_rad_s', *_VECTOR), ('wanted_thrust', float),
    ('armed_s', float),                  # since arming
    ('low_thrust_s', float),             # since the thrust fell below the landing threshold
    ('held_s', float),                   # since it is slower, up or down, than half of a landing
], align=True)


def _section(kind: type[Parameters]) -> list[tuple[str, type]]:
    return [(field.name, float) for field in dataclasses.fields(kind)]


SECTIONS: typing.Mapping[str, type[Parameters]] = {
    'estimator': EstimatorParameters, 'controller': ControllerParameters,
    'commander': CommanderParameters}

CONSTANTS = np.dtype([
    *((name, _section(kind)) for name, kind in SECTIONS.items()),
    ('gravity_m_s2', float), ('mass_kg', float), ('inertia_kg_m2', *_VECTOR),
    # Commands from thrust and torque, see `controller.allocation`.
    ('rotors', int), ('mix', float, (MOST_ROTORS, 4)), ('max_thrust_n', float),
    ('thrust_coefficient_n_s2', float), ('command_offset_rad_s', float),
    ('command_gain_rad_s', float),
])


def new_memory() -> np.recarray:
    """Return the one record of an autopilot that has got nothing yet."""
    memory = np.zeros(1, MEMORY).view(np.recarray)
    m = memory[0]
    m.answered_us = m.imu_us = m.magnetometer_us = m.barometer_us = m.gnss_us = -1
    m.attitude[0] = 1.0
    return memory


def constants_of(
    vehicle: Vehicle, gains: typing.Mapping[str, typing.Mapping[str, typing.Any]],
) -> np.recarray:
    """Return the one record of constants.

    :param gains: sections of the autopilot's file
    :raises ParameterError: one is not as allowed
    """
    constants = np.zeros(1, CONSTANTS).view(np.recarray)
    c = constants[0]
    for name, kind in SECTIONS.items():
        c[name] = dataclasses.astuple(kind.from_mapping(name, gains[name]))
    model, mix = vehicle.rotor_model, allocation(vehicle)
    c.gravity_m_s2 = STANDARD_GRAVITY_M_S2
    c.mass_kg, c.inertia_kg_m2[:] = vehicle.body.mass_kg, vehicle.body.inertia_kg_m2
    c.rotors, c.mix[:len(mix)] = len(mix), mix
    c.max_thrust_n = model.thrust_coefficient_n_s2 * model.max_speed_rad_s ** 2
    c.thrust_coefficient_n_s2 = model.thrust_coefficient_n_s2
    c.command_offset_rad_s = model.command_offset_rad_s
    c.command_gain_rad_s = model.command_gain_rad_s
    return constants
