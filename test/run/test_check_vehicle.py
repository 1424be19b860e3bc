"""The command check-vehicle, as a user runs it."""
import json

import pytest
import yaml
from commands import run

from px4_sim_ros.config.resources import config_directory

pytestmark = pytest.mark.slow       # starts processes and waits


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


@pytest.mark.parametrize('name', ['iris', 'x500', 'hexa'])
def test_a_good_vehicle(name):
    result = run('check-vehicle', name)
    assert result.returncode == 0, result.stdout
    assert result.stderr == ''
    first, *figures, last = result.stdout.splitlines()
    assert (first, last) == (f'vehicle {name}', 'plausible')
    assert any(line.split()[0] == 'thrust_to_weight' for line in figures)


def test_json():
    result = run('check-vehicle', config_directory() / 'vehicles' / 'x500.yaml', '--json')
    assert result.returncode == 0
    found = json.loads(result.stdout)
    assert found['vehicle'] == 'x500'
    assert found['implausible'] == []
    assert found['figures']['mass_kg'] == 2.0643


def test_an_implausible_vehicle(altered):
    path = altered('body', mass_kg=2.6)
    result = run('check-vehicle', path)
    assert result.returncode == 1
    assert 'implausible: thrust_to_weight = 0.9' in result.stdout
    assert 'expected at least 1.2 and at most 20' in result.stdout
    found = json.loads(run('check-vehicle', path, '--json').stdout)
    assert any(sentence.startswith('hover_command = ') for sentence in found['implausible'])


def test_json_has_no_infinity(altered):
    path = altered('body', quadratic_drag_n_s2_m2=0.0)
    result = run('check-vehicle', path, '--json')
    assert result.returncode == 1
    assert json.loads(result.stdout, parse_constant=pytest.fail)['figures'][
        'fall_speed_m_s'] is None


@pytest.mark.parametrize(('values', 'sentence'), [
    ({'mass_kg': -1.0}, 'body.mass_kg = -1.0: must be greater than 0 kg'),
    ({'mas_kg': 1.0}, 'body.mas_kg: unknown parameter; did you mean mass_kg'),
    ({'inertia_kg_m2': [1.0, 1.0]}, 'must be 3 numbers'),
])
def test_a_bad_file(altered, values, sentence):
    result = run('check-vehicle', altered('body', **values))
    assert result.returncode == 2
    assert result.stdout == ''
    line, = result.stderr.splitlines()
    assert sentence in line


@pytest.mark.parametrize('text', [None, 'a: [', '5', ''])
def test_a_file_that_is_none(tmp_path, text):
    path = tmp_path / 'none.yaml'
    if text is not None:
        path.write_text(text)
    result = run('check-vehicle', path)
    assert result.returncode == 2
    line, = result.stderr.splitlines()
    assert line.startswith(f'check-vehicle: vehicle file {path}: ')
