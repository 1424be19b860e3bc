# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Noise and vibration of an IMU are found in samples that have them, and only there."""
import dataclasses
import importlib.util
import math

import numpy as np
import pytest
import simulated
import ulog_file

from px4_sim_ros.cli.command_line import main
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.sensors.noise import ACCELERATION, RATE, RotorVibration
from px4_sim_ros.model.truth import Truth
from px4_sim_ros.real import open_loop
from px4_sim_ros.real.imu_log import ImuLog
from px4_sim_ros.real.sensor_profile import noise_of
from px4_sim_ros.real.vibration_fit import vibration_of
from px4_sim_ros.spec.configuration import load_configuration, profile_parameters
from px4_sim_ros.spec.files import load_vehicle

pytest.importorskip('pyulog')
if importlib.util.find_spec('allantools') is None:       # its import takes a while
    pytest.skip('allantools is not installed', allow_module_level=True)

PERIOD_S = 0.005
ACCEL, GYRO = (2.0, 1.0, 0.0), (0.1, 0.05, 0.02)
ACCEL_DENSITY, GYRO_DENSITY = 0.01, 5e-4


def shaken(flight, factor=1.0, at_rad_s=600.0):
    """Return samples of an IMU whose rotors turn `factor` times as fast as the file says."""
    times = np.arange(0.0, flight.time_s[-1], PERIOD_S)
    known = open_loop.drive(flight, load_vehicle('iris')).speeds
    speeds = factor * np.stack([np.interp(times, flight.time_s, s) for s in known.T], axis=1)
    angles = np.cumsum(PERIOD_S * speeds, axis=0)
    random = np.random.default_rng(2)
    samples = []
    for amplitudes, power, density in ((ACCEL, ACCELERATION, ACCEL_DENSITY),
                                       (GYRO, RATE, GYRO_DENSITY)):
        vibration = RotorVibration(amplitudes, at_rad_s, power, PERIOD_S, 1, f'{power}')
        zero = (0.0, 0.0, 0.0)
        rows = [vibration.add_to(zero, Truth(
            0, zero, (1.0, 0.0, 0.0, 0.0), zero, zero, zero, zero, tuple(speed), tuple(angle)))
            for speed, angle in zip(speeds.tolist(), angles.tolist())]
        samples.append(np.array(rows) + random.normal(
            0.0, density / math.sqrt(PERIOD_S), (len(times), 3)))
    return ImuLog('shaken', times, *samples, np.ones(len(times), bool), ())


def test_harmonics_that_made_samples_are_found_in_them():
    flight = simulated.fly(simulated.iris(), seed=4, duration_s=20.0)
    found = vibration_of(shaken(flight, factor=1.04), flight, load_vehicle('iris'))
    assert found.speed_factor == pytest.approx(1.04, abs=1e-9) and found.scatter == 0.0
    for one, amplitudes, power, density in (
            (found.accel, ACCEL, ACCELERATION, ACCEL_DENSITY),
            (found.gyro, GYRO, RATE, GYRO_DENSITY)):
        expected = np.array(amplitudes) * (found.at_rad_s / 600.0) ** power
        assert (np.abs(one.amplitudes - expected) < 0.05 * expected[0]).all()
        assert one.density == pytest.approx(density, rel=0.1)
        assert one.of_lines == pytest.approx(one.deviation, rel=0.05)


@pytest.mark.slow
def test_a_calm_imu_has_no_lines():
    flight = simulated.fly(simulated.iris(), seed=4, duration_s=20.0)
    random = np.random.default_rng(3)
    times = np.arange(0.0, flight.time_s[-1], PERIOD_S)
    shares = []
    for _ in range(5):
        noise = random.normal(0.0, ACCEL_DENSITY / math.sqrt(PERIOD_S), (2, len(times), 3))
        calm = ImuLog('calm', times, *noise, np.ones(len(times), bool), ())
        found = vibration_of(calm, flight, load_vehicle('iris'))
        assert found.accel.density == pytest.approx(ACCEL_DENSITY, rel=0.03)
        shares.append(found.accel.of_lines / found.accel.deviation)
    assert np.median(shares) < 0.2
    with pytest.raises(ParameterError, match=r'windows of 0\.5 s in flight; vibration takes 20'):
        vibration_of(calm, dataclasses.replace(
            flight, usable=flight.time_s < 5.0), load_vehicle('iris'))


