# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Several vehicles as nodes: run control for all, what is lost of one, and who is named."""
import json
import re
import signal
import sys
import time

import psutil
import pytest
import yaml
from commands import command, family, port_is_free, running, wait_for_line, wait_gone

from px4_sim_ros.recording.bag.fleet_description import describe
from px4_sim_ros.recording.bag.reader import vehicles_of
from px4_sim_ros.spec.fleets import Fleet
from px4_sim_ros.spec.flight_spec import Options, flight_of

INSTANCES = 15, 16, 90
# Of whom something is lost in flight, however late.
LONG = {'mission': 'hover'}
WAITS = {'autopilot': 'none', 'mission': 'none'}

pytestmark = pytest.mark.process


@pytest.fixture
def fleet(hop, tmp_path):
    """Return what writes the file of some vehicles, with an entry for each."""
    def write(*, downwash=False, **entries):
        file = tmp_path / 'pair.yaml'
        file.write_text(yaml.safe_dump({'set': {'downwash': downwash}, 'vehicles': [
            {'namespace': name, 'mission': str(hop), 'instance': instance,
             'start': {'east_m': 5.0 * instance}, **entry}
            for instance, (name, entry) in zip(INSTANCES, entries.items())]}))
        return file
    return write


def kill(process, *words):
    """Kill the one child whose command line has all these words, without notice."""
    child, = (child for child in family(process.pid)
              if set(words) <= set(child.cmdline()) and child.name() != 'env')
    child.send_signal(signal.SIGKILL)


def wait_until_said(process, said, pattern):
    """Wait until the status of a graph has a sentence."""
    while not re.search(pattern, said('status', '--json')['sentence']):
        time.sleep(0.5)
        assert process.poll() is None


@pytest.fixture
def said(here):
    """Return a function that returns what a command prints for programs."""
    def said(*words):
        result = here(*words)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)
    return said


# In separate the manager is the same; that messages give the same bits is in test_downwash_flights.
@pytest.mark.parametrize('mode', [
    'composed', pytest.param('separate', marks=pytest.mark.long)])
def test_time_is_paused_stepped_and_reset_for_all(mode, fleet, here, said, tmp_path):
    """A reset goes back to what was planned.

    Both who joins later and who was added by hand are away again; then all repeats, in the wake of
    each other, as in core.
    """
    near = {'joins_at_s': 0.2, 'start': {'east_m': 5.0 * INSTANCES[0] + 0.9}}
    file = fleet(alpha={}, late=near, spare={'in_reserve': True}, downwash=True)
    summary, again = tmp_path / 'summary.json', tmp_path / 'again.json'
    with running(command('fly', '--fleet', file, '--mode', mode, '--speed-factor', 1,
                         '--summary', summary)) as process:
        wait_for_line(process, 'late: ready to fly')
        assert here('pause').stdout.startswith('PAUSED at t = ')
        before = int(said('status', '--json')['steps'])
        assert here('step', 10).returncode == 0
        assert int(said('status', '--json')['steps']) == before + 10
        shown = said('top', '--json')
        assert {'manager', 'alpha/imu'} <= set(shown['nodes'])
        assert {node['state'] for node in shown['nodes'].values()} == {'active'}
        assert [shown['nodes'][f'{name}/hil_bridge']['link']['state']
                for name in ('alpha', 'late')] == ['LOCKED'] * 2
        assert here('vehicle', 'add', 'spare').returncode == 0
        assert here('resume').returncode == 0
        wait_for_line(process, 'spare: ready to fly')
        assert here('reset').returncode == 0
        wait_for_line(process, 'the run begins again')
        assert here('speed', 'max').returncode == 0
        text = process.communicate(timeout=100)[0]
    assert process.returncode == 0, text
    assert here('fly', '--fleet', file, '--mode', 'core', '--summary', again).returncode == 0
    found, other = (json.loads(path.read_text()) for path in (summary, again))
    assert found['fingerprint'] == other['fingerprint']
    # They have begun again in all: with the first step, and with no gap.
    assert found['repeatable'], found['not_repeatable_because']
    assert [(v['joined_s'], v['landed']) for v in found['fleet']] == [
        (0.0, True), (0.2, True), (None, False)]


