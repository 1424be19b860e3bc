# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Flight on the wing against linear theory, energy and a published section."""
from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
from scipy.optimize import root

from px4_sim_ros.check.wings import wing_figures
from px4_sim_ros.model.body.rotors import RotorSet
from px4_sim_ros.model.body.surfaces import coefficients, surface_table
from px4_sim_ros.model.vehicle.elements import Surface
from verification.checks import check
from verification.plants import G_M_S2, at_home, build, truths, uniform
from verification.wings import DENSITY, STILL, glider, plane, published

# NACA 0012 at a Reynolds number of 360 000: degrees, lift and drag coefficient. Sheldahl & Klimas
# 1981, SAND80-2114, table of that section.
NACA_0012 = np.array([
    (1, 0.11, 0.0105), (2, 0.22, 0.0108), (5, 0.55, 0.0114), (6, 0.66, 0.0126), (7, 0.739, 0.0143),
    (30, 0.855, 0.570), (35, 0.980, 0.745), (40, 1.035, 0.920), (45, 1.050, 1.075),
    (50, 1.020, 1.215), (55, 0.955, 1.345), (60, 0.875, 1.470), (65, 0.760, 1.575),
    (70, 0.630, 1.665), (75, 0.500, 1.735), (80, 0.365, 1.780), (85, 0.230, 1.800),
    (90, 0.090, 1.800)])


@functools.cache
def section():
    """Return lift and drag of an endless surface at the angles of the table."""
    table = surface_table((Surface(
        'section', STILL, 1.0, 1.0, 1e9, math.radians(14.0), 0.011),), {})
    return np.array([coefficients(table, 0, math.radians(a)) for a in NACA_0012[:, 0].tolist()])


@check('lift of a published section', model='an endless surface at 1 to 7 degrees',
       reference='NACA 0012, wind tunnel: Sheldahl & Klimas 1981, SAND80-2114', tolerance=5.0,
       unit='%')
def lift_of_a_section():
    """Return the largest difference of the lift."""
    return 100.0 * np.abs(section()[:5, 0] / NACA_0012[:5, 1] - 1.0).max()


@check('a published section behind the stall', model='an endless surface at 30 to 90 degrees',
       reference='NACA 0012, wind tunnel: Sheldahl & Klimas 1981, SAND80-2114', tolerance=0.25,
       unit='of lift and drag coefficient')
def section_behind_the_stall():
    """Return the largest difference: that of the drag across the flow."""
    return np.abs(section()[5:] - NACA_0012[5:, 1:]).max()


@check('trim', model='the plane with attitude, elevator and throttle of check-vehicle, at home',
       reference='level flight: no acceleration ahead and up, and none in pitch', tolerance=1e-5,
       unit='m/s^2, rad/s^2')
def trim():
    """Return the largest of the three."""
    vehicle, air = plane(), at_home()
    figures = wing_figures(vehicle, air)
    dynamics, attack = build(vehicle, air), math.radians(figures.trim_attack_deg)
    dynamics.state[3] = figures.trim_speed_m_s
    dynamics.state[6:10] = (math.cos(0.5 * attack), 0.0, -math.sin(0.5 * attack), 0.0)
    dynamics.state[13] = 1000.0 * figures.trim_throttle
    elevator = next(i for i, servo in enumerate(vehicle.servos) if servo.name == 'elevator')
    dynamics.state[14 + elevator] = figures.trim_deflection * vehicle.servos[elevator].travel_rad
    truth = dynamics.truth()
    return np.abs((truth.acceleration_flu[0], truth.acceleration_flu[2],
                   truth.angular_acceleration_flu[1])).max()


# Small motions about a glide.

