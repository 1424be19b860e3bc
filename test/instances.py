# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Instances for tests that name none: some for each of so many workers at a time."""
import contextlib
import functools
import os

import locks

FIRST, EACH, WORKERS = 20, 3, 5
_held = contextlib.ExitStack()       # to the end of this process


def of_worker(name):
    """Return the instances of a worker of pytest-xdist, `gw0` and so on."""
    worker = int(name.removeprefix('gw'))
    assert worker < WORKERS, f'test/instances.py has instances for {WORKERS} workers only'
    return range(FIRST + EACH * worker, FIRST + EACH * (worker + 1))


@contextlib.contextmanager
def free():
    """Yield an iterator over instances that nobody uses, nor another worker or run of tests."""
    from px4_sim_ros.flight.instances import is_free
    own = of_worker(os.environ.get('PYTEST_XDIST_WORKER', 'gw0'))
    # Of several runs on a machine the first ones may have all of these.
    others = [i for worker in range(WORKERS) for i in of_worker(f'gw{worker}') if i not in own]
    with contextlib.ExitStack() as held:
        def ours():
            for instance in (*own, *others):
                if lock := locks.lock(f'instance_{instance}'):
                    held.enter_context(lock)
                    if is_free(instance):
                        yield instance
        yield ours()


@functools.cache
def of_px4():
    """Return an instance for which PX4 has a port for a pilot, which stays ours while we run.

    One is enough for all tests of a process: they fly a PX4 one after the other.
    """
    if not os.environ.get('PX4_DIR'):
        return 9                     # none is flown
    from px4_sim_ros.flight.instances import own_instance
    return _held.enter_context(own_instance(of_px4=True, flies_here=False))
