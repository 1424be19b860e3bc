# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An autopilot that only answers: with it our own side is what limits.

It connects as PX4 does and answers each HIL_SENSOR of id 0 at once, always with the same
controls. All but sequence, time and checksum of the answer is prebuilt, and frames are found by
their headers.
"""
from __future__ import annotations

import argparse
import socket
import sys
import time
import typing

from pymavlink.dialects.v20 import common as mavlink
from pymavlink.generator.mavcrc import x25crc

from px4_sim_ros.link.hil.codec import LOCKSTEP_FLAG, ModeFlag
from px4_sim_ros.link.hil.server import port_of

_MARKER = mavlink.PROTOCOL_MARKER_V2
# A MAVLink 2 frame: marker, length of the payload, two flags, sequence, system, component, 24 bits
# of message id, payload, 16 bits of checksum.
_LENGTH_AT, _SEQUENCE_AT, _ID_AT, _PAYLOAD_AT, _BESIDE_PAYLOAD = 1, 4, 7, 10, 12
_HIL_SENSOR = mavlink.MAVLINK_MSG_ID_HIL_SENSOR.to_bytes(3, 'little')
# The id of the sensor is the last byte of the payload, and zeros at its end are not sent.
_LONGEST_FIRST_SENSOR = _BESIDE_PAYLOAD + 64
_TIME_BYTES = 8
_ROTORS_MOST = 16
_RETRY_S, _CONNECT_TIMEOUT_S = 0.02, 60.0


class Answers:
    """Turns what the simulator sends into answers."""

    def __init__(self, system: int, controls: typing.Sequence[float]) -> None:
        """Prebuild the answer.

        :param controls: 16, as long as it is armed, which is always
        """
        mav = mavlink.MAVLink(None, srcSystem=system, srcComponent=mavlink.MAV_COMP_ID_AUTOPILOT1)
        message = mav.hil_actuator_controls_encode(
            0, controls, ModeFlag.CUSTOM | ModeFlag.ARMED, LOCKSTEP_FLAG)
        # What the checksum is over: the frame without its marker, then a byte of the message's own.
        self._summed = bytearray(message.pack(mav)[1:-2]) + bytes([message.crc_extra])
        self._head = bytes([_MARKER])
        self._sequence = 0
        self._rest = b''

    def to(self, data: bytes) -> bytes:
        """Return the answers to what has come; half a frame is kept for the next time."""
        if self._rest:
            data = self._rest + data
        answers, at, end = b'', 0, len(data)
        while end - at >= _BESIDE_PAYLOAD:
            if data[at] != _MARKER:
                at += 1
                continue
            length = data[at + _LENGTH_AT] + _BESIDE_PAYLOAD
            if end - at < length:
                break
            begin = at + _PAYLOAD_AT
            if length <= _LONGEST_FIRST_SENSOR and data[at + _ID_AT:begin] == _HIL_SENSOR:
                answers += self._answer(data[begin:at + length - 2])
            at += length
        self._rest = data[at:]
        return answers

    def _answer(self, payload: bytes) -> bytes:
        summed = self._summed
        summed[_SEQUENCE_AT - 1] = self._sequence
        self._sequence = (self._sequence + 1) & 0xFF
        # The time comes first, in both messages.
        summed[_PAYLOAD_AT - 1:_PAYLOAD_AT - 1 + _TIME_BYTES] = (
            payload[:_TIME_BYTES].ljust(_TIME_BYTES, b'\0'))
        return self._head + summed[:-1] + x25crc(summed).crc.to_bytes(2, 'little')


def connect(port: int) -> socket.socket:
    """Connect as soon as the simulator listens.

    :raises ConnectionRefusedError: it does not in time
    """
    deadline_s = time.monotonic() + _CONNECT_TIMEOUT_S
    while True:
        connection = socket.socket()
        try:
            connection.connect(('127.0.0.1', port))
        except ConnectionRefusedError:
            connection.close()
            if time.monotonic() > deadline_s:
                raise
            time.sleep(_RETRY_S)
        else:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection


def serve(connection: socket.socket, answers_to: typing.Callable[[bytes], bytes]) -> None:
    """Answer until the other side has gone."""
    try:
        while data := connection.recv(65536):
            answer = answers_to(data)
            if answer:
                connection.sendall(answer)
    except (ConnectionResetError, BrokenPipeError):
        pass


def main(arguments: typing.Sequence[str] | None = None) -> int:
    """Run from the command line, until the simulator goes."""
    parser = argparse.ArgumentParser(prog='trivial_peer', description=__doc__)
    parser.add_argument('--port', type=int, default=port_of(0), help='to connect to')
    parser.add_argument('--system', type=int, default=1, help='MAVLink system id')
    parser.add_argument('--control', type=float, default=0.0, help='of all motors, 0..1')
    options = parser.parse_args(arguments)
    answers = Answers(options.system, [options.control] * _ROTORS_MOST)
    serve(connect(options.port), answers.to)
    return 0


if __name__ == '__main__':
    sys.exit(main())
