# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Standing, falling and tipping on flat ground."""
from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
from scipy.optimize import root
from transforms3d.axangles import axangle2mat
from transforms3d.euler import euler2mat
from transforms3d.quaternions import mat2quat, quat2mat

from px4_sim_ros.model.environment.ground import Ground
from verification.checks import check
from verification.plants import (
    G_M_S2,
    REST,
    at_home,
    build,
    dragless_iris,
    iris,
    truths,
)

PLANT = 'plant, RK4 at 4 ms, Iris with rotors at rest'
# Feet 55 mm below the origin; springs of 1900 N/m give by m g / (4 k).
RESTING_HEIGHT_M = 0.055 - 1.55 * G_M_S2 / (4.0 * 1900.0)


def tilt_deg(attitude):
    """Return the angle between the body's z axis and the vertical."""
    matrix = quat2mat(attitude)
    return math.degrees(math.atan2(math.hypot(matrix[0, 2], matrix[1, 2]), matrix[2, 2]))


def mechanical_energy(dynamics, vehicle, gravity):
    """Return kinetic, gravitational and spring energy in J.

    A foot stores k depth^2 / 2 in its normal spring and k stretch^2 / 2 in the
    tangential one, which reaches from the foot to its anchor.
    """
    x, body = dynamics.state, vehicle.body
    energy = body.mass_kg * (0.5 * sum(v * v for v in x[3:6]) + gravity * x[2])
    energy += 0.5 * sum(i * w * w for i, w in zip(body.inertia_kg_m2, x[10:13]))
    matrix = quat2mat(x[6:10])
    for point, anchor in zip(vehicle.contact_points_m, dynamics.anchors):
        foot = matrix @ point + x[:3]
        squares = np.minimum(0.0, foot[2]) ** 2
        if not math.isnan(anchor[0]):
            squares += (foot[0] - anchor[0]) ** 2 + (foot[1] - anchor[1]) ** 2
        energy += 0.5 * vehicle.contact_model.stiffness_n_m * squares
    return energy


@functools.cache
def standing():
    """Return the truths of a minute on the ground."""
    return truths(build(iris(), at_home(), ground=True), 60.0)


def _off(truth):
    return math.dist(truth.position_enu, (0.0, 0.0, RESTING_HEIGHT_M))


@check('at rest: place', model=f'{PLANT}, 60 s', tolerance=1e-12, unit='m',
       reference='does not move: origin at 0.055 m - m g / (4 k)')
def place_at_rest():
    """Return the largest distance in any step."""
    return np.max([_off(truth) for truth in standing()])


@check('at rest: tilt', model=f'{PLANT}, 60 s', reference='stays level', tolerance=0.1, unit='deg')
def tilt_at_rest():
    """Return the largest tilt in any step."""
    return np.max([tilt_deg(truth.attitude) for truth in standing()])


@functools.cache
def dropped():
    """Return the truths and energies of a drop from 1 m, 4 s long."""
    dynamics = build(iris(), at_home(), ground=True)
    dynamics.state[2] += 1.0
    run, energies = [dynamics.truth()], [mechanical_energy(dynamics, iris(), G_M_S2)]
    for _ in range(1000):
        run.append(dynamics.step(REST))
        energies.append(mechanical_energy(dynamics, iris(), G_M_S2))
    return run, np.array(energies)


@check('drop from 1 m: place', model=f'{PLANT}, after 4 s', tolerance=1e-6, unit='m, m/s',
       reference='settles at 0.055 m - m g / (4 k)')
def place_after_the_drop():
    """Return the distance and the speed at the end, whichever is larger."""
    run, _ = dropped()
    return np.maximum(_off(run[-1]), math.hypot(*run[-1].velocity_flu))


@check('drop from 1 m: tilt', model=f'{PLANT}, 4 s', reference='stays level', tolerance=0.1,
       unit='deg')
def tilt_after_the_drop():
    """Return the largest tilt in any step."""
    run, _ = dropped()
    return np.max([tilt_deg(truth.attitude) for truth in run])


@check('drop from 1 m: energy', model=f'{PLANT}, each step of 4 s', tolerance=1e-12, unit='J',
       reference='kinetic + potential + springs never grows; 1e-12 J is rounding')
def energy_of_the_drop():
    """Return the largest growth in a step."""
    _, energies = dropped()
    return np.maximum(0.0, np.diff(energies).max())


@check('tilted by 20 deg', model=f'{PLANT}, let go on its lowest feet, after 3 s',
       reference='falls back level', tolerance=0.1, unit='deg')
def tilted():
    """Return the largest tilt at the end, over six directions."""
    worst = 0.0
    for axis in (1, 0, 0), (0, 1, 0), (1, 1, 0):
        for angle in (20.0, -20.0):
            matrix = axangle2mat(axis, math.radians(angle))
            dynamics = build(iris(), at_home(), ground=True)
            dynamics.state[6:10] = mat2quat(matrix).tolist()
            dynamics.state[2] = -min((matrix @ p)[2] for p in iris().contact_points_m)
            worst = np.maximum(worst, tilt_deg(truths(dynamics, 3.0)[-1].attitude))
    return worst


