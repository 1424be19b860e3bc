# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The estimator: aligned at rest, close to the truth in motion, and never told the truth."""
from __future__ import annotations

import ast
import math
import pathlib
import types
import typing

import numpy as np
import pytest
from scripted_flight import ScriptedWorld
from transforms3d.euler import euler2mat
from transforms3d.quaternions import mat2quat, qconjugate, qmult

import px4_sim_ros.autopilot
from px4_sim_ros.model.environment.geodesy import GeodeticPosition, LocalFrame
from px4_sim_ros.model.environment.magnetic_field import field_enu_t
from px4_sim_ros.model.rotation import matrix, to_world
from px4_sim_ros.spec.configuration import load_configuration

G = 9.80665
ORIGIN = GeodeticPosition(47.0, 8.0, 500.0)
PLACES = ((0.0, 0.0, 5.0), (10.0, 5.0, 8.0), (-10.0, 5.0, 3.0), (0.0, 0.0, 6.0))
HEADINGS = (0.0, 2.0, -1.0, 0.0)


def feed(estimator, measurements, geoid_height_m):
    """Give the estimator what was measured in a step."""
    imu = measurements['imu/data_raw']
    estimator.imu(imu.time_us, imu.specific_force_flu, imu.rate_flu)
    if field := measurements.get('mag'):
        estimator.magnetometer(field.field_flu_t)
    if pressure := measurements.get('baro'):
        estimator.barometer(pressure.pressure_pa)
    if fix := measurements.get('gps/fix'):
        place = GeodeticPosition(
            fix.position.latitude_deg, fix.position.longitude_deg,
            fix.position.ellipsoid_altitude_m - geoid_height_m)
        estimator.gnss(place, fix.velocity_enu)


def angle_deg(p, q):
    """Return the angle between two attitudes."""
    return math.degrees(2.0 * math.asin(min(1.0, np.linalg.norm(qmult(qconjugate(p), q)[1:]))))


class Errors(typing.NamedTuple):
    """The largest errors of a flight."""

    position_m: float
    velocity_m_s: float
    attitude_deg: float


