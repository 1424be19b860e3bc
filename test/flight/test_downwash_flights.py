# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Vehicles below others, that join and leave: the same bits in all modes, and in a replay."""
import json

import instances
import numpy as np
import pytest
import yaml
from commands import here, run
from headless_rerun import Read

from px4_sim_ros.recording.bag.reader import vehicles_of

UPPER_M, LOWER_M = 1.6, 0.5

pytestmark = pytest.mark.process       # flies


@pytest.fixture(scope='module')
def vehicles(tmp_path_factory):
    """Return one that hovers, one that comes below it, one that joins and leaves, and a reserve.

    The third one stands on the ground below, with its own rotors at rest.
    """
    folder = tmp_path_factory.mktemp('missions')
    items = {
        'hover': [{'take_off': {'up_m': UPPER_M}}, {'hold': {'duration_s': 1.0}}, {'land': {}}],
        'pass': [{'take_off': {'up_m': LOWER_M}},
                 {'go_to': {'north_m': 0.0, 'east_m': 3.6, 'up_m': LOWER_M}}, {'land': {}}]}
    for name, its in items.items():
        (folder / f'{name}.yaml').write_text(yaml.safe_dump({'name': name, 'items': its}))
    return {
        'above': {'mission': str(folder / 'hover.yaml')},
        'below': {'mission': str(folder / 'pass.yaml'), 'start': {'east_m': -1.8},
                  'joins_at_s': 0.2},
        'guest': {'mission': 'none', 'joins_at_s': 1.012, 'leaves_at_s': 4.004,
                  'start': {'north_m': 1.0}},
        'spare': {'mission': 'none', 'in_reserve': True, 'start': {'north_m': 9.0}}}


def fly(vehicles, folder, *words, start=run):
    fleet, file = folder / 'stacked.yaml', folder / 'summary.json'
    with instances.free() as free:
        fleet.write_text(yaml.safe_dump({'set': {'downwash': True}, 'vehicles': [
            {'namespace': name, 'instance': next(free), **entry}
            for name, entry in vehicles.items()]}))
        result = start('fly', '--fleet', fleet, '--summary', file, *words)
    assert result.returncode == 0, result.stdout + result.stderr
    return json.loads(file.read_text())


@pytest.fixture(scope='module')
def flown(vehicles, tmp_path_factory):
    """Return the folder of a flight in core, and its summary."""
    folder = tmp_path_factory.mktemp('flown')
    return folder, fly(vehicles, folder, '--mode', 'core', '--record', folder / 'bag',
                       '--report', folder / 'page.html', start=here)


def downdraughts(bag):
    """Return the least vertical wind that each vehicle felt, m/s."""
    return {its.run.namespace: min((
        its.decode(m).twist.linear.z for m in its.messages() if m.topic == 'wind'), default=0.0)
        for its in vehicles_of(bag)}


def test_who_is_below_feels_it(flown):
    folder, summary = flown
    assert [v['landed'] for v in summary['fleet'][:2]] == [True, True]
    felt = downdraughts(folder / 'bag')
    assert felt['below'] < -2.5 and felt['guest'] < -0.05
    # Above nothing blows, but while the two rise side by side.
    assert felt['above'] > -0.05


def test_they_come_and_go_when_they_are_to(flown):
    folder, summary = flown
    assert [(v['joined_s'], v['left_s']) for v in summary['fleet']] == [
        (0.0, None), (0.2, None), (1.012, 4.004), (None, None)]
    assert summary['repeatable'], summary['not_repeatable_because']
    assert summary['fleet'][3]['failure'] == ''
    # Each has answered the steps that it was there for.
    end_s = summary['sim_time_s']
    stays_s = end_s, end_s - 0.2, 2.992, 0.0
    assert [v['replies'] for v in summary['fleet']] == [round(250 * stay_s) for stay_s in stays_s]
    assert summary['vehicle_seconds_per_second'] == pytest.approx(
        summary['real_time_factor'] * sum(stays_s) / end_s, rel=0.01,
        abs=0.0051 * (1.0 + sum(stays_s) / end_s))     # both are rounded to hundredths
    assert {tuple(pair['vehicles']) for pair in summary['distances']} == {
        ('above', 'below'), ('above', 'guest'), ('below', 'guest')}
    page = (folder / 'page.html').read_text()
    assert '1.016 to 4.004' in page and 'never' in page and 'guest.world' in page


