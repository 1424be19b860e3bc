"""The base of all managed nodes: parameters, inbox, endpoints, errors and clean-up.

Subclasses say what to do in `configure`, `activate`, `deactivate` and `step`; none of
them handles ROS states, subscriptions or stamps.
"""
from __future__ import annotations

import dataclasses
import functools
import time
import traceback
import typing

from lifecycle_msgs.msg import State
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message
from std_msgs.msg import Header
from std_srvs.srv import Trigger

from px4_sim_ros.config.configuration import NodeConfiguration
from px4_sim_ros.messages import codecs
from px4_sim_ros.messages.codec import Decoder, Encoder
from px4_sim_ros.messages.stamps import serialised_stamp_us, stamp_us
from px4_sim_ros.model.errors import ParameterError, sentence
from px4_sim_ros.ros import parameters, qos
from px4_sim_ros.ros.diagnostics import OK, Diagnostics, Status
from px4_sim_ros.ros.endpoints import matched_participants, participant_of
from px4_sim_ros.ros.message_types import message_class
from px4_sim_ros.ros.node_status import NodeStatus
from px4_sim_ros.ros.polling import PollingNode
from px4_sim_ros.ros.transitions import refuse_misfits
from px4_sim_ros.step import graph
from px4_sim_ros.step.synchronizer import Inbox

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
        self._go_inactive()
        self.release()
        if state.state_id == State.PRIMARY_STATE_UNCONFIGURED:
            self._release()
        return TransitionCallbackReturn.FAILURE
    return wrapped


