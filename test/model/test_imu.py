# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The IMU: what it reads without noise, where and as it is mounted, and its own errors."""
from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from transforms3d.axangles import axangle2mat
from transforms3d.euler import euler2mat
from transforms3d.quaternions import mat2quat

from px4_sim_ros.model.random_streams import NormalStream
from px4_sim_ros.model.sensors.imu import Imu
from px4_sim_ros.model.sensors.noise import (
    ACCELERATION,
    RATE,
    GaussMarkov,
    GaussMarkovVector,
    RotorVibration,
    VectorNoise,
)

POSITION_M = (0.3, -0.2, 0.5)
MOUNTING_DEG = (20.0, -35.0, 130.0)


@pytest.fixture(scope='module')
def ideal(quiet_imu):
    """Return a function that builds the parameters of an IMU with only the given errors."""
    def parameters(**changes):
        return quiet_imu(**{'gyro_range': 1e9, 'accel_range': 1e9} | changes)
    return parameters


@pytest.fixture(scope='module')
def ideal_imu(ideal, world):
    """Return an IMU without any error."""
    return Imu('imu', ideal(), world)


# What an ideal accelerometer reads.

def test_accelerometer_feels_gravity_where_it_is(ideal, still_truth, world):
    """With normal gravity it falls by 3.086e-6 m/s^2 a metre."""
    imu = Imu('imu', ideal(), dataclasses.replace(world, gravity_model='wgs84'))
    low, high = (
        imu.measure(still_truth._replace(position_enu=(0.0, 0.0, z))).specific_force_flu[2]
        for z in (0.0, 1000.0))
    assert low - high == pytest.approx(3.086e-3, rel=1e-3)


# Means.

def test_the_first_sample_and_one_after_a_gap_are_instants(ideal, world, still_truth):
    """There is nothing that they could be the mean since."""
    imu, instant = (Imu('imu', ideal(sampling=kind), world) for kind in ('mean', 'instant'))
    for time_us, is_mean in ((4000, False), (8000, True), (16_000, False), (20_000, True)):
        truth = still_truth._replace(
            time_us=time_us, velocity_flu=(1e-6 * time_us, 0.0, 0.0),
            acceleration_flu=(5.0, 0.0, 0.0))
        measured = imu.measure(truth)
        if is_mean:
            assert measured.specific_force_flu[0] == pytest.approx(1.0, abs=1e-12)
        else:
            assert measured == instant.measure(truth)


def test_means_have_the_noise_of_instants(configuration, world, still_truth):
    """That of a mean follows from the density; at rest both kinds read the same."""
    parameters = configuration.nodes['imu']
    mean, instant = (Imu('imu', dataclasses.replace(parameters, sampling=kind), world)
                     for kind in ('mean', 'instant'))
    for time_us in range(4000, 40_000, 4000):
        truth = still_truth._replace(time_us=time_us)
        for one, other in zip(mean.measure(truth), instant.measure(truth)):
            assert one == pytest.approx(other, abs=1e-12)


def test_means_feel_an_earth_that_turns(configuration, ideal, still_truth):
    """Free fall to the east over it is felt as nothing; its rate is that of an instant."""
    turning = configuration.world
    rate, g = turning.earth_rate_enu(), turning.gravity_m_s2
    imu = Imu('imu', ideal(sampling='mean'), turning)
    acceleration = -2.0 * np.cross(rate, (300.0, 0.0, 0.0)) - (0.0, 0.0, g)
    for time_us in (4000, 8000):
        t = 1e-6 * time_us
        measured = imu.measure(still_truth._replace(
            time_us=time_us, position_enu=(300.0 * t, 0.0, 0.0),
            velocity_flu=tuple(((300.0, 0.0, 0.0) + acceleration * t).tolist()),
            acceleration_flu=tuple(acceleration.tolist())))
    assert measured.specific_force_flu == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)
    assert measured.rate_flu == pytest.approx(rate, abs=1e-18)


# Where and as it is mounted.

