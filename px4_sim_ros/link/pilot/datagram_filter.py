# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Lets the kernel drop the datagrams that nobody would read, before they cost anything.

PX4 sends eight times as many messages to a companion computer as a pilot looks at, each in a
datagram of its own. The filter is a program of the classic BPF (Linux' socket filters:
https://docs.kernel.org/networking/filter.html), whose data begin with the header of UDP.
"""
from __future__ import annotations

import contextlib
import ctypes
import socket
import struct
import typing

from pymavlink.dialects.v20 import common as mavlink

_SO_ATTACH_FILTER = 26
_UDP_HEADER_BYTES = 8
_FRAME_BYTES = 12                 # of MAVLink 2 around the payload, not signed
# Codes of instructions: load a byte, two, four or the length; add; swap; mask; jump; return.
_LOAD_BYTE, _LOAD_HALF, _LOAD_WORD, _LOAD_LENGTH = 0x30, 0x28, 0x20, 0x80
_ADD, _TO_X, _AND, _JUMP_EQUAL, _JUMP_EQUAL_X, _RETURN = 0x04, 0x07, 0x54, 0x15, 0x1d, 0x06
_ALL = 0xffff


def accept_only(
    receiver: socket.socket, ids: typing.Collection[int], from_port: int | None = None,
) -> None:
    """Let the kernel drop datagrams that are one whole frame of MAVLink 2 of another message.

    Where it refuses a filter, all of them come.

    :param ids: of the messages that are wanted
    :param from_port: UDP port of the only sender who is wanted; None: all are
    """
    lines = _program(sorted(ids))
    if from_port is not None:
        lines = [(_LOAD_HALF, 0, 0, 0), (_JUMP_EQUAL, 1, 0, from_port), (_RETURN, 0, 0, 0), *lines]
    program = b''.join(struct.pack('HBBI', *line) for line in lines)
    code = ctypes.create_string_buffer(program)
    with contextlib.suppress(OSError):
        receiver.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack(
            'HL', len(program) // 8, ctypes.addressof(code)))


def _program(ids: typing.Sequence[int]) -> list[tuple[int, int, int, int]]:
    """Return instructions: a code, how far to jump if it is so and if not, and a number."""
    count, begin = len(ids), _UDP_HEADER_BYTES
    return [
        (_LOAD_BYTE, 0, 0, begin),
        (_JUMP_EQUAL, 0, count + 8, mavlink.PROTOCOL_MARKER_V2),
        (_LOAD_BYTE, 0, 0, begin + 1),                      # the length of the payload
        (_ADD, 0, 0, _UDP_HEADER_BYTES + _FRAME_BYTES),
        (_TO_X, 0, 0, 0),
        (_LOAD_LENGTH, 0, 0, 0),
        (_JUMP_EQUAL_X, 0, count + 3, 0),
        (_LOAD_WORD, 0, 0, begin + 6),                      # a byte, then the id
        (_AND, 0, 0, 0xffffff),
        *((_JUMP_EQUAL, count - i, 0, int.from_bytes(id_.to_bytes(3, 'little'), 'big'))
          for i, id_ in enumerate(ids)),
        (_RETURN, 0, 0, 0),
        (_RETURN, 0, 0, _ALL),
    ]
