# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Every wrong value is refused in one sentence: name, value, and what is allowed."""
from __future__ import annotations

import array
import copy
import dataclasses
import math
import os
import re

import numpy as np
import pytest

from px4_sim_ros.model.errors import ParameterError, nearest
from px4_sim_ros.model.parameters import Parameters, parameter, range_text
from px4_sim_ros.model.sensors.imu import ImuParameters
from px4_sim_ros.model.sensors.magnetometer import MagnetometerParameters
from px4_sim_ros.model.vehicle.sections import Body
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.spec.files import load_vehicle
from px4_sim_ros.spec.resources import config_directory, named_file, parse_yaml, read_yaml


@dataclasses.dataclass(frozen=True)
class Example(Parameters):
    """One parameter of each kind."""

    mass_kg: float = parameter('mass', 'kg', above=0)
    share: float = parameter('a share', minimum=0, maximum=1)
    offset_m: float = parameter('an offset', 'm')
    count: int = parameter('how many', minimum=1, maximum=9)
    enabled: bool = parameter('a switch')
    method: str = parameter('the method', choices=('euler', 'rk4'))
    label: str = parameter('any text')
    axes_m: tuple[float, float, float] = parameter('three numbers', 'm', minimum=-1)
    periods_us: dict[str, int] = parameter('periods', 'us', above=0)


GOOD = {
    'mass_kg': 1.5, 'share': 0.5, 'offset_m': -3.0, 'count': 4, 'enabled': True,
    'method': 'rk4', 'label': 'x', 'axes_m': [0.1, 0.2, 0.3], 'periods_us': {'imu': 4000}}


def refusal(build, *arguments):
    """Return the error sentence of a call that must be refused."""
    with pytest.raises(ParameterError) as error:
        build(*arguments)
    assert '\n' not in str(error.value)
    return str(error.value)


def test_good_values_are_kept():
    """Lists become tuples, whole numbers become floats where a number is asked."""
    example = Example.from_mapping('node', {**GOOD, 'offset_m': 2})
    assert dataclasses.asdict(example) == {
        **GOOD, 'offset_m': 2.0, 'axes_m': (0.1, 0.2, 0.3)}
    assert type(example.offset_m) is float


@pytest.mark.parametrize(('key', 'value', 'sentence'), [
    ('mass_kg', 'heavy', "node.mass_kg = 'heavy': must be a number"),
    ('mass_kg', None, 'node.mass_kg = None: must be a number'),
    ('mass_kg', True, 'node.mass_kg = True: must be a number'),
    ('mass_kg', 0.0, 'node.mass_kg = 0.0: must be greater than 0 kg'),
    ('mass_kg', math.nan, 'node.mass_kg = nan: must be greater than 0 kg'),
    ('mass_kg', math.inf, 'node.mass_kg = inf: must be greater than 0 kg'),
    ('offset_m', math.nan, 'node.offset_m = nan: must be a finite number m'),
    ('offset_m', -math.inf, 'node.offset_m = -inf: must be a finite number m'),
    pytest.param('mass_kg', 10**400, 'node.mass_kg = inf: must be greater than 0 kg',
                 id='400 zeros'),
    ('mass_kg', 1e-320,
     'node.mass_kg = 1e-320: must be 0, or in size at least 1e-30 and at most 1e+30'),
    ('axes_m', [1e308, 0.0, 0.0],
     'node.axes_m[0] = 1e+308: must be 0, or in size at least 1e-30 and at most 1e+30'),
    ('label', ['x' * 300], f"node.label = ['{'x' * 98} ...: must be a text"),
    ('share', 1.5, 'node.share = 1.5: must be at least 0 and at most 1'),
    ('share', -0.1, 'node.share = -0.1: must be at least 0 and at most 1'),
    ('count', 2.0, 'node.count = 2.0: must be a whole number'),
    ('count', True, 'node.count = True: must be a whole number'),
    ('count', '4', "node.count = '4': must be a whole number"),
    ('count', 0, 'node.count = 0: must be at least 1 and at most 9'),
    ('count', 10, 'node.count = 10: must be at least 1 and at most 9'),
    ('enabled', 1, 'node.enabled = 1: must be true or false'),
    ('method', 'rk5', "node.method = 'rk5': must be one of euler, rk4; did you mean rk4"),
    ('method', 4, 'node.method = 4: must be a text'),
    ('axes_m', [1.0, 2.0], 'node.axes_m = [1.0, 2.0]: must be 3 numbers'),
    ('axes_m', 1.0, 'node.axes_m = 1.0: must be 3 numbers'),
    ('axes_m', '123', "node.axes_m = '123': must be 3 numbers"),
    ('axes_m', [1.0, 2.0, 'x'], "node.axes_m[2] = 'x': must be a number"),
    ('axes_m', [1.0, 2.0, -3.0], 'node.axes_m[2] = -3.0: must be at least -1 m'),
    ('periods_us', {'imu': 0}, 'node.periods_us.imu = 0: must be greater than 0 us'),
    ('periods_us', {'imu': 4e3}, 'node.periods_us.imu = 4000.0: must be a whole number'),
])
def test_wrong_value(key, value, sentence):
    """The whole sentence."""
    assert refusal(Example.from_mapping, 'node', {**GOOD, key: value}) == sentence


