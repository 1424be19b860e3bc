# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What processes take: share of a core and resident memory."""
from __future__ import annotations

import contextlib
import time
import typing

import psutil

_BYTES_PER_MIB = 2**20
# Of the command lines of what the benchmark starts; what comes after is the first node, if any.
_WORLD = 'px4_sim_ros.ros.world'
_OTHERS = {
    'px4_sim_ros.flight.pilot_process': 'pilot',
    'px4_sim_ros.autopilot.process': 'embedded autopilot',
    'px4_sim_ros.bench.trivial_peer': 'trivial peer',
    'px4_sim_ros.ros.tools.bench_subscriber': 'subscriber'}


class ProcessUsage(typing.NamedTuple):
    """One process over a window of wall time."""

    name: str
    cpu_percent: float      # of one core
    memory_mib: float


def name_of(command: typing.Sequence[str]) -> str:
    """Return what a process is called in the table."""
    words = list(command)
    if _WORLD in words:
        names = words[words.index(_WORLD) + 1:]
        if '--ros-args' in names:
            names = names[:names.index('--ros-args')]
        return names[0] if len(names) == 1 else 'graph'
    for module, name in _OTHERS.items():
        if module in words:
            return name
    return words[0].rpartition('/')[2] if words else ''


class Usage:
    """Watches this process and what it has started."""

    def __init__(self, own_name: str) -> None:
        """Begin; nothing is measured yet.

        :param own_name: of this process in the table
        """
        self._own = psutil.Process()
        self._own_name = own_name
        self._begun: dict[psutil.Process, float] = {}
        self._begun_s = 0.0

    def begin(self) -> None:
        """Measure from now on."""
        self._begun = {}
        for process in [self._own, *self._own.children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                if not _is_of_start_script(process):
                    self._begun[process] = _cpu_s(process)
        self._begun_s = time.monotonic()

    def end(self) -> list[ProcessUsage]:
        """Return what was taken since `begin`, by processes that were there the whole time."""
        wall_s = time.monotonic() - self._begun_s
        found = []
        for process, begun_s in self._begun.items():
            with contextlib.suppress(psutil.NoSuchProcess):
                name = self._own_name if process == self._own else name_of(process.cmdline())
                found.append(ProcessUsage(
                    name, 100.0 * (_cpu_s(process) - begun_s) / wall_s,
                    process.memory_info().rss / _BYTES_PER_MIB))
        return found


def _is_of_start_script(process: psutil.Process) -> bool:
    """Return whether PX4 has started a process: on a slow machine its shell may still run."""
    parent = process.parent()
    return parent is not None and name_of(parent.cmdline()) == 'px4'


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system
