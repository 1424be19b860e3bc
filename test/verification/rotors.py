# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rotors in hover: trim, lag, forces and torques of each."""
from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np

from px4_sim_ros.model.body.rotors import OUT_OF_GROUND_EFFECT, RotorSet
from verification.checks import check
from verification.plants import (
    G_M_S2,
    altered,
    at_home,
    build,
    iris,
    reference_air,
    seconds,
    steady_iris,
    truths,
    uniform,
)

STILL = (0.0, 0.0, 0.0)
HOVER = 807.0


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
    return np.max([
        math.hypot(*acceleration)
        for truth in (dynamics.truth(), dynamics.step((speed,) * 4))
        for acceleration in (truth.acceleration_flu, truth.angular_acceleration_flu)])


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
    return np.array(seconds(run)), shares


def _motor(index, lasting):
    t, shares = motor_steps()
    exact = 1.0 - np.exp(-t / lasting)
    return np.abs(shares[index] - exact[:, None]).max()


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
        # With that speed asked for, none speeds up or slows down, which would turn the body too.
        got = dynamics.step(alone(index)).angular_acceleration_flu
        wrong += sum(np.sign(a) != b for a, b in zip(got, expected))
    return int(wrong)


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
    return np.max([
        np.abs(wrench(iris(), alone(i)) - (
            0.0, 0.0, thrust, y * thrust, -x * thrust, -sense * 0.06 * thrust))
        for i, (x, y, sense) in enumerate(HUBS)])


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
    return int(np.count_nonzero(other != one * (1.0, -1.0, 1.0, -1.0, 1.0, -1.0)))


@check('gyroscopic term', model='rotors with and without inertia about their shafts',
       reference='-w x H, H = J sum(s w_i) e_z, by numpy.cross', tolerance=1e-12, unit='N m')
def gyroscopic_term():
    """Return the largest difference."""
    inertia, rate, speeds = 2.0e-3, (0.7, -1.1, 0.4), (900.0, 500.0, 300.0, 600.0)
    torques = [
        wrench(altered(iris(), rotor_model={'inertia_kg_m2': j}), speeds, (1.0, 2.0, 3.0), rate)[3:]
        for j in (inertia, 0.0)]
    momentum = np.array([0.0, 0.0, inertia * (900.0 + 500.0 - 300.0 - 600.0)])
    return np.abs(torques[0] - torques[1] + np.cross(rate, momentum)).max()


@check('torque of rotors that speed up', model='plant in a vacuum, one rotor asked to speed up',
       reference='the angular momentum of body and rotors together does not change',
       tolerance=1e-9, unit='N m s')
def torque_of_rotors_that_speed_up():
    """Return the largest change of the sum about the vertical, over 0.2 s."""
    vehicle = altered(steady_iris(), rotor_model={'inertia_kg_m2': 6.5e-5})
    dynamics = build(vehicle, uniform(0.0, 1e-12), step_us=250)
    body, worst = vehicle.body, 0.0
    for truth in truths(dynamics, 0.2, (900.0, 0.0, 0.0, 0.0))[1:]:
        rotor = 6.5e-5 * truth.rotor_speeds_rad_s[0]
        worst = np.maximum(worst, abs(body.inertia_kg_m2[2] * truth.rate_flu[2] + rotor))
    if truth.rotor_speeds_rad_s[0] < 800.0:
        return math.inf
    return worst


@check('reaction of the shaft torque', model='rotors at 807 rad/s, 6 m/s down to 20 m/s up',
       reference='Q = (T u + P0) / w of blade element and momentum, by 0.06 / 0.0164 of the file',
       tolerance=1e-12, unit='N m')
def reaction_of_the_shaft_torque():
    """Return the largest difference of the yaw torque of one rotor."""
    vehicle = iris()
    rotors = RotorSet(vehicle.rotor_model, vehicle.rotors, vehicle.motor_model)
    radius, hover_n = 0.127, 5.84e-6 * HOVER ** 2
    v_hover = math.sqrt(hover_n / (2.0 * 1.225 * math.pi * radius ** 2))
    v_zero = 0.67 * 2.0 * radius * HOVER / math.tau
    slope = hover_n / (v_zero - v_hover)
    worst, climbs = 0.0, np.linspace(-6.0, 20.0, 27)
    share = slope / (2.0 * 1.225 * math.pi * radius ** 2)
    for climb in climbs.tolist():
        flow = max(np.roots([1.0, share - climb, -share * v_zero]).real)
        thrust = slope * (v_zero - flow)
        torque = (thrust * flow + hover_n * (0.0164 * HOVER - v_hover)) / HOVER
        got = rotors.wrench(
            alone(0), (0.0, 0.0, climb), (0.0, 0.0, 0.0), 1.225, OUT_OF_GROUND_EFFECT)[5]
        worst = np.maximum(worst, abs(got + 0.06 / 0.0164 * torque))
    return worst


@check('shaking in a vortex ring', model='one rotor in free air at the worst descent, 80 s',
       reference='standard deviation and correlation time of the thrust as its parameters say',
       tolerance=0.1, unit='relative')
def shaking_in_a_vortex_ring():
    """Return the larger relative difference; nothing shakes in a faster or slower descent."""
    vehicle = steady_iris()
    v_hover = math.sqrt(5.84e-6 * HOVER ** 2 / (2.0 * 1.225 * math.pi * 0.127 ** 2))

    def thrusts(descent, count):
        dynamics = build(
            vehicle, uniform(0.0, 1.225), vortex_ring_shaking=0.1)
        dynamics.state[13:] = [HOVER] * 4
        dynamics.truth()
        start, found = dynamics.state.copy(), []
        for _ in range(count):
            dynamics.state = start
            dynamics.step((HOVER,) * 4, (0.0, 0.0, descent))
            found.append(dynamics.truth().acceleration_flu[2])
        return np.array(found[1:])

    if any(np.ptp(thrusts(share * v_hover, 100)) > 1e-9 for share in (0.45, 1.6)):
        return math.inf
    shaken = thrusts(v_hover, 20_000)
    deviation = shaken.std() / shaken.mean() / (0.1 / 2.0)       # of the mean of four
    off = shaken - shaken.mean()
    correlation = (off[1:] @ off[:-1]) / (off @ off)
    lag_s = 0.254 / (math.sqrt(5.84e-6 / (2.0 * 1.225 * math.pi * 0.127 ** 2)) * 1100.0)
    return np.max([abs(deviation - 1.0), abs(-0.004 / math.log(correlation) / lag_s - 1.0)])
