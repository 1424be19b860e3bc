# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Sensors that not every vehicle has: closed forms without noise, and statistics of the noise."""
from __future__ import annotations

import dataclasses
import math
import os
import pathlib
import struct
import subprocess
import sys

import numpy as np
import pytest
from transforms3d.axangles import axangle2mat
from transforms3d.quaternions import axangle2quat, quat2mat

from px4_sim_ros.model.environment.turbulence import DrydenTurbulence, Longitudinal, Transverse
from px4_sim_ros.model.environment.wind import WIND_CHOICES
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.random_streams import NormalStream
from px4_sim_ros.model.sensors.airspeed import Airspeed, AirspeedParameters
from px4_sim_ros.model.sensors.gnss import FixType, Gnss
from px4_sim_ros.model.sensors.optical_flow import OpticalFlow, OpticalFlowParameters
from px4_sim_ros.model.sensors.range_finder import (
    DIRECTIONS,
    RangeFinder,
    RangeFinderParameters,
)
from px4_sim_ros.model.sensors.visual_odometry import VisualOdometry, VisualOdometryParameters
from px4_sim_ros.model.truth import SensorInputs
from px4_sim_ros.spec.blocks import block_configuration
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.step.graph import load

CENTRE = (0.0, 0.0, 0.0)


def turned(axis, angle_deg):
    """Return the attitude after a turn about an axis, by transforms3d."""
    return tuple(float(v) for v in axangle2quat(axis, math.radians(angle_deg)))


def wind(*enu):
    """Return inputs in which the air moves so."""
    return SensorInputs(wind_enu=enu)


# Airspeed

@pytest.fixture(scope='module')
def density(world):
    """Return the air's density at home."""
    return world.atmosphere().density_kg_m3(world.home_altitude_m)


@pytest.fixture(scope='module')
def pitot(world):
    """Return a pitot tube without errors at the centre of mass."""
    return Airspeed('airspeed', AirspeedParameters(CENTRE, 0.0, 0.0, CENTRE), world)


def pressure_of(sensor, truth, inputs=None):
    """Return the differential pressure alone."""
    inputs = inputs or SensorInputs()
    return sensor.measure(truth, inputs).differential_pressure_pa


@pytest.mark.parametrize(('wind_enu', 'airspeed'), [
    ((0.0, 0.0, 0.0), 12.0), ((-5.0, 0.0, 0.0), 17.0), ((5.0, 0.0, 0.0), 7.0),
    ((0.0, 5.0, 0.0), 12.0), ((0.0, 0.0, -5.0), 12.0)])
def test_wind_from_ahead_behind_and_aside(pitot, still_truth, density, wind_enu, airspeed):
    """Flying east at 12 m/s: only the wind along the tube counts."""
    truth = still_truth._replace(velocity_flu=(12.0, 0.0, 0.0))
    assert pressure_of(pitot, truth, wind(*wind_enu)) == pytest.approx(
        0.5 * density * airspeed ** 2, rel=1e-12)


def test_wind_is_turned_into_the_body(pitot, still_truth, density):
    """Facing north a wind to the north takes away airspeed, one to the east does nothing."""
    truth = still_truth._replace(
        attitude=turned((0, 0, 1), 90.0), velocity_flu=(12.0, 0.0, 0.0))
    assert pressure_of(pitot, truth, wind(3.0, 5.0, 0.0)) == pytest.approx(
        0.5 * density * 7.0 ** 2, rel=1e-12)


def test_flow_from_behind_is_negative(pitot, still_truth, density):
    truth = still_truth._replace(velocity_flu=(-4.0, 1.0, 2.0))
    assert pressure_of(pitot, truth) == pytest.approx(-0.5 * density * 16.0, rel=1e-12)


def test_tube_away_from_the_centre(world, still_truth, density):
    """V + w x r along body x: 10 - wz y + wy z = 10 - 2 * 0.3 + 3 * 0.1."""
    tube = Airspeed('airspeed', AirspeedParameters((0.2, 0.3, 0.1), 0.0, 0.0, CENTRE), world)
    truth = still_truth._replace(velocity_flu=(10.0, 0.0, 0.0), rate_flu=(5.0, 3.0, 2.0))
    assert pressure_of(tube, truth) == pytest.approx(0.5 * density * 9.7 ** 2, rel=1e-4)


