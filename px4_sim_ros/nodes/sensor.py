"""The node of every sensor: runs the model that the graph names, once a period."""
from __future__ import annotations

import typing

from px4_sim_ros import graph
from px4_sim_ros.convert.measurements import OUTPUTS
from px4_sim_ros.convert.truth import truth_from
from px4_sim_ros.nodes.base import LoopNode


class SensorNode(LoopNode):
    """Measures the truth and publishes the measurement."""

    @property
    def period_us(self) -> int:
        """The sensor's own period."""
        return self.configuration.world.periods_us[self.spec.name]

    def configure(self) -> None:
        """Make the messages that are filled again and again."""
        self._messages = {
            topic.name: (OUTPUTS[topic.name].new(), OUTPUTS[topic.name].fill)
            for topic in self.spec.outputs}

    def activate(self) -> None:
        """Begin with fresh noise."""
        self._sensor = graph.load(self.spec.model)(
            self.spec.name, self.configuration.own, self.configuration.world)

    def step(self, time_us: int, inputs: dict[str, typing.Any]) -> None:
        """Measure and publish."""
        measurement = self._sensor.measure(
            truth_from(inputs['ground_truth/odom'], inputs.get('ground_truth/accel')))
        for name, (message, fill) in self._messages.items():
            self.outputs[name].publish(fill(message, measurement))
