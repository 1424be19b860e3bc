# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A step calls no function that is there for what the flight has not: scenarios, fleets, delays."""
import collections
import contextlib
import pathlib
import sys
import threading

import pytest
import stand_in_autopilot
import yaml
from mavlink_frames import controls_frame
from stand_in_autopilot import StandInAutopilot, connect, scripted_controls

import px4_sim_ros
from px4_sim_ros.flight.core_vehicle import VehicleSetup
from px4_sim_ros.flight.core_world import CoreWorld
from px4_sim_ros.link.hil.server import port_of
from px4_sim_ros.model.timebase import is_due
from px4_sim_ros.spec.configuration import load_configuration

PACKAGE = pathlib.Path(px4_sim_ros.__file__).parent
OF_SCENARIOS = (
    'model/faults/', 'model/scenario/', 'step/scenario_block.py', 'link/pilot/sticks.py',
    'link/pilot/scenario_mavlink.py')
# Of fleets, of a recorder, and of sensors that are late.
OF_OTHERS = (('step/attendance.py', 'Attendance.has'), ('step/runner.py', 'Runner._say'),
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


# A flight whose frames are sent early is the same, and the autopilot gets the same bytes.

STEP_US, STEPS = 4000, 500
HIL_SENSOR = (107).to_bytes(3, 'little')
SOON = 1000.0       # times real time: as fast as possible, but each step has its time


class Listener(StandInAutopilot):
    """It keeps the bytes of all frames."""

    def __init__(self, port):
        self.frames = []
        super().__init__(port)

    def messages(self):
        found = super().messages()
        self.frames += [bytes(m.get_msgbuf()) for m in found]
        return found


def answer(time_us):
    # It is in the air soon, and nothing depends on whether the first reply comes in time.
    mode, controls = scripted_controls(time_us + stand_in_autopilot.ARMED_FROM_US - 100_000)
    return [controls_frame(time_us, tuple(controls), mode=mode)]


def flown(instance, speed_factor=0.0, **changes):
    """Return frames, fingerprint, the first gap, and how many steps were sent early."""
    shared = {'': {}, 'manager': {'speed_factor': speed_factor},
              'hil_bridge': {'instance': instance}} | changes
    stop = threading.Event()

    def observe(time_us, values):
        if time_us == STEPS * STEP_US:
            stop.set()

    setup = VehicleSetup(load_configuration(None, shared))
    with contextlib.closing(CoreWorld([setup], observe)) as world, \
            contextlib.closing(Listener(port_of(instance))) as autopilot:
        autopilot.start(answer)
        world.run(stop)
        early, status = world._first.bridge.link.lockstep.early_steps, world.status()
        world.close()
    # Those of one more step may have been sent.
    *_, last = (i for i, frame in enumerate(autopilot.frames)
             if frame[7:18] == HIL_SENSOR + (STEPS * STEP_US).to_bytes(8, 'little'))
    return autopilot.frames[:last + 1], status.fingerprint, status.gap, early


# In some steps the wind changes, or a measurement arrives that is late; the first one has no reply
# before it.
@pytest.mark.parametrize('share, changes', [
    (0.99, {}), (0.79, {'': {'wind': 'dryden'}, 'wind': {'speed_m_s': 5.0}}),
    (0.79, {'': {'delays_us.barometer': 8000}}), (0.99, {'dynamics': {'command_delay_us': 9000}}),
    (0.79, {'': {'vehicle': 'standard_vtol'}}), (0.99, {'magnetometer': {
        'field_per_current': [1e-7, 2e-7, 3e-7]}}),
], ids=str)
def test_it_is_the_same_flight_with_the_same_frames(share, changes, instance):
    early, as_ever = flown(instance, **changes), flown(instance, SOON, **changes)
    assert [pair for pair in zip(early[0], as_ever[0]) if pair[0] != pair[1]][:1] == []
    assert early[:2] == as_ever[:2]
    assert early[2] == as_ever[2] == ''
    assert early[3] >= share * STEPS and as_ever[3] == 0


@pytest.mark.parametrize('changes', [
    {'': {'instances.imu': 2}}, {'imu': {'sampling': 'mean'}},
    {'dynamics': {'integrator': 'rk45'}},
], ids=str)
def test_nothing_is_early_where_more_is_measured_than_that(changes, instance):
    assert flown(instance, **changes)[3] == 0


def test_a_sensor_that_is_stopped_after_its_measurement_was_sent_is_a_gap(instance):
    def observe(time_us, values):
        if time_us == 96_000:              # it measures at 100 ms
            world._runner.slots['barometer'].stop()
        if time_us == 200_000:
            stop.set()

    stop = threading.Event()
    configuration = load_configuration(None, {
        'manager': {'speed_factor': 0.0}, 'hil_bridge': {'instance': instance}})
    with contextlib.closing(CoreWorld([VehicleSetup(configuration)], observe)) as world, \
            contextlib.closing(stand_in_autopilot.connect(instance)):
        world.run(stop)
        assert world.status().gap == (
            't = 0.100000 s: its frames had been sent before something else was measured')


def test_what_a_pilot_says_comes_before_the_frames_of_its_step(instance):
    """It acts every 20 ms; in these steps the frames are not early."""
    seen = set()
    stop = threading.Event()
    configuration = load_configuration(None, {
        '': {'mission': 'hover'}, 'manager': {'speed_factor': 0.0},
        'hil_bridge': {'instance': instance}})
    with contextlib.closing(CoreWorld(
                [VehicleSetup(configuration)],
                lambda time_us, values: stop.set() if time_us == 400_000 else None,
            )) as world, contextlib.closing(stand_in_autopilot.connect(instance)):
        lockstep = world._first.bridge.link.lockstep
        look_ahead = lockstep.look_ahead
        lockstep.look_ahead = lambda time_us, after: (seen.add(time_us), look_ahead(time_us, after))
        world.run(stop)
    assert len(seen) > 60 and not any(is_due(time_us, 20_000) for time_us in seen)
