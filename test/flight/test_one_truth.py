# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""One flight has one truth: in each mode, in the summary, the page, the recording and the table."""
import json
import pathlib

import pytest
from commands import here, run
from report_flights import Page

from px4_sim_ros.recording.analysis.flight_events import marks, read_contents
from px4_sim_ros.recording.bag.reader import vehicles_of

pytestmark = pytest.mark.process
HOP = pathlib.Path(__file__).resolve().parents[2] / 'examples' / 'first_hop.yaml'
# Each push has test_downwash_flights in all modes.
MODES = 'core', 'composed', pytest.param('separate', marks=pytest.mark.long)
# What is of the simulation, so that it is equal to the bit in all modes.
SAME = ('sim_time_s', 'steps', 'fingerprint', 'max_altitude_m', 'landed',
        'position_error_at_landing_m', 'arrivals')


@pytest.fixture(scope='module')
def flown(tmp_path_factory):
    """Return a function that flies in a mode once; returns summary, page and bag."""
    from instances import free
    folder, found = tmp_path_factory.mktemp('truth'), {}

    def fly(mode, *words):
        key = '_'.join([mode, *words])
        if key not in found:
            bag, page, summary = (folder / f'{key}{end}' for end in ('', '.html', '.json'))
            with free() as instances:
                result = (here if mode == 'core' else run)(
                    'fly', '--mode', mode, '--mission', HOP, '--wind', 'dryden',
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
    return [[mark._replace(start_s=0.0, end_s=0.0) if mark.text == 'LOCKED at first' else mark
             for mark in marks(one.run, read_contents(one)) if mark.kind != 'simulation']
            for one in vehicles_of(bag)]


@pytest.mark.parametrize('mode', MODES[1:])
def test_a_flight_has_the_same_events_in_all_modes(flown, mode):
    (one, _, first), (other, _, second) = flown('core'), flown(mode)
    assert {key: other[key] for key in SAME} == {key: one[key] for key in SAME}
    assert events_of(first) == events_of(second)


@pytest.mark.long
def test_vehicles_have_the_same_events_in_all_modes(flown):
    (one, _, first), (other, _, second) = (flown(mode, '--vehicles', '2') for mode in MODES[:2])
    for its, others in zip(one['fleet'], other['fleet'], strict=True):
        assert {k: others[k] for k in SAME if k in others} == {k: its[k] for k in SAME if k in its}
    assert one['distances'] == other['distances']
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
