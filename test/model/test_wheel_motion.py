# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How wheels roll and are steered, against closed forms; no force depends on it."""
import dataclasses
import math

import numpy as np
import pytest

from px4_sim_ros.model.body.dynamics import Dynamics
from px4_sim_ros.model.body.integrators import DynamicsParameters
from px4_sim_ros.model.world import Environment
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.spec.files import load_vehicle

# Of rover_ackermann; its wheels are front left, front right, rear left and rear right.
BASE_M, TRACK_M, RADIUS_M, DRIVE_LAG_S = 0.5, 0.35, 0.08, 0.05
STEP_S = 0.01


def standing(name, **changes):
    """Return the motion of a vehicle that stands on an Earth at rest, as `fly` makes it."""
    vehicle = load_vehicle(name)
    configuration = load_configuration(None, {}, vehicle=vehicle)
    environment = dataclasses.replace(
        Environment.of(configuration.world), earth_rate_enu=(0.0, 0.0, 0.0))
    parameters = dataclasses.replace(
        configuration.of_node('dynamics', DynamicsParameters), **changes)
    return Dynamics(parameters, vehicle, environment, configuration.world.step_us)


def driven(dynamics, references, duration_s):
    """Return the motion after each step with these references."""
    return [dynamics.step(references) for _ in range(round(duration_s / STEP_S))]


def turned_rad(truths):
    """Return by how much the heading has changed from the first of motions to the last."""
    w, _, _, z = np.array([truth.attitude for truth in truths]).T
    yaw = np.unwrap(2.0 * np.arctan2(z, w))
    return yaw[-1] - yaw[0]


def rolled_rad(truths):
    """Return by how much each wheel has rolled from the first of motions to the last."""
    return np.subtract(truths[-1].wheels.angles_rad, truths[0].wheels.angles_rad)


def from_rest_rad(speed_rad_s, duration_s):
    """Return by how much a motor turns that is asked for a speed, with its lag of the first order.

    It is less by what the trapezoidal rule leaves out of the beginning.
    """
    lagged_s = DRIVE_LAG_S * (1.0 - math.exp(-duration_s / DRIVE_LAG_S))
    left_out_s = STEP_S ** 2 / 12.0 / DRIVE_LAG_S
    return speed_rad_s * (duration_s - lagged_s - left_out_s)


def test_straight_ahead_a_free_wheel_rolls_by_distance_over_radius_and_a_driven_one_by_its_motor():
    speed = 25.0
    truths = driven(standing('rover_ackermann'), (speed, 0.0), 4.0)
    settled = truths[100:]
    distance_m = settled[-1].position_enu[0] - settled[0].position_enu[0]
    assert distance_m > 5.0
    rolled = rolled_rad(settled)
    np.testing.assert_allclose(rolled[:2], distance_m / RADIUS_M, rtol=1e-6)
    np.testing.assert_allclose(
        truths[-1].wheels.angles_rad[2:], from_rest_rad(speed, 4.0), rtol=1e-6)
    # A driven one slips by what its force needs.
    assert rolled[2] == pytest.approx(distance_m / RADIUS_M, rel=0.005)
    assert rolled[2] > rolled[0]
    assert truths[-1].wheels.steering_rad == (0.0, 0.0)


@pytest.mark.parametrize('steering_rad', [0.4, -0.25])
def test_in_a_turn_wheels_differ_by_the_track_and_head_as_ackermann_has_it(steering_rad):
    truths = driven(standing('rover_ackermann'), (12.0, steering_rad), 6.0)[200:]
    left, right = rolled_rad(truths)[2:]
    heading_rad = turned_rad(truths)
    assert heading_rad * steering_rad > 0.0 and abs(heading_rad) > 1.0
    assert (right - left) * RADIUS_M == pytest.approx(TRACK_M * heading_rad, rel=1e-6)
    wheels = truths[-1].wheels
    assert wheels.steered == (0, 1)
    middle_m = BASE_M / math.tan(steering_rad)          # of the circle, left of the rear axle
    for i, y_m in enumerate((0.5 * TRACK_M, -0.5 * TRACK_M)):
        assert math.tan(wheels.steering_rad[i]) == pytest.approx(
            BASE_M / (middle_m - y_m), rel=1e-9)
        # Each rolls on its own circle about the middle of the turn.
        way_m = math.hypot(BASE_M, middle_m - y_m) * abs(heading_rad)
        assert rolled_rad(truths)[i] * RADIUS_M == pytest.approx(way_m, rel=2e-3)


