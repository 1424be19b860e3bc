# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A flight with its autopilot repeats bit for bit, in every mode; what does not is named."""
import contextlib
import functools
import json
import os
import pathlib
import re
import runpy
import shutil
import socket
import subprocess
import sys
import threading

import instances
import pytest
import yaml
from commands import command, run, running, wait_for_line, write_hop
from px4_flight import NEEDS_FIFO
from pymavlink.dialects.v20 import common as mavlink
from report_flights import fly as fly_script

from px4_sim_ros.flight.ros_world import start_graph
from px4_sim_ros.link.fields import heartbeat
from px4_sim_ros.link.xrce.agent import Agent
from px4_sim_ros.px4.shared_core import shared_core_of
from px4_sim_ros.px4.sitl import AGENT_PORT, Px4
from px4_sim_ros.recording.analysis import recorded_fingerprint
from px4_sim_ros.recording.bag.fleet_description import describe, write_run_files
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.spec.flight_spec import FlightSpec, VehicleSpec
from px4_sim_ros.spec.resources import config_directory

EXAMPLES = str(pathlib.Path(__file__).resolve().parents[2] / 'examples')
MODES = 'core', 'composed', 'separate'
WEAK = '--set', 'wind.speed_m_s=1'

PX4_INSTANCE = instances.of_px4()
OTHER_PX4_INSTANCE = 10


@pytest.fixture
def fly(here, instance, tmp_path):
    """Return a function that flies a scenario, or the shortest mission in a gusty wind.

    It returns the summary. What needs no process of its own is flown in this one.
    """
    def fly(*words, autopilot='embedded', code=0, instance=instance):
        file = tmp_path / 'summary.json'
        # PX4 is not to land at once; the other one is soon down where gusts are weak.
        up_m, *weak = (0.4, *WEAK) if autopilot == 'embedded' else (3.0,)
        flown = () if '--scenario' in words else (
            '--mission', write_hop(tmp_path, up_m), '--wind', 'dryden', *weak)
        start = here if autopilot == 'embedded' and 'core' in words else run
        result = start('fly', *flown, '--instance', instance, '--autopilot', autopilot,
                       '--summary', file, *words)
        assert result.returncode == code, result.stdout + result.stderr
        return json.loads(file.read_text()) | {'said': result.stderr, 'printed': result.stdout}
    return fly


def log_of(summary):
    """Return the log of a flight of PX4."""
    folder = re.search(r'PX4 runs in (\S+);', summary['printed'])[1]
    log, = pathlib.Path(folder).glob('log/*/*.ulg')
    return log


@pytest.mark.process
def test_another_fingerprint_than_expected_is_a_failure(fly, tmp_path):
    bag = tmp_path / 'expected'
    found = fly('--mode', 'core', '--record', bag)['fingerprint']
    summary = fly('--mode', 'core', '--seed', '2', '--expect', found, code=1)
    other = summary['fingerprint']
    assert summary['said'] == f'fly: expect {found}: the fingerprint is {other}\n'
    # With its recording it is said where they part.
    assert recorded_fingerprint.read(BagReader(bag)) == (found, '')
    said = fly('--mode', 'core', '--seed', '2', '--expect', bag, code=1)['said']
    assert said.startswith(
        f'fly: expect {bag}: the fingerprint is {other}; it differs first in step 1, imu/data_raw'
        ' at t = 0.004000 s, angular_velocity.x: ')
    assert re.search(r', then in step \d+, actuators/command at t = \d\.\d+ s, velocity\[', said)


