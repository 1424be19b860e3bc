"""The models as blocks: wind, dynamics and sensors."""
from __future__ import annotations

from px4_sim_ros.model.body.dynamics import Dynamics
from px4_sim_ros.model.body.integrators import DynamicsParameters
from px4_sim_ros.model.environment.environment import Environment
from px4_sim_ros.model.environment.wind import Wind, wind_at
from px4_sim_ros.model.errors import RunError
from px4_sim_ros.model.inputs import STILL, SensorInputs
from px4_sim_ros.model.parameters import Parameters
from px4_sim_ros.model.timebase import is_due
from px4_sim_ros.model.vehicle.sections import LOW_CHARGE
from px4_sim_ros.step.block import Block, BlockConfiguration, BlockStatus, Inputs, Outputs
from px4_sim_ros.step.graph import COMMAND, load


class WindBlock(Block):
    """Blows as its model says, at the place and speed of the vehicle of the step before."""

    def reset(self) -> None:
        """Begin with the noise of time 0."""
        c = self.configuration
        self._wind = Wind(c.name, c.parameters, c.world)

    def step(self, time_us: int, inputs: Inputs) -> Outputs:
        """Return the wind that holds from `time_us` on."""
        return {'wind': wind_at(self._wind, time_us, inputs.get('ground_truth/odom'))}


class DynamicsBlock(Block):
    """Integrates each step with the command of the step before, held."""

    def __init__(self, configuration: BlockConfiguration[DynamicsParameters]) -> None:
        super().__init__(configuration)
        self._rotors = len(configuration.vehicle.rotors)
        self._battery_period_us = configuration.world.periods_us['battery']
        self._unpowered = (0.0,) * self._rotors
        self._dynamics: Dynamics | None = None

    def reset(self) -> None:
        """Stand on the ground at time 0; nobody commands the first step."""
        c = self.configuration
        self._dynamics = Dynamics(
            c.parameters, c.vehicle, Environment.of(c.world), c.world.step_us)

    def step(self, time_us: int, inputs: Inputs) -> Outputs:
        """Integrate up to `time_us` and return the truth, and the battery when it is due."""
        references_rad_s = inputs.get(COMMAND, self._unpowered)
        if len(references_rad_s) != self._rotors:
            raise RunError(f'{COMMAND}: {len(references_rad_s)} velocities came, and the vehicle'
                           f' {self.configuration.vehicle.name} has {self._rotors} rotors')
        wind = inputs.get('wind')
        assert self._dynamics is not None, 'reset comes before the first step'
        truth = self._dynamics.step(
            references_rad_s, STILL.wind_enu if wind is None else wind.velocity_enu)
        if not is_due(time_us, self._battery_period_us):
            return {'ground_truth/odom': truth}
        battery = self._dynamics.battery()
        return {'ground_truth/odom': truth,
                'battery_state': None if battery is None else battery.with_32_bits()}

    def status(self) -> BlockStatus | None:
        """Return the state of the battery, with a warning when it is low."""
        battery = self._dynamics.battery() if self._dynamics else None
        if battery is None:
            return None
        left = battery.state_of_charge
        values = {'bus_voltage_v': f'{battery.voltage_v:.2f}',
                  'battery_current_a': f'{battery.current_a:.2f}', 'charge': f'{left:.3f}'}
        values |= {f'pack_{i + 1}': f'charge {charge:.3f}, {current_a:.2f} A'
                   for i, (charge, current_a) in enumerate(self._dynamics.packs())}
        if left < LOW_CHARGE:
            return BlockStatus(
                True, f'the battery is low: {100.0 * left:.0f} % are left', values)
        return BlockStatus(False, '', values)


class SensorBlock(Block):
    """Measures the truth with the model that the graph table names."""

    def __init__(self, configuration: BlockConfiguration[Parameters]) -> None:
        super().__init__(configuration)
        self._name = configuration.name
        self._spec = configuration.graph.nodes[self._name]
        self._output, = (
            t.name for t in configuration.graph.outputs(self._name) if not t.part_of)
        self._has_inputs = bool(self._spec.held)

    def reset(self) -> None:
        """Begin with the noise of time 0."""
        c = self.configuration
        self._model = load(self._spec.model)(self._name, c.parameters, c.world)

    def step(self, time_us: int, inputs: Inputs) -> Outputs:
        """Return the measurement."""
        return {self._output: self._model.measure(
            inputs['ground_truth/odom'], _sensed(inputs) if self._has_inputs else STILL)}


def _sensed(inputs: Inputs) -> SensorInputs:
    """Return what is measured beside the motion: wind and current, as they came last."""
    wind, battery = inputs.get('wind'), inputs.get('battery_state')
    return SensorInputs(
        STILL.wind_enu if wind is None else wind.velocity_enu,
        STILL.current_a if battery is None else battery.current_a)
