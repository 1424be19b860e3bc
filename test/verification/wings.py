# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Lifting surfaces and servos against closed forms, alone and on the plane in the air."""
from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np

from px4_sim_ros.model.body.rotors import RotorSet
from px4_sim_ros.model.body.surfaces import coefficients, surface_table, surface_wrench
from px4_sim_ros.model.rotation import matrix
from px4_sim_ros.model.vehicle.elements import Servo, Surface
from px4_sim_ros.spec.files import load_vehicle
from verification.checks import check
from verification.plants import G_M_S2, build, iris, truths, uniform

DENSITY = 1.2
STILL = (0.0, 0.0, 0.0)
WING = Surface('wing', (0.0, 0.0, 0.0), 0.3, 0.2, 7.5, 0.3, 0.02)


@functools.cache
def plane():
    """Return the plane on a bus that always has the nominal voltage."""
    return dataclasses.replace(load_vehicle('plane'), battery=None)


def wrench(surfaces, airspeed, rate=STILL, angles=(0.0,), servos=None, rotors=None):
    """Return force and torque of surfaces."""
    table = surface_table(surfaces, servos or {})
    if rotors is None:
        rotors = RotorSet(iris().rotor_model, ()).table
    return np.array(surface_wrench(
        table, rotors, np.array(angles), tuple(map(float, airspeed)), tuple(map(float, rate)),
        DENSITY))


def plate_share(alpha, stall):
    """Return Beard & McLain's blending function, as they write it."""
    m = 50.0
    one, other = np.exp(-m * (alpha - stall)), np.exp(m * (alpha + stall))
    return (1.0 + one + other) / ((1.0 + one) * (1.0 + other))


def published(surface, alpha):
    """Return lift and drag coefficient: Beard & McLain, with the plate of Viterna & Corrigan.

    :param alpha: angles of attack from zero lift, rad
    """
    share, ratio = plate_share(alpha, surface.stall_rad), surface.aspect_ratio
    linear = math.pi * ratio / (1.0 + math.sqrt(1.0 + (0.5 * ratio) ** 2)) * alpha
    across = 1.11 + 0.018 * ratio
    lift = (1.0 - share) * linear + share * 0.5 * across * np.sin(2.0 * alpha)
    drag = surface.drag_0 + share * across * np.sin(alpha) ** 2 + (
        1.0 - share) * linear ** 2 / (math.pi * surface.efficiency * ratio)
    return lift, drag


@check('lift and drag of a surface', model='a surface at 720 angles of attack, all around',
       reference='Beard & McLain 4.9 to 4.11 with the plate of Viterna & Corrigan 1982, lift and'
       ' drag turned into body axes',
       tolerance=1e-12, unit='N')
def lift_and_drag():
    """Return the largest difference of the force."""
    alpha = np.radians(np.arange(-179.75, 180.0, 0.5))
    speed, found, expected = 15.0, [], []
    lift, drag = published(WING, alpha)
    pressure = 0.5 * DENSITY * speed ** 2 * 0.3
    for a, cl, cd in zip(alpha, lift, drag):
        found.append(wrench(
            (WING,), (speed * math.cos(a), 0.0, -speed * math.sin(a)))[[0, 2]])
        expected.append((pressure * (cl * math.sin(a) - cd * math.cos(a)),
                         pressure * (cl * math.cos(a) + cd * math.sin(a))))
    return np.abs(np.array(found) - expected).max()


@check('stall', model='angle of attack at which a surface lifts most',
       reference='0.3 rad, within the width 1/50 rad of the blending', tolerance=0.06, unit='rad')
def stall():
    """Return how far the largest lift is from the angle of stall."""
    table = surface_table((WING,), {})
    alpha = np.linspace(0.0, 0.7, 701)
    lift = [coefficients(table, 0, float(a))[0] for a in alpha]
    return abs(alpha[int(np.argmax(lift))] - 0.3)


@check('drag of a plate across the flow', model='surfaces of aspect ratio 1, 7.5, 50 and 100 at 90'
       ' degrees', reference='q S (1.11 + 0.018 A) of Viterna & Corrigan 1982, up to A = 50, and'
       ' C_D0', tolerance=1e-9, unit='N')
def plate_across():
    """Return the largest difference."""
    worst = 0.0
    for ratio, across in (1.0, 1.128), (7.5, 1.245), (50.0, 2.01), (100.0, 2.01):
        force = wrench((dataclasses.replace(WING, aspect_ratio=ratio),), (0.0, 0.0, -10.0))
        worst = max(worst, math.hypot(
            force[0], force[2] - (across + 0.02) * 0.5 * DENSITY * 100.0 * 0.3))
    return worst