@pytest.mark.process
def test_a_graph_whose_time_goes_on_tells_which_flight_it_was(fly, instance, tmp_path):
    """As under `ros2 launch`, with the pilot in another process than the motion."""
    found = fly('--mode', 'core')['fingerprint']
    configuration = load_configuration(None, {
        '': {'mission': str(tmp_path / 'hop.yaml'), 'wind': 'dryden'},
        'wind': {'speed_m_s': 1.0}, 'manager': {'speed_factor': 0.0},
        'hil_bridge': {'instance': instance}})
    file, run = write_run_files(describe(FlightSpec(
        'composed', (VehicleSpec(configuration, 'embedded'),))), {'': configuration}, tmp_path)
    together, = configuration.graph.process_groups('composed')
    apart = [[name for name in together if name not in ('pilot', 'hil_bridge')],
             ['pilot', 'hil_bridge']]
    with contextlib.ExitStack() as stack:
        start_graph(stack, apart, file)
        supervisor = stack.enter_context(running([
            sys.executable, '-m', 'px4_sim_ros.launching.autopilot_supervisor',
            '--run', str(run)]))
        said = wait_for_line(supervisor, 'fingerprint')[-1]
        assert said == (f'the mission is flown: fingerprint {found};'
                        ' another flight has the same\n')


@pytest.mark.process
@pytest.mark.px4
@NEEDS_FIFO
def test_px4_repeats_itself_in_every_mode(fly, monkeypatch):
    """In any ROS domain; in the same wind with another seed, or another gain, otherwise."""
    fly = functools.partial(
        fly, '--px4-schedule', 'repeatable', autopilot='px4', instance=PX4_INSTANCE)
    found = [fly('--mode', mode) for mode in MODES]
    monkeypatch.delenv('ROS_DOMAIN_ID')
    found.append(fly('--mode', 'core'))
    assert not any(reasons := [summary['not_repeatable_because'] for summary in found]), reasons
    assert len({summary['fingerprint'] for summary in found}) == 1
    compare_ulogs = runpy.run_path(f'{EXAMPLES}/compare_ulogs.py')
    first, *others = (log_of(summary) for summary in found)
    for log in others:
        differing, both = compare_ulogs['differences'](first, log)
        assert differing.keys() <= compare_ulogs['MAY_DIFFER'], differing
        assert both > 80
    other = fly('--mode', 'core', '--seed', '2')
    monkeypatch.setenv('PX4_PARAM_MPC_XY_P', '0.9')
    tuned = fly('--mode', 'core')
    assert len({s['fingerprint'] for s in (found[0], other, tuned)}) == 3


@pytest.mark.process
@pytest.mark.px4
@NEEDS_FIFO
def test_px4_repeats_itself_however_long_its_start_script_takes(fly, tmp_path):
    """Also one that boots in the midst of a flight: its navigator asks while others start."""
    found = Px4.find(os.environ['PX4_DIR']).build
    for name in 'bin', 'etc':
        shutil.copytree(found / name, tmp_path / 'px4' / name, symlinks=True)
    script = tmp_path / 'px4/etc/init.d-posix/rcS'
    lines = script.read_text()
    flights = []
    for delayed in lines, re.sub(r'^(\w+ start)$', r'\1; sleep 0.05', lines, flags=re.MULTILINE):
        script.write_text(delayed)
        flights.append(fly(
            '--mode', 'core', '--scenario', 'autopilot_restarts', '--px4-schedule', 'repeatable',
            '--px4-dir', tmp_path / 'px4', autopilot='px4', instance=PX4_INSTANCE))
    assert delayed != lines
    assert all(flight['repeatable'] for flight in flights), flights
    assert flights[0]['fingerprint'] == flights[1]['fingerprint']


