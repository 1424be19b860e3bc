# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The GNSS receiver: size and time constant of its errors, delay, outages and fix type."""
from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from transforms3d.axangles import axangle2mat
from transforms3d.quaternions import mat2quat

from px4_sim_ros.model.sensors.gnss import FixType, Gnss

PERIOD_S = 0.1


@pytest.fixture(scope='module')
def wandering(configuration):
    """Return the default receiver with errors that wander within 2 s instead of minutes."""
    return dataclasses.replace(configuration.nodes['gps'], error_correlation_time_s=2.0)


@pytest.fixture(scope='module')
def build(configuration, world):
    """Return a function that builds a receiver with only the given errors."""
    quiet = dataclasses.replace(
        configuration.nodes['gps'], horizontal_error_m=0.0, vertical_error_m=0.0,
        velocity_noise_m_s=0.0, delay_s=0.0)

    def built(**changes):
        return Gnss('gps', dataclasses.replace(quiet, **changes), world)
    return built


# Errors.

def test_it_starts_with_a_typical_error(wandering, world, still_truth):
    """Over 300 seeds the first fix already has the stationary spread."""
    frame = world.local_frame()
    first = [
        frame.to_local(Gnss('gps', wandering, dataclasses.replace(world, seed=seed))
                       .measure(still_truth).position) for seed in range(300)]
    assert np.std(first, axis=0) == pytest.approx(np.array([0.2, 0.2, 0.5]), rel=0.15)


def test_velocity_noise_is_white(configuration, world, still_truth):
    """0.03 m/s on each axis; neighbouring fixes are uncorrelated. The truth stands still."""
    gnss = Gnss('gps', configuration.nodes['gps'], world)
    velocity = np.array([gnss.measure(still_truth).velocity_enu for _ in range(30_000)])
    assert velocity.std(axis=0) == pytest.approx(np.full(3, 0.03), rel=0.03)
    assert np.abs(np.mean(velocity[1:] * velocity[:-1], axis=0)).max() / 0.03 ** 2 < 0.03


def test_it_reports_position_velocity_and_accuracy(build, world, still_truth):
    """Without errors: the place in WGS-84, the velocity in ENU, the configured accuracies."""
    truth = still_truth._replace(
        position_enu=(100.0, 200.0, 30.0), velocity_flu=(3.0, 1.0, 0.5),
        attitude=(math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5)))      # facing north
    fix = build().measure(truth)
    assert world.local_frame().to_local(fix.position) == pytest.approx((100, 200, 30), abs=1e-6)
    assert fix.velocity_enu == pytest.approx((-1.0, 3.0, 0.5), abs=1e-4)     # north has turned
    assert (fix.horizontal_accuracy_m, fix.vertical_accuracy_m) == (0.9, 1.78)


# Delay.

ACCELERATION = np.array((1.0, -2.0, 0.5))


def on_a_parabola(still_truth, time_s):
    """Return the truth of a constant acceleration with an attitude that turns all the time."""
    velocity = np.array((3.0, 5.0, -1.0)) + ACCELERATION * time_s
    position = np.array((10.0, 20.0, 30.0)) + velocity * time_s - 0.5 * ACCELERATION * time_s ** 2
    body_to_world = axangle2mat((1, 2, -2), 0.3 + 0.8 * time_s)
    return still_truth._replace(
        time_us=round(time_s * 1e6), position_enu=tuple(position.tolist()),
        attitude=tuple(mat2quat(body_to_world).tolist()),
        velocity_flu=tuple((body_to_world.T @ velocity).tolist()))


@pytest.mark.parametrize('delay_s', [0.0, 0.01, 0.1, 0.25, 0.37])
def test_delay_on_a_parabola(build, world, still_truth, delay_s):
    """Position and velocity are exactly those of `delay_s` ago, stamped now."""
    gnss = build(delay_s=delay_s)
    for i in range(1, 21):
        time_s = i * PERIOD_S
        fix = gnss.measure(on_a_parabola(still_truth, time_s))
        past_s = max(time_s - delay_s, PERIOD_S)      # before the first sample: that
        past = on_a_parabola(still_truth, past_s)
        velocity = np.array((3.0, 5.0, -1.0)) + ACCELERATION * past_s
        assert fix.time_us == round(time_s * 1e6)
        assert world.local_frame().to_local(fix.position) == pytest.approx(
            past.position_enu, abs=1e-6)
        assert fix.velocity_enu == pytest.approx(
            world.local_frame().turned_to_place(fix.position, tuple(velocity)), abs=1e-9)


