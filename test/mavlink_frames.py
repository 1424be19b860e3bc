# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""MAVLink frames put together by hand: an oracle that shares no code with the package."""
from __future__ import annotations

import functools
import struct

HEARTBEAT, COMMAND_LONG, ACTUATOR_CONTROLS, SENSOR, GPS = 0, 76, 93, 107, 113
CRC_EXTRA = {HEARTBEAT: 50, COMMAND_LONG: 152, ACTUATOR_CONTROLS: 47, SENSOR: 108, GPS: 124}


@functools.cache
def _shifted_out(byte: int) -> int:
    for _ in range(8):
        byte = (byte >> 1) ^ (0x8408 if byte & 1 else 0)
    return byte


def x25(data: bytes) -> int:
    """Return MAVLink's checksum: CRC-16/MCRF4XX."""
    crc = 0xFFFF
    for byte in data:
        crc = (crc >> 8) ^ _shifted_out((crc ^ byte) & 0xFF)
    return crc


def frame(message: int, payload: bytes, *, system: int = 1, component: int = 1) -> bytes:
    """Return a MAVLink 2 frame; the zeros at the end of the payload are left out."""
    payload = payload[:1] + payload[1:].rstrip(b'\0')
    body = bytes((len(payload), 0, 0, 0, system, component)) + message.to_bytes(3, 'little')
    body += payload
    extra = bytes((CRC_EXTRA.get(message, 0),))       # 0 for messages of other dialects
    return b'\xfd' + body + struct.pack('<H', x25(body + extra))


def frame_v1(message: int, payload: bytes, *, system: int = 1) -> bytes:
    """Return a MAVLink 1 frame."""
    body = bytes((len(payload), 0, system, 1, message)) + payload
    return b'\xfe' + body + struct.pack('<H', x25(body + bytes((CRC_EXTRA[message],))))


def heartbeat_payload() -> bytes:
    """Return a HEARTBEAT such as PX4's."""
    return struct.pack('<IBBBBB', 0, 2, 12, 1, 3, 3)


def controls_payload(time_us: int, controls: tuple[float, ...] = (), *, mode: int = 1) -> bytes:
    """Return HIL_ACTUATOR_CONTROLS with PX4's lockstep flag; missing controls are 0."""
    controls = (*controls, *(0.0,) * (16 - len(controls)))
    return struct.pack('<QQ16fB', time_us, 1, *controls, mode)


def controls_frame(
    time_us: int, controls: tuple[float, ...] = (), *, mode: int = 1, system: int = 1,
) -> bytes:
    """Return the frame in which PX4 answers a HIL_SENSOR."""
    return frame(ACTUATOR_CONTROLS, controls_payload(time_us, controls, mode=mode), system=system)


def px4_greeting() -> bytes:
    """Return what PX4 says first: HEARTBEAT, and COMMAND_LONG 511 for HIL_STATE_QUATERNION."""
    command = struct.pack('<7fHBBB', 115.0, 5e3, 0, 0, 0, 0, 0, 511, 0, 0, 0)
    return frame(HEARTBEAT, heartbeat_payload()) + frame(COMMAND_LONG, command)