def test_lever_arm_and_mounting(ideal, still_truth, world):
    """A spin-up about a fixed skew axis: -w^2 d towards the axis, alpha n x r along the circle."""
    axis = np.array((2.0, 3.0, 6.0)) / 7.0
    rate, angular_acceleration = 4.0, -9.0
    arm = np.array(POSITION_M)
    distance = arm - axis * (axis @ arm)
    body_to_world = axangle2mat((1, 2, 2), 0.7)
    acceleration = np.array((0.4, -1.1, 2.3))
    truth = still_truth._replace(
        attitude=tuple(mat2quat(body_to_world).tolist()),
        rate_flu=tuple((rate * axis).tolist()),
        angular_acceleration_flu=tuple((angular_acceleration * axis).tolist()),
        acceleration_flu=tuple(acceleration.tolist()))
    felt = (
        acceleration + body_to_world.T @ (0.0, 0.0, world.gravity_m_s2)
        - rate ** 2 * distance + angular_acceleration * np.cross(axis, arm))
    sensor_to_body = euler2mat(*np.radians(MOUNTING_DEG), 'sxyz')
    imu = Imu('imu', ideal(position_m=POSITION_M, mounting_deg=MOUNTING_DEG), world)
    measured = imu.measure(truth)
    assert measured.specific_force_flu == pytest.approx(sensor_to_body.T @ felt, abs=1e-9)
    assert measured.rate_flu == pytest.approx(sensor_to_body.T @ (rate * axis), abs=1e-9)


def test_a_quarter_turn_to_the_left(ideal, still_truth, world):
    """Yaw 90: the sensor's x axis is the body's left; in FRD, for PX4, that is yaw 270."""
    imu = Imu('imu', ideal(mounting_deg=(0.0, 0.0, 90.0)), world)
    measured = imu.measure(still_truth._replace(rate_flu=(1.0, 2.0, 3.0)))
    assert measured.rate_flu == pytest.approx((2.0, -1.0, 3.0), abs=1e-15)


# Scale and misalignment.

def sensed_axes(parameters, world, still_truth):
    """Return the matrices that a gyro and an accelerometer multiply with; gravity is off."""
    imu = Imu('imu', parameters, dataclasses.replace(world, gravity_m_s2=0.0))
    columns = [
        imu.measure(still_truth._replace(rate_flu=unit, acceleration_flu=unit))
        for unit in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))]
    return (np.transpose([c.rate_flu for c in columns]),
            np.transpose([c.specific_force_flu for c in columns]))


def test_scale_errors_and_misalignment_over_the_seeds(ideal, still_truth, world):
    """1-sigma in and beside the diagonal, mean zero; gyro and accelerometer have their own."""
    parameters = ideal(
        gyro_scale_error=0.02, gyro_misalignment=0.005,
        accel_scale_error=0.01, accel_misalignment=0.003)
    errors = np.array([
        sensed_axes(parameters, dataclasses.replace(world, seed=seed), still_truth)
        for seed in range(400)]) - np.eye(3)
    diagonal = np.eye(3, dtype=bool)
    for sensor, scale, tilt in ((0, 0.02, 0.005), (1, 0.01, 0.003)):
        for part, sigma in ((errors[:, sensor, diagonal], scale),
                            (errors[:, sensor, ~diagonal], tilt)):
            assert part.std() == pytest.approx(sigma, rel=0.06)
            assert abs(part.mean()) < 4.0 * sigma / math.sqrt(part.size)
    correlation = np.corrcoef(errors.reshape(400, 18).T) - np.eye(18)
    assert np.abs(correlation).max() < 4.5 / math.sqrt(400)


def test_axes_are_skewed_after_they_are_turned(ideal, still_truth, world):
    """The errors belong to the sensor, however it is mounted; one kind leaves the other alone."""
    skew = {'gyro_scale_error': 0.1, 'gyro_misalignment': 0.1}
    plain, _ = sensed_axes(ideal(**skew), world, still_truth)
    turned, _ = sensed_axes(ideal(**skew, mounting_deg=MOUNTING_DEG), world, still_truth)
    scaled, _ = sensed_axes(ideal(gyro_scale_error=0.1), world, still_truth)
    assert turned == pytest.approx(
        plain @ euler2mat(*np.radians(MOUNTING_DEG), 'sxyz').T, abs=1e-12)
    assert np.diag(scaled) == pytest.approx(np.diag(plain), abs=1e-15)
    assert scaled - np.diag(np.diag(scaled)) == pytest.approx(np.zeros((3, 3)), abs=1e-15)


# The converter.

