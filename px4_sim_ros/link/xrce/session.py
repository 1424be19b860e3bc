# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The agent's side of one XRCE client: what it has created, and what answers it.

DDS-XRCE 1.0 as far as PX4's client uses it. A datagram is a header (session, stream, sequence
number) and submessages (id, flags, length, payload), little endian. The payload of a topic is its
CDR without the encapsulation header, so that no message is ever converted. Nothing here knows a
socket or a clock.
"""
from __future__ import annotations

import struct
import typing

_LONGEST = 80
# ROS takes 247 with the namespace of a service's parts.
_LONGEST_NAME = 200


class Refusal(Exception):
    """Something that PX4's client does not send, or cannot take."""

    def __init__(self, kind: str, status: int = 0, detail: str = '') -> None:
        """Name it.

        :param kind: is reported once, however often it comes
        :param status: what a client is answered that has asked for it; 0: that its data is invalid
        :param detail: of this one
        """
        shown = ''.join(filter(str.isprintable, detail))[:_LONGEST]
        super().__init__(f'{kind} ({shown})' if shown else kind)
        self.kind, self.status = kind, status


(CREATE_CLIENT, CREATE, GET_INFO, DELETE, STATUS_AGENT, STATUS, INFO, WRITE_DATA, READ_DATA, DATA,
 ACKNACK, HEARTBEAT, RESET, FRAGMENT, TIMESTAMP, TIMESTAMP_REPLY) = range(16)
_NAMES = ('CREATE_CLIENT', 'CREATE', 'GET_INFO', 'DELETE', 'STATUS_AGENT', 'STATUS', 'INFO',
          'WRITE_DATA', 'READ_DATA', 'DATA', 'ACKNACK', 'HEARTBEAT', 'RESET', 'FRAGMENT',
          'TIMESTAMP', 'TIMESTAMP_REPLY')
# Streams: none, best effort from 1 on, reliable from 0x80 on. PX4 has one of each.
NONE, BEST_EFFORT, RELIABLE = 0, 1, 0x80
_LITTLE_ENDIAN, _LAST_FRAGMENT, _FORMAT = 0x01, 0x02, 0x0E
# Kinds of objects, the last four bits of their ids.
_PARTICIPANT, _TOPIC, _PUBLISHER, _SUBSCRIBER, _WRITER, _READER, _REPLIER = 1, 2, 3, 4, 5, 6, 8
_KINDS = {7: 'REQUESTER', 9: 'TYPE', 10: 'TYPE', 11: 'QOSPROFILE', 12: 'APPLICATION'}
_IN_BINARY = 3
_OK, _UNKNOWN_REFERENCE, _INVALID_DATA = 0, 0x84, 0x85
CLIENT, _WHOLE_CLIENT = b'\xff\xfe', b'\xff\xff'
COOKIE, VERSION, VENDOR = b'XRCE', b'\x01\x00', b'\x01\x0f'
_MTU = 512
"""What PX4's client can take in one datagram."""
_MOST_FRAGMENTS = 64
IDENTITY_BYTES = 24                # of a SampleIdentity, before the message of a service

_HEADER, _SUBHEADER = struct.Struct('<BBH'), struct.Struct('<BBH')
HEADER_BYTES = _HEADER.size
_HEADERS = struct.Struct('<BBHBBH')
_ACKNACK = struct.Struct('<HBBB')
_HEARTBEAT = struct.Struct('<HHB')


class Topic(typing.NamedTuple):
    """A topic as ROS names it."""

    name: str              # absolute
    type: str              # `package/msg/Name`


class Service(typing.NamedTuple):
    """A service that PX4 offers."""

    name: str
    type: str              # `package/srv/Name`


class Message(typing.NamedTuple):
    topic: Topic | Service
    data: bytes            # CDR without the encapsulation header; of a service its answer
    identity: bytes = b''  # of the request that this answers


