# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Steps that compiled code takes are the steps of Python: the same flight, the same bytes."""
import contextlib
import threading
import time

import numpy as np
import pytest
import yaml
from commands import write_hop
from mavlink_frames import controls_frame, px4_greeting
from mcap.reader import make_reader
from stand_in_autopilot import ARMED_FROM_US, StandInAutopilot, scripted_controls

from px4_sim_ros import Flight
from px4_sim_ros.flight.core_recorder import CoreRecorder
from px4_sim_ros.flight.core_vehicle import VehicleSetup
from px4_sim_ros.flight.core_world import CoreWorld
from px4_sim_ros.link.hil import block, burst_code
from px4_sim_ros.link.hil.frames import TRUTH_PERIOD_US
from px4_sim_ros.link.hil.server import port_of
from px4_sim_ros.model.body.motion_memory import VX, X, Z
from px4_sim_ros.model.scenario.situation import MOTION, NUMBERS, AutopilotState, Situation
from px4_sim_ros.model.truth import Truth
from px4_sim_ros.px4.boot_watch import StartScript
from px4_sim_ros.recording.bag.run_description import RunDescription
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.step.dynamics_block import DynamicsBlock

STEP_US, END_US = 4000, 2_000_000
HIL_SENSOR, HIL_STATE = ((number).to_bytes(3, 'little') for number in (107, 115))
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


@pytest.fixture(autouse=True)
def no_start_script(monkeypatch):
    """The autopilot is this process: its children are none of a start script."""
    monkeypatch.setattr(StartScript, 'runs', lambda self: False)


def answer(time_us):
    # It is in the air soon, and nothing depends on whether the first reply comes in time.
    mode, controls = scripted_controls(time_us + ARMED_FROM_US - 100_000)
    return [controls_frame(time_us, tuple(controls), mode=mode)]


def odd_answer(time_us):
    """Return the same in other pieces, or beside other messages."""
    frame, = answer(time_us)
    step = time_us // STEP_US
    if step % 7 == 0:
        return [frame[:30], frame[30:]]
    if step % 11 == 0:
        return [px4_greeting() + frame]
    if step % 13 == 0 and step > 40:
        return [controls_frame(time_us - 40 * STEP_US, (0.1,) * 16, mode=129) + frame]
    return [frame]


def recorded(folder):
    """Return the messages of each topic, but what tells of wall time or of the first reply."""
    found = {}
    for file in sorted(folder.glob('*.mcap')):
        with file.open('rb') as stream:
            for _, channel, message in make_reader(stream).iter_messages(log_time_order=False):
                # What the autopilot reports is written beside the steps, after those complete.
                time_ns = 0 if '/autopilot/' in channel.topic else message.log_time
                found.setdefault(channel.topic, []).append(
                    (time_ns, message.sequence, message.data))
    return {topic: messages for topic, messages in found.items()
            if not topic.endswith(('/diagnostics', '/rosout', '/hil/state'))}


def flown(instance, speed_factor=0.0, answered=answer, folder=None, **changes):
    """Return frames, fingerprint, the first gap, and the share of steps in compiled code.

    :param folder: it is recorded there
    """
    shared = {'': {}, 'manager': {'speed_factor': speed_factor},
              'hil_bridge': {'instance': instance}} | changes
    if folder is not None:
        shared[''] = {**shared[''], 'recorder': True}
        shared['recorder'] = {'folder': str(folder), **shared.get('recorder', {})}
    configuration = load_configuration(None, shared)
    recorder = None if folder is None else CoreRecorder(
        configuration, RunDescription.of(configuration, mode='core', autopilot='scripted'))
    stop = threading.Event()

    def last_answer(time_us):
        if time_us == END_US:
            stop.set()
        return answered(time_us)

    with contextlib.closing(CoreWorld([VehicleSetup(configuration)], recorder=recorder)) as world:
        world._clock.limit(END_US)
        with contextlib.closing(Listener(port_of(instance))) as autopilot:
            autopilot.start(last_answer)
            world.run(stop)
            while world._clock.complete_us < END_US:
                world._runner.run()
            status = world.status()
            bridge = world._first.bridge
            world.close()
        return (autopilot.frames, status.fingerprint, status.gap,
                bridge.steps_ahead / status.steps)