def test_saturation(ideal, still_truth, world):
    """Each axis on its own, in both directions."""
    imu = Imu('imu', ideal(gyro_range=5.0, accel_range=12.0), world)
    measured = imu.measure(still_truth._replace(
        rate_flu=(4.0, -6.0, 1e9), acceleration_flu=(-100.0, 11.0, 2.0)))
    assert measured.rate_flu == (4.0, -5.0, 5.0)
    assert measured.specific_force_flu == pytest.approx(
        (-12.0, 11.0, 2.0 + world.gravity_m_s2), abs=1e-12)


@pytest.mark.parametrize(('rate', 'read'), [
    (0.24, 0.0), (0.26, 0.5), (-0.26, -0.5), (-0.74, -0.5), (10.1, 10.0), (0.0, 0.0)])
def test_quantisation_rounds_to_the_nearest(ideal, still_truth, world, rate, read):
    """In both directions, not towards zero."""
    imu = Imu('imu', ideal(gyro_resolution=0.5), world)
    measured = imu.measure(still_truth._replace(rate_flu=(rate, 0.0, 0.0)))
    assert measured.rate_flu[0] == pytest.approx(read, abs=1e-15)


def test_quantisation_of_noise(ideal, still_truth, world):
    """Whole steps; the error of rounding adds step^2 / 12."""
    step, density = 0.01, 5e-4
    imu = Imu('imu', ideal(accel_resolution=step, accel_noise_density=density), world)
    z = np.array([imu.measure(still_truth).specific_force_flu[2] for _ in range(20_000)])
    assert np.abs(z / step - np.round(z / step)).max() < 1e-9
    assert z.var() == pytest.approx(density ** 2 * 250.0 + step ** 2 / 12.0, rel=0.03)


def test_a_motion_that_is_no_number_is_passed_on(ideal, still_truth, world):
    """It is not for a sensor to end the run."""
    imu = Imu('imu', ideal(gyro_range=5.0, gyro_resolution=0.1), world)
    measured = imu.measure(still_truth._replace(rate_flu=(math.nan, math.inf, 1.0)))
    assert math.isnan(measured.rate_flu[0])
    assert measured.rate_flu[1:] == pytest.approx((5.0, 1.0))


# The statistics of the IMU's noise and biases.


def measured(imu, truth, count):
    """Return the rates and the specific forces of so many samples, without gravity."""
    samples = [imu.measure(truth) for _ in range(count)]
    return (np.array([s.rate_flu for s in samples]),
            np.array([s.specific_force_flu for s in samples]) - (0.0, 0.0, 9.80665))


@pytest.fixture(scope='module')
def default_samples(configuration, world, still_truth):
    """Return 400 s of a still IMU with the default noise: rate and specific force."""
    return measured(Imu('imu', configuration.nodes['imu'], world), still_truth, 100_000)


@pytest.fixture(scope='module')
def only(quiet_imu):
    """Return a function that builds the parameters of an IMU with only the given noise."""
    lasting = {'gyro_bias_correlation_time_s': 1e9, 'accel_bias_correlation_time_s': 1e9}

    def parameters(**changes):
        return quiet_imu(**lasting | changes)
    return parameters


def test_sample_noise_is_density_times_root_of_the_rate(
        default_samples, configuration, world, still_truth):
    """0.00138 rad/s and 0.0101 m/s^2 at 250 Hz, and the variances say so."""
    rate, force = default_samples
    assert rate.std() == pytest.approx(0.00138, rel=0.01)
    assert force.std() == pytest.approx(0.0101, rel=0.01)
    sample = Imu('imu', configuration.nodes['imu'], world).measure(still_truth)
    assert sample.rate_variance == pytest.approx(rate.var(), rel=0.02)
    assert sample.specific_force_variance == pytest.approx(force.var(), rel=0.02)


def test_axes_and_sensors_are_uncorrelated(default_samples):
    """All six channels: below 4.5 / sqrt(n)."""
    correlation = np.corrcoef(np.hstack(default_samples).T) - np.eye(6)
    assert np.abs(correlation).max() < 4.5 / math.sqrt(len(default_samples[0]))


