"""The base of all managed nodes: parameters, inbox, endpoints, errors and clean-up.

Subclasses say what to do in `configure`, `activate`, `deactivate` and `step`; none of
them handles ROS states, subscriptions or stamps.
"""
from __future__ import annotations

import functools
import time
import traceback
import typing

from lifecycle_msgs.msg import State
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message
from std_srvs.srv import Trigger

from px4_sim_ros import graph
from px4_sim_ros.configuration import NodeConfiguration
from px4_sim_ros.convert.stamps import serialised_stamp_us
from px4_sim_ros.core.parameters import ParameterError, sentence
from px4_sim_ros.nodes import parameters, qos
from px4_sim_ros.nodes.diagnostics import OK, Diagnostics, Status
from px4_sim_ros.nodes.endpoints import missing_endpoints
from px4_sim_ros.nodes.inbox import Inbox
from px4_sim_ros.nodes.message_types import message_class

_Transition = typing.Callable[[typing.Any, LifecycleState], TransitionCallbackReturn]

# Errors with a sentence for the user; any other is a fault of ours and gets a traceback.
_EXPECTED_ERRORS = (ParameterError, OSError)


def _reported(transition: _Transition) -> _Transition:
    """Log what a transition raises: rclpy turns exceptions into ERROR without a word.

    Afterwards the node is in the state before, and holds no more than it did there.
    """
    @functools.wraps(transition)
    def wrapped(self: LoopNode, state: LifecycleState) -> TransitionCallbackReturn:
        try:
            self.failure = ''
            return transition(self, state)
        except _EXPECTED_ERRORS as error:
            self.failure = sentence(error)
            self.get_logger().error(self.failure)
        except Exception as error:
            self.failure = f'{type(error).__name__}: {error}'
            self.get_logger().error(traceback.format_exc())
        self._stop_listening()
        if state.state_id == State.PRIMARY_STATE_UNCONFIGURED:
            self._release()
        return TransitionCallbackReturn.FAILURE
    return wrapped


class LoopNode(LifecycleNode):
    """A managed node that acts once per period, when all its inputs are there."""

    def __init__(self, name: str) -> None:
        """Declare the parameters of the node `name` of the graph."""
        super().__init__(name, automatically_declare_parameters_from_overrides=True)
        self.spec = graph.NODES[name]
        self.failure = ''
        self.active = False
        self.finished = False          # shut down for good
        parameters.declare(self, name)
        self.add_on_set_parameters_callback(self._on_set_parameters)
        self.configuration: NodeConfiguration | None = None
        self.inbox: Inbox | None = None
        self.outputs: dict[str, typing.Any] = {}
        self._inputs: list[typing.Any] = []
        self._diagnostics = Diagnostics(self, self._status)
        self._last_step_us = 0
        self._busy_s = 0.0
        self._status_service = self.create_service(Trigger, '~/status', self._on_status)

    # What subclasses fill in.

    @property
    def period_us(self) -> int:
        """How often the node acts."""
        return self.configuration.world.step_us

    def configure(self) -> None:
        """Check everything that can be wrong before the run."""

    def activate(self) -> None:
        """Begin with a fresh state."""

    def deactivate(self) -> None:
        """Give back what `activate` took; it must not fail when there is nothing."""

    def step(self, time_us: int, inputs: dict[str, typing.Any]) -> None:
        """Act at a time; `inputs` are the messages that are due, by topic."""
        raise NotImplementedError

    def status(self) -> tuple[bytes, str, dict[str, object]]:
        """Return level, sentence and values for `/diagnostics`."""
        return OK, 'active', {}

    # Transitions.

    @_reported
    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Read the parameters and make the publishers."""
        self.configuration = parameters.read(self, self.spec.name)
        self.configure()
        for topic in self.spec.outputs:
            self.outputs[topic.name] = self.create_lifecycle_publisher(
                message_class(topic.type), topic.name, qos.LOOP)
        return super().on_configure(state)

    @_reported
    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start with a fresh state and listen to the inputs."""
        world = self.configuration.world
        self.inbox = Inbox(
            {name: graph.TOPICS[name].period_us(world.step_us, world.periods_us)
             for name in self.spec.inputs},
            self.period_us, self._step)
        self._busy_s = 0.0
        self.active = True
        self.activate()
        self._diagnostics.start()
        self._inputs = [
            self.create_subscription(
                message_class(graph.TOPICS[name].type), name,
                functools.partial(self._on_message, name), qos.LOOP, raw=True)
            for name in self.spec.inputs]
        return super().on_activate(state)

    @_reported
    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop listening."""
        self._stop_listening()
        return super().on_deactivate(state)

    @_reported
    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Give everything back."""
        self._release()
        return super().on_cleanup(state)

    @_reported
    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Give everything back, from whatever state."""
        self.finished = True
        self._release()
        return super().on_shutdown(state)

    @_reported
    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Give everything back; the node can be configured again."""
        self._release()
        return super().on_error(state)

    def _stop_listening(self) -> None:
        for subscription in self._inputs:
            self.destroy_subscription(subscription)
        self._inputs = []
        self._diagnostics.stop()
        if self.active:
            self.active = False
            self.deactivate()
        self.inbox = None

    def _release(self) -> None:
        self._stop_listening()
        for publisher in self.outputs.values():
            self.destroy_lifecycle_publisher(publisher)
        self.outputs.clear()
        self.configuration = None

    # The step.

    def input_time_us(self, name: str, stamp_us: int) -> int:
        """Return the step that a message belongs to."""
        return stamp_us

    def _on_message(self, name: str, data: bytes) -> None:
        # Only messages that a step uses are deserialised: converting costs more than all
        # the rest of the hop.
        if self.inbox is None:
            return
        started_s = time.perf_counter()
        self.inbox.put(name, self.input_time_us(name, serialised_stamp_us(data)), data)
        self._busy_s += time.perf_counter() - started_s

    def _step(self, time_us: int, inputs: dict[str, bytes]) -> None:
        self._last_step_us = time_us
        self.step(time_us, {
            name: deserialize_message(data, message_class(graph.TOPICS[name].type))
            for name, data in inputs.items()
        })

    # Questions and requests.

    def _on_status(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Tell whether the node is active and matched with all its peers, or what is wrong."""
        response.message = self.failure or self._missing()
        response.success = not response.message
        return response

    def _status(self) -> Status:
        level, sentence, values = self.status()
        missing = self.inbox.missing(self.inbox.next_us) if self.inbox else []
        return Status(self._last_step_us, level, sentence, values | {
            'busy_s': f'{self._busy_s:.6f}', 'waits_for': ', '.join(missing)})

    def _missing(self) -> str:
        if not self.active:
            return 'not active'
        return missing_endpoints(self, self.spec, self.outputs)

    def _on_set_parameters(self, changes: list[Parameter]) -> typing.Any:
        configured = self.configuration is not None
        refused = [c.name for c in changes if c.name != 'use_sim_time'] if configured else ()
        return parameters.check_changes(
            self, self.spec.name, changes, refused, 'while the node is configured')
