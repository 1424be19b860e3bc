# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Runs the blocks of a process through one step after the other, by value.

This is the only place where a step is written, with `lane`, which has the part of one vehicle.
Mode `core`, the processes of a graph, a replay and the benchmark differ only in which blocks are
here, and in what stands behind the port.
"""
from __future__ import annotations

import contextlib
import functools
import time
import typing

import numpy as np

from px4_sim_ros.model.collisions import pushes
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.timebase import US_PER_S, is_due
from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.step.block import Ahead, Block
from px4_sim_ros.step.graph import CLOCK, COLLISION, HULL, WAKE, WAKES, Graph, qualified
from px4_sim_ros.step.lane import NO_NODES, Lane, Output, Wants
from px4_sim_ros.step.presence import Change, PresenceSchedule
from px4_sim_ros.step.slot import BlockSlot, StampSynchronizer

# Hands what vehicles do to each other from each to all others, where the clock is.
#
# A step with this in it begins with what was a period before. That was put out before the
# command that ended its step, so no node waits for it; and because one place knows who was in
# the world then, all modes have the same bits.


class Exchange:
    """The last wakes and hulls of all vehicles."""

    def __init__(self, periods_us: typing.Mapping[str, int], world: WorldParameters) -> None:
        """Begin before the run.

        :param periods_us: of what is given, by topic
        """
        self._periods_us, self._world = periods_us, world
        self.reset()

    @classmethod
    def of(cls, graph: Graph, world: WorldParameters) -> typing.Self | None:
        """Return that of a graph; None if it has nothing, or a recording says what there is."""
        periods_us = {
            name: topic.period_us(world.step_us, world.periods_us) for name in _GIVEN
            if (topic := graph.topics.get(name)) is not None and topic.publisher == 'manager'}
        return cls(periods_us, world) if periods_us else None

    @property
    def has_wakes(self) -> bool:
        """Whether vehicles blow at others."""
        return WAKES in self._periods_us

    def reset(self) -> None:
        """Forget the run."""
        self._last: dict[str, dict[str, typing.Any]] = {}       # by topic and vehicle

    def take(self, time_us: int, lanes: typing.Sequence[Lane]) -> None:
        """Take in what the vehicles put out that took part in a step that is complete."""
        for name, period_us in self._periods_us.items():
            taken = _GIVEN[name]
            if is_due(time_us, period_us):
                self._last[name] = {lane.vehicle: lane.values[taken]
                                    for lane in lanes if taken in lane.values}

    def give(
        self, time_us: int, lanes: typing.Sequence[Lane],
    ) -> dict[str, dict[str, tuple[typing.Any, ...]]]:
        """Return by vehicle of a step that begins, and by topic, what is due of all the others."""
        found: dict[str, dict[str, tuple[typing.Any, ...]]] = {}
        for name, period_us in self._periods_us.items():
            if not is_due(time_us, period_us):
                continue
            last = self._last.get(name, {})
            # By name, since lanes stand in another order in each mode, and sums of floats have one.
            there = sorted((lane.vehicle, last[lane.vehicle])
                           for lane in lanes if lane.vehicle in last)
            for vehicle, value in self._shared(name, there, lanes):
                found.setdefault(vehicle, {})[name] = value
        return found

    def _shared(
        self, name: str, there: typing.Sequence[tuple[str, typing.Any]],
        lanes: typing.Sequence[Lane],
    ) -> typing.Iterator[tuple[str, tuple[typing.Any, ...]]]:
        """Yield each vehicle with what it is given."""
        if name == WAKES:
            for lane in lanes:
                yield lane.vehicle, tuple(
                    wake for vehicle, wake in there if vehicle != lane.vehicle)
            return
        found = pushes([hull for _, hull in there], self._world.restitution,
                       self._world.step_us / US_PER_S)
        by_name = {there[i][0]: push for i, push in found.items()}
        for lane in lanes:
            yield lane.vehicle, by_name.get(lane.vehicle, ())


# What is given, and of what it is made.
_GIVEN = {WAKES: WAKE, COLLISION: HULL}


class Clock(typing.Protocol):
    """Decides when a step begins."""

    @property
    def speed_factor(self) -> float:
        """Simulated over wall time, for which `begin` may sleep; 0: it never does."""

    @property
    def latest_us(self) -> int:
        """The time up to which steps may follow the one that is under way at once."""

    def run_ahead(self, steps: int) -> None:
        """Record that the step under way is complete, and so many have begun since."""

    def begin(self) -> int | None:
        """Return the time of the step that begins now; None while none may begin."""

    def complete(self, time_us: int) -> object:
        """Record that a step is complete."""


class Port(typing.Protocol):
    """Where outputs leave the process."""

    @property
    def heard(self) -> typing.Container[str]:
        """The full names of the nodes whose outputs have subscribers."""

    def send(self, outputs: typing.Sequence[Output]) -> None:
        """Publish outputs for those elsewhere who want them."""


OnPlaces = typing.Callable[[typing.Sequence[int], typing.Mapping[str, np.ndarray]], None]
"""Is given the times of steps, and where each vehicle of this process that took part was, ENU."""

_TRUTH = 'ground_truth/odom'


def _place_of(lane: Lane) -> Vector:
    place: Vector = lane.values[_TRUTH].position_enu
    return place


class RowPort(Port, typing.Protocol):
    """Takes steps that were taken at once as rows of numbers."""

    def rows_possible(
        self, members: typing.Sequence[tuple[str, Ahead]], first_us: int, step_us: int, count: int,
    ) -> int:
        """Return how many of steps it can take, from the first of them on.

        :param members: the vehicles, with their rows
        """

    def send_rows(
        self, members: typing.Sequence[tuple[str, Ahead]], first_us: int, step_us: int, count: int,
        first_row: int,
    ) -> None:
        """Take so many.

        :param first_row: that of the motion of the first of them
        """


class _Everybody:
    def __contains__(self, name: object) -> bool:
        return True


ALL_NODES: typing.Container[str] = _Everybody()
"""Of a port that wants all outputs."""


def _is_heard(heard: typing.Container[str], name: str, time_us: int) -> bool:
    return name in heard


def _from_clock(
    time_us: int, said: typing.Mapping[str, dict[str, typing.Any]],
) -> list[Output]:
    """Return the values that come from where the clock is.

    :param said: by vehicle, what is not the time itself
    """
    return [Output(time_us, 'manager', {CLOCK: time_us, **said.get('', {})}), *(
        Output(time_us, 'manager', values, vehicle)
        for vehicle, values in said.items() if vehicle)]


class Runner:
    """Steps the blocks of all vehicles of a process, each in the order of the graph table.

    A step is complete when it is for each vehicle. All run until they wait, so the frames of
    all autopilots are sent before any reply is awaited. While an input from elsewhere is missing,
    nothing runs here, and all that was put out before has left through the port.
    """

    def __init__(
        self, port: Port | None = None, clock: Clock | None = None,
        presences: PresenceSchedule | None = None,
    ) -> None:
        """Begin without blocks.

        :param port: None: nothing leaves this process
        :param clock: None: it is in another process
        :param presences: who is there when; None: all are, always
        """
        self._port, self.clock = port, clock
        self._sent_s = 0.0         # wall time that the port has taken
        self.presences = presences or PresenceSchedule()
        self.takes_steps_at_once = True
        """Whether nothing has to be done between two steps."""
        self.exchange: Exchange | None = None
        """Where the clock is, if vehicles blow at others or collide."""
        self.on_change: typing.Callable[[Change], None] = lambda change: None
        """Is called when a vehicle joins, and when one has left."""
        self.wants: Wants | None = None
        """Tells which outputs of steps taken at once have a subscriber; None: none has."""
        self.wants_any: typing.Callable[[int], bool] = lambda time_us: True
        """Tells whether there is one of them at a time: most steps have none."""
        self.rows: RowPort | None = None
        """The port, if it takes rows."""
        self.on_places: OnPlaces | None = None
        """Is called where the clock is, with the steps that are complete."""
        self.place_lanes([Lane()])

    def reset(self) -> None:
        """Forget the run: the next step is the first."""
        self._is_under_way = False
        self._outbox: list[Output] = []
        self.time_us = 0
        """The time of the step that has begun last."""
        if self.exchange is not None:
            self.exchange.reset()
        for lane in self.lanes.values():
            lane.reset(self.presences.begin_us(lane.vehicle))

    def place(
        self, slots: typing.Iterable[BlockSlot], command: StampSynchronizer | None = None,
    ) -> None:
        """Run the blocks of one vehicle, in this order, from time 0 on."""
        self.place_lanes([Lane('', slots, command)])

    def place_lanes(self, lanes: typing.Iterable[Lane]) -> None:
        """Run the blocks of several vehicles, from time 0 on."""
        self.lanes: dict[str, Lane] = {lane.vehicle: lane for lane in lanes}
        self.reset()

    # The step.

    def run(self) -> bool:
        """Run until a reply or an input is awaited, or the step is complete.

        :return: whether anything was done; if not, there is something to wait for
        """
        heard = NO_NODES if self._port is None else self._port.heard
        if self._is_under_way and self._run_ahead(heard):
            return True
        if not self._is_under_way and not self._begin(heard):
            self.flush()
            return False
        was_anything_done, is_complete = False, True
        for lane in self.lanes.values():
            if lane.is_under_way:
                was_anything_done |= lane.go_on(self._outbox, heard)
                is_complete &= not lane.is_under_way
        if is_complete:
            self._complete()
            return True
        self.flush()           # the rest waits
        return was_anything_done

    def complete_step(self) -> None:
        """Complete the step under way, if there is nothing to wait for."""
        at_once, self.takes_steps_at_once = self.takes_steps_at_once, False
        while self._is_under_way and self.run():
            pass
        self.takes_steps_at_once = at_once

    def _run_ahead(self, heard: typing.Container[str]) -> bool:
        """Let all take the next steps at once; return whether they have."""
        if self.clock is None or not self.takes_steps_at_once or (
                self.exchange is not None and self.exchange.has_wakes):
            return False
        until_us = self.clock.latest_us
        lanes = self._present(self.time_us)
        if not lanes:              # the only one is restarted
            return False
        if not self.presences.is_constant:
            until_us = self.presences.same_until_us(self.time_us, until_us)
        since_s, sent_s = time.perf_counter(), self._sent_s
        possible = []
        for lane in lanes:
            if not (steps := lane.prepare_ahead(until_us)):
                return False
            possible.append(steps)
        waiting = [lane.waiting for lane in lanes]
        blocks = [slot.block for slot in waiting if slot.block is not None]
        aheads = blocks[0].run_ahead(min(possible), blocks)
        if not aheads:
            return False
        if self.on_places is not None:
            step_us = waiting[0].period_us
            self.on_places(
                range(self.time_us, self.time_us + aheads[0].begun * step_us, step_us),
                {lane.vehicle: np.vstack([_place_of(lane), ahead.places_enu[:-1]])
                 for lane, ahead in zip(lanes, aheads)})
        if heard is not NO_NODES:
            self._put_out(lanes, aheads, heard)
        begun = aheads[0].begun
        for lane, ahead in zip(lanes, aheads):
            lane.enter_last(ahead, self._outbox, heard, self.flush)
        self.clock.run_ahead(begun)
        self.time_us = lanes[0].time_us
        self.flush()       # while the autopilots are about the last of them
        # Others count what the port takes.
        others_s = self._sent_s - sent_s + sum(its.models_s for its in aheads)
        share_s = (time.perf_counter() - since_s - others_s) / len(lanes)
        for lane, slot, ahead in zip(lanes, waiting, aheads):
            lane.first.busy_s += ahead.models_s
            slot.busy_s += share_s
        return True

    def _put_out(
        self, lanes: typing.Sequence[Lane], aheads: typing.Sequence[Ahead],
        heard: typing.Container[str],
    ) -> None:
        """Put out what all have in all of the steps, as if they had been taken one by one."""
        wants = self.wants
        skips = wants is not None and heard is not ALL_NODES
        if wants is None or heard is ALL_NODES:
            wants = functools.partial(_is_heard, heard)
        step_us, begun, members = lanes[0].waiting.period_us, aheads[0].begun, [
            (lane.vehicle, ahead) for lane, ahead in zip(lanes, aheads)]
        step = 0
        self._put_out_ends(lanes, aheads, step, wants, self._outbox)
        while step < begun:
            time_us, left = self.time_us + (step + 1) * step_us, begun - 1 - step
            if skips and not self.wants_any(time_us):
                step += 1
                continue
            has_more = step == 0 and any(lane.has_led for lane in lanes)
            if left and self.rows is not None and not has_more and self.exchange is None:
                self.flush()           # what has ended the step before
                if count := self.rows.rows_possible(members, time_us, step_us, left):
                    with self._sending():
                        self.rows.send_rows(members, time_us, step_us, count, step)
                    step += count
                    continue
            self._put_out_step(lanes, aheads, step, time_us, wants, self._outbox)
            step += 1

    def _put_out_step(
        self, lanes: typing.Sequence[Lane], aheads: typing.Sequence[Ahead], step: int, time_us: int,
        wants: Wants, outbox: list[Output],
    ) -> None:
        """Put out what all have in a step, and what has ended it if it is complete."""
        if wants('manager', time_us):
            # None collides in such a step.
            outbox += _from_clock(time_us, {} if self.exchange is None else {
                lane.vehicle: {COLLISION: ()} for lane in lanes})
        for lane, ahead in zip(lanes, aheads):
            lane.put_out(ahead, step, outbox, wants)
        if step + 1 < aheads[0].begun:
            Runner._put_out_ends(lanes, aheads, step + 1, wants, outbox)

    @staticmethod
    def _put_out_ends(
        lanes: typing.Sequence[Lane], aheads: typing.Sequence[Ahead], step: int,
        wants: Wants, outbox: list[Output],
    ) -> None:
        for lane, ahead in zip(lanes, aheads):
            lane.put_out_end(ahead, step, outbox, wants)

    def _begin(self, heard: typing.Container[str] = NO_NODES) -> bool:
        """Begin the next step, if there is one."""
        said: typing.Mapping[str, dict[str, typing.Any]] = {}
        if self.clock is not None:
            time_us = self.clock.begin()
            if time_us is None:
                return False
            begun = self._present(time_us)
            if self.exchange is not None or 'manager' in heard:
                said = self._say(time_us, begun, heard)
        else:
            begun = self._next()
            if not begun:
                return False
            time_us = begun[0].next_us
        self.time_us, self._is_under_way = time_us, True
        for lane in begun:
            if not self.presences.is_constant and (change := lane.joins):
                self.on_change(change)
            lane.begin(time_us)
            if said:
                lane.values.update(said.get(lane.vehicle, {}))
        return True

    def _say(
        self, time_us: int, begun: list[Lane], heard: typing.Container[str],
    ) -> typing.Mapping[str, dict[str, typing.Any]]:
        """Put out what comes from the clock; return by vehicle what is not the time itself."""
        said = {} if self.exchange is None else self.exchange.give(time_us, begun)
        if 'manager' in heard:
            self._outbox += _from_clock(time_us, said)
        return said

    def _present(self, time_us: int) -> list[Lane]:
        """Return those that take part in a step."""
        if self.presences.is_constant:
            return list(self.lanes.values())
        has = self.presences.has
        return [lane for lane in self.lanes.values() if has(lane.vehicle, time_us)]

    def _next(self) -> list[Lane]:
        """Return those whose blocks act next, where the clock is elsewhere."""
        has = self.presences.has
        waiting = [lane for lane in self.lanes.values()
                   if lane.slots and has(lane.vehicle, lane.next_us)]
        time_us = min((lane.next_us for lane in waiting), default=0)
        return [lane for lane in waiting if lane.next_us == time_us]

    def _complete(self) -> None:
        self._is_under_way = False
        if self.clock is None:
            self.flush()
            if not self.presences.is_constant:
                self._end_presences()
            self._begin()
            return
        if self.clock.speed_factor:
            self.flush()
        # Otherwise it leaves while the autopilot is about the next step.
        if self.exchange is not None:
            self.exchange.take(self.time_us, self._present(self.time_us))
        if self.on_places is not None:
            self.on_places([self.time_us], {
                lane.vehicle: np.array([_place_of(lane)])
                for lane in self._present(self.time_us) if _TRUTH in lane.values})
        self.clock.complete(self.time_us)
        if not self.presences.is_constant:
            self._end_presences()

    def _end_presences(self) -> None:
        """Let those leave whose last step is complete."""
        for lane in self.lanes.values():
            if self.presences.of(lane.vehicle).leaves_us == self.time_us and not lane.has_left:
                lane.leave()
                self.on_change(Change(lane.vehicle, self.time_us, False))

    def change(self, change: Change) -> None:
        """Let a vehicle join with the next step, or leave: by hand, between its steps or in one.

        One that joins while it is there begins again.
        """
        lane = self.lanes[change.vehicle]
        self.flush()
        if self.presences.has(change.vehicle, max(change.time_us, 1)):
            lane.leave(change.by_hand)
        self.presences.take(change)
        if change.joins:
            lane.reset(change.time_us, change.by_hand)
        self.on_change(change)

    def flush(self) -> None:
        """Send all that was put out."""
        if self._outbox and self._port is not None:
            with self._sending():
                self._port.send(self._outbox)
            self._outbox.clear()

    @contextlib.contextmanager
    def _sending(self) -> typing.Iterator[None]:
        since_s = time.perf_counter()
        yield
        self._sent_s += time.perf_counter() - since_s

    # What others ask.

    @property
    def _first(self) -> Lane:
        return next(iter(self.lanes.values()))

    @property
    def values(self) -> dict[str, typing.Any]:
        """The last value of each topic from here, of the first vehicle."""
        return self._first.values

    @property
    def slots(self) -> dict[str, BlockSlot]:
        """The places of all blocks, by name with the namespace of the vehicle."""
        return {qualified(lane.vehicle, name): slot
                for lane in self.lanes.values() for name, slot in lane.slots.items()}

    @property
    def under_way(self) -> tuple[str, int]:
        """The block that is next in this step, or acts just now, and the time that it acts for."""
        for lane in self.lanes.values():
            name, time_us = lane.next_block
            if lane.is_under_way and name:
                return qualified(lane.vehicle, name), time_us
        return '', self.time_us

    def busy_s(self) -> dict[str, float]:
        """Return the wall time that each block took so far."""
        return {name: slot.busy_s for name, slot in self.slots.items()}

    def waits_for(self, name: str, vehicle: str = '') -> tuple[int, dict[str, int]]:
        """Return the next time of a block, and what it still lacks with the last stamp of each.

        One whose vehicle is not there then waits for nothing, at time 0.
        """
        time_us, lacking = self.lanes[vehicle].waits_for(name)
        return (time_us, lacking) if self.presences.has(vehicle, time_us) else (0, {})

    @property
    def awaited(self) -> list[str]:
        """The vehicles whose part of the step under way is not complete."""
        return [lane.vehicle for lane in self.lanes.values() if lane.is_under_way]


class Group(typing.NamedTuple):
    """The blocks of a vehicle, and what they are blocks of."""

    vehicle: str               # its namespace, '' for one alone
    graph: Graph
    world: WorldParameters
    blocks: typing.Mapping[str, Block]     # by name; those that are not there put out nothing


def run_groups(
    groups: typing.Iterable[Group], clock: Clock, port: Port | None = None,
    presences: PresenceSchedule | None = None,
) -> Runner:
    """Return a runner that has the blocks of vehicles, ready for the first step."""
    groups = list(groups)
    runner = Runner(port, clock, presences)
    runner.exchange = Exchange.of(groups[0].graph, groups[0].world)
    runner.place_lanes([Lane(group.vehicle, _slots(group)) for group in groups])
    return runner


def run_in_process(
    graph: Graph, world: WorldParameters, blocks: typing.Mapping[str, Block], clock: Clock,
    port: Port | None = None, presences: PresenceSchedule | None = None,
) -> Runner:
    """Return a runner that has blocks of the graph of one vehicle, ready for the first step.

    :param blocks: by name; those that are not there put out nothing
    :param presences: when the vehicle, which has no name, is there; None: always
    """
    return run_groups([Group('', graph, world, blocks)], clock, port, presences)


def _slots(group: Group) -> list[BlockSlot]:
    slots = []
    for name in group.graph.blocks:
        if name in group.blocks:
            slot = BlockSlot(group.graph.nodes[name], group.graph, group.world)
            slot.block = group.blocks[name]
            slot.block.reset()
            slots.append(slot)
    return slots
