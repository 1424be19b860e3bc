"""The node `dynamics`: moves the vehicle and tells the truth about it."""
from __future__ import annotations

import typing

from px4_sim_ros.configuration import load_vehicle
from px4_sim_ros.convert import truth as convert
from px4_sim_ros.convert.surroundings import fill_battery, new_battery, wind_from
from px4_sim_ros.core.dynamics import Dynamics
from px4_sim_ros.core.environment import Environment
from px4_sim_ros.core.surroundings import STILL
from px4_sim_ros.core.timebase import is_due
from px4_sim_ros.nodes.base import LoopNode
from px4_sim_ros.nodes.manager_watch import ManagerWatch


class DynamicsNode(LoopNode):
    """Integrates each step with the command of the step before, held."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        # It waits for the clock, so it is the one to miss the manager.
        self._watch = ManagerWatch(self, lambda: self._last_step_us)

    def configure(self) -> None:
        """Read the vehicle."""
        self._vehicle = load_vehicle(self.configuration.world.vehicle)
        self._messages = {
            'ground_truth/odom': (convert.new_odometry(), convert.fill_odometry),
            'ground_truth/accel': (convert.new_accel(), convert.fill_accel),
            'ground_truth/pose': (convert.new_pose(), convert.fill_pose),
            'joint_states': (
                convert.new_rotors(len(self._vehicle.rotors)),
                lambda message, truth: convert.fill_rotors(
                    message, truth.time_us, truth.rotor_speeds_rad_s)),
            'battery_state': (
                new_battery(),
                lambda message, truth: fill_battery(
                    message, truth.time_us, self._dynamics.battery())),
        }

    def activate(self) -> None:
        """Stand on the ground at time 0; nobody commands the first step."""
        world = self.configuration.world
        self._dynamics = Dynamics(
            self.configuration.own, self._vehicle, Environment.of(world), world.step_us)
        self._periods_us = {
            t.name: t.period_us(world.step_us, world.periods_us)
            for t in self.graph.outputs(self.spec.name)}
        self._wind_enu = STILL.wind_enu

    def step(self, time_us: int, inputs: dict[str, typing.Any]) -> None:
        """Integrate up to `time_us` and publish the truth."""
        if 'wind' in inputs:
            self._wind_enu = wind_from(inputs['wind'])
        command = inputs.get('actuators/command')
        references = tuple(command.velocity) if command else (0.0,) * len(self._vehicle.rotors)
        truth = self._dynamics.step(references, self._wind_enu)
        for name, (message, fill) in self._messages.items():
            if is_due(time_us, self._periods_us[name]):
                self.say(self.outputs[name], fill(message, truth))
