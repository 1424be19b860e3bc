# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Two that collide in flight: the same bits in all modes and orders of vehicles, and replayed."""
import json

import instances
import numpy as np
import pytest
import yaml
from commands import here, run

from px4_sim_ros import Flight
from px4_sim_ros.link.hil.block import HilBlock
from px4_sim_ros.messages.texts import read_text
from px4_sim_ros.recording.bag.reader import vehicles_of
from px4_sim_ros.step.graph import COLLISION

pytestmark = pytest.mark.process       # flies
SCENARIOS = {
    'hovers': {'mission': [{'take_off': {'up_m': 1.0}}, {'hold': {'duration_s': 3.0}},
                           {'land': {}}],
               'expect': [{'eventually': {'contact': True}}]},
    'passes': {'mission': [{'take_off': {'up_m': 1.1}},
                           {'go_to': {'north_m': 0.0, 'east_m': 1.5, 'up_m': 1.1}}, {'land': {}}],
               'expect': [{'never': {'contact': True}}]}}
STARTS = {'hovers': {'north_m': 0.3}, 'passes': {'east_m': -1.5}}


def write_fleet(folder, free, order=('hovers', 'passes')):
    """Write the file of both; return it."""
    for name, its in SCENARIOS.items():
        (folder / f'{name}.yaml').write_text(yaml.safe_dump(its))
    (folder / 'fleet.yaml').write_text(yaml.safe_dump({
        'set': {'collisions': True}, 'vehicles': [
            {'namespace': name, 'scenario': str(folder / f'{name}.yaml'), 'start': STARTS[name],
             'seed': len(name), 'instance': next(free)} for name in order]}))
    return folder / 'fleet.yaml'


def fly(folder, mode):
    """Fly and record both; return the summary."""
    with instances.free() as free:
        start = here if mode == 'core' else run
        done = start('fly', '--fleet', write_fleet(folder, free), '--mode', mode, '--record',
                     folder / mode, '--summary', folder / 'summary.json')
    # One expects what never is.
    assert done.returncode == 1, done.stdout + done.stderr
    return json.loads((folder / 'summary.json').read_text())


def fingerprints(summary):
    return {its['namespace']: its['fingerprint'] for its in summary['fleet']}


@pytest.fixture(scope='module')
def flown(tmp_path_factory):
    folder = tmp_path_factory.mktemp('flown')
    return folder, fly(folder, 'core')


def test_both_get_the_same_force_the_other_way_and_fly_on(flown):
    folder, summary = flown
    forces = {bag.run.namespace: {its.time_us: read_text(COLLISION, bag.decode(its).msg)
                                  for its in bag.messages() if its.topic == COLLISION}
              for bag in vehicles_of(folder / 'core')}
    hit = [time_us for time_us, force in forces['hovers'].items() if force]
    assert len(hit) > 5
    for time_us in hit:
        passes, hovers = (np.array(forces[name][time_us]) for name in ('passes', 'hovers'))
        assert passes[:3] == pytest.approx(-hovers[:3], rel=1e-15)
        # Two spheres of one size that rub turn the same way.
        assert passes[3:] == pytest.approx(hovers[3:], rel=1e-12) and passes[3:].any()
    assert summary['collisions'] > 0 and all(its['landed'] for its in summary['fleet'])
    held = {its['namespace']: [e['holds'] for e in its['expectations']] for its in summary['fleet']}
    assert held == {'hovers': [True], 'passes': [False]}


# In a push the wakes of test_downwash_flights go the same way.
@pytest.mark.long
@pytest.mark.parametrize('mode', ['composed', 'separate'])
def test_each_mode_gives_the_same_bits(mode, flown, tmp_path):
    assert fingerprints(fly(tmp_path, mode)) == fingerprints(flown[1])
    compared = here('compare', tmp_path / mode, flown[0] / 'core')
    assert compared.stdout.count('common messages are bit-identical') == 2, compared.stdout


def test_steps_are_taken_at_once_while_no_two_are_near(
        flown, monkeypatch, free_instances, tmp_path):
    options = {'fleet': str(write_fleet(tmp_path, free_instances)), 'record': False}
    begun, take = [], HilBlock._take

    def counted(self, burst):
        begun.append(burst.begun)
        take(self, burst)

    monkeypatch.setattr(HilBlock, '_take', counted)
    ahead = Flight(**options).fly().summary()
    assert ahead['collisions'] and 0.5 * ahead['steps'] < sum(begun) < 2 * ahead['steps']
    begun.clear()
    monkeypatch.setattr(HilBlock, 'runs_ahead', False)
    one_by_one = Flight(**options).fly().summary()
    assert fingerprints(one_by_one) == fingerprints(ahead) == fingerprints(flown[1]) and not begun


def test_it_does_not_matter_who_is_first(flown, free_instances, tmp_path):
    fleet = write_fleet(tmp_path, free_instances, ('passes', 'hovers'))
    other = Flight(fleet=str(fleet), record=False).fly().summary()
    assert fingerprints(other) == fingerprints(flown[1])


def test_a_replay_of_one_is_hit_as_it_was(flown):
    again = here('replay', flown[0] / 'core' / 'hovers')
    assert again.returncode == 0, again.stdout + again.stderr
    assert again.stdout.endswith('common messages are bit-identical\n')
