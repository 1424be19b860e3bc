# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The block `px4_topics`: PX4's own ROS 2 topics, as a part of the step.

It is the agent of PX4's uXRCE-DDS client. What PX4 says in a step is read when its reply to the
step has come, before the next one begins; what is for PX4 is sent before the frames of a step.
"""
from __future__ import annotations

import dataclasses
import sys
import time
import typing

from px4_sim_ros.link.ports import LOCAL, check_port_is_free
from px4_sim_ros.link.xrce.agent import Agent
from px4_sim_ros.link.xrce.inbox import Awaited, Delivery, Inbox
from px4_sim_ros.link.xrce.session import IDENTITY_BYTES, Message, Refusal, Service, Topic
from px4_sim_ros.model.errors import ParameterError, shown
from px4_sim_ros.model.parameters import Parameters, parameter
from px4_sim_ros.model.timebase import seconds_text
from px4_sim_ros.px4.sitl import AGENT_PORT
from px4_sim_ros.step.block import Block, BlockConfiguration, BlockStatus, Inputs, Outputs

# Wall time: of a turn of waiting, in which others of the process have none; between two looks for
# a message that is awaited; and after which it is said what is waited for.
_TURN_S, _SHORTEST_S, _LONGEST_S, _SAID_AFTER_S = 0.02, 2e-5, 1e-3, 1.0
# Wall time in which DDS matches both sides of a topic that one of them knows of.
_MATCHED_S = 0.5
_CDR = b'\x00\x01\x00\x00'         # the encapsulation header: little endian


@dataclasses.dataclass(frozen=True)
class TopicsParameters(Parameters):
    """Where the client of a PX4 finds its agent, and what it waits for."""

    instance: int = parameter(
        'PX4 instance, whose client has the key instance + 1', minimum=0, maximum=99)
    port: int = parameter(
        'UDP port; 0: 8888 + instance, which a PX4 that is started here gets', minimum=0,
        maximum=65535)
    awaited: str = parameter(
        'topics to PX4 on which a message with the time of the step has to come, separated by'
        ' spaces: trajectory_setpoint is /fmu/in/trajectory_setpoint; with :vehicle_odometry behind'
        ' it, one that answers each message of /fmu/out/vehicle_odometry, with its stamp; empty:'
        ' none')
    awaited_period_us: int = parameter(
        'how often one has to come on each of them', 'us', minimum=100)
    awaited_from_us: int = parameter(
        'the simulated time after which something is awaited; the step of that time waits until'
        ' each of these topics has a publisher', 'us', minimum=0)
    messages: str = parameter(
        'folder of the definitions of PX4\'s messages; empty: that of the PX4 that is started, or'
        ' an installed px4_msgs')

    @property
    def its_port(self) -> int:
        return self.port or AGENT_PORT + self.instance

    @property
    def awaited_topics(self) -> list[Awaited]:
        """The awaited topics, as PX4 names them."""
        found = []
        for words in self.awaited.split():
            name, _, answers = words.partition(':')
            found.append(Awaited(
                self._full('in', name), self._full('out', answers) if answers else ''))
        return found

    def _full(self, way: str, name: str) -> str:
        namespace = f'/px4_{self.instance}' if self.instance else ''
        return name if name.startswith('/') else f'{namespace}/fmu/{way}/{name}'

    def check_step(self, step_us: int) -> None:
        """Check that there is a step for each message that is awaited."""
        if self.awaited_period_us < step_us:
            raise ParameterError(
                f'px4_topics.awaited_period_us = {shown(self.awaited_period_us)}: must be at least'
                f' step_us = {step_us}')


TopicListener = typing.Callable[[int, Topic, bytes], None]
"""Is given each message from and to PX4 with the time of its step, as CDR."""


class Ros(typing.Protocol):
    """What joins the block with ROS."""

    on_mismatch: typing.Callable[[str], None]
    """Is given a sentence about a node with another definition of a type than PX4's."""

    def begin(self, time_us: int) -> None:
        """Record that a step begins."""

    def announce(self, topic: Topic) -> None:
        """Prepare for messages of PX4 on a topic.

        :raises Refusal: ROS does not take it; the same for `listen` and `offer`
        """

    def publish(self, topic: Topic, data: bytes) -> None:
        """Publish a message of PX4."""

    @property
    def heard(self) -> typing.Container[str]:
        """The topics of PX4 to which nodes listen."""

    @property
    def is_spoken_to(self) -> bool:
        """Whether nodes may send to PX4."""

    def refresh(self) -> None:
        """See now and then who listens, and who speaks."""

    def repeat(self, names: typing.Iterable[str]) -> None:
        """Publish the time and the last messages of topics of PX4 again."""

    def listen(self, topic: Topic) -> None:
        """Take what is published on a topic to PX4 from now on."""

    def take(self) -> typing.Iterable[tuple[str, bytes]]:
        """Return the messages that have come, by topic."""

    def missing(self, names: typing.Iterable[str]) -> list[str]:
        """Return those topics that no node publishes yet."""

    @property
    def is_matched(self) -> bool:
        """Whether all who listen to PX4 hear what is published."""

    def publishers(self, name: str) -> str:
        """Return which nodes publish a topic, for the user."""

    def offer(self, service: Service) -> None:
        """Offer a service of PX4."""

    def requests(self) -> typing.Iterable[tuple[str, bytes, typing.Any]]:
        """Return the requests that have come, by service, each with where its answer goes."""

    def answer(self, name: str, header: typing.Any, data: bytes) -> None:
        """Answer a request."""