def test_the_density_of_white_noise_is_in_its_interval():
    random, hits = np.random.default_rng(0), 0
    for _ in range(40):
        found = noise_of(random.normal(0.0, 1e-3 / math.sqrt(PERIOD_S), (1000, 3)), PERIOD_S)
        hits += abs(found.density - 1e-3) <= found.half_width
        assert found.walk is None and found.half_width < 5e-5
    # 95 % of 40 are 38; fewer than 34 in one of a hundred.
    assert hits >= 34
    assert noise_of(np.zeros((100, 3)), PERIOD_S) is None


def test_a_walk_takes_minutes_of_rest():
    """A bias that walks with K, in white noise of density N."""
    random, period_s, density, walk = np.random.default_rng(1), 0.1, 1e-3, 5e-4
    count = 20_000
    samples = random.normal(0.0, density / math.sqrt(period_s), (count, 3)) + np.cumsum(
        random.normal(0.0, walk * math.sqrt(period_s), (count, 3)), axis=0)
    found = noise_of(samples, period_s)
    assert found.density == pytest.approx(density, rel=0.05)
    assert found.walk == pytest.approx(walk, rel=0.15)


def rest_then_idle(path):
    """Write a log of 8 s at rest, then 4 s with motors that idle."""
    random = np.random.default_rng(5)
    times = np.arange(0.0, 12.0, PERIOD_S)
    louder = np.where(times < 8.0, 1.0, 6.0)[:, None]
    accel = random.normal(0.0, ACCEL_DENSITY / math.sqrt(PERIOD_S), (len(times), 3)) * louder
    gyro = random.normal(0.0, GYRO_DENSITY / math.sqrt(PERIOD_S), (len(times), 3)) * louder
    fields = [('float', f'{name}[{i}]', values[:, i]) for name, values in (
        ('gyro_rad', gyro), ('accelerometer_m_s2', accel)) for i in range(3)]
    us = 1e6 + 1e6 * times
    ulog_file.write(path, {
        'sensor_combined': (us, fields),
        'vehicle_land_detected': (us[::100], [('uint8_t', 'landed', np.ones(len(us[::100]), int))]),
    }, information=[('ver_hw', 'PX4_TEST')])


def test_a_profile_of_a_log_at_rest(tmp_path, capsys):
    log, out = tmp_path / 'bench.ulg', tmp_path / 'mine.yaml'
    rest_then_idle(log)
    assert main(['identify', str(log), '--vehicle', 'iris', '--sensors', str(out)]) == 0
    said = capsys.readouterr().out
    assert 'PX4_TEST' in said and 'gyro at rest, 8.0 s' in said
    assert 'not determined: vibration' in said
    imu = load_configuration(None, {}, base=profile_parameters(str(out))).nodes['imu']
    assert imu.accel_noise_density == pytest.approx(ACCEL_DENSITY, rel=0.03)
    assert imu.gyro_noise_density == pytest.approx(GYRO_DENSITY, rel=0.03)
    assert imu.accel_vibration == (0.0, 0.0, 0.0)


def test_a_profile_is_of_one_log(capsys, tmp_path):
    assert main(['identify', 'a.ulg', 'b.ulg', '--vehicle', 'iris', '--sensors',
                 str(tmp_path / 'x.yaml')]) == 2
    assert 'is a profile of one log, and there are 2' in capsys.readouterr().err
    assert main(['identify', 'a.ulg', '--vehicle', 'iris']) == 2
    assert 'names nothing to write' in capsys.readouterr().err

