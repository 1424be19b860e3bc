# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A flight controller at the end of a line flies in real time; its recording is replayed."""
import json
import sys

import line_controller
import pytest
from commands import command, running, wait_for_line

INSTANCE = 46


@pytest.fixture
def line(tmp_path):
    """Start a flight controller; return its line."""
    link = tmp_path / 'tty'
    with running([sys.executable, line_controller.__file__, str(INSTANCE), str(link)]) as process:
        wait_for_line(process, 'ready')
        yield f'serial:{link}:921600'


@pytest.mark.slow
@pytest.mark.parametrize('mode', ['composed', pytest.param('core', marks=pytest.mark.long)])
def test_it_flies(mode, line, hop, here, tmp_path):
    file, bag = tmp_path / 'summary.json', tmp_path / 'bag'
    with running(command('fly', '--autopilot', line, '--mode', mode, '--instance', INSTANCE,
                         '--mission', hop, '--record', bag, '--summary', file)) as process:
        said, _ = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert f'waiting for your autopilot on {line}' in said
    summary = json.loads(file.read_text())
    assert (summary['autopilot'], summary['landed'], summary['repeatable']) == (line, True, False)
    assert summary['max_altitude_m'] > 0.25
    assert summary['real_time_factor'] <= 1.01
    median_ms, *_ = map(float, summary['controls_interval_ms'].split())
    assert median_ms >= 1e3 * line_controller.PERIOD_S
    assert float(summary['round_trip_ms'].split()[0]) > 0.0
    replayed = here('replay', bag)
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr


@pytest.mark.parametrize('words, said', [
    (('udp:127.0.0.1:14577', '--speed-factor', 2), 'speed_factor = 2: must be 1'),
    (('serial:/dev/ttyACM0:57600',), 'must be a rate that carries 38500 bytes/s: 460800'),
    (('udp:14577',), 'must be one of embedded, px4, none, udp:HOST:PORT, serial:DEVICE:BAUD')])
def test_what_is_wrong_is_said_before_anything_is_started(words, said, here):
    result = here('fly', '--mode', 'core', '--instance', INSTANCE, '--autopilot', *words)
    assert result.returncode == 2
    assert said in result.stderr