@check('upside down', model=f'{PLANT}, laid on its back a foot high, after 4 s',
       reference='lies on its hull: 0.055 m - m g / (4 k), turned by 180 deg', tolerance=1e-6,
       unit='m, 1')
def upside_down():
    """Return how far its height and the vertical of its body are off, whichever is more."""
    dynamics = build(iris(), at_home(), ground=True)
    dynamics.state[2] += 0.3
    dynamics.state[6:10] = (0.0, 1.0, 0.0, 0.0)
    end = truths(dynamics, 4.0)[-1]
    return np.maximum(
        abs(end.position_enu[2] - RESTING_HEIGHT_M), abs(quat2mat(end.attitude)[2, 2] + 1.0))


@check('uneven feet', model='plant on four feet of different lengths, from where it begins, 5 s',
       reference='equilibrium: forces and torques of the springs, found by scipy.optimize.root',
       tolerance=1e-9, unit='m, 1')
def uneven_feet():
    """Return the largest difference of height and attitude, at the start and after 5 s."""
    feet = ((0.2, 0.15, -0.06), (0.15, -0.2, -0.05), (-0.22, 0.17, -0.055), (-0.1, -0.18, -0.07))
    vehicle = dataclasses.replace(iris(), contact_points_m=feet, hull_points_m=())
    stiffness, weight = vehicle.contact_model.stiffness_n_m, vehicle.body.mass_kg * G_M_S2

    def loads(x):
        height, roll, pitch = x
        arms = np.array(feet) @ euler2mat(roll, pitch, 0.0, 'sxyz').T
        forces = stiffness * np.maximum(0.0, -(height + arms[:, 2]))
        return forces.sum() - weight, forces @ arms[:, 0], forces @ arms[:, 1]

    found = root(loads, (0.06, -0.03, 0.0), tol=1e-14)
    if np.abs(found.fun).max() > 1e-9:
        return math.inf
    solved = found.x
    up = euler2mat(solved[1], solved[2], 0.0, 'sxyz')[2]
    dynamics = build(vehicle, at_home(), ground=True)
    return np.max([
        np.abs(np.array([t.position_enu[2] - solved[0], *(quat2mat(t.attitude)[2] - up)])).max()
        for t in (dynamics.truth(), truths(dynamics, 5.0)[-1])])


@check('sliding distance', model='plant without air, RK4 at 1 ms, Iris at 1 to 4 m/s',
       reference='v^2 / (2 mu g), then back by what the springs give: mu m g / (4 k)',
       tolerance=5e-4, unit='m')
def sliding_distance():
    """Return the largest difference."""
    vehicle, worst = dragless_iris(), 0.0
    # So low a centre of mass that it does not pitch, which would press on the feet in front.
    flat = dataclasses.replace(
        vehicle, hull_points_m=(),
        contact_points_m=tuple((x, y, 0.0) for x, y, _ in vehicle.contact_points_m))
    limit = vehicle.contact_model.friction_coefficient * G_M_S2
    give = limit * vehicle.body.mass_kg / (4.0 * vehicle.contact_model.stiffness_n_m)
    for speed in (1.0, 2.0, 4.0):
        dynamics = build(flat, at_home(), ground=True, step_us=1000)
        dynamics.state[3] = speed
        end = truths(dynamics, 2.0)[-1].position_enu[0]
        worst = np.maximum(worst, abs(end - (0.5 * speed ** 2 / limit - give)))
    return worst


def on_slope(slope_deg):
    """Return the motion of an Iris without air that stands on ground that rises to the east."""
    vehicle = dragless_iris()
    # So low a centre of mass that it does not tip.
    flat = dataclasses.replace(
        vehicle, hull_points_m=(),
        contact_points_m=tuple((x, y, -0.01) for x, y, _ in vehicle.contact_points_m))
    return build(flat, dataclasses.replace(
        at_home(), ground=Ground.sloping(slope_deg, 90.0)), ground=True)


@check('no creep on a slope within friction', tolerance=1e-9, unit='m',
       model='Iris on ground that slopes by 34 degrees, RK4 at 4 ms, from 5 to 60 s',
       reference='it stays: tan(34 deg) is below the coefficient of friction, 0.7')
def no_creep():
    """Return how far it has moved."""
    dynamics = on_slope(34.0)
    before = truths(dynamics, 5.0)[-1].position_enu
    return math.dist(before, truths(dynamics, 55.0)[-1].position_enu)


@check('sliding down a slope', model='Iris on ground that slopes by 36 to 44 degrees, RK4 at 4 ms',
       reference='it gains g (sin(s) - mu cos(s)) in a second', tolerance=1e-9, unit='m/s')
def sliding_down():
    """Return the largest difference over the second from 1 s on."""
    worst, mu = 0.0, iris().contact_model.friction_coefficient
    for slope_deg in (36.0, 40.0, 44.0):
        run, slope = truths(on_slope(slope_deg), 2.0), math.radians(slope_deg)
        gained = math.hypot(*run[500].velocity_flu) - math.hypot(*run[250].velocity_flu)
        worst = np.maximum(worst, abs(
            gained - G_M_S2 * (math.sin(slope) - mu * math.cos(slope))))
    return worst