@pytest.mark.parametrize('bound', [
    {'share': 0.0}, {'share': 1.0}, {'count': 1}, {'count': 9}, {'mass_kg': 1e-9}])
def test_bounds_are_allowed(bound):
    """`minimum` and `maximum` include the bound."""
    Example.from_mapping('node', {**GOOD, **bound})


@pytest.mark.parametrize('key', GOOD)
def test_missing_value(key):
    """It says what the parameter is."""
    values = {k: v for k, v in GOOD.items() if k != key}
    description = Example.infos()[key]['description']
    assert refusal(Example.from_mapping, 'node', values) == (
        f'node.{key}: missing; it is {description}')


@pytest.mark.parametrize('text', ['1e-5', '+1E-5', '1.e-5', '10e-6'])
def test_an_exponent_needs_no_dot_where_a_number_is_asked(text):
    """YAML takes it for a text."""
    axes = ['-1e-1', 0.5, '2e0']
    example = Example.from_mapping('node', {**GOOD, 'mass_kg': text, 'axes_m': axes})
    assert example.mass_kg == 1e-5
    assert example.axes_m == (-0.1, 0.5, 2.0)
    for key, value in ('count', '1e0'), ('mass_kg', '1e'), ('mass_kg', '1.5'):
        with pytest.raises(ParameterError, match='number'):
            Example.from_mapping('node', {**GOOD, key: value})
    assert refusal(Example.from_mapping, 'node', {**GOOD, 'share': '2e0'}) == (
        'node.share = 2.0: must be at least 0 and at most 1')


def test_unknown_key_with_a_close_name():
    """It offers the name that was meant."""
    assert refusal(Example.from_mapping, 'node', {**GOOD, 'mas_kg': 1.0}) == (
        'node.mas_kg: unknown parameter; did you mean mass_kg?')


def test_unknown_key_without_a_close_name():
    """It lists the names that exist."""
    assert refusal(Example.from_mapping, 'node', {**GOOD, 'zzz': 1.0}) == (
        f"node.zzz: unknown parameter; known are {', '.join(sorted(GOOD))}")


# Vehicle files.

@pytest.fixture
def content():
    """Return the content of the Iris's file, to be spoilt."""
    return copy.deepcopy(read_yaml(config_directory() / 'vehicles' / 'iris.yaml', 'vehicle file'))


def test_the_iris_is_as_published(iris):
    """Mass, inertia, thrust and moment coefficient of gazebo-classic's iris.sdf.

    The inertia is that of its parts about their common centre, rotors about z with their own here.
    """
    assert iris.body.mass_kg == pytest.approx(1.5 + 4 * 0.005 + 0.015 + 0.015)
    rotor = np.array((9.75e-7, 0.000273104, iris.rotor_model.inertia_kg_m2))
    parts = [(1.5, np.zeros(3), np.array((0.029125, 0.029125, 0.055225))),
             (0.015, np.array((0.0, 0.0, 0.02)), np.full(3, 1e-5)),
             (0.015, np.array((0.05, 0.0, 0.04)), np.full(3, 1e-5)),
             *((0.005, np.array(r.position_m), rotor) for r in iris.rotors)]
    center = sum(mass * place for mass, place, _ in parts) / iris.body.mass_kg
    total = sum(own + mass * ((place - center) @ (place - center) - (place - center) ** 2)
                for mass, place, own in parts)
    assert iris.body.inertia_kg_m2 == pytest.approx(total, rel=2e-4)
    assert iris.rotor_model.thrust_coefficient_n_s2 == 5.84e-6
    assert iris.rotor_model.moment_coefficient_m == 0.06
    assert [r.turns for r in iris.rotors] == ['ccw', 'ccw', 'cw', 'cw']


