# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""HIL_ACTUATOR_CONTROLS: bytes and limits, and what the decoder makes of rubbish."""
from __future__ import annotations

import collections
import gc
import math
import tracemalloc

import mavlink_frames
import pytest
from mavlink_frames import controls_frame, frame, frame_v1

from px4_sim_ros.link.hil.replies import HilDecoder

CONTROLS = ('fd5100000001015d0000a00f0000000000000100000000000000000080bf0000'
            '60bf000040bf000020bf000000bf0000c0be000080be000000be000000000000'
            '003e0000803e0000c03e0000003f0000203f0000403f0000603f8191d4')

HALVES = tuple((i - 8) / 8 for i in range(16))
GOOD = controls_frame(4000, HALVES, mode=129)
FOUND = (4000, True, HALVES)


class CountingDecoder(HilDecoder):
    """Keeps what it counts and says."""

    def __init__(self):
        self.counts, self.sentences = collections.Counter(), []
        super().__init__(self._note)

    def _note(self, trouble, sentence):
        self.counts[trouble] += 1
        self.sentences.append(sentence)


def test_controls():
    """Time, armed and 16 controls."""
    assert GOOD.hex() == CONTROLS
    assert CountingDecoder().controls(GOOD) == [FOUND]


@pytest.mark.parametrize(('mode', 'armed'), [
    (0, False), (1, False), (127, False), (128, True), (129, True), (255, True)])
def test_armed_is_bit_128(mode, armed):
    """1 and 129 are what PX4 sends."""
    found, = CountingDecoder().controls(controls_frame(4000, mode=mode))
    assert found.armed is armed


@pytest.mark.parametrize(('value', 'taken', 'limited'), [
    (-1.0, -1.0, 0), (1.0, 1.0, 0), (1.5, 1.0, 1), (-7.0, -1.0, 1), (math.inf, 1.0, 1),
    (-math.inf, -1.0, 1), (math.nan, 0.0, 1)])
def test_controls_are_limited_and_counted(value, taken, limited):
    """NaN means off."""
    decoder = CountingDecoder()
    found, = decoder.controls(controls_frame(4000, (0.5, value, 0.25)))
    assert found.controls == (0.5, taken, 0.25) + (0.0,) * 13
    assert decoder.counts['limited_controls'] == limited


# What else comes over a link.

def spoilt(data, index):
    """Return a frame with one bit turned."""
    return data[:index] + bytes((data[index] ^ 1,)) + data[index + 1:]


@pytest.mark.parametrize('size', [1, 2, 3, 7, 64])
def test_messages_in_pieces(size):
    """However the stream is cut, nothing is lost."""
    stream = b''.join(controls_frame(t, HALVES) for t in range(0, 40_000, 4000))
    decoder = CountingDecoder()
    found = [c.time_us for i in range(0, len(stream), size)
             for c in decoder.controls(stream[i:i + size])]
    assert found == list(range(0, 40_000, 4000))
    assert decoder.counts['bad_messages'] == 0


def test_half_a_message_is_kept():
    """It is completed by what comes next."""
    decoder = CountingDecoder()
    assert decoder.controls(GOOD[:40]) == []
    assert decoder.controls(GOOD[40:] + GOOD[:20]) == [FOUND]
    assert decoder.controls(GOOD[20:]) == [FOUND]


@pytest.mark.parametrize('spoil', [
    b'hello', b'\x00' * 300, spoilt(GOOD, 30), spoilt(GOOD, len(GOOD) - 1), spoilt(GOOD, 8)])
def test_rubbish_before_and_between_messages(spoil):
    """It is skipped and counted."""
    decoder = CountingDecoder()
    assert decoder.controls(spoil + GOOD + spoil + GOOD) == [FOUND, FOUND]
    assert decoder.counts['bad_messages'] == (0 if spoil == spoilt(GOOD, 8) else 2)


def test_other_messages_are_skipped():
    """PX4 says HEARTBEAT and COMMAND_LONG first; they are no errors."""
    decoder = CountingDecoder()
    assert decoder.controls(mavlink_frames.px4_greeting() + GOOD) == [FOUND]
    assert decoder.counts['bad_messages'] == 0


def test_mavlink_1_frames_do_not_hide_the_next():
    """Good or bad ones."""
    v1 = frame_v1(mavlink_frames.HEARTBEAT, mavlink_frames.heartbeat_payload())
    decoder = CountingDecoder()
    assert decoder.controls(v1 + GOOD + spoilt(v1, 7) + GOOD) == [FOUND, FOUND]
    assert decoder.counts['bad_messages'] == 1


@pytest.mark.parametrize('start', [b'\xfd', b'\xfe', b'\xfd\xff\x00', b'\xfe\xff', GOOD[:50]])
def test_a_false_start_hides_only_a_few_messages(start):
    """What looks like a message takes the bytes after it along, at most 280 of them."""
    decoder = CountingDecoder()
    stream = start + b''.join(controls_frame(t, HALVES) for t in range(8))
    found = [c.time_us for c in decoder.controls(stream)]
    assert found[-1:] == [7] and found == list(range(found[0], 8))
    assert found[0] * len(GOOD) <= 280 + len(GOOD)
    assert decoder.counts['bad_messages'] > 0


