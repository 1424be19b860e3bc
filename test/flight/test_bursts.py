# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Steps that compiled code takes are the steps of Python: the same flight, the same bytes."""
import contextlib
import threading
import time

import numpy as np
import pytest
import xrce_client
import yaml
from commands import write_hop
from mavlink_frames import controls_frame, px4_greeting
from mcap.reader import make_reader
from pymavlink.dialects.v20 import common as mavlink
from stand_in_autopilot import ARMED_FROM_US, StandInAutopilot, scripted_controls
from udp_autopilot import UdpAutopilot

from px4_sim_ros import Flight
from px4_sim_ros.flight.core_recorder import CoreRecorder
from px4_sim_ros.flight.core_vehicle import VehicleSetup
from px4_sim_ros.flight.core_world import CoreWorld
from px4_sim_ros.link.hil import block, burst_code
from px4_sim_ros.link.hil.battery_link import PAYLOAD_PORT
from px4_sim_ros.link.hil.boot import Boot
from px4_sim_ros.link.hil.frames import TRUTH_PERIOD_US
from px4_sim_ros.link.hil.server import port_of
from px4_sim_ros.link.ports import LOCAL, bound_socket
from px4_sim_ros.model.body.motion_memory import VX, X, Z
from px4_sim_ros.model.own_blocks import to_text
from px4_sim_ros.model.scenario.situation import MOTION, NUMBERS, AutopilotState, Situation
from px4_sim_ros.model.sensors.gnss import Gnss
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.model.truth import Truth
from px4_sim_ros.px4.boot_watch import StartScript
from px4_sim_ros.px4.shared_core import SharedCore
from px4_sim_ros.px4.sitl import AGENT_PORT
from px4_sim_ros.recording.bag.run_description import RunDescription
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.spec.own_blocks import rows_of
from px4_sim_ros.step.dynamics_block import DynamicsBlock

STEP_US, END_US = 4000, 2_000_000
HIL_SENSOR, HIL_STATE, BATTERY_STATUS = (
    (number).to_bytes(3, 'little') for number in (107, 115, 147))
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


