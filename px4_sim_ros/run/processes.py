"""Child processes that never outlive this one."""
from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import typing

# The kernel sends SIGTERM when the parent is gone, even if it was killed. (`setpriv` is part
# of util-linux; Python's preexec_fn is not safe in a process with threads.)
DIE_WITH_PARENT = ('setpriv', '--pdeathsig', 'TERM', '--')


class Child:
    """One process in a session of its own, so that Ctrl-C reaches only its parent."""

    def __init__(
        self, name: str, command: typing.Sequence[str | pathlib.Path], *,
        environment: typing.Mapping[str, str] | None = None,
        folder: pathlib.Path | None = None, log: pathlib.Path | None = None,
    ) -> None:
        """Start it.

        :param log: a file for all that it prints; without one it prints to ours
        """
        self.name = name
        with contextlib.ExitStack() as stack:
            output = stack.enter_context(open(log, 'wb')) if log else None
            self._process = subprocess.Popen(
                [*DIE_WITH_PARENT, *map(str, command)], env=environment, cwd=folder,
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

    def wait(self, timeout_s: float) -> bool:
        """Wait for its end; return whether it has ended."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def stop(self, timeout_s: float = 4.0) -> None:
        """Ask it to end; after `timeout_s`, end its whole session."""
        if self.exit_code is None:
            self._process.send_signal(signal.SIGTERM)
            self.wait(timeout_s)
        # What it started and left behind, if anything: its session was made for it alone.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
