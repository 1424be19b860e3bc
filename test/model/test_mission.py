# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Mission files: what they may hold, and one clear sentence for each mistake."""
from __future__ import annotations

import pytest
import yaml

from px4_sim_ros.model.environment.geodesy import GeodeticPosition, LocalFrame
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.mission import GoTo, Hold, Land, Mission, TakeOff
from px4_sim_ros.spec.files import load_mission
from px4_sim_ros.spec.resources import named_file, read_yaml

GOOD = """
name: there and back
items:
  - take_off: {up_m: 5}
  - hold: {duration_s: 0}
  - go_to: {north_m: 1, east_m: -2, up_m: 3}
  - land: {}
"""


def load(path):
    """Read a mission as the command `fly` does."""
    return Mission.from_mapping('mission file', read_yaml(path, 'mission file'))


def refusal(build, *arguments):
    """Return the one-line sentence of a mission that must be refused."""
    with pytest.raises(ParameterError) as error:
        build(*arguments)
    assert '\n' not in str(error.value)
    return str(error.value)


def test_items_in_their_order():
    """And the number of events that the pilot reports about them."""
    mission = Mission.from_mapping('mission file', yaml.safe_load(GOOD))
    assert mission == Mission('there and back', (
        TakeOff(5.0), Hold(0.0), GoTo(1.0, -2.0, 3.0), Land()))
    assert mission.events == 7       # ready, armed, four items, disarmed


def test_the_square_is_a_mission():
    """The file that comes along."""
    mission = load(named_file('missions', 'square'))
    assert mission.name == 'square'
    assert [type(item) for item in mission.items] == [TakeOff, Hold, GoTo, GoTo, GoTo, GoTo, Land]


def test_a_file_that_is_missing():
    """Named with its path."""
    assert refusal(load, '/nowhere/trip.yaml') == (
        'mission file /nowhere/trip.yaml: No such file or directory')


def test_a_name_that_is_given_twice(tmp_path):
    """YAML would take the last without a word."""
    path = tmp_path / 'twice.yaml'
    path.write_text(GOOD.replace('{up_m: 5}', '{up_m: 5, up_m: 6}'))
    assert refusal(load, path) == (
        f'mission file {path}: not YAML: up_m is given twice in "{path}", line 4, column 25')


def test_a_name_without_a_file():
    """A plain name is looked up in config/missions."""
    assert refusal(load_mission, 'squre') == (
        "mission 'squre': there is no such mission; did you mean square; there are hover,"
        ' plane, rover, square, under, vtol')


def test_a_folder(tmp_path):
    """Not a file at all."""
    assert refusal(load, tmp_path) == f'mission file {tmp_path}: Is a directory'


@pytest.mark.parametrize('content', [b'items: [', b'a: b: c', b'\t- x'])
def test_a_file_that_is_no_yaml(tmp_path, content):
    """Named with its path and the place."""
    path = tmp_path / 'broken.yaml'
    path.write_bytes(content)
    assert refusal(load, path).startswith(f'mission file {path}: not YAML: ')


@pytest.mark.parametrize(('good', 'bad', 'sentence'), [
    # The file.
    ('name: there and back', '', 'mission file: must hold name and items; there is no name'),
    ('name: there and back', 'name: null', 'mission file: name = None: must be a text'),
    ('name: ', 'speed: 3\nname: ',
     'mission file: mission.speed: unknown parameter; known are items, name'),
    # The items.
    ('hold:', 'wait:',
     "mission file: items[1] = {'wait': {'duration_s': 0}}: must be one of take_off, hold, go_to,"
     ' land, return_home'),
    ('take_off: {', 'take_of: {',
     "mission file: items[0] = {'take_of': {'up_m': 5}}: must be one of"
     ' take_off, hold, go_to, land, return_home; did you mean take_off'),
    ('land: {}', 'land: 0', 'mission file: items[3].land = 0: must be a mapping'),
    ('land: {}', 'land', "mission file: items[3] = 'land': must be one of take_off, hold, go_to,"
     ' land, return_home'),
    ('- land: {}', '- {land: {}, hold: {duration_s: 1}}',
     "mission file: items[3] = {'land': {}, 'hold': {'duration_s': 1}}: must be one of take_off,"
     ' hold, go_to, land, return_home'),
    ('  - take_off: {up_m: 5}\n', '',
     'mission file: must begin with take_off and end with land or return_home, or have neither to'
     ' drive'),
    ('  - land: {}\n', '',
     'mission file: must begin with take_off and end with land or return_home, or have neither to'
     ' drive'),
    # Their values.
    ('up_m: 5', 'up_m: high', "mission file: items[0].take_off.up_m = 'high': must be a number"),
    ('up_m: 5', 'up_m: 0',
     'mission file: items[0].take_off.up_m = 0.0: must be greater than 0 and at most 500 m'),
    ('up_m: 5', 'up_m: 501',
     'mission file: items[0].take_off.up_m = 501.0: must be greater than 0 and at most 500 m'),
    ('up_m: 5', 'up_m: .nan',
     'mission file: items[0].take_off.up_m = nan: must be greater than 0 and at most 500 m'),
    ('{up_m: 5}', '{}',
     'mission file: items[0].take_off.up_m: missing; it is height over the place of take-off'),
    ('{up_m: 5}', '',
     'mission file: items[0].take_off.up_m: missing; it is height over the place of take-off'),
    ('duration_s: 0', 'duration_s: -1',
     'mission file: items[1].hold.duration_s = -1.0: must be at least 0 s'),
    ('north_m: 1', 'nort_m: 1',
     'mission file: items[2].go_to.nort_m: unknown parameter; did you mean north_m?'),
    ('north_m: 1', 'north_m: 1e', "mission file: items[2].go_to.north_m = '1e': must be a"
     ' number'),
    ('north_m: 1', 'north_m: 1e5', 'mission file: items[2].go_to.north_m = 100000.0: must be at'
     ' least -10000 and at most 10000 m'),
    ('north_m: 1', 'north_m: 10001',
     'mission file: items[2].go_to.north_m = 10001.0: must be at least -10000 and at most 10000 m'),
])
def test_a_mistake_is_told_in_one_sentence(good, bad, sentence):
    """Which item, which value, and what is allowed."""
    assert good in GOOD
    content = yaml.safe_load(GOOD.replace(good, bad))
    assert refusal(Mission.from_mapping, 'mission file', content) == sentence


