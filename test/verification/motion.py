"""Motion without ground: falling, drag, turning, rotors."""
from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
from scipy.integrate import solve_ivp
from transforms3d.quaternions import quat2mat

from px4_sim_ros.model.body.rotors import OUT_OF_GROUND_EFFECT, RotorSet
from px4_sim_ros.model.rotation import yaw_rad
from verification.checks import Plot, Result, Series, check
from verification.plants import (
    G_M_S2,
    TILTED,
    altered,
    at_home,
    build,
    dragless_iris,
    iris,
    reference_air,
    seconds,
    steady_iris,
    truths,
)

RK4_4_MS = 'plant, RK4 at 4 ms'
STILL = (0.0, 0.0, 0.0)
HOVER = 807.0


# Falling.

@check(
    'free fall', model=f'{RK4_4_MS}, 1 s under uniform gravity', reference='z = -g t^2 / 2',
    tolerance=1e-9, unit='m')
def free_fall():
    """Return the largest distance on the way."""
    vehicle = dragless_iris()
    run = truths(build(vehicle, reference_air(vehicle)), 1.0)
    t = seconds(run)
    off = [math.dist(a.position_enu, (0.0, 0.0, -0.5 * G_M_S2 * s * s)) for a, s in zip(run, t)]
    return Result(max(off), Plot(
        'Free fall', 'time in s', 'distance from the closed form in m',
        (Series('RK4 at 4 ms', t, off),)))


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
    off = np.linalg.norm((got - exact, flown - velocities), axis=2).max()
    return Result(off, Plot(
        'Throw with linear drag', 'east in m', 'height in m', (
            Series('RK4 at 4 ms', got[:, 0], got[:, 2]),
            Series('closed form', exact[::25, 0], exact[::25, 2], 'dots'))))


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
    return Result(max(
        max(abs(a.position_enu[2] + terminal ** 2 / G_M_S2 * math.log(math.cosh(phase))),
            abs(a.velocity_flu[2] + terminal * math.tanh(phase)))
        for a, phase in zip(run, phases)))


# Turning.

INERTIA = np.array([2.0, 1.0, 0.5])
RATE = (1.0, 2.0, 3.0)


@functools.cache
def free_top():
    """Return the truths of a body with three different moments of inertia, and a plot."""
    vehicle = altered(dragless_iris(), body={'inertia_kg_m2': tuple(INERTIA)})
    dynamics = build(vehicle, reference_air(vehicle, 0.0), step_us=1000)
    dynamics.state[6:10] = TILTED
    dynamics.state[10:13] = RATE
    run = truths(dynamics, 2.0)
    t = seconds(run)
    rates = np.array([truth.rate_flu for truth in run])
    exact = solve_ivp(
        lambda _, w: np.cross(INERTIA * w, w) / INERTIA, (0.0, 2.0), RATE, 'DOP853',
        t_eval=t, rtol=1e-13, atol=1e-13).y.T
    plot = Plot('Torque-free top', 'time in s', 'body rate in rad/s', tuple(
        s for i, axis in enumerate('xyz') for s in (
            Series(axis, t, rates[:, i]),
            Series(f'{axis}, DOP853', t[::100], exact[::100, i], 'dots'))))
    return run, rates, exact, plot


TOP = 'plant, RK4 at 1 ms; I = (2, 1, 0.5), w = (1, 2, 3), 2 s'


@check('free top: energy', model=TOP, reference='w I w / 2 is constant', tolerance=1e-6,
       unit='relative')
def energy_of_the_top():
    """Return the largest change."""
    _, rates, _, plot = free_top()
    energy = 0.5 * (rates ** 2 @ INERTIA)
    return Result(np.abs(energy / 5.25 - 1.0).max(), plot)


@check('free top: angular momentum', model=TOP, reference='R I w is constant in the world',
       tolerance=1e-4, unit='kg m^2/s')
def momentum_of_the_top():
    """Return the largest change."""
    run, rates, _, plot = free_top()
    momenta = np.array([quat2mat(a.attitude) @ (INERTIA * w) for a, w in zip(run, rates)])
    start = quat2mat(TILTED) @ (INERTIA * RATE)
    return Result(np.linalg.norm(momenta - start, axis=1).max(), plot)


