# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A flight controller in HITL, or any PX4 without lockstep, in place of one that answers each step.

There HIL is a part of an ordinary MAVLink line. The controller keeps its own time: it takes samples
at the time of their arrival, and sends controls at a rate of its own (PX4: 200 Hz). So a step
is answered at once, with the controls that have come last, and steps follow the wall clock.

All else on the line goes to the ports to which a PX4 of this machine would send it, and back.
"""
from __future__ import annotations

import collections
import contextlib
import math
import os
import socket
import time
import typing

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.fast_frames import FramePacker, FrameReader
from px4_sim_ros.link.fields import heartbeat, packed, simulator_mavlink
from px4_sim_ros.link.hil import codec
from px4_sim_ros.link.hil.board import Board
from px4_sim_ros.link.hil.line import FIGURES, line_to
from px4_sim_ros.link.hil.server import HilServer
from px4_sim_ros.link.pilot.link import AUTOPILOT_PORT, pilot_port
from px4_sim_ros.link.ports import LOCAL, PortTakenError, bound_socket
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.process import gc_control
from px4_sim_ros.px4.shared_core import Scheduling, go_last

# Wall time after which the controls that have come last answer no step.
_SILENT_S = 0.1
_HEARTBEAT_S, _TIMESYNC_S = 1.0, 0.1
# Of a ground station, and of PX4 that sends to it; each further instance has the next port.
_STATION_PORT, _AUTOPILOT_STATION_PORT = 14550, 18570
_MOST_BYTES = 65536
_NS_PER_MS = 1_000_000
# Of an interval between controls, in mean ones, from which on it is late; and of one between two
# steps, in their period, from which on the controller has missed one.
_LATE = 2.0
# PX4 takes its first sample for one since its start, where 32 bits count its us; then its estimator
# waits for a twentieth of that. So long is not worth a word, s.
_COUNTED_S, _WAITS, _SHORT_S = (1 << 32) / US_PER_S, 0.05, 10.0
# Upper limits of the classes of a histogram, ms.
_CLASSES_MS = 1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 50


class Histogram:
    """Durations by tenths of a millisecond."""

    def __init__(self) -> None:
        self._counts: collections.Counter[int] = collections.Counter()

    def add(self, duration_ms: float) -> None:
        self._counts[round(10.0 * duration_ms)] += 1

    def percentile(self, share: float) -> float:
        """Return the least duration that this share of all does not exceed; NaN if there is none.

        In milliseconds.
        """
        left = share * self._counts.total()
        for tenths in sorted(self._counts):
            left -= self._counts[tenths]
            if left <= 0.0:
                return tenths / 10.0
        return math.nan

    def text(self) -> str:
        """Return median, 99th percentile and the greatest, ms."""
        return ' '.join(f'{self.percentile(share):.1f}' for share in (0.5, 0.99, 1.0))

    def classes(self) -> str:
        """Return how many are longer than the class before and at most so many ms, as `5:120`."""
        left = dict.fromkeys(_CLASSES_MS, 0) | {math.inf: 0}
        for tenths, count in self._counts.items():
            left[next(limit for limit in left if tenths <= 10 * limit)] += count
        return ' '.join(f'{limit}:{count}' for limit, count in left.items())

    def late(self) -> int:
        """Return how many are longer than twice the mean."""
        limit = _LATE * sum(t * n for t, n in self._counts.items()) / (self._counts.total() or 1)
        return sum(count for tenths, count in self._counts.items() if tenths > limit)


class _Peer:
    """Another program that speaks with the controller, at the ports of a PX4 of this machine."""

    def __init__(self, own_port: int, its_port: int) -> None:
        self._its = LOCAL, its_port
        self._socket: socket.socket | None = None
        # Where that is taken, the controller is on this machine, and has that link itself.
        with contextlib.suppress(PortTakenError):
            self._socket = bound_socket('UDP', LOCAL, own_port)
            self._socket.setblocking(False)

    def send(self, frame: bytes) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):           # there is no such program
                self._socket.sendto(frame, self._its)

    def received(self) -> typing.Iterator[bytes]:
        with contextlib.suppress(OSError):
            while self._socket is not None:
                data, (_, port) = self._socket.recvfrom(_MOST_BYTES)
                self._its = LOCAL, port
                yield data

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()


class FlightController(HilServer):
    """Puts the frames of each step on the line, and answers it with the newest controls."""

    def __init__(
        self, line: str, instance: int, step_us: int, board: Board | None = None,
    ) -> None:
        """Begin.

        :param board: says what is set wrong there, and may set it
        :raises ParameterError: there can be no such line, or it cannot carry the frames
        """
        self._line = line_to(line, step_us)
        self._peers = (_Peer(AUTOPILOT_PORT + instance, pilot_port(instance)),
                       _Peer(_AUTOPILOT_STATION_PORT + instance, _STATION_PORT))
        self._own = simulator_mavlink()
        self._parser = mavlink.MAVLink(None)
        self._parser.robust_parsing = True
        self._sensors = FrameReader(mavlink.MAVLink_hil_sensor_message)
        self._packer: FramePacker | None = None          # with the id of the controller
        self._controls: mavlink.MAVLink_message | None = None
        self._controls_s = -math.inf                     # wall time of their arrival
        self._asked_us: int | None = None                # the step that is not answered yet
        self._is_heard = self._is_let_go = self._is_terminated = False
        self._heartbeat_s = self._timesync_s = -math.inf
        self._board = board
        self._system: int | None = None                  # of the controller
        self.count = lambda trouble, sentence: None
        self.remark = lambda kind, sentence: None
        self._intervals, self._ages, self._round_trips = Histogram(), Histogram(), Histogram()
        self._step_s = step_us / US_PER_S
        self._sent_s: float | None = None                # wall time of the samples sent last
        self._worked_s = 0.0                             # processor time of the thread then
        self._missed = 0
        self._real_time = contextlib.ExitStack()         # what ends it

    @property
    def connected(self) -> bool:
        """Whether the controller has been heard of."""
        return self._is_heard and not self._is_let_go

    def accept(self, timeout_s: float = 0.0) -> bool:
        """Listen for a while; return whether the controller has been heard of."""
        self._is_let_go = False
        self._service()
        if not self._is_heard and timeout_s:
            self._line.wait(timeout_s)
            self._service()
        return self._is_heard

    def send(self, data: bytes) -> None:
        """Put the frames of a step on the line, or those of another kind."""
        at = 0
        while at < len(data):
            end = at + data[at + 1] + 12
            frame = data[at:end]
            if (read := self._sensors.read(frame)) is not None and not read[1][-1]:
                self._asked_us = read[1][0]
                self._look_at_pace(self._asked_us)
            self._write(frame)
            at = end

    def _look_at_pace(self, time_us: int) -> None:
        """Count a period that the controller has missed, before its samples of a time are sent."""
        now_s, before_s = time.monotonic(), self._sent_s
        worked_s, worked_before_s = time.thread_time(), self._worked_s
        self._sent_s, self._worked_s = now_s, worked_s
        if before_s is not None and now_s - before_s > _LATE * self._step_s:
            self._missed += 1
            after_ms, period_ms = 1e3 * (now_s - before_s), 1e3 * self._step_s
            self.remark('missed_periods', (
                f'samples of t = {time_us / US_PER_S:.3f} s were sent {after_ms:.1f} ms after those'
                f' before, in place of {period_ms:g} ms, of which the step ran for'
                f' {1e3 * (worked_s - worked_before_s):.1f} ms: the controller has missed a period;'
                ' counted as missed_periods'))

    def _write(self, frame: bytes) -> None:
        if not self._line.write(frame):
            self._count_drop()

    def receive(self, timeout_s: float) -> bytes:
        """Return the answer to the step that was sent last; b'' while nothing comes."""
        self._service()
        answer = self._answer()
        if not answer and timeout_s:
            self._line.wait(timeout_s)
            self._service()
            answer = self._answer()
        return answer

    def _answer(self) -> bytes:
        newest, age_s = self._controls, time.monotonic() - self._controls_s
        is_silent = age_s > _SILENT_S
        if self._asked_us is None or newest is None or (is_silent and not self._is_terminated):
            return b''
        time_us, self._asked_us = self._asked_us, None
        assert self._packer is not None, 'there is one as soon as there are controls'
        if is_silent:                  # it sends none then, and its outputs are the disarmed ones
            return self._packer.pack(time_us, codec.LOCKSTEP_FLAG, *[0.0] * len(newest.controls),
                                     mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED)
        self._ages.add(1e3 * age_s)
        return self._packer.pack(time_us, codec.LOCKSTEP_FLAG, *newest.controls, newest.mode)

    def _service(self) -> None:
        """Take what has come on the line and from the others, and say that we are there."""
        while data := self._line.read():
            for message in self._parser.parse_buffer(data) or ():
                self._take(message)
        for peer in self._peers:
            for data in peer.received():
                self._write(data)
        now_s = time.monotonic()
        if now_s - self._heartbeat_s >= _HEARTBEAT_S:
            self._heartbeat_s = now_s
            self._write(heartbeat(self._own, mavlink.MAV_TYPE_GENERIC))
        if self._is_heard and now_s - self._timesync_s >= _TIMESYNC_S:
            self._timesync_s = now_s
            self._write(packed(self._own, self._own.timesync_encode(0, time.monotonic_ns())))
        if self._board is not None and self._system is not None and not self._board.is_done:
            for request in self._board.requests(self._own, self._system, now_s):
                self._write(packed(self._own, request))
            for sentence in self._board.sentences(now_s):
                self.remark(sentence, sentence)

    def _take(self, message: mavlink.MAVLink_message) -> None:
        kind = message.get_type()
        if kind == 'BAD_DATA':
            self.count('bad_messages', f'{len(message.data)} bytes that are no MAVLink came in'
                       f' ({message.reason}); counted as bad_messages')
            return
        if message.get_srcComponent() == mavlink.MAV_COMP_ID_AUTOPILOT1:
            self._is_heard, self._system = True, message.get_srcSystem()
            if kind in ('PARAM_VALUE', 'PARAM_ERROR') and self._board is not None:
                self._board.take(message)
            if kind == 'HIL_ACTUATOR_CONTROLS':
                self._take_controls(message)
                return
            if kind == 'HEARTBEAT':
                if self._board is not None:
                    self._board.is_armed = bool(
                        message.base_mode & mavlink.MAV_MODE_FLAG_SAFETY_ARMED)
                self._is_terminated = message.system_status == mavlink.MAV_STATE_FLIGHT_TERMINATION
                if self._is_terminated:
                    self.remark('termination', 'the controller has terminated the flight: its'
                                ' motors are off; restart it')
            if kind == 'TIMESYNC' and message.tc1 and message.ts1:
                self._round_trips.add((time.monotonic_ns() - message.ts1) / _NS_PER_MS)
        for peer in self._peers:
            peer.send(bytes(message.get_msgbuf()))

    def _take_controls(self, message: mavlink.MAVLink_message) -> None:
        if self._packer is None:
            self._keep_real_time()
            self._sent_s = None
            runs_s = message.time_usec / US_PER_S
            if runs_s < _COUNTED_S and (waits_s := _WAITS * runs_s) > _SHORT_S:
                self.remark('runs', (
                    f'the controller has run for {runs_s:.0f} s: the estimator of a PX4 that has'
                    f' had no measurements since its start begins {waits_s:.0f} s after the first'
                    ' one; to fly at once start the controller again'))
            self._packer = FramePacker(
                mavlink.MAVLink(None, message.get_srcSystem(), message.get_srcComponent()),
                mavlink.MAVLink_hil_actuator_controls_message)
        elif self._controls is not None and message.time_usec > self._controls.time_usec:
            self._intervals.add(1e-3 * (message.time_usec - self._controls.time_usec))
        self._controls, self._controls_s = message, time.monotonic()

    def _keep_real_time(self) -> None:
        """Put off what holds up a step, and let the calling thread go before ordinary ones."""
        gc_control.keep()
        self._real_time.callback(Scheduling.of_caller().restore)
        # Without the right to it the thread takes its turns with the others.
        with contextlib.suppress(PermissionError):
            go_last(0, os.SCHED_RESET_ON_FORK)

    def retire_client(self) -> None:
        """Answer no step until it is listened for again."""
        self._is_let_go, self._asked_us, self._sent_s = True, None, None
        if self._board is not None:
            self._board.begin()

    def figures(self) -> dict[str, str]:
        measured = self._intervals, self._ages, self._round_trips
        return dict(zip(FIGURES, (
            *(each.text() for each in measured), *(each.classes() for each in measured),
            str(self._intervals.late()), str(self._missed))))

    def close(self) -> None:
        """Close the line and the ports; a second time nothing happens."""
        self._real_time.close()
        self._line.close()
        for peer in self._peers:
            peer.close()
