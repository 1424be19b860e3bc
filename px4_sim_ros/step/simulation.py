"""The world in one loop: wind, dynamics and sensors without any ROS.

It runs the same models in the same order as the node graph and is the oracle for it.
"""
from __future__ import annotations

import typing

from px4_sim_ros.model.body.dynamics import Dynamics
from px4_sim_ros.model.body.integrators import DynamicsParameters
from px4_sim_ros.model.environment.environment import Environment
from px4_sim_ros.model.environment.wind import Wind, wind_at
from px4_sim_ros.model.inputs import STILL, BatteryStatus, SensorInputs, WindSample
from px4_sim_ros.model.timebase import is_due
from px4_sim_ros.model.truth import Truth
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.model.world import WorldParameters


class Sensor(typing.Protocol):
    """What a sensor model offers."""

    def measure(self, truth: Truth, inputs: SensorInputs) -> typing.NamedTuple:
        """Return the measurement at the truth's time."""


class Step(typing.NamedTuple):
    """What came of a step; wind and battery are None when they were not due."""

    truth: Truth
    wind: WindSample | None
    battery: BatteryStatus | None
    measurements: dict[str, typing.Any]     # those that were due, by sensor


class Simulation:
    """One vehicle with its sensors, in the wind."""

    def __init__(
        self, world: WorldParameters, vehicle: Vehicle, dynamics: DynamicsParameters,
        sensors: typing.Mapping[str, Sensor], wind: Wind | None = None,
    ) -> None:
        """Stand on the ground at time 0.

        :param sensors: by name; each is due every `world.period_us(name)`
        """
        self._dynamics = Dynamics(dynamics, vehicle, Environment.of(world), world.step_us)
        self._wind = wind
        self._step_us = world.step_us
        self._periods_us = world.periods_us
        self._sensors = [
            (name, sensor, world.period_us(name)) for name, sensor in sensors.items()]
        self._truth: Truth | None = None
        self._inputs = STILL

    def step(self, rotor_speed_references_rad_s: typing.Sequence[float]) -> Step:
        """Advance by one step with these references held."""
        time_us = self._dynamics.time_us + self._step_us
        sample = battery = None
        if self._wind and is_due(time_us, self._periods_us['wind']):
            sample = wind_at(self._wind, time_us, self._truth)
            self._inputs = self._inputs._replace(wind_enu=sample.velocity_enu)
        truth = self._truth = self._dynamics.step(
            rotor_speed_references_rad_s, self._inputs.wind_enu)
        if is_due(time_us, self._periods_us['battery']):
            battery = self._dynamics.battery()
            if battery is not None:
                battery = battery.with_32_bits()
                self._inputs = self._inputs._replace(current_a=battery.current_a)
        measurements = {
            name: sensor.measure(truth, self._inputs)
            for name, sensor, period_us in self._sensors if is_due(time_us, period_us)
        }
        return Step(truth, sample, battery, measurements)
