# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The blocks of a process: one runner, behind whose port are the nodes that are their faces."""
from __future__ import annotations

import collections
import contextlib
import signal
import sys
import threading
import time
import typing

from px4_sim_ros.messages.publications import Publications
from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.process.signals import Stop
from px4_sim_ros.px4.shared_core import SharedCore
from px4_sim_ros.recording.bag.mcap_file import BEFORE_MESSAGE
from px4_sim_ros.recording.bag.step_rows import Members, StepRows
from px4_sim_ros.recording.bag.writer import Channel
from px4_sim_ros.spec.files import Files
from px4_sim_ros.step.graph import ABSENCE, Graph, Topic, order_of, qualified, spec_of
from px4_sim_ros.step.lane import NO_NODES, Lane, Output
from px4_sim_ros.step.presence import PresenceSchedule
from px4_sim_ros.step.runner import ALL_NODES, Runner
from px4_sim_ros.step.slot import BlockSlot

if typing.TYPE_CHECKING:
    from px4_sim_ros.recording.bag.step_bag import StepBag
    from px4_sim_ros.ros.framework.block_node import BlockNode
    from px4_sim_ros.ros.manager.clock_driver import ClockDriver
    from px4_sim_ros.ros.manager.manager import ManagerNode

_Publish = typing.Callable[[bytes], None]

# Of wall time. Services, timers and parameters wait so long at most while steps run.
_ELSE_EVERY_S = 0.01