def flown(instance, speed_factor=0.0, answered=answer, folder=None, end_us=END_US,
          at_end=lambda world: None, **changes):
    """Return frames, fingerprint, the first gap, and the share of steps in compiled code.

    Behind the frames is what came for the battery.

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
        if time_us == end_us:
            stop.set()
        return answered(time_us)

    with contextlib.closing(CoreWorld(
            [VehicleSetup(configuration)], recorder=recorder)) as world, bound_socket(
                'UDP', LOCAL, PAYLOAD_PORT + instance) as payload:
        world._clock.limit(end_us)
        with contextlib.closing(Listener(port_of(instance))) as autopilot:
            autopilot.start(last_answer)
            world.run(stop)
            while world._clock.complete_us < end_us:
                world._runner.run()
            status = world.status()
            bridge = world._first.bridge
            at_end(world)
            world.close()
        payload.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                autopilot.frames.append(payload.recv(1024))
        return (autopilot.frames, status.fingerprint, status.gap,
                bridge.steps_ahead / status.steps)


# In some steps the wind changes, or a measurement arrives that is late; the first one has no reply
# before it.
@pytest.mark.parametrize('share, changes', [
    (0.9, {}), (0.9, {'': {'wind': 'dryden'}, 'wind': {'speed_m_s': 5.0}}),
    (0.9, {'': {'delays_us.barometer': 8000}}), (0.9, {'': {'vehicle': 'standard_vtol'}}),
    (0.9, {'': {'vehicle': 'rover_ackermann'}}), (0.9, {'dynamics': {'integrator': 'euler'}}),
    (0.9, {'magnetometer': {'field_per_current': [1e-7, 2e-7, 3e-7]}}),
    (0.9, {'imu': {'gyro_turn_on_bias': 0.01, 'accel_random_walk': 0.01, 'accel_range': 12.0}}),
    (0.9, {'barometer': {'wind_pressure_coefficient': 0.1, 'warm_up_pa': 30.0}}),
    (0.9, {'': {'gravity_model': 'wgs84', 'ground_slope_deg': 5.0}}),
    (0.9, {'recorder': {'every': 3, 'flush_us': 60_000, 'split_duration_s': 0.3}}),
    # Of what is a frame of its own: several, some of them late, some that are lost at random.
    (0.9, {'': {f'instances.{name}': count for name, count in (
        ('gps', 2), ('range_finder', 1), ('optical_flow', 1), ('visual_odometry', 1))},
           'gps': {'outage_rate_hz': 2.0, 'outage_duration_s': 0.3}}),
    # Which way it looks is in its frame.
    (0.9, {'': {'vehicle': 'plane', 'blocks': to_text(rows_of({'': [{
        'class': 'px4_sim_ros:DistanceSensor', 'to_autopilot': True,
        'gimbal_pitch': 'elevator'}]}))}}),
], ids=str)
def test_it_is_the_same_flight_with_the_same_frames(share, changes, instance, tmp_path):
    ahead = flown(instance, folder=tmp_path / 'ahead', **changes)
    one_by_one = flown(instance, SOON, folder=tmp_path / 'one_by_one', **changes)
    assert [pair for pair in zip(ahead[0], one_by_one[0]) if pair[0] != pair[1]][:1] == []
    assert ahead[:2] == one_by_one[:2]
    batteries = [frame for frame in ahead[0] if frame[7:10] == BATTERY_STATUS]
    assert len(batteries) == 4 * (not changes.get('', {}).get('vehicle', '').startswith('rover'))
    assert ahead[2] == one_by_one[2] == ''
    assert ahead[3] >= share and one_by_one[3] == 0
    assert recorded(tmp_path / 'ahead') == recorded(tmp_path / 'one_by_one')


class Nodes:
    """What joins the block of PX4's topics with ROS, and the nodes that listen and send."""

    is_matched, is_spoken_to = True, False

    def __init__(self, instance, heard, awaited):
        before = f'/px4_{instance}/fmu'
        self.heard = {f'{before}/out/{heard}'}
        self.sends = f'{before}/in/{awaited}' if awaited else ''
        self.said, self.time_us, self.looks = [], 0, 0

    def gateway(self, definitions):
        return self

    def begin(self, time_us):
        self.time_us, self.looks = time_us, 0
        self.said.append(time_us)

    def publish(self, topic, data):
        if topic.name in self.heard:
            self.said.append((topic.name, data))

    def take(self):
        # The first look is too early, so the step is held.
        self.looks += 1
        if not self.sends or self.time_us % 100_000 or self.looks != 2:
            return []
        return [(self.sends, b'\0\1\0\0' + self.time_us.to_bytes(8, 'little'))]

    def requests(self):
        return []

    def missing(self, names):
        return []

    def nothing(self, *about):
        pass

    announce = listen = offer = refresh = close = nothing


# While a step is held for nodes, a barometer that is late has measured already.
@pytest.mark.parametrize('heard, awaited, changes', [
    ('', '', {}), ('home_position', '', {}), ('home_position', 'x', {}), ('wind', 'x', {}),
    ('home_position', 'x', {'delays_us.barometer': 8000})], ids=str)
