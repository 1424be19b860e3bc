# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Vehicles, worlds and runs that several checks share."""
from __future__ import annotations

import dataclasses
import functools

from px4_sim_ros.model.body.dynamics import Dynamics
from px4_sim_ros.model.environment.atmosphere import GAS_CONSTANT_J_KG_K, Atmosphere
from px4_sim_ros.model.environment.gravity import Gravity
from px4_sim_ros.model.truth import Truth
from px4_sim_ros.model.world import Environment
from px4_sim_ros.spec.configuration import load_configuration

G_M_S2 = 9.80665
REST = (0.0, 0.0, 0.0, 0.0)
TILTED = (0.8, 0.4, -0.2, 0.4)         # a unit quaternion
_ZERO = (0.0, 0.0, 0.0)
STILL_TRUTH = Truth(0, _ZERO, (1.0, 0.0, 0.0, 0.0), _ZERO, _ZERO, _ZERO, _ZERO, REST, REST)


def uniform(gravity_m_s2, density_kg_m3):
    """Return the same gravity and air at every height: air so hot that it does not thin out."""
    hot_k = 1e12
    air = Atmosphere(density_kg_m3 * GAS_CONSTANT_J_KG_K * hot_k, hot_k)
    return Environment(Gravity.uniform(gravity_m_s2), air, 0.0)


@functools.cache
def configuration():
    """Return the configuration with all defaults."""
    return load_configuration(None, {})


@functools.cache
def world():
    """Return the shared parameters: place, time, seed; the Earth stands still."""
    return dataclasses.replace(configuration().world, earth_rate_rad_s=0.0)


def iris():
    """Return the Iris as its file describes it."""
    return configuration().vehicle


def steady_iris():
    """Return an Iris on a bus that always has the nominal voltage."""
    return dataclasses.replace(iris(), battery=None)


def altered(vehicle, **sections):
    """Return a vehicle with other values in its sections."""
    return dataclasses.replace(vehicle, **{
        name: dataclasses.replace(getattr(vehicle, name), **values)
        for name, values in sections.items()})


def dragless_iris():
    """Return an Iris on a steady bus that the air does not touch: only thrust is left."""
    return without_drag(steady_iris())


def without_drag(vehicle):
    """Return a vehicle that the air does not touch."""
    return altered(
        vehicle,
        body={'linear_drag_n_s_m': 0.0, 'quadratic_drag_n_s2_m2': 0.0},
        rotor_model={'drag_coefficient_n_s2_m': 0.0, 'rolling_moment_coefficient_n_s2': 0.0})


def quiet_imu(**changes):
    """Return the parameters of an IMU without noise, but for what is given."""
    return dataclasses.replace(
        configuration().nodes['imu'], **{'gyro_noise_density': 0.0, 'accel_noise_density': 0.0}
        | changes)


def reference_air(vehicle, gravity_m_s2=G_M_S2):
    """Return uniform gravity and the air in which the vehicle's coefficients hold."""
    return uniform(gravity_m_s2, vehicle.rotor_model.reference_density_kg_m3)


def at_home():
    """Return gravity and air over home."""
    return Environment.of(world())


def build(vehicle, environment, *, step_us=4000, ground=False, **parameters):
    """Return the motion of a vehicle, without ground and the shaking of rotors unless asked."""
    return Dynamics(
        dataclasses.replace(
            configuration().nodes['dynamics'], **{'vortex_ring_shaking': 0.0} | parameters),
        vehicle, environment, step_us, ground=ground)


def truths(dynamics, duration_s, references=REST):
    """Return the truth now and after each step."""
    end_us = dynamics.time_us + round(duration_s * 1e6)
    recorded = [dynamics.truth()]
    while dynamics.time_us < end_us:
        recorded.append(dynamics.step(references))
    return recorded


def rested(dynamics, duration_s):
    """Step with the rotors at rest; return the truth at the end."""
    return truths(dynamics, duration_s)[-1]


def seconds(recorded):
    """Return the times of truths."""
    return [truth.time_us / 1e6 for truth in recorded]
