# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The script that flies every vehicle: what it flies, what counts, and the table that it prints."""
import importlib.util
import pathlib
import types

import numpy as np
import pytest

pytest.importorskip('pyulog', reason='pyulog is not installed')

from px4_sim_ros.spec.resources import named_files

ROOT = pathlib.Path(__file__).resolve().parents[2]
MEASURED = (ROOT / 'docs' / 'journal' / 'measured.md').read_text(encoding='utf-8')
ARRIVAL = {'position_error_m': 0.28, 'altitude_error_m': -0.2}
SUMMARY = {'mission_flown': True, 'landed': True, 'repeatable': True, 'misses': 0, 'unanswered': 0,
           'sim_time_s': 66.0, 'fingerprint': '58049f9a20cccef1', 'arrivals': [ARRIVAL],
           'position_error_at_landing_m': 0.1}


@pytest.fixture(scope='module')
def fly_all():
    spec = importlib.util.spec_from_file_location('fly_all', ROOT / 'docs' / 'fly_all.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def log_of(said=(), **flags):
    """Return a log of ten seconds, armed from 2 s to 8 s, in the air from 3 s to 7 s."""
    times = np.arange(0, 10_000_000, 500_000)
    quiet = np.zeros(len(times))
    data = {
        'vehicle_status': {'arming_state': np.where((times >= 2e6) & (times <= 8e6), 2, 1)},
        'vehicle_local_position_groundtruth': {
            'z': np.where((times >= 3e6) & (times <= 7e6), -5.0, 0.0)},
        'failure_detector_status': {'fd_roll': quiet, 'fd_motor': quiet},
        'estimator_status_flags': {'fs_bad_hdg': quiet, 'reject_airspeed': quiet},
        'estimator_status': {'filter_fault_flags': quiet}}
    for topic in data.values():
        topic['timestamp'] = times
        topic |= {name: np.where(times == at_us, 1, 0) for name, at_us in flags.items()
                  if name in topic}
    return types.SimpleNamespace(
        data_list=[types.SimpleNamespace(name=name, multi_id=0, data=fields)
                   for name, fields in data.items()],
        logged_messages=[types.SimpleNamespace(
            timestamp=at_us, message=text, log_level_str=lambda level=level: level)
            for at_us, level, text in said])


def test_a_quiet_flight_counts(fly_all):
    flown = fly_all.judged(SUMMARY, log_of(said=[
        (1_000_000, 'WARNING', 'not armed yet'), (5_000_000, 'INFO', 'landing'),
        (5_000_000, 'WARNING', '[logger] Too many subscriptions, failed to add: x')]))
    assert (flown.problems, flown.rejected, flown.air_s) == ((), (), 4.0)


@pytest.mark.parametrize(('flags', 'problem'), [
    ({'fd_roll': 5_000_000}, 'failure detector: fd_roll'),
    ({'fs_bad_hdg': 5_000_000}, 'estimator: fs_bad_hdg'),
    ({'filter_fault_flags': 5_000_000}, 'estimator: filter_fault_flags')])
def test_a_flag_counts_while_it_is_armed(fly_all, flags, problem):
    assert fly_all.judged(SUMMARY, log_of(**flags)).problems == (problem,)
    assert not fly_all.judged(SUMMARY, log_of(**dict.fromkeys(flags, 9_000_000))).problems


def test_what_is_rejected_is_a_remark(fly_all):
    flown = fly_all.judged(SUMMARY, log_of(reject_airspeed=5_000_000))
    assert (flown.problems, flown.rejected) == ((), ('reject_airspeed',))


@pytest.mark.parametrize(('values', 'problem'), [
    ({'landed': False}, 'landed'), ({'mission_flown': False}, 'mission_flown'),
    ({'repeatable': False}, 'repeatable'), ({'misses': 2}, '2 misses')])
def test_a_flight_that_went_wrong_does_not_count(fly_all, values, problem):
    assert fly_all.judged(SUMMARY | values, log_of()).problems == (problem,)


def test_what_px4_warns_of_does_not_count(fly_all):
    flown = fly_all.judged(SUMMARY, log_of(said=[(5_000_000, 'WARNING', 'Failsafe activated\t')]))
    assert flown.problems == ('WARNING Failsafe activated',)


def test_the_table_is_that_of_the_page(fly_all):
    """All vehicles are in it, in both kinds of weather, under the same titles."""
    title, _, *rows = table('## Every vehicle')
    assert title == list(fly_all._TITLES)
    flown = fly_all.judged(SUMMARY, log_of())
    cells = fly_all.row('iris', 'calm', [flown, flown]).split(' | ')
    assert cells[0] == '| `iris`' and cells[2] == '`58049f9a20cccef1` `58049f9a20cccef1`'
    assert cells[3:] == ['4', '0.28', '0.2', '0.1 |']
    assert {(row[0].strip('`'), row[1].lower()) for row in rows} == {
        (name, weather) for name in named_files('vehicles') for weather in fly_all._WEATHER}


def table(heading):
    """Return the cells of the first table below a heading."""
    lines = MEASURED[MEASURED.index(heading):].splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith('|'))
    end = next(i for i in range(first, len(lines)) if not lines[i].startswith('|'))
    return [[cell.strip() for cell in line.strip('|').split('|')] for line in lines[first:end]]


def test_each_vehicle_has_the_mission_of_its_kind(fly_all):
    assert {name: fly_all.mission_of(name) for name in named_files('vehicles')} == {
        **dict.fromkeys(('iris', 'x500', 'hexa', 'octo'), 'square'), 'plane': 'plane',
        **dict.fromkeys(('standard_vtol', 'tiltrotor', 'tailsitter'), 'vtol'),
        **dict.fromkeys(('rover_differential', 'rover_ackermann'), 'rover')}
