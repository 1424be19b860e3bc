"""Plays a bag: publishes for viewers what was recorded, under run control."""
from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
import time
import typing

import rclpy
import tqdm
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from std_srvs.srv import Trigger

from px4_sim_ros.config.configuration import FlatParameters, node_configuration
from px4_sim_ros.model.parameters import ParameterError
from px4_sim_ros.model.timebase import US_PER_S, seconds_text
from px4_sim_ros.recording.bag import schema
from px4_sim_ros.recording.bag.bag_reader import BagReader, Message
from px4_sim_ros.ros import diagnostics, parameters, qos
from px4_sim_ros.ros.endpoints import other_publishers
from px4_sim_ros.ros.manager import RunState
from px4_sim_ros.ros.message_types import message_class
from px4_sim_ros.ros.world import make_executor
from px4_sim_ros.run.processes import ros_environment
from px4_sim_ros.step.clock import Stepper

_NAME = 'manager'
_LIVE_PARAMETERS = 'speed_factor', 'paused', 'step_count', 'use_sim_time'
_STATUS, _DIAGNOSTICS, _LOG = 'sim/status', '/diagnostics', '/rosout'
# Who is there makes itself known to a new process once a second (config/fastdds.xml).
_LOOK_AROUND_S = 1.5
_MATCHED_TIMEOUT_S = 2.0
_SPIN_S = 0.05
_SERVED_EVERY_S = 0.01
_ANNOUNCED_EVERY_S = 0.5
# So many messages before the start are read without a look at requests: some 10 ms.
_SKIPPED_AT_ONCE = 1000
# As qos.LOOP. Listeners acknowledge within some 50 ms: the more may be under way, the faster.
_OUTPUT = QoSProfile(reliability=qos.LOOP.reliability, history=qos.LOOP.history, depth=2000)
# As fast as possible is as fast as the listeners get it, unless one hangs.
_ACKNOWLEDGED_TIMEOUT, _ACKNOWLEDGED_TRIES = Duration(seconds=0.1), 10
# A listener forgets what it has not read yet when the publisher goes away.
_LAST_WORDS_S = 0.5


def play(
    bag: BagReader, *, rate: float, start_s: float, paused: bool, loop: bool,
    namespace: str | None,
) -> int:
    """Publish the messages of a bag until its end, or until told to stop; return 0.

    :param rate: simulated over wall time; 0 is as fast as possible
    :param start_s: simulated time at which it begins, also when it begins again
    :param namespace: of what is published; that of the run when None
    :raises ParameterError: it cannot be played so, or somebody else publishes /clock
    :raises BagError: a file of the bag cannot be read
    :raises KeyboardInterrupt: SIGINT or SIGTERM has come
    """
    if not 0.0 <= start_s < math.inf:
        raise ParameterError(f'start = {start_s:g}: must be a number, at least 0 s')
    values = bag.run.parameters[_NAME] | {'speed_factor': float(rate), 'paused': paused}
    node_configuration(_NAME, values)
    # SIGTERM ends it as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    os.environ.update(ros_environment())
    with contextlib.ExitStack() as stack:
        rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
        stack.callback(rclpy.shutdown)
        scout = rclpy.create_node(
            f'player_{os.getpid()}', enable_rosout=False, start_parameter_services=False)
        _be_alone(scout)
        player = BagPlayer(
            bag, values, round(start_s * US_PER_S), loop,
            bag.run.namespace if namespace is None else namespace.strip('/'))
        stack.callback(player.destroy_node)
        scout.destroy_node()       # not before: with the last node of a process its peers go
        executor = make_executor()
        stack.callback(executor.shutdown)
        executor.add_node(player)
        print(f'playing {bag.folder} from t = {seconds_text(player.time_us)}', flush=True)
        with tqdm.tqdm(bar_format='t = {n:.1f} s [{elapsed}]', file=sys.stdout,
                       disable=not sys.stdout.isatty()) as progress:
            _run(player, executor, progress)
        print(f'played up to t = {seconds_text(player.time_us)}', flush=True)
    return 0


