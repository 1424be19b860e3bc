# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Snapshots of a running graph, from what its nodes report about themselves."""
from __future__ import annotations

import dataclasses
import math
import typing

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

from px4_sim_ros.link.hil.link_state import TROUBLES
from px4_sim_ros.messages.diagnostics import node_name, values_of
from px4_sim_ros.messages.run_status import RunStatus
from px4_sim_ros.messages.stamps import stamp_us
from px4_sim_ros.model.timebase import US_PER_S, kind_and_index
from px4_sim_ros.recording.analysis import lockstep_terms as terms
from px4_sim_ros.recording.analysis.lockstep_terms import figure
from px4_sim_ros.ros.framework import diagnostics
from px4_sim_ros.spec.resources import PACKAGE
from px4_sim_ros.step import graph, side_topics

# A running graph at a time: its nodes, its link, its clock.


@dataclasses.dataclass(frozen=True)
class NodeSnapshot:
    """A node; None is what is not known."""

    lifecycle: str | None = None
    silent: bool = False
    heard_ago_s: float | None = None
    steps: int | None = None
    sim_rate_hz: float | None = None        # own steps per simulated second
    wall_rate_hz: float | None = None       # own steps per wall second
    busy_us_per_step: float | None = None   # of its own; without the wait for the autopilot
    busy_percent: float | None = None       # of wall time
    waits_for: tuple[str, ...] = ()

    @property
    def state(self) -> str | None:
        """What is shown as its state."""
        return terms.SILENT if self.silent else self.lifecycle


# The columns of the table of nodes, after name and state.
NODE_FIGURES: dict[str, typing.Callable[[NodeSnapshot], str]] = {
    terms.SIM_RATE: lambda node: figure(node.sim_rate_hz, '.1f'),
    terms.WALL_RATE: lambda node: figure(node.wall_rate_hz, '.1f'),
    terms.US_PER_OWN_STEP: lambda node: figure(node.busy_us_per_step, '.0f'),
    terms.BUSY_SHARE: lambda node: figure(node.busy_percent, '.1f')}


@dataclasses.dataclass(frozen=True)
class LinkSnapshot:
    """The link to the autopilot; None is what is not known."""

    state: str | None = None
    replies: int | None = None
    misses: int | None = None
    other_counters: dict[str, int] = dataclasses.field(default_factory=dict)   # that are not 0
    wait_us_per_step: float | None = None   # sending, and waiting for the autopilot
    wait_percent: float | None = None       # of wall time


@dataclasses.dataclass(frozen=True)
class AutopilotSnapshot:
    """What the autopilot says of itself; None is what is not known."""

    status: str | None = None               # mode and flags
    sim_rates_hz: dict[str, float | None] = dataclasses.field(default_factory=dict)
    """How often it says something else, per simulated second, by topic."""


@dataclasses.dataclass(frozen=True)
class VehicleSnapshot:
    """A vehicle of a fleet; None is what is not known."""

    link: LinkSnapshot
    busy_us_per_step: float | None          # of all its nodes; without the wait for the autopilot
    troubled: tuple[str, ...] = ()          # its nodes that are silent or not active
    is_there: bool = True                   # in the world, as far as is known


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """A graph at a time; None is what is not known."""

    state: str | None
    sentence: str | None
    run: int | None
    sim_time_s: float | None
    speed_factor: float | None              # that was asked for; 0 is as fast as possible
    real_time_factor: float | None          # over the last interval
    real_time_factor_since_start: float | None
    link: LinkSnapshot                      # of a vehicle alone
    nodes: dict[str, NodeSnapshot]
    autopilot: AutopilotSnapshot = AutopilotSnapshot()     # of a vehicle alone
    vehicles: dict[str, VehicleSnapshot] = dataclasses.field(default_factory=dict)
    """Those of a fleet, by namespace; their nodes have it before their names."""


SILENT_AFTER_S = 2.5
# For a node that has not reported at all: discovery takes a while.
FOUND_AFTER_S = 5.0
# Reports that come closer together than this count as one: a node also reports when it stops.
_SHORTEST_INTERVAL_S = diagnostics.PERIOD_S / 2
_KINDS = list(graph.NODES)
# What the pilot counts, by topic.
_SAID = side_topics.ESTIMATE.name, side_topics.SET_POINT.name


@dataclasses.dataclass(frozen=True)
class _Sample:
    """The counters of a node at a wall time."""

    sent_s: float
    run_wall_s: float     # that of the run as the manager counts it; of others sent_s
    begin: int            # which begin of the run at time 0 they count from
    time_us: int
    steps: int
    busy_s: float
    waited_s: float       # for the autopilot, within busy_s
    heard: typing.Mapping[str, int]       # from the autopilot, by topic


