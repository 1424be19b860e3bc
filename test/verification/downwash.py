# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The air below a multirotor, as another one feels it."""
from __future__ import annotations

import math

import numpy as np
from scipy.integrate import quad

from px4_sim_ros.model.environment.downwash import WakeSource, WakeTarget, downwash_m_s
from px4_sim_ros.spec.files import load_vehicle
from verification.checks import check
from verification.plants import G_M_S2, STILL_TRUTH, build, iris, uniform

PAPER = 'Bauersfeld et al. 2025, eq. 9'
DENSITY_KG_M3 = 1.2
AIR = uniform(G_M_S2, DENSITY_KG_M3)
# The Iris has 10 inch propellers, whose hubs are here, in m.
HUBS = np.array([(0.13, -0.22), (-0.13, 0.20), (0.13, 0.22), (-0.13, -0.20)])
RADIUS_M = 5.0 * 0.0254
BELOW_M = (1.3, 2.0, 4.0, 10.0)


def hovering():
    """Return the wake of an Iris whose rotors lift its weight, and this weight in N."""
    vehicle = iris()
    weight_n = vehicle.body.mass_kg * G_M_S2
    speed = math.sqrt(weight_n / 4.0 / vehicle.rotor_model.thrust_coefficient_n_s2)
    dynamics = build(vehicle, AIR)
    dynamics.state[13:17] = speed
    dynamics.truth()
    source = WakeSource(vehicle, AIR)
    density = DENSITY_KG_M3 / vehicle.rotor_model.reference_density_kg_m3
    return source.wake(STILL_TRUTH, dynamics.lift_n(source.rotors)), weight_n * density


def on_paper(weight_n, below_m, aside_m):
    """Return the speed in m/s as the paper has it, with the motor distance as length."""
    distance_m = 2.0 * np.linalg.norm(HUBS - HUBS.mean(axis=0), axis=1).mean()
    hover = math.sqrt(weight_n / (2.0 * DENSITY_KG_M3 * 4.0 * math.pi * RADIUS_M ** 2))
    s, r = below_m / distance_m, aside_m / distance_m
    half = 0.07668 * (s + 5.817)
    return hover * 10.11 / (s + 5.817) / (1.0 + (math.sqrt(2.0) - 1.0) * (r / half) ** 2) ** 2


def momentum_n(wake, below_m):
    """Return the momentum that flows through a level plane below, in N."""
    def flow(r):
        return DENSITY_KG_M3 * downwash_m_s(wake, below_m, r) ** 2 * 2.0 * math.pi * r
    return quad(flow, 0.0, np.inf, epsrel=1e-10)[0]


@check('downwash: what a vehicle below feels', model='the mean wind at the rotors of an Iris below'
       ' another one, 1.3 to 10 m', reference=PAPER, tolerance=1e-9, unit='m/s')
def felt_below():
    """Return the largest difference over heights, right below and aside."""
    wake, weight_n = hovering()
    target, off = WakeTarget(iris()), []
    for below_m in BELOW_M:
        for east_m in (0.0, 0.3, 1.0):
            place = STILL_TRUTH._replace(position_enu=(east_m, 0.0, -below_m))
            middle = HUBS.mean(axis=0)
            asides = np.linalg.norm(HUBS + (east_m, 0.0) - middle, axis=1)
            wanted = np.mean([on_paper(weight_n, below_m, r) for r in asides])
            off.append(np.abs(np.array(target.felt([wake], place)) - (0.0, 0.0, -wanted)).max())
    return np.max(off)


@check('downwash: momentum is kept', model='the jet of an Iris in hover, 1.3 to 10 m below',
       reference='pi rho U^2 h^2 / (3 (sqrt 2 - 1)), h the half-width: the same everywhere',
       tolerance=1e-8, unit='of it')
def momentum_is_kept():
    """Return the largest relative difference over heights."""
    wake, weight_n = hovering()
    distance_m = wake.motor_distance_m
    wanted = weight_n * (10.11 * 0.07668 * distance_m / RADIUS_M) ** 2 / (
        24.0 * (math.sqrt(2.0) - 1.0))
    return np.max([abs(momentum_n(wake, s) / wanted - 1.0) for s in BELOW_M])


@check('downwash: momentum against thrust', model='the jet of an Iris and an X500 in hover',
       reference='momentum theory: a jet that keeps its momentum has the thrust', tolerance=10.0,
       unit='%')
def momentum_against_thrust():
    """Return how far the measured jet is off, for quadrotors that were not measured."""
    return np.max([_off_thrust(name) for name in ('iris', 'x500')])


@check('downwash: momentum of other shapes', model='the jet of vehicles with other rotors than the'
       ' measured quadrotors', reference='momentum theory: a jet that keeps its momentum has the'
       ' thrust', tolerance=1e-8, unit='%')
def momentum_of_other_shapes():
    """Return how far it is off."""
    return np.max([
        _off_thrust(name) for name in ('hexa', 'octo', 'standard_vtol', 'tiltrotor')])


def _off_thrust(name):
    wake = WakeSource(load_vehicle(name), AIR).wake(STILL_TRUTH, 30.0)
    return 100.0 * abs(momentum_n(wake, 4.0) / 30.0 - 1.0)