def _be_alone(node: Node) -> None:
    """Look around for a while.

    :raises ParameterError: somebody publishes /clock
    """
    deadline_s = time.monotonic() + _LOOK_AROUND_S
    while time.monotonic() < deadline_s:
        rclpy.spin_once(node, timeout_sec=_SPIN_S)
    others = other_publishers(node, '/clock', '')
    if others:
        raise ParameterError(
            f'/clock is published by {others[0]} already; play with a ROS_DOMAIN_ID of its own')


def _run(player: BagPlayer, executor: typing.Any, progress: tqdm.tqdm) -> None:
    served_s = 0.0
    while not player.finished:
        is_busy = player.go_on()
        if player.announce_if_due():
            progress.update(player.time_us / US_PER_S - progress.n)
        if not is_busy:
            executor.spin_once(timeout_sec=_SPIN_S)
        elif time.monotonic() - served_s > _SERVED_EVERY_S:
            executor.spin_once(timeout_sec=0.0)
            served_s = time.monotonic()


def _profile(topic: str) -> QoSProfile:
    if topic in schema.SIDE_TOPICS and schema.SIDE_TOPICS[topic].latched:
        return qos.LATCHED_LOG if topic == _LOG else qos.LATCHED
    return _OUTPUT


class _Tape:
    """Gives out the messages of a bag in the order of time, from a start on."""

    def __init__(self, bag: BagReader, start_us: int) -> None:
        self.bag, self.start_us = bag, start_us
        self.rewind()

    def rewind(self) -> None:
        """Begin again before the first message."""
        self._messages = self.bag.messages()
        self._next = next(self._messages, None)
        self._latched: dict[str, Message] = {}      # the last ones before the start

    @property
    def is_over(self) -> bool:
        """Whether all was given out."""
        return self._next is None

    def skip(self) -> bool:
        """Read some of the messages before the start; return whether that is reached."""
        for _ in range(_SKIPPED_AT_ONCE):
            if self._next is None or self._next.time_us >= self.start_us:
                return True
            side = schema.SIDE_TOPICS.get(self._next.topic)
            if side is not None and side.latched:
                self._latched[self._next.topic] = self._next
            self._next = next(self._messages, None)
        return False

    def up_to(self, time_us: int) -> typing.Iterator[Message]:
        """Yield the messages up to a time; first what is known at the start."""
        yield from self._latched.values()
        self._latched.clear()
        while self._next is not None and self._next.time_us <= time_us:
            yield self._next
            self._next = next(self._messages, None)


