"""The messages that the nodes would publish, from the steps of mode `core`."""
from __future__ import annotations

import typing

from rosgraph_msgs.msg import Clock

from px4_sim_ros.convert import truth as convert
from px4_sim_ros.convert.measurements import OUTPUTS, new_message
from px4_sim_ros.convert.stamps import set_stamp
from px4_sim_ros.convert.surroundings import fill_battery, new_battery
from px4_sim_ros.core.simulation import Step
from px4_sim_ros.core.timebase import is_due
from px4_sim_ros.core.world import WorldParameters
from px4_sim_ros.graph import Graph


class StepMessages:
    """Turns steps into messages."""

    def __init__(self, graph: Graph, world: WorldParameters, rotors: int) -> None:
        """Make the messages that are filled again and again.

        :param rotors: how many the vehicle has
        """
        self._periods_us = world.periods_us
        self._clock = Clock()
        self._odometry, self._accel = convert.new_odometry(), convert.new_accel()
        self._pose, self._battery = convert.new_pose(), new_battery()
        self._rotors, self._command = convert.new_rotors(rotors), convert.new_rotors(rotors)
        self._measured = {
            sensor: [(topic.name, new_message(topic), OUTPUTS[topic.kind].fill)
                     for topic in graph.outputs(sensor)]
            for sensor in graph.sensors}
        self._names = list(graph.topics)

    def of(
        self, step: Step, references_rad_s: tuple[float, ...],
    ) -> list[tuple[str, typing.Any]]:
        """Return topics and messages of a step, in the order of the graph.

        The messages are valid until the next step.

        :param references_rad_s: the command that ends the step
        """
        truth, time_us = step.truth, step.truth.time_us
        set_stamp(self._clock.clock, time_us)
        messages = {
            '/clock': self._clock,
            'ground_truth/odom': convert.fill_odometry(self._odometry, truth),
            'ground_truth/accel': convert.fill_accel(self._accel, truth),
            'actuators/command': convert.fill_rotors(self._command, time_us, references_rad_s)}
        if is_due(time_us, self._periods_us['display']):
            messages['ground_truth/pose'] = convert.fill_pose(self._pose, truth)
            messages['joint_states'] = convert.fill_rotors(
                self._rotors, time_us, truth.rotor_speeds_rad_s)
        if is_due(time_us, self._periods_us['battery']):
            messages['battery_state'] = fill_battery(self._battery, time_us, step.battery)
        measured = step.measurements if step.wind is None else step.measurements | {
            'wind': step.wind}
        for sensor, measurement in measured.items():
            for name, message, fill in self._measured[sensor]:
                messages[name] = fill(message, measurement)
        return [(name, messages[name]) for name in self._names if name in messages]
