# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The UDP port to which the XRCE clients of PX4s talk, without a thread and without a clock."""
from __future__ import annotations

import collections
import struct
import typing

from px4_sim_ros.jit.fast_namedtuple import fast_namedtuple
from px4_sim_ros.link.ports import LOCAL, bound_socket
from px4_sim_ros.link.xrce import session as xrce
from px4_sim_ros.link.xrce.session import Message, Refusal, Session

_MOST_AT_ONCE = 1000           # datagrams, so that a flood does not block the step
_MOST_BYTES = 2048             # PX4 sends 512 at most
# A session number below it comes with the key of the client in each header.
_WITHOUT_KEY = 0x80
_CREATE_BYTES = 16
_KEY = slice(8, 12)
_INFO = struct.Struct('<BBBBBxhI')
_IS_AGENT = 0x0D
_message_of = fast_namedtuple(Message)
_BEST_EFFORT_WRITE = bytes([xrce.WRITE_DATA, 1])      # and little endian


class Agent:
    """Has a port; each client that talks to it is known by its key, which is its instance + 1."""

    def __init__(self, port: int, host: str = LOCAL) -> None:
        """Bind the port.

        :raises PortTakenError: naming who has it: another agent, for example
        """
        self.port = port
        self.on_refusal: typing.Callable[[str], None] = lambda sentence: None
        """Is given a sentence the first time that something of a kind is not taken."""
        self.refused: collections.Counter[str] = collections.Counter()     # by kind
        self._socket = bound_socket('UDP', host, port)
        self._socket.setblocking(False)
        self._sessions: dict[typing.Any, Session] = {}         # by address
        self._addresses: dict[bytes, typing.Any] = {}          # by key
        self._messages: dict[bytes, list[Message]] = {}        # that were not taken, by key

    @property
    def number(self) -> int:
        """The number of its socket."""
        return self._socket.fileno()

    def close(self) -> None:
        """Free the port."""
        self._socket.close()

    def expect(self, instance: int) -> None:
        """Let a PX4 talk to it, and forget the one that did."""
        key = _key(instance)
        self._messages[key] = []
        self._sessions.pop(self._addresses.pop(key, None), None)

    def session(self, instance: int) -> Session | None:
        """Return the session of a PX4, None while there is none."""
        return self._sessions.get(self._addresses.get(_key(instance)))

    def take(self, instance: int) -> list[Message]:
        """Return the messages of a PX4 that have come; those of others wait for them."""
        self._poll()
        key = _key(instance)
        messages = self._messages[key]
        if messages:
            self._messages[key] = []
        return messages

    def send(self, instance: int, datagram: bytes) -> None:
        """Send to a PX4 that has a session."""
        self._send(datagram, self._addresses[_key(instance)])

    def _poll(self) -> None:
        receive, sessions = self._socket.recvfrom, self._sessions
        for _ in range(_MOST_AT_ONCE):
            try:
                datagram, address = receive(_MOST_BYTES)
            except BlockingIOError:
                return
            session = sessions.get(address)
            # Nearly all are single messages of topics.
            if session is not None and datagram[4:6] == _BEST_EFFORT_WRITE and (
                    topic := session.out.get(datagram[10:12])) is not None and (
                    datagram[1] == xrce.BEST_EFFORT
                    and datagram[6] | datagram[7] << 8 == len(datagram) - 8):
                self._messages[session.key].append(_message_of((topic, datagram[12:], b'')))
                continue
            try:
                self._take(datagram, address)
            except Refusal as error:
                self.count(error)

    def _take(self, datagram: bytes, address: typing.Any) -> None:
        if len(datagram) < xrce.HEADER_BYTES + 4:
            raise Refusal('a datagram that is too short')
        if datagram[0] < _WITHOUT_KEY:
            raise Refusal('a session with the key of the client in each header')
        kind, payload = datagram[4], datagram[8:]
        if datagram[1] == xrce.NONE and kind == xrce.CREATE_CLIENT:
            self._begin(payload, address)
        elif datagram[1] == xrce.NONE and kind == xrce.GET_INFO:
            self._say_who(datagram[0], payload, address)
        elif (session := self._sessions.get(address)) is not None:
            if session.number != datagram[0]:
                raise Refusal('a datagram of another session than the one that was created')
            try:
                session.take(datagram)
            finally:
                answers, messages = session.pending
                for answer in answers:
                    self._send(answer, address)
                self._messages[session.key] += messages
        # Otherwise it is of the run before: it learns from its ping that its session is over.

    def _begin(self, payload: bytes, address: typing.Any) -> None:
        """Begin a session, in place of the one that the client had."""
        if len(payload) < _CREATE_BYTES or payload[:4] != xrce.COOKIE:
            raise Refusal('CREATE_CLIENT that is no such')
        if payload[4:5] != xrce.VERSION[:1]:
            raise Refusal('CREATE_CLIENT of another version of DDS-XRCE',
                          detail=f'{payload[4]}.{payload[5]}')
        key, number = payload[_KEY], payload[12]
        if key not in self._messages:
            instances = ', '.join(str(int.from_bytes(key, 'big') - 1) for key in self._messages)
            raise Refusal('the client of a PX4 whose instance is none of this port',
                          detail=f"{int.from_bytes(key, 'big') - 1}, not {instances}")
        if number < _WITHOUT_KEY:
            raise Refusal('a session with the key of the client in each header')
        self._sessions.pop(self._addresses.get(key), None)
        self._addresses[key] = address
        self._sessions[address] = Session(key, number)
        self._send(xrce.datagram(number, xrce.STATUS_AGENT, bytes(2) + (
            xrce.COOKIE + xrce.VERSION + xrce.VENDOR + bytes(1))), address)

    def _say_who(self, number: int, payload: bytes, address: typing.Any) -> None:
        """Answer a ping: that this is an agent, and whether it knows the client's session."""
        if len(payload) < 4:
            raise Refusal('GET_INFO that is too short')
        self._send(xrce.datagram(number, xrce.INFO, payload[:4] + _INFO.pack(
            0, address in self._sessions, 0, 1, _IS_AGENT, 1, 0)), address)

    def _send(self, datagram: bytes, address: typing.Any) -> None:
        try:
            self._socket.sendto(datagram, address)
        except OSError as error:
            self.count(Refusal('an answer that cannot be sent', detail=str(error.strerror)))

    def count(self, error: Refusal) -> None:
        """Count it, and tell of the first one of its kind."""
        self.refused[error.kind] += 1
        if self.refused[error.kind] == 1:
            sentence = f'UDP port {self.port}: {error}: not taken'
            self.on_refusal(sentence)


def _key(instance: int) -> bytes:
    return (instance + 1).to_bytes(4, 'big')
