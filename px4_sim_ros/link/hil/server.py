# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The TCP server that PX4 connects to: one client, no call that blocks without a bound."""
from __future__ import annotations

import contextlib
import fcntl
import math
import os
import pathlib
import select
import socket
import termios
import time
import typing

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.fields import packed, simulator_mavlink
from px4_sim_ros.link.hil.link_state import Count
from px4_sim_ros.link.ports import bound_socket

if typing.TYPE_CHECKING:       # a process that has no motion does without it
    from px4_sim_ros.link.hil.burst_code import InProcess

# Whether it pays to wait for a reply awake: not while others want the cores.

# The kernel counts for how long a thread could run and had no core.
_SCHEDULE = pathlib.Path('/proc/thread-self/schedstat')
# Of wall time between two looks, some 20 us each.
_LOOK_S = 0.05
# Of wall time that was waited for a core. An idle machine is far below, a busy one far above.
_WANTED_SHARE = 0.1


class WaitingAwake:
    """Looks how long this thread has waited for a core of late.

    Waiting awake for another process takes from it what it needs when there are fewer cores
    than work, and keeps all others from theirs.
    """

    def __init__(self) -> None:
        """Begin; with several cores the other process is taken to have one of its own."""
        self.pays = self._has_cores = len(os.sched_getaffinity(0)) > 1
        self._looked_s = time.perf_counter()
        self._waited_s = _waited_for_core_s()

    def look(self, now_s: float) -> bool:
        """Return whether it pays now.

        :param now_s: of time.perf_counter
        """
        since_s = now_s - self._looked_s
        if self._has_cores and since_s >= _LOOK_S:
            waited_s = _waited_for_core_s()
            self.pays = waited_s - self._waited_s < _WANTED_SHARE * since_s
            self._looked_s, self._waited_s = now_s, waited_s
        return self.pays


def _waited_for_core_s() -> float:
    """Return how long this thread has waited for a core, s; 0 if the kernel does not count it."""
    with contextlib.suppress(OSError):
        return 1e-9 * int(_SCHEDULE.read_text(encoding='ascii').split()[1])
    return 0.0


# Of PX4 instance 0; each further instance has the next port.
HIL_PORT = 4560
# What a flood can bring at a time: read within some 20 ms, so that the step is not held up.
_RECEIVE_BYTES = 16384
# A reply takes an autopilot some 0.2 ms. To sleep so long is to wake up late and with cold caches,
# which costs as much again; in longer waits the process sleeps.
AWAKE_S = 5e-4


def port_of(instance: int) -> int:
    """Return the TCP port that PX4 instance `instance` connects to."""
    return HIL_PORT + instance


def _refusal() -> bytes:
    """Return the STATUSTEXT that refuses a client while another one is served."""
    mav = simulator_mavlink()
    return packed(mav, mav.statustext_encode(
        mavlink.MAV_SEVERITY_ERROR, b'This simulator already serves an autopilot'))


