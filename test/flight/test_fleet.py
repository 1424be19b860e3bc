# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Several vehicles in one world: flown, recorded, replayed, and one of them lost."""
import contextlib
import json
import re
import signal

import psutil
import pytest
import yaml
from commands import (
    command,
    family,
    here,
    port_is_free,
    running,
    wait_for_line,
    wait_gone,
    write_hop,
)

from px4_sim_ros.flight.record import whole_fingerprint
from px4_sim_ros.real.readers import read_flight
from px4_sim_ros.recording.bag.reader import BagReader, vehicles_of
from px4_sim_ros.recording.bag.run_description import BagError

INSTANCES = 11, 12, 13, 14
INSTANCE = INSTANCES[0]
# In their wind the two come a little nearer, so that they nearly meet in the air.
SPACING_M = 1.86


@pytest.fixture(scope='module')
def hop(tmp_path_factory):
    return write_hop(tmp_path_factory.mktemp('mission'), 1.0)


@pytest.fixture(scope='module')
def flown(hop, tmp_path_factory):
    """Return the folder of a flight of two, with all that is written about it.

    For other modes, and vehicles that come and go, see test_downwash_flights.
    """
    folder = tmp_path_factory.mktemp('flown')
    result = here('fly', '--vehicles', 2, '--spacing', SPACING_M, '--mission', hop,
                 '--instance', INSTANCE, '--wind', 'dryden', '--set', 'wind.speed_m_s=4',
                 '--record', folder / 'bag',
                 '--report', folder / 'page.html', '--summary', folder / 'summary.json')
    assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture(scope='module')
def summary(flown):
    return json.loads((flown / 'summary.json').read_text())


def alone(here, vehicle, hop, folder, *words):
    """Fly a vehicle of the fleet by itself; return its summary."""
    file = folder / 'alone.json'
    result = here('fly', '--mode', 'core', '--mission', hop, '--instance', vehicle['instance'],
                  '--seed', vehicle['seed'], '--wind', 'dryden', '--set', 'wind.speed_m_s=4',
                  '--summary', file, *words)
    assert result.returncode == 0, result.stderr
    return json.loads(file.read_text())


@pytest.mark.process
def test_all_fly_and_land(summary):
    assert (summary['mode'], summary['vehicles'], summary['missions_flown']) == ('core', 2, 2)
    assert [v['landed'] for v in summary['fleet']] == [True, True]
    assert all(0.5 < v['max_altitude_m'] < 1.5 for v in summary['fleet'])
    assert [v['instance'] for v in summary['fleet']] == list(INSTANCES[:2])
    assert all(v['replies'] == summary['steps'] and not v['misses'] for v in summary['fleet'])
    assert summary['repeatable']
    fingerprints = {v['namespace']: v['fingerprint'] for v in summary['fleet']}
    assert len(set(fingerprints.values())) == 2
    assert summary['fingerprint'] == whole_fingerprint(fingerprints)
    assert 1.5 < summary['least_distance_m'] < SPACING_M
    assert (summary['near_misses'], summary['collisions']) == (1, 0)
    event, = summary['events']
    assert event['event'].startswith('px4_11 and px4_12 nearly meet')
    assert event['time_s'] > 1.0


@pytest.mark.process
def test_each_vehicle_flies_as_it_would_alone(flown, summary, hop, here, tmp_path):
    first, second = summary['fleet']
    flight = alone(here, first, hop, tmp_path, '--record', tmp_path / 'alone')
    assert flight['fingerprint'] == first['fingerprint']
    assert flight['seed'] == summary['seed']
    # Message by message, too, until the one that is alone ends.
    result = here('compare', flown / 'bag' / 'px4_11', tmp_path / 'alone')
    assert 'common messages are bit-identical' in result.stdout
    other = alone(here, second, hop, tmp_path, '--set', f'dynamics.start_east_m={SPACING_M}')
    assert other['fingerprint'] == second['fingerprint']


# In each run of the tests with several workers flights are beside others.
@pytest.mark.process
@pytest.mark.long
def test_two_fleets_fly_on_one_machine_at_once(hop, tmp_path):
    """Without ROS they need nothing but instances of their own; then they are the same."""
    files = [tmp_path / f'{i}.json' for i in range(2)]
    with contextlib.ExitStack() as stack:
        flights = [stack.enter_context(running(command(
            'fly', '--vehicles', 2, '--mission', hop, '--instance', first, '--summary', file)))
            for first, file in zip(INSTANCES[::2], files)]
        said = [process.communicate(timeout=100)[0] for process in flights]
    assert [process.returncode for process in flights] == [0, 0], said
    one, other = (json.loads(file.read_text()) for file in files)
    assert [v['namespace'] for v in one['fleet'] + other['fleet']] == [
        f'px4_{instance}' for instance in INSTANCES]
    assert [v['fingerprint'] for v in one['fleet']] == [v['fingerprint'] for v in other['fleet']]
    assert [(v['landed'], v['misses']) for v in one['fleet'] + other['fleet']] == 4 * [(True, 0)]


