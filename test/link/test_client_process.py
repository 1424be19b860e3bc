# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whether the start script of an autopilot still runs, while its commands come and go."""
import psutil
import pytest

from px4_sim_ros.px4 import boot_watch
from px4_sim_ros.px4.boot_watch import StartScript


class Child:
    """A process with a state, or one that has ended since it was listed."""

    def __init__(self, state):
        self._state = state

    def status(self):
        if self._state == 'gone':
            raise psutil.NoSuchProcess(4711)
        return self._state


@pytest.mark.parametrize('children, runs', [
    ([], False), (['gone'], False), ([psutil.STATUS_ZOMBIE], False),
    ([psutil.STATUS_RUNNING], True), (['gone', psutil.STATUS_SLEEPING], True)])
def test_it_runs_while_one_of_its_processes_does(children, runs, monkeypatch):
    class Autopilot:
        def __init__(self, pid):
            pass

        def children(self):
            return map(Child, children)

    monkeypatch.setattr(boot_watch, 'process_at', lambda address: 4711)
    monkeypatch.setattr(psutil, 'Process', Autopilot)
    assert StartScript(('127.0.0.1', 4711)).runs() is runs
