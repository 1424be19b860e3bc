# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How near the vehicles of a fleet come to each other, seen by the manager in each step."""
from __future__ import annotations

import typing

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription

from px4_sim_ros.messages import codecs, event_messages
from px4_sim_ros.model.encounters import Encounter, Encounters
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.framework.block_host import BlockHost
from px4_sim_ros.ros.framework.endpoints import NodeStatus
from px4_sim_ros.ros.framework.polling import PollingNode, taken
from px4_sim_ros.step import side_topics
from px4_sim_ros.step.graph import TOPICS
from px4_sim_ros.step.graph_vehicles import GraphVehicle

_TRUTH = TOPICS['ground_truth/odom']


class EncounterWatch:
    """Takes in where all vehicles are, by value or from their topics, and tells who meets whom.

    No step waits for it: what comes from another process is joined by its time when it is there.
    """

    def __init__(
        self, node: PollingNode, host: BlockHost, encounters: Encounters,
        publish_line: typing.Callable[[int, str, str], None],
    ) -> None:
        self._node, self._host, self._encounters = node, host, encounters
        self._publish_line = publish_line
        self._presences = host.runner.presences
        host.runner.on_places = self._add
        self._publisher = node.create_publisher(
            DiagnosticStatus, side_topics.ENCOUNTERS.name, qos.LATCHED_LOG)
        self._read = codecs.decoder(_TRUTH, lambda data: deserialize_message(data, Odometry))
        self._names: list[str] = []
        self._subscriptions: dict[str, Subscription] = {}          # by vehicle
        self._places: dict[int, dict[str, Vector]] = {}            # by time, while one is missing

    def open(self, members: typing.Sequence[GraphVehicle]) -> None:
        """Subscribe to the truth of the vehicles of other processes."""
        self._names = [member.vehicle for member in members]
        for member in members:
            name = self._node.resolve_topic_name(member.full(_TRUTH.name))
            if not self._host.hands_over(_TRUTH, name, member.vehicle):
                self._subscriptions[member.vehicle] = self._node.create_polled_subscription(
                    Odometry, name, qos.LOOP)

    def unmatched(self, vehicle: str, dynamics: NodeStatus, participant: str) -> str:
        """Return a sentence if the truth of a vehicle would not come from the first step on."""
        its = self._subscriptions.get(vehicle)
        if its is None or (its.get_publisher_count()
                           and participant in dynamics.matched.get(_TRUTH.name, ())):
            return ''
        return f'manager is not connected with dynamics on {_TRUTH.name}'

    def reset(self) -> None:
        """Forget the run."""
        self._take()
        self._places.clear()
        self._encounters.reset()

    def _add(
        self, times_us: typing.Sequence[int], places_enu: typing.Mapping[str, np.ndarray],
    ) -> None:
        """Take in where vehicles of this process were."""
        for vehicle, places in places_enu.items():
            for time_us, place in zip(times_us, places.tolist()):
                self._places.setdefault(time_us, {})[vehicle] = tuple(place)

    def look(self) -> None:
        """Look at the step that is complete, and at those before that were not all there."""
        self._take()
        for whole_us in sorted(t for t, its in self._places.items() if len(its) >= (
                self._presences.count(self._names, t))):
            places = self._places.pop(whole_us)
            for encounter in self._encounters.step(
                    whole_us, [places.get(name) for name in self._names]):
                self._tell(encounter)

    def _tell(self, encounter: Encounter) -> None:
        self._publisher.publish(event_messages.encounter_message(encounter))
        self._publish_line(
            encounter.time_us, encounter.text, f'{self._names[0]}.encounters')

    def _take(self) -> None:
        """Take in what has come from other processes."""
        for vehicle, subscription in self._subscriptions.items():
            for data in taken(subscription):
                truth = self._read(data)
                self._places.setdefault(truth.time_us, {})[vehicle] = truth.position_enu

    def end(self) -> None:
        """Tell the least distances: the run is over."""
        self._publisher.publish(event_messages.nearest_message(self._encounters.nearest()))