# In some steps the wind changes, or a measurement arrives that is late; the first one has no reply
# before it.
@pytest.mark.parametrize('share, changes', [
    (0.9, {}), (0.7, {'': {'wind': 'dryden'}, 'wind': {'speed_m_s': 5.0}}),
    (0.9, {'': {'delays_us.barometer': 8000}}), (0.9, {'': {'vehicle': 'standard_vtol'}}),
    (0.9, {'': {'vehicle': 'rover_ackermann'}}), (0.9, {'dynamics': {'integrator': 'euler'}}),
    (0.9, {'magnetometer': {'field_per_current': [1e-7, 2e-7, 3e-7]}}),
    (0.9, {'imu': {'gyro_turn_on_bias': 0.01, 'accel_random_walk': 0.01, 'accel_range': 12.0}}),
    (0.9, {'barometer': {'wind_pressure_coefficient': 0.1, 'warm_up_pa': 30.0}}),
    (0.9, {'': {'gravity_model': 'wgs84', 'ground_slope_deg': 5.0}}),
    (0.9, {'recorder': {'every': 3, 'flush_us': 60_000, 'split_duration_s': 0.3}}),
], ids=str)
def test_it_is_the_same_flight_with_the_same_frames(share, changes, instance, tmp_path):
    ahead = flown(instance, folder=tmp_path / 'ahead', **changes)
    one_by_one = flown(instance, SOON, folder=tmp_path / 'one_by_one', **changes)
    assert [pair for pair in zip(ahead[0], one_by_one[0]) if pair[0] != pair[1]][:1] == []
    assert ahead[:2] == one_by_one[:2]
    assert ahead[2] == one_by_one[2] == ''
    assert ahead[3] >= share and one_by_one[3] == 0
    assert recorded(tmp_path / 'ahead') == recorded(tmp_path / 'one_by_one')


def test_steps_are_recorded_as_rows(instance, tmp_path, monkeypatch):
    rows = []
    monkeypatch.setattr(CoreRecorder, 'send_rows', lambda self, members, first_us, step_us, count, *
                        others: rows.append(count) or self._steps.send_rows(
                            members, first_us, step_us, count, *others))
    flown(instance, folder=tmp_path / 'bag')
    assert sum(rows) > 0.5 * END_US / STEP_US


def test_what_the_recorder_takes_is_no_cost_of_the_bridge(tmp_path, monkeypatch):
    taken_s = []

    def slowly(send):
        def sent(*arguments):
            taken_s.append(0.002)
            time.sleep(taken_s[-1])
            send(*arguments)
        return sent

    for name in 'send', 'send_rows':
        monkeypatch.setattr(CoreRecorder, name, slowly(getattr(CoreRecorder, name)))
    result = Flight(mission=str(write_hop(tmp_path, 1.0)), record=tmp_path / 'bag').fly()
    status = result.first.status
    assert 1e-6 * status.step_cost_us()['rest'] * status.steps > 0.9 * sum(taken_s)


def test_an_autopilot_that_asks_gets_the_same_truth(instance, monkeypatch):
    """Also where the vehicle comes into another square of the map."""
    def reset(block, reset_block=DynamicsBlock.reset):
        reset_block(block)
        block.dynamics.state[[X, Z, VX]] += 63.5, 5.0, 1.0

    def answered(time_us):
        return [px4_greeting(), *answer(time_us)] if time_us == 20 * STEP_US else answer(time_us)

    monkeypatch.setattr(DynamicsBlock, 'reset', reset)
    ahead, one_by_one = flown(instance, answered=answered), flown(
        instance, SOON, answered=answered)
    assert [pair for pair in zip(ahead[0], one_by_one[0]) if pair[0] != pair[1]][:1] == []
    assert ahead[:3] == one_by_one[:3]
    assert ahead[3] >= 0.8
    truths = [frame for frame in ahead[0] if frame[7:10] == HIL_STATE]
    assert len(truths) >= 0.9 * END_US / TRUTH_PERIOD_US


def test_what_is_not_as_usual_is_read_in_python(instance):
    ahead, usual = flown(instance, answered=odd_answer), flown(instance)
    assert ahead[:3] == usual[:3]
    assert 0.3 < ahead[3] < usual[3]


@pytest.mark.parametrize('changes', [
    {'': {'instances.imu': 2}}, {'imu': {'sampling': 'mean'}},
    {'dynamics': {'integrator': 'rk45'}}, {'dynamics': {'command_delay_us': 9000}},
], ids=str)
def test_other_flights_are_taken_step_by_step(changes, instance):
    assert flown(instance, **changes)[3] == 0


def test_without_machine_code_a_flight_does_not_wait_for_the_compiler(monkeypatch, instance):
    monkeypatch.setattr(block, 'is_kept', lambda name: False)
    assert flown(instance)[3] == 0


# With the embedded autopilot in the process of the world, too.

def count_steps(monkeypatch, ahead):
    """Let compiled code take steps or not; return a list that gets how many it takes at once."""
    taken = []
    run_ahead = block.HilBlock.run_ahead

    def counted(self, *arguments):
        found = run_ahead(self, *arguments) if ahead else []
        taken.extend(its.begun for its in found)
        return found

    monkeypatch.setattr(block.HilBlock, 'run_ahead', counted)
    return taken


def flown_here(monkeypatch, ahead, folder, **options):
    """Return fingerprint, events, verdicts, messages and the share of steps in compiled code."""
    taken = count_steps(monkeypatch, ahead)
    with Flight(record=folder, **options) as flight:
        flight.run()
    result = flight.end()
    verdicts = flight.scenario().course.verdicts() if 'scenario' in options else ()
    return ((result.fingerprint, result.events, verdicts, recorded(folder)),
            sum(taken) / (result.summary()['sim_time_s'] * 250))


