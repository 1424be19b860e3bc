# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The stand-in for an autopilot on the HIL link: it connects as PX4 does and answers as asked.

As a program (`stand_in_autopilot.py PORT`) it answers each HIL_SENSOR: a process to be stopped.
"""
from __future__ import annotations

import contextlib
import math
import select
import socket
import struct
import sys
import threading
import time
import typing

from mavlink_frames import controls_frame, px4_greeting
from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.hil.server import port_of

HOST = '127.0.0.1'
ARMED_MODE = 129
TIME_LIMIT_S = 20.0

# Returns the pieces of bytes with which the HIL_SENSOR of a time is answered: none to be silent.
# It may sleep to be late, and close the connection.
Answer = typing.Callable[[int], typing.Iterable[bytes]]


def reply(time_us: int) -> bytes:
    """Return an armed reply that has its time in the first control, too."""
    return controls_frame(time_us, (marker(time_us), 0.5, 0.5, 0.5), mode=ARMED_MODE)


def marker(time_us: int) -> float:
    """Return the first control of the reply to a time: a number of 1/1024, exact as a float."""
    return time_us // 4000 % 1024 / 1024


class StandInAutopilot:
    """One connection to the simulator."""

    def __init__(self, port: int, *, receive_buffer: int | None = None) -> None:
        """Connect, as soon as the simulator listens, and send the greeting of PX4."""
        deadline_s = time.monotonic() + TIME_LIMIT_S
        while True:
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            self.socket.settimeout(TIME_LIMIT_S)
            if receive_buffer is not None:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
            try:
                self.socket.connect((HOST, port))
                break
            except ConnectionRefusedError:
                self.socket.close()
                assert time.monotonic() < deadline_s, f'no simulator listens on port {port}'
                time.sleep(0.02)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._mav = mavlink.MAVLink(None)      # raises for bytes that are not part of a frame
        self._thread: threading.Thread | None = None
        self.sensors = 0                       # how many HIL_SENSORs `run` has got
        self.send(px4_greeting())

    def send(self, *pieces: bytes) -> None:
        """Send each piece as a segment of its own."""
        for piece in pieces:
            self.socket.sendall(piece)

    def reply(self, *times_us: int) -> None:
        """Send the replies to these times, in one piece."""
        self.send(b''.join(reply(t) for t in times_us))

    def messages(self) -> list[mavlink.MAVLink_message]:
        """Return the messages that come next; empty at the end of the link."""
        while data := self.socket.recv(65536):
            if messages := self._mav.parse_buffer(data):
                return messages
        return []

    def sensor_times(self) -> list[int]:
        """Return the times of the next HIL_SENSORs of id 0; empty at the end of the link."""
        while messages := self.messages():
            if times := [m.time_usec for m in messages
                         if m.get_type() == 'HIL_SENSOR' and m.id == 0]:
                return times
        return []

    def messages_so_far(self) -> list[mavlink.MAVLink_message]:
        """Return what has come, without waiting."""
        messages = []
        while select.select([self.socket], [], [], 0.0)[0] and (more := self.messages()):
            messages += more
        return messages

    @property
    def address(self) -> str:
        """Return the own address as the simulator sees it."""
        return '{}:{}'.format(*self.socket.getsockname())

    def run(self, answer: Answer) -> None:
        """Answer until the link ends."""
        self.socket.settimeout(None)           # the simulator may be paused
        with contextlib.suppress(OSError):     # the link was closed
            while times := self.sensor_times():
                self.sensors += len(times)
                for time_us in times:
                    self.send(*answer(time_us))

    def start(self, answer: Answer) -> None:
        """Answer in a thread of its own."""
        self._thread = threading.Thread(target=self.run, args=[answer])
        self._thread.start()

    def close(self) -> None:
        """End the connection in order."""
        with contextlib.suppress(OSError):     # the other side may have gone before
            self.socket.shutdown(socket.SHUT_RDWR)
        if self._thread:
            self._thread.join()
        self.socket.close()

    def reset(self) -> None:
        """End the connection with a reset, as a process that crashes may."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        self.socket.close()


# A flight

ARMED_FROM_US = 1_000_000


def scripted_controls(time_us: int) -> tuple[int, list[float]]:
    """Return mode and controls: still for a second, then a flight with much turning.

    The first four are for rotors that lift; the others swing, for whatever a vehicle has there.
    """
    if time_us < ARMED_FROM_US:
        return 1, [0.0] * 16
    t = time_us * 1e-6
    motors = [0.72 + 0.04 * math.sin(1.3 * t + i) + 0.01 * math.sin(7.0 * t * (i + 1))
              for i in range(4)]
    return ARMED_MODE, motors + [0.4 * math.sin(2.0 * t + i) for i in range(4, 16)]


def connect(
    instance: int,
    controls: typing.Callable[[int], tuple[int, list[float]]] = scripted_controls,
) -> StandInAutopilot:
    """Return a stand-in that answers with mode and controls by the time, in a thread."""
    def answer(time_us: int) -> list[bytes]:
        mode, values = controls(time_us)
        return [controls_frame(time_us, tuple(values), mode=mode)]

    autopilot = StandInAutopilot(port_of(instance))
    autopilot.start(answer)
    return autopilot


if __name__ == '__main__':
    StandInAutopilot(int(sys.argv[1])).run(lambda time_us: [reply(time_us)])