class Session:
    """One client, from its CREATE_CLIENT on."""

    def __init__(self, key: bytes, number: int) -> None:
        """Begin without topics.

        :param key: of the client; PX4's is its instance + 1
        :param number: that the client gives the session
        """
        self.key, self.number = key, number
        self.out: dict[bytes, Topic] = {}      # what PX4 publishes, by the id of its data writer
        self.into: dict[str, Topic] = {}       # what PX4 subscribes to, by name
        self.services: dict[str, Service] = {}
        self.created = 0                       # how many of these by now
        self._topics: dict[bytes, Topic] = {}
        self._types: dict[str, str] = {}       # of those that are written and read, by name
        self._readers: dict[bytes, Topic | Service] = {}
        self._wanted: dict[str, bytes] = {}    # by name: request and object, before each message
        self._expected = 0                     # on the reliable stream
        self._fragments: list[bytes] = []
        self._best_effort = self._reliable = 0         # sequence numbers that were sent
        self._unconfirmed: dict[int, bytes] = {}       # on the reliable stream
        self._answers: list[bytes] = []
        self._messages: list[Message] = []

    # What comes.

    def take(self, data: bytes) -> None:
        """Take in a datagram; `pending` has those that answer it, and messages of PX4.

        :raises Refusal: there is something in it that PX4's client does not send; all before it
            was taken in
        """
        _, stream, number = _HEADER.unpack_from(data)
        self._answers, self._messages = [], []
        if stream < RELIABLE:
            self._take_all(data, HEADER_BYTES)
        else:
            is_next = number == self._expected
            if is_next:
                self._expected = (self._expected + 1) & 0xffff
            try:
                if is_next:
                    self._take_all(data, HEADER_BYTES)
            finally:
                self._confirm(stream, number)

    @property
    def pending(self) -> tuple[list[bytes], list[Message]]:
        """What the last datagram has led to: answers, and messages of PX4."""
        return self._answers, self._messages

    def _confirm(self, stream: int, announced: int) -> None:
        """Answer that all is there up to the one that is expected; what is later is to be repeated.

        PX4 repeats all that was not confirmed as soon as one is missing.
        """
        lacks = 0 <= (announced - self._expected) & 0xffff < 0x8000
        self._answer(ACKNACK, _ACKNACK.pack(self._expected, 0, int(lacks), stream))

    def _take_all(self, data: bytes, at: int) -> None:
        """Take in submessages, each of which begins at a multiple of four bytes."""
        while at + _SUBHEADER.size <= len(data):
            kind, flags, length = _SUBHEADER.unpack_from(data, at)
            at += _SUBHEADER.size
            if kind not in _LEAST:
                raise Refusal('a submessage that PX4 does not send', detail=_name(kind))
            if at + length > len(data):
                raise Refusal(f'{_name(kind)} that is cut off')
            if not flags & _LITTLE_ENDIAN:
                raise Refusal(f'{_name(kind)} in big endian')
            self._take(kind, flags, data[at:at + length])
            at += length
            at += -at % 4

    def _take(self, kind: int, flags: int, payload: bytes) -> None:
        if len(payload) < _LEAST[kind]:
            raise Refusal(f'{_name(kind)} that is too short')
        if kind == WRITE_DATA:
            self._write(flags, payload)
        elif kind == FRAGMENT:
            self._gather(flags, payload)
        elif kind == CREATE:
            self._create(payload)
        elif kind == READ_DATA:
            self._read(payload)
        elif kind == DELETE:
            self._delete(payload)
        elif kind == HEARTBEAT:
            _, last, stream = _HEARTBEAT.unpack_from(payload)
            self._confirm(stream, last)
        elif kind == ACKNACK:
            self._repeat(payload)
        elif kind == TIMESTAMP:
            # The agent has the client's own time: the offset is 0.
            self._answer(TIMESTAMP_REPLY, payload[:8] * 3)

    def _gather(self, flags: int, payload: bytes) -> None:
        self._fragments.append(payload)
        if flags & _LAST_FRAGMENT:
            whole, self._fragments = b''.join(self._fragments), []
            self._take_all(whole, 0)
        elif len(self._fragments) == _MOST_FRAGMENTS:
            self._fragments = []
            raise Refusal(f'a message of more than {_MOST_FRAGMENTS} fragments')

    def _write(self, flags: int, payload: bytes) -> None:
        if flags & _FORMAT:
            raise Refusal('WRITE_DATA in another format than DATA')
        object_id = payload[2:4]
        topic = self.out.get(object_id)
        if topic is not None:
            self._messages.append(Message(topic, payload[4:]))
            return
        service = self._readers.get(object_id)
        if not isinstance(service, Service):
            raise Refusal('WRITE_DATA of a data writer that was not created')
        if len(payload) < 4 + IDENTITY_BYTES:
            raise Refusal('WRITE_DATA that is too short')
        self._messages.append(Message(
            service, payload[4 + IDENTITY_BYTES:], payload[4:4 + IDENTITY_BYTES]))

    def _create(self, payload: bytes) -> None:
        status = _OK
        why: Refusal | None = None
        try:
            self._make(payload[2:4], payload[4], payload)
        except Refusal as error:
            status, why = error.status or _INVALID_DATA, error
        self._answer_status(payload, status)
        if why is not None:
            raise why

    def _make(self, object_id: bytes, kind: int, payload: bytes) -> None:
        """Create an object; another one of its id is replaced."""
        if kind in (_PARTICIPANT, _PUBLISHER, _SUBSCRIBER):
            return         # the simulator's
        if kind not in (_TOPIC, _WRITER, _READER, _REPLIER):
            raise Refusal('CREATE of an object that PX4 does not have',
                          detail=_KINDS.get(kind, f'kind {kind}'))
        form = _Form(payload)
        if kind == _TOPIC:
            name = form.text()
            form.optional_text()               # a reference to a type
            self._topics[object_id] = _topic(name, form.optional_text())
        elif kind == _REPLIER:
            form.text()
            request = form.text()
            form.text()
            service = _service(form.optional_text(), request)
            self.created += 1
            self.services[service.name] = self._readers[object_id] = service
        else:
            topic = self._topics.get(form.raw(2))
            if topic is None:
                raise Refusal('CREATE of a data writer or reader of a topic that was not created',
                              _UNKNOWN_REFERENCE)
            if self._types.setdefault(topic.name, topic.type) != topic.type:
                raise Refusal('CREATE of a topic that has another type', detail=topic.name)
            self.created += 1
            if kind == _WRITER:
                self.out[object_id] = topic
            else:
                self._readers[object_id] = self.into[topic.name] = topic

    def _read(self, payload: bytes) -> None:
        topic = self._readers.get(payload[2:4])
        if topic is None:
            self._answer_status(payload, _UNKNOWN_REFERENCE)
            raise Refusal('READ_DATA of a data reader that was not created')
        self._answer_status(payload, _OK)
        self._wanted[topic.name] = payload[:4]

    def _delete(self, payload: bytes) -> None:
        """Delete an object; that of the client itself is the end of the session."""
        object_id = payload[2:4]
        for kind in self.out, self._readers, self._topics:
            kind.pop(object_id, None)
        if object_id in (CLIENT, _WHOLE_CLIENT):
            self.out.clear()
            self.into.clear()
            self._wanted.clear()
            self._answer(STATUS, payload[:4] + bytes([_OK, 0]))
        else:
            self._answer_status(payload, _OK)

    def _repeat(self, payload: bytes) -> None:
        """Forget what the client has confirmed, and send again what it lacks."""
        first, high, low, _ = _ACKNACK.unpack_from(payload)
        for number in [n for n in self._unconfirmed if (n - first) & 0xffff >= 0x8000]:
            del self._unconfirmed[number]
        if high or low:
            self._answers += self._unconfirmed.values()

    # What is sent.

    def _answer(self, kind: int, payload: bytes) -> None:
        self._answers.append(datagram(self.number, kind, payload))

    def _answer_status(self, payload: bytes, status: int) -> None:
        self._answers.append(self._in_best_effort(STATUS, payload[:4] + bytes([status, 0])))

    def _in_best_effort(self, kind: int, payload: bytes) -> bytes:
        number, self._best_effort = self._best_effort, (self._best_effort + 1) & 0xffff
        return datagram(self.number, kind, payload, BEST_EFFORT, number)

    def data(self, name: str, data: bytes) -> bytes:
        """Return the datagram that hands a message to PX4, b'' if it does not want it (yet).

        :param data: CDR without the encapsulation header
        :raises Refusal: PX4 could not take it
        """
        request = self._wanted.get(name)
        if request is None:
            return b''
        if len(data) + len(request) + _HEADERS.size > _MTU:
            raise Refusal(f'a message on {name} that is longer than PX4 takes at once',
                          detail=f'{len(data)} bytes')
        return self._in_best_effort(DATA, request + data)

    def request(self, name: str, identity: bytes, data: bytes) -> bytes:
        """Return the datagram that asks a service of PX4, b'' if it is not there.

        :param identity: comes back with the answer
        """
        request = self._wanted.get(name)
        if request is None:
            return b''
        number, self._reliable = self._reliable, (self._reliable + 1) & 0xffff
        found = self._unconfirmed[number] = datagram(
            self.number, DATA, request + identity.ljust(IDENTITY_BYTES, b'\0') + data, RELIABLE,
            number)
        return found


