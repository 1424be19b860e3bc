# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""PX4s in one world, and an embedded autopilot: what becomes of one does not change another.

All fly with the schedule repeatable, so that it is seen in the bits.
"""
import json
import re
import signal
import threading

import pytest
import yaml
from commands import command, family, run, running, wait_for_line, write_hop
from px4_flight import NEEDS_FIFO

INSTANCES = 61, 62, 63
NAMES = 'alpha', 'bravo', 'charlie'
STOPPED_S = 3.0

pytestmark = [pytest.mark.process, pytest.mark.px4, NEEDS_FIFO]


@pytest.fixture(scope='module')
def hop(tmp_path_factory):
    return write_hop(tmp_path_factory.mktemp('mission'), 2.0)


def write_fleet(folder, hop, *entries):
    file = folder / 'fleet.yaml'
    file.write_text(yaml.safe_dump({'vehicles': [
        {'namespace': name, 'mission': str(hop), 'instance': instance, 'autopilot': 'px4',
         'start': {'east_m': 4.0 * i}, **entry}
        for i, (name, instance, entry) in enumerate(zip(NAMES, INSTANCES, entries))]}))
    return file


def words(folder, *more):
    return ('fly', '--px4-schedule', 'repeatable', '--summary', folder / 'summary.json', *more)


def found(folder):
    return json.loads((folder / 'summary.json').read_text())


def fly(folder, *more):
    """Fly; return the summary."""
    result = run(*words(folder, *more))
    assert result.returncode == 0, result.stdout + result.stderr
    return found(folder)


def px4_of(process, instance):
    """Return the process of a PX4."""
    its, = (child for child in family(process.pid)
            if child.name() == 'px4' and ['-i', str(instance)] == child.cmdline()[2:4])
    return its


@pytest.fixture(scope='module')
def alone(hop, tmp_path_factory):
    """Return the summary of the first vehicle's flight by itself."""
    return fly(tmp_path_factory.mktemp('alone'), '--mode', 'core', '--autopilot', 'px4',
               '--instance', INSTANCES[0], '--mission', hop)


def check_undisturbed(alone, alpha):
    """Check that the first vehicle has flown as it would alone."""
    assert (alpha['landed'], alpha['misses'], alpha['new_begins']) == (True, 0, 0)
    assert alpha['repeatable'], alpha['not_repeatable_because']
    assert alpha['fingerprint'] == alone['fingerprint']


def test_a_rover_drives_beside_a_quad(hop, tmp_path):
    """In steps of 10 ms, each of which both answer; twice the same."""
    drive = tmp_path / 'drive.yaml'
    drive.write_text('name: drive\nitems:\n  - go_to: {north_m: 0.0, east_m: 5.0}\n')
    file = write_fleet(tmp_path, hop, {}, {'vehicle': 'rover_ackermann', 'mission': str(drive)})
    file.write_text('set: {step_us: 10000, periods_us.imu: 10000, dynamics.substeps: 5}\n'
                    + file.read_text())
    first, second = (fly(tmp_path, '--fleet', file) for _ in range(2))
    assert first['repeatable'], first['not_repeatable_because']
    assert second['fingerprint'] == first['fingerprint']
    for vehicle in first['fleet']:
        assert (vehicle['landed'], vehicle['misses'], vehicle['unanswered']) == (True, 0, 0)


def fly_while_one_stands_still(folder, file, *more):
    """Fly; the second PX4 stands still for a while. Return what was said, and the summary."""
    with running(command(*words(folder, '--fleet', file, *more))) as process:
        wait_for_line(process, 'bravo: armed')
        px4 = px4_of(process, INSTANCES[1])
        px4.suspend()
        timer = threading.Timer(STOPPED_S, px4.resume)
        timer.start()
        text = process.communicate(timeout=100)[0]
        timer.join()
    assert process.returncode == 0, text
    return text, found(folder)


def test_each_flies_as_it_would_alone(alone, hop, tmp_path):
    """Also an embedded autopilot beside PX4s, and while all wait for one."""
    text, summary = fly_while_one_stands_still(tmp_path, write_fleet(
        tmp_path, hop, {}, {}, {'autopilot': 'embedded'}))
    alpha, bravo, charlie = summary['fleet']
    assert 'STALLED' not in text
    assert summary['repeatable'], summary['not_repeatable_because']
    assert [(v['landed'], v['misses']) for v in summary['fleet']] == 3 * [(True, 0)]
    assert bravo['states']['LOCKED'] > STOPPED_S
    assert alpha['fingerprint'] == alone['fingerprint']
    its = fly(tmp_path, '--mode', 'core', '--mission', hop, '--instance', charlie['instance'],
              '--seed', charlie['seed'], '--set', 'dynamics.start_east_m=8.0')
    assert its['fingerprint'] == charlie['fingerprint']


