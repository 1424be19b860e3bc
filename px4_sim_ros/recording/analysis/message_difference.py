# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Compares two messages of one type bit by bit, field by field."""
from __future__ import annotations

import dataclasses
import math
import struct
import typing

import numpy as np
from rosbags.serde import SerdeError

from px4_sim_ros.recording.bag.message_definitions import decode


def value_mask(data: bytes, type_name: str) -> int:
    """Return a number with all bits set of those bytes that carry a value.

    These are the bytes whose change alters a field, or makes the message unreadable.
    """
    fields = decode(data, type_name)
    mask = bytearray(len(data))
    for i, byte in enumerate(data):
        # Flipping all bits is not enough: a true would stay true.
        for other in (byte ^ 0xff, byte ^ 0x01):
            changed = data[:i] + bytes([other]) + data[i + 1:]
            try:
                is_padding = differing_field('', fields, decode(changed, type_name)) is None
            except SerdeError:
                is_padding = False
            if not is_padding:
                mask[i] = 0xff
    return int.from_bytes(mask)


def differing_field(
    path: str, one: typing.Any, other: typing.Any,
) -> tuple[str, typing.Any, typing.Any] | None:
    """Return path and values of the first field with other bits, None if there is none."""
    if dataclasses.is_dataclass(one):
        parts = ((f'{path}.{field.name}'.lstrip('.'), getattr(one, field.name),
                  getattr(other, field.name)) for field in dataclasses.fields(one))
    elif isinstance(one, (np.ndarray, list)):
        if len(one) != len(other):
            return f'the length of {path}', len(one), len(other)
        if isinstance(one, np.ndarray) and one.tobytes() == other.tobytes():
            return None
        parts = ((f'{path}[{i}]', a, b) for i, (a, b) in enumerate(zip(one, other)))
    else:
        return None if _bits(one) == _bits(other) else (path, _plain(one), _plain(other))
    return next((found for part in parts if (found := differing_field(*part))), None)


def _bits(value: typing.Any) -> typing.Any:
    if isinstance(value, np.generic):
        return value.tobytes()
    return struct.pack('<d', value) if isinstance(value, float) else value


def _plain(value: typing.Any) -> typing.Any:
    return value.item() if isinstance(value, np.generic) else value


def value_text(value: typing.Any) -> str:
    """Return the value of a field; of a NaN its bits as well."""
    if isinstance(value, float):
        bits = f' (bits {struct.pack(">d", value).hex()})' if math.isnan(value) else ''
        return f'{value}{bits}'
    return repr(value)
