# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whether the machine lets a repeatable PX4 keep to memory: a wait for the disk may change it."""
from __future__ import annotations

import os
import pathlib
import resource

MEMORY = pathlib.Path('/dev/shm')
"""Where the folder of a repeatable PX4 is while it runs."""
# What PX4 and its start script are made of, with room: as docs/time_and_lockstep.md asks for.
_PINNED_KB = 100_000
# That of CAP_IPC_LOCK in capabilities(7): who has it may keep in memory whatever there is.
_IPC_LOCK = 14
_STATUS = pathlib.Path('/proc/self/status')


def remarks() -> list[str]:
    """Return the limits of this machine that make a flight less repeatable."""
    found = []
    if not os.access(MEMORY, os.W_OK | os.X_OK):
        remark = (f'px4_schedule = repeatable: nothing can be written to {MEMORY}, so that PX4'
                  ' waits for the disk; mount a tmpfs there')
        found.append(remark)
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if limit != resource.RLIM_INFINITY and limit < _PINNED_KB * 1024 and not _may_pin_all():
        remark = (f'px4_schedule = repeatable: this user may keep {limit // 1024} kB in memory, and'
                  f" PX4's files need up to {_PINNED_KB}; allow it memlock {_PINNED_KB} in"
                  ' /etc/security/limits.d, or give a container --ulimit memlock=-1')
        found.append(remark)
    return found


def _may_pin_all() -> bool:
    """Return whether this process has CAP_IPC_LOCK."""
    line, = (line for line in _STATUS.read_text().splitlines() if line.startswith('CapEff:'))
    return bool(int(line.split()[1], 16) >> _IPC_LOCK & 1)