class Px4TopicsBlock(Block):
    """Speaks with the client of one PX4."""

    def __init__(self, configuration: BlockConfiguration[TopicsParameters]) -> None:
        """See that the port is free."""
        super().__init__(configuration)
        p = self._parameters = configuration.parameters
        self._inbox = Inbox(p.awaited_topics, p.awaited_period_us, configuration.world.step_us,
                            p.awaited_from_us)
        self._agent: Agent | None = None
        # What the host sets, before `reset`.
        self.ros: Ros | None = None
        """None: no node listens or sends."""
        self.record: TopicListener = lambda time_us, topic, data: None
        check_port_is_free('UDP', LOCAL, p.its_port)
        self._begin()

    def _begin(self) -> None:
        self._inbox.reset()
        self._made_known = 0                   # how many objects of PX4 ROS has heard of
        self._not_taken: set[Topic | Service] = set()      # by ROS
        self._is_new = False                   # the last of them; who listens may not hear it yet
        self._time_us = 0                      # of the last step that is complete
        self._begun_us = 0                     # of the last one that ROS knows of
        self._untold: list[Message] = []       # of PX4, that end steps taken at once
        self._nodes_heard = False              # something, since they were awaited last
        self._is_waiting = False
        self._repeats_at_s = 0.0               # wall time
        self._there_since_s = time.monotonic()
        self._has_said = False
        self._calls: dict[bytes, typing.Any] = {}      # where answers go, by what comes back
        self._called = 0
        self.counts = {'from_px4': 0, 'to_px4': 0}

    def reset(self) -> None:
        """Wait for the client of another PX4.

        :raises PortTakenError: the port is taken
        """
        self._begin()
        if self._agent is None:
            self._agent = Agent(self._parameters.its_port)
            self._agent.on_refusal = lambda sentence: self.log(True, sentence)
        self._agent.expect(self._parameters.instance)
        if self.ros is not None:
            self.ros.on_mismatch = lambda sentence: self.log(True, sentence)

    def begin_again(self, time_us: int) -> None:
        """Wait for another PX4, while time runs on."""
        self.reset()
        self._time_us, self._begun_us = time_us, time_us - self.configuration.world.step_us

    @property
    def agent(self) -> Agent:
        """The agent; there is one from `reset` to `close`."""
        assert self._agent is not None, 'reset comes before the first step'
        return self._agent

    # The step.

    def step(self, time_us: int, inputs: Inputs) -> Outputs | None:
        """Hand over what is for PX4; None while something is awaited."""
        self._hear()            # what an autopilot on another core has said after its reply
        self.took_steps(time_us)
        self._repeats_at_s, self._has_said = time.monotonic() + _SAID_AFTER_S, False
        self._there_since_s = time.monotonic()
        return self._hand_over(time_us)

    def next_act_us(self, due_us: int) -> int:
        """Return when it hands over something next, as far as that is known.

        What a node has heard it takes in while steps are taken one by one: the time at which it
        acts does not come at once behind that.
        """
        if self.ros is None:
            return sys.maxsize
        if self._inbox.awaited:
            return due_us if self._is_new or self._nodes_heard else self._inbox.next_act_us(due_us)
        return due_us if self.ros.is_spoken_to else sys.maxsize

    def finish(self, time_us: int) -> Outputs | None:
        """Wait a while for what is awaited."""
        deadline_s, pause_s = time.monotonic() + _TURN_S, _SHORTEST_S
        while (outputs := self._hand_over(time_us)) is None:
            now_s = time.monotonic()
            if now_s > self._repeats_at_s:
                self._repeats_at_s = now_s + _SAID_AFTER_S
                self._repeat()
            if now_s > deadline_s:
                return None
            time.sleep(pause_s)
            pause_s = min(2.0 * pause_s, _LONGEST_S)
        return outputs

    def _repeat(self) -> None:
        """Say once what is awaited, and publish again what the node may have lost."""
        if not self._has_said and (sentence := self.holds()):
            self._has_said = True
            self.log(True, sentence)
        if self.ros is not None:
            self._inbox.may_repeat = True
            self.ros.repeat(self._inbox.answered)

    def _hand_over(self, time_us: int) -> Outputs | None:
        inbox = self._inbox
        if self.ros is not None:
            for name, data in self.ros.take():
                inbox.put(time_us, name, data[len(_CDR):])
            for name, data, header in self.ros.requests():
                inbox.put(time_us, name, data, header)
            if inbox.awaited:
                self._waited_us = time_us
                self._is_new = self._is_new and not self.ros.is_matched
                lacking = inbox.awaited_us(time_us)
                if inbox.begins_at(time_us):
                    self._is_waiting = not self._is_there(self.ros.missing(inbox.awaited))
                else:
                    self._is_waiting = bool(lacking)
                    self._let_go(self.ros.missing(lacking))
                if self._is_waiting or self._is_new:
                    return None
        if inbox.is_due(time_us):
            self._nodes_heard = False
        for delivery in inbox.take(time_us):
            self._send(time_us, delivery)
        return {}

    def _is_there(self, missing: list[str]) -> bool:
        """Return whether what the nodes publish first will be heard.

        DDS lets each side know by itself that they are matched, and not that the other one does.
        """
        now_s = time.monotonic()
        if missing:
            self._there_since_s = now_s
        return not missing and now_s - self._there_since_s > _MATCHED_S

    def _let_go(self, names: typing.Iterable[str]) -> None:
        """Wait no longer for nodes that have left; what they have said last is read once more."""
        for name in names:
            self._inbox.release(name)
            sentence = f'{name} is awaited no longer: the node that has published it has left'
            self.log(True, sentence)

    def _send(self, time_us: int, delivery: Delivery) -> None:
        session = self.agent.session(self._parameters.instance)
        _, name, data, header = delivery
        if session is None or (name not in session.into and name not in session.services):
            return
        try:
            datagram = (session.data(name, data) if header is None
                        else session.request(name, self._identity(header), data))
        except Refusal as error:
            self.agent.count(error)
            return
        if datagram:
            self.agent.send(self._parameters.instance, datagram)
            self.counts['to_px4'] += 1
            # The request of a service of PX4 is the message of its name.
            topic = session.into[name] if header is None else Topic(
                name, session.services[name].type.replace('/srv/', '/msg/'))
            self.record(time_us, topic, _CDR + data)

    def _identity(self, header: typing.Any) -> bytes:
        """Return the identity of a request, which its answer has as well."""
        self._called += 1
        identity = self._called.to_bytes(IDENTITY_BYTES, 'little')
        self._calls[identity] = header
        return identity

    def after_reply(self, time_us: int) -> None:
        """Take in what PX4 has said in a step, once it has replied to it."""
        self._time_us = time_us
        self._hear()

    @property
    def number(self) -> int:
        """The number of the socket of PX4's client."""
        return self.agent.number

    def hear_ahead(self, time_us: int) -> bool:
        """Do the same within steps taken at once; return whether they end, for a node to hear."""
        self._time_us = time_us
        self._untold += self.agent.take(self._parameters.instance)
        session = self.agent.session(self._parameters.instance)
        if self.ros is not None and (
                (session is not None and session.created != self._made_known)
                or any(self._is_heard(message) for message in self._untold)):
            return True
        self._tell()
        return False

    def took_steps(self, last_us: int) -> None:
        """Let ROS know of the steps up to one, of which some may have been taken at once."""
        if self.ros is not None:
            step_us = self.configuration.world.step_us
            for time_us in range(self._begun_us + step_us, last_us + 1, step_us):
                self.ros.begin(time_us)
            self.ros.refresh()
        self._begun_us = last_us

    def _is_heard(self, message: Message) -> bool:
        """Return whether a node takes in a message of PX4."""
        name = message.topic.name
        return isinstance(message.topic, Service) or name in self._inbox.answered or (
            self.ros is not None and name in self.ros.heard)

    def _hear(self) -> None:
        self._untold += self.agent.take(self._parameters.instance)
        self._tell()

    def _tell(self) -> None:
        ros, answered = self.ros, self._inbox.answered
        messages, self._untold = self._untold, []
        if ros is not None:
            self._make_known(ros)
        for message in messages:
            topic, data, identity = message
            if topic in self._not_taken:
                continue
            self._nodes_heard = self._nodes_heard or self._is_heard(message)
            if isinstance(topic, Service):
                header = self._calls.pop(identity, None)
                if ros is not None and header is not None:
                    ros.answer(topic.name, header, data)
                continue
            self.counts['from_px4'] += 1
            data = _CDR + data
            self.record(self._time_us, topic, data)
            if ros is not None:
                if topic.name in answered:
                    self._inbox.ask(topic.name, data[len(_CDR):])
                ros.publish(topic, data)

    def _make_known(self, ros: Ros) -> None:
        """Let ROS know what PX4 subscribes to, as soon as it does."""
        session = self.agent.session(self._parameters.instance)
        if session is None or session.created == self._made_known:
            return
        self._made_known, self._is_new = session.created, True
        ends: list[tuple[typing.Callable[[typing.Any], None], typing.Iterable[Topic | Service]]] = [
            (ros.announce, session.out.values()), (ros.listen, session.into.values()),
            (ros.offer, session.services.values())]
        for make, topics in ends:
            for topic in topics:
                if topic not in self._not_taken:
                    try:
                        make(topic)
                    except Refusal as error:
                        self._not_taken.add(topic)
                        self.agent.count(error)

    # What others ask.

    def holds(self) -> str:
        """Return a sentence about a message that is awaited, '' for none."""
        if not self._is_waiting or self.ros is None:
            return ''
        if missing := self.ros.missing(self._inbox.awaited):
            return f'no node publishes {missing[0]}, which is awaited'
        for name, stamp_us in self._inbox.awaited_us(self._waited_us).items():
            return (f'{self.ros.publishers(name)} has not published {name} for'
                    f' t = {seconds_text(stamp_us)}, which is awaited;'
                    f' {self._inbox.last_text(name, self._waited_us)}')
        return ''

    def abort(self) -> None:
        """Wait no longer."""
        self._is_waiting = False

    def close(self) -> None:
        """Free the port."""
        if self._agent is not None:
            self._agent.close()
            self._agent = None

    def values(self) -> dict[str, object]:
        """Return its report in numbers, also after it was closed."""
        gap = self._inbox.gap
        return {**self.counts, **(gap.values() if gap is not None else {})}

    def status(self) -> BlockStatus | None:
        """Return whether PX4 has connected, and the counters."""
        if self._agent is None:
            return None
        session = self._agent.session(self._parameters.instance)
        topics = {} if session is None else {
            'topics_from_px4': len(session.out), 'topics_to_px4': len(session.into)}
        return BlockStatus(False, '', topics | self.values())
