# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a real PX4 makes of pauses, resets, lost sensors and its own death."""
import contextlib
import json
import math
import os
import pathlib
import re
import subprocess
import sys

import instances
import pytest
from commands import command, port_is_free
from geometry_msgs.msg import PoseStamped
from graph_processes import GraphProcesses
from rclpy.serialization import deserialize_message

from px4_sim_ros.process.children import Child
from px4_sim_ros.px4 import boot_parameters
from px4_sim_ros.px4.sitl import Px4
from px4_sim_ros.spec.files import load_vehicle

INSTANCE = instances.of_px4()
PATIENCE_S = 120.0
THREE_IMUS = {'': {'instances.imu': 3, 'instances.magnetometer': 2, 'instances.gps': 2}}

PROGRAM = command()
# A pilot hears nothing while the world is paused, and by itself gives up after a minute of that.
PATIENT_PILOT = [sys.executable, '-c', '''
import sys
from px4_sim_ros.cli import command_line
from px4_sim_ros.link.pilot import pilot
pilot._SILENCE_LIMIT_S *= 2.0
sys.exit(command_line.main())
''']

pytestmark = [pytest.mark.process, pytest.mark.px4]


class Flights:
    """A graph, and the PX4s and pilots that come and go beside it."""

    def __init__(self, folder, processes):
        self.folder, self.graph = folder, processes
        self._px4 = Px4.find(os.environ['PX4_DIR'])
        self.px4 = None
        self._count = 0

    def start_px4(self):
        """Start a PX4 in a folder of its own."""
        self._count += 1
        folder = self.folder / f'px4_{self._count}'
        folder.mkdir()
        self.log = folder / 'px4.log'
        self.px4 = Child(
            'PX4', self._px4.command(INSTANCE), folder=folder, log=self.log,
            environment=dict(os.environ) | boot_parameters.environment(
                self._px4, load_vehicle('iris'), None)[0])

    def console(self):
        """Return what PX4 has printed."""
        return self.log.read_text(errors='replace')

    @contextlib.contextmanager
    def pilot(self, *items, program=PROGRAM):
        """Let a pilot fly; at the end it must have flown all.

        :param program: what begins its command line
        """
        file = self.folder / 'mission.yaml'
        file.write_text(json.dumps({'name': 'test', 'items': items}))
        with subprocess.Popen(
                [*program, 'pilot', '--mission', str(file), '--instance', str(INSTANCE)],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pilot:
            try:
                yield
                self.graph.wait_for(
                    lambda: pilot.poll() is not None, PATIENCE_S, 'the end of the mission')
            finally:
                pilot.kill()
            assert pilot.returncode == 0, pilot.stdout.read() + self.console()

    def position(self):
        """Return the last true position."""
        recordings = self.graph.observer.recordings
        last_us = recordings.stamps('ground_truth/pose')[-1]
        p = deserialize_message(
            recordings.of_run(0)['ground_truth/pose', last_us], PoseStamped).pose.position
        return p.x, p.y, p.z


@pytest.fixture
def fly(tmp_path):
    """Return a function that starts a graph for a PX4."""
    with contextlib.ExitStack() as stack:
        def started(parameters):
            processes = GraphProcesses(
                tmp_path, 'composed', INSTANCE,
                {'manager': {'speed_factor': 4.0}} | parameters)
            stack.callback(processes.close)
            flights = Flights(tmp_path, processes)
            stack.callback(lambda: flights.px4 and flights.px4.stop())
            processes.wait_up()
            flights.start_px4()
            return flights
        yield started


HOP = {'take_off': {'up_m': 3.0}}, {'land': {}}


def test_px4_is_killed_and_started_again_five_times(fly):
    """One graph sees them all come, lock, fly and go."""
    flights = fly({})
    graph = flights.graph
    for _ in range(5):
        graph.wait_link('LOCKED')
        with flights.pilot(*HOP):
            pass
        assert flights.console().count('Disarmed by landing') == 1
        os.kill(flights.px4.pid, 9)
        graph.wait_link('WAITING', 3.0)
        flights.px4.stop()
        flights.start_px4()
    graph.wait_link('LOCKED')


def test_px4_stays_quiet_through_a_pause(fly):
    """For a minute of wall time: it complains once a second when no bytes come."""
    flights = fly({})
    graph = flights.graph
    with flights.pilot(*HOP, program=PATIENT_PILOT):
        graph.wait_for(lambda: 'Takeoff detected' in flights.console(), PATIENCE_S, 'a take-off')
        graph.pause()
        steps = graph.steps
        graph.watch(60.0, lambda: graph.state == 'PAUSED' and graph.steps == steps, 'a pause')
        graph.go_on()
    assert 'poll timeout' not in flights.console()
    assert graph.link == 'LOCKED'


@pytest.mark.parametrize('logger', ['on', 'off'])
def test_px4_changes_to_another_imu(fly, logger, monkeypatch):
    """The first one stops at 10 m, and goes on later: it stays within a metre.

    The hold is long: commands come by wall time, while a second of it may be ten simulated ones.
    """
    if logger == 'off':
        monkeypatch.setenv('PX4_PARAM_SDLOG_BACKEND', '0')
    flights = fly(THREE_IMUS)
    graph = flights.graph
    graph.record('ground_truth/pose', 'imu_1/data_raw')
    with flights.pilot({'take_off': {'up_m': 10.0}}, {'hold': {'duration_s': 180.0}}, {'land': {}}):
        graph.wait_for(lambda: graph.observer.recordings.stamps('ground_truth/pose')
                       and flights.position()[2] > 9.7, PATIENCE_S, '10 m')
        graph.wait_steps(1250)
        there = flights.position()
        far = 0.0
        for verb in ('stop', 'start'):
            assert graph.command('sensor', 'imu', verb).returncode == 0
            goal = graph.steps + 3750
            while graph.steps < goal:
                graph.observer.spin()
                far = max(far, math.dist(flights.position(), there))
            assert far < 1.0, far
            print(f'{verb}: within {far:.2f} m', file=sys.stderr)
    assert 'primary EKF changed 0' in flights.console()
    assert 'poll timeout' not in flights.console()


def test_a_foreign_px4_is_waited_for_after_a_reset(fly):
    """Its time cannot go back: it has to be started again by whoever started it."""
    flights = fly({})
    graph = flights.graph
    with flights.pilot(*HOP):
        pass
    graph.reset()
    graph.wait_said('world', 'the autopilot of the last run is still connected and its time cannot'
                    ' go back: restart it')
    assert graph.steps == 0
    assert 'poll timeout' not in flights.console()
    flights.px4.stop()
    flights.start_px4()
    graph.wait_link('LOCKED')
    with flights.pilot(*HOP):
        pass


def test_our_own_px4_is_started_again_at_a_reset(tmp_path):
    """And so is the mission; the command ends well."""
    file = tmp_path / 'summary.json'
    environment = os.environ | {'ROS_HOME': str(tmp_path)}
    # At full speed the flight may be over before the other command has begun.
    with subprocess.Popen(
            command('fly', '--autopilot', 'px4', '--px4-schedule', 'one-core',
                    '--instance', INSTANCE, '--speed-factor', '5', '--summary', file),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=environment) as process:
        said = ''
        for line in process.stdout:
            said += line
            if 'held for' in line and said.count('held for') == 1:
                assert subprocess.run(command('reset'), check=False).returncode == 0
        assert process.wait(PATIENCE_S) == 0, said
    assert said.count('armed\n') == 3      # twice, and disarmed
    summary = json.loads(file.read_text())
    assert summary['landed']
    assert len(summary['arrivals']) == 5
    folders = re.findall(r'PX4 runs in (\S+);', said)
    assert len(set(folders)) == 2
    for folder in folders:
        assert 'poll timeout' not in (pathlib.Path(folder) / 'px4.log').read_text(errors='replace')
    assert port_is_free(INSTANCE)
