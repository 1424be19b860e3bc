"""A TCP client that connects as PX4 does and then says what a test tells it.

As a program (`scripted_peer.py PORT`) it answers every HIL_SENSOR: a peer that can be stopped.
"""
from __future__ import annotations

import contextlib
import select
import socket
import struct
import sys
import threading
import typing

from mavlink_frames import controls_frame, px4_greeting
from pymavlink.dialects.v20 import common as mavlink

HOST = '127.0.0.1'
ARMED_MODE = 129
TIME_LIMIT_S = 20.0

# Returns the pieces of bytes with which a HIL_SENSOR of this time is answered.
Script = typing.Callable[[int], typing.Iterable[bytes]]


def reply(time_us: int) -> bytes:
    """Return an armed reply that tells its time by the first control, too."""
    return controls_frame(time_us, (marker(time_us), 0.5, 0.5, 0.5), mode=ARMED_MODE)


def marker(time_us: int) -> float:
    """Return the first control of the reply to a time: a number of 1/1024, exact as a float."""
    return time_us // 4000 % 1024 / 1024


class ScriptedPeer:
    """One connection to the simulator."""

    def __init__(self, port: int, *, receive_buffer: int | None = None) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.socket.settimeout(TIME_LIMIT_S)
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.connect((HOST, port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._mav = mavlink.MAVLink(None)
        self._thread: threading.Thread | None = None
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
        """Return the times of the HIL_SENSORs that come next; empty at the end of the link."""
        while messages := self.messages():
            if times := [m.time_usec for m in messages if m.get_type() == 'HIL_SENSOR']:
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

    def answer(self, script: Script) -> None:
        """Answer by the script until the link ends."""
        while times := self.sensor_times():
            for time_us in times:
                self.send(*script(time_us))

    def start(self, script: Script) -> None:
        """Answer by the script in a thread of its own."""
        def run() -> None:
            with contextlib.suppress(OSError):     # the link was closed
                self.answer(script)
        self._thread = threading.Thread(target=run)
        self._thread.start()

    def hang_up(self) -> None:
        """End the connection in order."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        if self._thread:
            self._thread.join()

    def reset(self) -> None:
        """End the connection with a reset, as a process that crashes may."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        self.socket.close()


if __name__ == '__main__':
    ScriptedPeer(int(sys.argv[1])).answer(lambda time_us: [reply(time_us)])
