# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""PX4's own ROS 2 topics in flights of a real PX4, with an ordinary node that flies it."""
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys

import numpy as np
import pytest
from commands import command, run, running, wait_for_line, write_hop
from px4_flight import NEEDS_FIFO

from px4_sim_ros.link.xrce.agent import PORT
from px4_sim_ros.process import domain_claim
from px4_sim_ros.px4.sitl import Px4
from px4_sim_ros.recording.analysis.export import read_table
from px4_sim_ros.recording.bag.reader import BagReader, vehicles_of
from px4_sim_ros.spec.ros_environment import ros_environment

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / 'examples'
INSTANCE = 6
AWAITED = 'offboard_control_mode,trajectory_setpoint'
STEP_US = 4000


@pytest.fixture(scope='module')
def messages(tmp_path_factory):
    """Return a folder with px4_msgs of the PX4 that flies."""
    from px4_sim_ros.ros.tools.build_px4_msgs import build
    folder = tmp_path_factory.mktemp('messages')
    build(Px4.find(os.environ['PX4_DIR']).messages, folder, (
        'OffboardControlMode', 'TrajectorySetpoint', 'VehicleAttitudeSetpoint', 'VehicleCommand',
        'VehicleOdometry', 'VehicleStatus'))
    return folder


@pytest.fixture
def fly(messages, tmp_path, monkeypatch):
    """Return a function that flies with the node of the example; it returns the summary."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(domain_claim.choose())
        environment = os.environ | ros_environment()

        def flown(
            *words, record=False, once_armed=(), example='px4_offboard', stops=False,
        ):
            folder = tmp_path / str(len(list(tmp_path.iterdir())))
            folder.mkdir()
            node = subprocess.Popen(
                [sys.executable, EXAMPLES / f'{example}.py', '--ros-args', '-r',
                 f'__ns:=/px4_{INSTANCE}', '-p', f'system:={1 + INSTANCE}'],
                text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                env=environment | {'PYTHONPATH': os.pathsep.join(
                    [str(messages), os.environ.get('PYTHONPATH', '')])})
            try:
                with running(command(
                        'fly', '--autopilot', 'px4', '--px4-schedule', 'repeatable', '--instance',
                        INSTANCE, '--scenario', EXAMPLES / f'{example}.yaml', '--mission',
                        'none', '--summary', folder / 'summary.json',
                        *(['--record', folder / 'bag'] if record else []), *words)) as flight:
                    if once_armed:
                        wait_for_line(node, 'armed')
                    for word in once_armed:
                        assert run(word).returncode == 0, word
                    if stops:
                        wait_for_line(node, 'armed')
                        node.send_signal(signal.SIGSTOP)
                        wait_for_line(flight, 'which is awaited; its last is of t = ')
                        node.send_signal(signal.SIGCONT)
                    said, _ = flight.communicate(timeout=300)
            finally:
                node.terminate()
                node.communicate()
            assert flight.returncode == 0, said
            return json.loads((folder / 'summary.json').read_text())
        yield flown


@pytest.mark.process
@pytest.mark.px4
@NEEDS_FIFO
def test_the_flight_of_an_ordinary_node_repeats_in_each_mode_and_at_each_speed(fly):
    flights = [fly('--px4-topics', AWAITED, '--mode', mode, *words) for mode, *words in (
        ('core',), ('composed',), ('separate',), ('composed', '--speed-factor', '3'))]
    assert not any(reasons := [its['not_repeatable_because'] for its in flights]), reasons
    assert len({its['fingerprint'] for its in flights}) == 1
    assert 5.0 < flights[0]['max_altitude_m'] < 6.0
    assert all(verdict['holds'] for its in flights for verdict in its['expectations'])


@pytest.mark.process
@pytest.mark.px4
@NEEDS_FIFO
def test_a_controller_that_answers_px4_repeats(fly):
    flights = [fly('--mode', mode, '--px4-topics', ','.join(
        f'{name}:vehicle_odometry' for name in (
            'offboard_control_mode', 'vehicle_attitude_setpoint_v1')), example='px4_attitude')
        for mode in ('core', 'composed')]
    assert not any(reasons := [its['not_repeatable_because'] for its in flights]), reasons
    assert len({its['fingerprint'] for its in flights}) == 1
    assert all(verdict['holds'] for its in flights for verdict in its['expectations'])


@pytest.mark.process
@pytest.mark.px4
@NEEDS_FIFO
def test_a_pause_a_reset_and_a_node_that_is_late_change_nothing(fly):
    words = '--px4-topics', AWAITED, '--mode', 'composed', '--speed-factor', '5'
    through = fly(*words, once_armed=('pause', 'resume', 'reset'))
    assert through['repeatable'], through['not_repeatable_because']
    late = fly('--px4-topics', AWAITED, '--mode', 'core', stops=True)
    assert late['repeatable'], late['not_repeatable_because']
    assert through['fingerprint'] == late['fingerprint']


@pytest.mark.process
@pytest.mark.px4
@NEEDS_FIFO
@pytest.mark.parametrize('mode', ['core', 'composed', 'separate'])
def test_each_message_of_px4_has_the_time_of_a_step_and_joins_with_the_truth(fly, mode):
    bag = BagReader(fly('--px4-topics', AWAITED, '--mode', mode, record=True)['recording'])
    before = f'px4_{INSTANCE}/fmu'
    stamps = {}
    for message in bag.messages():
        if message.topic.startswith(before):
            stamp_us = int.from_bytes(message.data[4:12], 'little')
            stamps.setdefault(message.topic, []).append((stamp_us, message.time_us))
    assert len(stamps) > 15
    assert not [topic for topic, its in stamps.items() for stamp_us, time_us in its
                if stamp_us % STEP_US or stamp_us > time_us]
    ticks = [stamp_us for stamp_us, _ in stamps[f'{before}/in/trajectory_setpoint']]
    assert ticks[-10:] == list(range(ticks[-10], ticks[-10] + 1_000_000, 100_000))
    odometry = read_table(bag, f'/{before}/out/vehicle_odometry')
    truth = read_table(bag, 'ground_truth/odom')
    times = np.rint(truth['time_s'] * 1e6).astype(int)
    found = np.searchsorted(times, odometry['timestamp'].astype(int))
    assert (times[found] == odometry['timestamp'].astype(int)).all(), 'none is lost'
    if mode == 'core':
        shown = bag.folder.with_suffix('.rrd')
        assert run('view', bag.folder, '--viewer', shown).returncode == 0
        assert f'{before}/out/vehicle_odometry/position'.encode() in shown.read_bytes()
    high = odometry['time_s'] > 20.0
    assert np.abs(-odometry['position.z'] - truth['position_m.z'][found])[high].max() < 1.0


@pytest.mark.process
@pytest.mark.px4
@NEEDS_FIFO
def test_free_set_points_fly_and_break_the_repetition(fly):
    found = fly('--px4-topics', '--mode', 'composed', '--speed-factor', '5')
    assert all(verdict['holds'] for verdict in found['expectations'])
    assert not found['repeatable']
    assert f'a ROS 2 node has sent /px4_{INSTANCE}/fmu/in/' in found['not_repeatable_because']
    assert found['not_repeatable_because'].endswith(', which is not awaited')


@pytest.mark.process
@pytest.mark.px4
@NEEDS_FIFO
def test_two_px4s_have_their_own_topics_and_repeat(tmp_path):
    found = []
    for i in range(2):
        summary = tmp_path / f'{i}.json'
        result = run('fly', '--vehicles', '2', '--instance', INSTANCE, '--mode', 'core',
                     '--autopilot', 'px4', '--px4-schedule', 'repeatable', '--px4-topics',
                     '--mission', write_hop(tmp_path, 3.0), '--summary', summary,
                     '--record', tmp_path / f'bag{i}')
        assert result.returncode == 0, result.stdout + result.stderr
        found.append(json.loads(summary.read_text()))
    assert not any(its['not_repeatable_because'] for its in found), found
    assert len({its['fingerprint'] for its in found}) == 1
    for bag in vehicles_of(tmp_path / 'bag0'):
        assert len(read_table(bag, 'fmu/out/vehicle_odometry')['timestamp']) > 500


@pytest.mark.process
def test_what_cannot_be_is_one_sentence(instance):
    port = PORT + instance
    refused = run('fly', '--px4-topics', '--mode', 'core')
    assert (refused.returncode, refused.stderr) == (2, (
        'fly: px4_topics = True: the embedded autopilot has no topics of its own; fly with the'
        ' autopilot px4\n'))
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as agent:
        agent.bind(('127.0.0.1', port))
        taken = run('fly', '--autopilot', 'none', '--instance', instance, '--mode', 'core',
                    '--px4-topics', timeout_s=60)
    assert taken.returncode == 2
    assert taken.stderr.startswith(f'fly: UDP port {port} is taken by ')
    assert taken.stderr.endswith('; stop it or choose another instance\n')
