# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A step calls no function that is there for what the flight has not: scenarios, fleets, delays."""
import collections
import contextlib
import pathlib
import sys
import threading

import pytest
import yaml
from stand_in_autopilot import connect

import px4_sim_ros
from px4_sim_ros.flight.core_vehicle import VehicleSetup
from px4_sim_ros.flight.core_world import CoreWorld
from px4_sim_ros.spec.configuration import load_configuration

PACKAGE = pathlib.Path(px4_sim_ros.__file__).parent
OF_SCENARIOS = (
    'model/faults/', 'model/scenario/', 'step/scenario_block.py', 'link/pilot/sticks.py',
    'link/pilot/scenario_mavlink.py')
# Of fleets, of a recorder, and of sensors that are late.
OF_OTHERS = (('step/presence.py', 'PresenceSchedule.has'), ('step/runner.py', 'Runner._say'),
             ('step/runner.py', 'Runner._end_presences'),
             ('link/hil/frames.py', 'HilFrames._with_late_groups'))
# Enough for each period, of which 100 ms is the longest.
FIRST_US, LAST_US = 200_000, 400_000


def calls(instance, **shared):
    """Return how often each function of the package is called in the steps between two times."""
    found, stop = collections.Counter(), threading.Event()

    def count(frame, event, argument):
        if event == 'call' and frame.f_code.co_filename.startswith(str(PACKAGE)):
            file = str(pathlib.Path(frame.f_code.co_filename).relative_to(PACKAGE))
            found[file, frame.f_code.co_qualname] += 1

    def observe(time_us, values):
        if time_us == FIRST_US:
            sys.setprofile(count)
        elif time_us == LAST_US:
            sys.setprofile(None)
            stop.set()

    configuration = load_configuration(None, {
        '': {'mission': 'hover', 'wind': 'dryden', **shared}, 'manager': {'speed_factor': 0.0},
        'hil_bridge': {'instance': instance}})
    with contextlib.closing(CoreWorld([VehicleSetup(configuration)], observe)) as world, \
            contextlib.closing(connect(instance)):
        try:
            world.run(stop)
        finally:
            sys.setprofile(None)
    return found


def of_scenarios(found):
    return {key: count for key, count in found.items() if key[0].startswith(OF_SCENARIOS)}


@pytest.fixture
def scenario(tmp_path):
    """Return a file in which nothing happens."""
    file = tmp_path / 'scenario.yaml'
    file.write_text(yaml.dump({'vehicle': 'iris', 'mission': 'hover', 'end': {'at_s': 9}}))
    return str(file)


def test_without_a_scenario_nothing_of_it_is_called(instance, scenario):
    without, with_one = calls(instance), calls(instance, scenario=scenario)
    steps = (LAST_US - FIRST_US) // 4000
    assert without['link/hil/block.py', 'HilBlock.step'] == steps
    assert of_scenarios(without) == {}
    assert [key for key in OF_OTHERS if key in without] == []
    assert without['link/hil/lockstep.py', 'Lockstep.begin'] == steps
    assert of_scenarios(with_one)['step/scenario_block.py', 'ScenarioBlock.step'] == steps
