"""The world in one loop: dynamics and sensors without any ROS.

It runs the same models in the same order as the node graph and is the oracle for it.
"""
from __future__ import annotations

import typing

from px4_sim_ros.core.dynamics import Dynamics, DynamicsParameters, Truth
from px4_sim_ros.core.timebase import is_due
from px4_sim_ros.core.vehicle import Vehicle
from px4_sim_ros.core.world import WorldParameters


class Sensor(typing.Protocol):
    """What a sensor model offers."""

    def measure(self, truth: Truth) -> typing.NamedTuple:
        """Return the measurement at the truth's time."""


class Simulation:
    """One vehicle with its sensors."""

    def __init__(
        self, world: WorldParameters, vehicle: Vehicle, dynamics: DynamicsParameters,
        sensors: typing.Mapping[str, Sensor],
    ) -> None:
        """Stand on the ground at time 0.

        :param sensors: by name; each is due every `world.period_us(name)`
        """
        self._dynamics = Dynamics(dynamics, vehicle, world.gravity_m_s2, world.step_us)
        self._sensors = [
            (name, sensor, world.period_us(name)) for name, sensor in sensors.items()]

    def step(
        self, rotor_speed_references_rad_s: typing.Sequence[float],
    ) -> tuple[Truth, dict[str, typing.Any]]:
        """Advance by one step; return the truth and the measurements that are due, by name."""
        truth = self._dynamics.step(rotor_speed_references_rad_s)
        measurements = {
            name: sensor.measure(truth)
            for name, sensor, period_us in self._sensors if is_due(truth.time_us, period_us)
        }
        return truth, measurements