def longitudinal(state):
    """Return the derivative of (ahead, up, pitch rate, pitch) of the glider, by NumPy.

    Velocities are in body axes, m/s; pitch is nose up, rad. All of it is the equations of a rigid
    body in its plane of symmetry (Etkin & Reid 1996, section 4.9) with the forces of Beard &
    McLain.
    """
    vehicle, (ahead, up, rate, pitch) = glider(), state
    force, moment = np.zeros(3), 0.0
    turning = np.array((0.0, -rate, 0.0))       # nose up is against y
    for surface in vehicle.surfaces:
        chord, normal = np.array(surface.chord), np.array(surface.normal)
        chord, normal = chord / math.hypot(*chord), normal / math.hypot(*normal)
        flow = np.array((ahead, 0.0, up)) + np.cross(turning, surface.position_m)
        along, across = flow @ chord, flow @ normal
        speed = math.hypot(along, across)
        lift, drag = published(
            surface, np.array(math.atan2(-across, along) - surface.zero_lift_rad))
        pressure = 0.5 * DENSITY * surface.area_m2 * speed
        push = pressure * ((-lift * across - drag * along) * chord
                           + (lift * along - drag * across) * normal)
        force += push
        moment -= np.cross(surface.position_m, push)[1]
        moment += pressure * speed * surface.chord_m * surface.moment_0 * np.cross(
            normal, chord)[1]
    mass, inertia = vehicle.body.mass_kg, vehicle.body.inertia_kg_m2[1]
    return np.array((
        force[0] / mass - G_M_S2 * math.sin(pitch) + rate * up,
        force[2] / mass - G_M_S2 * math.cos(pitch) - rate * ahead,
        moment / inertia, rate))


@functools.cache
def glide():
    """Return the state of the steady glide."""
    found = root(lambda x: longitudinal((x[0], x[1], 0.0, x[2]))[:3], (12.0, -0.5, -0.1),
                 tol=1e-14)
    ahead, up, pitch = found.x
    return np.array((ahead, up, 0.0, pitch))


def slopes(f, x, step=1e-5):
    """Return the matrix of the derivatives of a function, by central differences."""
    return np.array([(f(x + step * unit) - f(x - step * unit)) / (2.0 * step)
                     for unit in np.eye(len(x))]).T


def flown(state, duration_s=0.2):
    """Return what becomes of a state of the glider on the plant."""
    ahead, up, rate, pitch = state.tolist()
    dynamics = build(glider(), uniform(G_M_S2, DENSITY))
    sine, cosine = math.sin(pitch), math.cos(pitch)
    dynamics.state[3:6] = (ahead * cosine - up * sine, 0.0, ahead * sine + up * cosine)
    dynamics.state[6:10] = (math.cos(0.5 * pitch), 0.0, -math.sin(0.5 * pitch), 0.0)
    dynamics.state[11] = -rate
    last = truths(dynamics, duration_s, (0.0,) * glider().reference_count)[-1]
    w, _, y, _ = last.attitude
    return np.array((last.velocity_flu[0], last.velocity_flu[2], -last.rate_flu[1],
                     -2.0 * math.atan2(y, w)))


@functools.cache
def modes():
    """Return the roots of linear theory, and those of the plant over 0.2 s; 1/s."""
    theory = np.linalg.eigvals(slopes(longitudinal, glide()))
    plant = np.log(np.linalg.eigvals(slopes(flown, glide())).astype(complex)) / 0.2
    return tuple(sorted(roots, key=lambda z: (abs(z), z.imag)) for roots in (theory, plant))


@check('short period and phugoid', model='the plane in a glide, disturbed by 1e-5, RK4 at 4 ms',
       reference='roots of the linear equations (Etkin & Reid 1996, 4.9), by NumPy from the forces'
       ' of Beard & McLain', tolerance=1e-5, unit='relative')
def short_period_and_phugoid():
    """Return the largest relative difference of the four roots."""
    theory, plant = (np.array(roots) for roots in modes())
    return np.abs(plant / theory - 1.0).max()


@check('period of the phugoid', model='the plane in a glide, disturbed by 1e-5, RK4 at 4 ms',
       reference='linear theory of two degrees of freedom: angle of attack and pitch rate follow'
       ' speed and pitch at once', tolerance=1.0, unit='%')
