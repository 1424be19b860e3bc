# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What blocks put out, as the messages that observers see."""
from __future__ import annotations

import typing

from std_msgs.msg import Header

from px4_sim_ros.messages import codecs
from px4_sim_ros.messages.cdr import NOTHING_BEFORE, Before, Packer
from px4_sim_ros.messages.codec import Codec, Encoder
from px4_sim_ros.messages.texts import TextEncoder
from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.step.block import Outputs
from px4_sim_ros.step.graph import ABSENCE, Graph, qualified
from px4_sim_ros.step.lane import Output

_ABSENCE = Codec(
    lambda sensor: Header(frame_id=sensor), (), lambda sensor: (), lambda time_us, n, frame: frame)


class AbsenceEncoder:
    """Makes the messages that sensors have no measurement."""

    def __init__(self, sensors: typing.Iterable[str], before: Before) -> None:
        self._encoders = {sensor: Encoder(_ABSENCE, before=before) for sensor in sensors}

    def __call__(self, time_us: int, sensor: str, before: tuple[int, ...] = ()) -> bytes:
        """Return a serialised message."""
        return self._encoders[sensor].packer(sensor)(time_us, sensor, before)

    def packer(self, sensor: str) -> Packer:
        """Return a maker of messages, for any sensor."""
        return self.__call__


class Publication(typing.NamedTuple):
    """A topic that carries a value, or a part of it."""

    topic: str                 # with the namespace of the vehicle
    period_us: int
    encode: Encoder | TextEncoder | AbsenceEncoder | codecs.SerialisedEncoder


def publications_of(
    graph: Graph, world: WorldParameters, vehicle: str = '', before: Before = NOTHING_BEFORE,
) -> dict[str, list[Publication]]:
    """Return by the topic that blocks know a value by which topics carry it."""
    found = {ABSENCE: [Publication(
        qualified(vehicle, ABSENCE), 1, AbsenceEncoder(graph.sensors, before))]}
    for name, topic in graph.topics.items():
        found.setdefault(topic.value, []).append(Publication(
            qualified(vehicle, name), topic.period_us(world.step_us, world.periods_us),
            codecs.encoder(topic, before)))
    return found


def values_of(output: Output) -> Outputs:
    """Return the values of an output; that of a sensor without a measurement is its name."""
    return {ABSENCE: output.block} if output.values is None else output.values


class Publications:
    """Turns outputs into serialised messages."""

    def __init__(
        self, graph: Graph, world: WorldParameters, wanted: typing.Container[str] | None = None,
        vehicle: str = '',
    ) -> None:
        """Prepare for the topics of a graph.

        :param wanted: topics with a subscriber, under the names that they have here; it may
            change. None: all
        :param vehicle: the namespace of theirs, if the topics are to have it
        """
        self._wanted, self._of = wanted, (graph, world, vehicle)
        self._topics = publications_of(graph, world, vehicle)
        self.periods_us = {
            its.topic: its.period_us for found in self._topics.values() for its in found}
        """How often each topic is due, by its name here."""

    def wanted_behind(self, before: Before) -> dict[str, list[Publication]]:
        """Return those that are wanted, whose messages have something before them."""
        return {name: [its for its in found if self._wanted is None or its.topic in self._wanted]
                for name, found in publications_of(*self._of, before).items()}

    def of(self, output: Output) -> typing.Iterator[tuple[str, bytes]]:
        """Yield the topics and messages of an output."""
        time_us, wanted = output.time_us, self._wanted
        for value_name, value in values_of(output).items():
            for name, period_us, encode in self._topics[value_name]:
                if (wanted is None or name in wanted) and not time_us % period_us:
                    yield name, encode(time_us, value)