def test_thin_air_gives_less_pressure(pitot, world, still_truth):
    """As much as its density is lower."""
    high = still_truth._replace(position_enu=(0.0, 0.0, 2000.0), velocity_flu=(9.0, 0.0, 0.0))
    assert pressure_of(pitot, high) == pytest.approx(
        40.5 * world.atmosphere().density_kg_m3(world.home_altitude_m + 2000.0), rel=1e-12)


def test_airspeed_noise_and_offset(world, still_truth):
    """About the offset, with the variance that is told."""
    sensor = Airspeed('airspeed', AirspeedParameters(CENTRE, 2.0, 7.0, CENTRE), world)
    samples = [sensor.measure(still_truth) for _ in range(20_000)]
    pressures = np.array([s.differential_pressure_pa for s in samples])
    assert pressures.mean() == pytest.approx(7.0, abs=0.06)
    assert pressures.std() == pytest.approx(2.0, rel=0.03)
    assert samples[0].variance == 4.0


# Range finder

def range_finder(world, **changes):
    """Return a range finder without noise that sees far, with some parameters replaced."""
    values = {
        'position_m': CENTRE, 'direction': 'down', 'field_of_view_deg': 0.0,
        'min_range_m': 0.5, 'max_range_m': 50.0, 'noise_m': 0.0} | changes
    return RangeFinder(
        'range_finder', RangeFinderParameters.from_mapping('range_finder', values), world)


def at_height(truth, height_m, attitude=(1.0, 0.0, 0.0, 0.0)):
    """Return the truth of a vehicle that hovers."""
    return truth._replace(position_enu=(3.0, -2.0, height_m), attitude=attitude)


@pytest.mark.parametrize('axis', [(1, 0, 0), (0, 1, 0), (0.6, -0.8, 0)])
def test_range_over_flat_ground_is_height_over_cosine(world, still_truth, axis):
    """Tilted by 30 degrees about any level axis; a turn about the vertical changes nothing."""
    sensor = range_finder(world)
    assert sensor.measure(at_height(still_truth, 8.0)).range_m == 8.0
    truth = at_height(still_truth, 8.0, turned(axis, 30.0))
    assert sensor.measure(truth).range_m == pytest.approx(
        8.0 / math.cos(math.radians(30.0)), rel=1e-7)
    truth = at_height(still_truth, 8.0, turned((0, 0, 1), 77.0))
    assert sensor.measure(truth).range_m == pytest.approx(8.0, rel=1e-7)


@pytest.mark.parametrize(('field_of_view_deg', 'counted_deg'), [
    (0.0, 30.0), (20.0, 20.0), (59.0, 0.5), (60.0, 0.0), (80.0, 0.0)])
def test_the_nearest_ground_in_the_cone_counts(
        world, still_truth, field_of_view_deg, counted_deg):
    """Half the field of view is taken off the tilt, down to none."""
    truth = at_height(still_truth, 8.0, turned((1, 0, 0), 30.0))
    measured = range_finder(world, field_of_view_deg=field_of_view_deg).measure(truth)
    assert measured.range_m == pytest.approx(8.0 / math.cos(math.radians(counted_deg)), rel=1e-7)
    assert measured.field_of_view_rad == pytest.approx(math.radians(field_of_view_deg), rel=1e-7)


@pytest.mark.parametrize(('height_m', 'range_m'), [
    (0.5, 0.5), (0.49, -math.inf), (0.0, -math.inf), (-0.1, -math.inf),
    (50.0, 50.0), (50.1, math.inf), (1e4, math.inf)])
def test_out_of_range(world, still_truth, height_m, range_m):
    """REP-117: -inf below the minimum, +inf beyond the maximum."""
    assert range_finder(world).measure(at_height(still_truth, height_m)).range_m == range_m


@pytest.mark.parametrize(('direction', 'axis', 'angle_deg'), [
    ('forward', (0, 1, 0), 90.0), ('backward', (0, 1, 0), -90.0), ('left', (1, 0, 0), -90.0),
    ('right', (1, 0, 0), 90.0), ('up', (1, 0, 0), 180.0), ('down', (0, 0, 1), 180.0)])