@pytest.mark.parametrize('mode', [
    'composed', pytest.param('separate', marks=pytest.mark.long)])
def test_vehicles_are_added_removed_and_restarted_while_others_fly(
        mode, fleet, here, said, tmp_path):
    """A fault by hand is for one of them."""
    file, bag = fleet(alpha=LONG, spare={'in_reserve': True}), tmp_path / 'bag'
    summary = tmp_path / 'summary.json'
    # So slow that no vehicle has landed before time is to stand still, however busy the machine is.
    with running(command('fly', '--fleet', file, '--mode', mode, '--speed-factor', 0.5, '--record',
                         bag, '--summary', summary)) as process:
        wait_for_line(process, 'alpha: ready to fly')
        for words, sentence in (
                (('add', 'none'), 'there is no vehicle none; there are alpha, spare'),
                (('add', 'alpha'), 'alpha is in the world already'),
                (('remove', 'spare'), 'spare is not in the world')):
            refused = here('vehicle', *words)
            assert (refused.returncode, refused.stderr.strip()) == (1, f'vehicle: {sentence}')
        assert here('vehicle', 'restart', 'alpha').stdout == 'alpha is restarted\n'
        assert said('status', '--json')['changes'] == '1'      # it has begun again by then
        wait_for_line(process, 'alpha: ready to fly')
        assert here('vehicle', 'add', 'spare').stdout == 'spare is added\n'
        wait_for_line(process, 'spare: ready to fly')
        wrong = here('fault', 'motor_off', 'motor=1')
        assert (wrong.returncode, wrong.stderr) == (
            1, 'fault: there is no vehicle without a name; there are alpha, spare\n')
        given = here('fault', 'wind', 'speed_m_s=3', 'from_deg=90', '--vehicle', 'spare')
        assert (given.returncode, given.stdout) == (0, 'hand_1\n'), given.stderr
        wait_for_line(process, 'spare: hand_1: wind')
        # Also while time stands still.
        assert here('pause').returncode == 0
        assert here('vehicle', 'remove', 'alpha').returncode == 0
        status = said('status', '--json')
        assert (status['there'], status['away'], status['changes']) == ('spare', 'alpha', '3')
        refused = here('vehicle', 'remove', 'spare')
        assert refused.stderr.strip() == (
            'vehicle: spare is the last one in the world; stop ends the run')
        assert here('speed', 'max').returncode == 0
        assert here('resume').returncode == 0
        text = process.communicate(timeout=100)[0]
    assert process.returncode == 0, text
    found = json.loads(summary.read_text())
    alpha, spare = found['fleet']
    assert not found['repeatable']
    assert not found['stopped']
    assert spare['landed'] and spare['joined_s'] > 1.0
    assert 'added by hand' in spare['not_repeatable_because']
    assert (alpha['joined_s'], alpha['new_begins']) == (0.0, 1)
    assert 'restarted by hand' in alpha['not_repeatable_because']
    assert [any('hand_1: wind' in its['event'] for its in v['events'])
            for v in (alpha, spare)] == [False, True]
    assert spare['joined_s'] < alpha['left_s'] < found['sim_time_s']
    recorded = {}
    for message in vehicles_of(bag)[0].messages_of_all():
        recorded.setdefault(message.topic, []).append(message.time_us / 1e6)
    assert recorded['/alpha/actuators/command'][-1] == alpha['left_s']
    its = recorded['/spare/actuators/command']
    assert its[0] == pytest.approx(spare['joined_s'] + 0.004)
    assert its[-1] == pytest.approx(found['sim_time_s'], abs=0.1)


