# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans of QGroundControl: what is uploaded, what is flown by commands, what is wrong."""
import copy
import json
import math
import pathlib

import plan_files
import pytest
import yaml
from plan_files import (
    JUMP,
    LAND,
    RETURN,
    SPEED,
    TAKE_OFF,
    TRIGGER,
    TURNS,
    VTOL_TAKE_OFF,
    WAYPOINT,
    at,
    do,
    place,
    plan,
    transects,
)

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.mission import GoTo, Hold, Land, ReturnHome, TakeOff
from px4_sim_ros.spec.files import Files, load_mission

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / 'examples'
UP, DOWN = at(TAKE_OFF, 0, 0, 10), at(LAND, 0, 0, 0)
LINES = [(5, 10), (35, 10), (35, 20), (5, 20)]


@pytest.fixture
def read(tmp_path):
    """Return a function that reads the mission of a plan."""
    return lambda content: load_mission(str(plan_files.write(tmp_path / 'x.plan', content)))


@pytest.fixture
def refusal(tmp_path):
    """Return a function that returns the sentence about a plan, after the name of its file."""
    def of(content):
        path = plan_files.write(tmp_path / 'x.plan', content)
        with pytest.raises(ParameterError) as error:
            load_mission(str(path))
        sentence = str(error.value)
        assert '\n' not in sentence and sentence.startswith(f'mission file {path}: ')
        return sentence.removeprefix(f'mission file {path}: ')
    return of


def commands(items):
    return [item.command for item in items]


def test_simple_items_as_they_are(read):
    """Degrees, metres, and NaN for null; the name is that of the file."""
    mission = read(plan(UP, at(WAYPOINT, 20, -5, 12, 3, 1.5, 0, 90), DOWN))
    assert mission.name == 'x' and commands(mission.plan.items) == [TAKE_OFF, WAYPOINT, LAND]
    way = mission.plan.items[1]
    assert way.frame == plan_files.RELATIVE
    assert way.params == (3.0, 1.5, 0.0, 90.0, *place(20, -5), 12.0)
    assert math.isnan(mission.plan.items[0].params[3])
    assert mission.events == 6


@pytest.mark.parametrize('kind', ['survey', 'CorridorScan'])
def test_a_survey_is_uploaded_as_its_items(read, kind):
    mission = read(plan(UP, transects(kind, LINES, 10), do(RETURN)))
    assert commands(mission.plan.items) == [TAKE_OFF, *4 * [WAYPOINT, TRIGGER], RETURN]
    assert mission.plan.items[2].params == (5.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0)
    assert [item.params[4:6] for item in mission.plan.items[1:9:2]] == [
        tuple(place(*corner)) for corner in LINES]
    assert mission.plan.left_out == 'items 3, 5, 7, 9 (MAV_CMD_DO_SET_CAM_TRIGG_DIST)'
    assert not mission.plan.refused


def test_a_vtol_takes_off_and_lands_by_its_pattern(read):
    """With the end of photos and video before the approach, as QGroundControl uploads it."""
    mission = read(plan(
        at(VTOL_TAKE_OFF, 150, 0, 30), at(WAYPOINT, 300, 100, 40),
        plan_files.landing('vtolLandingPattern', (-150, -80, 30), (0, 0, 0))))
    assert commands(mission.plan.items) == [84, 16, 189, 206, 2001, 2501, 31, 85]
    approach, land = mission.plan.items[-2:]
    assert approach.params == (1.0, 50.0, 0.0, 1.0, *place(-150, -80), 30.0)
    assert land.params[4:] == (*place(0, 0), 0.0) and math.isnan(land.params[3])
    assert mission.plan.refused == (
        'item 1 (MAV_CMD_NAV_VTOL_TAKEOFF), item 7 (MAV_CMD_NAV_LOITER_TO_ALT),'
        ' item 8 (MAV_CMD_NAV_VTOL_LAND)')


def test_a_plane_lands_by_its_pattern(read):
    """Without a circle, counter-clockwise, above the sea, and under the key of older files."""
    pattern = plan_files.landing(
        'fwLandingPattern', (-150, -80, 530), (0, 0, 488), useLoiterToAlt=False,
        altitudesAreRelative=False, stopTakingPhotos=False, stopVideoPhotos=False)
    pattern['loiterCoordinate'] = pattern.pop('landingApproachCoordinate')
    mission = read(plan(UP, pattern))
    assert commands(mission.plan.items) == [22, 189, 16, 21]
    assert [item.frame for item in mission.plan.items] == [3, 2, 0, 0]
    assert 'items 3 (MAV_CMD_NAV_WAYPOINT in MAV_FRAME_GLOBAL)' in mission.plan.refused.replace(
        'item 3', 'items 3')
    left = plan_files.landing('fwLandingPattern', (0, 9, 9), (0, 0, 0), loiterClockwise=False)
    assert read(plan(UP, left)).plan.items[-2].params[1] == -50.0


