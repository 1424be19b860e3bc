"""What the vehicle's instruments feel beside its motion."""
from __future__ import annotations

import typing

from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.precision import in_32_bits


class WindSample(typing.NamedTuple):
    """The air's velocity in ENU: where it blows to. It holds until the next sample."""

    time_us: int
    velocity_enu: Vector


class BatteryStatus(typing.NamedTuple):
    """What all packs of the bus together are about; the current is positive when discharging."""

    time_us: int
    voltage_v: float
    current_a: float
    charge_ah: float
    capacity_ah: float

    @property
    def state_of_charge(self) -> float:
        """What is left, 0..1."""
        return self.charge_ah / self.capacity_ah

    def with_32_bits(self) -> BatteryStatus:
        """Return what sensor_msgs/BatteryState carries of it: so all modes have the same bits."""
        return BatteryStatus(self.time_us, *in_32_bits(*self[1:]))


class Surroundings(typing.NamedTuple):
    """The last wind and battery that were published, at or before the time of a measurement."""

    wind_enu: Vector = (0.0, 0.0, 0.0)
    current_a: float = 0.0


STILL = Surroundings()
