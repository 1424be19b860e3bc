"""The mission is flown in every mode, from the first command to the summary."""
import contextlib
import json
import os
import pty
import signal
import termios

import pytest
from commands import (
    command,
    family,
    interrupt,
    port_is_free,
    run,
    running,
    wait_for_line,
    wait_gone,
)

pytestmark = pytest.mark.slow       # starts processes and waits

INSTANCE = 81
KEYS = ['mode', 'autopilot', 'seed', 'sim_time_s', 'wall_time_s', 'real_time_factor',
        'max_altitude_m', 'landed', 'position_error_at_landing_m', 'steps', 'replies', 'misses',
        'states']


@pytest.mark.parametrize('mode', ['core', 'composed', 'separate'])
def test_the_square_is_flown(mode, tmp_path):
    file = tmp_path / 'summary.json'
    result = run('fly', '--mode', mode, '--instance', INSTANCE, '--summary', file)
    assert result.returncode == 0, result.stderr
    summary = json.loads(file.read_text())
    assert set(KEYS) <= set(summary)
    assert (summary['mode'], summary['autopilot']) == (mode, 'embedded')
    assert summary['landed']
    assert 9.5 < summary['max_altitude_m'] < 10.5
    assert summary['position_error_at_landing_m'] < 1.0
    assert len(summary['arrivals']) == 6      # the hold as well
    assert all(arrival['position_error_m'] < 1.0 for arrival in summary['arrivals'])
    assert summary['misses'] == 0
    assert summary['replies'] == summary['steps']
    assert summary['sim_time_s'] == pytest.approx(summary['steps'] * 0.004)
    assert set(summary['states']) == {'WAITING', 'FREEWHEEL', 'LOCKED', 'STALLED'}
    assert summary['states']['STALLED'] == 0.0
    assert result.stderr == ''
    assert 'disarmed' in result.stdout
    assert port_is_free(INSTANCE)


@pytest.mark.parametrize('seed', [7, 8])
def test_other_seeds_are_flown_as_well(seed, tmp_path):
    file = tmp_path / 'summary.json'
    result = run('fly', '--mode', 'core', '--seed', seed, '--instance', INSTANCE,
                 '--summary', file)
    assert result.returncode == 0, result.stderr
    summary = json.loads(file.read_text())
    assert summary['seed'] == seed
    assert all(arrival['position_error_m'] < 1.0 for arrival in summary['arrivals'])


@pytest.mark.parametrize('mode', ['core', 'composed', 'separate'])
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_everything_within_5_s(mode, number):
    with running(command('fly', '--mode', mode, '--instance', INSTANCE)) as process:
        wait_for_line(process, 'armed')
        children = family(process.pid)
        assert children
        assert interrupt(process, number) < 5.0
        assert process.returncode == 130
        assert wait_gone(children, 0.0) == []
        assert port_is_free(INSTANCE)


def test_a_speed_factor_is_kept(tmp_path):
    """A lower bound of wall time only: how fast it can be is for the benchmark."""
    mission = tmp_path / 'hop.yaml'
    mission.write_text('name: hop\nitems:\n  - take_off: {up_m: 1.0}\n  - land: {}\n')
    file = tmp_path / 'summary.json'
    result = run('fly', '--mode', 'core', '--speed-factor', 4, '--mission', mission,
                 '--instance', INSTANCE, '--summary', file)
    assert result.returncode == 0, result.stderr
    assert json.loads(file.read_text())['real_time_factor'] <= 4.05


@pytest.mark.parametrize('mode', ['core', 'composed'])
def test_an_autopilot_that_dies_ends_the_flight(mode):
    with running(command('fly', '--mode', mode, '--instance', INSTANCE)) as process:
        wait_for_line(process, 'armed')
        children = family(process.pid)
        autopilot, = (c for c in children if 'px4_sim_ros.autopilot.process' in c.cmdline())
        autopilot.kill()
        lines = wait_for_line(process, 'has ended')
        assert lines[-1].strip() == 'fly: the embedded autopilot has ended with exit code -9'
        assert process.wait(10) == 1
        assert wait_gone(children, 1.0) == []


def test_a_world_that_dies_ends_the_flight():
    with running(command('fly', '--mode', 'separate', '--instance', INSTANCE)) as process:
        wait_for_line(process, 'armed')
        children = family(process.pid)
        imu, = (c for c in children if 'imu' in c.cmdline())
        imu.kill()
        lines = wait_for_line(process, 'has ended')
        assert lines[-1].strip() == 'fly: world (imu) has ended with exit code -9'
        assert process.wait(20) == 1
        assert wait_gone(children, 1.0) == []


@pytest.mark.parametrize('mode', ['core', 'composed', 'separate'])
def test_a_frozen_autopilot_is_named_when_that_is_a_failure(mode, tmp_path):
    file = tmp_path / 'strict.yaml'
    file.write_text('/**/hil_bridge:\n  ros__parameters:\n    on_stall: fail\n')
    with running(command('fly', '--mode', mode, '--instance', INSTANCE,
                         '--params-file', file)) as process:
        wait_for_line(process, 'armed')
        children = family(process.pid)
        autopilot, = (c for c in children if 'px4_sim_ros.autopilot.process' in c.cmdline())
        autopilot.suspend()
        lines = wait_for_line(process, 'the autopilot has not replied to t = ')
        assert lines[-1].strip().endswith('within 1 s')
        assert process.wait(20) == 1
        assert wait_gone(children, 1.0) == []
        assert port_is_free(INSTANCE)


def test_a_terminal_gets_a_bar():
    controller, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 80))
    try:
        with running(command('fly', '--mode', 'core', '--instance', INSTANCE),
                     output=terminal) as process:
            os.close(terminal)
            said = b''
            with contextlib.suppress(OSError):      # how a terminal says that all have left
                while data := os.read(controller, 4096):
                    said += data
            assert process.wait(10) == 0
    finally:
        os.close(controller)
    assert b'100%|' in said
    assert b'disarmed' in said
