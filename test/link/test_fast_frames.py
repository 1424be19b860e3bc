# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Frames without message objects are those of pymavlink, bit by bit."""
import math
import random

import pytest
from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.fast_frames import FramePacker, FrameReader, frames_of

CONTROLS = mavlink.MAVLink_hil_actuator_controls_message
SENSOR = mavlink.MAVLink_hil_sensor_message


def sensor_values(rng, zeros):
    """Return values of a HIL_SENSOR, the last `zeros` of which are 0."""
    values = [rng.randrange(2**63), *(rng.uniform(-1e3, 1e3) for _ in range(13)),
              rng.randrange(2**32), rng.randrange(256)]
    return values[:len(values) - zeros] + [0] * zeros


@pytest.mark.parametrize('zeros', [0, 1, 2, 5, 15, 16])
def test_packed_frames_are_those_of_pymavlink(zeros):
    """Also where zeros at the end are left out, and over the end of the sequence."""
    rng = random.Random(zeros)
    ours, theirs = (mavlink.MAVLink(None, srcSystem=1, srcComponent=200) for _ in range(2))
    packer = FramePacker(ours, SENSOR)
    for i in range(300):
        values = sensor_values(rng, zeros)
        theirs.seq = i % 256
        assert packer.pack(*values) == theirs.hil_sensor_encode(*values).pack(theirs)


def test_a_value_that_is_too_large_is_refused():
    packer = FramePacker(mavlink.MAVLink(None), SENSOR)
    with pytest.raises(OverflowError):
        packer.pack(0, 1e39, *[0.0] * 12, 0, 0)


def controls_frame(seed, system=3, **changes):
    mav = mavlink.MAVLink(None, srcSystem=system, srcComponent=1)
    rng = random.Random(seed)
    values = {'time_usec': rng.randrange(2**63), 'controls': [rng.random() for _ in range(16)],
              'mode': rng.randrange(256), 'flags': rng.randrange(2**63)} | changes
    return mav.hil_actuator_controls_encode(**values).pack(mav)


@pytest.mark.parametrize('changes', [
    {}, {'mode': 0}, {'mode': 0, 'controls': [0.0] * 16}, {'controls': [math.nan] * 16},
    {'time_usec': 0, 'mode': 0, 'controls': [0.0] * 16, 'flags': 0}])
@pytest.mark.parametrize('seed', range(20))
def test_frames_are_read_as_pymavlink_does(seed, changes):
    frame = controls_frame(seed, **changes)
    system, (time_us, flags, *controls, mode) = FrameReader(CONTROLS).read(frame)
    parser = mavlink.MAVLink(None)
    message, = parser.parse_buffer(frame)
    assert (system, time_us, flags, mode) == (
        3, message.time_usec, message.flags, message.mode)
    assert repr(controls) == repr(list(message.controls))


def test_only_one_whole_and_sound_frame_is_read():
    reader, frame = FrameReader(CONTROLS), controls_frame(1)
    assert reader.read(frame) is not None
    for i in range(len(frame)):
        broken = bytearray(frame)
        broken[i] ^= 0x10
        found = reader.read(bytes(broken))
        # The check sum is over all but the first byte, which tells the version.
        assert found is None
        assert reader.read(frame[:i]) is None
    assert reader.read(frame + b'\0') is None
    assert reader.read(frame + frame) is None
    sensor = mavlink.MAVLink(None)
    assert reader.read(sensor.hil_sensor_encode(*sensor_values(random.Random(1), 0)).pack(
        sensor)) is None
    first_version = mavlink.MAVLink(None, srcSystem=3)
    assert reader.read(first_version.heartbeat_encode(2, 12, 0, 0, 4).pack(
        first_version, force_mavlink1=True)) is None


# Frames of some messages.

def stream(count):
    """Return frames of two messages in turn."""
    mav = mavlink.MAVLink(None, srcSystem=1, srcComponent=1)
    return [mav.attitude_encode(i, *[0.5] * 6).pack(mav) if i % 2 else controls_frame(i)
            for i in range(count)]


@pytest.mark.parametrize('count', [0, 1, 2, 9])
def test_frames_of_other_messages_are_left_out(count):
    frames = stream(count)
    assert frames_of(b''.join(frames), {CONTROLS.id}) == frames[::2]
    assert frames_of(b''.join(frames), {mavlink.MAVLINK_MSG_ID_ATTITUDE}) == frames[1::2]
    assert frames_of(b''.join(frames), ()) == []


@pytest.mark.parametrize('odd', [
    b'\xfe' + bytes(20), b'\xfd' + bytes(3), b'\xfd\x09\x01' + bytes(30), b'?'])
def test_what_is_odd_is_left_to_pymavlink(odd):
    frames = stream(3)
    for data in odd + b''.join(frames), b''.join(frames) + odd, frames[0] + odd + frames[1]:
        assert frames_of(data, {CONTROLS.id}) == [data]


def test_a_frame_that_is_cut_is_left_to_pymavlink():
    data = b''.join(stream(3))
    for length in range(1, len(data)):
        found = frames_of(data[:length], {CONTROLS.id})
        assert found in ([data[:length]], *(stream(n)[::2] for n in (1, 2, 3)))