@pytest.mark.process
@pytest.mark.px4
@NEEDS_FIFO
def test_px4_is_flown_again_with_its_parameters(fly, tmp_path, monkeypatch):
    """From a recording of another mode. With another parameter the flights part."""
    monkeypatch.setenv('PX4_PARAM_MPC_XY_P', '0.9')
    recorded = fly('--mode', 'composed', '--px4-schedule', 'repeatable', '--record',
                   tmp_path / 'bag', autopilot='px4', instance=PX4_INSTANCE)
    monkeypatch.delenv('PX4_PARAM_MPC_XY_P')
    again = run('refly', tmp_path / 'bag')
    assert (again.returncode, again.stderr) == (0, ''), again.stdout
    *_, before, now, sentence = again.stdout.splitlines()
    assert before == f"the recording: fingerprint {recorded['fingerprint']}, repeatable"
    assert now == before.replace('the recording', 'the new flight')
    assert sentence.endswith(' common messages are bit-identical')
    monkeypatch.setenv('PX4_PARAM_MPC_XY_P', '0.95')
    figures = tmp_path / 'figures.json'
    other = run('refly', tmp_path / 'bag', '--json', figures)
    assert other.returncode == 1
    assert other.stdout.startswith('PX4_PARAM_MPC_XY_P = 0.95 is set now; it was 0.9\n')
    differing = json.loads(figures.read_text())['comparison']['topics']['actuators/command']
    assert differing['differ'] > 100


@pytest.mark.process
@pytest.mark.px4
@NEEDS_FIFO
def test_two_px4s_at_once_repeat_themselves(tmp_path):
    """On a core each, where there are two."""
    hop, instances = write_hop(tmp_path, 3.0), (PX4_INSTANCE, OTHER_PX4_INSTANCE)
    with contextlib.ExitStack() as stack:
        flights = [stack.enter_context(running(command(
            'fly', '--mode', 'core', '--mission', hop, '--wind', 'dryden', '--autopilot', 'px4',
            '--px4-schedule', 'repeatable', '--instance', instance, '--summary',
            tmp_path / f'{instance}.json'))) for instance in instances]
        for flight in flights:
            printed, _ = flight.communicate(timeout=240)
            assert flight.returncode == 0, printed
    found = [json.loads((tmp_path / f'{instance}.json').read_text()) for instance in instances]
    assert not any(reasons := [summary['not_repeatable_because'] for summary in found]), reasons
    assert len({summary['fingerprint'] for summary in found}) == 1


@pytest.mark.process
@pytest.mark.px4
@NEEDS_FIFO
def test_px4_repeats_itself_under_offboard_control(fly, monkeypatch):
    """By the pilot of `examples/offboard.py`, which takes part in the step."""
    monkeypatch.setenv('PYTHONPATH', os.pathsep.join([EXAMPLES, os.environ['PYTHONPATH']]))
    found = [fly('--mode', mode, '--px4-schedule', 'repeatable', '--node',
                 'pilot=offboard:OffboardCircle', autopilot='px4', instance=PX4_INSTANCE)
             for mode in ('core', 'composed')]
    assert all(s['repeatable'] and s['landed'] for s in found), found
    assert len({s['fingerprint'] for s in found}) == 1
    assert 1.5 < found[0]['max_altitude_m'] < 2.5


@pytest.mark.process
@pytest.mark.px4
@NEEDS_FIFO
@pytest.mark.parametrize('scenario', [
    'flown_by_hand', 'mission_uploaded', 'wall_ahead', f'{EXAMPLES}/canyon.yaml'])
def test_px4_repeats_itself_by_sticks_and_by_its_navigator(fly, scenario):
    found = [fly('--mode', mode, '--px4-schedule', 'repeatable', '--scenario', scenario,
                 autopilot='px4', instance=PX4_INSTANCE) for mode in MODES]
    assert all(s['repeatable'] and s['mission_flown'] for s in found), found
    assert len({s['fingerprint'] for s in found}) == 1


@pytest.mark.process
@pytest.mark.px4
@NEEDS_FIFO
def test_px4_stops_before_a_wall_that_a_depth_camera_sees(fly, tmp_path):
    scenario = yaml.safe_load((config_directory() / 'scenarios' / 'wall_ahead.yaml').read_text())
    scenario['blocks'] = [{
        'class': 'px4_sim_ros:DepthScan', 'position_m': [0.1, 0.0, 0.0], 'max_range_m': 30,
        'width': 160, 'height': 120, 'to_autopilot': True}]
    (tmp_path / 'depth.yaml').write_text(yaml.safe_dump(scenario))
    found = [fly('--mode', mode, '--px4-schedule', 'repeatable', '--scenario',
                 tmp_path / 'depth.yaml', autopilot='px4', instance=PX4_INSTANCE)
             for mode in ('core', 'composed')]
    assert all(s['repeatable'] and s['mission_flown'] for s in found), found
    assert len({s['fingerprint'] for s in found}) == 1