class BlockHost:
    """Hands values over within the process, and publishes what others subscribe to.

    A message is made only for a topic with a subscriber. Nodes and topics of several
    vehicles are known by their names with the namespace before them.
    """

    def __init__(
        self, shared_core: SharedCore | None = None, presences: PresenceSchedule | None = None,
        files: typing.Mapping[str, Files] | None = None,
    ) -> None:
        self.files = collections.defaultdict(Files, files or {})
        self.runner = Runner(port=self, presences=presences)
        self.shared_core = shared_core
        self.nodes: dict[str, BlockNode] = {}      # by vehicle, in the order of the graph table
        self._driver: ClockDriver | None = None
        self._placed: dict[str, BlockSlot] = {}         # that take part in the steps
        # By vehicle; none: no node of its was configured. Those of '' have the clock.
        self._publications: dict[str, Publications] = {}
        self._wanted: dict[str, _Publish] = {}     # topics with a subscriber
        self._heard: typing.Container[str] = NO_NODES   # nodes that have one, by full names
        # The periods of these topics, by the same names.
        self._periods_us: dict[str, list[int]] = {}
        self._distinct_us: set[int] = set()
        self.runner.wants, self.runner.wants_any, self.runner.rows = (
            self._wants, self._wants_any, self)
        self._rows: StepRows | None = None         # of the topics that are wanted
        self._last: dict[str, Output] = {}         # of each block
        self._recording: StepBag | None = None

    def add(self, nodes: typing.Iterable[BlockNode], driver: ClockDriver | None = None) -> None:
        """Take the nodes of the process.

        :param driver: of the clock, if the manager is in this process
        """
        nodes = sorted(nodes, key=lambda node: order_of(node.get_name()))
        vehicles = dict.fromkeys(node.vehicle for node in nodes)
        self.nodes = {
            qualified(vehicle, node.get_name()): node
            for vehicle in vehicles for node in nodes if node.vehicle == vehicle}
        self._driver = driver
        self.runner.clock = driver

    @property
    def vehicles(self) -> list[str]:
        """The namespaces of the vehicles that have nodes here; that of one alone is ''."""
        return list(dict.fromkeys(node.vehicle for node in self.nodes.values()))

    @property
    def has_clock(self) -> bool:
        """Whether the manager is in this process."""
        return self._driver is not None

    @property
    def is_shared(self) -> bool:
        """Whether the process has several blocks, not counting those that go with another."""
        return sum(not spec_of(node.get_name()).beside for node in self.nodes.values()) > 1

    def hands_over(self, topic: Topic, full_name: str, vehicle: str = '') -> bool:
        """Return whether a node of this process gets a topic by value."""
        if topic.publisher == 'manager':
            return self._driver is not None
        publisher = self.nodes.get(qualified(vehicle, topic.publisher))
        return publisher is not None and publisher.resolve_topic_name(topic.name) == full_name

    def configure(self, graph: Graph, world: WorldParameters, vehicle: str = '') -> None:
        """Prepare for the topics of the graph of a vehicle."""
        if not any(name in self._placed for name, node in self.nodes.items()
                   if node.vehicle == vehicle):
            self._publications[vehicle] = Publications(graph, world, self._wanted, vehicle)
            self._rows = None

    def place(self, slot: BlockSlot, vehicle: str = '') -> None:
        """Let a block take part in the steps, from time 0 on."""
        self._placed[qualified(vehicle, slot.name)] = slot
        self.arrange()

    def remove(self, name: str, vehicle: str = '') -> None:
        """Let a block take part no more; the next step of the others is their first."""
        self._placed.pop(qualified(vehicle, name), None)
        self.begin_anew()

    def begin_anew(self) -> None:
        """Begin a new run, with the vehicles that were to be there."""
        self.runner.presences.reset()
        self.arrange()

    def arrange(self) -> None:
        """Begin a new run with the blocks that take part."""
        self._last.clear()
        commands = self._driver.commands if self._driver is not None else {}
        lanes: dict[str, list[BlockSlot]] = {vehicle: [] for vehicle in commands}
        for name, node in self.nodes.items():
            placed = lanes.setdefault(node.vehicle, [])
            if name in self._placed:
                placed.append(self._placed[name])
        self.runner.place_lanes([
            Lane(vehicle, slots, commands.get(vehicle)) for vehicle, slots in lanes.items()
        ] or [Lane()])

    def freeze_fingerprint(self, vehicle: str, over_us: int) -> None:
        """Record that the mission of a vehicle was over at a simulated time."""
        for node in self.nodes.values():
            if node.vehicle == vehicle:
                node.freeze_fingerprint(over_us)

    def go_on(self) -> bool:
        """Run steps for a while; return whether there is more to do just now.

        The receiver of an input from elsewhere calls it within the callback, since the way back
        through the executor takes as long as a short step. What it leaves is done by the
        `StepExecutor`, which calls it in each turn.
        """
        if self._driver is None and len(self._placed) < len(self.nodes):
            return False       # no clock holds it back until all are there
        run, until_s = self.runner.run, time.monotonic() + _ELSE_EVERY_S
        while run():
            # If a step was sent, all else is done while the autopilot works.
            if time.monotonic() > until_s:
                return True
        return False

    # The port.

    @property
    def heard(self) -> typing.Container[str]:
        """The full names of the nodes whose topics have subscribers; all for a recorder."""
        return self._heard if self.recording is None else ALL_NODES

    def refresh(self) -> None:
        """See which topics have subscribers."""
        before = list(self._wanted)
        self._wanted.clear()
        self._periods_us = {
            name: found for name, node in self.nodes.items()
            if (found := self._find_wanted(node.step_publishers, node.vehicle))}
        if self._driver is not None and (found := self._find_wanted(self._driver.publishers)):
            self._periods_us['manager'] = found
        self._distinct_us = {its for found in self._periods_us.values() for its in found}
        heard = set(self._periods_us)
        # What another process needs may have to be published again.
        is_whole = all(lane.is_whole for lane in self.runner.lanes.values())
        self._heard = NO_NODES if not heard else heard if is_whole else ALL_NODES
        if list(self._wanted) != before:
            self._rows = None

    def _lay_out_rows(self) -> StepRows:
        """Prepare for the topics that are wanted; the id of a channel is the place of its own."""
        channels = {name: Channel(1) for name in self._wanted}
        for i, channel in enumerate(channels.values()):
            channel.id = i
        return StepRows({vehicle: its.wanted_behind(BEFORE_MESSAGE)
                         for vehicle, its in self._publications.items()}, channels)

    def _wants(self, name: str, time_us: int) -> bool:
        """Return whether a topic of a node with a subscriber is due."""
        return any(not time_us % period_us for period_us in self._periods_us.get(name, ()))

    def _wants_any(self, time_us: int) -> bool:
        """Return whether any topic with a subscriber is due."""
        return any(not time_us % period_us for period_us in self._distinct_us)

    def _find_wanted(
        self, publishers: typing.Mapping[str, typing.Any], vehicle: str = '',
    ) -> list[int]:
        """Note the topics with a subscriber; return their periods in us."""
        found = {qualified(vehicle, name): publisher.handle.publish_raw
                 for name, publisher in publishers.items()
                 if publisher.handle.get_subscription_count()}
        self._wanted |= found
        known = collections.ChainMap(*(its.periods_us for its in self._publications.values()))
        # Of an absence, which may be in each step, there is a publisher before the graph is known.
        return [known.get(topic, 1) for topic in found]

    def send(self, outputs: typing.Sequence[Output]) -> None:
        """Publish outputs for those who subscribe to them, and record them."""
        self.publish(outputs)
        if self.recording is not None:
            self.recording.send(outputs)

    def publish(self, outputs: typing.Sequence[Output]) -> None:
        """Publish outputs for those who subscribe to them."""
        with self._publishing():
            for output in outputs:
                self._last[qualified(output.vehicle, output.block)] = output
                if self._wanted:
                    self._publish(output)

    @contextlib.contextmanager
    def _publishing(self) -> typing.Iterator[None]:
        started_s = time.monotonic()
        yield
        if self._driver is not None:
            # No block's time, so it is that of the manager, which has none.
            self._driver.clock.busy_s += time.monotonic() - started_s

    @property
    def recording(self) -> StepBag | None:
        """What records the steps by value."""
        return self._recording

    @recording.setter
    def recording(self, bag: StepBag | None) -> None:
        self._recording = bag

    def rows_possible(self, members: Members, first_us: int, step_us: int, count: int) -> int:
        """Return how many of steps are sent as rows, from the first of them on."""
        if self._wanted:
            self._rows = self._rows or self._lay_out_rows()
            count = self._rows.possible(members, first_us, step_us, count)
        if count and self.recording is not None:
            count = self.recording.rows_possible(members, first_us, step_us, count)
        return count

    def send_rows(
        self, members: Members, first_us: int, step_us: int, count: int, first_row: int,
    ) -> None:
        """Publish and record steps of which all numbers are in rows."""
        if self._rows is not None:
            publish = list(self._wanted.values())
            with self._publishing():
                for topic, data in self._rows.messages(
                        members, first_us, step_us, count, first_row):
                    publish[topic](data)
        if self.recording is not None:
            self.recording.send_rows(members, first_us, step_us, count, first_row)

    def _publish(self, output: Output) -> None:
        for topic, data in self._publications[output.vehicle].of(output):
            if output.values is None:      # each sensor has a publisher of its own for that
                node = self.nodes[qualified(output.vehicle, output.block)]
                node.step_publishers[ABSENCE].handle.publish_raw(data)
            else:
                self._wanted[topic](data)

    def repeat(self, block: str, vehicle: str = '') -> None:
        """Publish again what a block has put out last."""
        name = qualified(vehicle, block)
        if name in self._last:
            self._publish(self._last[name])


