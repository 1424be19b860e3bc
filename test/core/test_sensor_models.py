"""Sensors: what they measure without noise, and the statistics of their noise."""
from __future__ import annotations

import dataclasses
import math

import allantools
import numpy as np
import pytest
from transforms3d.axangles import axangle2mat
from transforms3d.quaternions import mat2quat

from px4_sim_ros.core.random_streams import NormalStream
from px4_sim_ros.core.sensors.barometer import Barometer, BarometerParameters
from px4_sim_ros.core.sensors.gnss import Gnss
from px4_sim_ros.core.sensors.imu import Imu, ImuParameters
from px4_sim_ros.core.sensors.magnetometer import Magnetometer, MagnetometerParameters
from px4_sim_ros.core.sensors.noise import DriftingBias

IMU_RATE_HZ = 250.0


@pytest.fixture(scope='module')
def ideal_imu(world):
    """Return an IMU without any error."""
    return Imu('imu', ImuParameters(0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0), world)


@pytest.fixture(scope='module')
def imu_samples(configuration, world, still_truth):
    """Return 400 s of a still IMU with the default noise: rate and specific force."""
    imu = Imu('imu', configuration.nodes['imu'], world)
    samples = [imu.measure(still_truth) for _ in range(100_000)]
    return (
        np.array([s.rate_flu for s in samples]),
        np.array([s.specific_force_flu for s in samples]) - (0.0, 0.0, world.gravity_m_s2))


# What an ideal accelerometer reads.

def test_accelerometer_at_rest_reads_g_up(ideal_imu, iris, build_dynamics, world):
    """Standing on the ground: (0, 0, +g)."""
    measured = ideal_imu.measure(build_dynamics(iris, ground=True).truth())
    assert measured.specific_force_flu == pytest.approx((0.0, 0.0, world.gravity_m_s2), abs=1e-9)
    assert measured.rate_flu == (0.0, 0.0, 0.0)


def test_accelerometer_in_free_fall_reads_nothing(ideal_imu, dragless, build_dynamics):
    """Whatever the attitude, after a second of falling."""
    dynamics = build_dynamics(dragless)
    dynamics.state[6:10] = (0.8, 0.4, -0.2, 0.4)
    for _ in range(250):
        truth = dynamics.step((0.0,) * 4)
    assert ideal_imu.measure(truth).specific_force_flu == pytest.approx((0, 0, 0), abs=1e-9)


def test_accelerometer_on_a_flat_circle(ideal_imu, still_truth, world):
    """Level, nose along the track, turning left: v^2 / r to the left and g up."""
    speed, radius = 6.0, 4.0
    truth = still_truth._replace(
        attitude=(math.cos(0.4), 0.0, 0.0, math.sin(0.4)), velocity_flu=(speed, 0.0, 0.0),
        rate_flu=(0.0, 0.0, speed / radius), acceleration_flu=(0.0, speed ** 2 / radius, 0.0))
    measured = ideal_imu.measure(truth)
    assert measured.specific_force_flu == pytest.approx(
        (0.0, speed ** 2 / radius, world.gravity_m_s2), abs=1e-9)
    assert measured.rate_flu == (0.0, 0.0, speed / radius)


def test_accelerometer_in_a_coordinated_turn(ideal_imu, still_truth, world):
    """Banked by atan(v^2 / (r g)), it reads sqrt(g^2 + (v^2/r)^2) along body z alone."""
    inward, g = 6.0 ** 2 / 4.0, world.gravity_m_s2
    body_to_world = axangle2mat((0, 0, 1), 0.8) @ axangle2mat((1, 0, 0), -math.atan2(inward, g))
    acceleration = axangle2mat((0, 0, 1), 0.8) @ (0.0, inward, 0.0)
    truth = still_truth._replace(
        attitude=tuple(mat2quat(body_to_world).tolist()),
        acceleration_flu=tuple((body_to_world.T @ acceleration).tolist()))
    assert ideal_imu.measure(truth).specific_force_flu == pytest.approx(
        (0.0, 0.0, math.hypot(g, inward)), abs=1e-9)


# Inertial noise.

@pytest.mark.parametrize('sensor', ['gyro', 'accel'])
@pytest.mark.parametrize('tau_s', [0.1, 1.0])
def test_allan_deviation_is_the_configured_density(imu_samples, configuration, sensor, tau_s):
    """White noise of density N has the Allan deviation N / sqrt(tau), by allantools."""
    samples = imu_samples[('gyro', 'accel').index(sensor)]
    density = getattr(configuration.nodes['imu'], f'{sensor}_noise_density')
    deviations = [
        allantools.oadev(axis, rate=IMU_RATE_HZ, data_type='freq', taus=[tau_s])[1][0]
        for axis in samples.T]
    assert np.sqrt(np.mean(np.square(deviations))) * math.sqrt(tau_s) == pytest.approx(
        density, rel=0.1)


