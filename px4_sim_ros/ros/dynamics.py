"""The node `dynamics`: moves the vehicle and tells the truth about it."""
from __future__ import annotations

import typing

from px4_sim_ros.config.compile_ahead import compile_motion
from px4_sim_ros.config.configuration import load_vehicle
from px4_sim_ros.model.body.dynamics import Dynamics
from px4_sim_ros.model.environment.environment import Environment
from px4_sim_ros.model.errors import RunError
from px4_sim_ros.model.inputs import STILL
from px4_sim_ros.model.timebase import is_due
from px4_sim_ros.model.vehicle.sections import LOW_CHARGE
from px4_sim_ros.ros.base import LoopNode
from px4_sim_ros.ros.diagnostics import OK, WARN
from px4_sim_ros.ros.manager_watch import ManagerWatch
from px4_sim_ros.step.graph import COMMAND


class DynamicsNode(LoopNode):
    """Integrates each step with the command of the step before, held."""

    def __init__(self, name: str) -> None:
        # Before it appears: from then on it is asked, and has to answer.
        compile_motion()
        super().__init__(name)
        # It waits for the clock, so it is the one to miss the manager.
        self._watch = ManagerWatch(self, lambda: self._last_step_us)
        self._dynamics: Dynamics | None = None

    def configure(self) -> None:
        """Read the vehicle."""
        self._vehicle = load_vehicle(self.configuration.world.vehicle)

    def activate(self) -> None:
        """Stand on the ground at time 0; nobody commands the first step."""
        world = self.configuration.world
        self._dynamics = Dynamics(
            self.configuration.own, self._vehicle, Environment.of(world), world.step_us)
        self._periods_us = world.periods_us
        self._wind_enu = STILL.wind_enu

    def step(self, time_us: int, inputs: dict[str, typing.Any]) -> None:
        """Integrate up to `time_us` and publish the truth."""
        if 'wind' in inputs:
            self._wind_enu = inputs['wind'].velocity_enu
        count = len(self._vehicle.rotors)
        references = inputs.get(COMMAND) or (0.0,) * count
        if len(references) != count:
            raise RunError(f'{COMMAND}: {len(references)} velocities came, and the vehicle'
                           f' {self._vehicle.name} has {count} rotors')
        truth = self._dynamics.step(references, self._wind_enu)
        self.tell('ground_truth/odom', time_us, truth)
        self.tell('ground_truth/accel', time_us, truth)
        if is_due(time_us, self._periods_us['display']):
            self.tell('ground_truth/pose', time_us, truth)
            self.tell('joint_states', time_us, truth.rotor_speeds_rad_s)
        if is_due(time_us, self._periods_us['battery']):
            self.tell('battery_state', time_us, self._dynamics.battery())

    def status(self) -> tuple[bytes, str, dict[str, object]]:
        """Return what the battery is about, with a warning when it is low."""
        battery = self._dynamics.battery() if self._dynamics else None
        if battery is None:
            return super().status()
        left = battery.state_of_charge
        values = {'bus_voltage_v': f'{battery.voltage_v:.2f}',
                  'battery_current_a': f'{battery.current_a:.2f}', 'charge': f'{left:.3f}'}
        values |= {f'pack_{i + 1}': f'charge {charge:.3f}, {current_a:.2f} A'
                   for i, (charge, current_a) in enumerate(self._dynamics.packs())}
        if left < LOW_CHARGE:
            return WARN, f'the battery is low: {100.0 * left:.0f} % are left', values
        return OK, super().status()[1], values