def test_those_that_fall_do_not_disturb_the_other(alone, hop, tmp_path):
    """One is terminated, one loses its gyro; twice the same."""
    entries = []
    for name, action in (('terminated', {'command': {
            'command': 'MAV_CMD_DO_FLIGHTTERMINATION', 'params': [1]}}), ('blind', {
                'px4_failure': {'unit': 'gyro', 'type': 'off'}})):
        scenario = tmp_path / f'{name}.yaml'
        scenario.write_text(yaml.safe_dump({
            'mission': str(hop), 'px4': {'SYS_FAILURE_EN': 1},
            'events': [{'name': 'out', 'when': {'height_m': {'above': 1.5}}, **action}],
            'expect': [{'eventually': {'height_m': {'below': 0.3}, 'age_s': {
                'event': 'out', 'above': 0}}, 'within_s': 30}], 'end': {'at_s': 30}}))
        entries.append({'scenario': str(scenario)})
    file = write_fleet(tmp_path, hop, {}, *entries)
    first, second = (fly(tmp_path, '--fleet', file, '--mode', mode) for mode in (
        'core', 'composed'))
    assert second['fingerprint'] == first['fingerprint']
    alpha, bravo, charlie = first['fleet']
    check_undisturbed(alone, alpha)
    for its, is_held in (bravo, False), (charlie, True):
        assert (its['misses'], its['states']['STALLED'], its['unanswered'] > 100) == (
            0, 0.0, is_held)
        assert its['repeatable'], its['not_repeatable_because']
        assert its['states']['TERMINATED'] > 0.0


@pytest.mark.parametrize(('when_gone', 'code'), [('go_on', 1), ('begin_again', 0)])
def test_one_whose_px4_is_killed_does_not_disturb_the_other(
        when_gone, code, alone, hop, tmp_path):
    file = write_fleet(tmp_path, hop, {}, {'when_gone': when_gone})
    with running(command(*words(tmp_path, '--fleet', file))) as process:
        wait_for_line(process, 'bravo: armed')
        px4_of(process, INSTANCES[1]).send_signal(signal.SIGKILL)
        text = process.communicate(timeout=100)[0]
        assert process.returncode == code, text
    assert 'bravo: PX4 has ended with exit code -9' in text
    alpha, bravo = found(tmp_path)['fleet']
    check_undisturbed(alone, alpha)
    assert (bravo['landed'], bravo['new_begins']) == (not code, int(not code))
    assert not bravo['repeatable']


def test_one_that_is_restarted_by_hand_does_not_disturb_the_other(alone, hop, tmp_path):
    with running(command(*words(
            tmp_path, '--mode', 'composed', '--speed-factor', 1, '--fleet',
            write_fleet(tmp_path, hop, {}, {})))) as process:
        wait_for_line(process, 'bravo: armed')
        first = px4_of(process, INSTANCES[1])
        restarted = run('vehicle', 'restart', 'bravo')
        assert restarted.stdout == 'bravo is restarted\n', restarted.stderr
        assert run('speed', 'max').returncode == 0
        text = process.communicate(timeout=100)[0]
        assert process.returncode == 0, text
    assert not first.is_running()
    alpha, bravo = found(tmp_path)['fleet']
    check_undisturbed(alone, alpha)
    assert (bravo['landed'], bravo['new_begins']) == (True, 1)
    assert 'restarted by hand' in bravo['not_repeatable_because']


def test_one_whose_px4_stands_still_is_named_and_the_other_flies_on(alone, hop, tmp_path):
    """After a second, as it is with other schedules; then at real-time pace, until it answers."""
    text, summary = fly_while_one_stands_still(
        tmp_path, write_fleet(tmp_path, hop, {}, {}), '--set', 'hil_bridge.reply_timeout_s=1')
    alpha, bravo = summary['fleet']
    check_undisturbed(alone, alpha)
    assert re.search(r'bravo: STALLED at t = (\S+) s: the autopilot has not replied to t = \1 s'
                     ' within 1 s', text)
    assert 'alpha: STALLED' not in text
    assert 1.0 < bravo['states']['STALLED'] < STOPPED_S
    assert bravo['misses'] == 1 and bravo['unanswered'] > 100
    assert bravo['landed'] and not bravo['repeatable']
