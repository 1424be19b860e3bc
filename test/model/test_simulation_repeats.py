# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The runner of mode core: what is due when, and the same seed giving the same bits."""
from __future__ import annotations

import pytest
from scripted_flight import ScriptedWorld

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