class BagPlayer(Node):
    """Takes the place of the manager: time goes on with what was recorded.

    What the manager has said about itself is not played, since this speaks in its name.
    """

    def __init__(
        self, bag: BagReader, values: FlatParameters, start_us: int, loop: bool, namespace: str,
    ) -> None:
        """Stand still before the start; `go_on` does all else."""
        super().__init__(
            _NAME, namespace=namespace, enable_rosout=False,
            automatically_declare_parameters_from_overrides=True,
            parameter_overrides=[Parameter(key, value=value) for key, value in values.items()])
        parameters.declare(self, _NAME)
        self.add_on_set_parameters_callback(self._on_set_parameters)
        self.finished = False
        self._tape, self._loop = _Tape(bag, start_us), loop
        self._step_us = bag.run.world.step_us
        # Time passes in steps: the first one ends at the start, or just after it.
        self._before_us = max(math.ceil(start_us / self._step_us) - 1, 0) * self._step_us
        self._base_us = self._before_us       # the time of the bag at the stepper's time 0
        self._phase = RunState.STARTING
        self._run, self._resets = 1, 0
        self._is_before_start = True
        self._damage_told = False
        self._is_unpaced = values['speed_factor'] == 0.0
        self._stepper = Stepper(self._step_us, values['speed_factor'], self._publish_step)
        self._outputs = {
            name: self.create_publisher(
                message_class(schema.topic_type(bag.run.graph, name)), name, _profile(name))
            for name in [*bag.run.graph.topics, *schema.SIDE_TOPICS] if name != _STATUS}
        self._counts = dict.fromkeys(self._outputs, 0)
        self._hung: set[str] = set()          # topics with a listener that takes nothing
        self._status_publisher = self.create_publisher(DiagnosticStatus, _STATUS, qos.LATCHED)
        self._diagnostics = diagnostics.Diagnostics(self, self._status)
        self._requests = [
            self.create_service(Trigger, f'sim/{verb}', handler) for verb, handler in (
                ('pause', lambda _, response: self._set_paused(True, response)),
                ('resume', lambda _, response: self._set_paused(False, response)),
                ('step', self._on_step), ('reset', self._on_reset), ('stop', self._on_stop))]
        self._told: tuple[RunState, int] | None = None      # what was announced last
        self._announced_s = 0.0
        self._matched_deadline_s = time.monotonic() + _MATCHED_TIMEOUT_S
        self._over_s = 0.0

    @property
    def time_us(self) -> int:
        """Up to which time all was played."""
        return self._base_us + self._stepper.complete_us

    def go_on(self) -> bool:
        """Do what is next and return True; return False if that is nothing for now.

        :raises ParameterError: the recording ends before the start
        """
        if self._phase is RunState.STOPPING:
            self.finished = time.monotonic() > self._over_s
            return False
        if self._phase is RunState.STARTING and not self._is_matched():
            return False
        if self._is_before_start:
            if self._tape.skip():
                self._begin()
        elif self._stepper.under_way:
            self._stepper.complete(self._stepper.time_us)
        elif self._tape.is_over:
            self._end()
        else:
            return False
        return True

    def _is_matched(self) -> bool:
        """Return whether those who listen already will get the first message."""
        return time.monotonic() > self._matched_deadline_s or all(
            publisher.get_subscription_count() >= self.count_subscribers(name)
            for name, publisher in self._outputs.items())

    # The bag.

    def _begin(self) -> None:
        """Let time go on from the start, unless it is paused."""
        tape = self._tape
        if tape.is_over and tape.start_us:
            raise ParameterError(f'start = {tape.start_us / US_PER_S:g}: bag {tape.bag.folder}'
                                 ' ends before that')
        self._is_before_start = False
        self._publish_up_to(self._base_us)
        if self._phase is RunState.RUNNING:
            self._stepper.limit(None)
        else:
            self._phase = RunState.RUNNING
            if not (tape.is_over or self.get_parameter('paused').value):
                self._stepper.resume()

    def _publish_step(self, stepper_us: int) -> None:
        self._publish_up_to(self._base_us + stepper_us)
        if self._tape.is_over:
            self._stepper.limit(stepper_us)

    def _publish_up_to(self, time_us: int) -> None:
        for message in self._tape.up_to(time_us):
            if message.topic != _STATUS and not self._is_of_manager(message):
                self._outputs[message.topic].publish(message.data)
                self._counts[message.topic] += 1
                if self._is_unpaced:
                    self._spare_listeners(message.topic)

    def _is_of_manager(self, message: Message) -> bool:
        bag = self._tape.bag
        return message.topic == _DIAGNOSTICS and any(
            status.name == bag.run.full_name(_NAME) for status in bag.decode(message).status)

    def _spare_listeners(self, topic: str) -> None:
        """Wait before a listener would lose something; for one that hangs only once."""
        publisher = self._outputs[topic]
        if topic in self._hung or self._counts[topic] % max(publisher.qos_profile.depth // 2, 1):
            return
        if not any(publisher.wait_for_all_acked(_ACKNOWLEDGED_TIMEOUT)
                   for _ in range(_ACKNOWLEDGED_TRIES)):
            self._hung.add(topic)

    def _end(self) -> None:
        """Begin again, or end."""
        damage = self._tape.bag.damage
        if damage and not self._damage_told:
            print(damage, file=sys.stderr, flush=True)
            self._damage_told = True
        if self._loop and self._stepper.steps:
            self._run += 1
            self._base_us = self._before_us - self._stepper.time_us
            self._rewind()
        else:
            self._stop()

    def _rewind(self) -> None:
        self._tape.rewind()
        self._is_before_start = True

    def _stop(self) -> None:
        if self._phase is not RunState.STOPPING:
            self._phase = RunState.STOPPING
            self._stepper.pause()
            self._diagnostics.stop()
            self._over_s = time.monotonic() + _LAST_WORDS_S

    # Requests, as the manager has them.

    def _set_paused(self, paused: bool, response: Trigger.Response) -> Trigger.Response:
        result = self.set_parameters([Parameter('paused', value=paused)])[0]
        verb = 'pauses' if paused else 'goes on'
        response.success = result.successful
        response.message = result.reason or f'time {verb} at t = {seconds_text(self.time_us)}'
        return response

    def _on_step(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success = self._phase is RunState.RUNNING and self._stepper.paused
        if response.success:
            count = self.get_parameter('step_count').value
            self._stepper.go_on(count)
            response.message = f'{count} {"step" if count == 1 else "steps"} more'
        else:
            response.message = 'time is not paused'
        return response

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success = self._phase is RunState.RUNNING
        if response.success:
            response.message = f'resetting from t = {seconds_text(self.time_us)}'
            self._resets += 1
            self._run += 1
            self._phase = RunState.RESETTING
            self._stepper.restart()
            self._base_us = self._before_us
            self._rewind()
        else:
            response.message = f'cannot reset while {self._phase.value}'
        return response

    def _on_stop(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success, response.message = True, 'stopping'
        self._stop()
        return response

    def _on_set_parameters(self, changes: list[Parameter]) -> typing.Any:
        refused = [c.name for c in changes if c.name not in _LIVE_PARAMETERS]
        result = parameters.check_changes(
            self, _NAME, changes, refused, 'while a recording is played')
        for change in changes if result.successful else ():
            if change.name == 'speed_factor':
                self._is_unpaced = change.value == 0.0
                self._stepper.set_speed_factor(float(change.value))
            elif change.name == 'paused' and self._phase is RunState.RUNNING:
                (self._stepper.pause if change.value else self._stepper.resume)()
        return result

    # What is told.

    @property
    def _state(self) -> RunState:
        stands = self._stepper.paused and not self._stepper.under_way
        return RunState.PAUSED if self._phase is RunState.RUNNING and stands else self._phase

    def announce_if_due(self) -> bool:
        """Publish the latched status when it has changed, and now and then; return whether."""
        now_s, state = time.monotonic(), (self._state, self._run)
        if state == self._told and now_s - self._announced_s < _ANNOUNCED_EVERY_S:
            return False
        self._told, self._announced_s = state, now_s
        self._status_publisher.publish(diagnostics.status_message(self, self._status()))
        return True

    def _status(self) -> diagnostics.Status:
        stepper = self._stepper
        return diagnostics.Status(
            self.time_us, diagnostics.OK, f'plays {self._tape.bag.folder}', {
                'state': self._state.value, 'run': self._run, 'resets': self._resets,
                'lifecycle': 'active',
                'steps': self.time_us // self._step_us,
                'sim_time_s': f'{self.time_us / US_PER_S:.6f}',
                'wall_time_s': f'{stepper.wall_s:.6f}',
                'real_time_factor': f'{stepper.real_time_factor():.3f}',
                'speed_factor': f"{self.get_parameter('speed_factor').value:g}",
                'paced_s': f'{stepper.paced_s:.6f}',
                'busy_s': f'{stepper.busy_s:.6f}'})
