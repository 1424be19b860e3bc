# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The runner of mode core: what is due when, and the same seed giving the same bits."""
from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest
from scripted_flight import ScriptedWorld

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.timebase import US_PER_S, check_period, exact_us, is_due, seconds_text
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.step import graph

COMMAND = (830.0, 820.0, 810.0, 800.0)
# The topic of each sensor by its name.
MEASURED = {name: topic.publisher for name, topic in graph.of_instances({}).topics.items()
            if topic.publisher in graph.of_instances({}).sensors and not topic.part_of}


def record(seed, steps=250):
    """Return truths and measurements of a second of flight."""
    world = ScriptedWorld(load_configuration(None, {'': {'seed': seed}}))
    return [world.step(COMMAND) for _ in range(steps)]


@pytest.fixture(scope='module')
def first():
    """Return a run with seed 1."""
    return record(1)


def test_same_seed_gives_the_same_bits(first):
    """The text of a float shows every bit."""
    assert repr(record(1)) == repr(first)


def test_another_seed_gives_the_same_motion_and_other_noise(first):
    """The motion under a fixed command has no noise; each measurement has."""
    other = record(2)
    assert [step.truth for step in other] == [step.truth for step in first]
    for name in MEASURED:
        mine = [step.measured[name] for step in first if name in step.measured]
        theirs = [step.measured[name] for step in other if name in step.measured]
        assert len(mine) == len(theirs) > 0
        assert all(a != b for a, b in zip(mine, theirs))


def test_sensors_measure_when_they_are_due(first, world):
    """Every period from the first multiple on, stamped with the time of the step."""
    for name, sensor in MEASURED.items():
        period = world.periods_us[sensor]
        stamps = [step.measured[name].time_us for step in first if name in step.measured]
        assert stamps == list(range(period, 1_000_001, period))
    assert [step.truth.time_us for step in first] == list(range(4000, 1_000_001, 4000))


# Periods in whole steps, and what is said about others.


def test_due_at_each_multiple_of_the_period():
    """Every fifth step at 50 Hz, and still so after a day: integers do not drift."""
    day_us = 86_400_000_000
    assert is_due(0, 20_000)
    assert [t for t in range(4000, 84_000, 4000) if is_due(t, 20_000)] == [
        20_000, 40_000, 60_000, 80_000]
    assert is_due(day_us, 20_000)
    assert not is_due(day_us + 4000, 20_000)


@pytest.mark.parametrize(
    ('period_us', 'step_us'), [(4000, 4000), (20_000, 4000), (8_300_000, 1000)])
def test_whole_multiples_are_accepted(period_us, step_us):
    """Nothing is said."""
    check_period('periods_us.gps', period_us, step_us)


@pytest.mark.parametrize(('period_us', 'nearest'), [
    (10_000, 'values are 8000 and 12000 us'),
    (99_999, 'values are 96000 and 100000 us'),
    (4001, 'values are 4000 and 8000 us'),
    (3999, 'value is 4000 us'),
    (0, 'value is 4000 us'),
])
def test_other_periods_are_refused_with_the_nearest_valid_ones(period_us, nearest):
    """One sentence: name, value, rule, and what to write instead."""
    with pytest.raises(ParameterError) as error:
        check_period('periods_us.gps', period_us, 4000)
    assert str(error.value) == (
        f'periods_us.gps = {period_us}: must be a multiple of step_us = 4000;'
        f' the nearest valid {nearest}')


@pytest.mark.parametrize(('time_us', 'text'), [
    (0, '0.000000 s'), (12_004_000, '12.004000 s'), (86_400_000_001, '86400.000001 s')])
def test_time_is_written_exactly(time_us, text):
    """Six decimals, no rounding."""
    assert seconds_text(time_us) == text


def test_seconds_are_whole_microseconds():
    """However they are written: each decimal fraction with six digits is one."""
    for time_us in (0, 1, 999_999, 1_100_000, 123_456_789, 10**12 + 1):
        assert exact_us('it', float(f'{time_us / US_PER_S:.6f}')) == time_us


@pytest.mark.parametrize('time_s', [1e-7, 0.12345678, 1 / 3])
def test_what_is_none_is_refused(time_s):
    with pytest.raises(ParameterError, match='must be a whole number of microseconds, such as '):
        exact_us('wind.gust_start_s', time_s)


# The core imports where there is no ROS.

ROOT = pathlib.Path(__file__).resolve().parents[2]

CODE = '''
import importlib, pkgutil, sys

class NoRos:
    def find_spec(self, name, path=None, target=None):
        top = name.partition('.')[0]
        if top in ('rclpy', 'launch', 'launch_ros') or top.endswith(('_msgs', '_interfaces')):
            raise ImportError(f'{name} was imported')

sys.meta_path.insert(0, NoRos())
import px4_sim_ros.model
names = [m.name for m in pkgutil.walk_packages(px4_sim_ros.model.__path__, 'px4_sim_ros.model.')]
for name in names:
    importlib.import_module(name)
try:
    import rclpy
except ImportError:
    print(len(names))
'''


@pytest.mark.process
def test_every_module_of_the_core_imports_with_rclpy_blocked():
    """In a fresh process, with ROS and its message packages refused."""
    result = subprocess.run(
        [sys.executable, '-c', CODE], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) >= 15
