# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What blocks put out, as the messages that observers see."""
from __future__ import annotations

import typing

from std_msgs.msg import Header

from px4_sim_ros.messages import codecs
from px4_sim_ros.messages.codec import Codec, Encoder
from px4_sim_ros.messages.texts import TextEncoder
from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.step.graph import ABSENCE, Graph, qualified
from px4_sim_ros.step.lane import Output

_ABSENCE = Codec(
    lambda sensor: Header(frame_id=sensor), (), lambda sensor: (), lambda time_us, n, frame: frame)


class Publications:
    """Turns outputs into serialised messages."""

    def __init__(
        self, graph: Graph, world: WorldParameters, wanted: typing.Container[str] | None = None,
        vehicle: str = '',
    ) -> None:
        """Prepare for the topics of a graph.

        :param wanted: topics that somebody wants, under the names that they have here; it may
            change. None: all
        :param vehicle: the namespace of theirs, if the topics are to have it
        """
        self._wanted, self._absence = wanted, qualified(vehicle, ABSENCE)
        # By the topic that blocks know a value by: each topic that carries it, or a part of it.
        self._topics: dict[str, list[tuple[str, int, Encoder | TextEncoder]]] = {}
        for name, topic in graph.topics.items():
            self._topics.setdefault(topic.value, []).append(
                (qualified(vehicle, name), topic.period_us(world.step_us, world.periods_us),
                 codecs.encoder(topic)))
        self._absences = {sensor: Encoder(_ABSENCE) for sensor in graph.sensors}

    def of(self, output: Output) -> typing.Iterator[tuple[str, bytes]]:
        """Yield the topics and messages of an output."""
        time_us, block, values, _ = output
        wanted = self._wanted
        if values is None:
            if wanted is None or self._absence in wanted:
                yield self._absence, self._absences[block](time_us, block)
            return
        for value_name, value in values.items():
            for name, period_us, encode in self._topics[value_name]:
                if (wanted is None or name in wanted) and not time_us % period_us:
                    yield name, encode(time_us, value)