def test_white_noise_is_the_same_with_a_bias(configuration, world, still_truth):
    """The bias has its own random numbers."""
    defaults = configuration.nodes['imu']
    biased = dataclasses.replace(
        defaults, gyro_turn_on_bias=0.5, gyro_bias_correlation_time_s=1e9)
    first, second = (Imu('imu', p, world) for p in (defaults, biased))
    differences = [
        np.subtract(second.measure(still_truth).rate_flu, first.measure(still_truth).rate_flu)
        for _ in range(3)]
    assert np.ptp(differences, axis=0) == pytest.approx(np.zeros(3), abs=1e-8)


def test_wander_is_a_gauss_markov_process():
    """The configured standard deviation, from the first sample on, and exp(-h / tau)."""
    wander = GaussMarkov(0.7, 2.0, 1.0, NormalStream(1, 'wander'))
    x = np.array([wander.next() for _ in range(60_000)])
    assert x.std() == pytest.approx(0.7, rel=0.02)
    assert np.mean(x[1:] * x[:-1]) / x.var() == pytest.approx(math.exp(-0.5), rel=0.03)
    first = [GaussMarkov(0.7, 1e9, 1.0, NormalStream(seed, 'wander')).next() for seed in range(400)]
    assert np.std(first) == pytest.approx(0.7, rel=0.1)


def test_many_values_at_once_are_those_of_one_after_the_other():
    drawn, taken = (GaussMarkov(0.7, 2.0, 1.0, NormalStream(1, 'wander')) for _ in range(2))
    assert taken.take(400) + taken.take(1) == [drawn.next() for _ in range(401)]
    drawn, taken = (GaussMarkovVector(0.7, 2.0, 1.0, NormalStream(1, 'drift')) for _ in range(2))
    assert [*taken.take(400).tolist(), list(taken.next())] == [
        list(drawn.next()) for _ in range(401)]


@pytest.mark.parametrize('compiled_at', [0, 10, 25, 40])
def test_rows_of_noise_are_the_same_for_python_and_for_compiled_code(compiled_at):
    """Which of both takes a sample has no say in its noise."""
    alone, both = (VectorNoise(0.1, 0.05, 3.0, 0.2, 1.0, 5, 'imu/accel') for _ in range(2))
    found = [both.add_to((0.0, 0.0, 0.0)) for _ in range(compiled_at)]
    while len(found) < 690:
        left = both.ahead.left
        rows = both.ahead.rows[both.ahead.at:both.ahead.at + left]
        found += map(tuple, (rows[:, :3] + rows[:, 3:]).tolist())
        both.skip(left)
    found.append(both.add_to((0.0, 0.0, 0.0)))
    expected = [alone.add_to((0.0, 0.0, 0.0)) for _ in found]
    assert np.array(found) == pytest.approx(np.array(expected), abs=1e-15)


def test_turn_on_bias_is_drawn_and_added(only, world, still_truth):
    """Its spread over 300 seeds is the configured one, and each gyro keeps its own."""
    first, later = [], []
    for seed in range(300):
        imu = Imu('imu', only(gyro_turn_on_bias=0.02), dataclasses.replace(world, seed=seed))
        first.append(imu.measure(still_truth).rate_flu)
        later.append([imu.measure(still_truth) for _ in range(5)][-1].rate_flu)
    assert np.std(first) == pytest.approx(0.02, rel=0.1)
    assert np.array(later) == pytest.approx(np.array(first), rel=1e-6)


def test_a_turn_on_bias_stays_while_the_drift_beside_it_wanders(world):
    """By the closed form: over seeds the mean square is b^2 + q^2 tau / 2 (1 - exp(-2 t / tau))."""
    turn_on, drive, tau, period = 0.2, 0.05, 3.0, 1.0
    for samples in 1, 3, 60:
        values = []
        for seed in range(700):
            noise = VectorNoise(0.0, drive, tau, turn_on, period, seed, 'imu/accel')
            noise.skip(samples - 1)
            values.append(noise.add_to((0.0, 0.0, 0.0)))
        drift = 0.5 * drive ** 2 * tau * -math.expm1(-2.0 * samples * period / tau)
        assert np.mean(np.square(values)) == pytest.approx(turn_on ** 2 + drift, rel=0.06)
    # Alone it is the same for ever.
    alone = VectorNoise(0.0, 0.0, tau, turn_on, period, 5, 'imu/accel')
    first = alone.add_to((0.0, 0.0, 0.0))
    alone.skip(1200)
    assert alone.add_to((0.0, 0.0, 0.0)) == first != (0.0, 0.0, 0.0)


