# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Motion without ground: falling, drag, turning."""
from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
from scipy.integrate import solve_ivp
from transforms3d.quaternions import quat2mat

from px4_sim_ros.model.rotation import yaw_rad
from verification.checks import check
from verification.plants import (
    G_M_S2,
    TILTED,
    altered,
    build,
    dragless_iris,
    reference_air,
    seconds,
    truths,
    uniform,
)

RK4_4_MS = 'plant, RK4 at 4 ms'


# Falling.

@check(
    'free fall', model=f'{RK4_4_MS}, 1 s under uniform gravity', reference='z = -g t^2 / 2',
    tolerance=1e-9, unit='m')
def free_fall():
    """Return the largest distance on the way."""
    vehicle = dragless_iris()
    run = truths(build(vehicle, reference_air(vehicle)), 1.0)
    off = [math.dist(a.position_enu, (0.0, 0.0, -0.5 * G_M_S2 * s * s))
           for a, s in zip(run, seconds(run))]
    return np.max(off)


@check(
    'throw with linear drag', model=f'{RK4_4_MS}, 2 s, 0.8 N s/m, tilted',
    reference='r = V t + (v0 - V) T (1 - exp(-t/T)) and its derivative, T = m/c, V = T g',
    tolerance=1e-6, unit='m, m/s')
def throw_with_linear_drag():
    """Return the largest difference of place and velocity on the way."""
    vehicle = altered(dragless_iris(), body={'linear_drag_n_s_m': 0.8})
    dynamics = build(vehicle, reference_air(vehicle))
    start, lasting = np.array([5.0, -3.0, 8.0]), 1.55 / 0.8
    dynamics.state[3:6] = start.tolist()
    dynamics.state[6:10] = TILTED
    run = truths(dynamics, 2.0)
    t = np.array(seconds(run))
    final = lasting * np.array([0.0, 0.0, -G_M_S2])
    exact = np.outer(t, final) + np.outer(
        lasting * (1.0 - np.exp(-t / lasting)), start - final)
    got = np.array([truth.position_enu for truth in run])
    velocities = final + np.outer(np.exp(-t / lasting), start - final)
    flown = np.array([quat2mat(truth.attitude) @ truth.velocity_flu for truth in run])
    return np.linalg.norm((got - exact, flown - velocities), axis=2).max()


@check(
    'fall with quadratic drag', model=f'{RK4_4_MS}, 3 s, 0.018 N s^2/m^2', tolerance=1e-6,
    reference='z = -V^2/g ln cosh(g t / V), v = -V tanh(g t / V), V = sqrt(m g / k)',
    unit='m, m/s')
def fall_with_quadratic_drag():
    """Return the largest difference of height and velocity on the way."""
    vehicle = altered(dragless_iris(), body={'quadratic_drag_n_s2_m2': 0.018})
    run = truths(build(vehicle, reference_air(vehicle)), 3.0)
    terminal = math.sqrt(1.55 * G_M_S2 / 0.018)
    phases = [G_M_S2 * t / terminal for t in seconds(run)]
    return np.max([
        (abs(a.position_enu[2] + terminal ** 2 / G_M_S2 * math.log(math.cosh(phase))),
         abs(a.velocity_flu[2] + terminal * math.tanh(phase)))
        for a, phase in zip(run, phases)])


@check(
    'fall on each side', model=f'{RK4_4_MS}, 3 s, nose, side and belly down, three drags',
    reference='v = V tanh(g t / V), V = sqrt(m g / (k r)), with the ratio r of the axis',
    tolerance=1e-6, unit='m/s')
def fall_on_each_side():
    """Return the largest difference of speed on the way."""
    drag, ratios, half = 0.018, (0.7, 2.0, 3.5), math.sqrt(0.5)
    vehicle = altered(
        dragless_iris(), body={'quadratic_drag_n_s2_m2': drag, 'drag_ratios': ratios})
    offs = []
    for attitude, ratio in zip(
            ((half, 0.0, half, 0.0), (half, half, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)), ratios):
        dynamics = build(vehicle, reference_air(vehicle))
        dynamics.state[6:10] = attitude
        run = truths(dynamics, 3.0)
        terminal, t = math.sqrt(1.55 * G_M_S2 / (drag * ratio)), np.array(seconds(run))
        fallen = np.array([np.linalg.norm(truth.velocity_flu) for truth in run])
        closed = terminal * np.tanh(G_M_S2 * t / terminal)
        offs.append(np.abs(fallen - closed).max())
    return max(offs)


