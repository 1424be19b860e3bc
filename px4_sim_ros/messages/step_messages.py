"""The messages that the nodes would publish, from the steps of mode `core`."""
from __future__ import annotations

from px4_sim_ros.messages import codecs
from px4_sim_ros.model.timebase import is_due
from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.step.graph import COMMAND, Graph
from px4_sim_ros.step.simulation import Step


class StepMessages:
    """Turns steps into serialised messages."""

    def __init__(self, graph: Graph, world: WorldParameters) -> None:
        """Begin with nothing."""
        self._periods_us = world.periods_us
        self._encoders = {name: codecs.encoder(topic) for name, topic in graph.topics.items()}
        self._outputs = {
            sensor: [topic.name for topic in graph.outputs(sensor)] for sensor in graph.sensors}

    def of(self, step: Step, references_rad_s: tuple[float, ...]) -> list[tuple[str, bytes]]:
        """Return topics and messages of a step, in the order of the graph.

        :param references_rad_s: the command that ends the step
        """
        truth, time_us = step.truth, step.truth.time_us
        values = {'/clock': None, 'ground_truth/odom': truth, 'ground_truth/accel': truth,
                  COMMAND: references_rad_s}
        if is_due(time_us, self._periods_us['display']):
            values['ground_truth/pose'] = truth
            values['joint_states'] = truth.rotor_speeds_rad_s
        if is_due(time_us, self._periods_us['battery']):
            values['battery_state'] = step.battery
        measured = step.measurements if step.wind is None else step.measurements | {
            'wind': step.wind}
        for sensor, measurement in measured.items():
            for name in self._outputs[sensor]:
                values[name] = measurement
        return [(name, encode(time_us, values[name]))
                for name, encode in self._encoders.items() if name in values]