class LoopNode(PollingNode, LifecycleNode):
    """A managed node that acts once per period, when all its inputs are there."""

    def __init__(self, name: str) -> None:
        """Declare the parameters of the node `name` of the graph."""
        super().__init__(name, automatically_declare_parameters_from_overrides=True)
        refuse_misfits(self)
        self.spec = graph.spec_of(name)
        self.graph: graph.Graph | None = None          # known once it is configured
        self.failure = ''
        self.active = False
        self.finished = False          # shut down for good
        parameters.declare(self, name)
        self.add_on_set_parameters_callback(self._on_set_parameters)
        self.configuration: NodeConfiguration | None = None
        self.inbox: Inbox | None = None                # while it takes part in the steps
        self.outputs: dict[str, typing.Any] = {}
        self._inputs: dict[str, typing.Any] = {}
        self._encoders: dict[str, Encoder] = {}
        self._publish_bytes: dict[str, typing.Callable[[bytes], None]] = {}
        self._decoders: dict[str, Decoder] = {}
        self._said: list[tuple[typing.Any, typing.Any]] = []    # in the last step, and where
        self._participant = participant_of(self)
        self._lifecycle_state = 'unconfigured'
        self._diagnostics = Diagnostics(self, self._status)
        self._last_step_us = 0
        self._steps = 0
        self._busy_s = 0.0
        self._status_service = self.create_service(Trigger, '~/status', self._on_status)
        self._forget_service = self.create_service(Trigger, '~/forget', self._on_forget)
        self._repeat_service = self.create_service(Trigger, '~/repeat', self._on_repeat)

    # What subclasses fill in.

    @property
    def period_us(self) -> int:
        """How often the node acts."""
        return self.configuration.world.step_us

    @property
    def loop_publishers(self) -> dict[str, typing.Any]:
        """The publishers that have to be matched before the first step, by topic."""
        return self.outputs

    def configure(self) -> None:
        """Check everything that can be wrong before the run."""

    def activate(self) -> None:
        """Begin with a fresh state."""

    def deactivate(self) -> None:
        """Give back what `activate` took; it must not fail when there is nothing."""

    def release(self) -> None:
        """Give back what is left after `deactivate`; it must not fail when there is nothing."""

    def rest(self) -> None:
        """Take no part in the steps while inactive."""
        self.leave()

    def step(self, time_us: int, inputs: dict[str, typing.Any]) -> None:
        """Act at a time; `inputs` are the values that are due, by topic, as in `core`.

        The clock is not among them: it says no more than the time.
        """
        raise NotImplementedError

    def idle_step(self, time_us: int, inputs: dict[str, bytes]) -> None:
        """Let a step pass in which the node, still listening, is not active."""

    def status(self) -> tuple[bytes, str, dict[str, object]]:
        """Return level, sentence and values for `/diagnostics`."""
        return OK, self._lifecycle_state, {}

    def holds(self) -> str:
        """Return why the node does not end a step although nothing is missing, or ''."""
        return ''

    # Transitions.

    @_reported
    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Read the parameters and make publishers and subscriptions."""
        self.configuration = parameters.read(self, self.spec.name)
        self.graph = graph.of_instances(self.configuration.world.node_counts)
        self.spec = self.graph.nodes[self.spec.name]
        self.configure()
        for topic in self.graph.outputs(self.spec.name):
            self.outputs[topic.name] = self.create_lifecycle_publisher(
                message_class(topic.type), topic.name, qos.LOOP)
            # A lifecycle publisher asks first whether it is active; whoever acts is.
            self._publish_bytes[topic.name] = self.outputs[topic.name].handle.publish_raw
            self._encoders[topic.name] = codecs.encoder(topic)
        self._listen()
        self._lifecycle_state = 'inactive'
        return super().on_configure(state)

    @_reported
    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start with a fresh state and take part in the steps."""
        if self.inbox is None:
            self._join()
        self.activate()
        self.active = True
        self._lifecycle_state = 'active'
        return super().on_activate(state)

    @_reported
    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Come to rest."""
        # A last word, while there is all to tell.
        self._diagnostics.publish()
        self._go_inactive()
        self._lifecycle_state = 'inactive'
        return super().on_deactivate(state)

    @_reported
    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Give everything back."""
        self._release()
        self._lifecycle_state = 'unconfigured'
        return super().on_cleanup(state)

    @_reported
    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Give everything back, from whatever state."""
        self.finished = True
        self._diagnostics.stop()
        self._go_inactive()
        self.leave()
        self._release()
        self._stop_listening()
        self._lifecycle_state = 'finalized'
        return super().on_shutdown(state)

    @_reported
    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Give everything back; the node can be configured again."""
        self._go_inactive()
        self._release()
        self._lifecycle_state = 'unconfigured'
        return super().on_error(state)

    def _join(self) -> None:
        """Take part in the steps, from the first on."""
        world, topics = self.configuration.world, self.graph.topics
        self._busy_s, self._steps, self._last_step_us, self._said = 0.0, 0, 0, []
        self.inbox = Inbox(
            {name: topics[name].period_us(world.step_us, world.periods_us)
             for name in self.spec.inputs},
            self.period_us, self._step, dict.fromkeys(self.spec.previous, world.step_us))

    def _listen(self) -> None:
        # Those that are there stay, to the end: they are matched with all, and the executor may
        # be deaf to one that is made in place of another.
        topics = self.graph.topics
        if set(self._inputs) - {graph.ABSENCE} == set(self.spec.inputs):
            return
        self._stop_listening()
        self._decoders = {name: codecs.decoder(topics[name], functools.partial(
            deserialize_message, message_type=message_class(topics[name].type)))
            for name in self.spec.inputs}
        self._inputs = {
            name: self.hear(
                message_class(topics[name].type), name, topics[name].publisher,
                functools.partial(self._on_message, name), qos.LOOP)
            for name in self.spec.inputs}
        if any(topics[name].publisher in self.graph.sensors for name in self.spec.inputs):
            self._inputs[graph.ABSENCE] = self.create_subscription(
                Header, graph.ABSENCE, self._on_absence, qos.LOOP)

    def leave(self) -> None:
        """Take no part in the steps any more."""
        self.inbox = None

    def _stop_listening(self) -> None:
        for subscription in self._inputs.values():
            self.forget(subscription)
        self._inputs = {}

    def _go_inactive(self) -> None:
        self.active = False
        self.deactivate()
        self.rest()

    def _release(self) -> None:
        self.release()
        self._said = []
        for publisher in self.outputs.values():
            self.destroy_lifecycle_publisher(publisher)
        self.outputs.clear()
        self._publish_bytes.clear()
        self._encoders.clear()
        self.configuration = None

    # The step.

    def awaited(self) -> typing.Iterable[str]:
        """Return what the next step still lacks."""
        return super().awaited() if self.inbox is None else self.inbox.lacking

    def _on_message(self, name: str, data: bytes) -> None:
        # Only messages that a step uses are read.
        if self.inbox is not None:
            self.inbox.put(name, serialised_stamp_us(data), data)

    def _on_absence(self, header: Header) -> None:
        """Take note that a sensor has no measurement at a time."""
        if self.inbox is None:
            return
        for topic in self.graph.outputs(header.frame_id):
            if topic.name in self.spec.inputs:
                self.inbox.put(topic.name, stamp_us(header.stamp), None)

    def _step(self, time_us: int, inputs: dict[str, bytes]) -> None:
        started_s = time.perf_counter()
        self._last_step_us = time_us
        self._steps += 1
        self._said = []
        if self.active:
            inputs.pop('/clock', None)
            self.step(time_us, self.values(inputs))
        else:
            self.idle_step(time_us, inputs)
        self._busy_s += time.perf_counter() - started_s

    def values(self, inputs: dict[str, bytes]) -> dict[str, typing.Any]:
        """Return what messages say, as values of `core`, from their bytes; all by topic."""
        decoders = self._decoders
        return {name: decoders[name](data) for name, data in inputs.items()}

    def tell(self, name: str, time_us: int, value: typing.Any) -> None:
        """Publish a value of `core` on a topic of this node."""
        self.say_bytes(name, self._encoders[name](time_us, value))

    def say_bytes(self, name: str, data: bytes) -> None:
        """Publish a message of this step, serialised, on a topic of this node."""
        self._said.append((self.outputs[name], data))
        self._publish_bytes[name](data)

    def say(self, publisher: typing.Any, message: typing.Any) -> None:
        """Publish a message of this step."""
        self._said.append((publisher, message))
        publisher.publish(message)

    # Questions and requests.

    def _on_repeat(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Publish again what the last step has published: somebody has not got it."""
        for publisher, message in self._said:
            publisher.publish(message)
        response.success = True
        return response

    def _on_status(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Tell whether the node can take part in a step, and what it waits for."""
        problem = self.failure or ('' if self.active else f'it is {self._lifecycle_state}')
        inbox = self.inbox
        response.success = not problem
        response.message = NodeStatus(
            self._lifecycle_state, problem, inbox.next_us if inbox else 0,
            inbox.waits_for() if inbox else {}, self.holds(), self._participant,
            matched_participants(self, self.loop_publishers, self._inputs),
            dataclasses.asdict(self.configuration.world) if self.configuration else {}).to_json()
        return response

    def _on_forget(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Forget the run: the next activation begins at time 0."""
        response.success = not self.active
        response.message = 'an active node cannot forget its run' if self.active else ''
        if response.success:
            self.leave()
        return response

    def _status(self) -> Status:
        level, sentence, values = self.status()
        return Status(self._last_step_us, level, sentence, values | {
            'lifecycle': self._lifecycle_state, 'steps': self._steps,
            'busy_s': f'{self._busy_s:.6f}',
            'waits_for': ', '.join(self.inbox.waits_for()) if self.inbox else ''})

    def _on_set_parameters(self, changes: list[Parameter]) -> typing.Any:
        configured = self.configuration is not None
        refused = [c.name for c in changes if c.name != 'use_sim_time'] if configured else ()
        return parameters.check_changes(
            self, self.spec.name, changes, refused, 'while the node is configured')
