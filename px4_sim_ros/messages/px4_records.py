# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Messages of PX4's own topics on their way to a recorder in another process."""
from __future__ import annotations

import struct
import typing

TYPE = 'std_msgs/msg/UInt8MultiArray'
TOPIC = 'px4_topics/messages'
# Encapsulation, no dimensions, offset, length of the bytes.
_HEAD = struct.Struct('<4sIII')
_CDR = b'\0\1\0\0'
# Time of the step, lengths of name and type.
_RECORD = struct.Struct('<QHH')


class Px4Record(typing.NamedTuple):
    time_us: int           # of its step
    topic: str
    type: str
    data: bytes            # CDR

    def packed(self) -> bytes:
        """Return it as a serialised UInt8MultiArray."""
        names = self.topic.encode(), self.type.encode()
        content = b''.join(
            (_RECORD.pack(self.time_us, *map(len, names)), *names, self.data))
        return _HEAD.pack(_CDR, 0, 0, len(content)) + content

    @classmethod
    def unpacked(cls, data: bytes) -> typing.Self:
        """Read what `packed` has written."""
        time_us, topic, kind = _RECORD.unpack_from(data, _HEAD.size)
        *_, size = _HEAD.unpack_from(data)
        at = _HEAD.size + _RECORD.size
        texts = data[at:at + topic].decode(), data[at + topic:at + topic + kind].decode()
        return cls(time_us, *texts, data[at + topic + kind:_HEAD.size + size])