class _Interval:
    """What a node did between two samples; None is what is not known."""

    def __init__(self, earlier: _Sample, later: _Sample) -> None:
        self._earlier, self._later = earlier, later
        self.wall_s = later.sent_s - earlier.sent_s
        self._run_wall_s = later.run_wall_s - earlier.run_wall_s
        self._sim_s = (later.time_us - earlier.time_us) / US_PER_S
        self._steps = later.steps - earlier.steps
        self.waited_s = later.waited_s - earlier.waited_s
        self.busy_s = max(
            0.0, float(terms.own_busy_s(later.busy_s - earlier.busy_s, self.waited_s)))
        self.known = (
            later.begin == earlier.begin and self.wall_s > 0.0
            and min(self._sim_s, self._steps, self.waited_s, later.busy_s - earlier.busy_s) >= 0)

    @property
    def sim_rate_hz(self) -> float | None:
        """Own steps per simulated second."""
        return _known(terms.ratio(self._steps, self._sim_s)) if self._steps else 0.0

    @property
    def wall_rate_hz(self) -> float:
        """Own steps per wall second."""
        return self._steps / self.wall_s

    @property
    def real_time_factor(self) -> float | None:
        """Simulated over wall time; 0 while time stands still."""
        return _known(terms.ratio(self._sim_s, self._run_wall_s)) if self._sim_s else 0.0

    def heard_rate_hz(self, topic: str) -> float | None:
        """Return how often the autopilot has said something, per simulated second."""
        came = self._later.heard.get(topic, 0) - self._earlier.heard.get(topic, 0)
        return _known(terms.ratio(came, self._sim_s)) if came else 0.0

    def us_per_step(self, spent_s: float) -> float | None:
        """Return a part of the interval as microseconds per own step."""
        return _known(terms.us_per_step(spent_s, self._steps))

    def percent(self, spent_s: float) -> float:
        """Return a part of the interval as a share of it."""
        return 100.0 * spent_s / self.wall_s


