# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The integrators: orders of convergence, and motions with a closed form."""
from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
import scipy.integrate
import scipy.special

from px4_sim_ros.model.body.integrators import ADAPTIVE, FIXED, Adaptive
from px4_sim_ros.model.vehicle.sections import BatteryModel
from verification.checks import check
from verification.fixed_step import INTEGRATORS, FixedStep
from verification.plant_equations import (
    DURATION_US,
    LOOSE,
    PACKS,
    REFERENCES,
    START,
    WIND,
    environment,
    equations_of_motion,
)
from verification.plants import altered, build, iris

METHODS = ('rk4', 'rk23', 'rk45')
ORDERS = {'euler': 1, 'rk23': 3, 'rk4': 4, 'rk45': 5}


def slope(x, y):
    """Return the exponent of the power law through points, by least squares."""
    return np.polyfit(np.log(x), np.log(y), 1)[0]


@functools.cache
def logistic_growth():
    """Return step lengths and errors by method for x' = x (1 - x), x(0) = 0.1, over 2 s."""
    # Few steps of RK45: beyond them the error is that of the last bits.
    counts = {name: (40, 80, 160, 320) for name in ORDERS} | {'rk45': (30, 40, 60, 80)}
    exact = 1.0 / (1.0 + 9.0 * math.exp(-2.0))
    errors = {
        name: [
            abs(FixedStep(INTEGRATORS[name], n).advance(
                lambda x: np.array([x[0] * (1.0 - x[0])]), [0.1], 2_000_000)[0] - exact)
            for n in counts[name]]
        for name in ORDERS}
    steps_s = {name: [2.0 / n for n in counts[name]] for name in ORDERS}
    return steps_s, errors


def _order_check(name, order):
    @check(
        f'order of {name}', model=f'{name}, 2 s of x\' = x (1 - x) in equal steps',
        reference=f'order {order}; closed form x = 1 / (1 + 9 exp(-t))', tolerance=0.1,
        unit='of slope')
    def order_of_the_method():
        steps_s, errors = logistic_growth()
        return abs(slope(steps_s[name], errors[name]) - order)


for _name, _order in ORDERS.items():
    _order_check(_name, _order)


# The plant: the Iris in wind, air and gravity that change with height, two unequal packs.

PLANT_STEPS_US = {
    'euler': (1000, 500, 250, 125), 'rk23': (4000, 2000, 1000, 500),
    'rk4': (4000, 2000, 1000, 500), 'rk45': (12_000, 8000, 6000, 4000)}
EQUATIONS = (
    'equations of motion written a second time (test/verification/plant_equations.py), integrated'
    " by SciPy's DOP853 at 1e-13")


@functools.cache
def dense_vehicle():
    """Return an Iris with all terms, and with rotors as slow up as down.

    Otherwise the lag would have kinks on the way. Of a lag as quick as the Iris's, RK45 leaves so
    little error in the fifth order that the higher ones hide it.
    """
    vehicle = altered(
        iris(), body={'inertia_kg_m2': (0.029, 0.035, 0.055), 'linear_drag_n_s_m': 0.1},
        rotor_model={'rolling_moment_coefficient_n_s2': 1e-4,
                     'time_constant_up_s': 0.1, 'time_constant_down_s': 0.1})
    return dataclasses.replace(vehicle, battery=BatteryModel(12.0, PACKS))


@functools.cache
def quick_vehicle():
    """Return the same with the rotors of the Iris, which are slower down than up."""
    return altered(
        dense_vehicle(),
        rotor_model={'time_constant_up_s': 0.0125, 'time_constant_down_s': 0.025})


@functools.cache
def plant_reference(vehicle):
    """Return the state at the end, by the independent equations."""
    solution = scipy.integrate.solve_ivp(
        equations_of_motion(vehicle()), (0.0, DURATION_US / 1e6), START,
        method='DOP853', rtol=1e-13, atol=1e-13)
    end = solution.y[:, -1]
    end[6:10] /= np.linalg.norm(end[6:10])
    return end


