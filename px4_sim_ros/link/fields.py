# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Numbers and frames as MAVLink holds them: limits of fields, and packing."""
from __future__ import annotations

import math
import struct

from pymavlink.dialects.v20 import common as mavlink

UINT8_MAX = 0xFF
UINT16_MAX = 0xFFFF
UINT32_MAX = 0xFFFF_FFFF
INT16_MIN, INT16_MAX = -0x8000, 0x7FFF
INT32_MIN, INT32_MAX = -0x8000_0000, 0x7FFF_FFFF
FLOAT32_MAX = struct.unpack('<f', b'\xff\xff\x7f\x7f')[0]


def enum_name(enum: str, number: int) -> str:
    """Return the name of an entry of an enum of MAVLink, or the enum and the number."""
    known = mavlink.enums[enum].get(number)
    return str(known.name) if known else f'{enum} {number}'


def saturated(value: float, low: int, high: int) -> int:
    """Return `value` rounded to a whole number within [low, high]; NaN gives 0."""
    if math.isnan(value):
        return 0
    if value <= low:
        return low
    if value >= high:
        return high
    return round(value)


def float32(value: float) -> float:
    """Return `value` within the range of a 32-bit float; NaN stays NaN."""
    if -FLOAT32_MAX <= value <= FLOAT32_MAX or math.isnan(value):
        return value
    return math.copysign(FLOAT32_MAX, value)


def packed(mav: mavlink.MAVLink, message: mavlink.MAVLink_message) -> bytes:
    """Return the frame of a message, numbered: pymavlink counts only what it sends itself."""
    frame: bytes = message.pack(mav)
    mav.seq = (mav.seq + 1) % 256
    return frame


def parameter_value(message: mavlink.MAVLink_param_value_message) -> float:
    """Return the value in a PARAM_VALUE; PX4 packs a whole number into the bytes of a float."""
    value: float = message.param_value
    if message.param_type == mavlink.MAV_PARAM_TYPE_INT32:
        value, = struct.unpack('<i', struct.pack('<f', value))
    return value


def packed_parameter(value: float) -> tuple[float, int]:
    """Return the value and the type for a PARAM_SET, of INT32 if it is an int."""
    if isinstance(value, int):
        return (struct.unpack('<f', struct.pack('<i', value))[0], mavlink.MAV_PARAM_TYPE_INT32)
    return value, mavlink.MAV_PARAM_TYPE_REAL32


def heartbeat(mav: mavlink.MAVLink, system_type: int) -> bytes:
    """Return the frame of the HEARTBEAT of a system that is no autopilot."""
    return packed(mav, mav.heartbeat_encode(
        system_type, mavlink.MAV_AUTOPILOT_INVALID, 0, 0, mavlink.MAV_STATE_ACTIVE))


def simulator_mavlink() -> mavlink.MAVLink:
    """Return a packer of messages of the simulator, with a sequence of its own."""
    return mavlink.MAVLink(None, srcSystem=1, srcComponent=200)
