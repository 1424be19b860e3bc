"""The node of every sensor: runs the model that the graph names, once a period."""
from __future__ import annotations

import typing

from std_msgs.msg import Header

from px4_sim_ros.messages.stamps import set_stamp
from px4_sim_ros.messages.truth import with_accel
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.inputs import STILL, SensorInputs
from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.ros import qos
from px4_sim_ros.ros.base import LoopNode
from px4_sim_ros.step import graph

# What is felt beside the motion.
_FELT = 'wind', 'battery_state'


class SensorNode(LoopNode):
    """Measures the truth and publishes the measurement.

    Once it has been active it takes part in every step until it is shut down. Stopped, it
    says for each time at which it would have measured that there is no measurement, so that
    nobody waits for it, and all agree on the step at which it stops and starts.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        # No lifecycle publisher: it speaks when the node is not active.
        self._absence_publisher = self.create_publisher(Header, graph.ABSENCE, qos.LOOP)
        self._absence = Header(frame_id=name)
        self._run_world: WorldParameters | None = None
        self._surroundings = STILL

    @property
    def period_us(self) -> int:
        """The sensor's own period."""
        return self.configuration.world.period_us(self.spec.name)

    @property
    def loop_publishers(self) -> dict[str, typing.Any]:
        """The publishers that have to be matched, by topic."""
        return super().loop_publishers | {graph.ABSENCE: self._absence_publisher}

    def configure(self) -> None:
        """See that what all share is as it was when the run began."""
        world = self.configuration.world
        if self.inbox is not None and world != self._run_world:
            raise ParameterError(
                f'{self.spec.name}: parameters that all nodes share cannot change within a run')

    def activate(self) -> None:
        """Begin with the noise of time 0."""
        self._run_world = self.configuration.world
        self._sensor = graph.load(self.spec.model)(
            self.spec.name, self.configuration.own, self.configuration.world)

    def rest(self) -> None:
        """Go on to take part in the steps."""

    def leave(self) -> None:
        """Forget the run, and what was felt in it."""
        super().leave()
        self._surroundings = STILL

    def step(self, time_us: int, inputs: dict[str, typing.Any]) -> None:
        """Measure and publish."""
        truth = inputs['ground_truth/odom']
        if 'ground_truth/accel' in inputs:
            truth = with_accel(truth, inputs['ground_truth/accel'])
        self.publish(self._sensor.measure(truth, self._felt(inputs)))

    def _felt(self, inputs: dict[str, typing.Any]) -> SensorInputs:
        """Return what is felt beside the motion: the last that was published."""
        if 'wind' in inputs:
            self._surroundings = self._surroundings._replace(
                wind_enu=inputs['wind'].velocity_enu)
        if 'battery_state' in inputs:
            battery = inputs['battery_state']
            self._surroundings = self._surroundings._replace(
                current_a=battery.current_a if battery else 0.0)
        return self._surroundings

    def publish(self, measurement: typing.Any) -> None:
        """Publish a measurement on all topics of the node."""
        for name in self.outputs:
            self.tell(name, measurement.time_us, measurement)

    def idle_step(self, time_us: int, inputs: dict[str, bytes]) -> None:
        """Say that there is no measurement."""
        self._felt(self.values({name: inputs[name] for name in _FELT if name in inputs}))
        set_stamp(self._absence.stamp, time_us)
        self.say(self._absence_publisher, self._absence)