def test_directions(world, still_truth, direction, axis, angle_deg):
    """The turn that points the beam at the ground; nose down is a positive turn about y."""
    truth = at_height(still_truth, 8.0, turned(axis, angle_deg))
    for other in DIRECTIONS:
        measured = range_finder(world, direction=other).measure(truth)
        assert measured.direction == other
        if other == direction:
            assert measured.range_m == pytest.approx(8.0, rel=1e-7)
        else:
            # A level beam meets the ground nowhere, or very far away for want of digits.
            assert measured.range_m == math.inf


def test_range_finder_away_from_the_centre(world, still_truth):
    """(0.3, 0, -0.1) with the nose down by 30 degrees: lower by 0.3 sin + 0.1 cos."""
    truth = at_height(still_truth, 8.0, turned((0, 1, 0), 30.0))
    sine, cosine = math.sin(math.radians(30.0)), math.cos(math.radians(30.0))
    measured = range_finder(world, position_m=(0.3, 0.0, -0.1)).measure(truth)
    assert measured.range_m == pytest.approx(
        (8.0 - 0.3 * sine - 0.1 * cosine) / cosine, rel=1e-7)


def test_range_noise(world, still_truth):
    """Its spread is the configured one; what the noise takes out of the limits is inf."""
    sensor = range_finder(world, noise_m=0.02)
    ranges = np.array([sensor.measure(at_height(still_truth, 8.0)).range_m
                       for _ in range(20_000)])
    assert ranges.mean() == pytest.approx(8.0, abs=1e-3)
    assert ranges.std() == pytest.approx(0.02, rel=0.03)
    assert sensor.measure(at_height(still_truth, 8.0)).variance == pytest.approx(4e-4, rel=1e-7)
    at_limit = {sensor.measure(at_height(still_truth, 50.0)).range_m for _ in range(100)}
    assert math.inf in at_limit and all(r == math.inf or r <= 50.0 for r in at_limit)


def test_a_range_is_exact_in_32_bits(world, still_truth):
    """So is all else that sensor_msgs/Range carries: no mode may see other bits."""
    sensor = range_finder(
        world, noise_m=0.1, min_range_m=0.1, max_range_m=49.9, field_of_view_deg=7.0)
    for height_m in np.linspace(0.0, 60.0, 200).tolist():
        for value in sensor.measure(at_height(still_truth, height_m))[1:6]:
            assert struct.unpack('<f', struct.pack('<f', value))[0] == value


@pytest.mark.parametrize(('changes', 'sentence'), [
    ({'direction': 'sideways'},
     "range_finder.direction = 'sideways': must be one of forward, backward, left, right, up,"
     ' down'),
    ({'min_range_m': 50.0},
     'range_finder.min_range_m = 50: must be less than max_range_m = 50 m'),
    ({'max_range_m': 700.0},
     'range_finder.max_range_m = 700.0: must be greater than 0 and at most 655 m')])
def test_range_finders_that_cannot_be(world, changes, sentence):
    with pytest.raises(ParameterError) as error:
        range_finder(world, **changes)
    assert str(error.value) == sentence


# Optical flow

def flow_sensor(world, **changes):
    """Return a flow sensor without noise, with some parameters replaced."""
    values = {
        'position_m': CENTRE, 'min_distance_m': 0.5, 'max_distance_m': 30.0,
        'max_rate_rad_s': 7.0, 'noise_rad_s': 0.0} | changes
    return OpticalFlow(
        'optical_flow', OpticalFlowParameters.from_mapping('optical_flow', values), world)


def flow_of(sensor, truth):
    """Return the flow alone."""
    return sensor.measure(truth).rate_flu


def test_no_flow_at_hover(world, still_truth):
    measured = flow_sensor(world).measure(at_height(still_truth, 8.0))
    assert measured.rate_flu == (0.0, 0.0, 0.0)
    assert measured.period_us == world.periods_us['optical_flow']


