# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What an IMU will read at the end of the next step is what it reads then, bit by bit."""
import math

import pytest

from px4_sim_ros.model.body.alterations import UNALTERED
from px4_sim_ros.model.body.dynamics import Dynamics
from px4_sim_ros.model.body.next_sample import NextSample
from px4_sim_ros.model.sensors.imu import Imu
from px4_sim_ros.model.world import Environment
from px4_sim_ros.spec.configuration import load_configuration

STEP_US = 4000


def models(vehicle='iris', integrator='rk4', world=None, **imu):
    """Return the motion and the IMU of a vehicle."""
    c = load_configuration(None, {
        '': {'vehicle': vehicle, **(world or {})}, 'dynamics': {'integrator': integrator},
        'imu': imu})
    return (Dynamics(c.nodes['dynamics'], c.vehicle, Environment.of(c.world), STEP_US),
            Imu('imu', c.nodes['imu'], c.world), c.vehicle)


def references(vehicle, step):
    """Return another one for each actuator in each step: it rises, turns and comes down."""
    controls = [0.72 + 0.1 * math.sin(0.03 * step + i) for i in range(16)]
    return vehicle.references(controls, step > 5)


@pytest.mark.parametrize('options', [
    {}, {'integrator': 'euler'}, {'vehicle': 'standard_vtol'}, {'vehicle': 'rover_ackermann'},
    {'world': {'gravity_model': 'wgs84', 'ground_slope_deg': 5.0}},
    {'gyro_random_walk': 0.0, 'gyro_turn_on_bias': 0.0, 'gyro_noise_density': 0.0},
], ids=str)
def test_it_is_what_the_imu_reads_then(options):
    dynamics, imu, vehicle = models(**options)
    ahead, found, highest_m = NextSample.of(dynamics, imu), 0, 0.0
    for step in range(600):
        now, wind = references(vehicle, step), (3.0 * math.sin(0.01 * step), -1.0, 0.2)
        expected = None
        if step % 5 and ahead.prepare(dynamics.time_us + STEP_US, wind):
            expected = ahead.after(now)
        measured = imu.measure(dynamics.step(now, wind))
        highest_m = max(highest_m, dynamics.state[2])
        if expected is not None:
            found += 1
            # As texts, which show the sign of a zero.
            assert str(expected) == str(measured)
    assert found == 480
    assert vehicle.drives or highest_m > 0.3


def test_to_look_ahead_changes_nothing():
    (dynamics, imu, vehicle), (other, other_imu, _) = models(), models()
    ahead = NextSample.of(dynamics, imu)
    for step in range(50):
        ahead.prepare(dynamics.time_us + STEP_US, (0.0, 0.0, 0.0))
        ahead.after(references(vehicle, step + 7))          # which it does not get
        now = references(vehicle, step)
        assert imu.measure(dynamics.step(now)) == other_imu.measure(other.step(now))


@pytest.mark.parametrize('options', [
    {'integrator': 'rk45'}, {'sampling': 'mean'}, {'position_m': [0.1, 0.0, 0.0]},
    {'mounting_deg': [0.0, 0.0, 90.0]}, {'accel_vibration': [1.0, 0.0, 0.0]},
    {'gyro_resolution': 0.001},
], ids=str)
def test_other_motions_and_other_imus_have_to_wait(options):
    dynamics, imu, _ = models(**options)
    assert NextSample.of(dynamics, imu) is None


def test_what_is_beyond_the_range_has_to_wait():
    dynamics, imu, vehicle = models(accel_range=5.0)
    ahead = NextSample.of(dynamics, imu)
    assert ahead.prepare(STEP_US, (0.0, 0.0, 0.0))
    assert ahead.after(vehicle.rest) is None
    assert imu.measure(dynamics.step(vehicle.rest)).specific_force_flu[2] == 5.0


def test_a_motion_that_leaves_all_bounds_has_to_wait():
    dynamics, imu, vehicle = models()
    ahead = NextSample.of(dynamics, imu)
    dynamics.state[2] = 999_999.9
    dynamics.state[5] = 1e5
    assert ahead.prepare(STEP_US, (0.0, 0.0, 0.0))
    assert ahead.after(vehicle.rest) is None


def test_a_load_moves_the_centre_of_mass_and_then_it_has_to_wait():
    dynamics, imu, _ = models()
    ahead = NextSample.of(dynamics, imu)
    assert ahead.prepare(STEP_US, (0.0, 0.0, 0.0))
    dynamics.alter(UNALTERED._replace(mass_kg=0.3, moment_kg_m=(0.06, 0.0, 0.0)))
    assert not ahead.prepare(STEP_US, (0.0, 0.0, 0.0))
