# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command check-vehicle."""
import json

import pytest
import yaml

from px4_sim_ros.cli import fly_plan
from px4_sim_ros.cli.check_vehicle import examined, hover_figures
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.spec.resources import config_directory


@pytest.fixture
def altered(tmp_path):
    """Return a function that writes an Iris with another value in a section."""
    def write(section, **values):
        content = yaml.safe_load((config_directory() / 'vehicles' / 'iris.yaml').read_text())
        content[section] |= values
        path = tmp_path / 'altered.yaml'
        path.write_text(yaml.safe_dump(content))
        return path
    return write


@pytest.mark.parametrize('name', ['iris', 'x500', 'hexa', 'octo'])
def test_a_good_vehicle(name, here):
    result = here('check-vehicle', name)
    assert result.returncode == 0, result.stdout
    assert result.stderr == ''
    first, *figures, last = result.stdout.splitlines()
    assert (first, last) == (f'vehicle {name}', 'plausible')
    assert any(line.split()[0] == 'thrust_to_weight' for line in figures)


def test_json(here):
    result = here('check-vehicle', config_directory() / 'vehicles' / 'x500.yaml', '--json')
    assert result.returncode == 0
    found = json.loads(result.stdout)
    assert found['vehicle'] == 'x500'
    assert found['implausible'] == []
    assert found['figures']['mass_kg'] == 2.0643


def test_an_implausible_vehicle(altered, here):
    path = altered('body', mass_kg=2.6)
    result = here('check-vehicle', path)
    assert result.returncode == 1
    assert 'implausible: thrust_to_weight = 0.9' in result.stdout
    assert 'expected at least 1.2 and at most 20' in result.stdout
    found = json.loads(here('check-vehicle', path, '--json').stdout)
    assert any(sentence.startswith('hover_command = ') for sentence in found['implausible'])


@pytest.mark.parametrize(('parameters', 'sentences'), [
    ({'CA_ROTOR0_PX': 0.13, 'CA_ROTOR0_PY': 0.22, 'CA_ROTOR0_KM': 0.05, 'CA_ROTOR_COUNT': 4}, []),
    ({'CA_ROTOR0_PY': -0.22}, [
        'px4_parameters.CA_ROTOR0_PY = -0.22: by position_m this rotor is 0.22 m to the right']),
    ({'CA_ROTOR1_PX': 0.13, 'CA_ROTOR2_KM': 0.05, 'CA_ROTOR4_PX': 1, 'CA_ROTOR_COUNT': 6}, [
        'px4_parameters.CA_ROTOR1_PX = 0.13: by position_m this rotor is -0.13 m forward',
        'px4_parameters.CA_ROTOR2_KM = 0.05: must be negative, since this rotor turns cw',
        'px4_parameters.CA_ROTOR4_PX = 1: there are 4 rotors, from 0 on',
        'px4_parameters.CA_ROTOR_COUNT = 6: there are 4 rotors'])])
def test_px4_is_told_of_the_same_rotors(parameters, sentences, tmp_path, here):
    content = yaml.safe_load((config_directory() / 'vehicles' / 'iris.yaml').read_text())
    path = tmp_path / 'altered.yaml'
    content['px4_parameters'] |= parameters
    path.write_text(yaml.safe_dump(content))
    result = here('check-vehicle', path)
    assert result.returncode == bool(sentences)
    assert [line.removeprefix('implausible: ') for line in result.stdout.splitlines()
            if 'px4_parameters' in line] == sentences


def test_json_has_no_infinity(altered, here):
    path = altered('body', quadratic_drag_n_s2_m2=0.0)
    result = here('check-vehicle', path, '--json')
    assert result.returncode == 1
    assert json.loads(result.stdout, parse_constant=pytest.fail)['figures'][
        'fall_speed_m_s'] is None


@pytest.mark.parametrize('text', [None, 'a: [', '5', '', 'body: {mas_kg: 1}'])
def test_a_file_that_is_none(tmp_path, text, here):
    path = tmp_path / 'none.yaml'
    if text is not None:
        path.write_text(text)
    result = here('check-vehicle', path)
    assert result.returncode == 2
    line, = result.stderr.splitlines()
    assert line.startswith(f'check-vehicle: vehicle file {path}: ')


def test_a_flight_says_what_is_implausible_in_a_file_of_ones_own(altered):
    """In the same words, before it starts; nothing of one that comes along."""
    own = altered('body', mass_kg=2.6)
    configurations = [load_configuration(None, {'': {'vehicle': str(name)}})
                      for name in ('iris', own, config_directory() / 'vehicles' / 'x500.yaml')]
    said = fly_plan.remarks(configurations)
    expected = examined(configurations[1])[1]
    assert expected
    assert said == [f'vehicle iris: implausible: {sentence}' for sentence in expected]


@pytest.mark.parametrize(('duration_s', 'sentences'), [(700.0, 0), (800.0, 1)])
def test_a_flight_says_that_its_mission_is_longer_than_its_battery_lasts(
        tmp_path, duration_s, sentences):
    mission = tmp_path / 'long.yaml'
    mission.write_text(yaml.safe_dump({'name': 'long', 'items': [
        {'take_off': {'up_m': 10.0}}, {'hold': {'duration_s': 300.0}},
        {'hold': {'duration_s': duration_s - 300.0}}, {'land': {}}]}))
    configuration = load_configuration(None, {'': {'mission': str(mission)}})
    endurance_s = hover_figures(configuration).endurance_s
    assert endurance_s == pytest.approx(768.6, abs=0.1)
    assert fly_plan.remarks([configuration]) == [
        'vehicle iris: its battery lasts for 769 s of hover, and the mission holds for 800 s'
    ][:sentences]
    assert not fly_plan.remarks([load_configuration(None, {'': {
        'mission': str(mission), 'vehicle': 'plane'}})])
