# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Records outputs of blocks by value, in the process and in the thread that runs the steps."""
from __future__ import annotations

import contextlib
import functools
import math
import time
import typing

from px4_sim_ros.messages.cdr import Packer
from px4_sim_ros.messages.publications import publications_of, values_of
from px4_sim_ros.model.errors import sentence
from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.recording.bag.mcap_file import BEFORE_MESSAGE, MessageRecord
from px4_sim_ros.recording.bag.reader import Message
from px4_sim_ros.recording.bag.step_rows import Members, StepRows
from px4_sim_ros.recording.bag.writer import NS_PER_US, BagWriter, Channel
from px4_sim_ros.step.graph import COMMAND, Graph
from px4_sim_ros.step.lane import Output
from px4_sim_ros.step.presence import PresenceSchedule


class StepRecords:
    """Lays out steps as records of an MCAP file, each in one go with its message."""

    def __init__(
        self, vehicles: typing.Mapping[str, tuple[Graph, WorldParameters]],
        channels: typing.Mapping[str, Channel],
    ) -> None:
        self._channels = channels
        # By vehicle and the topic that blocks know a value by.
        self.publications = {vehicle: publications_of(*its, vehicle, BEFORE_MESSAGE)
                              for vehicle, its in vehicles.items()}
        # The same of values that have come: where a message goes, how often, and what makes it.
        self._recorded: dict[str, dict[str, list[tuple[Channel, int, Packer]]]] = {
            vehicle: {} for vehicle in vehicles}

    def of(
        self, time_us: int, outputs: typing.Iterable[Output],
    ) -> typing.Iterator[MessageRecord]:
        time_ns = time_us * NS_PER_US
        for output in outputs:
            _, _, values, vehicle = output
            recorded = self._recorded[vehicle]
            for name, value in (values or values_of(output)).items():
                if name not in recorded:
                    recorded[name] = [
                        (self._channels[its.topic], its.period_us, its.encode.packer(value))
                        for its in self.publications[vehicle][name]]
                for channel, period_us, packed in recorded[name]:
                    if not time_us % period_us and (number := channel.take()) is not None:
                        channel_id = channel.id
                        yield channel_id, packed(
                            time_us, value, (channel_id, number, time_ns, time_ns))


# Of wall time. What comes beside the steps gets the time of the last step, and is not to be late.
_BESIDE_EVERY_S = 0.025


