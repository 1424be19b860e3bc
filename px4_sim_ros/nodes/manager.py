"""The node `manager`: brings the graph up, drives the clock, takes the graph down."""
from __future__ import annotations

import time
import typing

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from px4_sim_ros import graph
from px4_sim_ros.convert.stamps import serialised_stamp_us, set_stamp
from px4_sim_ros.core.parameters import ParameterError
from px4_sim_ros.core.timebase import US_PER_S, seconds_text
from px4_sim_ros.nodes import diagnostics, parameters, qos
from px4_sim_ros.nodes.endpoints import missing_endpoints
from px4_sim_ros.nodes.lifecycle_client import (
    ACTIVATE,
    CONFIGURE,
    ManagedNode,
    Sequence,
    SequenceRunner,
    TransitionError,
)
from px4_sim_ros.pacing import Pacer

_TICK_S = 0.002
_CALL_TIMEOUT_S = 1.0
# A step that is held for an autopilot never ends; the others take a few milliseconds.
_LAST_STEP_TIMEOUT_S = 0.5
_STANDING_STILL_S = 2.0
_LIVE_PARAMETER = 'speed_factor'


class ManagerNode(Node):
    """Owns simulated time: step k ends at k * step_us, when its command has come."""

    def __init__(self, name: str) -> None:
        """Declare parameters and start to bring up the graph."""
        super().__init__(name, automatically_declare_parameters_from_overrides=True)
        self._spec = graph.NODES[name]
        parameters.declare(self, name)
        self.add_on_set_parameters_callback(self._on_set_parameters)
        self.finished = False
        self.exit_code = 0
        self.time_us = 0
        self.steps = 0
        self._stepping = False         # a step is under way
        self._stopping = False
        self._started_s: float | None = None
        self._begun_s = 0.0
        self._last_step_s = 0.0
        self._paced_s = 0.0
        self._busy_s = 0.0
        self._diagnostics = diagnostics.Diagnostics(self, self._status)
        self._clock_message = ClockMessage()
        self._nodes = [ManagedNode(self, managed) for managed in graph.MANAGED]
        self._sequence: SequenceRunner | None = SequenceRunner(self._bring_up(), _CALL_TIMEOUT_S)
        self._timer = self.create_timer(
            _TICK_S, self._tick, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._stop_service = self.create_service(Trigger, 'sim/stop', self._on_stop)

    # Up and down.

    def _bring_up(self) -> Sequence:
        """Configure and activate, consumers before producers; then take the first step."""
        configuration = parameters.read(self, self._spec.name)
        self._step_us = configuration.world.step_us
        self._pacer = Pacer(configuration.own.speed_factor, self._step_us)
        deadline_s = time.monotonic() + configuration.own.startup_timeout_s
        self._clock_publisher = self.create_publisher(ClockMessage, '/clock', qos.LOOP)
        self._command_subscription = self.create_subscription(
            JointState, 'actuators/command', self._on_command, qos.LOOP, raw=True)
        for node in self._nodes:
            yield from node.wait_until_there(deadline_s)
        for transition in (CONFIGURE, ACTIVATE):
            for node in reversed(self._nodes):
                yield from node.change(transition)
        for node in self._nodes:
            yield from node.wait_until_matched(deadline_s)
        publishers = {'/clock': self._clock_publisher}
        while missing := missing_endpoints(self, self._spec, publishers):
            if time.monotonic() > deadline_s:
                raise TransitionError(f'manager is not ready: {missing}')
            yield None
        for other in self.get_publishers_info_by_topic('/clock'):
            if (other.node_namespace, other.node_name) != (self.get_namespace(), self.get_name()):
                raise TransitionError(
                    f'/clock is published by {other.node_namespace.rstrip("/")}/'
                    f'{other.node_name} as well; give this graph a ROS_DOMAIN_ID of its own')
        self.get_logger().info('all nodes are active and matched')
        self._diagnostics.start()
        self._stepping = True
        self._begun_s = time.monotonic()
        self._publish_clock()

    def _take_down(self) -> Sequence:
        """Stop all nodes, producers before consumers, then end them; go on after a failure."""
        self._stopping = True
        deadline_s = time.monotonic() + _LAST_STEP_TIMEOUT_S
        while self._stepping and time.monotonic() < deadline_s:
            yield None
        self._stepping = False
        self._diagnostics.stop()
        for part in (ManagedNode.stop, ManagedNode.end):
            for node in self._nodes:
                try:
                    yield from part(node)
                except TransitionError as error:
                    self.exit_code = 1
                    self.get_logger().error(str(error))
        self.finished = True

    def _tick(self) -> None:
        if self._sequence is None:
            return
        try:
            ended = self._sequence.tick()
        except (TransitionError, ParameterError) as error:
            self.get_logger().error(f'{error}; the graph is taken down')
            self.exit_code = 1
            self._sequence = SequenceRunner(self._take_down(), _CALL_TIMEOUT_S)
            return
        if ended:
            self._sequence = None
            self._timer.cancel()

    def _on_stop(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Stop at the end of this step, take the graph down and end."""
        response.success = not self.finished
        response.message = f'stopping at t = {seconds_text(self.time_us)}'
        self._sequence = SequenceRunner(self._take_down(), _CALL_TIMEOUT_S)
        self._timer.reset()
        return response

    # The step.

    def _publish_clock(self) -> None:
        self.time_us += self._step_us
        set_stamp(self._clock_message.clock, self.time_us)
        self._clock_publisher.publish(self._clock_message)

    def _on_command(self, data: bytes) -> None:
        """The step is done when its command has come: pace, and begin the next."""
        if not self._stepping or serialised_stamp_us(data) != self.time_us:
            return
        self.steps += 1
        self._last_step_s = time.monotonic()
        if self._started_s is None:
            self._started_s = self._last_step_s
        if self._stopping:
            self._stepping = False
            return
        self._pacer.wait()
        paced_s = time.monotonic()
        self._publish_clock()
        self._paced_s += paced_s - self._last_step_s
        self._busy_s += time.monotonic() - paced_s

    # Questions and requests.

    def _on_set_parameters(self, changes: list[Parameter]) -> typing.Any:
        refused = [c.name for c in changes if c.name not in (_LIVE_PARAMETER, 'use_sim_time')]
        result = parameters.check_changes(
            self, self._spec.name, changes, refused, 'while the graph runs')
        if result.successful:
            for change in changes:
                if change.name == _LIVE_PARAMETER:
                    self._pacer = Pacer(change.value, self._step_us)
        return result

    def _status(self) -> diagnostics.Status:
        wall_s = self._last_step_s - self._started_s if self._started_s else 0.0
        # The first step waits for the autopilot, so the wall time begins at its end.
        simulated_s = max(self.steps - 1, 0) * self._step_us / US_PER_S
        factor = simulated_s / wall_s if wall_s > 0.0 else 0.0
        level, sentence = diagnostics.OK, 'stepping'
        silent_s = time.monotonic() - max(self._last_step_s, self._begun_s)
        if silent_s > _STANDING_STILL_S:
            level = diagnostics.WARN
            sentence = f'standing still at t = {seconds_text(self.time_us)} for {silent_s:.0f} s'
        return diagnostics.Status(self.steps * self._step_us, level, sentence, {
            'steps': self.steps,
            'sim_time_s': f'{self.steps * self._step_us / US_PER_S:.6f}',
            'wall_time_s': f'{wall_s:.6f}',
            'real_time_factor': f'{factor:.3f}',
            'paced_s': f'{self._paced_s:.6f}',
            'busy_s': f'{self._busy_s:.6f}',
        })
