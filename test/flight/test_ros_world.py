# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The processes of a graph are ended when it cannot be started, and when its end is interrupted."""
import contextlib
import os
import pathlib
import signal
import threading

import pytest

from benchmarks.worlds import GraphLog
from px4_sim_ros.flight import ros_world
from px4_sim_ros.flight.ros_world import RosWorld, WorldError
from px4_sim_ros.process.children import Child
from px4_sim_ros.ros.tools.flight_monitor import Listener
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.step.members import Member

CONFIGURATION = load_configuration(None, {})
GRAPH = CONFIGURATION.graph
ALONE = Member('', GRAPH, CONFIGURATION.world)
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

    class Forks:
        def __init__(self, environment):
            """Stand in for what starts them."""

        def start(self, name, arguments):
            started.append(Child(name, ['sleep', '100']))
            return started[-1]

        def close(self):
            """End nobody."""

    monkeypatch.setattr(ros_world, 'WorldForks', Forks)
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
    start = ros_world.WorldForks.start

    def fail_at_last(*arguments):
        if len(started) == len(GRAPH.nodes) - 2:       # pilot and bridge share a process
            raise error
        return start(*arguments)

    monkeypatch.setattr(ros_world.WorldForks, 'start', fail_at_last)
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
    """As on a busy machine; one that ends by itself is told all the same."""
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


def test_the_end_of_a_benchmark_does_not_hide_why_it_ends(monitor, monkeypatch, tmp_path):
    """How the processes have ended is asked for afterwards."""
    failed = []

    def start(name, command, **options):
        failed.append(Child(name, ['false']))
        return failed[-1]

    monkeypatch.setattr(ros_world, 'Child', start)
    world = GraphLog(CONFIGURATION, 'composed', tmp_path)
    assert all(child.wait(PATIENCE_S) for child in failed)
    world.close()
    assert monitor.is_closed
    with pytest.raises(WorldError, match='has ended with exit code 1'):
        world.check_end()
