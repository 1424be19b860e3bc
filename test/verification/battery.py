# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Packs of the battery, alone and on a common bus."""
from __future__ import annotations

import functools
import math

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq

from px4_sim_ros.model.body.battery import Battery
from px4_sim_ros.model.body.integrators import rk4
from px4_sim_ros.model.vehicle.sections import BatteryModel, Pack
from verification.checks import check
from verification.fixed_step import FixedStep
from verification.plants import build, iris, uniform

# 3S, 5 A h, 12.6 to 10.8 V, R0, R1, C1.
PACK = Pack(3, 5.0, 12.6, 10.8, 0.020, 0.010, 2000.0)
UNEQUAL = (PACK, Pack(3, 2.2, 12.5, 10.5, 0.045, 0.025, 900.0),
           Pack(3, 4.0, 12.6, 11.1, 0.012, 0.006, 3000.0))
STEP = 'one pack, 5 A for 10 s from full, RK4 at 4 ms'


@functools.cache
def step_of_5_a():
    """Return the largest differences of charge, polarisation and voltage on the way."""
    battery, current = Battery(BatteryModel(12.0, (PACK,))), 5.0

    def voltage(x):
        source = 10.8 + 1.8 * x[0] - x[1]
        return battery.voltage_v(x, current * (source - current * 0.020))

    integrator, x = FixedStep(rk4, 10), battery.initial(1.0)
    rows = [(*x, voltage(x))]
    for _ in range(250):
        x = integrator.advance(lambda x: battery.rates(x, voltage(x)), x, 40_000)
        rows.append((*x, voltage(x)))
    t = 0.04 * np.arange(251)
    charge = 1.0 - current * t / (3600.0 * 5.0)
    polarisation = current * 0.010 * -np.expm1(-t / (0.010 * 2000.0))
    exact = np.column_stack((
        charge, polarisation, 10.8 + 1.8 * charge - polarisation - current * 0.020))
    return np.abs(np.array(rows) - exact).max(axis=0)


@check('Thevenin: charge', model=STEP, reference='1 - I t / Q', tolerance=1e-10,
       unit='of the capacity')
def charge():
    """Return the largest difference on the way."""
    return step_of_5_a()[0]


@check('Thevenin: polarisation', model=STEP, reference='I R1 (1 - exp(-t / (R1 C1)))',
       tolerance=1e-10, unit='V')
def polarisation():
    """Return the largest difference on the way."""
    return step_of_5_a()[1]


@check('Thevenin: voltage', model=STEP, reference='open circuit - polarisation - I R0',
       tolerance=1e-10, unit='V')
def voltage():
    """Return the largest difference on the way."""
    return step_of_5_a()[2]


@functools.cache
def common_bus():
    """Return the largest errors of voltage and currents of unequal packs over several powers."""
    battery = Battery(BatteryModel(12.0, UNEQUAL))
    state = [0.9, 0.03, 0.4, -0.01, 0.7, 0.0]
    sources = [
        p.empty_voltage_v + (p.full_voltage_v - p.empty_voltage_v) * state[2 * i] - state[2 * i + 1]
        for i, p in enumerate(UNEQUAL)]
    ohms = [p.series_resistance_ohm for p in UNEQUAL]
    volts = amperes = 0.0
    for power in (-200.0, 0.0, 5.0, 50.0, 250.0, 900.0):
        def surplus(v, power=power):
            return sum((e - v) / r for e, r in zip(sources, ohms)) * v - power

        expected = brentq(surplus, 8.0, 16.0, xtol=1e-14, rtol=1e-14)
        got = battery.voltage_v(state, power)
        volts = np.maximum(volts, abs(got - expected))
        for current, e, r in zip(battery.currents_a(state, got), sources, ohms):
            amperes = np.maximum(amperes, abs(current - (e - expected) / r))
    return volts, amperes


@check('unequal packs: voltage', model='three different packs on a bus, -200 to 900 W',
       reference="Kirchhoff's laws, solved by scipy.optimize.brentq", tolerance=1e-12, unit='V')
def voltage_of_the_bus():
    """Return the largest difference."""
    return common_bus()[0]


@check('unequal packs: currents', model='three different packs on a bus, -200 to 900 W',
       reference="Kirchhoff's laws, solved by scipy.optimize.brentq", tolerance=1e-11, unit='A')
def currents_of_the_packs():
    """Return the largest difference."""
    return common_bus()[1]


@check('unequal packs: charge', model='three packs without load for 1 h, RK4 at 100 ms',
       reference='what one gives the others take: the sum is constant', tolerance=1e-12, unit='A h')
def charge_of_the_packs():
    """Return the change of the sum; each must have changed by more than 0.1 A h."""
    battery = Battery(BatteryModel(12.0, UNEQUAL))
    start = [0.9, 0.0, 0.4, 0.0, 0.5, 0.0]
    integrator, x, each = FixedStep(rk4, 100), start, []
    for _ in range(360):
        x = integrator.advance(lambda x: battery.rates(x, battery.voltage_v(x, 0.0)), x, 10_000_000)
        each.append([p.capacity_ah * c for p, c in zip(UNEQUAL, x[::2])])
    each = np.array(each)
    begin = np.array([p.capacity_ah * c for p, c in zip(UNEQUAL, start[::2])])
    if np.abs(each[-1] - begin).min() < 0.1:
        return math.inf
    return np.abs(each.sum(axis=1) - begin.sum()).max()


@check('energy of the battery', model='plant, Iris at full control from 8 % of charge, 60 s',
       reference='integral of the open circuit over the charge, with its knee, by scipy.integrate,'
       ' less R0 and what is left in R1 and C1', tolerance=2e-5, unit='relative')
def energy_of_the_battery():
    """Return how far what arrives at the bus until the pack is empty is off."""
    dynamics = build(
        iris(), uniform(0.0, 1.225), initial_charge=0.08, step_us=1000)
    arrived = heat = 0.0
    before = dynamics.battery()
    while before.voltage_v > 0.0:
        dynamics.step((800.0,) * 4)
        after = dynamics.battery()
        polarisation = float(dynamics.state[18])
        if after.voltage_v > 0.0:
            arrived += 0.0005 * (
                before.voltage_v * before.current_a + after.voltage_v * after.current_a)
            heat += 0.0005 * (
                0.020 * (before.current_a ** 2 + after.current_a ** 2)
                + 2.0 * polarisation ** 2 / 0.010)
        before = after
    stored = 3600.0 * 5.0 * quad(
        lambda c: 10.8 + 1.8 * c - max(0.0, 1.0 - c / 0.05) * 0.09 * 10.8, 0.0, 0.08,
        points=(0.05,))[0]
    left = 0.5 * 2000.0 * polarisation ** 2
    return abs((arrived + heat + left) / stored - 1.0)
