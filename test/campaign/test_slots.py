# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The cores of slots: as few on each as can be, whichever process they are of."""
import os
import subprocess
import sys

import pytest

from px4_sim_ros.campaign import slots
from px4_sim_ros.campaign.jobs import Job
from px4_sim_ros.campaign.slots import Slots, claim_core

A, B = 10 * os.getpid() + 2, 10 * os.getpid() + 5      # nobody else's
_HOLDER = '''
import socket, sys
held = socket.socket(socket.AF_UNIX)
held.bind(f'\\0px4_sim_ros/core/{sys.argv[1]}/0')
print(flush=True)
input()
'''


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    """A machine of two cores."""
    monkeypatch.setattr(os, 'sched_getaffinity', lambda _: {B, A})


@pytest.fixture
def claimed():
    """Return a function that claims cores, for as long as the test goes on."""
    cores = []

    def claim(count):
        cores.extend(claim_core() for _ in range(count))
        return cores
    yield claim
    for core in cores:
        core.claim.close()


def test_slots_are_spread_over_the_cores(claimed):
    assert [core.number for core in claimed(5)] == [A, B, A, B, A]


def test_a_core_that_is_free_again_is_taken_first(claimed):
    claimed(4)[1].claim.close()
    assert claimed(1)[-1].number == B


def test_those_of_other_processes_count(claimed):
    with subprocess.Popen([sys.executable, '-c', _HOLDER, str(A)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        assert claimed(1)[-1].number == B
        other.stdin.close()
    assert claimed(1)[-1].number == A


LOST = {'lost': 'PX4 has ended with exit code -9: it was killed', 'was_killed': True}
ROW = {'row': {}}


@pytest.mark.parametrize(('answers', 'comes'), [
    ([LOST, ROW], ROW | {'again': 1}),
    ([LOST, LOST, ROW], {'lost': LOST['lost'], 'again': 1}),
    ([{'lost': 'PX4 has not connected'}, ROW], {'lost': 'PX4 has not connected', 'again': 0}),
])
def test_what_was_killed_is_flown_once_more(answers, comes, monkeypatch):
    """In the same process, which stays."""
    left, made = iter(answers), []

    class Flies:
        def __init__(self, core, autopilot):
            made.append(self)

        def fly(self, job):
            return dict(next(left))

        def end(self, patience_s):
            """Nothing has to end."""
    monkeypatch.setattr(slots, 'Worker', Flies)
    found = Slots()
    assert found.fly(Job(1, {}, None, None, 'never', '', 1.0, {})) == comes
    assert len(made) == 1
    found.close()
