# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The world of mode `core` gives back what it has taken, whatever happens."""
import contextlib
import gc
import os
import pathlib
import signal
import subprocess
import sys
import threading

import pytest
from commands import port_is_free
from mcap.writer import MCAP0_MAGIC
from stand_in_autopilot import connect

from px4_sim_ros.flight import ros_world
from px4_sim_ros.flight.core_recorder import CoreRecorder
from px4_sim_ros.flight.core_vehicle import VehicleSetup
from px4_sim_ros.flight.core_world import CoreWorld
from px4_sim_ros.flight.record import FlightResult, GraphReports, WorldStatus
from px4_sim_ros.flight.ros_world import RosWorld, WorldError
from px4_sim_ros.link.hil.block import HilBlock
from px4_sim_ros.link.pilot.events import Event
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.process import gc_control
from px4_sim_ros.process.children import Child
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.bag.run_description import RunDescription
from px4_sim_ros.ros.tools.flight_monitor import Listener
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.spec.flight_spec import Options, flight_of
from px4_sim_ros.step.graph_vehicles import GraphVehicle


class Unwilling(HilBlock):
    """A block that cannot be made."""

    def __init__(self, configuration):
        raise ParameterError('it will not')


class UnwillingToBegin(HilBlock):
    """A block that has taken the port when it fails."""

    def reset(self):
        super().reset()
        raise ParameterError('it will not')


@pytest.fixture
def configuration(instance, tmp_path):
    return load_configuration(None, {
        '': {'recorder': True}, 'manager': {'speed_factor': 0.0},
        'hil_bridge': {'instance': instance},
        'recorder': {'folder': str(tmp_path / 'bag'), 'on_failure': 'fail'}})


@pytest.fixture
def recorder(configuration):
    return CoreRecorder(
        configuration, RunDescription.of(configuration, mode='core', autopilot='scripted'))


@pytest.mark.parametrize('block', [Unwilling, UnwillingToBegin])
def test_a_world_that_cannot_be_made_leaves_a_whole_recording(
        block, configuration, recorder, instance, tmp_path):
    with pytest.raises(ParameterError, match='it will not'):
        CoreWorld([VehicleSetup(configuration, own_classes={
            'hil_bridge': f'{__name__}:{block.__name__}'})], recorder=recorder)
    assert port_is_free(instance)
    file, = (tmp_path / 'bag').glob('*.mcap')
    assert file.read_bytes().endswith(MCAP0_MAGIC)
    bag = BagReader(tmp_path / 'bag')
    assert bag.damage == ''
    assert all(message.time_us == 0 for message in bag.messages())


def test_a_recording_that_cannot_be_finished_does_not_keep_the_port(
        configuration, recorder, instance, monkeypatch):
    stop = threading.Event()
    world = CoreWorld([VehicleSetup(configuration)], lambda time_us, values: stop.set(), recorder)
    with contextlib.closing(connect(instance)):
        world.run(stop)

        def disk_is_full(outputs):
            raise OSError('the disk is full')

        monkeypatch.setattr(recorder, 'send', disk_is_full)
        with pytest.raises(OSError, match='the disk is full'):
            world.close()
    assert port_is_free(instance)
    world.close()


# The counters of a graph: those of one summary are of one moment.

BRIDGE = {'steps': '14832', 'replies': '14832', 'misses': '0', 'waited_s': '3.0', 'busy_s': '4.0',
          'seconds_LOCKED': '20.0'}
STEP_US = 4000


def manager(steps):
    """Return what the manager reports at a wall time of a millisecond a step."""
    return {'steps': str(steps), 'wall_time_s': f'{steps * 1e-3}', 'paced_s': '0.0',
            'busy_s': f'{steps * 1e-4}'}


@pytest.mark.parametrize('manager_steps', [14832, 14565])
def test_a_last_report_that_is_lost_changes_no_figure(manager_steps):
    reports = GraphReports()
    reports.add('hil_bridge', 14832 * STEP_US, BRIDGE)
    reports.add('manager', manager_steps * STEP_US, manager(manager_steps))
    result = FlightResult(flight_of(Options()))
    result.first.status = reports.status()
    summary = result.summary({})
    assert summary['steps'] == summary['replies'] == 14832
    assert summary['sim_time_s'] == pytest.approx(14832 * STEP_US * 1e-6)
    assert summary['wall_time_s'] == pytest.approx(14.832)
    assert summary['real_time_factor'] == pytest.approx(4.0, abs=0.01)
    assert summary['step_cost_us']['manager'] == pytest.approx(100.0)
    assert summary['step_cost_us']['total'] == pytest.approx(1000.0)