def test_delay_on_a_circle(build, world, still_truth):
    """12 m/s on a radius of 10 m: between the samples it is within 1 mm and 1 cm/s."""
    rate, radius = 1.2, 10.0
    gnss = build(delay_s=0.05)
    for i in range(1, 60):
        angle, past = rate * i * PERIOD_S, rate * (i * PERIOD_S - 0.05)
        fix = gnss.measure(still_truth._replace(
            time_us=i * 100_000, velocity_flu=(rate * radius, 0.0, 0.0),
            position_enu=(radius * math.sin(angle), -radius * math.cos(angle), 0.0),
            attitude=(math.cos(angle / 2.0), 0.0, 0.0, math.sin(angle / 2.0))))
        if i > 1:
            assert world.local_frame().to_local(fix.position) == pytest.approx(
                (radius * math.sin(past), -radius * math.cos(past), 0.0), abs=1e-3)
            assert fix.velocity_enu == pytest.approx(
                (12.0 * math.cos(past), 12.0 * math.sin(past), 0.0), abs=1e-2)


# The place of the antenna.

@pytest.mark.parametrize('delay_s', [0.0, 0.03])
def test_an_antenna_off_the_centre(build, world, still_truth, delay_s):
    """It is at p + R r, and moves with the derivative of that, also in the past."""
    arm, axis, rate = np.array((0.3, -0.2, 0.5)), np.array((1.0, 2.0, -2.0)) / 3.0, 0.8

    def place(time_s):
        return (np.array(on_a_parabola(still_truth, time_s).position_enu)
                + axis2mat(time_s) @ arm)

    def axis2mat(time_s):
        return axangle2mat(axis, 0.3 + rate * time_s)

    gnss = build(position_m=tuple(arm.tolist()), delay_s=delay_s)
    for i in range(1, 6):
        time_s = i * 0.1
        fix = gnss.measure(on_a_parabola(still_truth, time_s)._replace(
            rate_flu=tuple((rate * axis).tolist())))
        if i > 1:
            past_s = time_s - delay_s
            velocity = (place(past_s + 1e-5) - place(past_s - 1e-5)) / 2e-5
            assert world.local_frame().to_local(fix.position) == pytest.approx(
                place(past_s), abs=1e-6)
            assert fix.velocity_enu == pytest.approx(velocity, abs=2e-5)


# Outages and fix types.

@pytest.fixture(scope='module')
def outages(build, still_truth):
    """Return whether there is no fix, for 2000 s: on average 2 s with and 1 s without."""
    gnss = build(outage_rate_hz=0.5, outage_duration_s=1.0)
    return np.array([
        gnss.measure(still_truth).fix_type == FixType.NONE for _ in range(20_000)])


def test_outage_rate(outages):
    """It is per time with a fix; of a period it makes the probability 1 - exp(-rate h)."""
    begins = np.count_nonzero(outages[1:] & ~outages[:-1])
    assert begins > 600
    assert begins / np.count_nonzero(~outages) == pytest.approx(
        -math.expm1(-0.5 * PERIOD_S), rel=0.1)


def test_outage_duration(outages):
    """Exponential: standard deviation and mean are equal; whole periods add half of one."""
    change = np.diff(outages.astype(int))
    begins, ends = np.flatnonzero(change == 1), np.flatnonzero(change == -1)
    ends = ends[ends > begins[0]]
    durations = (ends - begins[:len(ends)]) * PERIOD_S
    assert durations.mean() == pytest.approx(1.0 + PERIOD_S / 2.0, rel=0.1)
    assert durations.std() == pytest.approx(1.0, rel=0.15)


def test_an_outage_keeps_the_last_position(build, still_truth):
    """The values stay finite and stand still; the time goes on."""
    gnss = build(outage_rate_hz=1.0, outage_duration_s=1.0)
    fixes = [gnss.measure(on_a_parabola(still_truth, i * PERIOD_S)) for i in range(1, 200)]
    lost = [i for i, fix in enumerate(fixes) if fix.fix_type == FixType.NONE]
    assert 50 < len(lost) < 150
    for i in lost:
        assert fixes[i].position == fixes[i - 1].position
        assert fixes[i].velocity_enu == fixes[i - 1].velocity_enu
        assert fixes[i].time_us == (i + 1) * 100_000


def test_outages_change_no_error(wandering, world, still_truth):
    """They have their own random numbers, so every fix outside is the same."""
    first, second = (Gnss('gps', p, world) for p in (
        wandering, dataclasses.replace(wandering, outage_rate_hz=1.0, outage_duration_s=1.0)))
    pairs = [(first.measure(still_truth), second.measure(still_truth)) for _ in range(200)]
    kept = [(a, b) for a, b in pairs if b.fix_type != FixType.NONE]
    assert 50 < len(kept) < 150
    assert all(a == b for a, b in kept)


@pytest.mark.parametrize(('name', 'fix_type'), [
    ('none', FixType.NONE), ('fix', FixType.FIX), ('sbas', FixType.SBAS), ('gbas', FixType.GBAS)])
def test_fix_type(build, still_truth, name, fix_type):
    """Without outages it is the configured one."""
    assert build(fix_type=name).measure(still_truth).fix_type is fix_type
