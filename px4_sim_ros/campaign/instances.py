# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Instances for flights at the same time: workers of pytest-xdist, and other runs, do not meet."""
from __future__ import annotations

import contextlib
import typing

from px4_sim_ros.bench.kinds import has_free_ports
from px4_sim_ros.config import held_names, instance_claim
from px4_sim_ros.mavlink.pilot_link import INSTANCES_WITH_PILOT_PORT
from px4_sim_ros.model.errors import ParameterError

# PX4 has a port for the pilot of its first ones only; those of users are the lowest.
_PX4 = range(INSTANCES_WITH_PILOT_PORT - 1, 0, -1)
_EMBEDDED = range(40, 60)


def most_at_once(*, of_px4: bool) -> int:
    """Return how many instances there are."""
    return len(_PX4 if of_px4 else _EMBEDDED)


@contextlib.contextmanager
def own_instance(*, of_px4: bool, flies_here: bool = True) -> typing.Iterator[int]:
    """Yield an instance that nobody else on this machine has.

    :param flies_here: no other process that is told of it flies, and claims it
    :raises RuntimeError: all are taken
    """
    for instance in _PX4 if of_px4 else _EMBEDDED:
        with contextlib.ExitStack() as stack:
            # Also while nobody has claimed it.
            reserved = held_names.hold(f'instance/{instance}/reserved')
            if reserved is None:
                continue
            stack.enter_context(reserved)
            try:
                claim = stack.enter_context(instance_claim.claim([instance]))
            except ParameterError:
                continue
            if has_free_ports(instance):
                if not flies_here:
                    claim.close()
                yield instance
                return
    raise RuntimeError('all instances for flights of tests are taken')
