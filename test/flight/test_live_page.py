# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The page of `top`: what is on it, that it is a report's, and how it is written."""
import base64
import signal
import time

import numpy as np
import pytest
from commands import command, flown_world, interrupt, run, running
from heard import Heard
from report_flights import Page, diagnostics, fly, rewritten

from px4_sim_ros.cli.command_line import main
from px4_sim_ros.cli.live_page import PERIOD_S, LivePage, to_html
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.recording.report.flight_report import report
from px4_sim_ros.ros.tools.control_client import ControlError
from px4_sim_ros.step import graph

INSTANCE = 89
SECONDS = 6
REFRESH = '<meta http-equiv="refresh"'


def counted(second):
    """Return what the nodes have counted after so many simulated seconds."""
    own = {'steps': 250 * second, 'lifecycle': 'active'}
    return {
        'manager': own | {
            'sim_time_s': second, 'wall_time_s': 0.25 * second, 'real_time_factor': '4.000',
            'paced_s': 0.05 * second, 'busy_s': 0.01 * second},
        'dynamics': own | {'busy_s': 0.06 * second ** 2},
        'gps': own | {'steps': 10 * second, 'busy_s': 0.02 * second},
        'hil_bridge': own | {
            'busy_s': 0.3 * second, 'waited_s': 0.2 * second, 'replies': 250 * second,
            'misses': second // 4, 'limited_controls': second, 'seconds_LOCKED': 0.25 * second}}


@pytest.fixture
def heard():
    """Return a graph that has been heard for some seconds."""
    heard = Heard(rounds=100)
    heard.collector.link_state = 'LOCKED'
    heard.manager(sim_time_s=SECONDS, real_time_factor='4.000', speed_factor='0')
    for second in range(1, SECONDS + 1):
        for name, values in counted(second).items():
            heard.node(f'/{name}', 0.25 * second, time_us=second * US_PER_S, **values)
    return heard


def numbers(array):
    return np.frombuffer(base64.b64decode(array['bdata']), f"<{array['dtype']}").tolist()


def page_of(heard, now_s=0.25 * SECONDS):
    return Page(to_html(heard.snapshot(now_s), heard.collector.counters()))


# What is on it


def test_plots_and_facts_are_those_of_the_report(heard, tmp_path):
    fly(tmp_path / 'flight', 0.1)
    bag = rewritten(tmp_path / 'flight', tmp_path / 'counted', added=[
        diagnostics(second * US_PER_S, name, values)
        for second in range(1, SECONDS + 1) for name, values in counted(second).items()])
    of_flight, live = Page(report(bag)), page_of(heard)
    figure, = live.figures
    for own, its in zip(figure['data'], of_flight.figures[-1]['data'], strict=True):
        assert own['name'] == its['name']
        # The report has the beginning of the run as well, before the page looked.
        assert numbers(own['y']) == numbers(its['y'])[-len(numbers(own['y'])):]
    names = [trace['name'] for trace in figure['data']]
    assert names == ['of the last second', 'since the start', 'all', 'without pacing', 'manager',
                     'dynamics', 'gps', 'hil_bridge', 'autopilot', 'misses', 'limited controls']
    for name in ('wall time', 'real-time factor', 'wall time of a step',
                 'wall time in the states of the link', 'misses', 'limited controls'):
        assert live.fact(name) == of_flight.fact(name)
    assert [row for row in live.rows if len(row) == 3] == [
        row for row in of_flight.rows if len(row) == 3 and row[0] in names + ['node']]


def test_a_row_for_each_node(heard):
    rows = {row[0]: row[1:] for row in page_of(heard, 1.6).rows if len(row) == 7}
    assert list(rows) == ['node', *graph.of_instances({}).nodes]
    assert rows['node'] == [
        'state', 'Hz sim', 'Hz wall', 'µs/own step', '% wall', 'waits for']
    assert rows['gps'] == ['active', '-', '-', '-', '-', '']       # too close together
    assert rows['imu'] == ['-', '-', '-', '-', '-', '']
    heard.node('/gps', 2.0, time_us=8 * US_PER_S, steps=80, busy_s=0.16, lifecycle='active')
    heard.node('/gps', 3.0, time_us=12 * US_PER_S, steps=120, busy_s=0.24, lifecycle='inactive',
               waits_for='ground_truth/odom')
    rows = {row[0]: row[1:] for row in page_of(heard, 9.0).rows if len(row) == 7}
    assert rows['gps'] == ['silent', '-', '-', '-', '-', 'ground_truth/odom']
    rows = {row[0]: row[1:] for row in page_of(heard, 3.0).rows if len(row) == 7}
    assert rows['gps'] == ['inactive', '10.0', '40.0', '2000', '8.0', 'ground_truth/odom']


def test_the_head(heard):
    text = to_html(heard.snapshot(1.6), heard.collector.counters())
    for name, value in (('simulated time', '6.000 s'), ('misses', '1'), ('link', 'LOCKED'),
                        ('real-time factor since the start', '4.00')):
        tile = text[:text.index(f'>{name}</span>')].rpartition('<b>')[2]
        assert value in tile
    assert 'class="warning"' not in text


def test_a_graph_that_was_not_heard_yet_has_a_page():
    for heard in Heard(), Heard(rounds=5):
        page = page_of(heard)
        assert (page.sections, page.figures) == (['nodes', 'lockstep'], [])
    heard.node('/imu', 1.0, time_us=4000, steps=1, busy_s=0.1)      # but no manager
    assert page_of(heard).figures == []


def test_texts_of_the_graph_mean_nothing_but_themselves(heard):
    evil = '</script><img src="http://example.org/x.png">'
    heard.manager(evil, state=evil)
    heard.collector.link_state = evil
    heard.node('/imu', 1.0, time_us=4000, steps=1, lifecycle=evil, waits_for=evil)
    page = page_of(heard, 1.1)
    assert all(reference.startswith('#') for reference in page.references)
    assert 'img' not in page.tags


# How it is written


def test_plotly_lies_beside_it_until_the_end(heard, tmp_path):
    snapshot, counters = heard.snapshot(1.6), heard.collector.counters()
    live = LivePage(tmp_path / 'live.html')
    assert live.is_due(100.0)
    live.write(snapshot, counters, 100.0)
    assert not live.is_due(100.0 + 0.9 * PERIOD_S)
    assert live.is_due(100.0 + PERIOD_S)
    assert {path.name for path in tmp_path.iterdir()} == {'live.html', 'live_plotly.js'}
    text = live.path.read_text()
    assert len(text) < 100_000 and REFRESH in text
    assert 'live_plotly.js' in Page(text).references
    live.finish(snapshot, counters)
    assert [path.name for path in tmp_path.iterdir()] == ['live.html']
    text = live.path.read_text()
    assert REFRESH not in text
    assert all(reference.startswith('#') for reference in Page(text).references)


def test_a_page_that_cannot_be_written_is_one_sentence_and_leaves_nothing(heard, tmp_path, capsys):
    (tmp_path / 'page.html').mkdir()
    live = LivePage(tmp_path / 'page.html')
    with pytest.raises(ControlError, match=r'page\.html: Is a directory$'):
        live.finish(heard.snapshot(1.6), heard.collector.counters())
    assert [path.name for path in tmp_path.iterdir()] == ['page.html']
    assert main(['top', '--page', str(tmp_path / 'none' / 'x.html')]) == 2
    error = capsys.readouterr().err
    assert error.startswith('top: page ') and error.count('\n') == 1


# Beside a graph


@pytest.fixture(scope='module')
def world():
    """Run a graph with an autopilot at its side."""
    with flown_world(INSTANCE):
        yield


@pytest.mark.slow
def test_once(world, tmp_path):
    result = run('top', '--once', '--page', tmp_path / 'page.html', timeout_s=30)
    assert (result.returncode, result.stderr) == (0, '')
    assert result.stdout.startswith('world')
    assert [path.name for path in tmp_path.iterdir()] == ['page.html']
    text = (tmp_path / 'page.html').read_text()
    assert REFRESH not in text
    rows = {row[0]: row[1:] for row in Page(text).rows if len(row) == 7}
    assert rows['hil_bridge'][:2] == ['active', '250.0']


@pytest.mark.slow
def test_without_a_terminal_it_is_written_until_ctrl_c(world, tmp_path):
    path = tmp_path / 'live.html'
    with running(command('top', '--page', path)) as process:
        texts = set()
        deadline_s = time.monotonic() + 30.0
        while len(texts) < 3 and time.monotonic() < deadline_s:
            if path.exists():
                texts.add(path.read_text())
            time.sleep(0.01)
        assert len(texts) == 3
        assert all(text.endswith('</html>\n') and REFRESH in text for text in texts)
        assert interrupt(process, signal.SIGINT) < 5.0
        assert process.returncode == 0
        first, last = process.stdout.read().splitlines()
        assert first == f'writes {path} every 2 s; Ctrl-C ends it'
        assert last.startswith(f'{path}: ')
    assert [path.name for path in tmp_path.iterdir()] == ['live.html']
    assert REFRESH not in path.read_text()
