# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Campaign files: what runs are made of them, and what is refused with which sentence."""
import json

import pytest
import yaml

from px4_sim_ros.campaign.conduct import check
from px4_sim_ros.campaign.inputs import read_column
from px4_sim_ros.campaign.plan import Campaign
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.spec.resources import named_files

GROUND = {'mission': 'none', 'end': {'at_s': 0.1}, 'seed': 9, 'events': [
    {'name': 'lost', 'at_s': 0.05, 'gnss_denied': {}, 'for_s': 0.02},
    {'at_s': 0.01, 'note': {'text': 'x'}}]}


def campaign(vary=None, **more):
    return Campaign.from_mapping('x', 'campaign file x.yaml', {
        'scenario': GROUND, 'vary': vary or {}, 'runs': 3, **more})


def test_a_value_goes_to_its_place():
    found = campaign({
        'events.lost.for_s': {'table': [0.01, 0.02]}, 'set.gps.delay_s': {'table': [0.1, 0.2]},
        'events.2.note.text': {'table': ['a', 'b']}, 'weather.speed_m_s': {'table': [3, 4]},
        'px4.MPC_XY_P': {'table': [0.9, 1.0]}, 'end.at_s': {'table': [0.2, 0.3]},
        'vehicle.body.mass_kg': {'table': [1.5, 1.6]},
        'vehicle.rotors.1.position_m.1': {'table': [0.1, 0.2]}})
    run = found.run(2)
    assert run.scenario['events'] == [
        {'name': 'lost', 'at_s': 0.05, 'gnss_denied': {}, 'for_s': 0.02},
        {'at_s': 0.01, 'note': {'text': 'b'}}]
    assert run.scenario['set'] == {'gps.delay_s': 0.2}
    assert run.scenario['weather'] == {'speed_m_s': 4}
    assert run.scenario['px4'] == {'MPC_XY_P': 1.0}
    assert run.scenario['end'] == {'at_s': 0.3}
    assert run.is_own_vehicle
    assert run.vehicle['body']['mass_kg'] == 1.6
    assert run.vehicle['rotors'][0]['position_m'][0] == 0.2
    # What others fly stays as it was.
    assert found.scenario['events'][0]['for_s'] == 0.02
    assert found.vehicles['iris']['body']['mass_kg'] == 1.55


def test_noise_is_that_of_the_run_or_of_the_scenario():
    assert len({campaign().run(number).scenario['seed'] for number in (1, 2, 3)}) == 3
    assert {campaign(noise='same').run(n).scenario['seed'] for n in (1, 2, 3)} == {9}


def test_a_campaign_is_the_same_without_its_files(tmp_path):
    file, values = tmp_path / 'windy.yaml', tmp_path / 'v.csv'
    values.write_text('speed,from\n3,west\n4.5,east\n')
    file.write_text(yaml.dump(GROUND))
    content = {'scenario': str(file), 'runs': 4, 'sampling': 'sobol', 'vary': {
        'vehicle': {'choice': ['iris', 'x500']},
        'place.home_altitude_m': {'normal': {'mean': 500, 'sigma': 9, 'high': 510}},
        'weather.speed_m_s': {'table': {'file': str(values), 'column': 'speed'}}}}
    found = Campaign.from_mapping('x', 'x', content)
    again = Campaign.from_mapping('x', 'x', json.loads(json.dumps(found.to_mapping())))
    file.unlink()
    values.unlink()
    assert [again.run(n) for n in range(1, 5)] == [found.run(n) for n in range(1, 5)]
    assert {found.run(n).vehicle['name'] for n in range(1, 5)} == {'iris', 'x500'}
    assert [found.run(n).inputs['weather.speed_m_s'] for n in (1, 2, 3)] == [3, 4.5, 3]


def test_a_mission_alone_has_to_be_flown():
    found = Campaign.from_mapping('x', 'x', {'mission': 'hover'})
    assert found.scenario['mission'][0] == {'take_off': {'up_m': 10.0}}
    assert found.scenario['expect'] == [{'eventually': {'flown': True}}]