def errors_of_a_flight(configuration, estimator, controller):
    """Return them from a flight over PLACES that the truth steers: it needs no estimate."""
    world = ScriptedWorld(configuration)
    references = (0.0,) * 4
    worst = Errors(0.0, 0.0, 0.0)
    for _ in range(36 * 250):
        step = world.step(references)
        truth = step.truth
        feed(estimator, step.measured, configuration.world.geoid_height_m)
        velocity = to_world(matrix(truth.attitude), truth.velocity_flu)
        if truth.time_us > 2_000_000:
            leg = min(truth.time_us // 9_000_000, 3)
            state = types.SimpleNamespace(
                attitude=truth.attitude, velocity=velocity, rate=truth.rate_flu)
            commands = controller.commands(
                state, controller.velocity_to(PLACES[leg], truth.position_enu), HEADINGS[leg],
                0.004)
            references = configuration.vehicle.rotor_speed_references_rad_s(commands, True)
        if estimator.aligned:
            worst = Errors(*map(max, worst, (
                math.dist(estimator.now().position, truth.position_enu),
                math.dist(estimator.now().velocity, velocity),
                angle_deg(truth.attitude, estimator.now().attitude))))
    assert math.dist(truth.position_enu, PLACES[-1]) < 0.5, 'the flight itself has failed'
    return worst


def test_ideal_sensors(quiet_configuration, estimator, controller):
    """What is left is integration error and the lag of the fixed gains."""
    worst = errors_of_a_flight(quiet_configuration, estimator, controller)
    assert worst.position_m < 0.1
    assert worst.velocity_m_s < 0.05
    assert worst.attitude_deg < 1.0


@pytest.mark.parametrize('seed', [1, *(pytest.param(n, marks=pytest.mark.long) for n in (2, 3))])
def test_noisy_sensors(estimator, controller, seed):
    """With the default noise it is better than a single fix."""
    configuration = load_configuration(None, {'': {'seed': seed}})
    worst = errors_of_a_flight(configuration, estimator, controller)
    assert worst.position_m < 0.5
    assert worst.velocity_m_s < 0.3
    assert worst.attitude_deg < 1.5


def test_biased_inertial_sensors(estimator, controller):
    """Biases of the size of a small MEMS sensor are corrected."""
    configuration = load_configuration(
        None, {'imu': {'gyro_turn_on_bias': 0.003, 'accel_turn_on_bias': 0.05}})
    worst = errors_of_a_flight(configuration, estimator, controller)
    assert worst.position_m < 0.5
    assert worst.velocity_m_s < 0.4
    assert worst.attitude_deg < 3.0


# At rest, with the sensors made up here.

class Bench:
    """An estimator on a bench, at some attitude."""

    def __init__(self, estimator, roll=0.0, pitch=0.0, yaw=0.0) -> None:
        self.estimator = estimator
        self.rotation = euler2mat(yaw, pitch, roll, 'rzyx')
        self.field = tuple(self.rotation.T @ field_enu_t(ORIGIN, 2026.0))
        self.force = tuple(self.rotation.T @ (0.0, 0.0, G))
        self.place, self.velocity, self.pressure_pa = ORIGIN, (0.0, 0.0, 0.0), 95_000.0
        self.rate = (0.0, 0.0, 0.0)
        self.time_us = 0

    def run(self, seconds, *, mag=True, baro=True, gnss=True):
        """Feed samples at the usual rates."""
        end_us = self.time_us + round(seconds * 1e6)
        while self.time_us < end_us:
            self.time_us += 4000
            self.estimator.imu(self.time_us, self.force, self.rate)
            if mag and self.time_us % 20_000 == 0:
                self.estimator.magnetometer(self.field)
            if baro and self.time_us % 20_000 == 0:
                self.estimator.barometer(self.pressure_pa)
            if gnss and self.time_us % 100_000 == 0:
                self.estimator.gnss(self.place, self.velocity)
        return self


@pytest.mark.parametrize(('roll', 'pitch', 'yaw'), [
    (0.0, 0.0, 0.0), (0.0, 0.0, 1.5), (0.0, 0.0, -3.0), (0.3, 0.0, 0.0), (0.0, -0.4, 0.7),
    (-0.5, 0.6, 2.5)])
def test_alignment(estimator, roll, pitch, yaw):
    """Level from gravity, heading from the field, at rest at the origin."""
    bench = Bench(estimator, roll, pitch, yaw).run(1.5)
    assert estimator.aligned
    assert angle_deg(mat2quat(bench.rotation), estimator.now().attitude) < 0.05
    assert estimator.now().position == pytest.approx((0.0, 0.0, 0.0), abs=1e-3)
    assert estimator.now().velocity == pytest.approx((0.0, 0.0, 0.0), abs=1e-3)
    assert estimator.frame.to_local(ORIGIN) == pytest.approx((0.0, 0.0, 0.0), abs=1e-6)


@pytest.mark.parametrize('missing', ['mag', 'baro', 'gnss'])
def test_alignment_needs_every_sensor(estimator, missing):
    """It waits for the last one."""
    bench = Bench(estimator).run(3.0, **{missing: False})
    assert not estimator.aligned
    bench.run(1.0)
    assert estimator.aligned


def test_alignment_takes_its_time(estimator, gains):
    """Averages over the time that the file says."""
    bench = Bench(estimator).run(gains['estimator']['alignment_time_s'])
    assert not estimator.aligned
    bench.run(0.1)
    assert estimator.aligned


def test_gyro_bias_is_learnt(estimator):
    """At rest the rate that is left after a while is small."""
    bench = Bench(estimator)
    bench.rate = (0.01, -0.01, 0.01)
    bench.run(240.0)
    assert np.linalg.norm(estimator.now().rate) < 0.25 * np.linalg.norm(bench.rate)
    assert angle_deg((1.0, 0.0, 0.0, 0.0), estimator.now().attitude) < 3.0


def test_estimate_follows_the_sensors_and_not_the_truth(estimator):
    """Sensors that lie in agreement are believed: there is nothing else to go by."""
    bench = Bench(estimator).run(2.0)
    bench.place = LocalFrame(ORIGIN).to_geodetic((3.0, -2.0, 0.0))
    bench.pressure_pa -= 48.0          # about 4 m higher
    bench.run(60.0)
    assert estimator.now().position[:2] == pytest.approx((3.0, -2.0), abs=0.1)
    assert 3.8 < estimator.now().position[2] < 4.6


def test_no_room_of_the_autopilot_imports_the_motion():
    """Truth cannot be read where it is not imported."""
    for path in pathlib.Path(px4_sim_ros.autopilot.__file__).parent.glob('*.py'):
        for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
            names = [a.name for a in node.names] if isinstance(
                node, (ast.Import, ast.ImportFrom)) else []
            source = getattr(node, 'module', '') or ''
            for name in (source, *names):
                assert not name.startswith(('px4_sim_ros.model.body.dynamics', 'Truth')), path
                assert not name.startswith('px4_sim_ros.step'), path
