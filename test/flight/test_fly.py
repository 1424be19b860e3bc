# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The mission is flown in every mode, from the first command to the summary."""
import contextlib
import json
import os
import pty
import signal
import termios

import psutil
import pytest
from commands import (
    addresses,
    command,
    family,
    interrupt,
    port_is_free,
    run,
    running,
    wait_for_line,
    wait_gone,
    write_hop,
)

from px4_sim_ros.jit.code_cache import MOTION
from px4_sim_ros.link.hil.link_state import TROUBLES

pytestmark = pytest.mark.process

INSTANCE = 81
KEYS = ['mode', 'autopilot', 'seed', 'sim_time_s', 'wall_time_s', 'real_time_factor',
        'max_altitude_m', 'landed', 'position_error_at_landing_m', 'steps', 'replies', *TROUBLES,
        'time_ratio', 'states']


@pytest.mark.parametrize('mode, seed, up_m, arrivals', [
    ('core', 7, 10.0, 5),
    # A push flies in composed where the run is reset, in test_run_control.
    pytest.param('composed', 8, 0.5, 1, marks=pytest.mark.long),
    pytest.param('separate', 8, 0.5, 1, marks=pytest.mark.long)])
def test_the_mission_is_flown(mode, seed, up_m, arrivals, here, tmp_path):
    """In each mode, with the seed of the configuration and with others.

    All modes give the same bits: that which is fastest flies the whole square, the others a hop,
    in a namespace.
    """
    file = tmp_path / 'summary.json'
    words = ['--seed', seed] if seed != 1 else []
    if mode != 'core':
        words += ['--mission', write_hop(tmp_path, up_m)]
        words += ['--namespace', 'uav1']
    start = here if mode == 'core' else run
    result = start('fly', '--mode', mode, '--instance', INSTANCE, '--summary', file, *words)
    assert result.returncode == 0, result.stderr
    summary = json.loads(file.read_text())
    assert set(KEYS) <= set(summary)
    assert (summary['mode'], summary['autopilot']) == (mode, 'embedded')
    assert summary['seed'] == seed
    assert summary['landed']
    assert up_m - 0.5 < summary['max_altitude_m'] < up_m + 0.5
    assert summary['position_error_at_landing_m'] < 1.0
    assert len(summary['arrivals']) == arrivals      # none for a hold
    assert all(arrival['position_error_m'] < 1.0 for arrival in summary['arrivals'])
    assert summary['misses'] == summary['unanswered'] == 0
    assert summary['replies'] == summary['steps']
    assert summary['time_ratio'] == 1.0
    assert summary['sim_time_s'] == pytest.approx(summary['steps'] * 0.004)
    assert set(summary['states']) == {
        'WAITING', 'FREEWHEEL', 'LOCKED', 'STALLED', 'TERMINATED'}
    assert summary['states']['STALLED'] == 0.0
    assert result.stderr == ''
    assert 'disarmed' in result.stdout
    assert port_is_free(INSTANCE)
    if mode == 'separate':
        alone = here('fly', '--mode', 'core', '--instance', INSTANCE, '--expect',
                     summary['fingerprint'], *words[:-2])
        assert alone.returncode == 0, alone.stderr


# Both signals have one handler, test_signals compares them; test_ends interrupts mode core.
@pytest.mark.parametrize(('mode', 'number'), [
    ('composed', signal.SIGINT), *(
        pytest.param(mode, number, marks=pytest.mark.long) for mode, number in (
            ('core', signal.SIGINT), ('core', signal.SIGTERM), ('composed', signal.SIGTERM),
            ('separate', signal.SIGINT), ('separate', signal.SIGTERM)))])
def test_a_signal_ends_everything_within_5_s(mode, number, tmp_path):
    with running(command('fly', '--mode', mode, '--instance', INSTANCE),
                 env=os.environ | {'TMPDIR': str(tmp_path)}) as process:
        wait_for_line(process, 'armed')
        children = family(process.pid)
        assert children and list(tmp_path.iterdir())
        assert addresses([psutil.Process(process.pid), *children]) == {'127.0.0.1'}
        assert interrupt(process, number) < 5.0
        assert process.returncode == 130
        assert wait_gone(children, 0.0) == []
        assert port_is_free(INSTANCE)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize('mode, to_group', [('core', True), ('composed', False)])
def test_the_first_flight_on_a_machine_can_be_interrupted(mode, to_group, tmp_path):
    """While the equations of motion are compiled: as Ctrl-C does, or the command alone."""
    with running(command('fly', '--mode', mode, '--instance', INSTANCE),
                 env=os.environ | {'XDG_CACHE_HOME': str(tmp_path)}) as process:
        wait_for_line(process, 'compiled for this machine')
        children = family(process.pid)
        (os.killpg if to_group else os.kill)(process.pid, signal.SIGINT)
        assert process.stdout.read() == 'fly: interrupted\n'
        assert process.wait(10) == 130
        assert wait_gone(children, 1.0) == []
    # Nobody has waited for the compiler, which looks at signals once in many seconds.
    assert list(tmp_path.rglob('px4_sim_ros')) and not list(tmp_path.rglob(f'{MOTION}-*.o'))


# In `composed` it is noticed as any other process, see test_faults.
@pytest.mark.parametrize('mode', ['core', pytest.param('composed', marks=pytest.mark.long)])
def test_an_autopilot_that_dies_ends_the_flight(mode, tmp_path):
    file = tmp_path / 'summary.json'
    with running(command('fly', '--mode', mode, '--instance', INSTANCE,
                         '--summary', file)) as process:
        wait_for_line(process, 'armed')
        children = family(process.pid)
        autopilot, = (c for c in children if 'px4_sim_ros.autopilot.process' in c.cmdline())
        autopilot.kill()
        lines = wait_for_line(process, 'has ended')
        assert lines[-1].strip() == 'fly: the embedded autopilot has ended with exit code -9'
        assert process.wait(10) == 1
        assert wait_gone(children, 1.0) == []
    summary = json.loads(file.read_text())
    assert summary['failure'] == 'the embedded autopilot has ended with exit code -9'
    assert summary['steps'] > 0 and not summary['landed']


# In `composed` the same node is in one process with the others.
@pytest.mark.parametrize('mode', [
    'core', pytest.param('separate', marks=pytest.mark.long)])
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


def test_a_terminal_gets_a_bar_and_a_speed_factor_is_kept(hop, tmp_path):
    """A lower bound of wall time only: how fast it can be is for the benchmark."""
    file = tmp_path / 'summary.json'
    controller, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 80))
    try:
        with running(command('fly', '--mode', 'core', '--speed-factor', 4, '--mission', hop,
                             '--instance', INSTANCE, '--summary', file),
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
    assert json.loads(file.read_text())['real_time_factor'] <= 4.05
