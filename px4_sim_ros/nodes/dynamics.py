"""The node `dynamics`: moves the vehicle and tells the truth about it."""
from __future__ import annotations

import typing

from rclpy.serialization import serialize_message

from px4_sim_ros.configuration import load_vehicle
from px4_sim_ros.convert import truth as convert
from px4_sim_ros.core.dynamics import Dynamics
from px4_sim_ros.core.timebase import is_due
from px4_sim_ros.nodes.base import LoopNode
from px4_sim_ros.nodes.manager_watch import ManagerWatch

_COMMAND = 'actuators/command'


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
        }

    def activate(self) -> None:
        """Stand on the ground at time 0; nobody commands the first step."""
        world = self.configuration.world
        self._dynamics = Dynamics(
            self.configuration.own, self._vehicle, world.gravity_m_s2, world.step_us)
        self._periods_us = {
            t.name: t.period_us(world.step_us, world.periods_us)
            for t in self.graph.outputs(self.spec.name)}
        rotors = len(self._vehicle.rotors)
        still = convert.fill_rotors(convert.new_rotors(rotors), 0, (0.0,) * rotors)
        self.inbox.put(_COMMAND, world.step_us, serialize_message(still))

    def input_time_us(self, name: str, stamp_us: int) -> int:
        """Return the step that a message belongs to: a command is for the next one."""
        return stamp_us + self.configuration.world.step_us if name == _COMMAND else stamp_us

    def step(self, time_us: int, inputs: dict[str, typing.Any]) -> None:
        """Integrate up to `time_us` and publish the truth."""
        truth = self._dynamics.step(tuple(inputs[_COMMAND].velocity))
        for name, (message, fill) in self._messages.items():
            if is_due(time_us, self._periods_us[name]):
                self.say(self.outputs[name], fill(message, truth))
