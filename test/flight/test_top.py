# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`top`: what follows from the reports of nodes, and beside a graph that runs."""
import json
import re

import pytest
from commands import flown_world, here
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from px4_sim_ros.cli.top import Reports
from px4_sim_ros.messages.run_status import RunStatus
from px4_sim_ros.messages.stamps import set_stamp
from px4_sim_ros.spec.resources import PACKAGE
from px4_sim_ros.step import graph

INSTANCE = 85
WORDS = {'text': [], 'json': ['--json'], 'absent': ['--namespace', 'absent']}
# Senders' clock against ours: only differences of it may count.
AHEAD_S = 1e9
STEADY = {'lifecycle': 'active', 'waits_for': 'ground_truth/odom'}


@pytest.fixture
def reports():
    return Reports('/')


def report(reports, name, now_s, *, time_us=0, owner=PACKAGE, **values):
    message = DiagnosticArray(status=[DiagnosticStatus(
        name=name, hardware_id=owner,
        values=[KeyValue(key=key, value=str(value)) for key, value in values.items()])])
    set_stamp(message.header.stamp, time_us)
    reports.on_diagnostics(message, now_s + AHEAD_S, now_s)


def row(reports, name, now_s):
    return reports.rows([name], now_s)[name]


def test_rates_are_differences_of_the_last_two_reports(reports):
    report(reports, '/imu', 9.0, time_us=3_000_000, steps=750, busy_s=5.0)
    report(reports, '/imu', 10.0, time_us=4_000_000, steps=1000, busy_s=6.0, **STEADY)
    assert reports.has_two_rounds(['imu']) and not reports.has_two_rounds(['imu', 'gps'])
    report(reports, '/imu', 11.0, time_us=6_000_000, steps=1500, busy_s=6.05, **STEADY)
    assert row(reports, 'imu', 11.5) == {
        'state': 'active', 'waits_for': 'ground_truth/odom', 'sim_rate_hz': pytest.approx(250.0),
        'wall_rate_hz': pytest.approx(500.0), 'busy_us_per_step': pytest.approx(100.0),
        'busy_percent': pytest.approx(5.0)}


def test_the_wait_for_the_autopilot_is_not_work_of_the_bridge(reports):
    report(reports, '/uav1/hil_bridge', 1.0, time_us=4000, steps=1, busy_s=0.0, waited_s=0.0)
    report(reports, '/uav1/hil_bridge', 2.0, time_us=1_004_000, steps=251, replies=250,
           state='LOCKED', misses=2, busy_s='0.100000', waited_s='0.075000')
    found = row(reports, 'uav1/hil_bridge', 2.0)
    assert found['busy_us_per_step'] == pytest.approx(100.0)
    assert found['wait_us_per_step'] == pytest.approx(300.0)
    assert found['link'].items() >= {'state': 'LOCKED', 'replies': 250, 'misses': 2}.items()


def test_a_paused_world_has_rates_of_0(reports):
    for now_s in 1.0, 2.0:
        report(reports, '/imu', now_s, time_us=4_000_000, steps=1000, busy_s=1.0)
    assert row(reports, 'imu', 2.0)['sim_rate_hz'] == 0.0
    assert 'busy_us_per_step' not in row(reports, 'imu', 2.0)


@pytest.mark.parametrize('later', [
    {'time_us': 3_000_000, 'steps': 1100}, {'time_us': 5_000_000, 'steps': 900},
    {'time_us': 5_000_000, 'steps': 1100, 'busy_s': 0.5}])
def test_counters_that_go_back_tell_no_rate(later, reports):
    report(reports, '/imu', 1.0, time_us=4_000_000, steps=1000, busy_s=1.0)
    report(reports, '/imu', 2.0, **{'busy_s': 1.1} | later)
    assert 'sim_rate_hz' not in row(reports, 'imu', 2.0)


def test_another_run_tells_no_rate_even_when_counters_are_past_the_old_ones(reports):
    reports.on_status(RunStatus('RUNNING', run=1))
    report(reports, '/imu', 1.0, time_us=4_000, steps=1, busy_s=0.0)
    reports.on_status(RunStatus('RUNNING', run=2))
    report(reports, '/imu', 2.0, time_us=1_000_000, steps=250, busy_s=0.1)
    assert 'sim_rate_hz' not in row(reports, 'imu', 2.0)


def test_a_last_word_counts_with_the_report_before_it(reports):
    for now_s, steps in (1.0, 250), (2.0, 500), (2.1, 525):
        report(reports, '/imu', now_s, time_us=steps * 4000, steps=steps, busy_s=0.0)
    assert row(reports, 'imu', 2.1)['wall_rate_hz'] == pytest.approx(250.0)


def test_who_is_not_heard_is_silent_and_others_are_left_out(reports):
    report(reports, '/imu', 1.0, steps=1, time_us=4000)
    report(reports, '/camera', 1.0, steps=1, owner='another package')
    assert set(reports.nodes) == {'imu'}
    assert row(reports, 'imu', 3.4)['state'] != 'silent'
    assert row(reports, 'imu', 3.6) == row(reports, 'gps', 3.6) == {'state': 'silent'}


# Beside a graph.

@pytest.fixture(scope='module')
def results():
    """Run all beside a graph that is flown so slowly that its speed is kept under load."""
    with flown_world(INSTANCE, 0.5):
        return {name: here('top', *words) for name, words in WORDS.items()}


@pytest.mark.process
def test_json_tells_every_rate(results):
    result = results['json']
    assert result.returncode == 0, result.stderr
    shown = json.loads(result.stdout)
    assert (shown['state'], shown['run'], shown['speed_factor']) == ('RUNNING', '1', '0.5')
    nodes = shown['nodes']
    assert nodes['hil_bridge']['link']['state'] == 'LOCKED'
    assert nodes['hil_bridge']['link']['replies'] > 0
    assert list(nodes) == list(graph.of_instances({}).nodes)
    rates_hz = {name: 250.0 for name in nodes} | {
        'magnetometer': 50.0, 'barometer': 50.0, 'gps': 10.0}
    assert {name: node['sim_rate_hz'] for name, node in nodes.items()} == pytest.approx(rates_hz)
    assert all(0.0 < nodes[name]['busy_percent'] < 100.0 for name in ('manager', 'imu'))
    assert {node['state'] for node in nodes.values()} == {'active'}


@pytest.mark.process
def test_a_row_for_each_node_is_printed(results):
    result = results['text']
    assert (result.returncode, result.stderr) == (0, '')
    assert '\x1b' not in result.stdout
    lines = result.stdout.splitlines()
    assert lines[0].startswith('RUNNING at t = ') and lines[1].startswith('link  LOCKED  ')
    names = list(graph.of_instances({}).nodes)
    assert [line.split()[0] for line in lines[-len(names):]] == names
    assert lines[-1].split()[1:3] == ['active', '250.0']


@pytest.mark.process
def test_no_graph_is_one_sentence(results):
    result = results['absent']
    assert (result.returncode, result.stdout) == (1, '')
    assert re.fullmatch(
        r'top: a graph runs in this ROS domain \(process \d+\), and its manager does not answer: it'
        r' hangs, is just starting or ending, or has another namespace\n', result.stderr)