def test_sample_noise_is_density_times_root_of_the_rate(imu_samples, configuration, world,
                                                        still_truth):
    """0.0138 rad/s and 0.101 m/s^2 at 250 Hz, and the variances say so."""
    rate, force = imu_samples
    assert rate.std() == pytest.approx(0.0138, rel=0.01)
    assert force.std() == pytest.approx(0.101, rel=0.01)
    measured = Imu('imu', configuration.nodes['imu'], world).measure(still_truth)
    assert measured.rate_variance == pytest.approx(rate.var(), rel=0.02)
    assert measured.specific_force_variance == pytest.approx(force.var(), rel=0.02)


def test_axes_and_sensors_are_uncorrelated(imu_samples):
    """All six channels: below 4.5 / sqrt(n)."""
    correlation = np.corrcoef(np.hstack(imu_samples).T) - np.eye(6)
    assert np.abs(correlation).max() < 4.5 / math.sqrt(len(imu_samples[0]))


def test_drifting_bias_is_a_gauss_markov_process():
    """Stationary variance q^2 tau / 2 and correlation exp(-h / tau), 30000 time constants."""
    drive, tau, period, turn_on = 0.3, 2.0, 1.0, 0.3
    bias = DriftingBias(drive, tau, turn_on, period, NormalStream(1, 'bias'))
    x = np.array([bias.next() for _ in range(60_000)])
    assert x.var() == pytest.approx(drive ** 2 * tau / 2.0, rel=0.03)
    assert np.mean(x[1:] * x[:-1]) / x.var() == pytest.approx(math.exp(-period / tau), rel=0.03)


def test_turn_on_bias_is_drawn_and_added(world, still_truth):
    """Its spread over 300 seeds is the configured one, and each gyro keeps its own."""
    parameters = ImuParameters(0.0, 0.0, 1e9, 0.02, 0.0, 0.0, 1e9, 0.0)
    first, later = [], []
    for seed in range(300):
        imu = Imu('imu', parameters, dataclasses.replace(world, seed=seed))
        first.append(imu.measure(still_truth).rate_flu)
        later.append([imu.measure(still_truth) for _ in range(5)][-1].rate_flu)
    assert np.std(first) == pytest.approx(0.02, rel=0.1)
    assert np.array(later) == pytest.approx(np.array(first), rel=1e-6)


def test_gyro_and_accelerometer_use_their_own_time_constants(world, still_truth):
    """After 4 ms with tau = 4 ms the gyro's bias has fallen to 1/e; the other stays."""
    imu = Imu('imu', ImuParameters(0.0, 0.0, 0.004, 1.0, 0.0, 0.0, 1e9, 1.0), world)
    one, two = imu.measure(still_truth), imu.measure(still_truth)
    assert two.rate_flu[0] / one.rate_flu[0] == pytest.approx(math.exp(-1.0), rel=1e-9)
    assert two.specific_force_flu[0] == pytest.approx(one.specific_force_flu[0], rel=1e-9)


# Other sensors.

def test_magnetometer_turns_the_field_into_the_body(world, still_truth):
    """Facing north the body sees (north, -east, up); its length is that at home."""
    quiet = Magnetometer('magnetometer', MagnetometerParameters(0.0, 0.0, 1.0, 0.0), world)
    east, north, up = quiet.measure(still_truth).field_flu_t
    facing_north = still_truth._replace(attitude=(math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5)))
    assert quiet.measure(facing_north).field_flu_t == pytest.approx((north, -east, up), abs=1e-15)
    # The World Magnetic Model near Zurich: 48.3 uT, dip 63.5 deg, declination 3.5 deg east.
    assert math.hypot(east, north, up) == pytest.approx(48.3e-6, rel=0.01)
    assert math.degrees(math.atan2(-up, math.hypot(east, north))) == pytest.approx(63.5, abs=0.5)
    assert math.degrees(math.atan2(east, north)) == pytest.approx(3.5, abs=0.5)


def test_magnetometer_noise(configuration, world, still_truth):
    """It is density sqrt(50 Hz) = 0.28 uT on each axis, and the variance says so."""
    parameters = dataclasses.replace(configuration.nodes['magnetometer'], random_walk=0.0)
    magnetometer = Magnetometer('magnetometer', parameters, world)
    samples = [magnetometer.measure(still_truth) for _ in range(20_000)]
    spread = np.std([s.field_flu_t for s in samples], axis=0)
    assert spread == pytest.approx(np.full(3, 4e-8 * math.sqrt(50.0)), rel=0.03)
    assert samples[0].variance == pytest.approx(4e-8 ** 2 * 50.0, rel=1e-12)