_SOON_S = 1e-5


class HangReport:
    """Logs it in the name of the node; leaves it if a step that is overdue is a failure."""

    def __init__(self, host: BlockHost, manager: ManagerNode | None, stop: Stop) -> None:
        """Report to the nodes of this process.

        :param manager: if it is one of them
        :param stop: is notified that signals find the thread that makes this in a block
        """
        self._host, self._manager, self._stop = host, manager, stop
        self._thread_id = threading.get_ident()
        self._usual_s = sys.getswitchinterval()

    def __call__(self, block: str, hangs: bool, sentence: str) -> None:
        """Record, in another thread, that a block hangs or is back."""
        is_left = self._stop.asked       # who has asked for the end before may be gone
        self._stop.note_hang(sentence if hangs else '')
        # What a logger looks up takes thousands of turns, and the block gives each of them up late.
        sys.setswitchinterval(_SOON_S if hangs else self._usual_s)
        logger = self._host.nodes[block].get_logger()
        if not hangs:
            logger.info(sentence)
        elif self._is_failure() and not is_left:
            signal.pthread_kill(self._thread_id, signal.SIGTERM)
        else:
            logger.error(sentence)

    def _is_failure(self) -> bool:
        manager = self._manager
        return manager is not None and manager.get_parameter('on_overdue').value == 'fail'


# Of wall time. A subscriber that joins is seen so soon.
_REFRESHED_EVERY_S = 0.01


class StepExecutor:
    """Lets the runner run as far as it can, then an executor do what else there is."""

    def __init__(self, executor: typing.Any, host: BlockHost) -> None:
        self._executor, self._host = executor, host
        self._refreshed_s = 0.0

    def spin_once(self, timeout_sec: float) -> None:
        """Run steps for a while, then do what else there is to do."""
        self._executor.spin_once(timeout_sec=0.0 if self._host.go_on() else timeout_sec)
        now_s = time.monotonic()
        if now_s - self._refreshed_s > _REFRESHED_EVERY_S:
            self._refreshed_s = now_s
            self._host.refresh()
