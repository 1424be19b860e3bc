# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Child processes are ended, whatever happens."""
import subprocess
import sys
import threading
import time

import psutil
import pytest
from commands import family, running, wait_gone

from benchmarks import pilot_process
from px4_sim_ros.link.pilot.events import Event
from px4_sim_ros.process.children import Child, die_with_parent, own_module, stop_all
from px4_sim_ros.spec.files import load_mission

PATIENCE_S = 10.0
STUBBORN = 'trap "" TERM; echo ready; while :; do sleep 0.05; done'


@pytest.fixture
def stubborn(tmp_path):
    """Return processes that do not end when they are asked."""
    children = [Child(name, ['sh', '-c', STUBBORN], log=tmp_path / name) for name in 'abcd']
    deadline_s = time.monotonic() + PATIENCE_S
    while not all((tmp_path / child.name).read_text() for child in children):
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
    yield children
    for child in children:
        child.kill()


@pytest.mark.process
def test_a_child_runs_this_package_wherever_it_is_started(tmp_path, monkeypatch):
    """Also where another one is, in the current folder or on PYTHONPATH."""
    impostors = [tmp_path / name / 'px4_sim_ros' for name in ('here', 'there')]
    for folder in impostors:
        folder.mkdir(parents=True)
        (folder / '__init__.py').touch()
        (folder / 'cli.py').write_text('raise SystemExit(3)')
    monkeypatch.chdir(impostors[0].parent)
    monkeypatch.setenv('PYTHONPATH', str(impostors[1].parent))
    child = Child('list', own_module('px4_sim_ros', 'list'), log=tmp_path / 'log')
    assert child.wait(PATIENCE_S) and child.exit_code == 0, (tmp_path / 'log').read_text()
    assert 'iris' in (tmp_path / 'log').read_text()


@pytest.mark.process
def test_all_are_stopped_in_the_time_of_one(stubborn, monkeypatch):
    waits_s, wait = [], Child.wait

    def noted(child, timeout_s):
        waits_s.append(timeout_s)
        return wait(child, timeout_s)

    monkeypatch.setattr(Child, 'wait', noted)
    timeout_s, started_s = 0.5, time.monotonic()
    stop_all(stubborn, timeout_s)
    assert timeout_s <= time.monotonic() - started_s
    assert waits_s[0] <= timeout_s and waits_s[1:] == [0.0] * (len(stubborn) - 1)
    assert [child.exit_code for child in stubborn] == [-9] * len(stubborn)


def test_those_who_end_are_not_waited_for():
    children = [Child(name, ['sleep', '1000']) for name in 'ab']
    stop_all(children, timeout_s=1000.0)
    assert [child.exit_code for child in children] == [-15] * len(children)
    stop_all(children)


def test_a_second_ctrl_c_leaves_nobody(stubborn, monkeypatch):
    def interrupt(timeout_s):
        raise KeyboardInterrupt

    monkeypatch.setattr(stubborn[0], 'wait', interrupt)
    with pytest.raises(KeyboardInterrupt):
        stop_all(stubborn, PATIENCE_S)
    assert [child.exit_code for child in stubborn] == [-9] * len(stubborn)


def test_none_begins_when_its_parent_is_gone_already():
    """A child that asks the kernel too late is not told any more."""
    # The program is started by another process than the one that it belongs to.
    late = subprocess.run(['sh', '-c', '"$@"; exit $?', 'sh', *die_with_parent(), 'echo', 'begun'],
                          capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (late.returncode, late.stdout) == (1, '')


# A PX4 that boots: its start script is stopped, and would stay so.
BOOTS = '''
import os, pathlib, sys
from px4_sim_ros.px4 import sitl

class Px4:
    repeats = True

    def command(self, instance):
        return ['sh', '-c', "sh -c 'echo $$; kill -STOP $$' & exec sleep 1000"]

sitl.MEMORY = pathlib.Path(sys.argv[2])
sitl.Px4Process(Px4(), 0, None, pathlib.Path(sys.argv[1]))
sys.stdin.read()
'''


@pytest.fixture
def folders(tmp_path):
    """Return where a PX4 keeps its logs, and where it writes them meanwhile."""
    for name in 'logs', 'memory':
        (tmp_path / name).mkdir()
    return tmp_path / 'logs', tmp_path / 'memory'


def test_a_px4_that_boots_is_ended_with_what_it_started_if_its_parent_is_killed(folders):
    """Its logs are in the folder then, and nothing is in memory."""
    logs, memory = folders
    with running([sys.executable, '-c', BOOTS, *folders], stdin=subprocess.PIPE) as parent:
        deadline_s = time.monotonic() + PATIENCE_S
        stopped = []
        while not stopped:
            assert time.monotonic() < deadline_s
            time.sleep(0.01)
            children = family(parent.pid)
            stopped = [one for one in children if one.status() == psutil.STATUS_STOPPED]
        assert list(memory.iterdir())
        parent.kill()
        assert wait_gone(children, PATIENCE_S) == []
    assert (logs / 'px4.log').read_text() == f'{stopped[0].pid}\n'
    assert not (logs / 'px4.log').is_symlink()
    assert not list(memory.iterdir())


def test_nothing_is_left_if_its_parent_is_killed_as_it_starts_one(folders):
    killed = BOOTS.replace('return [', 'os.kill(os.getpid(), 9); [')
    assert subprocess.run([sys.executable, '-c', killed, *folders]).returncode == -9
    deadline_s = time.monotonic() + PATIENCE_S
    while any(list(folder.iterdir()) for folder in folders):
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


# What a pilot reports reaches the process that has started its own.

EVENTS = [Event('arrived at 3 m north', 1.5, (1.0, 3.0, 2.0), True), Event('landed', 2.0)]
# The process as it is, with a pilot that flies at once.
FLIES = f'''
import sys
from px4_sim_ros.link.pilot.events import Event, MissionError
from benchmarks import pilot_process

class Pilot:
    def __init__(self, instance, report):
        self._report = report

    def fly(self, mission):
        for event in {EVENTS!r}:
            self._report(event)
        if sys.argv[1] == '1':
            raise MissionError('it does not arm')

pilot_process.Pilot = Pilot
sys.exit(pilot_process.main(sys.argv[1:]))
'''


@pytest.mark.process
@pytest.mark.parametrize(('instance', 'failure'), [(0, ''), (1, 'it does not arm')])
def test_events_and_the_end_are_reported(instance, failure, monkeypatch):
    monkeypatch.setattr(pilot_process, 'own_module', lambda name, *arguments: [
        sys.executable, '-c', FLIES, *arguments])
    found, over = [], threading.Event()
    pilot = pilot_process.PilotProcess(instance, load_mission('hover'), found.append, over)
    try:
        assert over.wait(30.0)
    finally:
        pilot.stop()
    assert found == EVENTS
    assert (pilot.flown, pilot.failure) == (not failure, failure)