def test_what_the_manager_has_noticed_is_told():
    reports = GraphReports()
    reports.add('hil_bridge', 250 * STEP_US, BRIDGE)
    reports.add('manager', 250 * STEP_US, manager(250) | {
        'gap': 'gps was stopped by hand', 'gap_us': '4000'})
    assert reports.status().gap == 't = 0.004000 s: gps was stopped by hand'


def test_a_bridge_without_a_link_counts_nothing():
    reports = GraphReports()
    reports.add('manager', 0, manager(0))
    reports.add('hil_bridge', 0, {'busy_s': '0.0', 'steps': '0'})
    assert reports.status() == WorldStatus()


@pytest.mark.parametrize('steps', [0, 1])
def test_up_to_the_first_step_nothing_has_a_cost(steps):
    """One that is held for an autopilot is the first, and takes as long as that."""
    assert WorldStatus(steps=steps, busy_s={'hil_bridge': 2.0}).step_cost_us() == {}


def test_only_a_flight_that_has_landed_has_an_error_at_landing():
    result = FlightResult(flight_of(Options()))
    result.first.status = WorldStatus(link={
        'max_height_m': '7.5', 'east_m': '3.0', 'north_m': '4.0', 'up_m': '0.01'})
    assert result.summary({})['position_error_at_landing_m'] is None
    result.first.mission_flown = True
    assert result.summary({})['position_error_at_landing_m'] == 5.0
    assert result.summary({})['max_altitude_m'] == 7.5


def test_an_arrival_has_its_time_and_how_far_off_the_vehicle_was():
    result = FlightResult(flight_of(Options()))
    result.first.add_event(Event('arrived', 0.14, (0.0, 3.0, 9.0), place_enu=(4.0, 0.0, 9.5)))
    assert result.summary({})['arrivals'] == [{
        'time_s': 0.14, 'target_enu_m': [0.0, 3.0, 9.0],
        'position_error_m': round((16.0 + 9.0 + 0.25) ** 0.5, 3), 'altitude_error_m': 0.5}]


# The collector of cycles begins when a program has been loaded, and nothing else notices.

LIST = '''
import atexit, gc, runpy, sys
sys.argv = ['px4_sim_ros', 'list']
atexit.register(lambda: print(gc.isenabled(), gc.get_freeze_count() > 1000))
runpy.run_module('px4_sim_ros', run_name='__main__')
'''


@pytest.fixture
def as_before():
    """Let the collector of this process be as it was."""
    yield
    gc.unfreeze()
    gc.enable()


def test_it_is_held_and_released(as_before):
    gc_control.hold()
    assert not gc.isenabled()
    gc_control.release()
    assert gc.isenabled() and gc.get_freeze_count() > 1000


def test_one_that_was_not_held_stays_as_it_is():
    frozen = gc.get_freeze_count()
    gc_control.release()
    assert gc.isenabled() and gc.get_freeze_count() == frozen


@pytest.mark.process
def test_a_command_runs_with_it():
    said = subprocess.run([sys.executable, '-c', LIST], capture_output=True, text=True, check=True)
    assert said.stdout.splitlines()[-1] == 'True True'


# The processes of a graph are ended when it cannot be started, and when its end is interrupted.

CONFIGURATION = load_configuration(None, {})
GRAPH = CONFIGURATION.graph
ALONE = GraphVehicle('', GRAPH, CONFIGURATION.world)
LISTENERS = {'': Listener(lambda time_us, position: None)}
PARAMS_FILE = pathlib.Path('parameters.yaml')
PATIENCE_S = 10.0


class Monitor:
    """Stands in for what listens to the graph."""

    run = 1
    is_closed = is_stopping = False
    unasked_end = recording_problem = ''

    def request_stop(self, timeout_s):
        """Find no manager."""
        return False

    def take_rest(self, timeout_s=0.0):
        """Find nothing."""

    def close(self):
        self.is_closed = True


@pytest.fixture
def monitor(monkeypatch):
    monitor = Monitor()

    def make(listeners, on_report, namespace, on_encounter):
        monitor.report = on_report
        return monitor

    monkeypatch.setattr(ros_world, 'FlightMonitor', make)
    return monitor


@pytest.fixture
def started(monkeypatch):
    """Return the processes that were started in place of those of a graph."""
    started = []

    def start(name, command, environment):
        started.append(Child(name, ['sleep', '100']))
        return started[-1]

    monkeypatch.setattr(ros_world, 'Child', start)
    yield started
    for child in started:
        child.stop()


def make():
    return RosWorld('separate', [ALONE], PARAMS_FILE, LISTENERS)


def assert_ended(children):
    assert children
    assert all(child.exit_code is not None for child in children)


