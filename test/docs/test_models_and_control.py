# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The pages about the models and about run control have the choices and states of the code."""
import pathlib
import re

from px4_sim_ros.flight.record import FlightResult, WorldStatus
from px4_sim_ros.messages.run_status import RunState
from px4_sim_ros.model.body.integrators import DynamicsParameters
from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.spec.flight_spec import Options, flight_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONTROL, MODELS = ((ROOT / 'docs' / f'{name}.md').read_text(encoding='utf-8')
                   for name in ('run_control', 'models'))


def rows(text, head):
    """Return the cells of the table whose first column has a name, without their quotes."""
    table = text[text.index(f'| {head} |'):].partition('\n\n')[0]
    return [[cell.strip().replace('`', '') for cell in line.strip('|').split('|')]
            for line in table.splitlines()[2:]]


def test_states_of_a_run():
    assert [row[0] for row in rows(CONTROL, 'state')] == [state.value for state in RunState]


def test_the_names_in_a_summary():
    result = FlightResult(flight_of(Options()))
    result.first.status = WorldStatus(steps=2)
    summary = result.summary({})
    told = {name for row in rows(CONTROL, 'name') for name in row[0].split(', ')}
    # The others are of a flight whose PX4 has written a log; `fly` begins with its verdict.
    assert told - set(summary) == {'log_dropouts', 'log_lost_s', 'verdict'}
    assert set(summary['step_cost_us']) >= {'autopilot', 'rest'}


def test_the_choices_of_the_world():
    told = {name: re.findall(r'`([\w-]+)`', text) for name, text in re.findall(
        r'^\| (\w+) \| (.*) \|$', MODELS, re.M)}
    for name, folder in ('profiles', 'profiles'), ('vehicles', 'vehicles'), (
            'missions', 'missions'):
        files = {path.stem for path in (ROOT / 'config' / folder).glob('*.yaml')}
        assert files == set(told[name]) - {'check-vehicle'}
    choices = WorldParameters.infos()['wind']['choices']
    assert set(told['wind']) == set(choices) - {'none'}
    assert set(told['motion']) == set(DynamicsParameters.infos()['integrator']['choices'])
