# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Instances for tests that name none: some for each of so many workers at a time."""

FIRST, EACH, WORKERS = 20, 3, 4


def of_worker(name):
    """Return the instances of a worker of pytest-xdist, `gw0` and so on."""
    worker = int(name.removeprefix('gw'))
    assert worker < WORKERS, f'test/instances.py has instances for {WORKERS} workers only'
    return range(FIRST + EACH * worker, FIRST + EACH * (worker + 1))
