# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An IMU whose samples are means, against closed forms and the mean of many instants."""
from __future__ import annotations

import math

import numpy as np
from scipy.spatial.transform import Rotation

from px4_sim_ros.model.sensors.imu import Imu
from verification.checks import check
from verification.plants import (
    G_M_S2,
    STILL_TRUTH,
    at_home,
    build,
    iris,
    quiet_imu,
    truths,
    world,
)

PERIOD_S = 0.004
ARM_M = (0.3, -0.2, 0.5)


def means(**values):
    """Return an IMU without noise whose samples are means."""
    return Imu('imu', quiet_imu(sampling='mean', accel_range=1e4, **values), world())


def sampled(imu, truth_at, times_s):
    """Return specific forces and rates of all samples but the first."""
    samples = [imu.measure(truth_at(t)._replace(time_us=round(1e6 * t))) for t in times_s][1:]
    return (np.array([s.specific_force_flu for s in samples]),
            np.array([s.rate_flu for s in samples]))


@check('mean of an IMU: a vehicle that swings', tolerance=1e-9, unit='m/s^2, rad/s',
       model='IMU with means, 250 Hz, shaken along a line and about an axis at 3 to 200 Hz',
       reference='mean of A cos(w t): A (sin(w t1) - sin(w t0)) / (w T)')
def mean_of_a_swing():
    """Return the largest difference over frequencies."""
    axis, times, worst = np.array((2.0, 3.0, 6.0)) / 7.0, PERIOD_S * np.arange(1, 60), 0.0
    for hertz in (3.0, 40.0, 125.0, 200.0):
        w = math.tau * hertz
        mean = np.diff(np.sin(w * times)) / (w * PERIOD_S)

        def shaken(t, w=w):
            return STILL_TRUTH._replace(
                velocity_flu=tuple((axis * 2.0 / w * math.sin(w * t)).tolist()),
                acceleration_flu=tuple((axis * 2.0 * math.cos(w * t)).tolist()))

        def turned(t, w=w):
            half = 0.5 / w * math.sin(w * t)
            return STILL_TRUTH._replace(
                attitude=(math.cos(half), *(math.sin(half) * axis).tolist()),
                rate_flu=tuple((math.cos(w * t) * axis).tolist()))

        forces, _ = sampled(means(), shaken, times.tolist())
        _, rates = sampled(means(), turned, times.tolist())
        worst = np.max([
            worst, np.abs(forces - (0.0, 0.0, G_M_S2) - np.outer(2.0 * mean, axis)).max(),
            np.abs(rates - np.outer(mean, axis)).max()])
    return worst


@check('mean of an IMU: a vehicle that spins', model='IMU with means, 0.62 m off the centre',
       reference='rate; w x (w x r), and gravity that turns: its mean is sin(wT/2) / (wT/2) of that'
       ' in the middle', tolerance=1e-5, unit='m/s^2, rad/s')
def mean_of_a_spin():
    """Return the largest difference over rates of up to 30 rad/s about a level axis.

    It is of the fourth order in the angle of a period, 0.12 rad.
    """
    worst, times = 0.0, PERIOD_S * np.arange(1, 60)
    for rate in (0.0, 0.1, 5.0, -30.0):
        def spun(t, rate=rate):
            return STILL_TRUTH._replace(
                attitude=(math.cos(0.5 * rate * t), math.sin(0.5 * rate * t), 0.0, 0.0),
                rate_flu=(rate, 0.0, 0.0))

        forces, rates = sampled(means(position_m=ARM_M), spun, times.tolist())
        middle = rate * (times[1:] - 0.5 * PERIOD_S)
        gravity = G_M_S2 * np.sinc(0.5 * rate * PERIOD_S / math.pi)
        expected = np.stack([
            np.zeros(len(middle)), gravity * np.sin(middle) - rate ** 2 * ARM_M[1],
            gravity * np.cos(middle) - rate ** 2 * ARM_M[2]], axis=1)
        worst = np.max([
            worst, np.abs(forces - expected).max(), np.abs(rates - (rate, 0.0, 0.0)).max()])
    return worst