@pytest.mark.parametrize(('section', 'key', 'value', 'sentence'), [
    ('body', 'mass_kg', -1.0, 'f: body.mass_kg = -1.0: must be greater than 0 kg'),
    ('body', 'inertia_kg_m2', [1.0, 2.0], 'f: body.inertia_kg_m2 = [1.0, 2.0]: must be 3 numbers'),
    ('rotor_model', 'time_constant_up_s', 0.0,
     'f: rotor_model.time_constant_up_s = 0.0: must be greater than 0 s'),
    ('contact_model', 'friction_coefficient', math.nan,
     'f: contact_model.friction_coefficient = nan: must be at least 0'),
    ('body', 'mass', 1.0, 'f: body.mass: unknown parameter; did you mean mass_kg?'),
])
def test_wrong_value_in_a_vehicle_file(content, section, key, value, sentence):
    """File, section, name, value and what is allowed."""
    content[section][key] = value
    assert refusal(Vehicle.from_mapping, 'f', content) == sentence


def test_wrong_rotor_is_named_by_its_place(content):
    """The third rotor in the list is rotors[2]."""
    content['rotors'][2]['turns'] = 'left'
    assert refusal(Vehicle.from_mapping, 'f', content) == (
        "f: rotors[2].turns = 'left': must be one of ccw, cw")


def test_more_rotors_than_an_autopilot_has_controls(content):
    """The seventeenth would never turn."""
    content['rotors'] = content['rotors'][:1] * 17
    assert refusal(Vehicle.from_mapping, 'f', content) == (
        'f: rotors: 17 are too many; there may be 16, because an autopilot has no more controls')


def test_missing_and_unknown_sections(content):
    """Each by its name."""
    body = content.pop('body')
    assert refusal(Vehicle.from_mapping, 'f', content) == 'f: missing section body'
    content |= {'body': body, 'wheel': {}}
    assert refusal(Vehicle.from_mapping, 'f', content) == (
        'f: vehicle.wheel: unknown parameter; did you mean wheels?')


@pytest.mark.parametrize('nothing', [None, 5, [1, 2]])
def test_vehicle_file_that_is_no_mapping(nothing):
    """It lists the sections."""
    assert refusal(Vehicle.from_mapping, 'f', nothing) == (
        'f: must be a mapping of body, contact_model, contact_points_m, name, px4_airframe,'
        ' rotor_model, rotors')


@pytest.mark.parametrize('key', [5, None, 'MPC XY', 'mpc_xy_p'])
def test_a_name_that_px4_cannot_have(key):
    content = read_yaml(config_directory() / 'vehicles' / 'iris.yaml', 'vehicle file')
    content['px4_parameters'] = {key: 1.0}
    assert refusal(Vehicle.from_mapping, 'quad', content) == (
        f'quad: px4_parameters.{key}: is no name of a parameter of PX4')


def test_vehicle_file_that_does_not_exist(tmp_path):
    """By path and by name."""
    path = tmp_path / 'quad.yaml'
    assert refusal(load_vehicle, str(path)) == f'vehicle file {path}: No such file or directory'
    assert refusal(load_vehicle, 'quad') == (
        "vehicle 'quad': there is no such vehicle; there are hexa, iris, octo, plane,"
        ' rover_ackermann, rover_differential, standard_vtol, tailsitter,'
        ' tiltrotor, x500')
    assert refusal(load_vehicle, 'x50') == (
        "vehicle 'x50': there is no such vehicle; did you mean x500; there are hexa, iris, octo,"
        ' plane, rover_ackermann, rover_differential, standard_vtol, tailsitter,'
        ' tiltrotor, x500')


def test_vehicle_file_that_is_no_yaml(tmp_path):
    """One line, with the place in the file."""
    path = tmp_path / 'quad.yaml'
    path.write_text('body: [1, 2\n', encoding='utf-8')
    sentence = refusal(load_vehicle, str(path))
    assert sentence.startswith(f'vehicle file {path}: not YAML: ')
    assert 'line 2' in sentence


LEVELS = 'more than 50 levels or 200000 values'


def test_a_line_that_is_too_deep_for_yaml_itself_is_one_sentence(tmp_path):
    """From 1000 levels on it is that of PyYAML 6.0.4, which reads a line ahead."""
    path = tmp_path / 'x.yaml'
    path.write_text('[' * 50_000)
    sentence = refusal(load_vehicle, str(path))
    assert re.fullmatch(rf'vehicle file {path}: not YAML: (more than 50 levels|while increasing).*'
                        r' in ".*", line 1, column \d+', sentence)


