# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How each topic of the graph becomes bytes, and values again."""
from __future__ import annotations

import typing

from rosgraph_msgs.msg import Clock

from px4_sim_ros.messages import measurements
from px4_sim_ros.messages.cdr import NOTHING_BEFORE, Before
from px4_sim_ros.messages.codec import Codec, Decoder, Encoder
from px4_sim_ros.messages.measurements import BATTERY
from px4_sim_ros.messages.texts import TEXTS, TextDecoder, TextEncoder
from px4_sim_ros.messages.truth import ACCEL, JOINTS, ODOMETRY, POSE, REFERENCES
from px4_sim_ros.model.timebase import kind_and_index
from px4_sim_ros.step.graph import CLOCK, COMMAND, Topic

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


def encoder(topic: Topic, before: Before = NOTHING_BEFORE) -> Encoder | TextEncoder:
    """Return a maker of the messages of a topic."""
    if topic.kind in TEXTS:
        return TextEncoder(TEXTS[topic.kind], before)
    index = kind_and_index(topic.publisher)[1]
    return Encoder(
        CODECS[topic.kind], measurements.frame_of_instance(topic) if index else None, before)


def decoder(
    topic: Topic, deserialise: typing.Callable[[bytes], typing.Any],
) -> Decoder | TextDecoder:
    """Return a reader of the messages of a topic."""
    if topic.kind in TEXTS:
        return TextDecoder(TEXTS[topic.kind], deserialise)
    return Decoder(CODECS[topic.kind], deserialise)
