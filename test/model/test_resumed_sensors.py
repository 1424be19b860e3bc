# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Noise of a sensor that was stopped: it goes on as if it had not been."""
from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from px4_sim_ros.model.environment.turbulence import DrydenTurbulence, Longitudinal, Transverse
from px4_sim_ros.model.environment.wind import WIND_CHOICES
from px4_sim_ros.model.random_streams import NormalStream
from px4_sim_ros.model.sensors.gnss import FixType, Gnss
from px4_sim_ros.spec.blocks import block_configuration
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.step.graph import load

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
