# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""One flight has one truth: in each mode, in all that is written about it."""
import csv
import json
import math
import shutil

import numpy as np
import pytest
from commands import here, run, write_hop
from headless_rerun import Read
from instances import free
from report_flights import Page

from px4_sim_ros.flight.record import FlightResult
from px4_sim_ros.px4.log import LogLoss
from px4_sim_ros.recording.analysis.flight_events import marks, read_contents
from px4_sim_ros.recording.bag.reader import vehicles_of
from px4_sim_ros.recording.report.fleet_report import write_any_report
from px4_sim_ros.spec.flight_spec import Options, flight_of

pytestmark = pytest.mark.process
MODES = 'core', 'composed', pytest.param('separate', marks=pytest.mark.long)
# What is of the simulation, so that it is equal to the bit in all modes.
SAME = ('sim_time_s', 'steps', 'fingerprint', 'max_altitude_m', 'landed',
        'position_error_at_landing_m', 'arrivals')


@pytest.fixture(scope='module')
def flown(tmp_path_factory):
    """Return a function that flies in a mode once; returns summary, page and bag."""
    folder, found = tmp_path_factory.mktemp('truth'), {}

    def fly(mode, *words):
        key = '_'.join([mode, *words])
        if key not in found:
            bag, page, summary = (folder / f'{key}{end}' for end in ('', '.html', '.json'))
            with free() as instances:
                result = (here if mode == 'core' else run)(
                    'fly', '--mode', mode, '--mission', write_hop(folder, 0.5), '--wind', 'dryden',
                    '--instance', next(instances), '--record', bag, '--report', page,
                    '--summary', summary, *words)
            assert result.returncode == 0, result.stdout + result.stderr
            found[key] = json.loads(summary.read_text(encoding='utf-8')), page, bag
        return found[key]
    return fly


def events_of(bag):
    """Return the events of each vehicle, as the page has them.

    At which of the first steps the link locks depends on how an autopilot boots, which is of wall
    time.
    """
    return [sorted(
        (mark._replace(start_s=0.0, end_s=0.0) if mark.text == 'LOCKED at first' else mark
         for mark in marks(one.run, read_contents(one)) if mark.kind != 'simulation'),
        key=lambda mark: mark.start_s) for one in vehicles_of(bag)]


@pytest.mark.parametrize('mode', MODES[1:])
def test_a_flight_has_the_same_events_in_all_modes(flown, mode):
    (one, _, first), (other, _, second) = flown('core'), flown(mode)
    assert {key: other[key] for key in SAME} == {key: one[key] for key in SAME}
    assert events_of(first) == events_of(second)


@pytest.mark.parametrize('mode', MODES)
def test_summary_page_and_recording_say_the_same(flown, mode):
    summary, path, bag = flown(mode)
    page = Page(path.read_text(encoding='utf-8'))
    arrived = [row for row in page.rows if len(row) == 4 and row[0].endswith(' up')]
    assert [row[1:] for row in arrived] == [
        [f"{a['time_s']:.3f}", f"{a['position_error_m']:.3f}", f"{a['altitude_error_m']:.3f}"]
        for a in summary['arrivals']] != []
    events, = events_of(bag)
    assert [m.start_s for m in events if m.text.startswith('arrived at')] == [
        a['time_s'] for a in summary['arrivals']]
    texts = [mark.text for mark in events]
    assert 'AUTO_READY, disarmed, in the air' not in texts
    for name, text in {
            'simulated time': f"{summary['sim_time_s']:.3f} s", 'steps': str(summary['steps']),
            'greatest height over the take-off': f"{summary['max_altitude_m']:.3f} m",
            'distance from the take-off at the end':
                f"{summary['position_error_at_landing_m']:.3f} m",
            'fingerprint': summary['fingerprint'], 'repeatable': 'yes',
            'wall time': f"{summary['wall_time_s']:.3f} s",
            'real-time factor': f"{summary['real_time_factor']:.2f}",
            'misses': str(summary['misses']),
            'wall time in the states of the link': ', '.join(
                f'{state} {spent_s:.2f} s' for state, spent_s in summary['states'].items()),
            }.items():
        assert page.fact(name) == text, name


# The others have the same recording.
@pytest.mark.parametrize('mode', [
    'core', *(pytest.param(mode, marks=pytest.mark.long) for mode in ('composed', 'separate'))])
def test_rerun_shows_what_the_summary_says(flown, mode, tmp_path):
    pytest.importorskip('rerun', reason='rerun-sdk is not installed')
    summary, _, bag = flown(mode)
    result = here('view', bag, '--viewer', tmp_path / 'flight.rrd')
    assert result.returncode == 0, result.stderr
    shown = Read(tmp_path / 'flight.rrd')
    times_us, places_m = shown.scalars('/truth/position')
    assert len(times_us) == summary['steps']
    assert times_us[-1] == round(summary['sim_time_s'] * 1e6)
    off_m = places_m - places_m[0]
    assert round(off_m[:, 2].max(), 3) == summary['max_altitude_m']
    assert round(math.hypot(*off_m[-1, :2]), 3) == summary['position_error_at_landing_m']
    assert [(a['time_s'], round(np.linalg.norm(
        off_m[times_us.index(round(a['time_s'] * 1e6))] - a['target_enu_m']), 3))
        for a in summary['arrivals']] == [
            (a['time_s'], a['position_error_m']) for a in summary['arrivals']] != []
    told = [(time_us / 1e6, text) for kind in ('pilot', 'link', 'autopilot')
            for entity, found in shown.values.items()
            if entity == '/log/' + {'link': 'hil_bridge'}.get(kind, kind)
            for time_us, (text,) in found['TextLog:text'].items()]
    events, = events_of(bag)
    assert sorted(text for _, text in told) == sorted(mark.text for mark in events)
    assert [time_s for time_s, text in told if text.startswith('arrived at')] == [
        a['time_s'] for a in summary['arrivals']]


