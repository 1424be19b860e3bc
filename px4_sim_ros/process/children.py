# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Child processes that never outlive this one."""
from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time
import typing

from px4_sim_ros.process.signal_mask import ENDING

# Signals wait until the process has its handlers and unblocks them: while Python imports, Ctrl-C
# would print where it has got to. (`env` is part of coreutils.)
SIGNALS_WAIT = ('env', f"--block-signal={','.join(map(str, ENDING))}", '--')


def die_with_parent(signal: str = 'TERM') -> tuple[str, ...]:
    """Return the command of a program that the kernel signals when this process is gone.

    Also if this process was killed, and before the kernel was asked. (`setpriv` is part of
    util-linux; Python's preexec_fn is not safe in a process with threads.)
    """
    still_there = 'test "$PPID" = "$0" && exec "$@"'
    return ('setpriv', '--pdeathsig', signal, '--', 'sh', '-c', still_there, str(os.getpid()))


def own_module(name: str, *arguments: str) -> list[str]:
    """Return the command that runs a module of this package."""
    places = [str(pathlib.Path(__file__).parents[2]), os.environ.get('PYTHONPATH', '')]
    return ['env', f'PYTHONPATH={os.pathsep.join(filter(None, places))}',
            sys.executable, '-P', '-m', name, *arguments]


# Who has not ended by then is killed.
_STOP_TIMEOUT_S = 4.0


class Child:
    """One process in a session of its own, so that Ctrl-C reaches only its parent."""

    def __init__(
        self, name: str, command: typing.Sequence[str | pathlib.Path], *,
        environment: typing.Mapping[str, str] | None = None,
        folder: pathlib.Path | None = None, log: pathlib.Path | None = None,
        last_signal: str = 'TERM',
    ) -> None:
        """Start it.

        :param log: a file for all that it prints; without one it prints to ours
        :param last_signal: what it gets if this process is killed
        """
        self.name = name
        with contextlib.ExitStack() as stack:
            output = stack.enter_context(open(log, 'wb')) if log else None
            self._process = subprocess.Popen(
                [*die_with_parent(last_signal), *map(str, command)], env=environment, cwd=folder,
                stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT if output else None,
                start_new_session=True)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """Its exit code; None while it runs."""
        return self._process.poll()

    @property
    def end_sentence(self) -> str:
        return f'{self.name} has ended with exit code {self.exit_code}'

    @property
    def was_killed(self) -> bool:
        """Whether a signal has ended it that nothing in it raises: of a user, or of the kernel."""
        return self.exit_code in (-signal.SIGKILL, -signal.SIGTERM)

    def wait(self, timeout_s: float) -> bool:
        """Wait for its end; return whether it has ended."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def stop(self, timeout_s: float = _STOP_TIMEOUT_S) -> None:
        """Ask it to end; after `timeout_s`, end its whole session."""
        stop_all([self], timeout_s)

    def ask_to_end(self) -> None:
        if self.exit_code is None:
            self._process.send_signal(signal.SIGTERM)

    def send_kill(self) -> None:
        """End its whole session, and do not wait."""
        # What it started and left behind, if anything: its session was made for it alone.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def kill(self) -> None:
        """End its whole session, and wait until it has ended."""
        self.send_kill()
        self._process.wait()


def stop_all(children: typing.Sequence[Child], timeout_s: float = _STOP_TIMEOUT_S) -> None:
    """Ask processes to end, all at once; after `timeout_s`, end their whole sessions."""
    deadline_s = time.monotonic() + timeout_s
    try:
        for child in children:
            child.ask_to_end()
        for child in children:
            child.wait(max(deadline_s - time.monotonic(), 0.0))
    finally:       # a second Ctrl-C does not wait
        # All before any is waited for: one that goes before all else on its core may keep others
        # from ending.
        for child in children:
            child.send_kill()
        for child in children:
            child.kill()
