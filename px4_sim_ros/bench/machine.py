# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The machine of a benchmark: without it the figures mean nothing."""
from __future__ import annotations

import dataclasses
import os
import pathlib
import platform
import re

import psutil

from px4_sim_ros.flight.px4 import px4_version

_BYTES_PER_GIB = 2**30
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

