# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Parameter files laid over the defaults: which section is for whom, and refusals."""
from __future__ import annotations

import re

import pytest
import yaml

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.spec.parameter_files import write_parameters
from px4_sim_ros.spec.resources import config_directory
from px4_sim_ros.step import graph


@pytest.fixture
def load(tmp_path):
    """Return a function from sections (and a namespace) to the configuration."""
    def loaded(sections, namespace=''):
        path = tmp_path / 'params.yaml'
        path.write_text(yaml.safe_dump(
            {k: {'ros__parameters': v} for k, v in sections.items()}, sort_keys=False),
            encoding='utf-8')
        return load_configuration(path, {}, namespace)
    return loaded


def refusal(build, *arguments):
    """Return the error sentence of a call that must be refused."""
    with pytest.raises(ParameterError) as error:
        build(*arguments)
    of_file = r'^parameter file .*?/params\.yaml: (?=[\w.]+(?: = |: unknown))'
    return re.sub(of_file, '', str(error.value))


@pytest.mark.parametrize('pattern', ['/**/imu', '/imu', 'imu', '**/imu'])
def test_patterns_that_name_the_imu(load, pattern):
    """As in ROS 2 parameter files: ** is any number of names."""
    assert load({pattern: {'gyro_turn_on_bias': 0.25}}).nodes['imu'].gyro_turn_on_bias == 0.25


def test_star_is_any_one_name(load):
    """/* means every node that has no namespace."""
    assert load({'/*': {'seed': 5}}).world.seed == 5


@pytest.mark.parametrize('pattern', ['/ns/imu', 'ns/imu', '/*/imu', '/**/imu'])
def test_patterns_with_a_namespace(load, pattern):
    """The same node in the namespace ns."""
    assert load({pattern: {'gyro_turn_on_bias': 0.25}}, 'ns').nodes['imu'].gyro_turn_on_bias == 0.25


@pytest.mark.parametrize(('pattern', 'namespace'), [
    ('/ns/imu', ''), ('/imu', 'ns'), ('imu', '/ns'), ('imuu', ''), ('/*/imu', ''),
    ('/**/im', ''), ('/other/imu', 'ns'), ('/*/imu', 'a/b')])
def test_section_that_is_for_no_node_is_refused(load, tmp_path, pattern, namespace):
    """It would be ignored without a word; the sentence lists the nodes."""
    prefix = f"/{namespace.strip('/')}" if namespace else ''
    assert refusal(load, {pattern: {'gyro_turn_on_bias': 0.25}}, namespace) == (
        f"parameter file {tmp_path / 'params.yaml'}: section '{pattern}' matches no node;"
        f" nodes are {', '.join(f'{prefix}/{node}' for node in graph.of_instances({}).nodes)}")


def test_section_for_all_reaches_every_node(load):
    """/** sets shared parameters; nested names may be nested or dotted."""
    world = load({'/**': {'seed': 7, 'periods_us': {'gps': 200_000}}}).world
    assert (world.seed, world.periods_us['gps']) == (7, 200_000)
    assert load({'/**': {'periods_us.gps': 40_000}}).world.periods_us['gps'] == 40_000


def test_later_sections_and_overrides_win(load, tmp_path):
    """Defaults, then the file from top to bottom, then overrides."""
    sections = {'/**': {'seed': 7}, '/**/imu': {'gyro_turn_on_bias': 0.1},
                'imu': {'gyro_turn_on_bias': 0.2}}
    assert load(sections).nodes['imu'].gyro_turn_on_bias == 0.2
    overridden = load_configuration(
        tmp_path / 'params.yaml', {'': {'seed': 8}, 'imu': {'gyro_turn_on_bias': 0.3}})
    assert overridden.world.seed == 8
    assert overridden.nodes['imu'].gyro_turn_on_bias == 0.3