def test_decoders_are_apart():
    """Half a message in one does not reach another."""
    first, second = CountingDecoder(), CountingDecoder()
    first.controls(GOOD[:30])
    assert second.controls(GOOD) == [FOUND]
    assert first.controls(GOOD[30:]) == [FOUND]


# What is odd.

def remarked(*streams):
    """Return a decoder and what it remarks on streams; each is a connection of its own."""
    decoder = CountingDecoder()
    for stream in streams:
        decoder.begin_connection()
        decoder.controls(stream)
    return decoder, decoder.sentences


def heartbeat(system):
    """Return a HEARTBEAT of a system."""
    return frame(mavlink_frames.HEARTBEAT, mavlink_frames.heartbeat_payload(), system=system)


@pytest.mark.parametrize('first', [heartbeat(7), controls_frame(4000, HALVES, system=7)])
def test_who_speaks_first_is_the_autopilot(first):
    """With HEARTBEAT or controls; controls of others are ignored."""
    decoder, remarks = remarked(
        first + GOOD + heartbeat(1) + GOOD + controls_frame(8000, HALVES, system=7))
    assert decoder.counts['foreign_messages'] == 2
    assert remarks == ['controls from system 1 are ignored, and counted as foreign_messages: the'
                       ' autopilot is system 7'] * 2
    found = decoder.controls(GOOD + controls_frame(8000, HALVES, system=7))
    assert [c.time_us for c in found] == [8000]


def test_other_messages_do_not_make_an_autopilot():
    """A ground station may ask for something first."""
    command = frame(mavlink_frames.COMMAND_LONG, bytes(33), system=255)
    decoder = CountingDecoder()
    assert decoder.controls(command + GOOD) == [FOUND]
    assert decoder.counts['foreign_messages'] == 0


def test_the_next_connection_may_be_another_system():
    """Half a message of the last one is forgotten, its counters are not."""
    other = controls_frame(4000, HALVES, mode=129, system=7)
    decoder, _ = remarked(b'hello' + GOOD + other + GOOD[:30])
    decoder.begin_connection()
    assert decoder.controls(other) == [FOUND]
    assert (decoder.counts['bad_messages'], decoder.counts['foreign_messages']) == (1, 1)


def test_messages_of_another_dialect():
    """They cannot be checked; they are skipped and counted."""
    decoder, remarks = remarked(frame(54321, b'what is this') + GOOD)
    assert (decoder.counts['unknown_messages'], decoder.counts['bad_messages']) == (1, 0)
    assert remarks == ['message 54321 is none of the common dialect; counted as'
                       ' unknown_messages']


def test_mavlink_1_controls_are_read():
    """And counted."""
    decoder = CountingDecoder()
    payload = mavlink_frames.controls_payload(4000, HALVES, mode=129)
    old = frame_v1(mavlink_frames.ACTUATOR_CONTROLS, payload)
    assert decoder.controls(old + GOOD + old) == [FOUND] * 3
    assert decoder.counts['mavlink1_messages'] == 2


@pytest.mark.parametrize(('stream', 'remark'), [
    (b'seventeen letters', '17 bytes that are no MAVLink came in (Bad prefix); counted'
     ' as bad_messages'),
    (controls_frame(4000, (math.nan,)), 'a control of nan came in; it is limited to -1 .. 1'
     ' (NaN, which means "off", to 0) and counted as limited_controls'),
    (frame_v1(mavlink_frames.HEARTBEAT, mavlink_frames.heartbeat_payload()),
     'HEARTBEAT came in as MAVLink 1; it is read, and counted as mavlink1_messages'),
])
def test_remarks_are_sentences(stream, remark):
    """Of what came, and where it is counted."""
    assert remarked(stream)[1] == [remark]
    assert remarked(stream, stream)[1] == [remark, remark]


def test_a_damaged_frame_is_remarked_with_its_reason():
    """A checksum tells of a wrong dialect."""
    _, (remark,) = remarked(spoilt(GOOD, 30))
    assert '93 bytes that are no MAVLink came in (invalid MAVLink CRC in msgID 93' in remark


@pytest.mark.slow       # calculates for seconds
@pytest.mark.parametrize('piece', [
    b'no beginning of a message ' * 4096, b'\xfd\xff\x00' * 30_000, b'\xfe\xff' * 40_000,
    b'\xfd\xff\x01' + b'\x00' * 200, (GOOD * 8)[:-1], (GOOD * 700)[:-1]])
def test_a_flood_takes_no_memory(piece):
    """However it is cut: pymavlink alone keeps all until a piece ends with a message."""
    decoder = HilDecoder()
    decoder.controls(piece)
    pieces = 150_000 // len(piece)
    tracemalloc.start()
    try:
        for _ in range(pieces):
            decoder.controls(piece)
        gc.collect()           # frees what Python keeps of tuples
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert grown < 20_000
    decoder.controls(b'\x00' * 300)
    assert decoder.controls(GOOD) == [FOUND]