@pytest.mark.parametrize('error', [OSError, KeyboardInterrupt])
def test_none_is_left_when_one_cannot_be_started(error, monitor, started, monkeypatch):
    start = ros_world.Child

    def fail_at_last(*arguments, **options):
        if len(started) == len(GRAPH.nodes) - 2:       # pilot and bridge share a process
            raise error
        return start(*arguments, **options)

    monkeypatch.setattr(ros_world, 'Child', fail_at_last)
    with pytest.raises(error):
        make()
    assert_ended(started)


def test_none_is_left_when_the_end_is_interrupted(monitor, started, monkeypatch):
    def interrupt(timeout_s):
        raise KeyboardInterrupt

    monkeypatch.setattr(monitor, 'request_stop', interrupt)
    world = make()
    with pytest.raises(KeyboardInterrupt):
        world.close()
    assert_ended(started)
    assert monitor.is_closed
    world.close()


@pytest.mark.parametrize('reason', ['', 'imu was shut down'])
def test_an_end_that_nobody_has_asked_for_is_a_failure(reason, monitor, started):
    world = make()
    assert not world.was_stopped
    monitor.is_stopping, monitor.unasked_end = True, reason
    stop = threading.Event()
    assert not world.run(stop)
    assert world.was_stopped == (not reason)
    for child in started:
        child.stop()
    world.close()
    with (pytest.raises(WorldError, match='the graph was taken down: imu was shut down')
          if reason else contextlib.nullcontext()):
        world.check_end()


def test_a_process_may_have_ended_before_it_is_heard_that_the_graph_is_taken_down(
        monitor, started, monkeypatch):
    """As on a busy machine; one that ends by itself is reported all the same."""
    monkeypatch.setattr(ros_world, '_LAST_WORDS_S', 0.0)
    monkeypatch.setattr(ros_world, '_STOP_TIMEOUT_S', 0.0)
    heard = []

    def hear(timeout_s):
        heard.append(timeout_s)
        monitor.is_stopping = len(heard) == 3

    monkeypatch.setattr(monitor, 'spin', hear, raising=False)
    with contextlib.closing(make()) as world, monkeypatch.context() as ended:
        ended.setattr(Child, 'exit_code', 0)
        with pytest.raises(WorldError, match='has ended with exit code 0'):
            world.run(threading.Event())
        heard.clear()
        ended.setattr(ros_world, '_LAST_WORDS_S', PATIENCE_S)
        assert not world.run(threading.Event())
        assert world.was_stopped


def test_the_manager_is_waited_for_also_if_its_answer_is_lost(monitor, started, monkeypatch):
    def act(timeout_s):
        monitor.is_stopping = True
        return False

    def end(timeout_s=0.0):
        for child in started if timeout_s else ():
            os.kill(child.pid, signal.SIGKILL)       # by itself
            child.wait(PATIENCE_S)

    monkeypatch.setattr(monitor, 'request_stop', act)
    monkeypatch.setattr(monitor, 'take_rest', end)
    monkeypatch.setattr(monitor, 'spin', lambda timeout_s: None, raising=False)
    world = make()
    world.close()
    assert {child.exit_code for child in started} == {-signal.SIGKILL}


def test_an_observer_gets_what_the_nodes_of_the_graph_report(monitor, started):
    reports = []
    world = RosWorld('separate', [ALONE], PARAMS_FILE, LISTENERS,
                     on_report=lambda *report: reports.append(report))
    monitor.report('imu', 4000, {'busy_s': '0.1'})
    monitor.report('imu', 4000, {})
    monitor.report('px4', 4000, {'busy_s': '0.1'})
    assert reports == [('imu', 4000, {'busy_s': '0.1'})]
    world.close()


def test_the_last_words_of_the_nodes_are_heard_after_the_end_of_their_processes(
        monitor, started, monkeypatch):
    """As on a busy machine: the manager has ended before the monitor has its turn again."""
    said = {'dynamics': {'fingerprint': 'f'}, 'hil_bridge': {'steps': '2', 'replies': '2'},
            'manager': {'wall_time_s': '1', 'paced_s': '0', 'lifecycle': 'finalized'}}

    def end_all(timeout_s):
        for child in started:
            child.stop()
        monkeypatch.setattr(Child, 'exit_code', 0)
        return True

    def say(name):
        monitor.report(name, 8000, {'busy_s': '0.1', **said[name]})

    monkeypatch.setattr(monitor, 'request_stop', end_all)
    # The word of the manager is waited for; what has come before it may have to be asked for.
    monkeypatch.setattr(monitor, 'spin', lambda timeout_s: say('manager'), raising=False)
    monkeypatch.setattr(monitor, 'take_rest', lambda: [say('dynamics'), say('hil_bridge')])
    world = make()
    world.close()
    assert monitor.is_closed
    assert (world.status().steps, world.status().fingerprint) == (2, 'f')