@pytest.mark.parametrize(('velocity_flu', 'flow'), [
    ((2.0, 0.0, 0.0), (0.0, -0.5, 0.0)),     # forward, as a turn with the nose up
    ((0.0, 3.0, 0.0), (0.75, 0.0, 0.0)),     # to the left, as a roll to the right
    ((2.0, 3.0, 1.0), (0.75, -0.5, 0.0))])   # climbing only spreads the image
def test_flow_of_pure_translation(world, still_truth, velocity_flu, flow):
    """V / h, at a height of 4 m."""
    truth = at_height(still_truth, 4.0)._replace(velocity_flu=velocity_flu)
    assert flow_of(flow_sensor(world), truth) == pytest.approx(flow, abs=1e-15)


@pytest.mark.parametrize('position_m', [CENTRE, (0.3, -0.2, -0.1)])
@pytest.mark.parametrize('attitude', [
    (1.0, 0.0, 0.0, 0.0), turned((1, 0, 0), 25.0), turned((0, 1, 0), -25.0),
    turned((0.48, -0.6, 0.64), 40.0)])
def test_flow_is_how_the_image_of_a_ground_point_moves(world, still_truth, position_m, attitude):
    """Projected a moment before and after, with everything turning and moving at once."""
    truth = at_height(still_truth, 6.0, attitude)._replace(
        velocity_flu=(1.0, 2.0, -3.0), rate_flu=(0.4, -0.5, 0.6))
    body_to_world = quat2mat(attitude)

    def camera(t):
        turn = axangle2mat(truth.rate_flu, t * np.linalg.norm(truth.rate_flu))
        rotation = body_to_world @ turn
        place = np.array(truth.position_enu) + body_to_world @ truth.velocity_flu * t
        return place + rotation @ position_m, rotation

    place, rotation = camera(0.0)
    axis = rotation @ (0.0, 0.0, -1.0)
    point = place + axis * place[2] / -axis[2]

    def image(t):
        place, rotation = camera(t)
        x, y, z = rotation.T @ (point - place)
        return np.array((x, y)) / -z

    moment = 1e-5
    right, up = (image(moment) - image(-moment)) / (2.0 * moment)
    # A camera that turns by w about x and y sees the ground move by (wy, -wx).
    assert flow_of(flow_sensor(world, position_m=position_m), truth) == pytest.approx(
        (-up, right, 0.0), rel=1e-7)


def test_flow_is_the_mean_over_the_period(world, still_truth):
    """Of both its ends; the first sample knows only one."""
    sensor = flow_sensor(world)
    slow, fast = (at_height(still_truth, 4.0)._replace(rate_flu=(w, 2.0 * w, 0.0))
                  for w in (0.1, 0.5))
    assert flow_of(sensor, slow) == pytest.approx((0.1, 0.2, 0.0), rel=1e-12)
    assert flow_of(sensor, fast) == pytest.approx((0.3, 0.6, 0.0), rel=1e-12)
    assert flow_of(sensor, fast) == pytest.approx((0.5, 1.0, 0.0), rel=1e-12)


@pytest.mark.parametrize(('height_m', 'tilt_deg', 'speed_m_s', 'is_valid'), [
    (0.5, 0.0, 0.0, True), (0.49, 0.0, 0.0, False), (-1.0, 0.0, 0.0, False),
    (30.0, 0.0, 0.0, True), (30.1, 0.0, 0.0, False),
    (20.0, 45.0, 0.0, True), (20.0, 50.0, 0.0, False),       # 28.3 and 31.1 m along the axis
    (4.0, 90.0, 0.0, False), (4.0, 180.0, 0.0, False),
    (1.0, 0.0, 6.9, True), (1.0, 0.0, 7.1, False)])
def test_when_there_is_no_flow(world, still_truth, height_m, tilt_deg, speed_m_s, is_valid):
    """Too near, too far, no ground in view, or too fast: NaN."""
    truth = at_height(still_truth, height_m, turned((1, 0, 0), tilt_deg))._replace(
        velocity_flu=(speed_m_s, 0.0, 0.0))
    x, y, z = flow_of(flow_sensor(world), truth)
    assert (math.isfinite(x), math.isfinite(y)) == (is_valid, is_valid)
    assert z == 0.0


