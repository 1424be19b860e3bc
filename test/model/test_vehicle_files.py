# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Every vehicle that comes along: plausible, still on the ground, in trim, in PX4's motor order."""
from __future__ import annotations

import dataclasses
import math

import pytest

from px4_sim_ros.check.figures import all_figures, figures, implausible
from px4_sim_ros.model.body.dynamics import Dynamics
from px4_sim_ros.model.body.rotors import OUT_OF_GROUND_EFFECT, RotorSet
from px4_sim_ros.model.world import Environment
from px4_sim_ros.spec.files import load_vehicle
from px4_sim_ros.spec.resources import config_directory

NAMES = sorted(path.stem for path in (config_directory() / 'vehicles').glob('*.yaml'))

# CA_ROTORn_PX, PY and KM of PX4's airframes: metres forward and right, or shares of the arm;
# KM is positive for a rotor that turns counter-clockwise seen from above.
_HALF_ROOT = 0.866025
PX4_ROTORS = {
    10016: ((0.1515, 0.245, 0.05), (-0.1515, -0.1875, 0.05), (0.1515, -0.245, -0.05),
            (-0.1515, 0.1875, -0.05)),
    6011: ((0, 1, -0.05), (0, -1, 0.05), (_HALF_ROOT, -0.5, -0.05), (-_HALF_ROOT, 0.5, 0.05),
           (_HALF_ROOT, 0.5, 0.05), (-_HALF_ROOT, -0.5, -0.05)),
}
ROTOR_BY_DEFAULT = 0.0, 0.0, 0.05


MULTIROTORS = [name for name in NAMES if load_vehicle(name).is_multirotor]


@pytest.fixture(params=MULTIROTORS)
def vehicle(request):
    """Return each multirotor of config/vehicles."""
    return load_vehicle(request.param)


@pytest.fixture(params=NAMES)
def any_vehicle(request):
    """Return each vehicle of config/vehicles."""
    return load_vehicle(request.param)


@pytest.fixture
def dynamics(configuration, world):
    """Return a function that builds the motion of a vehicle with default parameters."""
    def build(vehicle, ground, **parameters):
        return Dynamics(
            dataclasses.replace(configuration.nodes['dynamics'], **parameters), vehicle,
            Environment.of(world), world.step_us, ground=ground)
    return build


def px4_rotors(vehicle):
    """Return what PX4 believes about the rotors: its airframe, then our px4_parameters."""
    airframe = PX4_ROTORS[vehicle.px4_airframe]
    count = vehicle.px4_parameters.get('CA_ROTOR_COUNT', len(airframe))
    rotors = [*airframe, *[ROTOR_BY_DEFAULT] * (count - len(airframe))]
    return [
        tuple(vehicle.px4_parameters.get(f'CA_ROTOR{i}_{name}', value)
              for name, value in zip(('PX', 'PY', 'KM'), rotor))
        for i, rotor in enumerate(rotors)]


def test_the_file_is_named_after_the_vehicle():
    assert [load_vehicle(name).name for name in NAMES] == NAMES


def test_is_plausible(any_vehicle, world):
    found = all_figures(any_vehicle, Environment.of(world), world.step_us / 1e6)
    assert found
    assert [sentence for some in found for sentence in implausible(some)] == []


def test_carries_enough_to_fly(vehicle, world):
    """Stricter than plausible: missions need a margin of thrust."""
    found = figures(vehicle, Environment.of(world), world.step_us / 1e6)
    assert found.thrust_to_weight > 1.5
    assert found.endurance_low_charge_s > 500


@pytest.mark.parametrize('integrator', ['euler', 'rk4'])
def test_stands_still(any_vehicle, dynamics, integrator):
    """One whose load is not the same on all wheels settles at first."""
    motion = dynamics(any_vehicle, True, integrator=integrator)
    start, standing = motion.truth(), (0.0,) * any_vehicle.reference_count
    if not any_vehicle.is_multirotor:
        start = [motion.step(standing) for _ in range(500)][-1]
    truth = [motion.step(standing) for _ in range(2500)][-1]
    assert math.dist(truth.position_enu, start.position_enu) < 1e-5
    assert math.dist(truth.attitude, start.attitude) < 1e-6


@pytest.mark.parametrize('integrator', ['euler', 'rk4'])
def test_settles_after_a_landing_askew(vehicle, dynamics, integrator):
    """At 0.7 m/s, 5 deg rolled and pitched."""
    motion = dynamics(vehicle, True, integrator=integrator)
    half = math.radians(2.5)
    motion.state[2] += 0.1
    motion.state[5] = -0.7
    motion.state[6:10] = [math.sqrt(1 - 2 * math.sin(half) ** 2), math.sin(half),
                          math.sin(half), 0.0]
    truth = [motion.step((0.0,) * len(vehicle.rotors)) for _ in range(1000)][-1]
    assert math.hypot(*truth.velocity_flu) < 1e-3
    assert math.hypot(*truth.attitude[1:3]) < 1e-3


def test_hover_is_in_trim(vehicle, dynamics, world):
    motion = dynamics(vehicle, False)
    environment = Environment.of(world)
    speed = vehicle.hover_speed_rad_s(
        environment.gravity_m_s2(0.0), environment.density_kg_m3(0.0))
    motion.state[13:13 + len(vehicle.rotors)] = [speed] * len(vehicle.rotors)
    truth = motion.truth()
    assert math.hypot(*truth.acceleration_flu) < 1e-9
    assert math.hypot(*truth.angular_acceleration_flu) < 1e-9


def test_torques_are_those_that_px4_allocates(vehicle):
    """Each rotor alone, faster than the others: PX4's torque (-PY, PX, KM) T in FRD."""
    believed = px4_rotors(vehicle)
    assert len(believed) == len(vehicle.rotors)
    rotors = RotorSet(vehicle.rotor_model, vehicle.rotors)
    zero = (0.0, 0.0, 0.0)
    for i, (px, py, km) in enumerate(believed):
        speeds = [500.0 if j == i else 0.0 for j in range(len(believed))]
        _, _, thrust, tx, ty, tz, _ = rotors.wrench(
            speeds, zero, zero, 1.225, OUT_OF_GROUND_EFFECT)
        assert thrust > 0
        # The axis about which it tilts the vehicle, FLU.
        cosine = (tx * -py + ty * -px) / (math.hypot(tx, ty) * math.hypot(px, py))
        assert cosine > 0.99
        assert math.copysign(1, tz) == -math.copysign(1, km)