@pytest.mark.process
def test_a_recording_is_replayed_by_vehicle(flown, here):
    result = here('replay', flown / 'bag')
    assert result.returncode == 0, result.stderr + result.stdout
    assert result.stdout.count('bit-identical') == 2
    assert result.stdout.splitlines()[0] == 'px4_11:'


@pytest.mark.process
def test_a_vehicle_of_a_recording_is_flown_again_by_itself(flown, here):
    """Up to the end of its mission; the world has gone on."""
    result = here('refly', flown / 'bag' / 'px4_12')
    assert result.returncode == 0, result.stderr + result.stdout
    assert re.search(r'common messages are bit-identical; .*px4_12 ends at t = .* and the new'
                     r' flight ends at t = ', result.stdout)


@pytest.mark.process
def test_what_is_not_the_same_is_told_by_vehicle(flown, here):
    same = here('compare', flown / 'bag', flown / 'bag')
    assert same.returncode == 0
    assert same.stdout.count('bit-identical') == 2
    assert here('compare', flown / 'bag' / 'px4_11', flown / 'bag' / 'px4_12').returncode == 1
    refused = here('compare', flown / 'bag', flown / 'bag' / 'px4_12')
    assert refused.returncode == 2
    assert refused.stderr.strip() == (
        'compare: the recordings have other vehicles: px4_11, px4_12 and px4_12')
    refused = here('replay', flown / 'bag', '--plot', 'page.html')
    assert refused.stderr.strip() == (
        f'replay: plot: several vehicles are in the recording; name one, such as'
        f' {flown / "bag" / "px4_11"}')


@pytest.mark.process
def test_a_vehicle_of_a_recording_is_read_as_one_alone(flown, summary):
    first, second = vehicles_of(flown / 'bag')
    for bag, vehicle in zip((first, second), summary['fleet']):
        topics = {m.topic for m in bag.messages()}
        assert {'/clock', 'ground_truth/odom', 'imu/data_raw', 'hil/state'} <= topics
        assert not [topic for topic in topics if 'px4_' in topic or not topic]
        assert bag.run.world.seed == vehicle['seed']
    with pytest.raises(BagError, match=r'several vehicles are in it; name one, such as .*/px4_11'):
        BagReader(flown / 'bag')
    with pytest.raises(
            BagError, match=r'there is no vehicle px4_13 in it; there are px4_11, px4_12'):
        BagReader(flown / 'bag' / 'px4_13')


@pytest.mark.process
def test_one_vehicle_is_a_log_for_validate(flown, here):
    """The sentence about several says how one is named, and that works."""
    several = here('validate', flown / 'bag', '--vehicle', 'iris')
    assert several.returncode == 2 and f'name one, such as {flown}/bag/px4_11' in several.stderr
    assert read_flight(flown / 'bag' / 'px4_12').usable.any()
    other = here('validate', flown / 'bag' / 'px4_13', '--vehicle', 'iris')
    assert other.returncode == 2 and 'there is no vehicle px4_13' in other.stderr


def health_of(namespace, page):
    """Return what a report says of the health of a vehicle, without its name."""
    section = page.partition('<h2>Health')[2]
    rows = [re.findall(r'<td[^>]*>(.*?)</td>', row, re.S)
            for row in re.findall(r'<tr>(.*?)</tr>', section, re.S)]
    return next(row for row in rows if row and row[0] == namespace)[1:]


@pytest.mark.process
def test_the_report_has_all_vehicles(flown, summary, here, tmp_path):
    page = (flown / 'page.html').read_text()
    for vehicle in summary['fleet']:
        assert page.count(vehicle['namespace']) > 4        # paths, distances, a row
        assert vehicle['fingerprint'] in page
    assert f"{summary['least_distance_m']:.3f} m" in page
    for vehicle in summary['fleet']:
        health = health_of(vehicle['namespace'], page)
        assert health[:3] == ['the mission is flown', 'link LOCKED', '0']
        assert health[3].startswith('misses 0')
        assert re.fullmatch(
            r'WAITING \S+ s, FREEWHEEL \S+ s, LOCKED \S+ s, STALLED 0 s, TERMINATED 0 s', health[4])
        assert health[5] == 'nothing'
    result = here('report', flown / 'bag' / 'px4_12', '-o', tmp_path / 'one.html')
    assert result.returncode == 0, result.stderr
    assert summary['fleet'][1]['fingerprint'] in (tmp_path / 'one.html').read_text()


