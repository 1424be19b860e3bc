# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The blocks of one vehicle, on their way through the step under way.

A lane goes as far as it can: up to a reply or an input that is not there yet. The lanes of a
process have nothing in common but the time, so that one that waits keeps no other one from
sending its frames.
"""
from __future__ import annotations

import math
import time
import typing

from px4_sim_ros.jit.fast_namedtuple import fast_namedtuple
from px4_sim_ros.model.timebase import is_due
from px4_sim_ros.step.block import NO_OUTPUTS, Ahead, Block, Outputs
from px4_sim_ros.step.graph import CLOCK, HULL, WAKE, qualified
from px4_sim_ros.step.presence import Change
from px4_sim_ros.step.slot import BlockSlot, StampSynchronizer

# For so many times the plan is remembered; with usual periods it repeats after fifty.
_PLANS_REMEMBERED = 10_000
Wants = typing.Callable[[str, int], bool]
"""Returns whether an output of a node, by its full name, is wanted in the step of a time."""

NO_NODES: typing.Container[str] = ()


class Output(typing.NamedTuple):
    """What a block has put out at a time."""

    time_us: int
    block: str
    values: Outputs | None     # by topic; None: a sensor has no measurement
    vehicle: str = ''          # its namespace; that of the clock and of one alone has no name


_output_of = fast_namedtuple(Output)


class _Row(typing.NamedTuple):
    """What is done at a time."""

    slot: BlockSlot
    full_name: str             # of the block, with the namespace of the vehicle
    names: tuple[str, ...]     # of the local values that the block is given


class Lane:
    """Steps the blocks of a vehicle in the order of the graph table."""

    def __init__(
        self, vehicle: str = '', slots: typing.Iterable[BlockSlot] = (),
        command: StampSynchronizer | None = None,
    ) -> None:
        self.vehicle, self.command = vehicle, command
        self.slots = {slot.name: slot for slot in slots}
        self._in_order = tuple(self.slots.values())
        # Another process may change what passes through it.
        self.is_whole = all(slot.synchronizer is None for slot in self.slots.values()) and all(
            i.topic.publisher in (*self.slots, 'manager')
            for slot in self.slots.values() for i in slot.local)
        self._held = {
            i.topic.name for slot in self.slots.values() for i in slot.local if i.is_held}
        self._cycle_us = math.lcm(*(
            period_us for slot in self.slots.values()
            for period_us in (slot.period_us, *(i.period_us for i in slot.local))))
        self._plans: dict[int, tuple[_Row, ...]] = {}
        self.reset()

    def reset(self, begin_us: int = 0, by_hand: str = '') -> None:
        """Forget the run: the next step is the first.

        :param begin_us: the time at which the vehicle stands where it begins
        :param by_hand: the change by hand that lets it begin then, '' if it was planned
        """
        self._begin_us, self._by_hand = begin_us, by_hand
        self.has_left = False
        self.time_us = 0                      # of the step that has begun last
        self.values: dict[str, typing.Any] = {}     # the last of each topic from here
        self._plan: tuple[_Row, ...] = ()
        self._index = 0                       # the row that is next
        self.is_under_way = False
        self._is_unfinished = False           # the block of that row has its reply to come
        self._begins_again = bool(begin_us or by_hand)         # with the next step
        self._led: dict[str, Outputs] = {}    # by those that have acted for the next step
        for slot in self.slots.values():
            slot.reset(begin_us)
        if self.command is not None:
            self.command.reset(begin_us)

    @property
    def joins(self) -> Change | None:
        """That the vehicle joins with its next step, if that was planned and is not time 0."""
        if self.time_us or self._by_hand or not self._begin_us:
            return None
        return Change(self.vehicle, self._begin_us, True)

    @property
    def next_us(self) -> int:
        """When the next of its blocks acts."""
        return min(slot.next_us for slot in self.slots.values())

    def begin(self, time_us: int) -> None:
        """Begin a step."""
        if self._begins_again:
            self._begin_again()
        self.time_us, self._plan, self._index = time_us, self._plan_of(time_us), 0
        self.is_under_way = True

    def _begin_again(self) -> None:
        """Let the vehicle begin as at time 0, while time runs on."""
        self._begins_again = False
        self.values.clear()
        for slot in self.slots.values():
            if slot.block is not None:
                slot.block.begin_again(self.time_us or self._begin_us)
        self._note(self._by_hand)
        self._by_hand = ''

    def _note(self, by_hand: str) -> None:
        for slot in self.slots.values():
            if by_hand and slot.block is not None:
                slot.block.record_nondeterminism(by_hand)

    def leave(self, by_hand: str = '') -> None:
        """Take part in no further step; one that is under way is given up.

        What it has put out last stays, for those who look at the step that is complete.

        :param by_hand: the change by hand, '' if it was planned
        """
        self.has_left, self.is_under_way, self._is_unfinished = True, False, False
        self._note(by_hand)
        for slot in self.slots.values():
            if slot.block is not None:
                slot.block.leave()

    def go_on(self, outbox: list[Output], heard: typing.Container[str]) -> bool:
        """Run until a reply or an input is awaited, or the step is complete.

        :param outbox: takes what was put out
        :param heard: the full names of the blocks whose outputs it takes
        :return: whether anything was done; if not, there is something to wait for
        """
        if self._is_unfinished and not self._finish(outbox, heard):
            return False
        first, time_us, values = self._index, self.time_us, self.values
        # What is done between two blocks counts for the second.
        since_s = time.perf_counter()
        for slot, full_name, names in self._plan[first:] if first else self._plan:
            if self._led and slot.name in self._led:
                outputs: Outputs | None = self._led.pop(slot.name)
            elif slot.synchronizer is not None and slot.synchronizer.lacking:
                return self._index > first
            elif slot.block is not None and slot.next_us == time_us:
                outputs = self._step(slot, slot.block, time_us, names)
                slot.last_us, slot.next_us = time_us, time_us + slot.period_us
                now_s = time.perf_counter()
                slot.busy_s += now_s - since_s
                since_s = now_s
                if outputs is None:
                    self._is_unfinished = True
                    return True               # there is time for others while the autopilot works
                if outputs is NO_OUTPUTS:
                    self._withdraw(slot)
                    outputs = None
                else:
                    values.update(outputs)
            elif slot.block is None and slot.is_sensor:
                self._skip(slot)
                outputs = None
            else:
                return self._index > first    # it is stopped, or was for a while
            if full_name in heard:
                outbox.append(_output_of((time_us, slot.name, outputs, self.vehicle)))
            self._index += 1
        if self.command is not None:
            if self.command.lacking:
                return self._index > first
            taken = self.command.take()
            self.values.update({name: taken[name] for name in (WAKE, HULL) if name in taken})
        self.is_under_way = False
        return True

    def _inputs(self, names: tuple[str, ...]) -> dict[str, typing.Any]:
        inputs, values = {}, self.values
        for name in names:                    # a comprehension would take twice as long
            if name in values:
                inputs[name] = values[name]
        return inputs

    def _step(
        self, slot: BlockSlot, block: Block, time_us: int, names: tuple[str, ...],
    ) -> Outputs | None:
        inputs = self._inputs(names)
        if slot.synchronizer is not None:
            inputs |= slot.synchronizer.take()
            inputs.pop(CLOCK, None)           # no more than the time
        return block.step(time_us, inputs)

    def _skip(self, slot: BlockSlot) -> None:
        """Let a time pass at which a sensor that is stopped would have measured."""
        if slot.synchronizer is not None:
            slot.synchronizer.take()
        self._withdraw(slot)
        slot.skipped += 1
        slot.last_us, slot.next_us = self.time_us, self.time_us + slot.period_us

    def _withdraw(self, slot: BlockSlot) -> None:
        """Forget what a sensor has measured before: it has measured nothing now."""
        for name in slot.outputs:
            if name not in self._held:
                self.values.pop(name, None)

    def _finish(self, outbox: list[Output], heard: typing.Container[str]) -> bool:
        """Collect the outputs of the block whose reply was pending; return whether they came."""
        slot, full_name, _ = self._plan[self._index]
        if slot.block is None or slot.missed_steps:
            return False
        started_s = time.perf_counter()
        outputs = slot.block.finish(self.time_us)
        slot.busy_s += time.perf_counter() - started_s
        if outputs is None:
            return False
        self.values.update(outputs)
        if full_name in heard:
            outbox.append(_output_of((self.time_us, slot.name, outputs, self.vehicle)))
        self._is_unfinished = False
        self._begins_again = slot.block.wants_new_begin
        self._index += 1
        return True

    # Several steps at once.

    def prepare_ahead(self, until_us: int) -> int:
        """Return how many steps the block that waits for its reply can take at once.

        :param until_us: the time of the last one there may be
        """
        if not self._is_unfinished or not self.is_whole or until_us <= self.time_us:
            return 0
        waiting = self.waiting
        if waiting.block is None or not waiting.block.runs_ahead:
            return 0
        self._lead(self.time_us + waiting.period_us)
        return waiting.block.prepare_ahead(self.time_us, self._in_order, until_us, self.values)

    @property
    def waiting(self) -> BlockSlot:
        """The block that is next in the step under way."""
        return self._plan[self._index].slot

    @property
    def first(self) -> BlockSlot:
        """The block that was first in it."""
        return self._plan[0].slot

    @property
    def has_led(self) -> bool:
        """Whether blocks have acted for the next step."""
        return bool(self._led)

    def _lead(self, time_us: int) -> None:
        """Let those act that come first in the next step: what they need is there."""
        for slot, _, names in self._plan_of(time_us):
            if slot.block is None or not slot.block.leads:
                return
            if slot.next_us == time_us:
                outputs = self._step(slot, slot.block, time_us, names)
                assert outputs is not None, 'it has no reply to wait for'
                slot.last_us, slot.next_us = time_us, time_us + slot.period_us
                self._led[slot.name] = outputs
                self.values.update(outputs)

    def put_out(
        self, ahead: Ahead, step: int, outbox: list[Output], wants: Wants,
    ) -> None:
        """Put out what the blocks have in one of the steps, as if they had acted."""
        waiting = self.waiting
        time_us = self.time_us + (step + 1) * waiting.period_us
        if step == 0:
            outbox += [Output(time_us, name, outputs, self.vehicle)
                       for name, outputs in self._led.items()
                       if wants(qualified(self.vehicle, name), time_us)]
        for slot, outputs in ahead.put_out(
                step, lambda slot: wants(qualified(self.vehicle, slot.name), time_us)):
            outbox.append(_output_of((
                time_us, slot.name, None if outputs is NO_OUTPUTS else outputs, self.vehicle)))

    def put_out_end(
        self, ahead: Ahead, step: int, outbox: list[Output], wants: Wants,
    ) -> None:
        """Put out what has ended the step before one."""
        waiting = self.waiting
        time_us = self.time_us + step * waiting.period_us
        if wants(qualified(self.vehicle, waiting.name), time_us):
            outbox.append(_output_of((
                time_us, waiting.name, ahead.finished(step), self.vehicle)))

    def enter_last(
        self, ahead: Ahead, outbox: list[Output], heard: typing.Container[str],
        flush: typing.Callable[[], None],
    ) -> None:
        """Continue in the last of the steps: with the reply to come, or before its frames.

        :param flush: sends what is in the outbox
        """
        self._led.clear()
        for slot in ahead.taken:
            self.values.update(ahead.last(slot))
        for _, slot, outputs in ahead.called:
            if outputs is NO_OUTPUTS:
                self._withdraw(slot)
            self.values.update(outputs)
        self.values.update(ahead.said)
        self.values.update(ahead.finished(ahead.begun - 1))
        waiting = self.waiting
        self.time_us += ahead.begun * waiting.period_us
        time_us, self._plan = self.time_us, self._plan_of(self.time_us)
        for slot in self._in_order:
            slot.last_us = time_us - time_us % slot.period_us
            slot.next_us = slot.last_us + slot.period_us
        for its_us, slot, outputs in ahead.called[-1:]:
            if its_us > time_us:           # it leads
                slot.last_us, slot.next_us = its_us, its_us + slot.period_us
                self._led[slot.name] = outputs
        rows = {row.slot.name: i for i, row in enumerate(self._plan)}
        ahead.pass_reports(flush)
        if ahead.holding is not None:
            self._hold_last(ahead, ahead.holding, rows, outbox, heard)
            return
        if ahead.is_held:
            ahead.end(is_held=True)
            # What comes before the motion has led, if it was due.
            self._resume_at(next(
                i for i, row in enumerate(self._plan)
                if i > rows[ahead.taken[0].name] and row.slot not in ahead.acted))
            return
        if ahead.beside:
            flush()            # before they put out anything beside the graph
        for slot in ahead.beside:
            if not self._act(self._plan[rows[slot.name]], outbox, heard):
                self._hold_last(ahead, slot, rows, outbox, heard)
                return
        ahead.end(is_held=False)
        for slot in ahead.late:
            self._act(self._plan[rows[slot.name]], outbox, heard)
        self._index, self._is_unfinished = rows[waiting.name], True
        if waiting.block is not None:
            waiting.block.after_sent(time_us, self._inputs(self._plan[self._index].names))

    def _hold_last(
        self, ahead: Ahead, holding: BlockSlot, rows: typing.Mapping[str, int],
        outbox: list[Output], heard: typing.Container[str],
    ) -> None:
        """Wait in the last of the steps for a block that has acted, and holds it."""
        ahead.end(is_held=True)
        for late in ahead.late:
            if rows[late.name] < rows[holding.name]:       # the others act from there on
                self._act(self._plan[rows[late.name]], outbox, heard)
        self._resume_at(rows[holding.name], is_unfinished=True)

    def _resume_at(self, index: int, *, is_unfinished: bool = False) -> None:
        """Let the blocks from a row of the plan on act as in any step.

        :param is_unfinished: the first of them has acted, and has its reply to come
        """
        self._index, self._is_unfinished = index, is_unfinished
        for row in self._plan[index + is_unfinished:]:
            row.slot.last_us, row.slot.next_us = self.time_us - row.slot.period_us, self.time_us

    def _act(self, row: _Row, outbox: list[Output], heard: typing.Container[str]) -> bool:
        """Let a block act in the step; return whether its outputs are there."""
        slot, full_name, names = row
        assert slot.block is not None, 'one that is stopped does not act'
        outputs = self._step(slot, slot.block, self.time_us, names)
        if outputs is None:
            return False
        if outputs is NO_OUTPUTS:
            self._withdraw(slot)
        self.values.update(outputs)
        if full_name in heard:
            outbox.append(_output_of(
                (self.time_us, slot.name, None if outputs is NO_OUTPUTS else outputs,
                 self.vehicle)))
        return True

    # What is due.

    def _plan_of(self, time_us: int) -> tuple[_Row, ...]:
        phase_us = time_us % self._cycle_us
        plan = self._plans.get(phase_us)
        if plan is None:
            if len(self._plans) == _PLANS_REMEMBERED:
                self._plans.clear()
            plan = self._plans[phase_us] = tuple(
                # What is of the step before is there in all but the first.
                _Row(slot, qualified(self.vehicle, slot.name), tuple(dict.fromkeys(
                    i.topic.value for i in slot.local
                    if i.is_held or i.delay_us or i.is_due(time_us))))
                for slot in self.slots.values() if is_due(time_us, slot.period_us))
        return plan

    # What others ask.

    @property
    def next_block(self) -> tuple[str, int]:
        """The block that is next or acts just now, and the time it acts for; '' at the end."""
        # Another thread asks: the step runs meanwhile.
        plan, index = self._plan, self._index
        return plan[index].slot.name if index < len(plan) else '', self.time_us

    def waits_for(self, name: str) -> tuple[int, dict[str, int]]:
        """Return the next time of a block, and what it still lacks with the last stamp of each."""
        slot = self.slots[name]
        time_us = slot.next_us
        lacking: dict[str, int] = {}
        if slot.synchronizer is not None:
            lacking = {n: slot.synchronizer.last_us[n] for n in sorted(slot.synchronizer.lacking)}
        # One that holds the step has begun it, and has put out nothing.
        unfinished = self._plan[self._index].slot if self._is_unfinished else None
        for i in slot.local:
            publisher = self.slots.get(i.topic.publisher)
            if publisher is None or not i.is_due(time_us):
                continue
            last_us = publisher.last_us - publisher.period_us * (publisher is unfinished)
            if last_us < time_us - i.delay_us:
                lacking[i.topic.name] = last_us or -1
        return time_us, lacking
