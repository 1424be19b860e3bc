# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Vehicles below others, that join and leave: the same bits in all modes, and in a replay."""
import json

import instances
import pytest
import yaml
from commands import here, run

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
        'hover': [{'take_off': {'up_m': UPPER_M}}, {'hold': {'duration_s': 2.0}}, {'land': {}}],
        'pass': [{'take_off': {'up_m': LOWER_M}},
                 {'go_to': {'north_m': 0.0, 'east_m': 3.6, 'up_m': LOWER_M}}, {'land': {}}]}
    for name, its in items.items():
        (folder / f'{name}.yaml').write_text(yaml.safe_dump({'name': name, 'items': its}))
    return {
        'above': {'mission': str(folder / 'hover.yaml')},
        'below': {'mission': str(folder / 'pass.yaml'), 'start': {'east_m': -1.8}},
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
    assert summary['repeatable'], summary['not_repeatable_because']
    felt = downdraughts(folder / 'bag')
    assert felt['below'] < -2.5 and felt['guest'] < -0.05
    # Above nothing blows, but while the two rise side by side.
    assert felt['above'] > -0.05
    assert (folder / 'page.html').stat().st_size > 10_000


# Each push flies the mode in which all goes by messages.
@pytest.mark.parametrize('mode', [
    pytest.param('composed', marks=pytest.mark.long), 'separate'])
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
    for its, other in zip(vehicles_of(tmp_path / 'bag'), vehicles_of(folder / 'bag')):
        assert {m.topic for m in its.messages()} >= {m.topic for m in other.messages()}


@pytest.mark.parametrize('mode', [
    'core', pytest.param('separate', marks=pytest.mark.long)])   # as in composed, and by messages
def test_a_replay_of_one_has_the_wakes_of_the_others(mode, flown, here):
    result = (here if mode == 'core' else run)('replay', flown[0] / 'bag' / 'below', '--mode', mode)
    assert result.returncode == 0, result.stdout + result.stderr
    assert 'common messages are bit-identical' in result.stdout
    if mode == 'core':
        assert here('replay', flown[0] / 'bag' / 'guest').returncode == 0


def test_without_the_key_they_fly_as_if_alone(vehicles, flown, here, tmp_path):
    found = fly(vehicles, tmp_path, '--mode', 'core', '--set', 'downwash=false',
                '--record', tmp_path / 'bag', start=here)
    below, felt = found['fleet'][1], flown[1]['fleet'][1]
    assert below['fingerprint'] != felt['fingerprint']
    topics = {m.topic for its in vehicles_of(tmp_path / 'bag') for m in its.messages()}
    assert not {'wind', 'wake', 'wakes'} & topics