def test_a_row_of_a_campaign_says_what_its_flight_says(tmp_path):
    """The row of a campaign, and the summary and the page of its scenario that is flown alone."""
    file, folder = tmp_path / 'hops.yaml', tmp_path / 'hops'
    file.write_text(json.dumps({
        'runs': 1, 'vary': {'weather.speed_m_s': {'uniform': [2, 6]}},
        'scenario': {
            'mission': str(write_hop(tmp_path, 0.5)), 'weather': {'wind': 'dryden'}, 'expect': [
                {'always': {'tilt_deg': {'below': 30}}},
                {'always': {'distance_m': {'below': 0.01}}, 'from_s': 5},
                {'eventually': {'height_m': {'above': 0.4}}, 'within_s': 15}]}}))
    result = here('campaign', file, '--out', folder, '--workers', 1)
    assert result.returncode == 0, result.stderr
    row, = csv.DictReader((folder / 'runs.csv').open(newline=''))
    page, report = tmp_path / 'page.html', tmp_path / 'summary.json'
    with free() as instances:
        again = here('fly', '--mode', 'core', '--scenario',
                     folder / 'scenarios' / 'run_000001.yaml', '--instance', next(instances),
                     '--report', page, '--summary', report)
    summary, facts = json.loads(report.read_text()), Page(page.read_text()).fact
    assert (again.returncode == 0) is (row['outcome'] == 'held') is False
    assert row['fingerprint'] == summary['fingerprint'] == facts('fingerprint')
    assert row['repeatable'] == str(summary['repeatable'])
    assert float(row['sim_time_s']) == summary['sim_time_s']
    for column, digits, of_summary, of_page in (
            ('max_height_m', 3, 'max_altitude_m', 'greatest height over the take-off'),
            ('max_distance_m', 3, '', 'greatest distance from it, horizontally'),
            ('end_distance_m', 3, 'position_error_at_landing_m',
             'distance from the take-off at the end'),
            ('end_height_m', 3, '', 'height over the take-off at the end'),
            ('max_speed_m_s', 3, '', 'greatest speed'), ('max_tilt_deg', 2, '', 'greatest tilt')):
        said = f'{float(row[column]):z.{digits}f}'
        assert facts(of_page).rstrip('°').split()[0] == said, column
        assert not of_summary or f'{summary[of_summary]:.3f}' == said, column
    assert f"{float(row['end_charge']):.1%} at the end" in facts('charge')
    for number, verdict in enumerate(summary['expectations'], 1):
        assert row[f'holds_{number}'] == str(verdict['holds'])
        for name in 'margin', 'unit', 'time_s', 'left_s':
            assert row[f'{name}_{number}'] == str(verdict[name] or ''), name


@pytest.mark.parametrize('loss, text', [
    (LogLoss(2, 3.3), '3.3 s in 2 dropouts'), (LogLoss(0, 0.0), 'nothing')])
def test_recording_and_page_say_what_px4s_log_lacks(flown, loss, text, tmp_path):
    """It is known only after the recording was closed."""
    bag, page = tmp_path / 'bag', tmp_path / 'page.html'
    shutil.copytree(flown('core')[2], bag)
    result = FlightResult(flight_of(Options()))
    result.recording, result.first.log_loss = str(bag), loss
    result.complete_recording()
    assert not result.recording_problem
    write_any_report(bag, page)
    assert Page(page.read_text()).fact("PX4's log lacks") == text
    assert result.summary()['log_lost_s'] == vehicles_of(bag)[0].log_loss().log_lost_s
    (bag / 'metadata.yaml').unlink()
    assert vehicles_of(bag)[0].log_loss() is None
    result.complete_recording()
    assert result.recording_problem == (
        f"the recording in {bag} does not have what PX4's log lacks: No such file or directory")


@pytest.mark.long
def test_the_page_of_several_says_which_logs_lack_what(flown, tmp_path):
    bag, page = tmp_path / 'bag', tmp_path / 'page.html'
    shutil.copytree(flown('core', '--vehicles', '2')[2], bag)
    result = FlightResult(flight_of(Options()))
    record = result.first
    result.recording, record.log_loss, result.vehicles = str(bag), LogLoss(1, 0.25), {
        vehicles_of(bag)[1].run.namespace: record}
    result.complete_recording()
    write_any_report(bag, page)
    assert [row[-1] for row in Page(page.read_text()).rows if len(row) == 8] == [
        "PX4's log lacks", '', '0.25 s in a dropout']