# The sentence and the others' flight are in the next test as well.
@pytest.mark.long
def test_one_whose_autopilot_does_not_come_is_removed_and_the_others_fly(
        fleet, here, said, tmp_path):
    summary = tmp_path / 'summary.json'
    with running(command('fly', '--fleet', fleet(alpha={}, mine=WAITS), '--mode', 'composed',
                         '--summary', summary)) as process:
        wait_for_line(process, 'waiting for your autopilot')
        wait_until_said(process, said, 'mine: .*no autopilot is connected to TCP port')
        assert here('vehicle', 'remove', 'mine').returncode == 0
        text = process.communicate(timeout=100)[0]
    assert process.returncode == 0, text
    alpha, mine = json.loads(summary.read_text())['fleet']
    assert (alpha['landed'], alpha['repeatable'], mine['left_s']) == (True, True, 0.0)


def test_one_for_whose_autopilot_the_world_waits_is_restarted(fleet, here, said, tmp_path):
    """The manager is the same in separate."""
    summary = tmp_path / 'summary.json'
    with running(command('fly', '--fleet', fleet(mine=WAITS, spare={'in_reserve': True}), '--mode',
                         'composed', '--speed-factor', 1, '--summary', summary)) as process:
        wait_for_line(process, 'waiting for your autopilot')
        # It is overdue at first. This step is completed without it.
        wait_until_said(process, said, 'mine: .*no autopilot is connected to TCP port')
        wait_until_said(process, said, r'mine: .* for t = 0\.004000 s')
        added = here('vehicle', 'add', 'spare')
        assert (added.returncode, added.stdout.partition(':')[0]) == (
            0, 'spare is added, and joins when the step under way is complete'), added
        assert 'mine: hil_bridge has not published' in added.stdout
        assert here('vehicle', 'restart', 'mine').returncode == 0
        wait_until_said(process, said, r'mine: .* for t = 0\.008000 s')
        with running([sys.executable, '-m', 'px4_sim_ros.autopilot.process', '--instance',
                      str(INSTANCES[0])]):
            while not float(said('status', '--json')['sim_time_s']) > 1.0:
                time.sleep(0.5)
            assert here('vehicle', 'remove', 'mine').returncode == 0
            assert here('speed', 'max').returncode == 0
            text = process.communicate(timeout=100)[0]
    assert process.returncode == 0, text
    mine, spare = json.loads(summary.read_text())['fleet']
    assert not mine['repeatable'] and (spare['landed'], spare['joined_s']) == (True, 0.004)


def test_a_supervisor_has_an_autopilot_while_its_vehicle_is_there(fleet, tmp_path):
    """As `ros2 launch` starts one; here its vehicle is one of `fly`."""
    file, summary = fleet(alpha={}, late={
        'autopilot': 'none', 'joins_at_s': 1.0, 'leaves_at_s': 2.0}), tmp_path / 'summary.json'
    run = tmp_path / 'run.yaml'
    run.write_text(describe(flight_of(Options(
        missions={'embedded': 'square'}), Fleet.load(str(file)))).to_yaml())
    with running(command('fly', '--fleet', file, '--mode', 'composed', '--summary',
                         summary)) as process, running([
            sys.executable, '-m', 'px4_sim_ros.launching.autopilot_supervisor', '--run',
            str(run), '--member', 'late', '--ros-args', '-r', '__ns:=/late']):
        text = process.communicate(timeout=100)[0]
    assert process.returncode == 0, text
    alpha, late = json.loads(summary.read_text())['fleet']
    assert (alpha['landed'], alpha['repeatable']) == (True, True)
    assert (late['joined_s'], late['left_s'], late['replies']) == (1.0, 2.0, 250)


@pytest.mark.parametrize(('who', 'names'), [
    ('manager', ['alpha']), pytest.param('bravo', ['alpha', 'bravo'], marks=pytest.mark.long)])
def test_a_process_is_named_when_it_has_ended(who, names, fleet):
    with running(command('fly', '--fleet', fleet(**dict.fromkeys(names, LONG)), '--mode',
                         'separate')) as process:
        wait_for_line(process, f'{names[-1]}: ready to fly')
        children = family(process.pid)
        kill(process, 'px4_sim_ros.ros.world', who)
        text = process.communicate(timeout=60)[0]
    assert process.returncode == 1
    assert f'fly: world ({who}) has ended with exit code -9' in text
    assert wait_gone(children, 5.0) == []
    assert all(port_is_free(instance) for instance in INSTANCES)
    assert not [p for p in children if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]
