# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Wind and sensors as blocks."""
from __future__ import annotations

import typing

from px4_sim_ros.model.environment.downwash import WakeTarget
from px4_sim_ros.model.environment.wind import Wind, wind_at
from px4_sim_ros.model.faults.action import FaultChain
from px4_sim_ros.model.parameters import Parameters
from px4_sim_ros.model.rotation import total
from px4_sim_ros.model.truth import STILL, SensorInputs, WindSample
from px4_sim_ros.step.block import NO_OUTPUTS, Block, BlockConfiguration, Inputs, Outputs
from px4_sim_ros.step.graph import FAULTS, WAKES, load


class WindBlock(Block):
    """Blows as its model says, and as the wakes of others do, at the place of the step before."""

    leads = True

    def reset(self) -> None:
        """Begin with the noise of time 0."""
        c = self.configuration
        self._wind = None if c.world.wind == 'none' else Wind(c.name, c.parameters, c.world)
        self._target = WakeTarget(c.vehicle) if WAKES in c.graph.topics else None
        self._faults = FaultChain(c.name, c.world, c.vehicle)

    def resume(self, time_us: int) -> None:
        """Continue with the noise of its time."""
        self.reset()
        if self._wind is not None:
            self._wind.skip(_samples(self.configuration, time_us))

    def step(self, time_us: int, inputs: Inputs) -> Outputs:
        """Return the wind that holds from `time_us` on."""
        truth = inputs.get('ground_truth/odom')
        sample = WindSample(time_us, STILL.wind_enu) if self._wind is None else wind_at(
            self._wind, time_us, truth)
        if faults := inputs.get(FAULTS):
            sample = sample._replace(
                velocity_enu=self._faults.of(time_us, sample.velocity_enu, faults))
        if self._target is not None and truth is not None:
            sample = sample._replace(velocity_enu=total(
                sample.velocity_enu, self._target.felt(inputs.get(WAKES, ()), truth)))
        return {'wind': sample}


class SensorBlock(Block):
    """Measures the truth with the model that the graph table names."""

    def __init__(self, configuration: BlockConfiguration[Parameters]) -> None:
        super().__init__(configuration)
        self._name = configuration.name
        self._spec = configuration.graph.nodes[self._name]
        self.output, = (
            t.name for t in configuration.graph.outputs(self._name) if not t.part_of)
        self.model: typing.Any = None       # of this run
        self._has_inputs = bool(self._spec.held)
        self._has_faults = FAULTS in self._spec.inputs

    def keep(self, measurement: typing.Any) -> None:
        """Take in the last measurement of steps that compiled code has taken."""
        if self._has_faults:
            self._faults.keep(measurement)

    def reset(self) -> None:
        """Begin with the noise of time 0."""
        c = self.configuration
        self.model = load(self._spec.model)(self._name, c.parameters, c.world)
        if c.scene is not None and hasattr(self.model, 'see'):
            self.model.see(c.scene)
        self._faults = FaultChain(c.name, c.world, c.vehicle)

    def resume(self, time_us: int) -> None:
        """Continue with the noise that it would have if it had not been stopped."""
        self.reset()
        self.model.skip(_samples(self.configuration, time_us))

    def step(self, time_us: int, inputs: Inputs) -> Outputs:
        """Return the measurement, if there is one."""
        measurement = self.model.measure(
            inputs['ground_truth/odom'], _sensed(inputs) if self._has_inputs else STILL)
        if self._has_faults:
            measurement = self._faults.of(time_us, measurement, inputs[FAULTS])
            if measurement is None:
                return NO_OUTPUTS
        return {self.output: measurement}


def _samples(configuration: BlockConfiguration[Parameters], time_us: int) -> int:
    """Return how many samples a sensor takes up to a time."""
    return time_us // configuration.world.period_us(configuration.name)


def _sensed(inputs: Inputs) -> SensorInputs:
    """Return the last wind and current."""
    wind, battery = inputs.get('wind'), inputs.get('battery_state')
    return SensorInputs(
        STILL.wind_enu if wind is None else wind.velocity_enu,
        STILL.current_a if battery is None else battery.current_a)