# Some things that happen are in force on motion or sensors; the wind is due in each fifth step.
@pytest.mark.parametrize('share, options', [
    (0.95, {'mission': 'hover'}), (0.9, {'mission': 'hover', 'wind': 'dryden'}),
    (0.85, {'scenario': 'motor_weak'}), (0.8, {'scenario': 'motor_out'}),
    (0.8, {'scenario': 'gnss_lost'}), (0.7, {'scenario': 'gust_at_landing'}),
    (0.7, {'scenario': 'twisted'}), (0.2, {'scenario': 'imu_noisy'}),
    # Something happens just when the wind is due.
    (0.7, {'scenario': {'weather': {'wind': 'constant', 'speed_m_s': 2.0}, 'mission': 'hover',
                        'events': [{'at_s': 14.02, 'motor_thrust': {'motor': 2, 'share': 0.9}},
                                   {'at_s': 15.0, 'push': {'force_n': [1.0, 0.0, 0.0]}}],
                        'end': {'at_s': 16.0}}}),
    (0.7, {'scenario': {'mission': 'hover', 'events': [
        {'name': 'high', 'when': {'height_m': {'above': 4.0}, 'climb_m_s': {'below': 0.9}},
         'push': {'force_n': [1.0, 0.0, 0.0]}, 'for_s': 1.5},
        {'name': 'late', 'when': {'age_s': {'event': 'high', 'above': 2.0}},
         'motor_thrust': {'motor': 2, 'share': 0.9}},
        {'name': 'stuck', 'at_s': 14.002, 'motor_stuck': {'motor': 1}, 'for_s': 0.1}],
        'expect': [{'always': {'tilt_deg': {'below': 15}}},
                   {'eventually': {'charge': {'below': 0.99}}}]}}),
], ids=lambda value: str(value)[:40])
def test_a_flight_with_the_autopilot_here_is_the_same(monkeypatch, share, options, tmp_path):
    ahead, found = flown_here(monkeypatch, True, tmp_path / 'ahead', **options)
    one_by_one, none = flown_here(monkeypatch, False, tmp_path / 'one_by_one', **options)
    assert ahead == one_by_one
    assert found >= share and none == 0


def fleet_here(monkeypatch, ahead, file, folder):
    """Return what each vehicle did, whom it met, and the share of steps in compiled code."""
    taken = count_steps(monkeypatch, ahead)
    result = Flight(fleet=str(file), record=folder).fly()
    status = result.vehicles['one'].status
    return ([its.status.fingerprint for its in result.vehicles.values()],
            recorded(folder), result.met, result.events, result.nearest), (
                sum(taken) / (len(result.vehicles) * status.steps))


def test_a_fleet_is_the_same(monkeypatch, free_instances, tmp_path):
    """Two nearly meet in the air; a third one comes and goes."""
    vehicles = [{'namespace': name, 'mission': str(write_hop(tmp_path, 1.0))}
                for name in ('one', 'other', 'guest')]
    vehicles[1]['start'] = {'east_m': 1.6}
    vehicles[2] |= {'joins_at_s': 2.002, 'leaves_at_s': 6.0, 'start': {'east_m': 9.0}}
    for vehicle, instance in zip(vehicles, free_instances):
        vehicle['instance'] = instance
    file = tmp_path / 'fleet.yaml'
    file.write_text(yaml.safe_dump({
        'near_miss_m': 0.6, 'set': {'wind': 'dryden', 'wind.speed_m_s': 4.0},
        'vehicles': vehicles}))
    ahead, found = fleet_here(monkeypatch, True, file, tmp_path / 'ahead')
    one_by_one, none = fleet_here(monkeypatch, False, file, tmp_path / 'one_by_one')
    assert ahead == one_by_one
    assert ahead[2], 'they have met'
    assert found >= 0.6 and none == 0


@pytest.mark.parametrize('seed', range(3))
def test_no_bound_that_is_met_is_missed(seed):
    """Also where a quantity is next to it."""
    random = np.random.default_rng(seed)
    for _ in range(300):
        place, turn, velocity, rate = (random.normal(size=n) for n in (3, 4, 3, 3))
        turn /= np.linalg.norm(turn)
        truth = Truth(0, tuple(place), tuple(turn), tuple(velocity), tuple(rate), (), (), (), (),
                      (), ())
        situation = Situation(0, truth, (0.5, -0.5, 0.1), None, AutopilotState(), {})
        x = np.array([*place, *velocity, *turn, *rate])
        reals = np.array([0.0, 0.0, *situation.start_enu])
        for which, name in enumerate(MOTION):
            value = NUMBERS[name].of(situation)
            for above, was in ((value - 0.1, True), (value + 0.1, False), (value, True),
                               (value, False), (value + 1e-12, True), (value - 1e-12, False)):
                bounds = np.array([[which, above, np.inf, was]])
                is_next_to_it = abs(value - above) < 1e-9
                assert burst_code.has_met(bounds, x, velocity, reals) == is_next_to_it
                bounds[0, 3] = not was
                assert burst_code.has_met(bounds, x, velocity, reals)
