# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Thrust in flow and near the ground."""
from __future__ import annotations

import functools
import math

import numpy as np
from scipy.optimize import brentq

from px4_sim_ros.model.body.rotors import OUT_OF_GROUND_EFFECT, RotorSet
from verification.checks import check
from verification.plants import iris

IMPLICIT = (
    'blade element T = s (v0 - u) and Glauert T = 2 rho A (u - v) sqrt(V^2 + u^2), solved by'
    ' scipy.optimize.brentq')
SPEED = 807.0
DENSITY = 1.225                         # in which the coefficients hold
RADIUS = 0.127
AREA = math.pi * RADIUS ** 2
CLIMBS = np.linspace(0.0, 20.0, 41)
ACROSS = np.linspace(0.0, 22.0, 45)


@functools.cache
def propeller():
    """Return thrust and induced velocity in hover, climb of zero thrust and radius of one rotor."""
    model = iris().rotor_model
    thrust = model.thrust_coefficient_n_s2 * SPEED ** 2
    hover = math.sqrt(thrust / (2.0 * DENSITY * AREA))
    zero = model.zero_thrust_advance_ratio * model.propeller_diameter_m * SPEED / math.tau
    return thrust, hover, zero, RADIUS


def implicit_thrust(hover_thrust, downwash, zero_thrust, along, across):
    """Return the thrust that blade element and momentum theory agree on, by a root finder.

    T = T_h - s (v + v_i - v_h) with T = 0 at v = zero_thrust, v_i = 0; and
    T = 2 rho A v_i sqrt(V^2 + (v + v_i)^2).
    """
    slope = hover_thrust / (zero_thrust - downwash)

    def blades(induced):
        return hover_thrust - slope * (along + induced - downwash)

    def surplus(induced):
        return 2.0 * DENSITY * AREA * induced * math.hypot(across, along + induced) - blades(
            induced)

    # In descent the disc is between the flow that it sucks through and the wake: the larger root.
    least = max(0.0, -along) if across == 0.0 else 0.0
    return blades(brentq(surplus, least, zero_thrust - along + 1e-9, xtol=1e-14))


def implicit_share(along, across):
    """Return thrust over that in hover, by both equations.

    :param along: airspeed along the shaft, positive in climb, m/s
    """
    thrust, hover, zero, _ = propeller()
    return implicit_thrust(thrust, hover, zero, along, across) / thrust


def model_share(along, across, above_ground=OUT_OF_GROUND_EFFECT):
    """Return the rotors' force along the shafts over that in hover."""
    model = iris().rotor_model
    force = RotorSet(model, iris().rotors).wrench(
        (SPEED,) * 4, (float(across), 0.0, float(along)), (0.0, 0.0, 0.0),
        model.reference_density_kg_m3, above_ground)[2]
    return force / (4.0 * model.thrust_coefficient_n_s2 * SPEED ** 2)


def _worst(flows):
    return np.max([abs(model_share(*flow) - implicit_share(*flow)) for flow in flows])


@check('thrust in climb and descent', model='rotors at 807 rad/s, 21 m/s up to 8 m/s down',
       reference=IMPLICIT, tolerance=2.6e-10, unit='of hover thrust')
def thrust_along_the_shaft():
    """Return the largest difference."""
    along = propeller()[1] * np.linspace(-1.48, 3.9, 70)
    return _worst([(v, 0.0) for v in along])


def windmill_share(along):
    """Return thrust over that in hover of a disc that the flow goes up through, by a root finder.

    T = T_h - s (u - v_h), and T = 2 rho A (u - v) (-u): the root nearer to the flow v far below.
    """
    thrust, hover, zero, _ = propeller()
    slope = thrust / (zero - hover)

    def surplus(flow):
        return 2.0 * DENSITY * AREA * (flow - along) * -flow - (thrust - slope * (flow - hover))

    middle = 0.5 * (along + slope / (2.0 * DENSITY * AREA))     # where both roots meet
    return 1.0 - slope * (brentq(surplus, along, middle, xtol=1e-14) - hover) / thrust


@check('thrust of a windmill', model='rotors at 807 rad/s, 14.7 to 16.3 m/s down',
       reference='blade element T = s (v0 - u) and momentum T = 2 rho A (u - v) (-u), solved by'
       ' scipy.optimize.brentq', tolerance=1e-9, unit='of hover thrust')
def thrust_of_a_windmill():
    """Return the largest difference, from where there is such a root to where the blades stall."""
    descents = np.linspace(-16.3, -14.7, 17)
    return np.max([abs(model_share(v, 0.0) - windmill_share(v)) for v in descents])


@check('thrust in level flight', model='rotors at 807 rad/s, flow across the shaft up to 20 m/s',
       reference=IMPLICIT, tolerance=0.02, unit='of hover thrust')
def thrust_across_the_shaft():
    """Return the largest difference."""
    return _worst([(0.0, v) for v in CLIMBS])


@check('thrust in oblique climb', model='rotors at 807 rad/s, up to 20 m/s along, 22 across',
       reference=IMPLICIT, tolerance=0.02, unit='of hover thrust')
def thrust_in_oblique_climb():
    """Return the largest difference."""
    return _worst([(v, w) for v in CLIMBS for w in ACROSS])


def _descent(fastest):
    descents = propeller()[1] * np.linspace(-fastest, 0.0, 12)
    return _worst([(v, w) for v in descents for w in ACROSS])


@check('thrust in slow oblique descent', model='rotors at 807 rad/s, to 2.7 m/s along, 22 across',
       reference=IMPLICIT, tolerance=0.035, unit='of hover thrust')
def thrust_in_slow_oblique_descent():
    """Return the largest difference up to half the induced velocity of hover."""
    return _descent(0.5)


@check('thrust in oblique descent', model='rotors at 807 rad/s, up to 5.5 m/s along, 22 across',
       reference=IMPLICIT, tolerance=0.055, unit='of hover thrust')
def thrust_in_oblique_descent():
    """Return the largest difference up to the induced velocity of hover."""
    return _descent(1.0)


@check('ground effect', model='rotors at 807 rad/s, half a radius to 40 above the ground, level',
       reference='Cheeseman and Bennett 1955, ARC R&M 3021: 1 / (1 - (R/4z)^2 / (1 + (V/v_h)^2))',
       tolerance=1e-12, unit='relative')
def ground_effect():
    """Return the largest difference in hover and in flow across the shaft."""
    _, hover, _, radius = propeller()
    heights = np.geomspace(0.5, 40.0, 45)
    worst = 0.0
    for across in (0.0, 3.0, 12.0):
        published = 1.0 / (1.0 - (0.25 / heights) ** 2 / (1.0 + (across / hover) ** 2))
        got = [
            model_share(0.0, across, (z * radius - 0.023, 0.0, 0.0, 1.0))
            / model_share(0.0, across) for z in heights.tolist()]
        worst = np.maximum(worst, np.abs(got / published - 1.0).max())
    return worst
