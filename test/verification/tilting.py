# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rotors that servos tilt, against closed forms and against rotors that are mounted so."""
from __future__ import annotations

import dataclasses
import math

import numpy as np
from scipy.spatial.transform import Rotation

from px4_sim_ros.model.rotation import matrix
from px4_sim_ros.model.vehicle.elements import Servo
from verification.checks import check
from verification.plants import build, dragless_iris, steady_iris, truths, uniform

DENSITY = 1.2
LAG_S = 0.05
SERVO = Servo('tilt', 8, LAG_S, 1e3, math.pi)
SPEED = 700.0
# Behind the rotors and before the servo.
ANGLE = 17
OBLIQUE = (0.3, 0.9, -0.2)


def tilting(vehicle, hinge=(0.0, 1.0, 0.0), **body):
    """Return a vehicle whose front rotors are tilted by one servo."""
    rotors = tuple(
        dataclasses.replace(r, tilted_by='tilt', hinge=hinge) if r.position_m[0] > 0.0 else r
        for r in vehicle.rotors)
    return dataclasses.replace(
        vehicle, rotors=rotors, servos=(SERVO,), body=dataclasses.replace(vehicle.body, **body))


def alone(vehicle, angle_rad):
    """Return the motion of a vehicle in still air without gravity, its front right rotor turning.

    :param angle_rad: of the servo
    """
    dynamics = build(vehicle, uniform(0.0, DENSITY), step_us=1000)
    dynamics.state[13], dynamics.state[ANGLE] = SPEED, angle_rad
    return dynamics


@check('thrust of a rotor that is tilted', model='721 angles of its servo, hinge along y',
       reference='force (T sin a, 0, T cos a), torque r x F - k T n, by hand', tolerance=1e-12,
       unit='N, N m')
def thrust_of_a_tilted_rotor():
    """Return the largest difference, less what the rotor's lag turns the body by."""
    vehicle = tilting(dragless_iris())
    rotor, model, inertia = vehicle.rotors[0], vehicle.rotor_model, np.array(
        vehicle.body.inertia_kg_m2)
    thrust = model.thrust_coefficient_n_s2 * SPEED ** 2 * DENSITY / model.reference_density_kg_m3
    # All references are 0, so it slows down; the servo goes to 0.
    slowing = -model.inertia_kg_m2 * SPEED / model.time_constant_down_s
    worst = 0.0
    for angle in np.radians(np.arange(-180.0, 180.25, 0.5)):
        truth = alone(vehicle, angle).truth()
        axis = np.array([math.sin(angle), 0.0, math.cos(angle)])
        turned = np.array([math.cos(angle), 0.0, -math.sin(angle)])
        force = vehicle.body.mass_kg * np.array(truth.acceleration_flu)
        torque = np.cross(rotor.position_m, thrust * axis) - rotor.spin * (
            model.moment_coefficient_m * thrust * axis + slowing * axis
            + model.inertia_kg_m2 * SPEED * -angle / LAG_S * turned)
        worst = max(worst, np.abs(force - thrust * axis).max(), np.abs(
            inertia * truth.angular_acceleration_flu - torque).max())
    return worst


@check('thrust follows the lag of the servo', model='a heavy body, servo asked for 1 rad, 0.4 s',
       reference='direction of the thrust 1 - exp(-t / 50 ms)', tolerance=1e-6, unit='rad')
def lag_of_the_tilt():
    """Return the largest difference on the way."""
    vehicle = tilting(dragless_iris(), mass_kg=1e6, inertia_kg_m2=(1e6, 1e6, 1e6))
    dynamics = alone(vehicle, 0.0)
    run = truths(dynamics, 0.4, (SPEED, 0.0, 0.0, 0.0, 1.0))
    t = np.array([a.time_us for a in run]) / 1e6
    angle = np.array([math.atan2(a.acceleration_flu[0], a.acceleration_flu[2]) for a in run])
    return np.abs(angle - (1.0 - np.exp(-t / LAG_S))).max()


@check('a tilted rotor is one that is mounted so',
       model='rotors tilted about an oblique hinge, in wind, on a body that turns, 60 states',
       reference='accelerations with fixed rotors along axes that SciPy has turned, and -J w n\'',
       tolerance=1e-10, unit='m/s^2, rad/s^2')
def mounted_so():
    """Return the largest difference."""
    random = np.random.default_rng(7)
    vehicle = tilting(steady_iris(), OBLIQUE)
    hinge, inertia = np.array(OBLIQUE) / math.hypot(*OBLIQUE), np.array(vehicle.body.inertia_kg_m2)
    worst = 0.0
    for _ in range(60):
        angle, speeds = random.uniform(-3.0, 3.0), random.uniform(300.0, 900.0, 4)
        turn = Rotation.from_rotvec(angle * hinge)
        fixed = dataclasses.replace(vehicle, rotors=tuple(
            dataclasses.replace(r, tilted_by='', axis=tuple(turn.apply(r.axis)))
            if r.tilted_by else r for r in vehicle.rotors))
        motions = [build(v, uniform(0.0, DENSITY)) for v in (vehicle, fixed)]
        state = np.concatenate([
            random.uniform(-1.0, 1.0, 3), random.uniform(-8.0, 8.0, 3), (1.0, 0.0, 0.0, 0.0),
            random.uniform(-2.0, 2.0, 3), speeds, (angle,)])
        for motion in motions:
            motion.state = state
        one, other = (motion.truth() for motion in motions)
        torque = sum(
            -r.spin * vehicle.rotor_model.inertia_kg_m2 * speed * -angle / LAG_S
            * np.cross(hinge, turn.apply(r.axis))
            for r, speed in zip(vehicle.rotors, speeds) if r.tilted_by)
        worst = max(
            worst, np.abs(np.subtract(one.acceleration_flu, other.acceleration_flu)).max(),
            np.abs(np.subtract(one.angular_acceleration_flu, other.angular_acceleration_flu)
                   - torque / inertia).max())
    return worst


@check('angular momentum while rotors tilt',
       model='a body that tumbles in no air, rotors slowing down and tilting by 1.5 rad, 0.5 s',
       reference='R (I w + sum J w_i n_i) is kept', tolerance=1e-7, unit='1')
def momentum_is_kept():
    """Return the largest change over the momentum at first."""
    vehicle = tilting(dragless_iris(), OBLIQUE)
    dynamics = build(vehicle, uniform(0.0, 1e-12), step_us=500)
    dynamics.state[10:13] = 0.5, -0.4, 0.3
    dynamics.state[13:17] = 900.0, 500.0, 200.0, 800.0
    hinge = np.array(OBLIQUE) / math.hypot(*OBLIQUE)
    kept = []
    for truth in truths(dynamics, 0.5, (100.0, 400.0, 100.0, 400.0, 1.5)):
        turn = Rotation.from_rotvec(truth.servo_angles_rad[0] * hinge)
        momentum = np.array(vehicle.body.inertia_kg_m2) * truth.rate_flu
        for rotor, speed in zip(vehicle.rotors, truth.rotor_speeds_rad_s):
            axis = turn.apply(rotor.axis) if rotor.tilted_by else np.array(rotor.axis)
            momentum = momentum + rotor.spin * vehicle.rotor_model.inertia_kg_m2 * speed * axis
        kept.append(np.array(matrix(truth.attitude)).reshape(3, 3) @ momentum)
    kept = np.array(kept)
    return np.abs(kept - kept[0]).max() / math.hypot(*kept[0])