def test_flow_comes_back(world, still_truth):
    """The mean begins anew with the first ground in view."""
    sensor = flow_sensor(world)
    sensor.measure(at_height(still_truth, 100.0)._replace(rate_flu=(0.1, 0.0, 0.0)))
    truth = at_height(still_truth, 4.0)._replace(rate_flu=(0.5, 0.0, 0.0))
    assert flow_of(sensor, truth) == (0.5, 0.0, 0.0)


def test_flow_noise(world, still_truth):
    """Its spread is the configured one, and its axes are independent."""
    sensor = flow_sensor(world, noise_rad_s=0.05)
    flows = np.array([flow_of(sensor, at_height(still_truth, 4.0)) for _ in range(20_000)])
    assert flows.std(axis=0) == pytest.approx(np.array([0.05, 0.05, 0.0]), rel=0.03)
    assert np.abs(flows.mean(axis=0)).max() < 0.0015
    assert abs(np.corrcoef(flows[:, 0], flows[:, 1])[0, 1]) < 0.03


def test_flow_limits_in_the_wrong_order(world):
    with pytest.raises(ParameterError) as error:
        flow_sensor(world, min_distance_m=40.0)
    assert str(error.value) == (
        'optical_flow.min_distance_m = 40: must be less than max_distance_m = 30 m')


# Visual odometry

QUIET = VisualOdometryParameters(0.0, 0.0, 0.0, 0.0, 100.0)


def odometry_samples(world, truth, count, **changes):
    """Return samples of a visual odometry with some errors."""
    sensor = VisualOdometry('visual_odometry', dataclasses.replace(QUIET, **changes), world)
    return [sensor.measure(truth) for _ in range(count)]


@pytest.fixture(scope='module')
def moving_truth(still_truth):
    """Return a truth in which no two numbers are alike."""
    return still_truth._replace(
        position_enu=(1.0, 2.0, 3.0), attitude=turned((0.48, -0.6, 0.64), 40.0),
        velocity_flu=(4.0, 5.0, 6.0))


def test_odometry_without_errors_is_the_truth(world, moving_truth):
    measured, = odometry_samples(world, moving_truth, 1)
    assert measured.position_enu == (1.0, 2.0, 3.0)
    assert measured.velocity_flu == (4.0, 5.0, 6.0)
    assert measured.attitude == pytest.approx(moving_truth.attitude, abs=1e-15)


def test_odometry_noise(world, moving_truth):
    """Position, attitude and velocity each have their own, and the variances say so."""
    samples = odometry_samples(
        world, moving_truth, 10_000,
        position_noise_m=0.2, attitude_noise_rad=0.01, velocity_noise_m_s=0.3)
    positions = np.array([s.position_enu for s in samples])
    velocities = np.array([s.velocity_flu for s in samples])
    assert positions.mean(axis=0) == pytest.approx(np.array((1.0, 2.0, 3.0)), abs=0.01)
    assert positions.std(axis=0) == pytest.approx(np.full(3, 0.2), rel=0.03)
    assert velocities.mean(axis=0) == pytest.approx(np.array((4.0, 5.0, 6.0)), abs=0.015)
    assert velocities.std(axis=0) == pytest.approx(np.full(3, 0.3), rel=0.03)
    assert samples[0][4:] == pytest.approx((0.04, 1e-4, 0.09), rel=1e-12)


def test_odometry_attitude_noise(world, moving_truth):
    """The error is a small turn about each body axis; the quaternion keeps its length."""
    samples = odometry_samples(world, moving_truth, 10_000, attitude_noise_rad=0.01)
    true = quat2mat(moving_truth.attitude)
    errors = [true.T @ quat2mat(s.attitude) for s in samples]
    turns = np.array([(e[2, 1], e[0, 2], e[1, 0]) for e in errors])
    assert turns.std(axis=0) == pytest.approx(np.full(3, 0.01), rel=0.03)
    assert np.abs(turns.mean(axis=0)).max() < 4e-4
    lengths = np.linalg.norm([s.attitude for s in samples], axis=1)
    assert np.abs(lengths - 1.0).max() < 1e-14


