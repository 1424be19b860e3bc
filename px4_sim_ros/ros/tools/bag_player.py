# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plays a bag: publishes for viewers what was recorded, under run control."""
from __future__ import annotations

import math
import os
import sys
import time
import typing

import rclpy
import tqdm
from rcl_interfaces.msg import SetParametersResult
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile

from px4_sim_ros.messages.run_status import RunState, RunStatus
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.timebase import US_PER_S, seconds_text
from px4_sim_ros.process import domain_claim
from px4_sim_ros.recording.bag import schema
from px4_sim_ros.recording.bag.reader import BagReader, Message, SequentialReader
from px4_sim_ros.ros.framework import parameters, qos
from px4_sim_ros.ros.framework.endpoints import other_publishers
from px4_sim_ros.ros.framework.session import make_executor, message_class, ros_session
from px4_sim_ros.ros.manager.run_control import RunControl, StatusPublisher
from px4_sim_ros.spec.configuration import node_configuration
from px4_sim_ros.spec.parameter_files import FlatParameters
from px4_sim_ros.step import side_topics
from px4_sim_ros.step.clock import LockstepClock

_NAME = 'manager'
_DIAGNOSTICS, _LOG = side_topics.DIAGNOSTICS.name, side_topics.LOG.name
# Who is there makes itself known to a new process once a second (config/fastdds.xml).
_LOOK_AROUND_S = 1.5
_MATCHED_TIMEOUT_S = 2.0
_SPIN_S = 0.05
_SERVED_EVERY_S = 0.01
# As fast as possible is as fast as the listeners get it, unless one hangs.
_ACKNOWLEDGED_TIMEOUT, _ACKNOWLEDGED_TRIES = Duration(seconds=0.1), 10
# A listener forgets what it has not read yet when the publisher goes away.
_LAST_WORDS_S = 0.5


def play(
    bag: BagReader, *, rate: float, start_s: float, paused: bool, loop: bool,
    namespace: str | None,
) -> int:
    """Publish the messages of a bag until its end, or until asked to stop; return 0.

    :param rate: simulated over wall time; 0 is as fast as possible
    :param start_s: simulated time at which it begins, also when it begins again
    :param namespace: of what is published; that of the run when None
    :raises BagError: a file of the bag cannot be read
    """
    if not 0.0 <= start_s < math.inf:
        raise ParameterError(f'start = {start_s:g}: must be a number, at least 0 s')
    values = bag.run.parameters[_NAME] | {'speed_factor': float(rate), 'paused': paused}
    node_configuration(_NAME, values)
    with domain_claim.claim(domain_claim.STARTER, domain_claim.CLOCK) as stack:
        stack.enter_context(ros_session())
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
        _run(player, executor, lambda: player.has_begun)
        print(f'playing {bag.folder} from t = {seconds_text(round(start_s * US_PER_S))}',
              flush=True)
        with tqdm.tqdm(bar_format='t = {n:.1f} s [{elapsed}]', file=sys.stdout,
                       disable=not sys.stdout.isatty()) as progress:
            _run(player, executor, lambda: False,
                 lambda: progress.update(player.time_us / US_PER_S - progress.n))
        print(f'played up to t = {seconds_text(player.time_us)}', flush=True)
    return 0


def _be_alone(node: Node) -> None:
    """Look around for a while."""
    deadline_s = time.monotonic() + _LOOK_AROUND_S
    while time.monotonic() < deadline_s:
        rclpy.spin_once(node, timeout_sec=_SPIN_S)
    others = other_publishers(node, '/clock', '')
    if others:
        raise ParameterError(
            f'/clock is published by {others[0]} already; play with a ROS_DOMAIN_ID of its own')


def _run(
    player: BagPlayer, executor: typing.Any, is_over: typing.Callable[[], bool],
    on_status: typing.Callable[[], object] = lambda: None,
) -> None:
    """Let a player run, and requests be served, until it has ended or something is over."""
    served_s = 0.0
    while not (player.finished or is_over()):
        is_busy = player.go_on()
        if player.status.publish_if_due():
            on_status()
        if not is_busy:
            executor.spin_once(timeout_sec=_SPIN_S)
        elif time.monotonic() - served_s > _SERVED_EVERY_S:
            executor.spin_once(timeout_sec=0.0)
            served_s = time.monotonic()


def _profile(topic: str) -> QoSProfile:
    if topic in side_topics.RECORDED and side_topics.RECORDED[topic].latched:
        return qos.LATCHED_LOG if topic == _LOG else qos.LATCHED
    # Listeners acknowledge within some 50 ms: the more may be under way, the faster.
    return qos.DEEP


