# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The counters of a graph: those of one summary are of one moment."""
import pytest

from px4_sim_ros.mavlink.pilot_events import Event
from px4_sim_ros.run.flight_record import FlightRecord, GraphReports, WorldStatus

BRIDGE = {'steps': '14832', 'replies': '14832', 'misses': '0', 'waited_s': '3.0', 'busy_s': '4.0',
          'seconds_LOCKED': '20.0'}
STEP_US = 4000


def manager(steps):
    """Return what the manager reports at a wall time of a millisecond a step."""
    return {'steps': str(steps), 'wall_time_s': f'{steps * 1e-3}', 'paced_s': '0.0',
            'busy_s': f'{steps * 1e-4}'}


@pytest.mark.parametrize('manager_steps', [14832, 14565])
def test_a_last_report_that_is_lost_changes_no_figure(manager_steps):
    reports = GraphReports()
    reports.add('hil_bridge', 14832 * STEP_US, BRIDGE)
    reports.add('manager', manager_steps * STEP_US, manager(manager_steps))
    record = FlightRecord()
    record.status = reports.status()
    summary = record.summary({})
    assert summary['steps'] == summary['replies'] == 14832
    assert summary['sim_time_s'] == pytest.approx(14832 * STEP_US * 1e-6)
    assert summary['wall_time_s'] == pytest.approx(14.832)
    assert summary['real_time_factor'] == pytest.approx(4.0, abs=0.01)
    assert summary['step_cost_us']['manager'] == pytest.approx(100.0)
    assert summary['step_cost_us']['total'] == pytest.approx(1000.0)


def test_what_the_manager_has_noticed_is_told():
    reports = GraphReports()
    reports.add('hil_bridge', 250 * STEP_US, BRIDGE)
    reports.add('manager', 250 * STEP_US, manager(250) | {
        'gap': 'gps was stopped by hand', 'gap_us': '4000'})
    assert reports.status().gap == 't = 0.004000 s: gps was stopped by hand'


def test_a_bridge_without_a_link_counts_nothing():
    reports = GraphReports()
    reports.add('manager', 0, manager(0))
    reports.add('hil_bridge', 0, {'busy_s': '0.0', 'steps': '0'})
    assert reports.status() == WorldStatus()


@pytest.mark.parametrize('steps', [0, 1])
def test_up_to_the_first_step_nothing_has_a_cost(steps):
    """One that is held for an autopilot is the first, and takes as long as that."""
    assert WorldStatus(steps=steps, busy_s={'hil_bridge': 2.0}).step_cost_us() == {}


def test_only_a_flight_that_has_landed_has_an_error_at_landing():
    record = FlightRecord()
    record.add_truth(0, (0.0, 0.0, 0.0))
    record.add_truth(STEP_US, (3.0, 4.0, 0.0))
    assert record.summary({})['position_error_at_landing_m'] is None
    record.mission_flown = True
    assert record.summary({})['position_error_at_landing_m'] == 5.0


def error_m(record):
    return record.summary({})['arrivals'][0]['position_error_m']


@pytest.mark.parametrize('comes_after', range(4))
def test_an_arrival_is_where_the_vehicle_was_then(comes_after):
    """Positions at the display rate come before the pilot's word, or after it."""
    record = FlightRecord()
    for i in range(6):
        if i == comes_after:
            record.add_event(Event('arrived', 0.15, (0.0, 0.0, 9.0)))
        # It climbs at 60 m/s: at 0.15 s it is at 9 m.
        record.add_truth(round(i * 4e4), (0.0, 0.0, i * 2.4))
    assert error_m(record) == 0.0
    assert len(record.summary({})['arrivals']) == 1


def test_a_word_that_comes_too_late_or_last_is_where_the_vehicle_was_first_or_last():
    record = FlightRecord()
    record.add_truth(40_000, (0.0, 0.0, 0.0))
    record.add_truth(80_000, (0.0, 0.0, 2.0))
    record.add_event(Event('arrived', 0.02, (0.0, 0.0, 0.0)))
    record.add_event(Event('arrived', 0.1, (0.0, 0.0, 2.0)))
    assert [a['position_error_m'] for a in record.summary({})['arrivals']] == [0.0, 0.0]