def test_odometry_drift_grows_with_the_root_of_time(world, moving_truth):
    """Over 200 seeds: random walk times sqrt(t), and only the position drifts."""
    period_s = world.periods_us['visual_odometry'] * 1e-6
    drifts = []
    for seed in range(200):
        samples = odometry_samples(
            dataclasses.replace(world, seed=seed), moving_truth, 100,
            position_random_walk=0.05, drift_correlation_time_s=1e6)
        drifts.append(np.array([s.position_enu for s in samples]) - (1.0, 2.0, 3.0))
        assert {s.velocity_flu for s in samples} == {(4.0, 5.0, 6.0)}
    spread = np.array(drifts).std(axis=(0, 2))
    for count in (1, 25, 100):
        assert spread[count - 1] == pytest.approx(0.05 * math.sqrt(count * period_s), rel=0.1)


# Noise of a sensor that was stopped: it goes on as if it had not been.

# Every error that changes with time, with a size that shows.
ERRORS = {
    'imu': {'gyro_random_walk': 0.1, 'accel_random_walk': 0.1, 'gyro_turn_on_bias': 0.1,
            'accel_misalignment': 0.1, 'accel_vibration': [1.0, 0.5, 0.0]},
    'magnetometer': {'random_walk': 1e-8, 'turn_on_bias': 1e-7},
    'barometer': {'wander_pa': 3.0, 'drift_pa_s': 0.1, 'warm_up_pa': 10.0},
    'gps': {'error_correlation_time_s': 3.0},
    'airspeed': {}, 'range_finder': {}, 'optical_flow': {},
    'visual_odometry': {'position_random_walk': 0.1},
    'wind': {'speed_m_s': 8.0},
}
OPTIONAL = {f'instances.{kind}': 1 for kind in (
    'airspeed', 'range_finder', 'optical_flow', 'visual_odometry')}


def block_of(sensor, wind='ornstein_uhlenbeck'):
    """Return the block of a sensor with its errors."""
    configuration = block_configuration(load_configuration(
        None, {'': OPTIONAL | {'wind': wind}, sensor: ERRORS[sensor]}), sensor)
    return load(configuration.graph.nodes[sensor].block)(configuration)


@pytest.mark.parametrize(('sensor', 'wind'), [
    *((sensor, 'ornstein_uhlenbeck') for sensor in ERRORS),
    *(('wind', wind) for wind in WIND_CHOICES if wind not in ('none', 'dryden'))])
def test_a_sensor_goes_on_with_the_noise_of_its_time(sensor, wind, still_truth):
    """Bit by bit that of one that was never stopped, over more than a block of random numbers."""
    on, stopped = block_of(sensor, wind), block_of(sensor, wind)
    period_us = on.configuration.world.period_us(sensor)

    def step(block, i):
        output, = block.step(i * period_us, {'ground_truth/odom': still_truth._replace(
            time_us=i * period_us, position_enu=(0.0, 0.0, 5.0))}).values()
        return output

    on.reset()
    stopped.reset()
    measured = [step(on, i) for i in range(1, 1101)]
    assert [step(stopped, i) for i in range(1, 4)] == measured[:3]
    for count in 700, 3, 1097:
        stopped.resume(count * period_us)
        assert [step(stopped, i) for i in range(count + 1, count + 4)] == (
            measured[count:count + 3])


def test_an_outage_goes_on(configuration, world, still_truth):
    """Whether the fix is lost is the same; which position is kept in an outage is not known."""
    parameters = dataclasses.replace(
        configuration.nodes['gps'], outage_rate_hz=1.0, outage_duration_s=1.0)
    on, stopped = Gnss('gps', parameters, world), Gnss('gps', parameters, world)
    measured = [on.measure(still_truth).fix_type for _ in range(300)]
    stopped.skip(100)
    assert [stopped.measure(still_truth).fix_type for _ in range(200)] == measured[100:]
    assert set(measured) == {FixType.NONE, FixType.FIX}