def test_on_the_spot_wheels_of_two_sides_turn_against_each_other_and_casters_follow():
    truths = driven(standing('rover_differential'), (5.0, -5.0), 4.0)[200:]
    right, left, front, rear = rolled_rad(truths)
    assert right == -left == pytest.approx(5.0 * 2.0 - 5.0 * STEP_S, rel=1e-6)
    # The casters are 0.25 m before and behind, with 0.04 m of radius.
    way_m = 0.25 * turned_rad(truths)
    assert front == pytest.approx(way_m / 0.04, rel=1e-3)
    assert rear == pytest.approx(way_m / 0.04, rel=1e-3)
    assert truths[-1].wheels.steered == (2, 3)
    assert truths[-1].wheels.steering_rad == pytest.approx((0.5 * math.pi, -0.5 * math.pi), 1e-3)


def test_a_caster_turns_round_backwards_and_heads_there_still_when_it_stands():
    dynamics = standing('rover_differential')
    back = driven(dynamics, (-5.0, -5.0), 2.0)[-1]
    assert np.abs(back.wheels.steering_rad) == pytest.approx(math.pi, abs=1e-3)
    assert min(back.wheels.speeds_rad_s[2:]) > 0.0 > max(back.wheels.speeds_rad_s[:2])
    rest = driven(dynamics, (0.0, 0.0), 3.0)[-1]
    assert np.abs(rest.wheels.steering_rad) == pytest.approx(math.pi, abs=0.1)
    assert rest.wheels.speeds_rad_s == pytest.approx((0.0,) * 4, abs=1e-3)


def test_off_the_ground_a_driven_wheel_turns_with_its_motor_and_others_stand():
    dynamics = standing('rover_ackermann')
    dynamics.state[2:4] = 10.0, 3.0          # up; to the east, ahead
    last = driven(dynamics, (20.0, 0.2), 0.5)[-1]
    assert last.position_enu[2] > 5.0
    front_left, front_right, *rear = last.wheels.speeds_rad_s
    assert front_left == front_right == 0.0
    assert rear == pytest.approx([20.0, 20.0], rel=1e-3)
    assert min(last.wheels.steering_rad) > 0.15


def test_the_nose_wheel_of_a_plane_is_steered_with_the_rudder():
    dynamics = standing('plane')
    rest = dynamics.truth()
    rudder_rad = 0.2
    last = driven(dynamics, (0.0, rudder_rad, 0.0, 0.0, 0.0), 1.0)[-1]
    assert last.wheels.steered == (0,)
    assert last.wheels.steering_rad[0] == pytest.approx(-0.5 * rudder_rad, rel=1e-5)
    assert rest.wheels.angles_rad == (0.0,) * 3


def test_an_integrator_that_chooses_its_steps_rolls_them_as_far():
    truths = driven(standing('rover_ackermann', integrator='rk45'), (25.0, 0.0), 1.5)
    np.testing.assert_allclose(
        truths[-1].wheels.angles_rad[2:], from_rest_rad(25.0, 1.5), rtol=1e-6)
    settled = truths[100:]
    distance_m = settled[-1].position_enu[0] - settled[0].position_enu[0]
    np.testing.assert_allclose(rolled_rad(settled)[:2], distance_m / RADIUS_M, rtol=1e-5)


def test_a_vehicle_without_wheels_has_none():
    assert standing('iris').truth().wheels is None
