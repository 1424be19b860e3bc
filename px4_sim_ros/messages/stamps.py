# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Headers: times in whole microseconds to and from ROS stamps, and frames."""
from __future__ import annotations

import struct
import typing

from px4_sim_ros.model.timebase import US_PER_S, time_in_sentence_us

# After the header that gives the byte order.
STAMP_OFFSET = 4
# No run takes thirty years, and no wall clock shows less.
_WALL_US = 30 * 365 * 86_400 * US_PER_S
_LITTLE, _BIG = struct.Struct('<iI'), struct.Struct('>iI')


class Stamp(typing.Protocol):
    """A builtin_interfaces/Time, of rclpy or of a bag."""

    sec: int
    nanosec: int


def set_stamp(stamp: Stamp, time_us: int) -> None:
    """Write a time into a builtin_interfaces/Time."""
    stamp.sec, rest_us = divmod(time_us, US_PER_S)
    stamp.nanosec = rest_us * 1000


def in_frame(message: typing.Any, frame_id: str) -> typing.Any:
    message.header.frame_id = frame_id
    return message


def stamp_us(stamp: Stamp) -> int:
    """Return the time of a builtin_interfaces/Time."""
    return stamp.sec * US_PER_S + stamp.nanosec // 1000


def line_us(line: typing.Any, received_us: int) -> int:
    """Return the simulated time of a line of `/rosout`.

    It is in the text, or a stamp that is not of the wall clock, which rcutils sets.

    :param line: a rcl_interfaces/Log
    :param received_us: when it was received, for one that tells neither
    """
    text_us = time_in_sentence_us(line.msg)
    if text_us is not None:
        return text_us
    time_us = stamp_us(line.stamp)
    return time_us if 0 < time_us < _WALL_US else received_us


def serialised_stamp_us(data: bytes) -> int:
    """Return the stamp of a serialised message without deserialising the rest.

    It works for rosgraph_msgs/Clock and for every message that begins with a Header:
    both begin with the stamp. The second byte of the CDR header gives the byte order.
    """
    layout = _LITTLE if data[1] & 1 else _BIG
    stamp: tuple[int, int] = layout.unpack_from(data, STAMP_OFFSET)
    seconds, nanoseconds = stamp
    return seconds * US_PER_S + nanoseconds // 1000