@check('torque of a surface', model='a surface that is deflected, off the centre, with a moment',
       reference='r x F, and q S c C_m about the axis from chord to normal', tolerance=1e-12,
       unit='N m')
def torque_of_a_surface():
    """Return the largest difference."""
    place = (-0.6, 0.2, 0.1)
    surface = dataclasses.replace(
        WING, position_m=place, moment_0=-0.05, servo='flap', effect=0.5)
    found = wrench((surface,), (15.0, 0.0, 0.0), angles=(0.1,), servos={'flap': 0})
    moment = -0.05 * 0.5 * DENSITY * 225.0 * 0.3 * 0.2
    expected = np.cross(place, found[:3]) + (0.0, -moment, 0.0)
    alone = wrench((WING,), (15.0 * math.cos(0.05), 0.0, -15.0 * math.sin(0.05)))
    lift = alone[2] * math.cos(0.05) - alone[0] * -math.sin(0.05)
    return max(np.abs(found[3:] - expected).max(), abs(found[2] - lift))


@check('roll damping', model='two halves of a wing that rolls at 0.1 rad/s, 20 m/s',
       reference='-rho V S a y^2 p / 2 - rho V S C_D0 y^2 p / 2 of strips at y', tolerance=1e-4,
       unit='1')
def roll_damping():
    """Return the relative difference of the torque."""
    halves = [dataclasses.replace(WING, position_m=(0.0, y, 0.0), area_m2=0.15)
              for y in (0.4, -0.4)]
    found = wrench(halves, (20.0, 0.0, 0.0), (0.1, 0.0, 0.0))[3]
    exact = -0.5 * DENSITY * 20.0 * 0.3 * (WING.lift_slope + 0.02) * 0.16 * 0.1
    return abs(found / exact - 1.0)


@check('wake of a rotor', model='a surface behind a rotor at standstill and at 10 m/s',
       reference='momentum theory: drag at sqrt(V^2 + 2 T / (rho A))', tolerance=1e-9, unit='N')
def wake_of_a_rotor():
    """Return the larger difference of the drag."""
    vehicle = plane()
    rotors = RotorSet(vehicle.rotor_model, vehicle.rotors)
    area, worst = vehicle.rotor_model.disc_area_m2, 0.0
    for speed in (0.0, 10.0):
        thrust = rotors.wrench((800.0,), (speed, 0.0, 0.0), STILL, DENSITY,
                               (math.inf, 0.0, 0.0, 0.0))[0]
        behind = dataclasses.replace(WING, in_wake_of=1)
        drag = wrench((behind,), (speed, 0.0, 0.0), rotors=rotors.table)[0]
        exact = -0.5 * DENSITY * 0.3 * 0.02 * (speed ** 2 + 2.0 * thrust / (DENSITY * area))
        worst = max(worst, abs(drag - exact))
    return worst


def servo_plane(**changes):
    """Return a plane whose elevator alone is a servo like this."""
    servo = dataclasses.replace(
        Servo('elevator', 7, 0.05, 8.0, 0.5), **changes)
    return dataclasses.replace(
        plane(), servos=(servo,), wheels=(),
        surfaces=tuple(dataclasses.replace(s, servo='', effect=0.0) for s in plane().surfaces))


@check('servo step', model='a servo, RK4 at 1 ms, from 0 to 0.1 rad',
       reference='0.1 (1 - exp(-t / 50 ms)): its rate is below 8 rad/s', tolerance=1e-7, unit='rad')
def servo_step():
    """Return the largest difference on the way."""
    dynamics = build(servo_plane(), uniform(0.0, DENSITY), step_us=1000)
    run = truths(dynamics, 0.4, (0.0, 0.1))
    t = np.array([a.time_us for a in run]) / 1e6
    angle = np.array([a.servo_angles_rad[0] for a in run])
    exact = 0.1 * (1.0 - np.exp(-t / 0.05))
    return np.abs(angle - exact).max()


@check('rate of a servo', model='a servo that is asked for 0.5 rad at most 2 rad/s, 0.15 s',
       reference='2 rad/s t', tolerance=1e-12, unit='rad')
def rate_of_a_servo():
    """Return the difference at the end."""
    dynamics = build(servo_plane(rate_rad_s=2.0), uniform(0.0, DENSITY))
    return abs(truths(dynamics, 0.152, (0.0, 0.5))[-1].servo_angles_rad[0] - 0.304)


def glider():
    """Return a plane without propeller and body drag, whose tail keeps it at an angle."""
    vehicle = plane()
    body = dataclasses.replace(vehicle.body, quadratic_drag_n_s2_m2=0.0)
    return dataclasses.replace(vehicle, body=body)