def test_a_fence_and_rally_points(read):
    """Each corner has their number, each circle its radius."""
    corners = (-40, -40), (60, -40), (60, 60)
    found = read(plan(
        UP, DOWN, polygons=[plan_files.polygon(*corners),
                            plan_files.polygon(*corners, inclusion=False)],
        circles=[plan_files.circle((0, 0), 90), plan_files.circle((20, 5), 8, inclusion=False)],
        rally=[(-10, 10, 12), (5, 5, 6)], breachReturn=[*place(1, 1), 15])).plan
    assert [(item.command, item.params[0]) for item in found.fence] == [
        *3 * [(5001, 3.0)], *3 * [(5002, 3.0)], (5003, 90.0), (5004, 8.0), (5000, 0.0)]
    assert found.fence[1].params[4:6] == tuple(place(60, -40))
    assert [(item.command, item.params[4:]) for item in found.rally] == [
        (5100, (*place(-10, 10), 12.0)), (5100, (*place(5, 5), 6.0))]
    assert found.left_out == 'the fence, the rally points'


def test_what_is_flown_by_commands(read):
    """Speed counts from its item on; a point is passed unless the vehicle stays there."""
    mission = read(plan(
        UP, at(WAYPOINT, 5, 0, 10, 0, 0.7, 0, 45), do(SPEED, 1, 3, -1), at(WAYPOINT, 9, 0, 10, 2),
        at(19, 9, 4, 12, 7), do(93, 4, -1, -1, -1), do(SPEED, 1, -2, -1), at(LAND, 1, 2, 0)))
    assert not mission.plan.refused and not mission.plan.left_out
    assert [type(item) for item in mission.items] == [
        TakeOff, GoTo, GoTo, GoTo, Hold, GoTo, Hold, Hold, GoTo, Land]
    points = [item for item in mission.items if isinstance(item, GoTo)]
    assert [item.speed_m_s for item in points] == [0.0, 0.0, 3.0, 3.0, 0.0]
    assert [item.radius_m for item in points] == [2.0, 0.7, 0.0, 0.0, 0.0]
    assert [item.up_m for item in points] == [10, 10, 10, 12, 12]
    assert [item.yaw_deg for item in points[1:2]] == [45.0]
    assert [item.duration_s for item in mission.items if isinstance(item, Hold)] == [2, 7, 4]
    assert read(plan(UP, do(RETURN))).items[-1] == ReturnHome()
    assert [read(plan(UP, *end)).lands for end in ([], [DOWN], [do(RETURN)])] == [
        False, True, True]


@pytest.mark.parametrize(('items', 'refused'), [
    ([UP, at(TURNS, 5, 5, 10, 2, 0, 20), DOWN], 'item 2 (MAV_CMD_NAV_LOITER_TURNS)'),
    ([UP, at(WAYPOINT, 5, 5, 10), do(JUMP, 2, 3), DOWN], 'item 3 (MAV_CMD_DO_JUMP)'),
    ([UP, at(WAYPOINT, 5, 5, 500, frame=0), DOWN],
     'item 2 (MAV_CMD_NAV_WAYPOINT in MAV_FRAME_GLOBAL)'),
    ([at(WAYPOINT, 5, 5, 10), DOWN], 'a plan that does not begin with MAV_CMD_NAV_TAKEOFF'),
    ([UP, *9 * [do(JUMP, 1, 1)]], 'items 2, 3, 4, 5, 6, 7 and 3 more (MAV_CMD_DO_JUMP)')])
def test_what_is_not(read, items, refused):
    """PX4 is given it all the same."""
    found = read(plan(*copy.deepcopy(items))).plan
    assert found.refused == refused and len(found.items) == len(items)


def test_a_jump_goes_to_the_number_of_its_item(read):
    """A survey before it counts as its items: doJumpId begins with 1, the protocol with 0."""
    jump = do(JUMP, 8, 2)
    found = read(plan(
        UP, transects('survey', LINES[:2], 10), at(WAYPOINT, 1, 1, 9), at(WAYPOINT, 2, 2, 9),
        at(WAYPOINT, 3, 3, 9), jump, DOWN))
    assert found.plan.items[8].params[:2] == (7.0, 2.0)