@pytest.mark.parametrize(('content', 'sentence'), [
    ([], 'x.yaml: must be a mapping of scenario, mission, vary, autopilot'),
    ({'scenaro': 'x'}, 'x.yaml: campaign.scenaro: unknown parameter; did you mean scenario?'),
    ({'runs': 2}, 'x.yaml: must hold either scenario or mission'),
    ({'scenario': 'gnss_lots'}, "scenario 'gnss_lots': there is no such scenario; did you mean"),
    ({'scenario': [1]}, 'scenario: must be a name in config/scenarios, a path, or what'),
    ({'mission': 'squar'}, "mission 'squar': there is no such mission; did you mean square"),
    ({'runs': 0}, 'x.yaml.runs = 0: must be at least 1'),
    ({'sampling': 'sobool'}, "sampling = 'sobool': must be one of random, latin_hypercube, sobol;"
                             ' did you mean sobol'),
    ({'vary': [1]}, 'vary = [1]: must be a mapping of what varies'),
    ({'vary': {'vehicle': {'uniform': [1, 2]}}},
     'vary.vehicle: must be a choice or a table of names'),
    ({'vary': {'x': {'normal': {'mean': 1, 'sigma': 1, 'low': 100, 'high': 101}}}},
     'between low and high there is nothing of it'),
    ({'vehicle_files': 3}, 'x.yaml: vehicle_files = 3: must be a mapping'),
    ({'vary': {'x': {'table': [1]}, 'y': {'table': [1, 2]}}}, 'so they must be equally long'),
    ({'vary': {'x': {'table': {'file': '/nowhere/a.csv', 'column': 'x'}}}},
     'vary.x.table.file /nowhere/a.csv: No such file or directory'),
])
def test_a_file_that_is_wrong_is_refused(content, sentence):
    given = {'scenario': GROUND, **content} if isinstance(content, dict) else content
    if isinstance(content, dict) and ('mission' in content or content == {'runs': 2}):
        given = content
    with pytest.raises(ParameterError) as error:
        Campaign.from_mapping('x', 'campaign file x.yaml', given)
    assert sentence in str(error.value)


@pytest.mark.parametrize(('text', 'found'), [
    (b'a,x\n1,2\n3\n', [2, '']), (b'a\n1,2\n', 'has no such column; it has a'),
    (b'', 'it has none'), (b'x\n', 'has no such column'),
    (b'x\n\xff\n', 'must be text in UTF-8; line 2'),
    (b'x\n' + b'1' * 200_000, 'must be text of CSV'),
    (b'x\n' + b'1\n' * (2 << 20) + b'1', '4 MiB')])
def test_a_column_is_read_or_refused_in_a_sentence(text, found, tmp_path):
    (tmp_path / 'v.csv').write_bytes(text)
    words = {'file': str(tmp_path / 'v.csv'), 'column': 'x'}
    if isinstance(found, list):
        assert read_column('x.table', words) == found
        return
    with pytest.raises(ParameterError) as error:
        read_column('x.table', words)
    assert found in str(error.value) and 'x.table' in str(error.value)


@pytest.mark.parametrize(('vary', 'sentence'), [
    ({'wether.speed_m_s': {'uniform': [0, 1]}},
     "vary.wether.speed_m_s: 'wether' is no part of a scenario; did you mean weather"),
    ({'weather.sped_m_s': {'uniform': [0, 1]}},
     'wind.sped_m_s: unknown parameter; did you mean speed_m_s or gust_speed_m_s?'),
    ({'set.barometer.noise': {'uniform': [0, 1]}},
     'barometer.noise: unknown parameter; did you mean noise_pa?'),
    ({'set.barometer.noise_pa': {'uniform': [-1, 0]}}, 'noise_pa = -'),
    ({'events.lots.for_s': {'uniform': [0, 1]}},
     'vary.events.lots.for_s: there is no lots in events; did you mean lost'),
    ({'events.lost.fors': {'uniform': [0, 1]}}, 'there is no fors in events.lost; did you mean'),
    ({'vehicle.body.mas_kg': {'uniform': [1, 2]}}, 'no mas_kg in vehicle.body; did you mean mass'),
    ({'vehicle.body.mass_kg': {'uniform': [-2, -1]}}, 'body.mass_kg = -'),
    ({'vehicle': {'choice': ['iris', 'irsi']}}, "vehicle 'irsi': there is no such vehicle; did"),
    ({'vehicle': {'choice': ['iris', 'plane']}}, "vary.vehicle = 'plane'"),
    ({'mission': {'choice': ['hover', 'sqare']}}, "vary.mission = 'sqare': mission 'sqare': there"),
    ({'expect.1.always.tilt_deg': {'uniform': [0, 1]}}, 'there is no expect in the scenario'),
    ({'weather': {'choice': [1]}}, 'vary.weather: must name a value within weather'),
    ({'place.home_latitude': {'uniform': [0, 1]}}, 'home_latitude: unknown parameter; did you'),
    ({'px4.MPC_XY_P': {'table': [0.9, 1.0]}},
     'vary.px4.MPC_XY_P: the embedded autopilot has no parameters; fly with the autopilot px4'),
])
def test_what_cannot_vary_is_refused_before_anything_flies(vary, sentence):
    with pytest.raises(ParameterError) as error:
        check(campaign(vary), None)
    assert sentence in str(error.value), str(error.value)
    assert '\n' not in str(error.value)


def test_the_examples_can_be_flown():
    assert len(named_files('campaigns')) >= 2
    for name, path in named_files('campaigns').items():
        assert path.read_text(encoding='utf-8').startswith('# ')
        check(Campaign.load(name), None)


def test_what_is_recorded_is_checked_before_anything_flies():
    with pytest.raises(ParameterError, match=r"recorder\.topics = 'odom': there is no such topic"):
        check(campaign(record_topics='odom', keep_every=1), None)
    assert campaign(record_every=25).settings.recorder == {'topics': '', 'every': 25}