def test_what_px4_says_beside_its_replies_is_heard_in_its_step(
    heard, awaited, changes, instance, tmp_path, monkeypatch,
):
    """Also by nodes whose set points are awaited."""
    monkeypatch.setattr('px4_sim_ros.link.xrce.block._MATCHED_S', -1.0)
    taken, found = count_steps(monkeypatch, True), []
    for speed_factor in 0.0, SOON:
        nodes = Nodes(instance, heard, awaited)
        monkeypatch.setattr('px4_sim_ros.ros.tools.core_ros.CoreRos', lambda nodes=nodes: nodes)
        with contextlib.closing(xrce_client.Client(AGENT_PORT + instance, instance + 1)) as client:
            def answered(time_us, client=client):
                if time_us == STEP_US:
                    client.connect()
                    for i, name in enumerate(('wind', 'home_position')):
                        client.create_writer(
                            5 + i, f'rt/px4_{instance}/fmu/out/{name}', 'px4_msgs::msg::dds_::X_')
                    client.create_reader(
                        0x800, f'rt/px4_{instance}/fmu/in/x', 'px4_msgs::msg::dds_::X_')
                elif time_us % (3 * STEP_US) == 0:
                    client.write(5, time_us.to_bytes(8, 'little'))
                if time_us % 300_000 == 0:
                    client.write(6, time_us.to_bytes(8, 'little'))
                return answer(time_us)

            folder = tmp_path / str(speed_factor)
            found.append((*flown(instance, speed_factor, answered, folder, **{
                '': {'px4_topics': True} | changes,
                'px4_topics': {'instance': instance, 'awaited': awaited}}),
                nodes.said, recorded(folder), [data for _, data in client.received()]))
    ahead, one_by_one = found
    assert [pair for pair in zip(ahead[0], one_by_one[0]) if pair[0] != pair[1]][:1] == []
    assert ahead[1] == one_by_one[1] and ahead[4:] == one_by_one[4:]
    assert ahead[3] > 0.6 and one_by_one[3] == 0
    assert max(taken) > 1
    topics = {topic.rpartition('/')[2]: len(its) for topic, its in ahead[5].items()}
    assert topics['wind'] == END_US // (3 * STEP_US)
    assert topics['home_position'] == END_US // 300_000
    assert topics.get('x', 0) == (END_US // 100_000 if awaited else 0)


# With a pilot, whose autopilot says at simulated times what it does, and is where it was commanded.

WITH_ALL = '''
mission: {mission}
scene: wall
blocks: [{{class: 'px4_sim_ros:Lidar2d', columns: 60, to_autopilot: true}}]
events:
  - {{name: up, when: {{items: {{above: 0.5}}}}, push: {{force_n: [0.5, 0, 0]}}, for_s: 0.3}}
  - {{name: weak, at_s: 2.5, motor_thrust: {{motor: 1, share: 0.9}}, for_s: 0.2}}
expect:
  - always: {{estimate_error_m: {{below: 1000}}}}
  - never: {{mode: AUTO_RTL}}
  - eventually: {{mode: AUTO_LAND}}
'''
HOP = '[{take_off: {up_m: 4.0}}, {go_to: {north_m: 3, east_m: 0, up_m: 4}}, {land: {}}]'


def piloted(instance, tmp_path, name, speed_factor, *, with_scenario):
    """Return what a flight was, what its pilot has sent and when, and its verdicts."""
    end_us = 6_000_000
    mission = tmp_path / 'hop.yaml'
    mission.write_text(f'name: hop\nitems: {HOP}\n')
    changes = {'': {'mission': str(mission)}}
    if with_scenario:
        (tmp_path / 'all.yaml').write_text(WITH_ALL.format(mission=HOP))
        changes = {'': {'scenario': str(tmp_path / 'all.yaml')}, 'scenario': {'at_end': 'go_on'}}
    verdicts = []

    def at_end(world):
        if with_scenario:
            verdicts.extend(world._first.scenario.course.verdicts())

    with contextlib.closing(UdpAutopilot(instance)) as udp:
        def answered(time_us):
            udp.time_s = time_us / 1e6
            udp.serve(0.0)
            if time_us % 12_000 == 0:
                udp.tell()
            return answer(time_us)

        *found, share = flown(
            instance, speed_factor, answered, tmp_path / name, end_us, at_end,
            pilot={'instance': instance}, **changes)
        sent = [(round(time_s * 1e6), bytes(m.get_msgbuf())) for time_s, m in udp.received]
        commands = {m.command for m in udp.commands}
    return found, share, sent, commands, verdicts, recorded(tmp_path / name)


@pytest.mark.parametrize('with_scenario', [False, True])
def test_a_pilot_acts_between_two_steps(with_scenario, instance, tmp_path, monkeypatch):
    taken = count_steps(monkeypatch, True)
    found, share, *ahead = piloted(
        instance, tmp_path, 'ahead', 0.0, with_scenario=with_scenario)
    usual, none, *one_by_one = piloted(
        instance, tmp_path, 'one_by_one', SOON, with_scenario=with_scenario)
    assert found == usual and none == 0
    assert share > (0.65 if with_scenario else 0.85)       # it is over at 4 s
    assert ahead == one_by_one
    # It acts each 20 ms, and has flown its mission: the autopilot was commanded so.
    assert max(taken) * STEP_US > 100_000
    _, commands, verdicts, messages = ahead
    assert {mavlink.MAV_CMD_NAV_TAKEOFF, mavlink.MAV_CMD_COMPONENT_ARM_DISARM,
            mavlink.MAV_CMD_DO_REPOSITION, mavlink.MAV_CMD_NAV_LAND} <= commands
    assert len(verdicts) == 3 * with_scenario
    assert any('/autopilot/odometry' in topic and len(its) > 100
               for topic, its in messages.items())


def count_rows(monkeypatch):
    """Return a list that gets of how many steps the records are laid out at once."""
    counts, send_rows = [], CoreRecorder.send_rows

    def counted(self, members, first_us, step_us, count, first_row):
        counts.append(count)
        send_rows(self, members, first_us, step_us, count, first_row)

    monkeypatch.setattr(CoreRecorder, 'send_rows', counted)
    return counts


def test_steps_are_recorded_as_rows(instance, tmp_path, monkeypatch):
    counts, end_us = count_rows(monkeypatch), 3_000_000
    # The first second is not: it begins before the first fix of GNSS.
    flown(instance, folder=tmp_path / 'bag', end_us=end_us)
    assert sum(counts) > 0.5 * end_us / STEP_US


def test_steps_with_a_pilot_and_a_scenario_are_recorded_as_rows(instance, tmp_path, monkeypatch):
    counts = count_rows(monkeypatch)
    piloted(instance, tmp_path, 'bag', 0.0, with_scenario=True)
    assert sum(counts) > 0.5 * 4_000_000 / STEP_US         # the scenario is over at 4 s


def test_steps_go_on_through_the_fixes_of_gnss(instance, monkeypatch):
    taken = count_steps(monkeypatch, True)
    flown(instance)
    assert max(taken) * STEP_US > 2 * 100_000


def test_steps_end_when_their_wall_time_is_over(instance, monkeypatch):
    in_time = flown(instance)
    monkeypatch.setattr('px4_sim_ros.link.hil.burst._LONGEST_BURST_NS', 0)
    taken = count_steps(monkeypatch, True)
    assert flown(instance)[:3] == in_time[:3]
    assert set(taken) == {1}


def test_the_schedule_of_a_repeatable_autopilot_is_looked_at_each_second(instance, monkeypatch):
    looked_us = set()
    monkeypatch.setattr(SharedCore, 'enter', lambda core: '')
    monkeypatch.setattr(Boot, 'look_for_gaps', lambda boot, time_us: looked_us.add(time_us))
    taken = count_steps(monkeypatch, True)
    flight = Flight(mission='hover', record=False, instance=instance,
                    set={'hil_bridge.shares_core': True}).fly()
    seconds = int(float(flight.summary()['sim_time_s']))
    assert looked_us >= {second * US_PER_S for second in range(1, seconds + 1)}
    assert sum(taken) > 0.9 * seconds * 250


def test_steps_go_on_through_pilot_and_telemetry_of_an_autopilot_here(tmp_path, monkeypatch):
    taken = count_steps(monkeypatch, True)
    Flight(mission='hover', record=False).fly()
    assert max(taken) * STEP_US > 900_000


@pytest.mark.parametrize('error', [ValueError('the receiver is broken'), KeyboardInterrupt()],
                         ids=str)
def test_an_error_of_a_sensor_that_is_called_ends_the_flight(error, instance, monkeypatch):
    def measure(gnss, truth, inputs=None, measure=Gnss.measure):
        if truth.time_us == 1_500_000:
            raise error
        return measure(gnss, truth)

    monkeypatch.setattr(Gnss, 'measure', measure)
    with pytest.raises(type(error)) as found:
        flown(instance)
    assert found.value is error
    assert any(frame.name == '_when_called' for frame in found.traceback), 'between two steps'


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


# A measurement that arrives one step after the truth holds the step of both.
@pytest.mark.parametrize('changes', [{}, {'': {'delays_us.barometer': STEP_US}}], ids=str)
def test_an_autopilot_that_asks_gets_the_same_truth(changes, instance, monkeypatch):
    """Also where the vehicle comes into another square of the map."""
    def reset(block, reset_block=DynamicsBlock.reset):
        reset_block(block)
        block.dynamics.state[[X, Z, VX]] += 63.5, 5.0, 1.0

    def answered(time_us):
        return [px4_greeting(), *answer(time_us)] if time_us == 20 * STEP_US else answer(time_us)

    monkeypatch.setattr(DynamicsBlock, 'reset', reset)
    ahead, one_by_one = flown(instance, answered=answered, **changes), flown(
        instance, SOON, answered=answered, **changes)
    assert [pair for pair in zip(ahead[0], one_by_one[0]) if pair[0] != pair[1]][:1] == []
    assert ahead[:3] == one_by_one[:3]
    assert ahead[3] >= 0.7
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


# Some things that happen are in force on motion or sensors; the wind is due in each fifth step. In
# a push test_all_at_once flies faults of each kind, and replays them step by step.
@pytest.mark.parametrize('share, options', [
    (0.9, {}), (0.9, {'wind': 'dryden'}),
    (0.8, {'scenario': 'motor_out'}),
    *(pytest.param(share, {'scenario': name}, marks=pytest.mark.long) for share, name in (
        (0.85, 'motor_weak'), (0.8, 'gnss_lost'), (0.7, 'gust_at_landing'))),
    (0.7, {'scenario': 'twisted'}), (0.2, {'scenario': 'imu_noisy'}),
    (0.9, {'scenario': {'scene': 'forest', 'mission': 'hover', 'end': {'at_s': 5.0}, 'expect': [
        {'never': {'clearance_m': {'below': 1.0}}}, {'always': {'clearance_m': {'above': 4.0}}}]}}),
    # How near the next tree is compiled code does not know.
    (0.0, {'scenario': {'scene': 'forest', 'mission': 'hover', 'end': {'at_s': 4.0}, 'events': [
        {'when': {'clearance_m': {'above': 1.0}, 'height_m': {'above': 0.5}},
         'push': {'force_n': [1.0, 0.0, 0.0]}, 'for_s': 0.5}]}}),
    # Something happens just when the wind is due.
    (0.7, {'scenario': {'weather': {'wind': 'constant', 'speed_m_s': 2.0}, 'mission': 'hover',
                        'events': [{'at_s': 6.02, 'motor_thrust': {'motor': 2, 'share': 0.9}},
                                   {'at_s': 7.0, 'push': {'force_n': [1.0, 0.0, 0.0]}}],
                        'end': {'at_s': 8.0}}}),
    (0.7, {'scenario': {'mission': 'hover', 'end': {'at_s': 14.5}, 'events': [
        {'name': 'high', 'when': {'height_m': {'above': 4.0}, 'climb_m_s': {'below': 0.9}},
         'push': {'force_n': [1.0, 0.0, 0.0]}, 'for_s': 1.5},
        {'name': 'late', 'when': {'age_s': {'event': 'high', 'above': 2.0}},
         'motor_thrust': {'motor': 2, 'share': 0.9}},
        {'name': 'stuck', 'at_s': 14.002, 'motor_stuck': {'motor': 1}, 'for_s': 0.1}],
        'expect': [{'always': {'tilt_deg': {'below': 15}}},
                   {'eventually': {'charge': {'below': 0.99}}}]}}),
], ids=lambda value: str(value)[:40])
def test_a_flight_with_the_autopilot_here_is_the_same(monkeypatch, share, options, tmp_path):
    if 'scenario' not in options:
        options = options | {'mission': str(write_hop(tmp_path, 3.0))}
    ahead, found = flown_here(monkeypatch, True, tmp_path / 'ahead', **options)
    one_by_one, none = flown_here(monkeypatch, False, tmp_path / 'one_by_one', **options)
    assert ahead == one_by_one
    assert found >= share and none == 0


SEES_A_FIX = '''
from geometry_msgs.msg import PointStamped

from px4_sim_ros import OwnBlock


class Fix(OwnBlock):
    message, topic, inputs, period_us = PointStamped, 'seen', ('gps/fix',), 20_000

    def measure(self, time_us, inputs):
        if 'gps/fix' not in inputs:
            return None
        message = PointStamped()
        message.point.x, message.point.y = inputs['gps/fix'].time_us, float(time_us)
        return message
'''


def test_a_block_that_needs_a_late_sensor_acts_after_it(monkeypatch, tmp_path):
    (tmp_path / 'fix.py').write_text(SEES_A_FIX)
    (tmp_path / 'sees.yaml').write_text(yaml.safe_dump({
        'mission': 'hover', 'end': {'at_s': 4.0}, 'blocks': [{'class': 'fix.py:Fix'}]}))
    options = {'scenario': str(tmp_path / 'sees.yaml')}
    ahead, found = flown_here(monkeypatch, True, tmp_path / 'ahead', **options)
    one_by_one, none = flown_here(monkeypatch, False, tmp_path / 'one_by_one', **options)
    assert ahead == one_by_one
    assert found > 0.5 and none == 0
    assert len(ahead[3]['/seen']) > 20


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
