# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Time is paused, stepped, resumed, reset and ended while the graph runs."""
import contextlib
import json
import os
import re
import signal
import time

import pytest
from commands import (
    command,
    family,
    here,
    port_is_free,
    running,
    wait_for_line,
    wait_gone,
    write_hop,
)
from graph_processes import COMMAND, PATIENCE_S, STEP_US, TOLD_S, KeptGraph, running_graph

pytestmark = pytest.mark.process

INSTANCE, FLY_INSTANCE = 74, 76
# How often a graph is started and stopped in a row: by default once in each way.
STARTS = int(os.environ.get('GRAPH_STARTS', '5'))
# Those of each push: by a node while time is paused. The command is that of test_own_autopilot.
PUSHED = 4,
END_S = 5.0


@pytest.fixture(scope='module')
def kept(tmp_path_factory):
    graphs = KeptGraph(tmp_path_factory, INSTANCE, {
        'manager': {'speed_factor': 1.0, 'step_timeout_s': 0.3},
        'dynamics': {'initial_charge': 0.1}})
    yield graphs
    graphs.finish()


@pytest.fixture
def world(kept):
    """Return a graph that runs, at real time."""
    world = kept.running('composed')
    assert world.set(speed_factor=1.0)[0].successful
    return world


def last_us(world):
    return world.observer.recordings.stamps(COMMAND, -1)[-1]


def stood_us(world):
    """Return the time of the last step while time is paused: it may be heard after the status."""
    world.wait_for(lambda: last_us(world) == world.steps * STEP_US, TOLD_S, 'the last step')
    return last_us(world)


def assert_refused(result, sentence):
    """See that a command said one sentence and no more."""
    assert result.returncode == 1
    assert result.stdout == ''
    assert result.stderr == f'{sentence}\n'


# Time.

def test_pause_step_and_resume_by_the_command_line(world):
    result = here('pause')
    assert (result.returncode, result.stderr) == (0, '')
    assert result.stdout.startswith('PAUSED at t = ')
    world.wait_state('PAUSED', TOLD_S)
    stands, stands_us = world.steps, stood_us(world)
    world.watch(0.5, lambda: world.steps == stands, 'time goes on')
    assert last_us(world) == stands_us

    result = here('step', 25)
    assert (result.returncode, result.stderr) == (0, '')
    world.wait_for(lambda: world.steps == stands + 25, TOLD_S, 'the 25th step')
    world.watch(0.3, lambda: world.steps == stands + 25, 'there are more than 25 steps')
    assert stood_us(world) == stands_us + 25 * STEP_US
    assert float(world.values['sim_time_s']) == pytest.approx(last_us(world) * 1e-6)

    result = here('resume')
    assert (result.returncode, result.stderr) == (0, '')
    assert result.stdout.startswith('RUNNING at t = ')
    world.wait_steps(100)


@pytest.mark.parametrize('count', [1, 2, 250])
def test_steps_are_exact(count, world):
    world.pause()
    stands_us = stood_us(world)
    world.step(count)
    world.watch(0.2, lambda: world.state == 'PAUSED', 'time goes on')
    assert stood_us(world) == stands_us + count * STEP_US


def test_a_step_of_time_that_runs_is_refused(world):
    assert_refused(world.command('step', 5), 'step: time is not paused')
    world.wait_steps(10)


def pace(world, duration_s=1.0):
    """Return simulated over wall time, or less: what is heard may be late, but never early."""
    world.pause()
    started_s, started_us = time.monotonic(), stood_us(world)
    world.go_on()
    world.watch(duration_s, lambda: True, '')
    return (last_us(world) - started_us) * 1e-6 / (time.monotonic() - started_s)


def assert_pace(world, least, most):
    """Whoever else uses the machine may hold it back for a while, and nobody makes it faster."""
    deadline_s = time.monotonic() + PATIENCE_S
    while (found := pace(world)) <= least and time.monotonic() < deadline_s:
        pass
    assert least < found < most