def write_fleet(folder, hop, **entries):
    file = folder / 'pair.yaml'
    # So far that they are near each other all the time, however high one gets before it falls.
    file.write_text(yaml.safe_dump({'near_miss_m': 50.0, 'vehicles': [
        {'namespace': name, 'mission': str(hop), 'instance': instance,
         'start': {'east_m': 5.0 * instance}, **entry}
        for instance, (name, entry) in zip(INSTANCES[2:], entries.items())]}))
    return file


def end_autopilot(process, instance):
    """Kill the autopilot of an instance without notice."""
    for child in family(process.pid):
        with contextlib.suppress(psutil.NoSuchProcess):
            words = child.cmdline()
            if 'px4_sim_ros.autopilot.process' in words and str(instance) in words:
                child.send_signal(signal.SIGKILL)


@pytest.mark.process
def test_one_that_has_lost_its_autopilot_is_named_and_the_others_fly_on(hop, tmp_path):
    # So long that it is in flight when it loses it, however late that is.
    file = write_fleet(tmp_path, hop, good={}, bad={'when_gone': 'go_on', 'mission': 'hover'})
    summary = tmp_path / 'summary.json'
    page = tmp_path / 'page.html'
    with running(command('fly', '--fleet', file, '--summary', summary, '--report', page)
                 ) as process:
        wait_for_line(process, 'bad: armed')
        processes = family(process.pid)
        end_autopilot(process, INSTANCES[3])
        text = process.communicate(timeout=100)[0]
        assert process.returncode == 1
    assert 'bad: WAITING at t = ' in text
    assert 'fly: bad: the embedded autopilot has ended with exit code -9' in text
    assert 'good and bad nearly meet, 5.00 m apart' in text
    found = json.loads(summary.read_text())
    assert (found['near_misses'], found['collisions']) == (1, 0)
    good, bad = found['fleet']
    assert (good['landed'], good['misses'], good['repeatable']) == (True, 0, True)
    assert not bad['mission_flown']
    assert 'ended with exit code' in bad['failure']
    assert not found['repeatable']
    assert wait_gone(processes, 10) == []
    assert health_of('bad', page.read_text())[1] == 'link WAITING'
    assert health_of('good', page.read_text())[:2] == ['the mission is flown', 'link LOCKED']


def lose_one_autopilot(file, folder):
    """Fly two, of which one loses its autopilot; return what was said, and both entries."""
    # At twice real time it is there for seconds, also on a busy machine.
    with running(command('fly', '--fleet', file, '--speed-factor', 2, '--summary',
                         folder / 'summary.json')) as process:
        wait_for_line(process, 'bad: armed')
        end_autopilot(process, INSTANCES[3])
        text = process.communicate(timeout=100)[0]
        assert process.returncode == 1
    return text, json.loads((folder / 'summary.json').read_text())['fleet']


@pytest.mark.process
def test_one_that_has_lost_its_autopilot_before_it_leaves_has_failed(hop, tmp_path):
    file = write_fleet(tmp_path, hop, good={}, bad={'when_gone': 'go_on', 'leaves_at_s': 6.0})
    text, (good, bad) = lose_one_autopilot(file, tmp_path)
    assert 'fly: bad: the embedded autopilot has ended with exit code -9' in text
    assert (good['landed'], good['repeatable']) == (True, True)
    assert (bad['left_s'], bad['mission_flown']) == (6.0, False)
    assert bad['failure'] == 'the embedded autopilot has ended with exit code -9'


@pytest.mark.process
def test_one_that_holds_the_world_ends_the_flight(hop, tmp_path):
    file = write_fleet(tmp_path, hop, good={}, bad={})
    text, (good, bad) = lose_one_autopilot(file, tmp_path)
    assert 'fly: bad: the embedded autopilot has ended with exit code -9\n' in text
    assert good['failure'] == 'its flight was ended with that of another'
    assert bad['failure'] == 'the embedded autopilot has ended with exit code -9'
    assert port_is_free(INSTANCES[2])
    assert port_is_free(INSTANCES[3])


@pytest.mark.process
@pytest.mark.parametrize('mode', [
    pytest.param('core', marks=pytest.mark.long), 'composed'])
