# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An autopilot whose core is shared is looked at in flight, and a last time at its end."""
import pathlib
import subprocess
import types

import pytest

from px4_sim_ros.link.hil.boot import Boot
from px4_sim_ros.px4.console import AgentWatch
from px4_sim_ros.step import hang_watch
from px4_sim_ros.step.lane import Lane

STEP_US, US_PER_S = 4000, 1_000_000
DISK, SCHEDULE = '1 page faults, 0 bytes read, 0 bytes written', 'the step has not SCHED_RR'
DISK_GAP = f'the autopilot has used the disk: {DISK}'
STEP_THREAD = 4711


class StandInWatch:
    """Finds what it is told to find, and notes which thread it has taken for that of the step."""

    def __init__(self):
        self.is_booting, self.disk, self.schedule = False, '', ''
        self.steps, self.agent = [], AgentWatch(None)

    def disk_used(self):
        disk, self.disk = self.disk, ''
        return disk

    def wrong_schedule(self, step=0):
        self.steps.append(step)
        return self.schedule


@pytest.fixture
def boot():
    """Return what looks after an autopilot that has booted; it has `watch` and `gaps`."""
    gaps = []
    made = Boot(types.SimpleNamespace(), types.SimpleNamespace(), gaps.append)
    made.watch, made.gaps = StandInWatch(), gaps
    made._watch = made.watch
    return made


def fly(boot, first_s, last_s):
    """Let time go on; return the times in s at which something was found."""
    found = []
    for time_us in range(round(first_s * US_PER_S), round(last_s * US_PER_S) + 1, STEP_US):
        before = len(boot.gaps)
        boot.look_for_gaps(time_us)
        found += [time_us / US_PER_S] * (len(boot.gaps) - before)
    return found


def test_the_schedule_is_looked_at_every_ten_seconds_by_the_thread_of_the_step(boot):
    boot.watch.schedule = SCHEDULE
    assert fly(boot, 0.004, 25.0) == [10.0, 20.0]
    assert boot.gaps == [SCHEDULE] * 2 and boot.watch.steps == [0, 0]


def test_use_of_the_disk_is_looked_for_every_second(boot):
    assert fly(boot, 0.004, 2.5) == []
    boot.watch.disk = DISK
    assert fly(boot, 2.504, 5.0) == [3.0]
    assert boot.gaps == [DISK_GAP]


@pytest.mark.parametrize('changes, gaps', [
    ({}, []), ({'schedule': SCHEDULE}, [SCHEDULE]), ({'disk': DISK}, [DISK_GAP])])
def test_what_has_changed_since_the_last_look_is_found_at_the_end(changes, gaps, boot):
    assert fly(boot, 10.0, 12.5) == []
    for name, value in changes.items():
        setattr(boot.watch, name, value)
    boot.look_last(STEP_THREAD)
    assert boot.gaps == gaps
    if 'disk' not in changes:
        assert boot.watch.steps[-1] == STEP_THREAD


@pytest.fixture
def console(boot, tmp_path):
    """Yield the file that the console of the autopilot goes into."""
    path = tmp_path / 'px4.log'
    with path.open('ab', buffering=0) as file, subprocess.Popen(
            ['sleep', '60'], stdout=file) as process:
        boot.watch.agent = AgentWatch(process.pid)
        yield file
        process.kill()


def test_an_agent_that_answers_px4_is_found_in_its_console(boot, console):
    """The lines are those of PX4 1.17; with no agent it prints the first one alone."""
    console.write(b'INFO  [uxrce_dds_client] init UDP agent IP:127.0.0.1, port:8888\n')
    assert fly(boot, 0.004, 2.0) == []
    console.write(b'INFO  [uxrce_dds_client] successfully created rt/')
    assert fly(boot, 2.004, 3.0) == []             # the line is not complete
    console.write(b'fmu/out/vehicle_status_v1 data writer, topic id: 249\nINFO  [logger] ')
    assert fly(boot, 3.004, 6.0) == [4.0]
    assert boot.gaps == ['a Micro XRCE-DDS agent has connected PX4 to ROS 2']


def test_an_agent_is_looked_for_at_the_end(boot, console):
    assert fly(boot, 0.004, 1.5) == []
    console.write(b'INFO  [uxrce_dds_client] successfully created rt/px4_1/fmu/out/x data writer\n')
    boot.look_last(None)
    assert boot.gaps == ['a Micro XRCE-DDS agent has connected PX4 to ROS 2']


def test_who_shares_no_core_any_more_has_no_schedule(boot):
    boot.watch.schedule = SCHEDULE
    boot.look_last(None)
    assert boot.gaps == [] and boot.watch.steps == []


def test_one_that_boots_is_not_looked_at(boot):
    boot.watch.is_booting, boot.watch.disk, boot.watch.schedule = True, DISK, SCHEDULE
    assert fly(boot, 10.0, 10.0) == []
    boot.look_last(STEP_THREAD)
    assert boot.gaps == []


def test_a_boot_that_is_waited_for_is_no_hang():
    """The start of three PX4s was reported: has been in its step ... in Path.stat, pathlib.py."""
    def called(*functions):
        frame = None
        for function in functions:
            frame = types.SimpleNamespace(f_code=function.__code__, f_back=frame)
        return frame

    assert hang_watch._is_in_step(called(Lane._step, pathlib.Path.stat))
    assert not hang_watch._is_in_step(called(Lane._step, Boot.may_begin, pathlib.Path.stat))
    assert not hang_watch._is_in_step(called(pathlib.Path.stat))