# Turning.

INERTIA = np.array([2.0, 1.0, 0.5])
RATE = (1.0, 2.0, 3.0)


@functools.cache
def free_top():
    """Return the truths of a body with three different moments of inertia, and its rates."""
    vehicle = altered(dragless_iris(), body={'inertia_kg_m2': tuple(INERTIA)})
    dynamics = build(vehicle, reference_air(vehicle, 0.0), step_us=1000)
    dynamics.state[6:10] = TILTED
    dynamics.state[10:13] = RATE
    run = truths(dynamics, 2.0)
    return run, np.array([truth.rate_flu for truth in run])


TOP = 'plant, RK4 at 1 ms; I = (2, 1, 0.5), w = (1, 2, 3), 2 s'


@check('free top: energy', model=TOP, reference='w I w / 2 is constant', tolerance=1e-6,
       unit='relative')
def energy_of_the_top():
    """Return the largest change."""
    _, rates = free_top()
    energy = 0.5 * (rates ** 2 @ INERTIA)
    return np.abs(energy / 5.25 - 1.0).max()


@check('free top: angular momentum', model=TOP, reference='R I w is constant in the world',
       tolerance=1e-4, unit='kg m^2/s')
def momentum_of_the_top():
    """Return the largest change."""
    run, rates = free_top()
    momenta = np.array([quat2mat(a.attitude) @ (INERTIA * w) for a, w in zip(run, rates)])
    start = quat2mat(TILTED) @ (INERTIA * RATE)
    return np.linalg.norm(momenta - start, axis=1).max()


@check('free top: quaternion norm', model=TOP, reference='unit length', tolerance=1e-10, unit='1')
def norm_of_the_attitude():
    """Return the largest difference from one."""
    run, _ = free_top()
    return np.max([abs(math.hypot(*truth.attitude) - 1.0) for truth in run])


@check('free top: body rates', model=TOP, tolerance=1e-6, unit='rad/s',
       reference="Euler's equations with NumPy, integrated by SciPy's DOP853")
def rates_of_the_top():
    """Return the largest difference."""
    run, rates = free_top()
    exact = solve_ivp(
        lambda _, w: np.cross(INERTIA * w, w) / INERTIA, (0.0, 2.0), RATE, 'DOP853',
        t_eval=seconds(run), rtol=1e-13, atol=1e-13).y.T
    return np.abs(rates - exact).max()


@check('constant yaw rate', model=f'{RK4_4_MS}, pi rad/s for 2 s', reference='yaw = pi t',
       tolerance=1e-6, unit='rad')
def constant_yaw_rate():
    """Return the largest difference."""
    vehicle = dragless_iris()
    dynamics = build(vehicle, reference_air(vehicle))
    dynamics.state[12] = math.pi
    run = truths(dynamics, 2.0)
    return np.max([
        abs(math.remainder(yaw_rad(a.attitude) - math.pi * t, math.tau))
        for a, t in zip(run, seconds(run))])


@check('Coriolis force', model='plant without air, 60 m/s to the north, RK4 at 4 ms, 5 s',
       reference='inertial motion seen from an Earth that turns: r(t) by the rotation matrix,'
       ' without its centrifugal part', tolerance=1e-6, unit='m')
def coriolis_force():
    """Return the distance at the end; to first order in W it is v t^2 W sin(latitude) east."""
    rate = (0.0, 5e-5, 5.3e-5)
    environment = dataclasses.replace(uniform(0.0, 1e-12), earth_rate_enu=rate)
    dynamics = build(dragless_iris(), environment)
    dynamics.state[3:6] = (0.0, 60.0, 0.0)
    end = np.array(truths(dynamics, 5.0)[-1].position_enu)
    # r'' = -2 W x r' has the solution of a velocity that turns by -2 W t.
    size = 2.0 * math.hypot(*rate)
    axis, start = -np.array(rate) / math.hypot(*rate), np.array((0.0, 60.0, 0.0))
    turned = size * 5.0
    along = axis * (axis @ start)
    expected = (
        along * 5.0 + (start - along) * math.sin(turned) / size
        + np.cross(axis, start) * (1.0 - math.cos(turned)) / size)
    return math.dist(end, expected)
