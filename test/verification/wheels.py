# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Wheels on the ground against closed forms: rolling, turning, driving, standing on a slope."""
from __future__ import annotations

import dataclasses
import math

import numpy as np

from px4_sim_ros.model.vehicle.elements import Motor, Servo, Wheel
from px4_sim_ros.spec.files import load_vehicle
from verification.checks import check
from verification.plants import G_M_S2, build, steady_iris, truths, uniform

BASE_M, TRACK_M, RADIUS_M, RESISTANCE = 0.5, 0.4, 0.05, 0.02
RESTING = (0.0,) * 4


def cart(*, steered=False, driven=False, resistance=RESISTANCE):
    """Return a body of 2 kg on four wheels, that the air does not touch."""
    vehicle = steady_iris()
    wheels = tuple(
        Wheel((x, y, -0.05), RADIUS_M, resistance, 'steering' if steered and x > 0.0 else '',
              1.0, 'motor' if driven else '')
        for x in (0.5 * BASE_M, -0.5 * BASE_M) for y in (0.5 * TRACK_M, -0.5 * TRACK_M))
    return dataclasses.replace(
        vehicle, contact_points_m=(), wheels=wheels,
        servos=(Servo('steering', 5, 0.02, 10.0, 0.5),) if steered else (),
        motors=(Motor('motor', 4, 0.1, 40.0),) if driven else (),
        body=dataclasses.replace(
            vehicle.body, mass_kg=2.0, linear_drag_n_s_m=0.0, quadratic_drag_n_s2_m2=0.0))


def in_vacuum(vehicle):
    """Return a vehicle whose body has no drag."""
    return dataclasses.replace(
        vehicle, body=dataclasses.replace(vehicle.body, quadratic_drag_n_s2_m2=0.0))


def on_ground(vehicle, **options):
    """Return the motion of a cart that stands."""
    return build(vehicle, uniform(G_M_S2, 1e-9), ground=True, **options)


@check('rolling resistance', model='a cart that rolls at 3 m/s, RK4 at 1 ms, 4 s',
       reference='v = v0 - c g t', tolerance=2e-3, unit='m/s')
def rolling_resistance():
    """Return the largest difference after the first 0.2 s, in which it settles."""
    dynamics = on_ground(cart(), step_us=1000)
    dynamics.state[3] = 3.0
    run = truths(dynamics, 4.0, RESTING)[200:]
    t = np.array([a.time_us for a in run]) / 1e6
    speed = np.array([a.velocity_flu[0] for a in run])
    return np.abs(speed - (3.0 - RESISTANCE * G_M_S2 * t)).max()


@check('no side slip of a wheel', model='a cart that is pushed to the side within friction, 10 s',
       reference='it stays', tolerance=2e-3, unit='m')
def no_side_slip():
    """Return how far it has moved beyond the elastic deflection of its feet."""
    dynamics = on_ground(cart())
    dynamics.force_enu = (0.0, 0.5 * 0.7 * 2.0 * G_M_S2, 0.0)
    run = truths(dynamics, 10.0, RESTING)
    return abs(run[-1].position_enu[1] - run[500].position_enu[1])


@check('no creep on a slope within rolling resistance',
       model='a cart that is pushed along with 0.9 of its rolling resistance, 60 s',
       reference='it stays', tolerance=1e-6, unit='m')
def no_creep():
    """Return how far it has moved after the first second."""
    dynamics = on_ground(cart())
    dynamics.force_enu = (0.9 * RESISTANCE * 2.0 * G_M_S2, 0.0, 0.0)
    run = truths(dynamics, 60.0, RESTING)
    return math.dist(run[-1].position_enu, run[250].position_enu)


@check('turn radius',
       model='a tricycle whose front wheel is driven, at 0.1 rad, 1 m/s, RK4 at 1 ms',
       reference='bicycle: base / tan(angle) at the rear axle', tolerance=2e-4, unit='1')
def turn_radius():
    """Return the relative difference of speed / yaw rate."""
    vehicle = cart(steered=True, driven=True)
    rear = tuple(dataclasses.replace(wheel, driven_by='') for wheel in vehicle.wheels[2:])
    front = dataclasses.replace(vehicle.wheels[0], position_m=(0.5 * BASE_M, 0.0, -0.05))
    dynamics = on_ground(dataclasses.replace(vehicle, wheels=(front, *rear)), step_us=1000)
    last = truths(dynamics, 12.0, (*RESTING, 1.0 / RADIUS_M, 0.1))[-1]
    radius = last.velocity_flu[0] / last.rate_flu[2]
    return abs(radius / (BASE_M / math.tan(0.1)) - 1.0)


