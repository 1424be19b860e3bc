# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Instances for flights at the same time: workers of pytest-xdist, and other runs, do not meet."""
from __future__ import annotations

import contextlib
import fcntl
import pathlib
import tempfile
import typing

from px4_sim_ros.bench.kinds import is_free
from px4_sim_ros.mavlink.pilot_link import INSTANCES_WITH_PILOT_PORT

# PX4 has a port for the pilot of its first ones only; those of users are the lowest.
_PX4 = range(INSTANCES_WITH_PILOT_PORT - 1, 0, -1)
_EMBEDDED = range(40, 60)


def most_at_once(*, of_px4: bool) -> int:
    """Return how many instances there are."""
    return len(_PX4 if of_px4 else _EMBEDDED)


@contextlib.contextmanager
def own_instance(*, of_px4: bool) -> typing.Iterator[int]:
    """Yield an instance that nobody else on this machine has, as far as they ask here.

    :raises RuntimeError: all are taken
    """
    for instance in _PX4 if of_px4 else _EMBEDDED:
        path = pathlib.Path(tempfile.gettempdir()) / f'px4_sim_ros_instance_{instance}'
        with path.open('w') as lock, contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if is_free(instance):
                yield instance
                return
    raise RuntimeError('all instances for flights of tests are taken')
