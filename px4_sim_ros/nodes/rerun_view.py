"""Shows a running graph in Rerun, live.

It looks on from a process of its own: nobody waits for it, and what it misses is not drawn.
Messages are taken as bytes, some times a second, and go on in portions.
"""
from __future__ import annotations

import threading
import typing

import rclpy.node
from diagnostic_msgs.msg import DiagnosticStatus
from rcl_interfaces.msg import Log
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from std_msgs.msg import String

from px4_sim_ros import graph
from px4_sim_ros.configuration import Configuration
from px4_sim_ros.convert.diagnostics import values_of
from px4_sim_ros.convert.stamps import serialised_stamp_us
from px4_sim_ros.core.timebase import US_PER_S
from px4_sim_ros.nodes import qos
from px4_sim_ros.nodes.message_types import message_class
from px4_sim_ros.nodes.polling import taken
from px4_sim_ros.recording.message_definitions import decode
from px4_sim_ros.recording.series import SeriesCollector
from px4_sim_ros.viewing.rerun_log import RerunLog
from px4_sim_ros.viewing.rerun_target import RerunTarget

POSE = 'ground_truth/pose'
# The topics of a step come one after the other: what is younger waits for the next portion.
_HOLD_US = 200_000
# A message so far beyond the newest pose is of the run before.
_AHEAD_US = US_PER_S
# As much as comes within a portion, many times as fast as real time.
_DEEP = QoSProfile(
    reliability=ReliabilityPolicy.RELIABLE, history=HistoryPolicy.KEEP_LAST, depth=2000)
_WARNING = 30           # of rcl_interfaces/msg/Log
_LEVELS = {10: 'DEBUG', 20: 'INFO', 30: 'WARN', 40: 'ERROR', 50: 'CRITICAL'}
_PILOT = 'pilot'


class RerunView:
    """Takes what the graph publishes and writes a Rerun recording for each run."""

    def __init__(
        self, node: rclpy.node.Node, configuration: Configuration, target: RerunTarget,
    ) -> None:
        """Listen; a recording begins with the first pose.

        :param configuration: of the graph that is looked at
        """
        self._configuration, self._target = configuration, target
        self._log: RerunLog | None = None
        self._stream: typing.Any = None
        self._newest_us = 0
        self._told: dict[str, str] = {}
        collector = self._collector = SeriesCollector(configuration.graph)
        wanted = [topic for topic in configuration.graph.topics.values()
                  if topic.name in collector and topic.name != POSE]
        # The pose comes first: it tells which run the others are of.
        self._series = {name: node.create_subscription(
            message_class(kind), name, lambda message: None, _DEEP, raw=True)
            for name, kind in [(POSE, graph.TOPICS[POSE].type), *(
                (topic.name, topic.type) for topic in wanted)]}
        self._types = {name: configuration.graph.topics[name].type for name in self._series}
        self._beside = {
            self._on_status: node.create_subscription(
                DiagnosticStatus, 'sim/status', lambda message: None, qos.LATCHED, raw=True),
            self._on_link: node.create_subscription(
                String, 'hil/state', lambda message: None, qos.LATCHED, raw=True),
            self._on_log: node.create_subscription(
                Log, '/rosout', lambda message: None, qos.LATCHED_LOG, raw=True)}

    def run(self, stop: threading.Event) -> None:
        """Show until `stop` is set.

        :raises ViewerError: the viewer does not take its data
        """
        try:
            while not stop.wait(self._target.portion_s):
                self._take()
                self._show(self._newest_us - _HOLD_US)
            self._take()
        finally:
            self._end_run()

    def _take(self) -> None:
        """Take all messages that have come."""
        for name, subscription in self._series.items():
            for data in taken(subscription):
                self._add(name, serialised_stamp_us(data), data)
        for heard, subscription in self._beside.items():
            for data in taken(subscription):
                heard(deserialize_message(data, subscription.msg_type))

    def _add(self, name: str, time_us: int, data: bytes) -> None:
        if name == POSE:
            if self._log is None or time_us < self._newest_us:
                self._begin_run()
            self._newest_us = time_us
        if self._log is not None and time_us <= self._newest_us + _AHEAD_US:
            self._collector.add(name, time_us, decode(data, self._types[name]))

    def _begin_run(self) -> None:
        self._end_run()
        self._stream = self._target.open_run(self._configuration.vehicle.name)
        self._log = RerunLog(self._stream, self._configuration)
        self._told = {}

    def _end_run(self) -> None:
        if self._log is not None:
            self._show(self._newest_us + _AHEAD_US)
            self._log = None
            self._target.close_run(self._stream)

    def _show(self, until_us: int) -> None:
        if self._log is not None:
            self._log.add(self._collector.take(until_us))

    # What is said.

    def _on_status(self, status: DiagnosticStatus) -> None:
        self._tell('manager', f"{values_of(status).get('state', '')} {status.message}".strip())

    def _on_link(self, state: String) -> None:
        self._tell('hil_bridge', state.data)

    def _tell(self, who: str, text: str) -> None:
        """Write down what is told again and again, when it has changed."""
        if self._told.get(who) != text and self._log is not None:
            self._told[who] = text
            self._say('INFO', who, text)

    def _on_log(self, message: Log) -> None:
        name = message.name.rpartition('.')[2]
        if message.level >= _WARNING or name == _PILOT:
            self._say(_LEVELS.get(message.level, 'INFO'), name, message.msg)

    def _say(self, level: str, who: str, text: str) -> None:
        if self._log is not None:
            self._log.say(self._newest_us / US_PER_S, level, who, text)