def test_barometer_noise(configuration, world, still_truth):
    """1 Pa about the pressure at home."""
    barometer = Barometer('barometer', configuration.nodes['barometer'], world)
    samples = [barometer.measure(still_truth) for _ in range(20_000)]
    pressures = np.array([s.pressure_pa for s in samples])
    assert pressures.std() == pytest.approx(1.0, rel=0.03)
    assert pressures.mean() == pytest.approx(95598.28, abs=0.04)
    assert samples[0].variance == 1.0


def test_barometer_height_and_drift(world, still_truth):
    """10 m higher the pressure is lower by rho g 10 m, and it drifts with simulated time."""
    barometer = Barometer('barometer', BarometerParameters(0.0, 0.5), world)
    start = barometer.measure(still_truth).pressure_pa
    higher = barometer.measure(still_truth._replace(position_enu=(0.0, 0.0, 10.0))).pressure_pa
    later = barometer.measure(still_truth._replace(time_us=8_000_000)).pressure_pa
    assert start - higher == pytest.approx(1.1685 * 9.80665 * 10.0, rel=2e-3)
    assert later - start == pytest.approx(4.0, abs=1e-9)


@pytest.fixture(scope='module')
def gnss_parameters(configuration):
    """Return the default receiver with errors that wander within 2 s instead of minutes."""
    return dataclasses.replace(configuration.nodes['gps'], error_correlation_time_s=2.0)


@pytest.fixture(scope='module')
def gnss_errors(gnss_parameters, world, still_truth):
    """Return 3000 s of fixes at 10 Hz: position errors in ENU, velocity errors in ENU."""
    gnss, frame = Gnss('gps', gnss_parameters, world), world.local_frame()
    fixes = [gnss.measure(still_truth) for _ in range(30_000)]
    return (
        np.array([frame.to_local(f.position) for f in fixes]),
        np.array([f.velocity_enu for f in fixes]))


def test_gnss_error_correlation_time(gnss_errors, gnss_parameters):
    """The autocorrelation over 1 s is exp(-1 s / tau)."""
    position, _ = gnss_errors
    lag = 10
    correlation = np.mean(position[lag:] * position[:-lag], axis=0) / position.var(axis=0)
    assert -1.0 / np.log(correlation) == pytest.approx(
        np.full(3, gnss_parameters.error_correlation_time_s), rel=0.2)


def test_gnss_error_size(gnss_errors):
    """0.2 m horizontally and 0.5 m vertically, from the first fix on; mean zero."""
    position, _ = gnss_errors
    assert position.std(axis=0) == pytest.approx(np.array([0.2, 0.2, 0.5]), rel=0.1)
    assert np.abs(position.mean(axis=0) / (0.2, 0.2, 0.5)).max() < 0.15


def test_gnss_starts_with_a_typical_error(gnss_parameters, world, still_truth):
    """Over 300 seeds the first fix already has the stationary spread."""
    frame = world.local_frame()
    first = [
        frame.to_local(Gnss('gps', gnss_parameters, dataclasses.replace(world, seed=seed))
                       .measure(still_truth).position) for seed in range(300)]
    assert np.std(first, axis=0) == pytest.approx(np.array([0.2, 0.2, 0.5]), rel=0.15)


def test_gnss_velocity_noise_is_white(gnss_errors):
    """0.1 m/s on each axis; neighbouring fixes are uncorrelated."""
    _, velocity = gnss_errors
    assert velocity.std(axis=0) == pytest.approx(np.full(3, 0.1), rel=0.03)
    assert np.abs(np.mean(velocity[1:] * velocity[:-1], axis=0)).max() / 0.01 < 0.03


def test_gnss_reports_position_velocity_and_accuracy(gnss_parameters, world, still_truth):
    """Without errors: the place in WGS-84, the velocity in ENU, the configured accuracies."""
    quiet = dataclasses.replace(
        gnss_parameters, horizontal_error_m=0.0, vertical_error_m=0.0, velocity_noise_m_s=0.0)
    truth = still_truth._replace(
        position_enu=(100.0, 200.0, 30.0), velocity_flu=(3.0, 1.0, 0.5),
        attitude=(math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5)))      # facing north
    fix = Gnss('gps', quiet, world).measure(truth)
    assert world.local_frame().to_local(fix.position) == pytest.approx((100, 200, 30), abs=1e-6)
    assert fix.velocity_enu == pytest.approx((-1.0, 3.0, 0.5), abs=1e-12)
    assert (fix.horizontal_accuracy_m, fix.vertical_accuracy_m) == (0.9, 1.78)
