"""The battery section of a vehicle file; what it does is in `battery`."""
from __future__ import annotations

import dataclasses

from px4_sim_ros.model.parameters import Parameters, parameter

# Share of the charge at which a flight should have ended.
LOW_CHARGE = 0.2


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
    """Packs in parallel.

    At the nominal voltage of the bus a rotor reaches the speed that is asked of it.
    """

    nominal_voltage_v: float
    packs: tuple[Pack, ...]

    @property
    def capacity_ah(self) -> float:
        """The charge of all packs together when full."""
        return sum(pack.capacity_ah for pack in self.packs)
