# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Lays out the steps of vehicles as records of messages in an MCAP file."""
from __future__ import annotations

import typing

from px4_sim_ros.messages.cdr import Packer
from px4_sim_ros.messages.publications import publications_of, values_of
from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.recording.bag.channel import NS_PER_US, Channel
from px4_sim_ros.recording.bag.mcap_file import BEFORE_MESSAGE, MessageRecord
from px4_sim_ros.step.graph import Graph
from px4_sim_ros.step.lane import Output


class StepRecords:
    """Makes each record in one go, with the message in it."""

    def __init__(
        self, vehicles: typing.Mapping[str, tuple[Graph, WorldParameters]],
        channels: typing.Mapping[str, Channel],
    ) -> None:
        """Prepare for the topics of graphs.

        :param vehicles: by namespace: their graphs
        :param channels: by name of the topic, with the namespace before it
        """
        self._channels = channels
        # By vehicle and the topic that blocks know a value by.
        self._publications = {vehicle: publications_of(*its, vehicle, BEFORE_MESSAGE)
                              for vehicle, its in vehicles.items()}
        # The same of values that have come: where a message goes, how often, and what makes it.
        self._recorded: dict[str, dict[str, list[tuple[Channel, int, Packer]]]] = {
            vehicle: {} for vehicle in vehicles}

    def of(
        self, time_us: int, outputs: typing.Iterable[Output],
    ) -> typing.Iterator[MessageRecord]:
        """Yield the messages of a step that are recorded."""
        time_ns = time_us * NS_PER_US
        for output in outputs:
            _, _, values, vehicle = output
            recorded = self._recorded[vehicle]
            for name, value in (values or values_of(output)).items():
                if name not in recorded:
                    recorded[name] = [
                        (self._channels[its.topic], its.period_us, its.encode.packer(value))
                        for its in self._publications[vehicle][name]]
                for channel, period_us, packed in recorded[name]:
                    if not time_us % period_us and (number := channel.take()) is not None:
                        channel_id = channel.id
                        yield channel_id, packed(
                            time_us, value, (channel_id, number, time_ns, time_ns))