@pytest.mark.parametrize('kind', [Longitudinal, Transverse])
def test_turbulence_that_was_stopped_is_as_strong_as_before(kind):
    """Over 4000 seeds: standard deviation 1 at once, and nothing to do with its beginning."""
    first, later = [], []
    for seed in range(4000):
        gust = kind(NormalStream(seed, 'wind/u'))
        first.append(gust.next(1e-9))
        gust = kind(NormalStream(seed, 'wind/u'))
        gust.skip(50)
        later.append(gust.next(1e-9))
    assert np.std(later) == pytest.approx(1.0, rel=0.04)
    assert abs(np.corrcoef(first, later)[0, 1]) < 4.0 / math.sqrt(4000)


def test_all_gusts_of_turbulence_begin_with_new_numbers():
    one, other = (DrydenTurbulence(10.0, 2.0, 0.02, 1, 'wind') for _ in range(2))
    other.skip(100)
    assert all(a != b for a, b in zip(one.next(50.0, 10.0), other.next(50.0, 10.0)))


# One random stream for each consumer.

ROOT = pathlib.Path(__file__).resolve().parents[2]
COUNT = 20_000


def draw(seed, name, count=COUNT):
    """Return the first numbers of a stream."""
    stream = NormalStream(seed, name)
    return np.array([stream.next() for _ in range(count)])


def largest_correlation(a, b, lags=20):
    """Return the largest correlation of two sequences over small shifts."""
    return max(
        abs(np.corrcoef(a[max(0, k):len(a) + min(0, k)], b[max(0, -k):len(b) - max(0, k)])[0, 1])
        for k in range(-lags, lags + 1))


def test_other_consumers_do_not_shift_a_stream():
    """Drawing from another stream in between changes nothing."""
    mine, other = NormalStream(7, 'imu/gyro'), NormalStream(7, 'gps/position')
    values = []
    for _ in range(3000):
        other.next3()
        values.append(mine.next())
    assert values == draw(7, 'imu/gyro', 3000).tolist()


def test_next3_takes_three_numbers():
    """In the order of `next`, also across the end of a block."""
    stream = NormalStream(7, 'imu')
    assert [v for _ in range(700) for v in stream.next3()] == draw(7, 'imu', 2100).tolist()


@pytest.mark.parametrize('count', [0, 1, 245, 246, 247, 1023, 1024, 5000])
def test_numbers_that_are_skipped_are_those_that_would_have_come(count):
    stream, other = NormalStream(7, 'imu'), NormalStream(7, 'imu')
    first = [stream.next() for _ in range(10)]
    stream.skip(count)
    assert [other.next(), *other.take(9), *other.take(count), *other.next3()] == draw(
        7, 'imu', count + 13).tolist()
    assert first == draw(7, 'imu', 10).tolist()
    assert [*stream.next3(), stream.next()] == draw(7, 'imu', count + 14)[-4:].tolist()


@pytest.mark.parametrize('other', [(2, 'imu'), (0, 'imu'), (1, 'imu/gyro'), (1, 'gps')])
def test_neighbouring_seeds_and_names_are_uncorrelated(other):
    """Below 4.5 / sqrt(n) at all of 41 shifts, for seed 1 and name imu."""
    assert largest_correlation(draw(1, 'imu'), draw(*other)) < 4.5 / np.sqrt(COUNT)


def test_numbers_are_standard_normal():
    """Mean 0, variance 1, kurtosis 3, within four standard errors."""
    x = draw(1, 'imu')
    assert x.mean() == pytest.approx(0.0, abs=4.0 / np.sqrt(COUNT))
    assert x.var() == pytest.approx(1.0, abs=4.0 * np.sqrt(2.0 / COUNT))
    assert (x ** 4).mean() == pytest.approx(3.0, abs=4.0 * np.sqrt(96.0 / COUNT))


@pytest.mark.process
def test_another_process_draws_the_same_numbers():
    """The key comes from a stable hash, not from Python's own, which is salted."""
    code = ('from px4_sim_ros.model.random_streams import NormalStream;'
            'print(NormalStream(1, "imu").next())')
    outputs = {
        subprocess.run(
            [sys.executable, '-c', code], env={**os.environ, 'PYTHONHASHSEED': salt},
            cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
        for salt in ('1', '2')}
    assert outputs == {repr(NormalStream(1, 'imu').next())}