def period_of_the_phugoid():
    """Return the difference; Lanchester's pi sqrt(2) V / g has no damping in pitch: 19 % less."""
    matrix = slopes(longitudinal, glide())
    slow, fast = (0, 3), (1, 2)
    left = matrix[np.ix_(slow, slow)] - matrix[np.ix_(slow, fast)] @ np.linalg.solve(
        matrix[np.ix_(fast, fast)], matrix[np.ix_(fast, slow)])
    return 100.0 * abs(modes()[1][1].imag / np.linalg.eigvals(left).imag.max() - 1.0)


@check('short period of two degrees of freedom', tolerance=1.0, unit='%',
       model='the plane in a glide, disturbed by 1e-5, RK4 at 4 ms',
       reference='Etkin & Reid 1996, 6.3: w^2 = Z_w M_q - V M_w, at the same speed')
def short_period():
    """Return the difference of the size of the root."""
    matrix, fast = slopes(longitudinal, glide()), modes()[1][-1]
    return 100.0 * abs(abs(fast) / math.sqrt(np.linalg.det(matrix[1:3, 1:3])) - 1.0)


# Energy.

@check('climb by excess power', model='the plane with two propellers in a steady climb, 300 s',
       reference='climb = (thrust - drag) V / (m g), drag by Beard & McLain', tolerance=1e-6,
       unit='m/s')
def climb_by_excess_power():
    """Return the difference; the propellers turn against each other, so that it does not roll."""
    vehicle = glider()
    propellers = (vehicle.rotors[0], dataclasses.replace(vehicle.rotors[0], turns='ccw'))
    vehicle = dataclasses.replace(vehicle, rotors=propellers)
    dynamics = build(vehicle, uniform(G_M_S2, DENSITY))
    dynamics.state[3] = 12.0
    last = truths(dynamics, 300.0, (600.0, 600.0, *(0.0,) * len(vehicle.servos)))[-1]
    velocity, (w, _, y, _) = last.velocity_flu, last.attitude
    pitch = -2.0 * math.atan2(y, w)
    state = (velocity[0], velocity[2], -last.rate_flu[1], pitch)
    # The equations of the glider have weight as well: it is taken off again.
    drag = glider().body.mass_kg * (longitudinal(state)[:2] + G_M_S2 * np.array(
        (math.sin(pitch), math.cos(pitch))))
    thrust = RotorSet(vehicle.rotor_model, propellers).wrench(
        (600.0, 600.0), velocity, last.rate_flu, DENSITY, (math.inf, 0.0, 0.0, 0.0))
    power = (thrust[0] + drag[0]) * velocity[0] + (thrust[2] + drag[1]) * velocity[2]
    climb = velocity[0] * math.sin(pitch) + velocity[2] * math.cos(pitch)
    return abs(climb - power / (vehicle.body.mass_kg * G_M_S2))


@check('a plane with frozen controls gains no energy', tolerance=1e-9, unit='J',
       model='the plane without power and camber, thrown eight times at random, RK4 at 4 ms, 10 s',
       reference='energy of height and motion never rises')
def frozen_controls():
    """Return the largest rise in a step; a moment of camber would work on a body that turns."""
    surfaces = tuple(dataclasses.replace(s, moment_0=0.0) for s in glider().surfaces)
    vehicle = dataclasses.replace(glider(), surfaces=surfaces)
    generator, worst = np.random.default_rng(8), 0.0
    for _ in range(8):
        dynamics = build(vehicle, uniform(G_M_S2, DENSITY))
        attitude = generator.normal(size=4)
        dynamics.state[3:6] = generator.uniform(-15.0, 15.0, 3)
        dynamics.state[6:10] = attitude / np.linalg.norm(attitude)
        dynamics.state[10:13] = generator.uniform(-4.0, 4.0, 3)
        energy = np.array([
            vehicle.body.mass_kg * (
                0.5 * sum(v * v for v in a.velocity_flu) + G_M_S2 * a.position_enu[2])
            + 0.5 * sum(i * w * w for i, w in zip(vehicle.body.inertia_kg_m2, a.rate_flu))
            for a in truths(dynamics, 10.0, (0.0,) * vehicle.reference_count)])
        worst = np.maximum(worst, np.diff(energy).max())
    return worst