def test_written_file_is_read_back(tmp_path):
    """`write_parameters` gives a file with the same meaning."""
    path = tmp_path / 'written.yaml'
    write_parameters(path, {'': {'seed': 9}, 'imu': {'gyro_turn_on_bias': 0.4}, 'gps': {}})
    configuration = load_configuration(path, {})
    assert configuration.world.seed == 9
    assert configuration.nodes['imu'].gyro_turn_on_bias == 0.4


def test_empty_file_changes_nothing(tmp_path, configuration):
    """Neither does a section without values."""
    path = tmp_path / 'empty.yaml'
    for text in ('', '/**:\n  ros__parameters:\n'):
        path.write_text(text, encoding='utf-8')
        assert load_configuration(path, {}) == configuration


def test_unknown_key(load):
    """Node and name, and the name that was meant."""
    assert refusal(load, {'imu': {'gyro_noise_densiti': 0.1}}).startswith(
        'imu.gyro_noise_densiti: unknown parameter; did you mean gyro_noise_density')


def test_unknown_period(load):
    """A period that nobody uses is unknown, too."""
    assert refusal(load, {'/**': {'periods_us': {'gpss': 4000}}}).startswith(
        'periods_us.gpss: unknown parameter; did you mean periods_us.gps')


def test_period_that_is_no_multiple_of_the_step(load):
    """The nearest valid values are named."""
    assert refusal(load, {'/**': {'periods_us': {'gps': 99_000}}}) == (
        'periods_us.gps = 99000: must be a multiple of step_us = 4000;'
        ' the nearest valid values are 96000 and 100000 us')


def test_imu_period_must_be_the_step(load):
    """The first IMU drives the lockstep."""
    assert refusal(load, {'/**': {'periods_us': {'imu': 8000}}}) == (
        'periods_us.imu = 8000: must equal step_us = 4000, because the first IMU drives the'
        ' lockstep; for finer motion raise dynamics.substeps')
    finer = load({'/**': {'step_us': 2000, 'periods_us': {'imu': 2000}}}).world
    assert (finer.step_us, finer.periods_us['imu']) == (2000, 2000)


def test_shared_parameter_that_differs(load):
    """Two nodes with two seeds would be two worlds."""
    assert refusal(load, {'/**/gps': {'seed': 2}}) == (
        'gps.seed = 2: all nodes share this parameter and manager has 1; set it under /**'
        ' in the parameter file')


def test_what_is_given_wins_over_the_file_and_the_file_over_the_base(tmp_path):
    """Defaults, base of the command, file of the user, what the user says."""
    path = tmp_path / 'params.yaml'
    write_parameters(path, {'': {'seed': 5}, 'manager': {'speed_factor': 2.0}})
    base = {'': {'seed': 3}, 'manager': {'speed_factor': 0.0}}
    assert load_configuration(None, {}, base=base).world.seed == 3
    built = load_configuration(path, {'': {'seed': 7}}, base=base)
    assert (built.world.seed, built.nodes['manager'].speed_factor) == (7, 2.0)


@pytest.mark.parametrize(('text', 'problem'), [
    ('5', 'must be a mapping of node names'),
    ('[imu]', 'must be a mapping of node names'),
    ('imu: {ros__parameters: 5}', "section 'imu': ros__parameters must be a mapping"),
    ('imu: {ros__parameters: {seed: {}}}', "section 'imu': seed: is empty"),
    ('imu: {ros__parameters: {periods_us: {imu: {}}}}', "section 'imu': imu: is empty"),
    ('imu: 5', "section 'imu' must hold ros__parameters and nothing else"),
    ('imu: {gyro_turn_on_bias: 0.1}', "section 'imu' must hold ros__parameters and nothing else"),
])
def test_file_of_the_wrong_form(tmp_path, text, problem):
    """File, section, and what it must be."""
    path = tmp_path / 'params.yaml'
    path.write_text(text, encoding='utf-8')
    assert refusal(load_configuration, path, {}) == f'parameter file {path}: {problem}'


