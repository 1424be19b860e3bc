# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`top` beside a graph that runs, on a terminal and without one."""
import concurrent.futures
import fcntl
import json
import os
import pty
import re
import termios

import pytest
from commands import command, flown_world, run, running

from px4_sim_ros.cli.snapshot_collector import SnapshotCollector
from px4_sim_ros.cli.top import to_text
from px4_sim_ros.step import graph

pytestmark = pytest.mark.process

INSTANCE = 85
WORDS = {'text': ['--once'], 'plain': [], 'json': ['--json'], 'nobody': ['--namespace', 'nobody']}


@pytest.fixture(scope='module')
def world():
    """Run a graph with an autopilot at its side, so slowly that the speed is kept under load."""
    with flown_world(INSTANCE, 0.5):
        yield


@pytest.fixture(scope='module')
def results(world):
    """Run all that print and end, side by side: most of their time they listen."""
    with concurrent.futures.ThreadPoolExecutor(len(WORDS)) as pool:
        results = pool.map(lambda words: run('top', *words, timeout_s=30), WORDS.values())
        return dict(zip(WORDS, results))


def test_json_tells_every_rate(results):
    result = results['json']
    assert result.returncode == 0, result.stderr
    snapshot = json.loads(result.stdout)
    assert (snapshot['state'], snapshot['run'], snapshot['speed_factor']) == ('RUNNING', 1, 0.5)
    assert snapshot['real_time_factor'] > 0.0
    assert snapshot['link']['state'] == 'LOCKED'
    assert snapshot['link']['replies'] > 0
    nodes = snapshot['nodes']
    assert list(nodes) == list(graph.of_instances({}).nodes)
    rates_hz = {name: 250.0 for name in nodes} | {
        'magnetometer': 50.0, 'barometer': 50.0, 'gps': 10.0}
    assert {name: node['sim_rate_hz'] for name, node in nodes.items()} == pytest.approx(rates_hz)
    for name in 'manager', 'imu', 'hil_bridge':
        # Each has a second of its own: how they belong together, test_snapshot says.
        assert nodes[name]['wall_rate_hz'] > 0.0
        assert 0.0 < nodes[name]['busy_percent'] < 100.0
    assert not any(node['silent'] for node in nodes.values())


@pytest.mark.parametrize('kind', ['text', 'plain'])
def test_without_a_terminal_a_row_for_each_node_is_printed(results, kind):
    result = results[kind]
    assert (result.returncode, result.stderr) == (0, '')
    assert '\x1b' not in result.stdout
    lines = result.stdout.splitlines()
    assert lines[0].split()[:2] == ['world', 'RUNNING']
    names = list(graph.of_instances({}).nodes)
    assert [line.split()[0] for line in lines[-len(names):]] == names
    assert lines[-1].split()[1:3] == ['active', '250.0']


def test_no_graph_is_one_sentence(results):
    result = results['nobody']
    assert (result.returncode, result.stdout) == (1, '')
    assert re.fullmatch(
        r'top: a graph runs in this ROS domain \(process \d+\), and its manager does not answer: it'
        r' hangs, is just starting or ending, or has another namespace\n', result.stderr)


def test_a_terminal_is_redrawn_until_ctrl_c(world):
    controller, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 80))
    before = termios.tcgetattr(terminal)
    try:
        with running(
                command('top'), output=terminal, stdin=terminal,
                # So that Ctrl-C reaches it as from a keyboard.
                preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) as process:
            os.close(terminal)                      # reading fails when top has left it
            seen = b''
            while seen.count(b'hil_bridge') < 3:
                seen += os.read(controller, 4096)
            os.write(controller, b'\x03')
            while b'\x1b[?1049l' not in seen:       # back from the screen of its own
                seen += os.read(controller, 4096)
            assert process.wait(10) == 0
        assert termios.tcgetattr(controller) == before
    finally:
        os.close(controller)
    assert b'\x1b[?25h' in seen                     # the cursor is back
    assert b'Traceback' not in seen


@pytest.mark.parametrize('columns', [0, 1, 20, 79, 200])
def test_a_narrow_terminal_is_no_failure(columns):
    lines = to_text(SnapshotCollector('/', 0.0).snapshot(10.0), columns).splitlines()
    assert all(len(line) <= max(columns, 1) for line in lines)