def test_gyro_and_accelerometer_use_their_own_time_constants(only, world, still_truth):
    """Of drifts with the same drive that with tau = 4 ms is sqrt(q^2 tau / 2), at once."""
    parameters = only(
        gyro_random_walk=1.0, gyro_bias_correlation_time_s=0.004, accel_random_walk=1.0)
    imu = Imu('imu', parameters, world)
    samples = [imu.measure(still_truth) for _ in range(3000)]
    rates = np.array([sample.rate_flu for sample in samples])
    forces = np.array([sample.specific_force_flu for sample in samples])
    assert rates.std() == pytest.approx(math.sqrt(0.002), rel=0.05)
    assert np.diff(forces, axis=0).std() == pytest.approx(math.sqrt(0.004), rel=0.05)


# What rotors shake an IMU with, against closed forms.

AT_RAD_S, PERIOD_S = 600.0, 0.004


def turning(still_truth, speeds, time_s):
    angles = [math.remainder(speed * time_s, math.tau) for speed in speeds]
    return still_truth._replace(
        rotor_speeds_rad_s=tuple(speeds), rotor_angles_rad=tuple(angles))


def added(vibration, still_truth, speeds, times_s):
    return np.array([vibration.add_to((0.0, 0.0, 0.0), turning(still_truth, speeds, t))
                     for t in times_s])


@pytest.mark.parametrize('harmonic', [1, 2, 3])
@pytest.mark.parametrize('power', [ACCELERATION, RATE])
def test_a_harmonic_and_its_amplitude(still_truth, harmonic, power):
    """Fourier's coefficient at n w is the amplitude that grew with w, less what a mean takes."""
    speed, size = 450.0, 0.8
    amplitudes = [size if n == harmonic else 0.0 for n in (1, 2, 3)]
    vibration = RotorVibration(amplitudes, AT_RAD_S, power, PERIOD_S, 3, 'imu')
    # Whole turns, in many samples.
    times = np.arange(900) * (math.tau / speed) / 90.0
    samples = added(vibration, still_truth, [speed], times)
    found = 2.0 * np.abs(np.exp(-1j * harmonic * speed * times) @ samples) / len(times)
    left = math.sin(0.5 * harmonic * speed * PERIOD_S) / (0.5 * harmonic * speed * PERIOD_S)
    assert found == pytest.approx(
        np.full(3, size * (speed / AT_RAD_S) ** power * abs(left)), rel=1e-9)
    assert samples.std(axis=0) == pytest.approx(found / math.sqrt(2.0), rel=1e-9)


def test_powers_of_rotors_add(still_truth):
    """Phases are independent, so over many beats the variances add."""
    vibration = RotorVibration((1.0, 0.0, 0.0), AT_RAD_S, ACCELERATION, 1e-12, 5, 'imu')
    speeds = [AT_RAD_S, AT_RAD_S + 20.0, AT_RAD_S + 45.0, AT_RAD_S - 35.0]
    samples = added(vibration, still_truth, speeds, np.arange(0.0, 2.0 * math.tau, 1e-3))
    expected = sum((speed / AT_RAD_S) ** 4 for speed in speeds) / 2.0
    assert samples.var(axis=0) == pytest.approx(np.full(3, expected), rel=0.02)


def test_an_imu_that_is_shaken(quiet_imu, world, still_truth):
    """Standing rotors shake nothing, and an IMU that none shakes has the bits that it had."""
    shaken = Imu('imu', quiet_imu(
        accel_vibration=(3.0, 0.0, 0.0), gyro_vibration=(0.2, 0.0, 0.0)), world)
    calm = Imu('imu', quiet_imu(), world)
    at_rest = turning(still_truth, [0.0] * 4, 0.0)
    assert shaken.measure(at_rest) == calm.measure(at_rest)
    flying = turning(still_truth, [600.0] * 4, 0.3)
    one, other = shaken.measure(flying), calm.measure(flying)
    assert other == calm.measure(at_rest)
    assert all(a != b for a, b in zip(one.specific_force_flu, other.specific_force_flu))
    assert all(a != b for a, b in zip(one.rate_flu, other.rate_flu))
    again = Imu('imu', quiet_imu(
        accel_vibration=(3.0, 0.0, 0.0), gyro_vibration=(0.2, 0.0, 0.0)), world)
    assert again.measure(flying) == one