@check('free top: quaternion norm', model=TOP, reference='unit length', tolerance=1e-10, unit='1')
def norm_of_the_attitude():
    """Return the largest difference from one."""
    run, _, _, plot = free_top()
    return Result(max(abs(math.hypot(*truth.attitude) - 1.0) for truth in run), plot)


@check('free top: body rates', model=TOP, tolerance=1e-6, unit='rad/s',
       reference="Euler's equations with NumPy, integrated by SciPy's DOP853")
def rates_of_the_top():
    """Return the largest difference."""
    _, rates, exact, plot = free_top()
    return Result(np.abs(rates - exact).max(), plot)


@check('constant yaw rate', model=f'{RK4_4_MS}, pi rad/s for 2 s', reference='yaw = pi t',
       tolerance=1e-6, unit='rad')
def constant_yaw_rate():
    """Return the largest difference."""
    vehicle = dragless_iris()
    dynamics = build(vehicle, reference_air(vehicle))
    dynamics.state[12] = math.pi
    run = truths(dynamics, 2.0)
    return Result(max(
        abs(math.remainder(yaw_rad(a.attitude) - math.pi * t, math.tau))
        for a, t in zip(run, seconds(run))))


# Rotors.

@check('hover trim', model='plant, all rotors at sqrt(m g / 4 k), air of the coefficients',
       reference='no acceleration: k of iris.sdf, 5.84e-6 N s^2', tolerance=1e-9,
       unit='m/s^2, rad/s^2')
def hover_trim():
    """Return the larger acceleration at the start and after a step."""
    return _hover(reference_air(iris()), math.sqrt(1.55 * G_M_S2 / (4.0 * 5.84e-6)))


@check('hover trim at home', model='plant over home, rotors faster by sqrt(rho0 / rho)',
       reference='no acceleration: rho = p / (R T) at 488 m', tolerance=1e-9,
       unit='m/s^2, rad/s^2')
def hover_trim_at_home():
    """Return the larger acceleration at the start and after a step."""
    temperature = 288.15 - 0.0065 * 488.0
    exponent = 9.80665 / (287.05287 * 0.0065)
    density = 101325.0 * (temperature / 288.15) ** exponent / (287.05287 * temperature)
    return _hover(at_home(), math.sqrt(1.55 * G_M_S2 / (4.0 * 5.84e-6) * 1.225 / density))


def _hover(environment, speed):
    dynamics = build(steady_iris(), environment)
    dynamics.state[13:] = [speed] * 4
    return Result(max(
        math.hypot(*acceleration)
        for truth in (dynamics.truth(), dynamics.step((speed,) * 4))
        for acceleration in (truth.acceleration_flu, truth.angular_acceleration_flu)))


@functools.cache
def motor_steps():
    """Return times, and the shares of a step of 800 rad/s that are done, up and down."""
    shares = []
    for start, reference in ((100.0, 900.0), (900.0, 100.0)):
        vehicle = steady_iris()
        dynamics = build(vehicle, reference_air(vehicle), step_us=250)
        dynamics.state[13:] = [start] * 4
        run = truths(dynamics, 0.1, (reference,) * 4)
        shares.append((np.array([a.rotor_speeds_rad_s for a in run]) - start)
                      / (reference - start))
    t = np.array(seconds(run))
    series = []
    for name, share, lasting in zip(('up', 'down'), shares, (0.0125, 0.025)):
        series += [
            Series(name, 1e3 * t, share[:, 0]),
            Series(f'{name}, closed form', 1e3 * t[::20], 1.0 - np.exp(-t[::20] / lasting), 'dots')]
    series.append(Series('63.2 %', (0.0, 100.0), (1.0 - math.exp(-1.0),) * 2, 'limit'))
    return t, shares, Plot('Step of a rotor', 'time in ms', 'share of the step', tuple(series))


def _motor(index, lasting):
    t, shares, plot = motor_steps()
    exact = 1.0 - np.exp(-t / lasting)
    return Result(np.abs(shares[index] - exact[:, None]).max(), plot)


@check('rotor step up', model='plant, RK4 at 250 us, 100 to 900 rad/s',
       reference='1 - exp(-t/T), T = 12.5 ms of iris.sdf: 63.2 % at T', tolerance=1e-6, unit='1')
def rotor_step_up():
    """Return the largest difference on the way."""
    return _motor(0, 0.0125)


