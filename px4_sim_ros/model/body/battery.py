# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The battery: Thevenin packs in parallel on one bus that delivers a power.

Each pack is an open-circuit voltage behind a series resistance R0 and one resistor R1 with a
capacitor C1 in parallel (Plett 2015, Battery Management Systems, volume 1, chapter 2). Kirchhoff's
laws hold exactly, also between packs that differ: they then charge one another. The open-circuit
voltage falls linearly with the charge, and below a knee to a lower end. A pack without charge is
cut off for good, and without any the bus has no voltage.

Not modelled: temperature, ageing, self-discharge, and the steep end of the voltage of a full pack,
which takes no more: its charge stays where it is.
"""
from __future__ import annotations

import math
import typing

import numpy as np

from px4_sim_ros.jit.compiled import compiled, records
from px4_sim_ros.model.vehicle.sections import BatteryModel

_S_PER_H = 3600.0

State = np.ndarray | typing.Sequence[float]
"""Of all packs: for each its charge as a share of its capacity (0..1), its polarisation voltage."""


class Battery:
    """The packs on their bus."""

    def __init__(self, model: BatteryModel) -> None:
        self.model = model
        self.constants = packs_on_a_bus(model)
        self.capacity_share = 1.0

    def initial(self, charge: float) -> np.ndarray:
        """Return the state of rested packs, each with this share of its capacity."""
        return np.array([charge, 0.0] * len(self.constants))

    def voltage_v(self, state: State, power_w: float) -> float:
        """Return `bus_voltage_v` of these packs."""
        return bus_voltage_v(self.constants, np.array(state, float), float(power_w))

    def currents_a(self, state: State, voltage_v: float) -> list[float]:
        """Return the current out of each pack; negative into one that is being charged."""
        return [
            pack_current_a(self.constants, i, float(charge), float(polarisation), float(voltage_v))
            for i, (charge, polarisation) in enumerate(zip(state[::2], state[1::2]))]

    def rates(self, state: State, voltage_v: float) -> np.ndarray:
        """Return the rates of charge and polarisation of these packs."""
        rates = np.empty(len(state))
        pack_rates(self.constants, np.array(state, float), float(voltage_v), rates)
        return rates

    def charge_ah(self, state: State) -> float:
        """Return the charge of all packs."""
        charge: float = sum(
            c * pack.capacity_ah for c, pack in zip(state[::2], self.model.packs))
        return charge * self.capacity_share

    @property
    def capacity_ah(self) -> float:
        """What all packs hold when they are full."""
        return self.model.capacity_ah * self.capacity_share

    def wear(self, cells_share: float, resistance_factor: float, capacity_share: float) -> None:
        """Give the packs other constants, in place, from how they were made.

        :param cells_share: of the cells in series: with n of them E, R0 and R1 grow as n, C1 as 1/n
        :param resistance_factor: of the series resistance
        :param capacity_share: of the capacity; the charge, as a share of it, stays
        """
        self.capacity_share, packs = capacity_share, self.constants
        packs[:] = packs_on_a_bus(self.model)
        for name, factor in (
                ('empty_voltage_v', cells_share), ('voltage_span_v', cells_share),
                ('knee_v', cells_share),
                ('conductance_s', 1.0 / (cells_share * resistance_factor)),
                ('volts_per_a_s', cells_share), ('charge_per_a_s', 1.0 / capacity_share)):
            packs[name] *= factor


def packs_on_a_bus(model: BatteryModel | None) -> np.ndarray:
    """Return the constants of the packs for compiled functions, one entry each."""
    packs = model.packs if model is not None else ()
    names = ('empty_voltage_v', 'voltage_span_v', 'knee_charge', 'knee_v', 'conductance_s',
             'charge_per_a_s', 'volts_per_a_s', 'decay_per_s')
    return records([
        (
            pack.empty_voltage_v, pack.full_voltage_v - pack.empty_voltage_v,
            pack.knee_charge, (1.0 - pack.end_voltage_share) * pack.empty_voltage_v,
            1.0 / pack.series_resistance_ohm,
            1.0 / (_S_PER_H * pack.capacity_ah), 1.0 / pack.polarisation_capacitance_f,
            1.0 / (pack.polarisation_resistance_ohm * pack.polarisation_capacitance_f),
        ) for pack in packs], names)


@compiled
def bus_voltage_v(packs: np.ndarray, state: np.ndarray, power_w: float) -> float:
    """Return the bus voltage V while the bus delivers a power P.

    The packs are one source with voltage E and conductance G = sum 1/R0, and
    G (E - V) V = P has two solutions; the bus settles at the higher one. More than
    G E^2 / 4 cannot be delivered: then V = E / 2, and that is what arrives.

    :param packs: from `packs_on_a_bus`
    """
    weighted: float = 0.0
    conductance: float = 0.0
    for i in range(len(packs)):
        if state[2 * i] > 0.0:
            weighted += packs[i].conductance_s * (
                open_circuit_v(packs, i, state[2 * i]) - state[2 * i + 1])
            conductance += packs[i].conductance_s
    if conductance == 0.0:
        return 0.0
    source = weighted / conductance
    square = source * source - 4.0 * power_w / conductance
    return 0.5 * (source + math.sqrt(square)) if square > 0.0 else 0.5 * source


@compiled
def open_circuit_v(packs: np.ndarray, index: int, charge: float) -> float:
    """Return the voltage of a rested pack without load."""
    pack = packs[index]
    voltage: float = pack.empty_voltage_v + pack.voltage_span_v * charge
    if charge < pack.knee_charge:
        voltage -= pack.knee_v * (1.0 - charge / pack.knee_charge)
    return voltage


@compiled
def pack_current_a(
    packs: np.ndarray, index: int, charge: float, polarisation_v: float, voltage_v: float,
) -> float:
    """Return the current out of a pack; negative into one that is being charged."""
    if charge <= 0.0:
        return 0.0
    source = open_circuit_v(packs, index, charge) - polarisation_v
    current: float = (source - voltage_v) * packs[index].conductance_s
    return current


@compiled
def pack_rates(
    packs: np.ndarray, state: np.ndarray, voltage_v: float, rates: np.ndarray,
) -> None:
    """Set the derivative of the state: -I / Q, and I / C1 - V1 / (R1 C1)."""
    for i in range(len(packs)):
        pack, charge, polarisation = packs[i], state[2 * i], state[2 * i + 1]
        current = pack_current_a(packs, i, charge, polarisation, voltage_v)
        stays = current <= 0.0 and charge >= 1.0
        rates[2 * i] = 0.0 if stays else -current * pack.charge_per_a_s
        rates[2 * i + 1] = current * pack.volts_per_a_s - polarisation * pack.decay_per_s


@compiled
def clamp_charges(state: np.ndarray, first: int) -> None:
    """Bring charges that a step overshot back to 0..1; the packs begin at `first`."""
    for i in range(first, len(state), 2):
        if state[i] < 0.0:
            state[i] = 0.0
        elif state[i] > 1.0:
            state[i] = 1.0
