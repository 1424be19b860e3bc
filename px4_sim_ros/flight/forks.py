# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Several `world` processes, forked from one: they start in a part of the time and memory."""
from __future__ import annotations

import collections
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import time
import typing

from px4_sim_ros.process.children import Child, NotStartedError, own_module

_LONGEST = 256


class WorldForks:
    """Starts `world` processes; each is a child like any other."""

    def __init__(self, environment: typing.Mapping[str, str]) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._origin = Child(
                'the process that nodes are forked from',
                own_module('px4_sim_ros.ros.world_forks', str(theirs.fileno())),
                environment=environment, inherited=[theirs.fileno()])
        self._asked: collections.deque[_Fork] = collections.deque()     # without a process id yet
        self._exit_codes: dict[int, int] = {}

    def start(
        self, name: str, arguments: typing.Sequence[str], log: pathlib.Path | None = None,
    ) -> Child:
        """Start a `world` with these arguments.

        :param log: a file for all that it prints; without one it prints to ours
        :raises NotStartedError: the process that forks has ended
        """
        asked = {'arguments': list(arguments), 'log': str(log or '')}
        try:
            self._socket.send(json.dumps(asked).encode())
        except OSError as error:
            raise self._gone() from error
        self._asked.append(_Fork(self))
        return Child.of(name, self._asked[-1])

    def close(self) -> None:
        """End the process that they were forked from; those that are left are asked to end."""
        self._socket.close()
        self._origin.stop()

    def wait_for_pid(self, fork: _Fork) -> int:
        """Return the process id of one that was asked for.

        :raises NotStartedError: the process that forks has ended
        """
        while not fork.known_pid:
            if not self._read(None):
                raise self._gone()
        return fork.known_pid

    def _gone(self) -> NotStartedError:
        self._origin.stop()
        return NotStartedError(
            f'{self._origin.name} has ended with exit code {self._origin.exit_code}')

    def exit_code(self, fork: _Fork, timeout_s: float | None) -> int | None:
        """Wait for the end of a process; return its exit code, None while it runs.

        :param timeout_s: None to wait for as long as it takes
        """
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        while fork.known_pid not in self._exit_codes:
            try:
                if not self._read(
                        None if deadline_s is None else max(deadline_s - time.monotonic(), 0.0)):
                    return -signal.SIGTERM       # it was sent that with the end of the origin
            except (BlockingIOError, TimeoutError):
                return None
        return self._exit_codes[fork.known_pid]

    def _read(self, timeout_s: float | None) -> bool:
        """Take in the next message; return whether there was one."""
        self._socket.settimeout(timeout_s)
        packet = b''
        with contextlib.suppress(ConnectionError):      # it has ended before it has read all
            packet = self._socket.recv(_LONGEST)
        if not packet:
            return False
        pid, *exit_code = json.loads(packet)
        if exit_code:
            self._exit_codes[pid], = exit_code
        else:
            self._asked.popleft().known_pid = pid
        return True


class _Fork:
    """A process that was forked from another: what `Child` needs of subprocess.Popen."""

    def __init__(self, forks: WorldForks) -> None:
        self._forks = forks
        self.known_pid = 0

    @property
    def pid(self) -> int:
        return self._forks.wait_for_pid(self)

    def poll(self) -> int | None:
        return self._forks.exit_code(self, 0.0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._forks.exit_code(self, timeout)
        if code is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
        return code

    def send_signal(self, sig: int) -> None:
        # It may have ended, and its origin has seen that: its exit code is on the way.
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, sig)