class StepWriter:
    """Writes each step into a bag as soon as it is complete, from the outputs of blocks.

    The next step has been sent to the autopilot then, and to write one takes less than an answer.
    Several at once would take less each, but more together than there is time for.
    """

    def __init__(
        self, writer: BagWriter, graph: Graph, world: WorldParameters,
        on_failure: typing.Callable[[OSError], None],
        vehicles: typing.Mapping[str, tuple[Graph, WorldParameters]] | None = None,
        presences: PresenceSchedule | None = None,
    ) -> None:
        self._writer, self._on_failure = writer, on_failure
        # The clock is of no vehicle.
        self._records = StepRecords({'': (graph, world), **(vehicles or {})}, writer.channels)
        self._rows = StepRows(self._records.publications, writer.channels)
        self._vehicles = tuple(vehicles or ('',))
        self._presences = presences or PresenceSchedule()
        self._commands = 0                 # that have come of the step
        self._step: list[Output] = []      # that is not complete
        self._later: list[Message] = []    # of topics that were added, of that step
        self._is_open = True
        self.complete_us = 0       # up to which time all steps have come
        self.problem = ''          # why it has stopped writing, as a sentence

    @property
    def flushed_us(self) -> int:
        """Up to which time all is on disk."""
        return self._writer.flushed_us

    def send(self, outputs: typing.Iterable[Output]) -> None:
        """Write the steps that are complete; what belongs to the next waits for its end."""
        for output in outputs:
            time_us, _, values, _ = output
            if self._step and self._step[0].time_us < time_us:
                self._end_step()           # of a vehicle that has left in it
            self._step.append(output)
            if values is not None and COMMAND in values:
                self._commands += 1
            elif len(self._step) > 1:
                continue                   # the first may be the last without vehicles
            if self._commands == self._presences.count(self._vehicles, time_us):
                self._end_step()

    def rows_possible(self, members: Members, first_us: int, step_us: int, count: int) -> int:
        """Return how many of steps `send_rows` can write, from the first of them on."""
        if self._step or not self._is_open:
            return 0
        if self._later:        # which come right after their step
            count = min(count, max(1, (self._later[0].time_us - first_us) // step_us + 1))
        # Between two flushes of the file.
        flush_us = self._writer.flush_after_us(first_us)
        return self._rows.possible(
            members, first_us, step_us, min(count, (flush_us - first_us) // step_us + 1))

    def send_rows(
        self, members: Members, first_us: int, step_us: int, count: int, first_row: int,
    ) -> None:
        """Write steps that are complete, of which all numbers are in rows.

        :param first_row: that of the motion of the first of them
        """
        self.complete_us = first_us + (count - 1) * step_us
        try:
            self._writer.write_rows(first_us, self.complete_us, functools.partial(
                self._rows.of, members, first_us, step_us, count, first_row))
        except OSError as error:
            self._fail(error)
        self._write_later(self.complete_us)

    def _end_step(self) -> None:
        step, self._step = self._step, []
        self.complete_us, self._commands = step[0].time_us, 0
        if self._is_open:
            try:
                self._writer.write_all(
                    self.complete_us, self._records.of(self.complete_us, step))
            except OSError as error:
                self._fail(error)
            self._write_later(self.complete_us)

    def add(self, message: Message, type_name: str, definition: str) -> None:
        """Take a message of any topic, which is written when the step of its time is complete.

        :param definition: of its type, as `ros2msg`; '' if it is not known
        """
        if message.topic not in self._writer.channels:
            self._writer.add_topic(message.topic, type_name, definition)
        self._later.append(message)

    def _write_later(self, until_us: float) -> None:
        if self._later and self._later[0].time_us <= until_us:
            count = next((i for i, message in enumerate(self._later)
                          if message.time_us > until_us), len(self._later))
            messages, self._later = self._later[:count], self._later[count:]
            self.write(messages)

    def write(self, messages: typing.Iterable[Message]) -> None:
        """Write messages beside the steps, after those that are complete, if that is possible."""
        for message in messages:
            if self._is_open:
                try:
                    self._writer.write(*message)
                except OSError as error:
                    self._fail(error)

    def close(self) -> None:
        """Finish the bag; a second time nothing happens."""
        if not self._is_open:
            return
        self._write_later(math.inf)
        self._is_open = False
        try:
            self._writer.close()
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        """Note that the bag has ended, with its last flush."""
        self._is_open = False
        self.problem = self._writer.end_text(sentence(error))
        self._on_failure(error)


class StepBag(StepWriter):
    """A bag that is written while the autopilot works, a flush behind the steps at most."""

    is_writing = False

    def __init__(
        self, writer: BagWriter, graph: Graph, world: WorldParameters,
        gather: typing.Callable[[int], list[Message]], on_written: typing.Callable[[], None],
        vehicles: typing.Mapping[str, tuple[Graph, WorldParameters]] | None = None,
        presences: PresenceSchedule | None = None,
    ) -> None:
        super().__init__(
            writer, graph, world, lambda error: on_written(), vehicles, presences)
        self._gather, self._on_written = gather, on_written
        self._reported_us = -1
        self._gathered_s = 0.0
        self.busy_s = 0.0          # wall time that the steps have taken

    def send(self, outputs: typing.Iterable[Output]) -> None:
        """Write the steps that are complete, and now and then what there is beside them."""
        with self._counted():
            super().send(outputs)

    def send_rows(
        self, members: Members, first_us: int, step_us: int, count: int, first_row: int,
    ) -> None:
        """Write steps that are complete, and now and then what there is beside them."""
        with self._counted():
            super().send_rows(members, first_us, step_us, count, first_row)

    @contextlib.contextmanager
    def _counted(self) -> typing.Iterator[None]:
        started_s = time.perf_counter()
        yield
        # Steps that follow one another at once leave little time for others, such as `wake`.
        if started_s - self._gathered_s > _BESIDE_EVERY_S:
            self._gathered_s = started_s
            self._write_beside()
        self.busy_s += time.perf_counter() - started_s

    def wake(self) -> None:
        """Write what there is beside the steps, and report."""
        self._write_beside()
        if self._reported_us != self.complete_us:
            self._reported_us = self.complete_us
            self._on_written()

    def close(self) -> None:
        """Write what there is beside the steps, and finish the bag; `problem` has a failure."""
        self._write_beside()
        super().close()

    def _write_beside(self) -> None:
        self.write(self._gather(self.complete_us))