def test_the_speed_is_changed_while_time_runs(world):
    result = here('speed', 0.5)
    assert (result.returncode, result.stderr) == (0, '')
    assert_pace(world, 0.35, 0.6)
    assert world.set(speed_factor=2.0)[0].successful
    assert_pace(world, 1.2, 2.4)
    assert world.values['speed_factor'] == '2'


@pytest.mark.parametrize('name, value, sentence', [
    ('step_count', 0, 'manager.step_count = 0: must be at least 1'),
    ('step_timeout_s', 0.0, 'manager.step_timeout_s = 0.0: must be greater than 0 s'),
    ('on_overdue', 'shout', "manager.on_overdue = 'shout': must be one of wait, pause, fail"),
    ('speed_factor', 2000.0,
     'manager.speed_factor = 2000.0: must be at least 0 and at most 1000'),
    ('speed_factor', 0.001, 'speed_factor = 0.001: must be 0 or at least 0.01'),
    ('speed_factor', float('nan'),
     'manager.speed_factor = nan: must be at least 0 and at most 1000'),
    ('step_us', 2000, 'manager.step_us: cannot be set while the graph runs'),
])
def test_a_parameter_that_cannot_be_is_refused(name, value, sentence, world):
    result = world.set(**{name: value})[0]
    assert not result.successful
    assert result.reason == sentence
    world.wait_steps(10)


def test_the_status_is_there_for_programs(world):
    result = here('status', '--json')
    assert result.returncode == 0
    values = json.loads(result.stdout)
    assert {'state', 'run', 'steps', 'sim_time_s', 'sentence'} <= set(values)
    assert values['state'] == values['sentence'] == 'RUNNING'
    assert float(values['sim_time_s']) == pytest.approx(int(values['steps']) * STEP_US * 1e-6)


# Again from time 0.

def test_a_reset_leaves_the_autopilot_of_before(world):
    """No frame of the new run is for it. Test_sensors_in_flight compares the bits of two runs."""
    old = world.connect()
    world.wait_link('LOCKED')
    world.wait_steps(10)
    world.reset()
    world.wait_link('WAITING')
    served = old.sensors
    world.watch(1.0, lambda: old.sensors == served, 'the old autopilot is served')
    world.wait_state('WAITING', TOLD_S)
    assert world.steps == 0
    world.connect()
    world.wait_link('LOCKED')
    world.wait_steps(10)
    assert world.observer.recordings.stamps(COMMAND, -1)[0] == STEP_US


def test_a_reset_while_time_is_paused(world):
    world.pause()
    world.reset()
    world.wait_state('PAUSED')
    assert world.steps == 0
    assert float(world.values['sim_time_s']) == 0.0
    world.watch(0.3, lambda: world.steps == 0, 'time goes on')
    world.connect()
    world.step(10)
    world.go_on()
    world.wait_steps(10)


def test_a_reset_while_an_autopilot_is_waited_for(world):
    world.disconnect()
    world.wait_state('WAITING')
    run_before = world.run
    result = here('reset')
    assert (result.returncode, result.stderr) == (0, '')
    world.wait_for(lambda: world.run == run_before + 1, TOLD_S, 'the next run')
    world.wait_state('WAITING')
    assert world.steps == 0
    world.connect()
    world.wait_steps(50)
    assert world.observer.recordings.stamps(COMMAND, -1)[0] == STEP_US


def test_a_low_battery_is_a_warning(world):
    """A run begins with the charge that is told, and so does the one after it."""
    world.reset()
    world.observer.diagnostics.clear()
    world.connect()
    world.wait_for(
        lambda: re.fullmatch('the battery is low: (10|9) % are left',
                             world.observer.diagnostics.get('dynamics', '')),
        PATIENCE_S, 'a warning')


