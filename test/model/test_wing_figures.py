# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Figures of the wing against closed forms, of a plane so plain that it has them.

The quarter chords of its wing are at the centre of mass, and neither body nor propeller has a drag.
So in trim the tail carries nothing, and what turns it is only the tail.
"""
import dataclasses
import math

import pytest
from scipy.optimize import minimize_scalar
from verification import plants

from px4_sim_ros.check.figures import in_cruise
from px4_sim_ros.check.wings import wing_figures
from px4_sim_ros.model.world import Environment
from px4_sim_ros.spec.vehicles_and_missions import load_vehicle

HALF_SPAN_M, TAIL_M, CHORD_M = 0.37, 0.60, 0.20
WING_M2, TAIL_M2, TRAVEL = 0.30, 0.055, 0.40
ASPECT, STALL_RAD, DRAG_0, AILERON, ELEVATOR = 7.5, 0.30, 0.015, -0.12, -0.45
ZERO_LIFT_RAD = -0.12
TAIL_ASPECT, TAIL_DRAG = 4.0, 0.012


def slope(aspect):
    return math.pi * aspect / (1.0 + math.sqrt(1.0 + 0.25 * aspect ** 2))


@pytest.fixture(scope='module')
def plane():
    real = load_vehicle('plane')
    half = dataclasses.replace(
        real.surfaces[0], normal=(0.0, 0.0, 1.0), area_m2=0.5 * WING_M2, chord_m=CHORD_M,
        aspect_ratio=ASPECT, zero_lift_rad=ZERO_LIFT_RAD, stall_rad=STALL_RAD, drag_0=DRAG_0,
        moment_0=0.0, effect=AILERON, efficiency=0.85)
    tail = dataclasses.replace(
        real.surfaces[2], position_m=(-TAIL_M, 0.0, 0.0), area_m2=TAIL_M2, zero_lift_rad=0.0,
        aspect_ratio=TAIL_ASPECT, drag_0=TAIL_DRAG, effect=ELEVATOR)
    plain = dataclasses.replace(real, surfaces=(
        dataclasses.replace(half, position_m=(0.0, HALF_SPAN_M, 0.0)),
        dataclasses.replace(half, name='right_wing', position_m=(0.0, -HALF_SPAN_M, 0.0),
                            servo='right_aileron'), tail))
    return plants.altered(plain, body={'quadratic_drag_n_s2_m2': 0.0}, rotor_model={
        'drag_coefficient_n_s2_m': 0.0, 'rolling_moment_coefficient_n_s2': 0.0})


@pytest.fixture(scope='module')
def air(world):
    return Environment.of(world)


@pytest.fixture(scope='module')
def found(plane, air):
    return wing_figures(plane, air)


def lift_coefficient(alpha, aspect, stall):
    """Return it by equations 4.9 and 4.10 of Beard & McLain, with the plate of Viterna."""
    up, down = math.exp(-50.0 * (alpha - stall)), math.exp(50.0 * (alpha + stall))
    share = (1.0 + up + down) / ((1.0 + up) * (1.0 + down))
    plate = (1.11 + 0.018 * aspect) * math.sin(alpha) * math.cos(alpha)
    return (1.0 - share) * slope(aspect) * alpha + share * plate


def test_stall_speed(found, plane, air):
    """Where the most lift of the wing is the weight: a tail that lifts as well would turn it."""
    best = minimize_scalar(
        lambda a: -WING_M2 * lift_coefficient(a - ZERO_LIFT_RAD, ASPECT, STALL_RAD),
        bounds=(0.05, 0.3), method='bounded')
    weight = plane.body.mass_kg * air.gravity_m_s2(0.0)
    assert found.stall_speed_m_s == pytest.approx(
        math.sqrt(2.0 * weight / (air.density_kg_m3(0.0) * -best.fun)), rel=3e-3)
    assert found.trim_speed_m_s == pytest.approx(1.6 * found.stall_speed_m_s, rel=1e-12)


def test_trim(found, plane, air):
    """The wing carries the weight, but for the little that the thrust does.

    The tail lifts by as much as turns the vehicle the other way than its own drag does.
    """
    attack = math.radians(found.trim_attack_deg)
    lift = pressure(found, air) * WING_M2 * slope(ASPECT) * (attack - ZERO_LIFT_RAD)
    thrust = lift / found.glide_ratio
    assert lift + thrust * math.tan(attack) == pytest.approx(
        plane.body.mass_kg * air.gravity_m_s2(0.0), rel=1e-3)
    tail_attack = TAIL_DRAG * math.tan(attack) / slope(TAIL_ASPECT)
    assert found.trim_deflection == pytest.approx(
        -(attack + tail_attack) / (ELEVATOR * TRAVEL), rel=1e-3)


def pressure(found, air):
    return 0.5 * air.density_kg_m3(0.0) * found.trim_speed_m_s ** 2


def coefficients(found):
    """Return lift and drag of the whole plane in trim, / pressure / area of the wing."""
    lift = slope(ASPECT) * (math.radians(found.trim_attack_deg) - ZERO_LIFT_RAD)
    return lift, (DRAG_0 + lift ** 2 / (math.pi * 0.85 * ASPECT) + TAIL_DRAG * TAIL_M2 / WING_M2)


def test_glide_ratio(found):
    """Of a parabolic polar, with the drag of a tail that does not lift."""
    lift, drag = coefficients(found)
    assert found.glide_ratio == pytest.approx(lift / drag, rel=1e-3)


def test_static_margin(found):
    """All of the moment is the tail's; the thrust, which is the drag, turns with the vehicle."""
    _, drag = coefficients(found)
    slopes = slope(ASPECT) * WING_M2 + slope(TAIL_ASPECT) * TAIL_M2 + drag * WING_M2
    cosine = math.cos(math.radians(found.trim_attack_deg))
    moment = TAIL_M * cosine * TAIL_M2 * (slope(TAIL_ASPECT) + TAIL_DRAG)
    assert found.static_margin == pytest.approx(moment / slopes / CHORD_M, rel=3e-3)


def test_roll_rate(found):
    """It turns so fast that each half meets no more lift than at rest: y p / V = effect delta.

    But for the drag of the half that goes down.
    """
    rate = found.trim_speed_m_s * abs(AILERON) * TRAVEL / HALF_SPAN_M
    assert found.roll_rate_rad_s == pytest.approx(rate, rel=5e-3)


def test_pitch_rate(found, plane, air):
    """The tail stays in the flow that it makes by turning, and the lift turns the path as fast."""
    lift_per_rad = pressure(found, air) * WING_M2 * slope(ASPECT)
    speed = found.trim_speed_m_s
    attack_per_rate = plane.body.mass_kg * speed / lift_per_rad
    assert found.pitch_rate_rad_s == pytest.approx(
        -ELEVATOR * TRAVEL / (attack_per_rate + TAIL_M / speed), rel=0.02)


@pytest.mark.parametrize('name', ['plane', 'standard_vtol', 'tiltrotor', 'tailsitter'])
def test_an_elevator_that_holds_the_nose_up_takes_lift_away(name, air):
    """So the stall in trim is faster than the lift of all surfaces, undeflected, would have it."""
    vehicle = in_cruise(load_vehicle(name))
    trimmed = wing_figures(vehicle, air).stall_speed_m_s
    fixed = dataclasses.replace(vehicle, servos=tuple(
        dataclasses.replace(servo, travel_rad=1e-6) for servo in vehicle.servos))
    assert trimmed > 1.02 * wing_figures(fixed, air).stall_speed_m_s