class BagPlayer(parameters.ParameterValidation, Node):
    """Takes the place of the manager: time runs with what was recorded."""

    def __init__(
        self, bag: BagReader, values: FlatParameters, start_us: int, loop: bool, namespace: str,
    ) -> None:
        super().__init__(
            _NAME, namespace=namespace, enable_rosout=False,
            automatically_declare_parameters_from_overrides=True,
            parameter_overrides=[Parameter(key, value=value) for key, value in values.items()])
        parameters.declare(self, _NAME)
        self.finished = False
        self._tape, self._loop = SequentialReader(bag, start_us), loop
        step_us = bag.run.world.step_us
        # Time passes in steps: the first one ends at the start, or just after it.
        self._before_us = max(math.ceil(start_us / step_us) - 1, 0) * step_us
        self._base_us = self._before_us       # the time of the bag at the clock's time 0
        self._is_before_start = True
        self._sim_clock = LockstepClock(step_us, float(values['speed_factor']))
        self._outputs = {
            name: self.create_publisher(
                message_class(schema.topic_type(bag.run.graph, name)), name, _profile(name))
            for name in [*bag.run.graph.topics, *side_topics.RECORDED]
            if name != side_topics.RUN_STATUS.name}
        self._counts = dict.fromkeys(self._outputs, 0)
        self._hung: set[str] = set()          # topics with a listener that takes nothing
        self._control = RunControl(
            self, self, self._sim_clock, why='while a recording is played')
        self.status = StatusPublisher(self, self._status)
        self._matched_deadline_s = time.monotonic() + _MATCHED_TIMEOUT_S
        self._over_s = 0.0

    @property
    def has_begun(self) -> bool:
        """Whether the start is reached."""
        return not self._is_before_start

    @property
    def time_us(self) -> int:
        """Up to which time all was played."""
        return self._base_us + self._sim_clock.complete_us

    def check_changes(self, changes: list[Parameter]) -> SetParametersResult:
        """Return whether parameters can be set: only those that are live."""
        return self._control.check_changes(changes)

    def _status(self) -> RunStatus:
        return self._control.status(
            self._control.state, 0, f'plays {self._tape.bag.folder}', 'active', self.time_us)

    def go_on(self) -> bool:
        """Do what is next and return True; return False if that is nothing for now."""
        if self._control.phase is RunState.STOPPING:
            self.finished = time.monotonic() > self._over_s
            return False
        if self._control.phase is RunState.STARTING and not self._is_matched():
            return False
        if self._is_before_start:
            if self._tape.skip():
                self._begin()
        elif self._tape.is_over:
            self._end()
        else:
            return self._take_step()
        return True

    def _is_matched(self) -> bool:
        """Return whether those who listen already will get the first message."""
        return time.monotonic() > self._matched_deadline_s or all(
            publisher.get_subscription_count() >= self.count_subscribers(name)
            for name, publisher in self._outputs.items())

    # The bag.

    def _begin(self) -> None:
        """Let time run from the start, unless it is paused."""
        tape = self._tape
        if tape.is_over and tape.start_us:
            raise ParameterError(f'start = {tape.start_us / US_PER_S:g}: bag {tape.bag.folder}'
                                 ' ends before that')
        self._is_before_start = False
        self._publish_up_to(self._base_us)
        if self._control.phase is not RunState.RUNNING:
            self._control.enter(RunState.RUNNING)
            if not self.get_parameter('paused').value:
                self._sim_clock.resume()

    def _take_step(self) -> bool:
        """Publish the messages of the next step; return whether the clock has allowed one."""
        clock_us = self._sim_clock.begin()
        if clock_us is None:
            return False
        self._publish_up_to(self._base_us + clock_us)
        self._sim_clock.published()
        self._sim_clock.complete(clock_us)
        return True

    def _publish_up_to(self, time_us: int) -> None:
        for message in self._tape.up_to(time_us):
            if message.topic != side_topics.RUN_STATUS.name and not self._is_of_manager(message):
                self._outputs[message.topic].publish(message.data)
                self._counts[message.topic] += 1
                if not self._sim_clock.speed_factor:
                    self._wait_for_listeners(message.topic)

    def _is_of_manager(self, message: Message) -> bool:
        bag = self._tape.bag
        return message.topic == _DIAGNOSTICS and any(
            status.name == bag.run.full_name(_NAME) for status in bag.decode(message).status)

    def _wait_for_listeners(self, topic: str) -> None:
        """Wait before a listener would lose something; for one that hangs only once."""
        publisher = self._outputs[topic]
        if topic in self._hung or self._counts[topic] % max(publisher.qos_profile.depth // 2, 1):
            return
        if not any(publisher.wait_for_all_acked(_ACKNOWLEDGED_TIMEOUT)
                   for _ in range(_ACKNOWLEDGED_TRIES)):
            self._hung.add(topic)

    def _end(self) -> None:
        """Begin again, or end."""
        if self._loop and self._sim_clock.steps:
            self._control.run += 1
            self._base_us = self._before_us - self._sim_clock.time_us
            self._rewind()
        else:
            self.stop()

    def _rewind(self) -> None:
        self._tape.rewind()
        self._is_before_start = True

    # Requests.

    def reset(self) -> None:
        """Begin again at the start, unless it is paused."""
        self._control.run += 1
        self._control.enter(RunState.RESETTING)
        self._sim_clock.reset()
        self._base_us = self._before_us
        self._rewind()

    def stop(self, reason: str = '') -> None:
        """End after this step."""
        if self._control.phase is not RunState.STOPPING:
            self._control.enter(RunState.STOPPING, reason)
            self._sim_clock.pause()
            self.status.stop()
            self._over_s = time.monotonic() + _LAST_WORDS_S
