# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Runs the blocks of a process through one step after the other, by value.

This is the only place where a step is written. Mode `core`, the processes of a graph, a replay
and the benchmark differ only in which blocks are here, and in what stands behind the port.
"""
from __future__ import annotations

import math
import time
import typing

from px4_sim_ros.model.timebase import is_due
from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.step.block import NO_OUTPUTS, Block, Outputs
from px4_sim_ros.step.graph import CLOCK, Graph
from px4_sim_ros.step.slot import Slot
from px4_sim_ros.step.synchronizer import StampSynchronizer

# For so many times the plan is remembered; with usual periods it repeats after fifty.
_PLANS_REMEMBERED = 10_000


class Clock(typing.Protocol):
    """Decides when a step begins."""

    @property
    def speed_factor(self) -> float:
        """Simulated over wall time, for which `begin` may sleep; 0: it never does."""

    def begin(self) -> int | None:
        """Return the time of the step that begins now; None while none may begin."""

    def complete(self, time_us: int) -> object:
        """Take note that a step is complete."""


class Output(typing.NamedTuple):
    """What a block has put out at a time."""

    time_us: int
    block: str
    values: Outputs | None     # by topic; None: a sensor has no measurement


class Port(typing.Protocol):
    """Where outputs leave the process."""

    @property
    def is_used(self) -> bool:
        """Whether anybody elsewhere wants anything; if not, nothing is sent."""

    def send(self, outputs: typing.Sequence[Output]) -> None:
        """Publish outputs for those elsewhere who want them."""


class _Row(typing.NamedTuple):
    """What is done at a time."""

    slot: Slot
    names: tuple[str, ...]     # of the local values that the block is given


class Runner:
    """Steps blocks in the order of the graph table.

    While an input from elsewhere is missing, nothing goes on here, and all that was put out
    before has left through the port.
    """

    def __init__(self, port: Port | None = None, clock: Clock | None = None) -> None:
        """Begin without blocks.

        :param port: None: nobody elsewhere wants anything
        :param clock: None: it is in another process
        """
        self._port, self.clock = port, clock
        self.slots: dict[str, Slot] = {}
        # What lets the clock go on, if it comes from elsewhere.
        self.command: StampSynchronizer | None = None
        self._held: set[str] = set()
        self._cycle_us = 1
        self._plans: dict[int, tuple[_Row, ...]] = {}
        self.reset()

    def reset(self) -> None:
        """Forget the run: the next step is the first."""
        self.time_us = 0                      # of the step that has begun last
        self.values: dict[str, typing.Any] = {}     # the last of each topic from here
        self._plan: tuple[_Row, ...] = ()
        self._index = 0                       # the row that is next
        self._is_under_way = False
        self._is_port_used = False
        self._is_unfinished = False           # the block of that row has its reply to come
        self._outbox: list[Output] = []
        for slot in self.slots.values():
            slot.reset()
        if self.command is not None:
            self.command.reset()

    def place(self, slots: typing.Iterable[Slot], command: StampSynchronizer | None = None) -> None:
        """Run these blocks, in this order, from time 0 on.

        :param command: what collects the command that ends a step, if it comes from elsewhere
        """
        self.slots = {slot.name: slot for slot in slots}
        self.command = command
        self._held = {
            i.topic.name for slot in self.slots.values() for i in slot.local if i.is_held}
        self._cycle_us = math.lcm(*(
            period_us for slot in self.slots.values()
            for period_us in (slot.period_us, *(i.period_us for i in slot.local))))
        self._plans = {}
        self.reset()

    # The step.

    def run(self) -> bool:
        """Go on until a reply or an input is awaited, or the step is complete.

        :return: whether anything was done; if not, there is something to wait for
        """
        self._is_port_used = self._port is not None and self._port.is_used
        if self._is_unfinished:
            if not self._finish():
                return False
        elif not self._is_under_way and not self._begin():
            self.flush()
            return False
        first = self._index
        for slot, names in self._plan[first:] if first else self._plan:
            if slot.synchronizer is not None and slot.synchronizer.lacking:
                return self._wait(first)
            if slot.block is not None and slot.next_us == self.time_us:
                outputs = self._step(slot, slot.block, names)
                if outputs is None:
                    self._is_unfinished = True
                    self.flush()
                    return True               # there is time for others while the autopilot works
                if outputs is NO_OUTPUTS:
                    self._withdraw(slot)
                    outputs = None
                else:
                    self.values.update(outputs)
            elif slot.block is None and slot.is_sensor:
                self._skip(slot)
                outputs = None
            else:
                return self._wait(first)      # it is stopped, or was for a while
            if self._is_port_used:
                self._outbox.append(Output(self.time_us, slot.name, outputs))
            self._index += 1
        if self.command is not None and self.command.lacking:
            return self._wait(first)
        self._complete()
        return True

    def _begin(self) -> bool:
        """Begin the next step, if there is one."""
        if self.clock is not None:
            time_us = self.clock.begin()
            if time_us is None:
                return False
            if self._is_port_used:
                self._outbox.append(Output(time_us, 'manager', {CLOCK: time_us}))
        elif self.slots:
            time_us = min(slot.next_us for slot in self.slots.values())
        else:
            return False
        self.time_us, self._plan, self._index = time_us, self._plan_of(time_us), 0
        self._is_under_way = True
        return True

    def _step(self, slot: Slot, block: Block, names: tuple[str, ...]) -> Outputs | None:
        started_s, values = time.perf_counter(), self.values
        inputs = {}
        for name in names:                    # a comprehension would take twice as long
            if name in values:
                inputs[name] = values[name]
        if slot.synchronizer is not None:
            inputs |= slot.synchronizer.take()
            inputs.pop(CLOCK, None)           # no more than the time
        outputs = block.step(self.time_us, inputs)
        slot.steps += 1
        slot.last_us, slot.next_us = self.time_us, self.time_us + slot.period_us
        slot.busy_s += time.perf_counter() - started_s
        return outputs

    def _skip(self, slot: Slot) -> None:
        """Let a time pass at which a sensor that is stopped would have measured."""
        if slot.synchronizer is not None:
            slot.synchronizer.take()
        self._withdraw(slot)
        slot.last_us, slot.next_us = self.time_us, self.time_us + slot.period_us

    def _withdraw(self, slot: Slot) -> None:
        """Forget what a sensor has measured before: it has measured nothing now."""
        for name in slot.outputs:
            if name not in self._held:
                self.values.pop(name, None)

    def _finish(self) -> bool:
        """Get the outputs of the block that is about a step; return whether they are there."""
        slot = self._plan[self._index].slot
        if slot.block is None or slot.missed_steps:
            return False
        started_s = time.perf_counter()
        outputs = slot.block.finish(self.time_us)
        slot.busy_s += time.perf_counter() - started_s
        if outputs is None:
            return False
        self.values.update(outputs)
        if self._is_port_used:
            self._outbox.append(Output(self.time_us, slot.name, outputs))
        self._is_unfinished = False
        self._index += 1
        return True

    def _wait(self, first: int) -> bool:
        """Send what was put out, since the rest waits; return whether anything was."""
        self.flush()
        return self._index > first

    def _complete(self) -> None:
        self._is_under_way = False
        if self.command is not None:
            self.command.take()
        if self.clock is None:
            self.flush()
            self._begin()
            return
        if self.clock.speed_factor:
            self.flush()
        # Otherwise it leaves while the autopilot is about the next step.
        self.clock.complete(self.time_us)

    def flush(self) -> None:
        """Send all that was put out."""
        if self._outbox and self._port is not None:
            self._port.send(self._outbox)
            self._outbox.clear()

    # What is due.

    def _plan_of(self, time_us: int) -> tuple[_Row, ...]:
        phase_us = time_us % self._cycle_us
        plan = self._plans.get(phase_us)
        if plan is None:
            if len(self._plans) == _PLANS_REMEMBERED:
                self._plans.clear()
            plan = self._plans[phase_us] = tuple(
                # What is of the step before is there in all but the first.
                _Row(slot, tuple(dict.fromkeys(
                    i.topic.value for i in slot.local
                    if i.is_held or i.delay_us or i.is_due(time_us))))
                for slot in self.slots.values() if is_due(time_us, slot.period_us))
        return plan

    # What others ask.

    @property
    def under_way(self) -> tuple[str, int]:
        """The block that is next in this step, or takes it just now, and the time of the step."""
        # Another thread asks: the step goes on meanwhile.
        plan, index = self._plan, self._index
        return plan[index].slot.name if index < len(plan) else '', self.time_us

    def busy_s(self) -> dict[str, float]:
        """Return the wall time that each block took so far."""
        return {name: slot.busy_s for name, slot in self.slots.items()}

    def waits_for(self, name: str) -> tuple[int, dict[str, int]]:
        """Return the next time of a block, and what it still lacks with the last stamp of each."""
        slot = self.slots[name]
        time_us = slot.next_us
        lacking: dict[str, int] = {}
        if slot.synchronizer is not None:
            lacking = {n: slot.synchronizer.last_us[n] for n in sorted(slot.synchronizer.lacking)}
        for i in slot.local:
            publisher = self.slots.get(i.topic.publisher)
            if publisher is not None and i.is_due(time_us) and (
                    publisher.last_us < time_us - i.delay_us):
                lacking[i.topic.name] = publisher.last_us or -1
        return time_us, lacking


def run_in_process(
    graph: Graph, world: WorldParameters, blocks: typing.Mapping[str, Block], clock: Clock,
    port: Port | None = None,
) -> Runner:
    """Return a runner that has blocks of a graph, ready for the first step.

    :param blocks: by name; those that are not there put out nothing
    """
    slots = []
    for name in graph.blocks:
        if name in blocks:
            slot = Slot(graph.nodes[name], graph, world)
            slot.block = blocks[name]
            slot.block.reset()
            slots.append(slot)
    runner = Runner(port, clock)
    runner.place(slots)
    return runner