def test_file_that_cannot_be_read(tmp_path):
    """Missing, or no YAML."""
    path = tmp_path / 'params.yaml'
    assert refusal(load_configuration, path, {}) == (
        f'parameter file {path}: No such file or directory')
    path.write_text('a: [', encoding='utf-8')
    assert refusal(load_configuration, path, {}).startswith(f'parameter file {path}: not YAML: ')


def test_a_further_instance_has_the_defaults_of_the_first_and_its_own_section(tmp_path):
    file = tmp_path / 'three.yaml'
    file.write_text(yaml.safe_dump({
        '/**': {'ros__parameters': {'instances': {'imu': 3}}},
        '/**/imu_1': {'ros__parameters': {'gyro_noise_density': 0.5}}}))
    nodes = load_configuration(file, {}).nodes
    assert nodes['imu_2'] == nodes['imu']
    assert nodes['imu_1'].gyro_noise_density == 0.5


@pytest.mark.parametrize(('parameters', 'sentence'), [
    ({'instances.imu': 4}, 'instances.imu = 4: must be at least 1 and at most 3'),
    ({'instances.magnetometer': 3}, 'instances.magnetometer = 3: must be at least 1 and at most 2'),
    ({'instances.gps': 0}, 'instances.gps = 0: must be at least 1 and at most 2'),
    ({'instances.airspeed': 2}, 'instances.airspeed = 2: must be at least 0 and at most 1'),
    ({'instances.barometer': 2}, 'instances.barometer: unknown parameter'),
])
def test_how_many_instances_there_may_be(parameters, sentence):
    with pytest.raises(ParameterError) as error:
        load_configuration(None, {'': parameters})
    assert str(error.value).startswith(sentence)


def test_a_section_for_an_instance_that_is_not_there(tmp_path):
    file = tmp_path / 'two.yaml'
    file.write_text(yaml.safe_dump({'/**/imu_1': {'ros__parameters': {}}}))
    with pytest.raises(ParameterError, match="section '/\\*\\*/imu_1' matches no node"):
        load_configuration(file, {})


# The profiles of sensors in `config/profiles`.

PROFILES = sorted((config_directory() / 'profiles').glob('*.yaml'))


def loaded(name):
    """Return the parameters of all nodes with a profile."""
    return load_configuration(config_directory() / 'profiles' / f'{name}.yaml', {}).nodes


def test_there_are_profiles():
    """Those that docs/models.md names."""
    assert [path.stem for path in PROFILES] == [
        'adis16448', 'cheap', 'gazebo-classic', 'ideal-but-quiet', 'iim42653']


@pytest.mark.parametrize('path', PROFILES, ids=lambda path: path.stem)
def test_a_profile_is_a_parameter_file_for_sensors(path, configuration):
    """It loads as params_file, too, and leaves everything else alone."""
    loaded_configuration = load_configuration(path, {})
    assert loaded_configuration.world == configuration.world
    changed = {name for name, own in loaded_configuration.nodes.items()
               if own != configuration.nodes[name]}
    assert changed <= {'imu', 'magnetometer', 'barometer', 'gps'}


def test_iim42653_is_the_default(configuration):
    """So its file says nothing."""
    assert loaded('iim42653') == configuration.nodes


def test_adis16448_has_the_figures_of_the_peers():
    """Gyro and accelerometer."""
    imu = loaded('adis16448')['imu']
    assert (imu.gyro_noise_density, imu.gyro_random_walk, imu.gyro_turn_on_bias) == (
        3.3937e-4, 3.8785e-5, 8.7e-3)
    assert (imu.accel_noise_density, imu.accel_random_walk, imu.accel_turn_on_bias) == (
        4e-3, 6e-3, 0.196)


def test_the_quietest_profile_still_changes_every_sample():
    """PX4 cuts the first IMU to 16 bits; below one step its values would stand still."""
    imu = loaded('ideal-but-quiet')['imu']
    root_of_rate = 250.0 ** 0.5
    assert imu.gyro_noise_density * root_of_rate > 1.0653e-3
    assert imu.accel_noise_density * root_of_rate > 4.7884e-3
