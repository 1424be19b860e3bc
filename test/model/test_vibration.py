# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What rotors shake an IMU with, against closed forms."""
import math

import numpy as np
import pytest

from px4_sim_ros.model.sensors.imu import Imu
from px4_sim_ros.model.sensors.noise import ACCELERATION, RATE, RotorVibration, passed

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


def test_a_sample_is_the_mean_since_the_one_before(still_truth):
    speeds, amplitudes, end_s = [300.0, -700.0], (0.5, 0.2, 0.1), 1.0
    sampled = RotorVibration(amplitudes, AT_RAD_S, ACCELERATION, PERIOD_S, 3, 'imu')
    instant = RotorVibration(amplitudes, AT_RAD_S, ACCELERATION, 1e-12, 3, 'imu')
    count = 2000
    middles = end_s - PERIOD_S * (np.arange(count) + 0.5) / count
    # The midpoint rule is off by (n w h / count)^2 / 24.
    assert added(sampled, still_truth, speeds, [end_s])[0] == pytest.approx(
        added(instant, still_truth, speeds, middles).mean(axis=0), abs=1e-6)


def test_a_mean_over_a_turn_leaves_nothing():
    assert passed(0.0) == 1.0 and passed(math.tau) == pytest.approx(0.0, abs=1e-15)
    assert passed(math.pi) == pytest.approx(2.0 / math.pi)


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
