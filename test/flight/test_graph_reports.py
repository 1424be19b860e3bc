# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The counters of a graph: those of one summary are of one moment."""
import pytest

from px4_sim_ros.flight.flight_record import FlightRecord, GraphReports, WorldStatus
from px4_sim_ros.link.pilot.events import Event

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
    record.status = WorldStatus(link={
        'max_height_m': '7.5', 'east_m': '3.0', 'north_m': '4.0', 'up_m': '0.01'})
    assert record.summary({})['position_error_at_landing_m'] is None
    record.mission_flown = True
    assert record.summary({})['position_error_at_landing_m'] == 5.0
    assert record.summary({})['max_altitude_m'] == 7.5


def test_an_arrival_has_its_time_and_how_far_off_the_vehicle_was():
    record = FlightRecord()
    record.add_event(Event('arrived', 0.14, (0.0, 3.0, 9.0), place_enu=(4.0, 0.0, 9.5)))
    assert record.summary({})['arrivals'] == [{
        'time_s': 0.14, 'target_enu_m': [0.0, 3.0, 9.0],
        'position_error_m': round((16.0 + 9.0 + 0.25) ** 0.5, 3), 'altitude_error_m': 0.5}]
