# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How each topic of the graph becomes bytes, and values again."""
from __future__ import annotations

import struct
import typing

from rosgraph_msgs.msg import Clock

from px4_sim_ros.messages import measurements
from px4_sim_ros.messages.cdr import NOTHING_BEFORE, Before, Packer
from px4_sim_ros.messages.codec import Codec, Decoder, Encoder
from px4_sim_ros.messages.measurements import BATTERY
from px4_sim_ros.messages.texts import TEXTS, TextDecoder, TextEncoder
from px4_sim_ros.messages.truth import ACCEL, JOINTS, ODOMETRY, POSE, REFERENCES
from px4_sim_ros.model.timebase import kind_and_index
from px4_sim_ros.step.graph import CLOCK, COMMAND, Topic


class SerialisedEncoder:
    """Hands on messages of blocks of the user's, which put them out as bytes."""

    def __init__(self, before: Before) -> None:
        self._before, self._form = before, struct.Struct(f'<{before.form}')

    def __call__(self, time_us: int, value: bytes, before: tuple[int, ...] = ()) -> bytes:
        """Return the message, with the numbers before it."""
        return self._before.constant(len(value)) + self._form.pack(*before) + value

    def packer(self, value: bytes) -> Packer:
        """Return a maker of messages, for any value."""
        return self.__call__


# By kind of topic.
CODECS: dict[str, Codec] = measurements.CODECS | {
    CLOCK: Codec(lambda _: Clock(), (), lambda _: (), lambda time_us, n, frame: time_us),
    'ground_truth/odom': ODOMETRY,
    'ground_truth/accel': ACCEL,
    'ground_truth/pose': POSE,
    'joint_states': JOINTS,
    'battery_state': BATTERY,
    COMMAND: REFERENCES,
}


def encoder(
    topic: Topic, before: Before = NOTHING_BEFORE,
) -> Encoder | TextEncoder | SerialisedEncoder:
    """Return a maker of the messages of a topic."""
    if topic.own_us:
        return SerialisedEncoder(before)
    if topic.kind in TEXTS:
        return TextEncoder(TEXTS[topic.kind], before)
    index = kind_and_index(topic.publisher)[1]
    return Encoder(
        CODECS[topic.kind], measurements.frame_of_instance(topic) if index else None, before)


def decoder(
    topic: Topic, deserialise: typing.Callable[[bytes], typing.Any],
) -> typing.Callable[[bytes], typing.Any]:
    """Return a reader of the messages of a topic."""
    if topic.own_us:
        return bytes
    if topic.kind in TEXTS:
        return TextDecoder(TEXTS[topic.kind], deserialise)
    return Decoder(CODECS[topic.kind], deserialise)