def test_fly_starts_autopilot_and_mission_again_after_a_reset(alone, tmp_path):
    """In mode composed and in a namespace."""
    file, namespace = tmp_path / 'summary.json', ('--namespace', 'uav1')
    with running(command(
            'fly', '--instance', FLY_INSTANCE, '--mission', write_hop(tmp_path, 0.4),
            '--speed-factor', 1, '--summary', file, *namespace)) as process:
        wait_for_line(process, 'armed')
        result = here('reset', *namespace)
        assert (result.returncode, result.stderr) == (0, '')
        wait_for_line(process, 'the run begins again: so does the flight')
        result = here('speed', 'max', *namespace)
        assert (result.returncode, result.stderr) == (0, '')
        wait_for_line(process, 'armed')
        wait_for_line(process, 'disarmed')
        children = family(process.pid)
        assert process.wait(PATIENCE_S) == 0
    assert wait_gone(children, 0.0) == []
    assert port_is_free(FLY_INSTANCE)
    summary = json.loads(file.read_text())
    assert summary['mode'] == 'composed' and summary['landed']
    assert summary['replies'] == summary['steps'] and summary['states']['STALLED'] == 0.0
    assert summary['sim_time_s'] == pytest.approx(summary['steps'] * STEP_US * 1e-6)


# The end.

def test_without_a_graph_there_is_one_sentence(alone):
    with contextlib.ExitStack() as stack:
        # At once, since each looks around for some seconds.
        processes = {
            words[0]: stack.enter_context(running(command(*words)))
            for words in (('status', '--json'), ('step', 3), ('sensor', 'gps', 'stop'))}
        for verb, process in processes.items():
            assert process.communicate(timeout=PATIENCE_S)[0] == (
                f'{verb}: no manager was found; does the graph run, with this ROS_DOMAIN_ID'
                ' and namespace?\n')
            assert process.returncode == 1


def stop_by_command(world):
    result = world.command('stop')
    assert (result.returncode, result.stdout, result.stderr) == (0, '', '')


def head(world):
    """Return the process that ends the others."""
    return 'world' if world.mode == 'composed' else 'manager'


ENDS = {
    'command': stop_by_command,
    'SIGTERM': lambda world: world.terminate(head(world), signal.SIGTERM),
    'SIGINT': lambda world: world.terminate(head(world), signal.SIGINT),
    'shutdown of the manager': lambda world: world.shut_down('manager'),
    'shutdown of a sensor': lambda world: world.shut_down('barometer'),
}


UNASKED = {'SIGTERM': 'a signal was received', 'SIGINT': 'a signal was received',
           'shutdown of a sensor': 'barometer was shut down'}


def end_in_order(world, way):
    """End the graph in one of the ways; all processes end by themselves, and in peace."""
    ENDS[way](world)
    codes = world.wait_ended(END_S)
    assert set(codes.values()) == {0}, f'{codes}\n{world.report()}'
    assert 'Traceback' not in world.report()
    world.wait_state('STOPPING')
    # So `fly` knows whether its flight was stopped or has failed.
    assert world.values.get('unasked', '') == UNASKED.get(way, '')


@pytest.mark.parametrize('start', [
    start if start in PUSHED else pytest.param(start, marks=pytest.mark.long)
    for start in range(STARTS)])
def test_starts_and_stops_in_a_row_leave_nothing(start, alone, tmp_path):
    """Each in another way, with time going on, paused, or waiting for an autopilot."""
    way = list(ENDS)[start % len(ENDS)]
    standing = [None, 'PAUSED', 'WAITING'][start % 3]
    with running_graph(tmp_path, 'composed', INSTANCE, {
            'manager': {'speed_factor': 2.0, 'step_timeout_s': 0.3}}) as world:
        world.wait_up()
        if standing == 'WAITING':
            world.wait_state('WAITING')
        else:
            world.connect()
            world.wait_steps(10)
        if standing == 'PAUSED':
            world.pause()
        end_in_order(world, way)


# The other ways of the manager are the same in a process with all nodes.
@pytest.mark.parametrize('way, apart', [
    ('SIGTERM', ['manager']), *(pytest.param(way, None, marks=pytest.mark.long) for way in (
        'SIGTERM', 'shutdown of a sensor'))])
def test_separate_processes_end_in_order(way, apart, alone, tmp_path):
    with running_graph(tmp_path, 'separate', INSTANCE, {
            'manager': {'speed_factor': 2.0}}, apart=apart) as world:
        world.wait_up()
        world.connect()
        world.wait_steps(10)
        end_in_order(world, way)
