"""The battery: Thevenin packs in parallel on one bus that delivers a power.

Each pack is an open-circuit voltage that falls linearly with its charge, behind a series
resistance R0 and one resistor R1 with a capacitor C1 in parallel (Plett 2015, Battery
Management Systems, volume 1, chapter 2). Kirchhoff's laws hold exactly, also between packs
that differ: they then charge one another.

Not modelled: temperature, ageing, self-discharge, and the steep ends of a real open-circuit
voltage. A pack without charge goes on delivering at its empty voltage, and a full one takes
no more: the charge stays where it is. Nothing cuts the power off.
"""
from __future__ import annotations

import dataclasses
import math
import typing

from px4_sim_ros.core.parameters import Parameters, parameter

# Share of the charge at which a flight should have ended.
LOW_CHARGE = 0.2

_S_PER_H = 3600.0


@dataclasses.dataclass(frozen=True)
class Pack(Parameters):
    """One pack; voltages and resistances are of all its cells in series."""

    cells: int = parameter('cells in series', minimum=1)
    capacity_ah: float = parameter('charge when full', 'A h', above=0)
    full_voltage_v: float = parameter('open circuit, full', 'V', above=0)
    empty_voltage_v: float = parameter('open circuit, empty', 'V', above=0)
    series_resistance_ohm: float = parameter('R0', 'ohm', above=0)
    polarisation_resistance_ohm: float = parameter('R1', 'ohm', above=0)
    polarisation_capacitance_f: float = parameter('C1', 'F', above=0)


@dataclasses.dataclass(frozen=True)
class BatteryModel:
    """The battery section of a vehicle file.

    At the nominal voltage of the bus a rotor reaches the speed that is asked of it.
    """

    nominal_voltage_v: float
    packs: tuple[Pack, ...]

    @property
    def capacity_ah(self) -> float:
        """The charge of all packs together when full."""
        return sum(pack.capacity_ah for pack in self.packs)


class Battery:
    """The packs on their bus.

    The state of all packs is a flat sequence: for each its charge as a share of its capacity
    (0..1), then its polarisation voltage.
    """

    def __init__(self, model: BatteryModel) -> None:
        self._packs = tuple(
            (
                pack.empty_voltage_v,
                pack.full_voltage_v - pack.empty_voltage_v,
                1.0 / pack.series_resistance_ohm,
                1.0 / (_S_PER_H * pack.capacity_ah),
                1.0 / pack.polarisation_capacitance_f,
                1.0 / (pack.polarisation_resistance_ohm * pack.polarisation_capacitance_f),
            ) for pack in model.packs)
        self._capacities_ah = tuple(pack.capacity_ah for pack in model.packs)
        self._conductance = sum(1.0 / pack.series_resistance_ohm for pack in model.packs)

    def initial(self, charge: float) -> list[float]:
        """Return the state of rested packs, each with this share of its capacity."""
        return [charge, 0.0] * len(self._packs)

    def voltage_v(self, state: typing.Sequence[float], power_w: float) -> float:
        """Return the bus voltage V while the bus delivers a power P.

        The packs are one source with voltage E and conductance G = sum 1/R0, and
        G (E - V) V = P has two solutions; the bus settles at the higher one. More than
        G E^2 / 4 cannot be delivered: then V = E / 2, and that is what arrives.
        """
        weighted, i = 0.0, 0
        for empty, span, conductance, _, _, _ in self._packs:
            weighted += conductance * (empty + span * state[i] - state[i + 1])
            i += 2
        source = weighted / self._conductance
        square = source * source - 4.0 * power_w / self._conductance
        return 0.5 * (source + math.sqrt(square)) if square > 0.0 else 0.5 * source

    def currents_a(self, state: typing.Sequence[float], voltage_v: float) -> list[float]:
        """Return the current out of each pack; negative into one that is being charged."""
        return [
            (empty + span * state[2 * i] - state[2 * i + 1] - voltage_v) * conductance
            for i, (empty, span, conductance, _, _, _) in enumerate(self._packs)]

    def rates(self, state: typing.Sequence[float], voltage_v: float) -> list[float]:
        """Return the derivative of the state: -I / Q, and I / C1 - V1 / (R1 C1)."""
        rates = []
        i = 0
        for empty, span, conductance, per_charge, per_capacitance, per_time in self._packs:
            charge, polarisation = state[i], state[i + 1]
            current = (empty + span * charge - polarisation - voltage_v) * conductance
            stays = charge <= 0.0 if current > 0.0 else charge >= 1.0
            rates.append(0.0 if stays else -current * per_charge)
            rates.append(current * per_capacitance - polarisation * per_time)
            i += 2
        return rates

    def charge_ah(self, state: typing.Sequence[float]) -> float:
        """Return what is left in all packs."""
        return sum(c * capacity for c, capacity in zip(state[::2], self._capacities_ah))


def clamp_charges(state: list[float], first: int) -> None:
    """Bring charges that a step overshot back to 0..1; the packs begin at `first`."""
    for i in range(first, len(state), 2):
        if state[i] < 0.0:
            state[i] = 0.0
        elif state[i] > 1.0:
            state[i] = 1.0