class _Node:
    """The last two samples of a node, and its last values."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.heard_s: float | None = None
        self.later: _Sample | None = None
        self.earlier: _Sample | None = None

    def take(self, sample: _Sample, values: dict[str, str], now_s: float) -> None:
        """Record a message."""
        if self.later and sample.sent_s - self.later.sent_s >= _SHORTEST_INTERVAL_S:
            self.earlier = self.later
        self.later, self.values, self.heard_s = sample, values, now_s

    def interval(self) -> _Interval | None:
        """Return its activity between the last two messages; None when that is not known."""
        if self.earlier is None or self.later is None:
            return None
        interval = _Interval(self.earlier, self.later)
        return interval if interval.known else None


class SnapshotCollector:
    """Takes in the messages of a graph and sums them up."""

    def __init__(self, namespace: str, now_s: float) -> None:
        self._namespace = namespace
        self._since_s = now_s
        self._status: RunStatus | None = None
        self._begins = 0
        # What is optional is shown once it has reported.
        self._nodes = {kind: _Node() for kind in graph.of_instances({}).nodes}
        self.link_state: str | None = None

    # Messages.

    def on_status(self, status: RunStatus) -> None:
        """Take in the manager's run status."""
        before = self._status or status
        if status.run != before.run or status.steps < before.steps:
            self._begins += 1      # counters began at 0, even if they are past the old ones
        self._status = status

    def on_diagnostics(self, message: DiagnosticArray, sent_s: float, now_s: float) -> None:
        """Take in a report on `/diagnostics`, where nodes of others report as well.

        :param sent_s: wall time by the sender's clock, which no delay on the way falsifies
        :param now_s: wall time by the clock that `snapshot` is asked by
        """
        for status in message.status:
            name = node_name(self._namespace, status.name)
            vehicle, _, own_name = name.rpartition('/')
            if status.hardware_id != PACKAGE or name == status.name or (
                    kind_and_index(own_name)[0] not in graph.NODES):
                continue
            if vehicle and name not in self._nodes:
                continue       # of a graph of that namespace, as far as is known
            time_us = stamp_us(message.header.stamp)
            self.expect(name)
            node = self._nodes[name]
            node.take(_sample(status, time_us, self._begins, sent_s), values_of(status), now_s)

    def expect(self, name: str) -> None:
        """Give a node a row, even if it has not reported; the first of each kind have theirs."""
        if '/' in name:        # there are vehicles: each has nodes of its own
            for kind in [kind for kind, node in self._nodes.items()
                         if '/' not in kind and kind != 'manager' and node.heard_s is None]:
                del self._nodes[kind]
        self._nodes.setdefault(name, _Node())

    def has_two_rounds(self) -> bool:
        """Return whether there are differences of all nodes."""
        return self._status is not None and all(
            node.earlier is not None for node in self._nodes.values())

    # What follows from it.

    def snapshot(self, now_s: float) -> Snapshot:
        """Sum up."""
        status = self._status
        interval = self._nodes['manager'].interval()
        silent = self._is_silent(self._nodes['manager'], now_s)
        return Snapshot(
            state=status.state if status else None,
            sentence=status.sentence if status and status.sentence != status.state else None,
            run=status.run if status else None,
            sim_time_s=status.sim_time_s if status else None,
            speed_factor=status.speed_factor if status else None,
            real_time_factor=interval.real_time_factor if interval and not silent else None,
            real_time_factor_since_start=status.real_time_factor if status else None,
            link=LinkSnapshot() if self._vehicles() else self._link('', now_s),
            nodes={name: self._node(self._nodes[name], now_s) for name in self._names()},
            autopilot=self._autopilot(now_s),
            vehicles={vehicle: self._vehicle(vehicle, now_s) for vehicle in self._vehicles()})

    def _names(self) -> list[str]:
        """Return all nodes in the order of the graph."""
        return sorted(self._nodes, key=_place)

    def _vehicles(self) -> list[str]:
        return list(dict.fromkeys(
            name.rpartition('/')[0] for name in self._names() if '/' in name))

    def _vehicle(self, vehicle: str, now_s: float) -> VehicleSnapshot:
        its = {name: self._node(self._nodes[name], now_s)
               for name in self._names() if name.startswith(f'{vehicle}/')}
        manager = self._nodes['manager'].interval()
        busy = [node.busy_percent for node in its.values() if node.busy_percent is not None]
        return VehicleSnapshot(
            self._link(vehicle, now_s),
            manager.us_per_step(manager.wall_s * sum(busy) / 100.0) if manager and busy else None,
            tuple(name for name, node in its.items() if node.state not in (None, 'active')),
            self._status is None or vehicle not in self._status.away)

    def _is_silent(self, node: _Node, now_s: float) -> bool:
        if node.heard_s is None:
            return now_s - self._since_s > FOUND_AFTER_S
        return now_s - node.heard_s > SILENT_AFTER_S

    def _node(self, node: _Node, now_s: float) -> NodeSnapshot:
        if node.later is None or node.heard_s is None:
            return NodeSnapshot(silent=self._is_silent(node, now_s))
        last = NodeSnapshot(
            lifecycle=node.values.get('lifecycle'),
            silent=self._is_silent(node, now_s),
            heard_ago_s=now_s - node.heard_s,
            steps=node.later.steps,
            waits_for=tuple(filter(None, node.values.get('waits_for', '').split(', '))))
        interval = node.interval()
        if last.silent or interval is None:
            return last
        return dataclasses.replace(
            last,
            sim_rate_hz=interval.sim_rate_hz,
            wall_rate_hz=interval.wall_rate_hz,
            busy_us_per_step=interval.us_per_step(interval.busy_s),
            busy_percent=interval.percent(interval.busy_s))

    def _link(self, vehicle: str, now_s: float) -> LinkSnapshot:
        bridge = self._nodes.get(graph.qualified(vehicle, 'hil_bridge'), _Node())
        state = bridge.values.get('state') if vehicle else self.link_state
        counters = {key: int(text) for key, text in bridge.values.items()
                    if key == 'replies' or key in TROUBLES}
        interval = None if self._is_silent(bridge, now_s) else bridge.interval()
        return LinkSnapshot(
            state=None if self._is_silent(bridge, now_s) else state,
            replies=counters.pop('replies', None),
            misses=counters.pop(terms.MISSES, None),
            other_counters={key: count for key, count in counters.items() if count},
            wait_us_per_step=interval.us_per_step(interval.waited_s) if interval else None,
            wait_percent=interval.percent(interval.waited_s) if interval else None)

    def _autopilot(self, now_s: float) -> AutopilotSnapshot:
        pilot = self._nodes.get('pilot')
        if pilot is None or self._is_silent(pilot, now_s):
            return AutopilotSnapshot()
        interval = pilot.interval()
        return AutopilotSnapshot(
            pilot.values.get(side_topics.AUTOPILOT_STATUS.name),
            {topic: interval.heard_rate_hz(topic) if interval else None for topic in _SAID
             if topic in pilot.values})


def _sample(status: DiagnosticStatus, time_us: int, begin: int, sent_s: float) -> _Sample:
    values = values_of(status)
    steps = _steps(values)
    return _Sample(
        sent_s, float(values.get('wall_time_s', sent_s)),
        begin, time_us if steps else 0,      # before its first step it reports an old time
        steps, float(values.get('busy_s', 0.0)), float(values.get('waited_s', 0.0)),
        {topic: int(values[topic]) for topic in _SAID if topic in values})


def _steps(values: typing.Mapping[str, str]) -> int:
    return int(values.get('steps', 0))


def _known(value: typing.SupportsFloat) -> float | None:
    """Return a number, None for NaN."""
    return None if math.isnan(value) else float(value)


def _place(name: str) -> tuple[str, int, int]:
    """Return where a node stands in the order of the graph, vehicle by vehicle."""
    vehicle, _, own_name = name.rpartition('/')
    kind, index = kind_and_index(own_name)
    return vehicle, _KINDS.index(kind), index