@pytest.mark.process
@pytest.mark.px4
@NEEDS_FIFO
def test_px4_repeats_itself_after_a_reset_in_flight(fly, tmp_path):
    """Then another PX4 flies, from time 0 on; at real time, so that the command comes in flight."""
    schedule, file = ('--px4-schedule', 'repeatable'), tmp_path / 'reset.json'
    found = [fly('--mode', 'core', *schedule, autopilot='px4', instance=PX4_INSTANCE)]
    for mode in 'composed', 'separate':
        with running(command(
                'fly', '--mode', mode, *schedule, '--autopilot', 'px4', '--wind', 'dryden',
                '--mission', tmp_path / 'hop.yaml', '--instance', PX4_INSTANCE,
                '--speed-factor', 1, '--summary', file)) as process:
            wait_for_line(process, 'armed')
            for order in ('reset',), ('speed', 'max'):
                assert run(*order).returncode == 0
            process.communicate(timeout=240)
            assert process.returncode == 0
        found.append(json.loads(file.read_text()))
    assert len({summary['fingerprint'] for summary in found}) == 1
    assert not any(reasons := [summary['not_repeatable_because'] for summary in found]), reasons


@pytest.mark.process
@pytest.mark.px4
@NEEDS_FIFO
def test_px4_repeats_itself_on_a_core_that_is_full(fly):
    """Linux lets ordinary threads run for 5 % of the time of a core that is full."""
    fly = functools.partial(fly, '--mode', 'core', '--px4-schedule', 'repeatable',
                            autopilot='px4', instance=PX4_INSTANCE)
    alone = fly()
    with busy_loop(shared_core_of(PX4_INSTANCE)):
        found = [fly() for _ in range(2)]
    assert [summary['fingerprint'] for summary in found] == 2 * [alone['fingerprint']]
    assert not any(reasons := [summary['not_repeatable_because'] for summary in found]), reasons


@contextlib.contextmanager
def busy_loop(core):
    """Fill a core with a program that has the priority of the step, and takes turns with it."""
    hog = subprocess.Popen([
        'taskset', '--cpu-list', str(core), 'chrt', '--fifo', '1', sys.executable, '-c',
        'import os\nwhile True: os.sched_yield()'])
    try:
        yield
    finally:
        hog.kill()
        hog.wait()


@pytest.mark.process
@pytest.mark.px4
@NEEDS_FIFO
def test_px4_repeats_a_mission_of_its_navigator(fly, tmp_path):
    """Also when it ends, and where it was when the pilot took an item for reached."""
    mission = tmp_path / 'drive.yaml'
    mission.write_text('name: drive\nitems:\n  - go_to: {north_m: 0.0, east_m: 8.0}\n'
                       '  - hold: {duration_s: 1.0}\n  - go_to: {north_m: 4.0, east_m: 8.0}\n')
    first, second = (
        fly('--mode', 'core', '--vehicle', 'rover_differential', '--mission', mission,
            '--px4-schedule', 'repeatable', autopilot='px4', instance=PX4_INSTANCE)
        for _ in range(2))
    assert first['repeatable'], first
    for key in 'fingerprint', 'arrivals', 'sim_time_s':
        assert second[key] == first[key], key


@pytest.mark.process
@pytest.mark.px4
def test_px4_with_another_schedule_is_not_called_repeatable(fly):
    summary = fly('--mode', 'core', '--px4-schedule', 'one-core', autopilot='px4',
                  instance=PX4_INSTANCE)
    assert not summary['repeatable']
    assert summary['not_repeatable_because'] == 'PX4 does not run with the schedule repeatable'