@check('rotor step down', model='plant, RK4 at 250 us, 900 to 100 rad/s',
       reference='1 - exp(-t/T), T = 25 ms of iris.sdf: 63.2 % at T', tolerance=1e-6, unit='1')
def rotor_step_down():
    """Return the largest difference on the way."""
    return _motor(1, 0.025)


# Hubs and senses of iris.sdf: front right, back left, front left, back right.
HUBS = ((0.13, -0.22, 1), (-0.13, 0.20, 1), (0.13, 0.22, -1), (-0.13, -0.20, -1))
# FLU: left side up, nose down and to the left are positive.
SIGNS = ((-1, -1, -1), (1, 1, -1), (1, -1, 1), (-1, 1, 1))


def alone(index, speed=HOVER):
    """Return rotor speeds with just one rotor turning."""
    return [speed if i == index else 0.0 for i in range(4)]


@check('signs of each rotor', model='plant: roll, pitch and yaw acceleration from one rotor alone',
       reference='right-hand rule by hand; a ccw rotor turns the body cw', tolerance=0,
       unit='signs')
def signs_of_each_rotor():
    """Count the signs that are wrong."""
    vehicle = steady_iris()
    wrong = 0
    for index, expected in enumerate(SIGNS):
        dynamics = build(vehicle, reference_air(vehicle))
        dynamics.state[13:] = alone(index)
        got = dynamics.truth().angular_acceleration_flu
        wrong += sum(np.sign(a) != b for a, b in zip(got, expected))
    return Result(int(wrong))


def wrench(vehicle, speeds, airspeed=STILL, rate=STILL):
    """Return forces and torques of the rotors in the air of their coefficients."""
    return np.array(RotorSet(vehicle.rotor_model, vehicle.rotors).wrench(
        speeds, airspeed, rate, vehicle.rotor_model.reference_density_kg_m3,
        OUT_OF_GROUND_EFFECT)[:6])


@check('torque of each rotor', model='rotors in still air, one at 807 rad/s',
       reference='T = k w^2 up, r x T - s 0.06 m T; figures of iris.sdf', tolerance=5e-15,
       unit='N, N m')
def torque_of_each_rotor():
    """Return the largest difference."""
    thrust = 5.84e-6 * HOVER ** 2
    return Result(max(
        np.abs(wrench(iris(), alone(i)) - (
            0.0, 0.0, thrust, y * thrust, -x * thrust, -sense * 0.06 * thrust)).max()
        for i, (x, y, sense) in enumerate(HUBS)))


@check('geometry swap', model='rotors of a vehicle with left and right exchanged',
       reference='mirrored forces and torques', tolerance=0, unit='components')
def geometry_swap():
    """Count the components of force and torque that differ."""
    vehicle, speeds = iris(), (900.0, 700.0, 800.0, 600.0)
    mirrored = dataclasses.replace(vehicle, rotors=tuple(
        dataclasses.replace(
            r, position_m=(r.position_m[0], -r.position_m[1], r.position_m[2]),
            turns='cw' if r.turns == 'ccw' else 'ccw') for r in vehicle.rotors))
    one = wrench(vehicle, speeds, (1.0, 2.0, 3.0), (0.3, 0.2, 0.1))
    other = wrench(mirrored, speeds, (1.0, -2.0, 3.0), (-0.3, 0.2, -0.1))
    return Result(int(np.count_nonzero(other != one * (1.0, -1.0, 1.0, -1.0, 1.0, -1.0))))


@check('gyroscopic term', model='rotors with and without inertia about their shafts',
       reference='-w x H, H = J sum(s w_i) e_z, by numpy.cross', tolerance=1e-12, unit='N m')
def gyroscopic_term():
    """Return the largest difference."""
    inertia, rate, speeds = 2.0e-3, (0.7, -1.1, 0.4), (900.0, 500.0, 300.0, 600.0)
    torques = [
        wrench(altered(iris(), rotor_model={'inertia_kg_m2': j}), speeds, (1.0, 2.0, 3.0), rate)[3:]
        for j in (inertia, 0.0)]
    momentum = np.array([0.0, 0.0, inertia * (900.0 + 500.0 - 300.0 - 600.0)])
    return Result(np.abs(torques[0] - torques[1] + np.cross(rate, momentum)).max())