def test_land_has_no_values():
    """Whatever it is given is unknown."""
    content = yaml.safe_load(GOOD.replace('land: {}', 'land: {up_m: 1}'))
    assert refusal(Mission.from_mapping, 'mission file', content).startswith(
        'mission file: items[3].land.up_m: unknown parameter')


@pytest.mark.parametrize('content', [
    None, 7, 'take_off', ['take_off'], {},
    {'name': 'x', 'items': None}, {'name': 'x', 'items': 7}, {'name': 'x', 'items': []},
    {'name': 'x', 'items': 'land'}, {'name': 'x', 'items': {'take_off': {'up_m': 5}}},
    {'name': 'x', 'items': [None]}, {'name': 'x', 'items': [[]]},
    {'name': 'x', 'items': [{'take_off': 5}]}, {'name': 'x', 'items': [{'take_off': 'high'}]},
    {'name': 'x', 'items': [{'take_off': [5]}]}, {'name': 'x', 'items': [{'take_off': {5: 5}}]},
], ids=str)
def test_content_of_the_wrong_shape(content):
    """No other error than the sentence comes out, whatever YAML holds."""
    assert refusal(Mission.from_mapping, 'mission file', content).startswith('mission file: ')


@pytest.mark.parametrize('items, height_m, is_flown', [
    ((TakeOff(2.0), Land()), 0.001, False), ((TakeOff(2.0), Land()), 1.9, True),
    ((GoTo(5.0, 0.0),), 0.0, True)])
def test_a_flight_that_never_left_the_ground_is_none(items, height_m, is_flown):
    """An autopilot whose estimate is wrong calls it flown."""
    why = Mission('hop', items).why_not_up(height_m)
    assert (why == '') == is_flown
    assert is_flown or 'was never higher than 0.00 m' in why


def go_to(**values):
    """Return the item of a mission that goes somewhere."""
    content = {'name': 'x', 'items': [{'take_off': {'up_m': 5}}, {'go_to': values}, {'land': {}}]}
    return Mission.from_mapping('mission file', content).items[1]


def test_a_point_by_latitude_and_longitude():
    """A hundredth of a degree of latitude is 1111.8 m near Zurich, 488 m above the ellipsoid."""
    home = LocalFrame(GeodeticPosition(47.397742, 8.545594, 488.0))
    item = go_to(latitude_deg=47.407742, longitude_deg=8.545594, up_m=7)
    assert item.place_enu(home) == pytest.approx((0.0, 1111.8, 7.0), abs=0.5)
    assert go_to(north_m=1, east_m=2, up_m=3).place_enu(home) == (2.0, 1.0, 3.0)


def test_yaw_speed_and_radius_stay_in_a_file():
    """A recording and a campaign have the mission as a mapping, without what is not given."""
    item = {'north_m': 1.0, 'east_m': 2.0, 'up_m': 3.0, 'yaw_deg': 90.0, 'speed_m_s': 2.0,
            'radius_m': 1.5}
    content = {'name': 'x', 'items': [
        {'take_off': {'up_m': 5.0}}, {'go_to': item},
        {'go_to': {'latitude_deg': 47.4, 'longitude_deg': 8.5, 'up_m': 3.0}}, {'return_home': {}}]}
    assert Mission.from_mapping('mission file', content).to_mapping() == content


@pytest.mark.parametrize('values', [
    {'north_m': 1}, {'latitude_deg': 47.4}, {'up_m': 3}, {'north_m': 1, 'longitude_deg': 8.5},
    {'north_m': 1, 'east_m': 2, 'latitude_deg': 47.4, 'longitude_deg': 8.5}])
def test_a_point_has_one_pair(values):
    with pytest.raises(ParameterError, match=r'items\[1\].go_to = .*: must have either north_m and'
                       ' east_m, or latitude_deg and longitude_deg'):
        go_to(**values)


def test_a_mission_far_from_the_world():
    mission = Mission('x', (go_to(latitude_deg=46.5197, longitude_deg=6.6323, up_m=5),))
    with pytest.raises(ParameterError) as error:
        mission.check_near(LocalFrame(GeodeticPosition(47.397742, 8.545594, 488.0)), 'mission x')
    assert str(error.value) == (
        'mission x: its first point is 175 km from the origin of the world, 47.397742, 8.545594'
        ' deg: must be within 10 km; set home_latitude_deg and home_longitude_deg')