WRONG = [
    (('fileType',), 'Log', "fileType = 'Log': must be 'Plan'"),
    (('mission',), None, 'mission = None: must be a mapping'),
    (('mission', 'items'), [], 'mission.items: there are none'),
    (('mission', 'items'), 7, 'mission.items = 7: must be a list'),
    (('mission', 'items', 0), 'up', "mission.items[0] = 'up': must be a mapping"),
    (('mission', 'items', 0, 'type'), 'missionItem',
     "mission.items[0].type = 'missionItem': must be SimpleItem or ComplexItem"),
    (('mission', 'items', 0, 'params'), [1, 2],
     'mission.items[0].params = [1, 2]: must be 7 numbers, or null'),
    (('mission', 'items', 0, 'params', 4), 97.0,
     'mission.items[0].params[4] = 97: must be at least -90 and at most 90 deg'),
    (('mission', 'items', 0, 'params', 6), 'high',
     "mission.items[0].params[6] = 'high': must be a number"),
    (('mission', 'items', 0, 'command'), 70000,
     'mission.items[0].command = 70000: must be a whole number of at most 65535'),
    (('mission', 'items', 0, 'frame'), True,
     'mission.items[0].frame = True: must be a whole number of at most 255'),
    (('mission', 'items', 2, 'complexItemType'), 'StructureScan',
     'mission.items[2]: StructureScan: its items are not in the file; let QGroundControl upload it'
     ' to a vehicle, download it, and save that'),
    (('mission', 'items', 2, 'complexItemType'), {},
     'mission.items[2].complexItemType = {}: must be one of survey, CorridorScan,'
     ' fwLandingPattern, vtolLandingPattern'),
    (('mission', 'items', 2, 'complexItemType'), 'orbit',
     "mission.items[2].complexItemType = 'orbit': must be one of survey, CorridorScan,"
     ' fwLandingPattern, vtolLandingPattern'),
    (('mission', 'items', 2, 'TransectStyleComplexItem', 'Items'), None,
     'mission.items[2].TransectStyleComplexItem.Items = None: must be a list'),
    (('mission', 'items', 2, 'TransectStyleComplexItem', 'Items', 1, 'params'), None,
     'mission.items[2].TransectStyleComplexItem.Items[1].params = None: must be 7 numbers, or'
     ' null'),
    (('geoFence', 'polygons', 0, 'polygon'), [[47.0, 8.0]],
     'geoFence.polygons[0].polygon: must have at least 3 corners'),
    (('geoFence', 'polygons', 0, 'polygon', 1), [47.0],
     'geoFence.polygons[0].polygon[1] = [47.0]: must be a list of latitude, longitude'),
    (('geoFence', 'circles', 0, 'circle', 'radius'), 0,
     'geoFence.circles[0].circle.radius = 0: must be greater than 0 m'),
    (('geoFence', 'circles', 0, 'circle', 'center'), [47.0, 188.0],
     'geoFence.circles[0].circle.center[1] = 188: must be at least -180 and at most 180 deg'),
    (('rallyPoints', 'points', 0), [47.0, 8.0],
     'rallyPoints.points[0] = [47.0, 8.0]: must be a list of latitude, longitude and altitude')]


@pytest.mark.parametrize(('where', 'value', 'sentence'), WRONG)
def test_a_mistake_is_one_sentence_with_its_place(refusal, where, value, sentence):
    content = plan_files.survey()
    *way, last = where
    inner = content
    for key in way:
        inner = inner[key]
    inner[last] = value
    assert refusal(content) == sentence


def test_a_jump_to_nowhere(refusal):
    assert refusal(plan(UP, do(JUMP, 9, 2), DOWN)) == (
        'mission: item 2: DO_JUMP to 9: must be the doJumpId of an item')


@pytest.mark.parametrize(('text', 'sentence'), [
    (b'{"fileType": "Plan",\n "mission": }', 'Expecting value: line 2 column 13 (char 33)'),
    (b'', 'Expecting value: line 1 column 1 (char 0)'), (b'[' * 100_000, 'recursion')])
def test_a_file_that_is_no_json(tmp_path, text, sentence):
    path = tmp_path / 'cut.plan'
    path.write_bytes(text)
    with pytest.raises(ParameterError) as error:
        load_mission(str(path))
    assert str(error.value).startswith(f'mission file {path}: not JSON: ')
    assert sentence in str(error.value) and '\n' not in str(error.value)


def test_a_file_that_is_no_plan(refusal):
    assert refusal({'name': 'x'}) == 'must hold name and items; there is no items'
    assert refusal([1]) == 'must be a mapping of name, items'


def test_a_plan_within_a_scenario(tmp_path):
    """As a campaign writes it for each of its runs: the mission of the scenario has all of it."""
    path = tmp_path / 'run.yaml'
    path.write_text(yaml.dump({'mission': plan_files.survey()}))
    files = Files()
    mission = files.mission('scenario', str(path))
    assert mission.name == 'run' and len(mission.plan.items) == 12 and mission.plan.fence
    text = files.mission_text('scenario', str(path))
    again = Files({('missions', 'scenario.plan'): json.dumps(yaml.safe_load(text))})
    assert again.mission('scenario.plan').plan.items == mission.plan.items


def test_the_example_is_what_is_flown_here():
    assert json.loads((EXAMPLES / 'survey.plan').read_text()) == plan_files.survey()