def test_the_recording_has_them_from_when_to_when_they_were_there(flown):
    folder, summary = flown
    bags, times_s = vehicles_of(folder / 'bag'), {}
    for bag in bags:
        stamps = [m.time_us for m in bag.messages() if m.topic == 'ground_truth/odom']
        times_s[bag.run.namespace] = (stamps[0] / 1e6, stamps[-1] / 1e6) if stamps else None
    assert times_s == {'above': (0.004, summary['sim_time_s']),
                       'below': (0.204, summary['sim_time_s']), 'guest': (1.016, 4.004),
                       'spare': None}
    said = [(m.time_us, bags[0].decode(m).name, bags[0].decode(m).msg)
            for m in bags[0].messages() if m.topic == '/rosout']
    assert [it for it in said if it[1].endswith('.world')] == [
        (200_000, 'below.world', 'it joins'), (1_012_000, 'guest.world', 'it joins'),
        (4_004_000, 'guest.world', 'it leaves')]


def test_rerun_shows_all_in_one_space_and_each_while_it_is_there(flown, tmp_path):
    rerun = pytest.importorskip('rerun', reason='rerun-sdk is not installed')
    from px4_sim_ros.viewing.rerun_bag import write_fleet
    bags, file = vehicles_of(flown[0] / 'bag'), tmp_path / 'fleet.rrd'
    stream = rerun.RecordingStream('test')
    stream.save(file)
    write_fleet(bags, stream)
    stream.flush(timeout_sec=10.0)
    stream.disconnect()
    shown, distances = Read(file), {}
    for bag in bags[:3]:
        name = bag.run.namespace
        poses = [bag.decode(m).pose.position for m in bag.messages()
                 if m.topic == 'ground_truth/pose']
        _, path = shown.of(f'/{name}/world/vehicle', 'Transform3D:translation')
        assert np.reshape(path, (-1, 3)) == pytest.approx(
            np.array([(p.x, p.y, p.z) for p in poses]), abs=1e-5)
        distances[name] = shown.scalars(f'/{name}/distance')[1]
    assert not any(entity.startswith('/spare/distance') for entity in shown.values)
    assert len(distances['guest']) < len(distances['below']) <= len(distances['above'])
    assert min(distances['above']) == pytest.approx(flown[1]['least_distance_m'], abs=1e-3)


# In a push test_fleet_graph flies with wakes in composed, and compares the bits with those of core.
@pytest.mark.long
@pytest.mark.parametrize('mode', ['composed', 'separate'])
def test_each_mode_gives_the_same_bits(mode, vehicles, flown, here, tmp_path):
    folder, summary = flown
    # Recorded by value in composed, by subscriptions in separate: wakes as messages, too.
    found = fly(vehicles, tmp_path, '--mode', mode, '--record', tmp_path / 'bag')
    for vehicle, other in zip(found['fleet'], summary['fleet']):
        same = 'namespace', 'seed', 'fingerprint', 'joined_s', 'left_s', 'landed', 'misses'
        assert {key: vehicle[key] for key in same} == {key: other[key] for key in same}
    same = ('fingerprint', 'repeatable', 'least_distance_m', 'distances', 'near_misses',
            'collisions', 'events')
    assert {key: found[key] for key in same} == {key: summary[key] for key in same}
    compared = here('compare', tmp_path / 'bag', folder / 'bag')
    assert compared.stdout.count('common messages are bit-identical') == 4, compared.stdout
    # With all that the flight in core has.
    its, other = ({m.topic for m in vehicles_of(bag)[0].messages_of_all()}
                  for bag in (tmp_path / 'bag', folder / 'bag'))
    assert its >= other


def test_a_replay_of_each_has_the_wakes_of_the_others(flown, here):
    whole = here('replay', flown[0] / 'bag')
    assert (whole.returncode, whole.stdout.count('bit-identical')) == (0, 3), whole.stderr
    refused = here('replay', flown[0] / 'bag' / 'guest', '--mode', 'composed')
    assert refused.returncode == 2
    assert 'is not there all the time; it is replayed in mode core only' in refused.stderr


@pytest.mark.long
def test_a_replay_of_one_by_messages_has_them_as_well(flown):
    result = run('replay', flown[0] / 'bag' / 'above', '--mode', 'separate')
    assert result.returncode == 0, result.stdout + result.stderr
    assert 'common messages are bit-identical' in result.stdout


def test_without_the_key_they_fly_as_if_alone(vehicles, flown, here, tmp_path):
    found = fly(vehicles, tmp_path, '--mode', 'core', '--set', 'downwash=false',
                '--record', tmp_path / 'bag', start=here)
    below, felt = found['fleet'][1], flown[1]['fleet'][1]
    assert below['fingerprint'] != felt['fingerprint']
    topics = {m.topic for its in vehicles_of(tmp_path / 'bag') for m in its.messages()}
    assert not {'wind', 'wake', 'wakes'} & topics