class HilServer:
    """Listens on one port and serves one client at a time; further ones are refused.

    A retired client is kept, since a PX4 whose connection is closed spins a core. But it
    is served no further, and the next client takes its place. A subclass whose autopilot is at no
    socket has no client here.
    """

    _awake: WaitingAwake | None = None
    _client: socket.socket | None = None
    _is_retired = False
    _unsent = _unread = b''

    def __init__(self, host: str, port: int, *, stays_awake: bool = False) -> None:
        """Start to listen.

        :param stays_awake: do not sleep while a reply is near, if no other process wants the cores
        :raises PortTakenError: naming the port and, where the system shows it, its holder
        """
        if stays_awake:
            self._awake = WaitingAwake()
        self.count: Count = lambda trouble, sentence: None
        """Counts what is dropped, and who is refused."""
        self.remark: typing.Callable[[str, str], None] = lambda kind, sentence: None
        """Reports a sentence, once a connection and kind."""
        self._listener = bound_socket('TCP', host, port)
        self._listener.listen(1)
        self._listener.setblocking(False)
        self._poll = select.poll()
        self._poll.register(self._listener, select.POLLIN)

    @property
    def connected(self) -> bool:
        """Whether a client is connected and served, as far as is known."""
        return self._client is not None and not self._is_retired

    @property
    def retired(self) -> bool:
        """Whether a retired client is still connected, as far as is known."""
        return self._client is not None and self._is_retired

    @property
    def peer_host(self) -> str | None:
        """Where the autopilot is, None when there is none."""
        peer = self.peer             # read once: it may go between two looks
        return None if peer is None else peer[0]

    @property
    def peer(self) -> tuple[str, int] | None:
        """The address from which the autopilot has connected, None when there is none."""
        if self._client is None or self._is_retired:
            return None
        try:
            host, port = self._client.getpeername()
        except OSError:
            return None      # it has just gone, which the next exchange will notice
        return host, port

    def accept(self, timeout_s: float = 0.0) -> bool:
        """Take the next client, waiting at most `timeout_s`; return whether there is one."""
        if self.connected:
            return True
        ready = self._ready(timeout_s)
        if self._client is not None and self._client.fileno() in ready:
            self._read()       # of a retired client only the end matters
        if self._listener.fileno() in ready:
            self._take_next()
        return self.connected

    def _ready(self, timeout_s: float) -> list[int]:
        """Return which sockets have something to read, waiting at most `timeout_s`."""
        return [number for number, _ in self._poll.poll(1e3 * timeout_s)]

    def _take_next(self) -> None:
        try:
            client, _ = self._listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return   # it went away between the two calls
        client.setblocking(False)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.drop_client()
        self._client = client
        self._poll.register(client, select.POLLIN)

    def retire_client(self) -> None:
        """Serve the client no longer, but keep it until it goes or the next one comes."""
        self._is_retired = self._client is not None

    def send(self, data: bytes) -> None:
        """Send without waiting; what a client that does not read has no room for is dropped.

        Frames are never cut: the rest of one that was sent in part goes first.
        """
        if self._client is None:
            return
        if self._unsent:
            self._count_drop()
            data = self._unsent
        try:
            sent = self._client.send(data)
        except BlockingIOError:
            sent = 0
            if data is not self._unsent:
                self._count_drop()
                data = b''
        except OSError:
            self.drop_client()
            return
        self._unsent = data[sent:]

    # For compiled code that exchanges steps on the same socket.

    @property
    def in_process(self) -> InProcess | None:
        """An autopilot that answers in this process instead of at the socket."""
        return None

    def begin_steps(self, time_us: int) -> tuple[int, float] | None:
        """Return the number of the client's socket, and the time of its first telemetry.

        That is of an autopilot in this process, else infinite. None while there is no client, or
        something is left to do.

        :param time_us: of the step that waits for its reply
        """
        if self._client is None or self._is_retired or self._unsent or self._unread:
            return None
        return self._client.fileno(), math.inf

    def send_telemetry(self, time_us: int) -> float:
        """Let an autopilot in this process send the telemetry of a time; return the next one."""
        return math.inf

    def take_steps(self, time_us: int, *, is_sent: bool) -> None:
        """Take in that compiled code has exchanged steps.

        :param time_us: of the last one
        :param is_sent: whether its frames were sent, and its reply is still to come
        """

    @property
    def waits_awake(self) -> bool:
        """Whether a reply is waited for without sleeping."""
        return self._awake is not None and self._awake.look(time.perf_counter())

    def put_back(self, data: bytes) -> None:
        """Let bytes that were read be the next that `receive` returns."""
        self._unread = data

    def send_rest(self, data: bytes, sent: int) -> None:
        """Send what is left of bytes of which some were sent; less than 0: none were."""
        if sent > 0:
            self._unsent = data[sent:]
        else:
            self.send(data)

    def _count_drop(self) -> None:
        self.count('dropped_sends', 'the autopilot does not read what is sent to it; dropped'
                   ' frames are counted as dropped_sends')

    @property
    def is_delivered(self) -> bool:
        """Whether all that was sent is in the hands of the autopilot's system.

        A frame may be on its way although no process runs: a thread of the kernel may have to hand
        it over, and waits for its turn on a busy core.
        """
        if self._client is None:
            return True
        waiting = fcntl.ioctl(self._client, termios.TIOCOUTQ, bytes(4))
        return not self._unsent and not any(waiting)

    def receive(self, timeout_s: float) -> bytes:
        """Return the client's bytes, waiting at most `timeout_s`; empty when none came.

        Ends early when a further client had to be refused. Afterwards `connected` is false if
        the client went away.
        """
        if not self.connected:
            return b''
        if self._unread:
            return self._read()
        if self._awake is not None and (data := self._receive_awake(self._awake, timeout_s)):
            return data
        if self._client is None:
            return b''
        ready = self._ready(timeout_s)
        if self._client.fileno() in ready:
            # It may be the end; then the client that waits is the next and not a second one.
            return self._read()
        if ready:
            self._refuse_next()
        return b''

    def _receive_awake(self, awake: WaitingAwake, timeout_s: float) -> bytes:
        """Return the bytes that come within `AWAKE_S`, without sleeping, if that pays."""
        now_s = time.perf_counter()
        if not awake.look(now_s):
            return b''
        until_s = now_s + min(timeout_s, AWAKE_S)
        while not (data := self._read()) and self.connected and time.perf_counter() < until_s:
            pass
        return data

    def _read(self) -> bytes:
        """Return the bytes of the client; close the connection at its end."""
        if self._client is None:
            return b''
        if self._unread:
            data, self._unread = self._unread, b''
            return data
        try:
            data = self._client.recv(_RECEIVE_BYTES)
        except BlockingIOError:
            return b''
        except OSError:
            data = b''
        if not data:
            self.drop_client()
        return data

    def _refuse_next(self) -> None:
        with contextlib.suppress(OSError):     # it does not read, or went away by itself
            client, (host, port) = self._listener.accept()
            with client:
                self.count('refused_clients', f'a second autopilot from {host}:{port} was refused;'
                           ' one is connected already')
                client.setblocking(False)
                client.send(_refusal())
                client.shutdown(socket.SHUT_WR)    # an end, though we close what is not read

    def drop_client(self) -> None:
        """Close the connection; the next client can be accepted."""
        if self._client is not None:
            self._poll.unregister(self._client)
            self._client.close()
        self._client, self._is_retired = None, False
        self._unsent = self._unread = b''

    def figures(self) -> dict[str, str]:
        """Return figures of a line; there is none."""
        return {}

    def close(self) -> None:
        """Close everything and free the port."""
        self.drop_client()
        self._listener.close()


class Deadline:
    """A wall-clock bound that several waits share."""

    def __init__(self, timeout_s: float) -> None:
        self._end_s = time.monotonic() + timeout_s

    @property
    def remaining_s(self) -> float:
        """Seconds left, not below 0."""
        return max(0.0, self._end_s - time.monotonic())