def plant_error(integrator, step_us, vehicle=dense_vehicle, **parameters):
    """Return the differences of the plant's state at the end, relative where it is above one."""
    dynamics = build(
        vehicle(), environment(), integrator=integrator, step_us=step_us, ground=True,
        **parameters)
    dynamics.state = START.tolist()
    for _ in range(DURATION_US // step_us):
        dynamics.step(REFERENCES, WIND)
    reference = plant_reference(vehicle)
    return (np.array(dynamics.state) - reference) / np.maximum(np.abs(reference), 1.0)


def _plant_order_check(name, order):
    @check(
        f'order of {name} on the plant', model=f'plant with {name}, 192 ms of flight',
        reference=f'order {order}; {EQUATIONS}', tolerance=0.1 if order == 1 else 0.2,
        unit='of slope')
    def order_on_the_plant():
        # With loose tolerances rk23 and rk45 take all steps as they are asked to.
        errors = [np.linalg.norm(plant_error(name, h, **LOOSE)) for h in PLANT_STEPS_US[name]]
        return abs(slope(PLANT_STEPS_US[name], errors) - order)


for _name, _order in ORDERS.items():
    _plant_order_check(_name, _order)


@check('plant in flight', model='plant, RK4 at 250 us, 192 ms', reference=EQUATIONS,
       tolerance=1e-8, unit='relative')
def plant_in_flight():
    """Return the largest difference over all components of the state."""
    return np.abs(plant_error('rk4', 250)).max()


@check('plant in flight, quick rotors', model='plant, RK4 at 250 us, 192 ms, lags of iris.sdf',
       reference=EQUATIONS, tolerance=1e-6, unit='relative')
def plant_with_quick_rotors():
    """Return the largest difference over all components of the state."""
    return np.abs(plant_error('rk4', 250, quick_vehicle)).max()


@check('plant with adaptive steps', model='plant, rk23 and rk45 with the default tolerances',
       reference=EQUATIONS, tolerance=1e-5, unit='relative')
def plant_with_adaptive_steps():
    """Return the largest difference over all components of the state.

    The tolerance is ten times the largest error that the default ones allow to one step.
    """
    return np.max(np.abs([plant_error(name, 4000) for name in ('rk23', 'rk45')]))


# Motions with a closed form.

def oscillator(x):
    """Return the rates of x'' = -x."""
    return np.array([x[1], -x[0]])


def pendulum(x):
    """Return the rates of phi'' = -sin(phi)."""
    return np.array([x[1], -math.sin(x[0])])


def kepler(x):
    """Return the rates of r'' = -r / |r|^3."""
    cubed = math.hypot(x[0], x[1]) ** 3
    return np.array([x[2], x[3], -x[0] / cubed, -x[1] / cubed])


def adaptive(name, tolerance, components, *, relative=0.0, min_step_us=1):
    """Return an adaptive integrator with the same tolerance for all components."""
    return Adaptive(ADAPTIVE[name], relative, [tolerance] * components, min_step_us)


def fine(name, components):
    """Return an integrator that is exact enough for ten turns: small steps or tolerances."""
    if name in FIXED:
        return FixedStep(FIXED[name], 8000)
    return adaptive(name, {'rk23': 1e-9, 'rk45': 1e-10}[name], components)


def _worst(f, start, duration_us, exact, energy):
    """Return by method the largest errors of the state and, relative, of the energy."""
    position = energies = 0.0
    for name in METHODS:
        end = fine(name, len(start)).advance(f, start, duration_us)
        position = np.maximum(position, np.abs(np.subtract(end, exact)).max())
        energies = np.maximum(energies, abs(energy(end) / energy(start) - 1.0))
    return position, energies


@functools.cache
def harmonic():
    """Return the errors of the oscillator x'' = -x after ten periods."""
    return _worst(
        oscillator, [1.0, 0.0], 62_832_000, (math.cos(62.832), -math.sin(62.832)),
        lambda x: 0.5 * (x[0] ** 2 + x[1] ** 2))


@functools.cache
def swinging():
    """Return the errors of the pendulum that was let go at 2 rad, after 20 s."""
    k = math.sin(1.0)
    sn, cn, _, _ = scipy.special.ellipj(20.0 + scipy.special.ellipk(k * k), k * k)
    return _worst(
        pendulum, [2.0, 0.0], 20_000_000, (2.0 * math.asin(k * sn), 2.0 * k * cn),
        lambda x: 0.5 * x[1] ** 2 - math.cos(x[0]))


@functools.cache
def orbiting():
    """Return the errors of the circular orbit r'' = -r / |r|^3 after ten turns."""
    c, s = math.cos(62.832), math.sin(62.832)
    return _worst(
        kepler, [1.0, 0.0, 0.0, 1.0], 62_832_000, (c, s, -s, c),
        lambda x: 0.5 * (x[2] ** 2 + x[3] ** 2) - 1.0 / math.hypot(x[0], x[1]))


def _motion_check(name, what, run, closed_form):
    @check(
        f'{name}: state', model=f'rk4, rk23, rk45: {what}', reference=closed_form,
        tolerance=1e-5, unit='1')
    def state():
        return run()[0]

    @check(
        f'{name}: energy', model=f'rk4, rk23, rk45: {what}', reference='energy is constant',
        tolerance=1e-6, unit='relative')
    def energy():
        return run()[1]


_motion_check(
    'harmonic oscillator', 'ten periods of x\'\' = -x', harmonic, 'cos t, -sin t')
_motion_check(
    'pendulum', '20 s from rest at 2 rad', swinging,
    'sin(phi/2) = k sn(t + K), k = sin 1; Jacobi functions of scipy.special.ellipj')
_motion_check(
    'Kepler orbit', 'ten turns at radius 1', orbiting, 'cos t, sin t and their derivatives')