@check('turn radius of a car',
       model='rover_ackermann, its wheels steered by up to 0.5 rad, 1 m/s, RK4 at 1 ms',
       reference='Ackermann: base / tan(angle) at the rear axle, no wheel slips', tolerance=3e-4,
       unit='1')
def turn_radius_of_a_car():
    """Return the largest relative difference of speed / yaw rate."""
    return max(abs(_rear_radius_m(angle) / (0.5 / math.tan(angle)) - 1.0)
               for angle in (-0.5, -0.1, 0.2, 0.5))


def _rear_radius_m(angle_rad):
    """Return speed / yaw rate of the car after 8 s at an angle of its steering."""
    dynamics = on_ground(in_vacuum(load_vehicle('rover_ackermann')), step_us=1000)
    last = truths(dynamics, 8.0, (1.0 / 0.08, angle_rad))[-1]
    return last.velocity_flu[0] / last.rate_flu[2]


@check('turn on two motors',
       model='rover_differential on casters without resistance, ahead, backwards and on the spot',
       reference='yaw rate = radius (right - left) / track', tolerance=1e-4, unit='1')
def turn_on_two_motors():
    """Return the largest relative difference of the yaw rate."""
    rover, found = in_vacuum(load_vehicle('rover_differential')), []
    wheels = tuple(dataclasses.replace(
        wheel, rolling_resistance=0.0) if wheel.swivels else wheel for wheel in rover.wheels)
    for right, left in ((12.0, 8.0), (5.0, -5.0), (-6.0, -10.0)):
        dynamics = on_ground(dataclasses.replace(rover, wheels=wheels), step_us=1000)
        last = truths(dynamics, 6.0, (right, left))[-1]
        found.append(abs(last.rate_flu[2] / (0.1 * (right - left) / 0.6) - 1.0))
    return max(found)


@check('a caster rolls in every direction',
       model='a cart on four casters that slides at 3 m/s, 30 degrees off its heading, RK4 at 1 ms',
       reference='v = v0 - c g t, straight on', tolerance=2e-3, unit='m/s')
def caster_rolls():
    """Return the largest difference of the velocity after the first 0.2 s, in which it settles."""
    wheels = tuple(dataclasses.replace(wheel, swivels=True) for wheel in cart().wheels)
    dynamics = on_ground(dataclasses.replace(cart(), wheels=wheels), step_us=1000)
    heading = np.array((math.cos(math.radians(30.0)), math.sin(math.radians(30.0))))
    dynamics.state[3:5] = 3.0 * heading
    run = truths(dynamics, 4.0, RESTING)[200:]
    exact = [(3.0 - RESISTANCE * G_M_S2 * a.time_us / 1e6) * heading for a in run]
    return np.abs([a.velocity_flu[:2] for a in run] - np.array(exact)).max()


@check('speed of a driven cart', model='a cart whose motor is asked for 20 rad/s, 5 s',
       reference='20 rad/s times the radius of the wheels', tolerance=1e-3, unit='m/s')
def driven_speed():
    """Return the difference."""
    last = truths(on_ground(cart(driven=True)), 5.0, (*RESTING, 20.0))[-1]
    return abs(last.velocity_flu[0] - 20.0 * RADIUS_M)


@check('a driven cart stands when its motor stands',
       model='a cart that was driven, then pushed within friction, 20 s',
       reference='it stays', tolerance=1e-6, unit='m')
def stands():
    """Return how far it has moved after it has come to rest."""
    dynamics = on_ground(cart(driven=True))
    truths(dynamics, 2.0, (*RESTING, 20.0))
    truths(dynamics, 3.0, (*RESTING, 0.0))
    dynamics.force_enu = (5.0, 0.0, 0.0)
    run = truths(dynamics, 20.0, (*RESTING, 0.0))
    return math.dist(run[-1].position_enu, run[500].position_enu)


@check('a cart with frozen controls gains no energy while it rolls',
       model='a cart that is thrown down askew at 2 m/s, from 1 s to 3 s',
       reference='energy of height and motion never rises', tolerance=1e-6, unit='J')
def energy_never_grows():
    """Return the largest rise from one 0.1 s to the next; the springs of the feet are left out.

    The first second, in which it bounces on them, is, too.
    """
    dynamics = on_ground(cart(steered=True), step_us=1000)
    dynamics.state[2] += 0.1
    dynamics.state[3:6] = (2.0, 1.0, 0.0)
    inertia = cart().body.inertia_kg_m2
    energy = [
        2.0 * (0.5 * sum(v * v for v in a.velocity_flu) + G_M_S2 * a.position_enu[2])
        + 0.5 * sum(i * w * w for i, w in zip(inertia, a.rate_flu))
        for a in truths(dynamics, 3.0, (*RESTING, 0.1))]
    settled = np.array(energy[1000::100])
    return max(0.0, float(np.diff(settled).max()))