def tumbling(t):
    """Return the truth of a lively flight: place and attitude swing at 1 to 3 Hz on each axis."""
    step = 1e-4

    def slope(f):
        return (8.0 * (f(t + step) - f(t - step)) - (f(t + 2.0 * step) - f(t - 2.0 * step))) / (
            12.0 * step)

    def place(s):
        return np.array((math.sin(5.0 * s), math.cos(9.0 * s), 0.5 * math.sin(17.0 * s)))

    def attitude(s):
        return Rotation.from_euler('zyx', (
            0.5 * math.sin(7.0 * s), 0.4 * math.sin(11.0 * s + 1.0), 0.6 * math.cos(13.0 * s)))

    def rate(s):
        # R^T R' is the cross product with the rate; R' of a small turn, by differences.
        ahead, behind = ((attitude(s).inv() * attitude(s + k * step)).as_rotvec()
                         for k in (1.0, -1.0))
        further, back = ((attitude(s).inv() * attitude(s + k * step)).as_rotvec()
                         for k in (2.0, -2.0))
        return (8.0 * (ahead - behind) - (further - back)) / (12.0 * step)

    turn = attitude(t)
    x, y, z, w = turn.as_quat().tolist()
    acceleration = -np.array((25.0, 81.0, 289.0)) * place(t)
    return STILL_TRUTH._replace(
        time_us=round(1e6 * t), position_enu=tuple(place(t).tolist()), attitude=(w, x, y, z),
        velocity_flu=tuple(turn.inv().apply(slope(place)).tolist()),
        rate_flu=tuple(rate(t).tolist()),
        acceleration_flu=tuple(turn.inv().apply(acceleration).tolist()),
        angular_acceleration_flu=tuple(slope(rate).tolist()))


@check('mean of an IMU: without coning and sculling',
       model='IMU with means on a lever, 250 Hz, in a lively flight that turns on all axes',
       reference='mean of the samples of an ideal IMU at many instants (Gauss-Legendre)',
       tolerance=2e-6, unit='of 30 m/s^2, of 5 rad/s')
def mean_of_many_samples():
    """Return the largest difference from six instants with the weights of Gauss, five times."""
    instants, nodes = Imu('imu', quiet_imu(position_m=ARM_M), world()), np.polynomial.legendre
    places, weights = nodes.leggauss(6)
    worst = 0.0
    for begin in (0.1, 0.2, 0.3, 0.4, 0.5):
        imu = means(position_m=ARM_M)
        imu.measure(tumbling(begin))
        mean = imu.measure(tumbling(begin + PERIOD_S))
        many = [instants.measure(tumbling(begin + 0.5 * PERIOD_S * (1.0 + x)))
                for x in places.tolist()]
        force, rate = (0.5 * weights @ np.array([getattr(m, name) for m in many])
                       for name in ('specific_force_flu', 'rate_flu'))
        worst = np.max([worst, math.dist(mean.specific_force_flu, force) / 30.0,
                        math.dist(mean.rate_flu, rate) / 5.0])
    return worst


@check('mean of an IMU: a hard landing', model='Iris dropped from 1 m, IMU with means, RK4 at 4 ms',
       reference='sum of (f - g) T = change of the velocity', tolerance=1e-9, unit='m/s')
def mean_of_a_landing():
    """Return the largest difference on the way."""
    dynamics = build(iris(), at_home(), ground=True)
    dynamics.state[2] += 1.0
    run, imu = truths(dynamics, 2.0), means()
    forces = np.array([imu.measure(truth).specific_force_flu for truth in run])[1:]
    velocities = np.array([truth.velocity_flu for truth in run])[1:]
    gained = np.cumsum((forces - (0.0, 0.0, G_M_S2)) * PERIOD_S, axis=0)
    return np.abs(gained - velocities).max()