def datagram(
    session: int, kind: int, payload: bytes, stream: int = NONE, number: int = 0,
) -> bytes:
    return _HEADERS.pack(session, stream, number, kind, _LITTLE_ENDIAN, len(payload)) + payload


# The shortest payloads of what a client sends in a session.
_LEAST = {CREATE: 5, DELETE: 4, WRITE_DATA: 4, READ_DATA: 8, ACKNACK: 5, HEARTBEAT: 5,
          FRAGMENT: 1, TIMESTAMP: 8}


def _name(kind: int) -> str:
    return _NAMES[kind] if kind < len(_NAMES) else f'kind {kind}'


class _Form:
    """The binary representation of an object in CREATE."""

    def __init__(self, payload: bytes) -> None:
        """Read its length, which is at a multiple of four bytes as each number is."""
        if payload[5:6] != bytes([_IN_BINARY]):
            raise Refusal('CREATE in another form than binary')
        size = payload[8:12]
        if len(size) < 4 or 12 + int.from_bytes(size, 'little') > len(payload):
            raise Refusal('CREATE that is cut off')
        self._data, self._at = payload[12:12 + int.from_bytes(size, 'little')], 0

    def raw(self, count: int) -> bytes:
        found = self._data[self._at:self._at + count]
        if len(found) < count:
            raise Refusal('CREATE that is cut off')
        self._at += count
        return found

    def text(self) -> str:
        """Return a text, which ends with a zero."""
        self._at += -self._at % 4
        found = self.raw(int.from_bytes(self.raw(4), 'little'))
        try:
            return found.rstrip(b'\0').decode('ascii')
        except UnicodeDecodeError:
            raise Refusal('CREATE with a name that is no text') from None

    def optional_text(self) -> str:
        """Return a text that may be left out: '' then."""
        return self.text() if self.raw(1) != b'\0' else ''


def _topic(name: str, kind: str) -> Topic:
    return Topic(_ros_name(name, 'rt/'), _ros_type(kind, 'msg', '_'))


def _service(request_name: str, request_type: str) -> Service:
    return Service(_ros_name(request_name, 'rq/').removesuffix('Request'),
                   _ros_type(request_type, 'srv', '_Request_'))


def _ros_name(name: str, prefix: str) -> str:
    """Return how ROS names a topic of DDS."""
    ros = name.removeprefix(prefix)
    parts = ros.split('/')
    if ros == name or len(ros) > _LONGEST_NAME or not all(part.isidentifier() for part in parts):
        raise Refusal('CREATE of a topic that is none of ROS', detail=name)
    return f'/{ros}'


def _ros_type(name: str, kind: str, suffix: str) -> str:
    parts = name.split('::')
    if len(parts) != 4 or parts[1:3] != [kind, 'dds_'] or not parts[3].endswith(suffix) or not (
            all(part.isidentifier() for part in parts)):
        raise Refusal('CREATE of a type that is none of ROS', detail=name)
    return f'{parts[0]}/{kind}/{parts[3].removesuffix(suffix)}'
