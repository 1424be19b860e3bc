# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Publishers, subscriptions and services of PX4's own, known only when PX4 names them."""
from __future__ import annotations

import importlib
import importlib.util
import time
import typing

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.service import Service as RosService
from rclpy.subscription import Subscription
from rclpy.topic_endpoint_info import TopicEndpointInfo

from px4_sim_ros.link.xrce.session import Refusal, Service, Topic
from px4_sim_ros.messages.px4_definitions import Px4Definitions
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.framework.polling import PollingNode, requests, taken
from px4_sim_ros.ros.framework.raw_types import raw_class, raw_service

# Wall time. Who joins is seen so soon.
REFRESHED_EVERY_S = 0.02
# Each publisher fits, and a handler of events takes as long to go as a topic.
_NO_EVENTS = SubscriptionEventCallbacks(use_default_callbacks=False)
# How the hash of a type begins, where an endpoint has one, and how much of it is shown.
_HASH, _HASH_SHOWN = 'RIHS01_', 16


class Px4Gateway:
    """Hands messages on as the bytes that they are."""

    def __init__(
        self, node: PollingNode, definitions: Px4Definitions,
        begin: typing.Callable[[int], None] = lambda time_us: None,
        repeat_time: typing.Callable[[], None] = lambda: None,
    ) -> None:
        """Begin without topics.

        :param definitions: of messages of which no class is installed
        :param begin: is given the time of each step before anything is awaited in it
        :param repeat_time: publishes that again
        """
        self._node, self._definitions, self.begin = node, definitions, begin
        self._repeat_time = repeat_time
        self._publishers: dict[str, Publisher] = {}
        self._last: dict[str, bytes] = {}          # of each publisher
        self._heard: dict[str, int] = {}           # publishers with subscribers, and how many
        self._subscriptions: dict[str, Subscription] = {}
        self._spoken: list[tuple[str, Subscription]] = []      # those with publishers
        self._services: dict[str, RosService] = {}
        self._has_clients = False                  # of services
        self._refreshed_s = 0.0
        self._types: dict[str, str] = {}           # of all topics here
        self._peers: dict[str, int] = {}           # how many have been looked at, by topic
        self.on_mismatch: typing.Callable[[str], None] = lambda sentence: None
        """Is given a sentence about a definition that is not PX4's, or not known."""

    def close(self) -> None:
        """Make an end of all topics."""
        for publisher in self._publishers.values():
            self._node.destroy_publisher(publisher)
        for subscription in self._subscriptions.values():
            self._node.destroy_subscription(subscription)
        for service in self._services.values():
            self._node.destroy_service(service)
        self._services.clear()
        self._publishers.clear()
        self._subscriptions.clear()
        self._spoken.clear()
        self._heard.clear()

    # From PX4.

    def announce(self, topic: Topic) -> None:
        """Make a publisher of a topic of PX4."""
        if topic.name not in self._publishers:
            self._publishers[topic.name] = _made(
                self._node.create_publisher, self._class_of(topic), topic.name, qos.OF_PX4)
            self._refreshed_s = 0.0

    def publish(self, topic: Topic, data: bytes) -> None:
        """Publish a message of PX4 if a node listens; a late one gets the last."""
        self._last[topic.name] = data
        if topic.name in self._heard:
            self._publishers[topic.name].handle.publish_raw(data)

    @property
    def heard(self) -> typing.Container[str]:
        """The topics of PX4 to which nodes listen."""
        return self._heard

    @property
    def is_spoken_to(self) -> bool:
        """Whether nodes may send to PX4."""
        return bool(self._spoken) or self._has_clients

    def repeat(self, names: typing.Iterable[str]) -> None:
        """Publish the time and the last messages of topics again."""
        self._repeat_time()
        for name in names:
            if name in self._last:
                self._publishers[name].handle.publish_raw(self._last[name])

    # To PX4.

    def listen(self, topic: Topic) -> None:
        """Take what is published on a topic to PX4 from now on."""
        if topic.name not in self._subscriptions:
            self._subscriptions[topic.name] = _made(
                self._node.create_polled_subscription, self._class_of(topic), topic.name,
                qos.TO_PX4, event_callbacks=_NO_EVENTS)
            self._refreshed_s = 0.0

    def take(self) -> typing.Iterator[tuple[str, bytes]]:
        """Yield the messages that have come, by topic."""
        self.refresh()
        for name, subscription in self._spoken:
            for data in taken(subscription):
                yield name, data

    def missing(self, names: typing.Iterable[str]) -> list[str]:
        """Return those topics that no node publishes yet."""
        found = []
        for name in names:
            if name not in self._subscriptions:
                known = self._node.get_publishers_info_by_topic(name)
                if known:
                    self.listen(Topic(name, known[0].topic_type))
            subscription = self._subscriptions.get(name)
            if subscription is None or not subscription.get_publisher_count():
                found.append(name)
        return found

    @property
    def is_matched(self) -> bool:
        """Whether each publisher knows all subscribers that are there."""
        return all(
            publisher.get_subscription_count() >= self._node.count_subscribers(name)
            for name, publisher in self._publishers.items())

    def publishers(self, name: str) -> str:
        """Return which nodes publish a topic, for the user."""
        return publishers_text(self._node, name)

    # Services.

    def offer(self, service: Service) -> None:
        """Offer a service of PX4, if its definition is known."""
        if service.name in self._services:
            return
        lengths = self._definitions.service_bytes(service.type)
        if lengths is None:
            raise Refusal('a service of which no definition is known; set px4_topics.messages to'
                          ' the folder msg of this PX4', detail=service.name)
        try:
            kind = raw_service(service.type, *lengths)
        except ParameterError as error:
            raise Refusal(f'a service: {error}', detail=service.name) from error
        self._services[service.name] = _made(self._node.create_polled_service, kind, service.name)

    def requests(self) -> typing.Iterator[tuple[str, bytes, typing.Any]]:
        """Yield the requests that have come, by service, each with where its answer goes."""
        for name, service in self._services.items():
            for request, header in requests(service):
                yield name, request.data, header

    def answer(self, name: str, header: typing.Any, data: bytes) -> None:
        """Answer a request."""
        service: typing.Any = self._services[name]
        response = service.srv_type.Response()
        response.data = data
        service.send_response(response, header)

    # Both.

    def refresh(self) -> None:
        """See now and then who listens, and who speaks."""
        now_s = time.monotonic()
        if now_s - self._refreshed_s <= REFRESHED_EVERY_S:
            return
        self._refreshed_s = now_s
        for name, publisher in self._publishers.items():
            count, before = publisher.get_subscription_count(), self._heard.pop(name, 0)
            self._look_at_peers(name, count, self._node.get_subscriptions_info_by_topic)
            if count:
                self._heard[name] = count
                if count > before and name in self._last:
                    publisher.handle.publish_raw(self._last[name])
        self._has_clients = any(map(self._node.count_clients, self._services))
        spoke = {name for name, _ in self._spoken}
        self._spoken = []
        for name, subscription in self._subscriptions.items():
            count = subscription.get_publisher_count()
            self._look_at_peers(name, count, self._node.get_publishers_info_by_topic)
            if count or name in spoke:        # also what one that has left has said last
                self._spoken.append((name, subscription))

    def _look_at_peers(
        self, name: str, count: int,
        infos: typing.Callable[[str], typing.Iterable[TopicEndpointInfo]],
    ) -> None:
        """See whether new peers of a topic have the definition of its type that PX4 has."""
        if count <= self._peers.get(name, 0):
            self._peers[name] = count
            return
        self._peers[name] = count
        ours = self._definitions.type_hash(self._types[name])
        others = {f"{info.node_namespace.rstrip('/')}/{info.node_name}": theirs
                  for info in infos(name)
                  if (theirs := str(info.topic_type_hash)).startswith(_HASH) and theirs != ours}
        if ours and others:
            node, theirs = next(iter(others.items()))
            sentence = (
                f'{name}: {node} has another {self._types[name]} than this PX4'
                f' ({theirs[:_HASH_SHOWN]}, not {ours[:_HASH_SHOWN]}); build its px4_msgs from the'
                ' messages of this PX4')
            self.on_mismatch(sentence)

    def _class_of(self, topic: Topic) -> type:
        """Return a class that bytes can be handed on with: PX4's, whatever is installed."""
        self._types[topic.name] = topic.type
        type_hash = self._definitions.type_hash(topic.type)
        try:
            return raw_class(topic.type, type_hash)
        except ParameterError:
            package, kind, name = topic.type.split('/')
            if importlib.util.find_spec(package) is None:
                raise
            return typing.cast('type', getattr(importlib.import_module(f'{package}.{kind}'), name))


def _made(make: typing.Callable, kind: type, name: str, *how: object, **more: object) -> typing.Any:
    """Make one end of a topic.

    :raises Refusal: ROS does not take it: a topic of its name has another type here
    """
    try:
        return make(kind, name, *how, **more)
    except _rclpy.RCLError as error:
        raise Refusal('a topic that ROS does not take', detail=f'{name}: {error}') from error


def publishers_text(node: Node, name: str) -> str:
    """Return which nodes publish a topic."""
    names = sorted({f"{info.node_namespace.rstrip('/')}/{info.node_name}"
                    for info in node.get_publishers_info_by_topic(name)})
    return ', '.join(names) or 'no node'