@check('glide slope', model='the plane without power and body drag, after 500 s of glide',
       reference='sink / speed ahead = drag / lift of Beard & McLain 4.9 to 4.11, added up for its'
       ' surfaces at its angle of attack', tolerance=1e-9, unit='1')
def glide_slope():
    """Return the difference of the slopes."""
    vehicle = glider()
    dynamics = build(vehicle, uniform(G_M_S2, DENSITY))
    dynamics.state[3] = 12.0
    last = truths(dynamics, 500.0, (0.0,) * vehicle.reference_count)[-1]
    world = np.array(matrix(last.attitude)).reshape(3, 3) @ last.velocity_flu
    # Lift is across the flow in the plane of chord and normal, drag along it.
    force = np.zeros(3)
    for surface in vehicle.surfaces:
        chord, normal = np.array(surface.chord), np.array(surface.normal)
        normal = normal / math.hypot(*normal)
        along, across = last.velocity_flu @ chord, last.velocity_flu @ normal
        lift, drag = published(
            surface, np.array(math.atan2(-across, along) - surface.zero_lift_rad))
        force += surface.area_m2 * math.hypot(along, across) * (
            (-lift * across - drag * along) * chord + (lift * along - drag * across) * normal)
    path = np.array(last.velocity_flu) / math.hypot(*last.velocity_flu)
    drag_n = -force @ path
    lift_n = math.hypot(*(force + drag_n * path))
    return abs(-world[2] / math.hypot(world[0], world[1]) - drag_n / lift_n)


@check('free turn of a body with a full tensor',
       model='plant, products of inertia, RK4 at 1 ms, 2 s',
       reference='energy w I w / 2 and momentum R I w are kept', tolerance=1e-8, unit='1')
def free_turn():
    """Return the larger relative change."""
    vehicle = dataclasses.replace(iris(), battery=None, body=dataclasses.replace(
        iris().body, inertia_kg_m2=(0.03, 0.05, 0.06), linear_drag_n_s_m=0.0,
        quadratic_drag_n_s2_m2=0.0, inertia_products_kg_m2=(0.004, -0.006, 0.003)))
    tensor = np.array(vehicle.body.inertia_tensor)
    dynamics = build(vehicle, uniform(0.0, 1e-9), step_us=1000)
    dynamics.state[10:13] = (1.0, 2.0, 3.0)
    kept = []
    for truth in truths(dynamics, 2.0, (0.0,) * 4)[::500]:
        rate = np.array(truth.rate_flu)
        turned = np.array(matrix(truth.attitude)).reshape(3, 3) @ tensor @ rate
        kept.append((0.5 * rate @ tensor @ rate, *turned))
    kept = np.array(kept)
    return np.abs(kept / kept[0] - 1.0).max()


@check('thrust along body x', model='rotors turned to body x, in a flow turned with them',
       reference='forces and torques of rotors along body z, turned', tolerance=1e-13,
       unit='N, N m')
def thrust_along_x():
    """Return the largest difference."""
    vehicle = iris()
    # z becomes x, x becomes -z.
    turned = [dataclasses.replace(
        r, position_m=(r.position_m[2], r.position_m[1], -r.position_m[0]), axis=(1.0, 0.0, 0.0))
        for r in vehicle.rotors]
    still = math.inf, 0.0, 0.0, 0.0
    speeds = (900.0, 700.0, 800.0, 600.0)
    up = RotorSet(vehicle.rotor_model, vehicle.rotors).wrench(
        speeds, (1.0, 2.0, 3.0), (0.3, 0.2, 0.1), DENSITY, still)
    along = RotorSet(vehicle.rotor_model, turned).wrench(
        speeds, (3.0, 2.0, -1.0), (0.1, 0.2, -0.3), DENSITY, still)
    expected = up[2], up[1], -up[0], up[5], up[4], -up[3]
    return np.abs(np.array(along[:6]) - expected).max()


@check('a rotor that turns backwards', model='a reversible rotor at -500 rad/s',
       reference='the same rotor at 500 rad/s with its axis the other way round', tolerance=0,
       unit='N, N m')
def backwards():
    """Return the largest difference."""
    rotor = iris().rotors[0]
    other = dataclasses.replace(rotor, axis=(0.0, 0.0, -1.0))
    flow = (1.0, 2.0, 3.0), (0.3, 0.2, 0.1), DENSITY, (math.inf, 0.0, 0.0, 0.0)
    one = RotorSet(iris().rotor_model, (rotor,)).wrench((-500.0,), *flow)
    two = RotorSet(iris().rotor_model, (other,)).wrench((500.0,), *flow)
    return np.abs(np.array(one) - two).max()
