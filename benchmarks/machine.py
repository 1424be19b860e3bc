# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The machine of a benchmark, how fast it is now, and what processes take of it."""
from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import pathlib
import platform
import re
import time
import typing

import psutil

from px4_sim_ros.px4.installed import px4_version

_BYTES_PER_GIB, _BYTES_PER_MIB = 2**30, 2**20
_CALIBRATION_TURNS = 1000
# Of the command lines of what the benchmark starts; what comes after is the first node, if any.
_WORLD = 'px4_sim_ros.ros.world'
_OTHERS = {
    'benchmarks.pilot_process': 'pilot',
    'px4_sim_ros.autopilot.process': 'embedded autopilot',
    'benchmarks.trivial_peer': 'trivial peer',
    'benchmarks.subscriber': 'subscriber'}
# Load per core at the start above which figures are not to be trusted.
_BUSY = 0.25


@dataclasses.dataclass(frozen=True)
class Machine:
    """A machine at the start of a benchmark."""

    cpu: str
    cores: int
    virtual: bool
    memory_gib: float
    kernel: str
    python: str
    load_average: float       # over the last minute
    px4: str                  # version of the PX4 that flies, '' for none

    @classmethod
    def here(cls, px4_build: pathlib.Path | None) -> Machine:
        """Return this machine now."""
        with open('/proc/cpuinfo', encoding='utf-8') as file:
            text = file.read()
        model = re.search(r'^model name\s*:\s*(.+)$', text, re.M)
        return cls(
            model[1].strip() if model else platform.machine(), os.cpu_count() or 1,
            re.search(r'^flags\s*:.*\bhypervisor\b', text, re.M) is not None,
            round(psutil.virtual_memory().total / _BYTES_PER_GIB, 1), platform.release(),
            platform.python_version(), round(os.getloadavg()[0], 2),
            px4_version(px4_build) if px4_build else '')

    @property
    def busy(self) -> bool:
        """Whether others work on it."""
        return self.load_average > _BUSY * self.cores

    def __str__(self) -> str:
        """Return a line."""
        kind = 'virtual cores' if self.virtual else 'cores'
        px4 = f', PX4 {self.px4}' if self.px4 else ''
        return (f'{self.cpu}, {self.cores} {kind}, {self.memory_gib:g} GiB, Linux {self.kernel},'
                f' Python {self.python}{px4}, load average {self.load_average:.2f} at the start')


def calibration_us(wall_s: float) -> float:
    """Return the mean wall time of a calibration loop over a time, in us.

    The loop is plain Python that is no part of the package: the unit in which machines differ.
    """
    turns, started_s = 0, time.perf_counter()
    while (spent_s := time.perf_counter() - started_s) < wall_s or not turns:
        x, values = 0.5, [0.0] * 8
        for i in range(_CALIBRATION_TURNS):
            values[i & 7] = x
            pair = (x, values[(i + 3) & 7])
            x = math.sqrt(0.3 + 0.4 * pair[0] * pair[1])
        turns += 1
    return spent_s / turns * 1e6



class ProcessUsage(typing.NamedTuple):
    """One process over a window of wall time."""

    name: str
    cpu_percent: float      # of one core
    memory_mib: float


def name_of(command: typing.Sequence[str]) -> str:
    """Return the name of a process in the table."""
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
                if not _is_beside_px4(process):
                    self._begun[process] = _cpu_s(process)
        self._begun_s = time.monotonic()

    def end(self) -> list[ProcessUsage]:
        """Return the usage since `begin` of processes that were there the whole time."""
        wall_s = time.monotonic() - self._begun_s
        found = []
        for process, begun_s in self._begun.items():
            with contextlib.suppress(psutil.NoSuchProcess):
                name = self._own_name if process == self._own else name_of(process.cmdline())
                found.append(ProcessUsage(
                    name, 100.0 * (_cpu_s(process) - begun_s) / wall_s,
                    process.memory_info().rss / _BYTES_PER_MIB))
        return found


def _is_beside_px4(process: psutil.Process) -> bool:
    """Return whether it is the shell that guards a PX4, or is of its start script."""
    parent = process.parent()
    return name_of(process.cmdline()) == 'sh' or (
        parent is not None and name_of(parent.cmdline()) == 'px4')


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system
