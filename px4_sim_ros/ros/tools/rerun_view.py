# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Shows a running graph in Rerun, live.

It observes from a process of its own: no step waits for it, and what it misses is not drawn.
Messages are taken as bytes, some times a second, and handed on in portions.
"""
from __future__ import annotations

import collections
import os
import time
import typing

import rclpy.node
from rcl_interfaces.msg import Log
from rclpy.serialization import deserialize_message
from std_msgs.msg import String

from px4_sim_ros.messages.run_status import RunStatus
from px4_sim_ros.messages.stamps import serialised_stamp_us
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.timebase import US_PER_S, untimed
from px4_sim_ros.process.signals import Stop
from px4_sim_ros.recording.analysis.series import Series, SeriesCollector
from px4_sim_ros.recording.bag.schema import decode
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.framework.polling import taken
from px4_sim_ros.ros.framework.session import OBSERVER_NICENESS, message_class, ros_node
from px4_sim_ros.ros.framework.status_client import StatusClient
from px4_sim_ros.spec.configuration import Configuration
from px4_sim_ros.step import graph, side_topics
from px4_sim_ros.viewing.markers import PoseMotion
from px4_sim_ros.viewing.rerun_log import RerunLog
from px4_sim_ros.viewing.rerun_target import NODE as VIEWER_NODE
from px4_sim_ros.viewing.rerun_target import RerunTarget

POSE = 'ground_truth/pose'
# Which is made of poses here.
_TRUTH = 'ground_truth/odom'
# Of wall time. What is said has no simulated time of its own: it gets that of the last pose.
_TAKE_S = 0.05
_MOST_LINES = 100
_WARNING = 30           # of rcl_interfaces/msg/Log
_LEVELS = {10: 'DEBUG', 20: 'INFO', 30: 'WARN', 40: 'ERROR', 50: 'CRITICAL'}
_PILOT = 'pilot'
_AUTOPILOT = 'autopilot'


_AllSeries = dict[str, dict[str, Series]]


class Stamped(typing.NamedTuple):
    """A serialised message of a topic."""

    topic: str
    time_us: int
    data: bytes


class RunSorter:
    """Tells the messages of a run from those of the next.

    After a reset time begins again, and topics come one after the other: some are in the next
    run when others are still in this one. So each tells by its own time that goes back. The
    pose decides when the next run begins.
    """

    # So often others are waited for after the pose has gone back.
    _PATIENCE = 4
    # What a topic says first is no further ahead of the pose, unless it is of the run before.
    _AHEAD_US = US_PER_S

    def __init__(self) -> None:
        self._begun = False
        self._waited = 0
        self._last_us: dict[str, int] = {}          # of the run, by topic
        self._next_us: dict[str, int] = {}
        self._next: list[Stamped] = []

    def add(self, message: Stamped) -> bool:
        """Return whether a message is of the present run; keep it if it is of the next."""
        topic, time_us = message.topic, message.time_us
        last_us = self._last_us.get(topic)
        if topic in self._next_us and POSE not in self._next_us and (
                last_us is not None and time_us > last_us):
            # It has been one that came late: the run has not begun again.
            del self._next_us[topic]
            self._next = [m for m in self._next if m.topic != topic]
        if topic in self._next_us or self._goes_back(topic, last_us, time_us):
            self._keep(message)
            return False
        if last_us is None:
            if time_us > self._last_us.get(POSE, 0) + self._AHEAD_US:
                return False
        elif time_us == last_us:      # published again after a loss
            return False
        self._last_us[topic] = time_us
        return True

    def _goes_back(self, topic: str, last_us: int | None, time_us: int) -> bool:
        if not self._begun:
            return True
        return POSE in self._next_us if last_us is None else time_us < last_us

    def _keep(self, message: Stamped) -> None:
        topic, time_us = message.topic, message.time_us
        if time_us < self._next_us.get(topic, time_us):      # begun again once more
            self._next = [m for m in self._next if m.topic != topic]
        self._next_us[topic] = time_us
        self._next.append(message)

    def next_run(self) -> list[Stamped] | None:
        """Return the messages of the next run if it begins now; to be asked after each look."""
        if POSE not in self._next_us:
            return None
        self._waited += 1
        if self._begun and self._waited < self._PATIENCE and (
                self._last_us.keys() - self._next_us.keys()):
            return None
        begun, self._next = self._next, []
        self._last_us, self._next_us = self._next_us, {}
        self._begun, self._waited = True, 0
        return begun


class RerunView:
    """Takes what the graph publishes and writes a Rerun recording for each run."""

    def __init__(
        self, node: rclpy.node.Node, configuration: Configuration, target: RerunTarget,
    ) -> None:
        self._configuration, self._target = configuration, target
        self._log: RerunLog | None = None
        self._stream: typing.Any = None
        self._motion = PoseMotion()
        self._sorter = RunSorter()
        self._pose_us = 0
        self._newest_us = self._ripe_us = self._known_us = 0
        self._held: dict[str, str] = {}
        # Before the first run.
        self._lines: typing.Any = collections.deque(maxlen=_MOST_LINES)
        self._status_client = StatusClient(node, self._on_status)
        self._beside = {
            self._on_link: node.create_subscription(
                String, side_topics.LINK_STATE.name, lambda message: None, qos.LATCHED, raw=True),
            self._on_log: node.create_subscription(
                Log, side_topics.LOG.name, lambda message: None, qos.LATCHED_LOG, raw=True)}
        collector = self._collector = SeriesCollector(configuration.graph)
        world = configuration.world
        # What comes in each step would slow the steps down by a quarter.
        wanted = [topic for topic in configuration.graph.topics.values()
                  if topic.name in collector and topic.name != POSE
                  and topic.period_us(world.step_us, world.periods_us) > world.step_us]
        # Made last, so who sees it knows that the others are there; read first, since it tells
        # when a run begins.
        made = {topic.name: node.create_subscription(
            message_class(topic.type), topic.name, lambda message: None, qos.DEEP, raw=True)
            for topic in [*wanted, graph.TOPICS[POSE]]}
        self._types = {name: configuration.graph.topics[name].type for name in made}
        for topic in (side_topics.ESTIMATE, side_topics.SET_POINT):
            if topic.name in collector:
                self._types[topic.name] = topic.type
                made[topic.name] = node.create_subscription(
                    message_class(topic.type), topic.name, lambda message: None,
                    qos.LATCHED_LOG if topic.latched else qos.DEEP, raw=True)
        self._series = {POSE: made.pop(POSE), **made}

    def run(self, stop: Stop) -> None:
        """Show until a signal comes.

        :raises ViewerError: the viewer does not take its data
        """
        shown_s = time.monotonic()
        try:
            while not stop.asked:
                time.sleep(_TAKE_S)
                self._take()
                if time.monotonic() - shown_s >= self._target.portion_s:
                    shown_s = time.monotonic()
                    self._show(self._ripe_us)
                    # What is younger may lack topics that are on their way.
                    self._ripe_us = self._newest_us
            self._take()
        finally:
            self._end_run()

    def _take(self) -> None:
        """Take all messages that have come."""
        for name, subscription in self._series.items():
            for data in taken(subscription):
                message = Stamped(name, serialised_stamp_us(data), data)
                if self._sorter.add(message):
                    self._add(message)
        begun = self._sorter.next_run()
        if begun is not None:
            self._begin_run(begun)
        self._status_client.poll()
        for heard, subscription in self._beside.items():
            for data in taken(subscription):
                heard(deserialize_message(data, subscription.msg_type))

    def _add(self, message: Stamped) -> None:
        name, time_us, data = message
        self._newest_us = max(self._newest_us, time_us)
        if name == POSE:
            self._pose_us = time_us
        self._collector.add(name, time_us, decode(data, self._types[name]))

    def _begin_run(self, messages: list[Stamped]) -> None:
        self._end_run()
        self._newest_us = self._ripe_us = self._known_us = 0
        self._stream = self._target.open_run(self._configuration.vehicle.name)
        self._log, self._motion = RerunLog(self._stream, self._configuration), PoseMotion()
        for message in messages:
            self._add(message)
        # What was reported last still holds.
        self._lines.extend(('INFO', who, text) for who, text in self._held.items())
        for line in self._lines:
            self._say(*line)
        self._lines.clear()

    def _end_run(self) -> None:
        if self._log is not None:
            log, self._log = self._log, None
            try:
                log.add(self._with_motion(self._collector.take()))
            finally:
                self._target.close_run(self._stream)

    def _show(self, until_us: int) -> None:
        if self._log is not None:
            shown = self._with_motion(self._collector.take(until_us, [POSE]))
            if _TRUTH in shown:
                self._known_us = round(shown[_TRUTH]['position_m'].time_s[-1] * US_PER_S)
            # All else waits for the truth beside which it is shown: it is known two poses late.
            self._log.add(shown | self._collector.take(self._known_us))
            self._target.check(self._stream)

    def _with_motion(self, series: _AllSeries) -> _AllSeries:
        """Return a portion with the motion between its poses."""
        return series | self._motion.of(series[POSE]) if POSE in series else series

    # What is said.

    def _on_status(self, status: RunStatus) -> None:
        self._tell('manager', f'{status.state} {status.sentence}'.strip())

    def _on_link(self, state: String) -> None:
        self._tell('hil_bridge', state.data)

    def _tell(self, who: str, text: str) -> None:
        """Write down what is reported periodically, when it has changed."""
        if self._held.get(who) != text:
            self._held[who] = text
            if self._log is not None:
                self._say('INFO', who, text)

    def _on_log(self, message: Log) -> None:
        name = message.name.rpartition('.')[2]
        if message.level >= _WARNING or name in (_PILOT, _AUTOPILOT):
            self._say(_LEVELS.get(message.level, 'INFO'), name, untimed(message.msg))

    def _say(self, level: str, who: str, text: str) -> None:
        if self._log is None:
            self._lines.append((level, who, text))
        else:
            self._log.log_text(self._pose_us / US_PER_S, level, who, text)


def show_graph(configuration: Configuration, namespace: str, target: RerunTarget) -> None:
    """Show a graph in a node of its own until SIGINT or SIGTERM comes."""
    stop = Stop()
    with ros_node(VIEWER_NODE, namespace=namespace) as node:
        os.nice(OBSERVER_NICENESS)
        try:
            RerunView(node, configuration, target).run(stop)
        except ParameterError:
            target.discard_run()
            raise
