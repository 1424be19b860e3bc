# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Frames of messages that come often, without a message object: in a fifth of the time.

Layouts, numbers and check sums of messages are those of pymavlink, which also does all that is
out of the ordinary. A frame is as in https://mavlink.io/en/guide/serialization.html (MAVLink 2,
not signed).
"""
from __future__ import annotations

import typing

from pymavlink.dialects.v20 import common as mavlink

_MARKER = mavlink.PROTOCOL_MARKER_V2
_HEADER_BYTES, _CHECK_SUM_BYTES = 10, 2
_SHORTEST_BYTES = _HEADER_BYTES + _CHECK_SUM_BYTES
# The first bytes of a frame: the marker, and the length of the payload.
_FIRST, _LENGTHS = bytes([_MARKER]), [bytes([length]) for length in range(256)]


def _slow_check_sum(data: bytes, begin: int = 0xFFFF) -> int:
    summed = mavlink.x25crc()
    summed.crc = begin
    summed.accumulate(data)
    return int(summed.crc)


# Without the object around it, where pymavlink has the quick one.
_check_sum: typing.Callable[..., int] = getattr(mavlink, 'mcrf4xx', _slow_check_sum)


def frames_of(data: bytes, ids: typing.Container[int]) -> list[bytes]:
    """Return those frames in `data` that carry some messages, the others left out.

    All of `data` in one piece if it is anything else than whole frames of MAVLink 2 that are not
    signed. Check sums are not verified.

    :param ids: of the messages
    """
    found, at = [], 0
    while at < len(data):
        # Byte 1 is the length of the payload, 2 the flags (signed), 7 to 9 are the id.
        if len(data) - at < _SHORTEST_BYTES or data[at] != _MARKER or data[at + 2]:
            return [data]
        end = at + _SHORTEST_BYTES + data[at + 1]
        if end > len(data):
            return [data]
        if int.from_bytes(data[at + 7:at + _HEADER_BYTES], 'little') in ids:
            found.append(data[at:end])
        at = end
    return found


class _Frames:
    def __init__(self, message: type[mavlink.MAVLink_message]) -> None:
        self._layout = message.unpacker
        self._extra = bytes([message.crc_extra])
        self._id = message.id.to_bytes(3, 'little')


class FramePacker(_Frames):
    """Packs one type of message."""

    def __init__(
        self, mav: mavlink.MAVLink, message: type[mavlink.MAVLink_message],
    ) -> None:
        super().__init__(message)
        self._mav = mav
        # All of the header but marker and length, by number.
        self._heads = [
            bytes((0, 0, number, mav.srcSystem, mav.srcComponent)) + self._id
            for number in range(256)]

    def pack(self, *values: float) -> bytes:
        """Return a frame with values in the order of the wire.

        :raises OverflowError: one is too large for its field
        :raises struct.error: one is no number for its field
        """
        # Zeros at the end are not sent, but for the first byte.
        payload: bytes = self._layout.pack(*values)
        payload = payload.rstrip(b'\0') or payload[:1]
        mav = self._mav
        frame: bytes = _LENGTHS[len(payload)] + self._heads[mav.seq] + payload
        mav.seq = (mav.seq + 1) % 256
        summed = _check_sum(self._extra, _check_sum(frame))
        return _FIRST + frame + summed.to_bytes(_CHECK_SUM_BYTES, 'little')


class FrameReader(_Frames):
    """Reads one type of message."""

    def __init__(self, message: type[mavlink.MAVLink_message]) -> None:
        super().__init__(message)
        self.values: typing.Callable[[bytes], tuple[typing.Any, ...]] = self._layout.unpack
        """Returns the values of a payload, in the order of the wire."""

    def read(self, data: bytes) -> tuple[int, tuple[typing.Any, ...]] | None:
        """Return the sender's system id and the values of a frame, in the order of the wire.

        None if the bytes are anything else than one whole and sound frame of this type.
        """
        found = self.payload(data)
        return None if found is None else (found[0], self.values(found[1]))

    def payload(self, data: bytes) -> tuple[int, bytes] | None:
        """Return the sender's system id and the payload of a frame, with the zeros at its end.

        None if the bytes are anything else than one whole and sound frame of this type.
        """
        size = len(data)
        if size <= _SHORTEST_BYTES or data[0] != _MARKER or data[2] or data[7:10] != self._id:
            return None
        length = data[1]
        if size != length + _SHORTEST_BYTES or length > self._layout.size:
            return None
        if _check_sum(self._extra, _check_sum(data[1:-2])) != data[-2] | data[-1] << 8:
            return None
        return data[5], data[_HEADER_BYTES:-2].ljust(self._layout.size, b'\0')
