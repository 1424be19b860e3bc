# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The statistics of the IMU's noise and biases."""
from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from px4_sim_ros.model.random_streams import NormalStream
from px4_sim_ros.model.sensors.imu import Imu
from px4_sim_ros.model.sensors.noise import GaussMarkov, GaussMarkovVector, VectorNoise


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


def test_drifting_bias_is_a_gauss_markov_process():
    """Stationary variance q^2 tau / 2 and correlation exp(-h / tau), 30000 time constants."""
    drive, tau, period = 0.3, 2.0, 1.0
    bias = GaussMarkovVector(drive, tau, period, NormalStream(1, 'bias'))
    x = np.array([bias.next() for _ in range(60_000)])
    assert x.var() == pytest.approx(drive ** 2 * tau / 2.0, rel=0.03)
    assert np.mean(x[1:] * x[:-1]) / x.var() == pytest.approx(math.exp(-period / tau), rel=0.03)


def test_wander_is_a_gauss_markov_process():
    """The configured standard deviation, from the first sample on, and exp(-h / tau)."""
    wander = GaussMarkov(0.7, 2.0, 1.0, NormalStream(1, 'wander'))
    x = np.array([wander.next() for _ in range(60_000)])
    assert x.std() == pytest.approx(0.7, rel=0.02)
    assert np.mean(x[1:] * x[:-1]) / x.var() == pytest.approx(math.exp(-0.5), rel=0.03)
    first = [GaussMarkov(0.7, 1e9, 1.0, NormalStream(seed, 'wander')).next() for seed in range(400)]
    assert np.std(first) == pytest.approx(0.7, rel=0.1)


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