def ground_station():
    """Return what sends a HEARTBEAT to PX4, as QGroundControl does, and every how many seconds."""
    mav = mavlink.MAVLink(None, srcSystem=255, srcComponent=190)
    own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    return own, 0.5, lambda: own.sendto(
        heartbeat(mav, mavlink.MAV_TYPE_GCS), ('127.0.0.1', 18570 + PX4_INSTANCE))


def agent():
    """Return what answers PX4's uXRCE-DDS client by the wall clock, as eProsima's agent does."""
    own = Agent(AGENT_PORT + PX4_INSTANCE)
    own.expect(PX4_INSTANCE)
    return own, 0.001, lambda: own.take(PX4_INSTANCE)


@pytest.mark.process
@pytest.mark.px4
@NEEDS_FIFO
@pytest.mark.parametrize('other, said', [
    (ground_station, 'MAVLink system 255 talks to the autopilot as well'),
    (agent, 'a Micro XRCE-DDS agent has connected PX4 to ROS 2')])
def test_a_program_that_connects_to_px4_is_noticed(fly, monkeypatch, other, said):
    monkeypatch.setenv('PX4_UXRCE_DDS_PORT', str(AGENT_PORT + PX4_INSTANCE))
    monkeypatch.setenv('PX4_PARAM_UXRCE_DDS_SYNCT', '0')
    own, period_s, act = other()
    over = threading.Event()

    def go_on():
        while not over.wait(period_s):
            act()

    thread = threading.Thread(target=go_on)
    with contextlib.closing(own):
        thread.start()
        try:
            summary = fly('--mode', 'core', '--px4-schedule', 'repeatable', autopilot='px4',
                          instance=PX4_INSTANCE)
        finally:
            over.set()
            thread.join()
    assert not summary['repeatable']
    assert re.fullmatch(rf't = \d+\.\d+ s: {said}', summary['not_repeatable_because'])


# A recording that is flown again.

@pytest.fixture
def recorded(fly, tmp_path):
    """Return the folder of a recorded flight, in another mode than it is flown again."""
    fly('--mode', 'composed', '--record', tmp_path / 'bag')
    return tmp_path / 'bag'


@pytest.mark.process
def test_a_recorded_mission_is_flown_again_bit_by_bit(recorded, here, tmp_path):
    again = here('refly', recorded, '--record', tmp_path / 'again')
    assert (again.returncode, again.stderr) == (0, ''), again.stdout
    *_, recorded_, flown, sentence = again.stdout.splitlines()
    assert sentence.endswith(' common messages are bit-identical')
    fingerprint, _ = recorded_fingerprint.read(BagReader(recorded))
    assert [recorded_, flown] == [
        f'{which}: fingerprint {fingerprint}, repeatable'
        for which in ('the recording', 'the new flight')]
    # Also one that was flown again itself; and with the loop closed a change is seen.
    figures = tmp_path / 'figures.json'
    what_if = here('refly', tmp_path / 'again', '--set', 'imu.gyro_noise_density=1e-3', '--json',
                   figures)
    assert what_if.returncode == 0, what_if.stderr
    *_, sentence, file = what_if.stdout.splitlines()
    assert 'first imu/data_raw at t = 0.004000 s' in sentence
    assert file == f'the figures are in {figures}'
    topics = json.loads(figures.read_text())['comparison']['topics']
    assert topics['actuators/command']['differ'] > 100


def test_what_has_flown_no_mission_cannot_be_flown_again(tmp_path, here):
    fly_script(tmp_path / 'bag', 0.1)
    result = here('refly', tmp_path / 'bag')
    assert result.returncode == 2
    assert result.stderr == (
        f'refly: bag {tmp_path / "bag"}: it has no mission of the embedded autopilot or PX4;'
        ' `replay` flies its commands again\n')
