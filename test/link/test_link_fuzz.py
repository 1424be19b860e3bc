# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Ten thousand spoilt, foreign and senseless pieces between honest replies."""
from __future__ import annotations

import collections
import functools
import gc
import math
import random
import tracemalloc

import mavlink_frames
import pytest
from mavlink_frames import controls_payload, frame, frame_v1
from stand_in_autopilot import ARMED_MODE, TIME_LIMIT_S

STEP_US = 4000
PIECES = 10_000
TRACED = 2_000
# A false start takes at most 280 bytes along, and zeros start nothing.
PADDING = bytes(300)
COUNTERS = ('stale_replies', 'foreign_messages', 'unknown_messages', 'mavlink1_messages',
            'limited_controls', 'bad_messages')


def honest_controls(step):
    """Return the controls of the honest reply to a step: exact as floats, seldom twice."""
    return tuple(((step * (i + 3)) % 2048 - 1024) / 1024 for i in range(16))


def wrong_time_us(random_, time_us):
    """Return a time stamp that answers no step."""
    return random_.choice((
        random_.randrange(time_us), time_us + random_.randrange(1, 10**9), 0, 2**64 - 1,
        time_us - 1, time_us + 1, time_us - STEP_US, time_us + STEP_US))


class Fuzzer:
    """Makes pieces; `counts` are what the link must count of those that are whole frames."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.counts = collections.Counter()

    def piece(self, time_us: int) -> bytes:
        """Return a piece that comes before the reply to this time."""
        return self.random.choice((
            self._rubbish, self._mutated, self._truncated, self._spliced, self._duplicated,
            self._wrong_time, self._wrong_time_v1, self._foreign, self._other_message,
            self._other_dialect, self._starts))(time_us)

    def _rubbish(self, time_us):
        return self.random.randbytes(self.random.randrange(1, 400))

    def _any_frame(self, time_us):
        """Return a frame to be spoilt; it may be the reply to this time."""
        controls = controls_payload(time_us, honest_controls(self.random.randrange(9999)), mode=129)
        return self.random.choice((
            frame(mavlink_frames.ACTUATOR_CONTROLS, controls),
            frame_v1(mavlink_frames.ACTUATOR_CONTROLS, controls),
            frame(mavlink_frames.HEARTBEAT, mavlink_frames.heartbeat_payload())))

    def _mutated(self, time_us):
        """Return a frame with one bit turned, which a CRC finds in any case."""
        data = bytearray(self._any_frame(time_us))
        data[self.random.randrange(len(data))] ^= 1 << self.random.randrange(8)
        return bytes(data)

    def _truncated(self, time_us):
        """Return a frame without its checksum at least, which nothing else completes."""
        data = self._any_frame(time_us)
        return data[:self.random.randrange(1, len(data) - 2)]

    def _spliced(self, time_us):
        """Return the beginning of one frame and the end of another, less than its controls."""
        return self._truncated(time_us) + self._any_frame(time_us)[self.random.randrange(30, 60):]

    def _controls(self, make, time_us, system):
        controls = [self.random.uniform(-1.0, 1.0) for _ in range(16)]
        odd = self.random.randrange(3)
        for i in range(odd):
            controls[i] = self.random.choice((math.nan, math.inf, -math.inf, 1e30, -1.5))
        payload = controls_payload(time_us, tuple(controls), mode=self.random.randrange(256))
        return make(mavlink_frames.ACTUATOR_CONTROLS, payload, system=system), odd

    def _wrong_time(self, time_us, make=frame, copies=1):
        data, odd = self._controls(make, wrong_time_us(self.random, time_us), 1)
        self.counts.update(stale_replies=copies, limited_controls=copies * odd)
        return data * copies

    def _duplicated(self, time_us):
        return self._wrong_time(time_us, copies=self.random.randrange(2, 5))

    def _wrong_time_v1(self, time_us):
        self.counts['mavlink1_messages'] += 1
        return self._wrong_time(time_us, frame_v1)

    def _foreign(self, time_us):
        """Return the right time from the wrong system."""
        self.counts['foreign_messages'] += 1
        system = self.random.choice((0, *range(2, 256)))
        return self._controls(frame, time_us, system)[0]

    def _other_message(self, time_us):
        payload = self.random.randbytes(33)
        return frame(mavlink_frames.COMMAND_LONG, payload, system=self.random.randrange(256))

    def _other_dialect(self, time_us):
        self.counts['unknown_messages'] += 1
        return frame(self.random.randrange(60_000, 2**24), self.random.randbytes(50))

    def _starts(self, time_us):
        """Return frame starts, with long lengths and other flags."""
        starts = b'\xfd', b'\xfe', b'\xfd\xff\x00', b'\xfd\xff\x01', b'\xfe\xff'
        return self.random.choice(starts) * self.random.randrange(1, 60)


def honest_reply(time_us):
    """Return the reply to a time."""
    controls = honest_controls(time_us // STEP_US)
    return frame(mavlink_frames.ACTUATOR_CONTROLS,
                 controls_payload(time_us, controls, mode=ARMED_MODE))


def exchanged(link, peer, time_us, piece=b''):
    """Exchange a step whose reply comes behind a piece; return the command."""
    peer.send(piece + honest_reply(time_us))
    command = link.exchange(time_us)
    peer.socket.recv(65536)
    return command


def check(link, peer, steps, piece_before=lambda time_us: b''):
    """Exchange steps; each must end with its own honest reply."""
    for step in steps:
        time_us = step * STEP_US
        command = exchanged(link, peer, time_us, piece_before(time_us))
        assert command == (time_us, True, honest_controls(step)), f'step {step}'


@pytest.fixture
def locked(make_link, connect):
    """Return a link and a peer; the bound is long, so that a lost reply is seen as one."""
    link, peer = make_link(reply_timeout_s=5.0, freewheel_pause_s=1.0), connect()
    peer.socket.settimeout(TIME_LIMIT_S)
    return link, peer


def counted(link):
    """Return the counters of what is odd."""
    status = link.lockstep.status()
    return {name: int(status[name]) for name in COUNTERS}


@pytest.mark.slow
def test_fuzz(locked):
    """No wrong step, no miss, no memory, and the counters add up."""
    link, peer = locked
    check(link, peer, range(1, 1001))
    assert set(counted(link).values()) == {0}

    fuzzer = Fuzzer(seed=2024)
    fuzzed = functools.partial(_padded_piece, fuzzer)
    untraced = 1001 + PIECES - TRACED
    check(link, peer, range(1001, untraced), fuzzed)
    # Made before, since whatever is made takes ten times as long while memory is traced.
    steps = range(untraced, 1001 + PIECES)
    pieces = {step * STEP_US: fuzzed(step * STEP_US) for step in steps}
    gc.collect()
    tracemalloc.start()
    try:
        check(link, peer, steps, pieces.get)
        gc.collect()
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert grown < 40 * TRACED

    check(link, peer, range(1001 + PIECES, 2001 + PIECES))
    assert link.state == 'LOCKED'
    lockstep, seen = link.lockstep, counted(link)
    assert (lockstep.steps, link.counts['misses']) == (2000 + PIECES, 0)
    assert lockstep.replies == lockstep.steps
    # What is spoilt may be taken for a message of another dialect, which has no checksum.
    for name in ('stale_replies', 'foreign_messages', 'mavlink1_messages', 'limited_controls'):
        assert seen[name] == fuzzer.counts[name] > 100, name
    assert seen['unknown_messages'] >= fuzzer.counts['unknown_messages'] > 100
    assert seen['bad_messages'] > PIECES // 2
    assert len(lockstep.report.take_events()) <= 2 + len(COUNTERS)


def _padded_piece(fuzzer, time_us):
    return fuzzer.piece(time_us) + PADDING


def test_fuzz_that_takes_replies_along(make_link, connect):
    """Without padding a reply may be lost; then the last command is held, nothing else."""
    link, peer = make_link(reply_timeout_s=0.02, step_us=1000, freewheel_pause_s=1.0), connect()
    check(link, peer, range(1, 11))
    fuzzer, last_us, lost = Fuzzer(seed=7), 10 * STEP_US, 0
    for step in range(11, 1011):
        time_us = step * STEP_US
        command = exchanged(link, peer, time_us, fuzzer.piece(time_us))
        if command.time_us != time_us:
            lost += 1
            assert command.time_us == last_us
        last_us = command.time_us
        assert command == (last_us, True, honest_controls(last_us // STEP_US))
    assert 10 < lost < 500
    peer.send(PADDING)
    check(link, peer, range(1011, 1031))
    assert link.state == 'LOCKED'