def test_one_that_has_lost_its_autopilot_begins_again_with_another(mode, hop, tmp_path):
    file = write_fleet(tmp_path, hop, good={}, bad={'when_gone': 'begin_again'})
    summary, bag = tmp_path / 'summary.json', tmp_path / 'bag'
    with running(command('fly', '--fleet', file, '--mode', mode, '--record', bag, '--summary',
                         summary)) as process:
        wait_for_line(process, 'bad: armed')
        end_autopilot(process, INSTANCES[3])
        text = process.communicate(timeout=100)[0]
        assert process.returncode == 0, text
    assert text.count('has ended with exit code -9; it is started again, and so is its flight') == 1
    assert text.count('is started again') == 1
    found = json.loads(summary.read_text())
    good, bad = found['fleet']
    assert [v['landed'] for v in (good, bad)] == [True, True]
    assert (good['repeatable'], good['new_begins'], good['misses']) == (True, 0, 0)
    assert (bad['repeatable'], bad['new_begins'], len(bad['arrivals'])) == (False, 1, 1)
    assert 'the autopilot has gone' in bad['not_repeatable_because']
    # In the recording time goes on, and the vehicle is where it stood at first.
    recorded = vehicles_of(bag)[1]
    truths = [recorded.decode(m) for m in recorded.messages() if m.topic == 'ground_truth/odom']
    gone_s = float(bad['not_repeatable_because'].split()[2])
    first, second = truths[0], truths[round(gone_s * 250)]
    assert second.header.stamp.sec + 1e-9 * second.header.stamp.nanosec == pytest.approx(
        gone_s + 0.004)
    assert second.pose.pose == first.pose.pose
    assert second.twist.twist == first.twist.twist


@pytest.mark.process
def test_a_vehicle_has_a_scenario_of_its_own(hop, here, tmp_path):
    scenario = tmp_path / 'weaker.yaml'
    scenario.write_text(yaml.safe_dump({
        'mission': str(hop),
        'events': [{'name': 'weak', 'when': {'time_s': {'above': 3.0}},
                    'motor_thrust': {'motor': 1, 'share': 0.9}}],
        'expect': [{'always': {'tilt_deg': {'below': 20}}},
                   {'never': {'height_m': {'above': 0.5}}}]}))
    file = write_fleet(tmp_path, hop, good={}, weak={'scenario': str(scenario)})
    summary, bag = tmp_path / 'summary.json', tmp_path / 'bag'
    page = tmp_path / 'page.html'
    result = here('fly', '--fleet', file, '--record', bag, '--summary', summary, '--report', page)
    assert result.returncode == 1
    # On a busy machine the report of a slow block may stand before it.
    assert 'fly: weak: expected never height_m above 0.5: fails' in result.stderr
    good, weak = json.loads(summary.read_text())['fleet']
    assert 'expectations' not in good
    assert [v['holds'] for v in weak['expectations']] == [True, False]
    assert health_of('weak', page.read_text())[5] == '; '.join(
        v['text'] for v in weak['expectations'])
    assert weak['events'][0]['event'].startswith('weak')
    assert (good['landed'], weak['landed'], weak['repeatable']) == (True, True, True)
    # The same as alone, and a replay has it from the recording.
    alone_ = tmp_path / 'alone.json'
    here('fly', '--mode', 'core', '--scenario', scenario, '--instance', weak['instance'], '--seed',
         weak['seed'], '--set', f"dynamics.start_east_m={5.0 * INSTANCES[3]}", '--summary', alone_)
    assert json.loads(alone_.read_text())['fingerprint'] == weak['fingerprint']
    assert here('replay', bag / 'weak').returncode == 0


@pytest.mark.parametrize(('words', 'sentence'), [
    (['--vehicles', '0'],
     "--vehicles: '0': must be a whole number, at least 1 and at most 100"),
    (['--vehicles', '2', '--spacing', '0'], 'spacing 0: must be greater than 0 and at most 100 m'),
    (['--spacing', '2'], 'spacing 2: is only for --vehicles'),
    (['--vehicles', '2', '--namespace', 'uav'], "namespace 'uav': is for one vehicle alone"),
    (['--vehicles', '2', '--spacing', '0.2'], 'px4_1 and px4_2 start 0.2 m apart: must be more'),
    (['--vehicles', '2', '--instance=0', '--spacing', '0.2'],
     'px4_0 and px4_1 start 0.2 m apart: must be more'),
    (['--vehicles', '100'], 'vehicles 100: px4_100 has no instance; instances end at 99, and'
     ' --instance sets the first, which is 1'),
    (['--vehicles', '2', '--set', 'hil_bridge.instance=x'],
     "hil_bridge.instance = 'x': must be a whole number"),
    (['--fleet', 'trio', '--set', 'hil_bridge.instance=x'],
     "hil_bridge.instance = 'x': must be a whole number"),
    (['--fleet', 'duo'],
     "fleet 'duo': there is no such fleet; there are collision, downwash, meeting,"
     " mixed, trio")])
def test_options_that_are_refused(words, sentence, here):
    refused = here('fly', *words)
    assert refused.returncode == 2
    assert refused.stderr.startswith(f'fly: {sentence}')