@pytest.mark.parametrize(('text', 'problem'), [
    ('[' * 900, f'not YAML: {LEVELS} in "FILE", line 1, column 50'),
    ('[\n' * 50_000, f'not YAML: {LEVELS} in "FILE", line 50, column 1'),
    ('- ' * 50_000, f'not YAML: {LEVELS} in "FILE", line 1, column 99'),
    # Each line has ten times the values of the one before.
    ('\n'.join(['a: &a 1', 'b: &b [' + '*a,' * 10 + ']', *(
        f'{new}: &{new} [' + f'*{old},' * 10 + ']' for old, new in zip('bcdefgh', 'cdefghi'))]),
     f'not YAML: {LEVELS} in "FILE", line 7, column 11'),
    ('&a [*a]', f'not YAML: {LEVELS} in "FILE", line 1, column 5'),
    ('a: 0x_', 'not YAML: the value is no int in "FILE", line 1, column 4'),
    ('a: !!bool x', 'not YAML: the value is no bool in "FILE", line 1, column 4'),
    ('a: !!map [1]', 'not YAML: the value is no map in "FILE", line 1, column 4'),
    ('a: 1' + '0' * 5000, 'not YAML: the value is no int in "FILE", line 1, column 4'),
    ('a: !!python/name:os.system x',
     'not YAML: the tag !!python/name:os.system is not allowed in "FILE", line 1, column 4'),
    ('#' * (4 * 2**20 + 1), 'must be at most 4 MiB')])
def test_a_file_beyond_what_is_read_is_one_sentence(tmp_path, text, problem):
    file = tmp_path / 'x.yaml'
    file.write_text(text, encoding='utf-8')
    assert refusal(read_yaml, file, 'fleet file') == f'fleet file {file}: {problem}'.replace(
        'FILE', str(file))


def test_a_date_is_a_text():
    """Also one that there is not."""
    assert parse_yaml('[2024-02-31, 2020-01-01]', 'x') == ['2024-02-31', '2020-01-01']


@pytest.mark.parametrize('data', [b'a: 1\nb: \xff', 'a: ä\nb: ü'.encode('latin-1').replace(
    b'\xe4', 'ä'.encode())])
def test_text_of_another_encoding_is_one_sentence(tmp_path, data):
    (tmp_path / 'x.yaml').write_bytes(data)
    assert refusal(read_yaml, tmp_path / 'x.yaml', 'fleet file') == (
        f'fleet file {tmp_path}/x.yaml: must be text in UTF-8; line 2 is none')


def test_the_mark_that_some_editors_write_first_is_no_part_of_a_text(tmp_path):
    (tmp_path / 'x.yaml').write_text('a: 1', encoding='utf-8-sig')
    assert read_yaml(tmp_path / 'x.yaml', 'fleet file') == {'a': 1}


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / 'pipe')
    assert refusal(read_yaml, tmp_path / 'pipe', 'fleet file') == (
        f'fleet file {tmp_path}/pipe: is no regular file')


@pytest.mark.parametrize('word, names, first', [
    # By the beginning, which is nearer than letters that are somewhere in a long name.
    ('gyro_nois', ['gyro_turn_on_bias', 'gyro_noise_density', 'gyro_range'], 'gyro_noise_density'),
    # By its parts, in whichever order they stand.
    ('wind_gst', ['twisted', 'payload_drop', 'gust_at_landing'], 'gust_at_landing'),
    # As a whole before a part.
    ('motor_ou', ['motor_out_hexa', 'motor_out', 'motor_weak'], 'motor_out'),
    ('baro', ['imu', 'gps'], None)])
def test_the_nearest_name_is_the_first(word, names, first):
    assert next(iter(nearest(word, names, most=3)), None) == first


# Parameters that are lists: from YAML, from rclpy, and wrong ones.


def mounting(value):
    """Return the IMU's mounting after it was set."""
    return load_configuration(None, {'imu': {'mounting_deg': value}}).nodes['imu'].mounting_deg


@pytest.mark.parametrize('value', [
    [0.0, 10.0, 90.0], [0, 10, 90.0], (0, 10, 90), array.array('d', (0.0, 10.0, 90.0)),
    array.array('q', (0, 10, 90))])
def test_any_list_of_three_numbers(value):
    """A list of YAML, with whole numbers in it, or an array of rclpy."""
    assert mounting(value) == (0.0, 10.0, 90.0)
    assert all(type(v) is float for v in mounting(value))


def test_what_is_allowed_in_words():
    """How many numbers, and what each may be."""
    infos = ImuParameters.infos()
    assert range_text(infos['mounting_deg']) == '3 numbers, each at least -180 and at most 180 deg'
    assert range_text(MagnetometerParameters.infos()['hard_iron']) == '3 numbers, each finite T'
    assert range_text(Body.infos()['inertia_kg_m2']) == '3 numbers, each greater than 0 kg m^2'


def test_a_name_of_the_home_of_no_user_is_none():
    with pytest.raises(ParameterError, match="vehicle '~no one': there is no such vehicle"):
        named_file('vehicles', '~no one')
