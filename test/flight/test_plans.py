# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans of QGroundControl in flight: by commands of our pilot, and by PX4's navigator."""
import json
import os
import pathlib

import numpy as np
import plan_files
import pytest
from commands import here
from instances import of_px4
from plan_files import LAND, RETURN, TAKE_OFF, VTOL_TAKE_OFF, WAYPOINT, at, do, plan

from px4_sim_ros import Flight

SURVEY = pathlib.Path(__file__).resolve().parents[2] / 'examples' / 'survey.plan'
CORNERS = [(5, 10), (35, 10), (35, 20), (5, 20)]              # north and east
PX4 = {'autopilot': 'px4', 'px4_dir': os.environ.get('PX4_DIR')}
_BOX = [(-40, -40), (20, -40), (20, 60), (-40, 60)]


def flown(**what):
    """Fly in this process; return the result, and the positions in east, north and up."""
    result = Flight(**what).fly()
    truth = result.table()
    return result, np.stack([truth[f'position_m.{axis}'] for axis in 'xyz'], axis=1)


def nearest_m(path, north_m, east_m):
    return np.min(np.hypot(path[:, 0] - east_m, path[:, 1] - north_m))


@pytest.mark.slow
def test_the_embedded_pilot_flies_a_survey(instance):
    """It passes each corner, no faster than asked for, and comes back."""
    result, path = flown(mission=str(SURVEY), instance=instance)
    assert result.has_succeeded
    assert all(nearest_m(path, *corner) < 2.5 for corner in CORNERS)
    time_s = result.table()['time_s']
    speed_m_s = np.hypot(*np.gradient(path[:, :2], time_s, axis=0).T)
    assert 1.7 < np.max(speed_m_s) < 2.3
    assert np.hypot(*path[-1, :2]) < 0.5


@pytest.mark.slow
def test_what_it_leaves_out_is_said_before_the_flight(instance, tmp_path):
    """Which is over before it has begun to fly the plan."""
    scenario, file = tmp_path / 'short.yaml', tmp_path / 'summary.json'
    scenario.write_text('end: {at_s: 0.1}\n')
    flight = here('fly', '--mode', 'core', '--mission', SURVEY, '--scenario', scenario,
                  '--instance', instance, '--summary', file)
    assert flight.returncode == 0 and json.loads(file.read_text())['mission'] == 'survey'
    assert flight.stderr.splitlines()[0] == (
        'fly: mission survey: the embedded autopilot leaves out items 4, 6, 8, 10'
        ' (MAV_CMD_DO_SET_CAM_TRIGG_DIST), the fence, the rally points')


@pytest.mark.slow
def test_what_it_cannot_fly_is_refused_before_the_flight(instance, tmp_path):
    file = plan_files.write(tmp_path / 'x.plan', plan(
        at(TAKE_OFF, 0, 0, 9), at(18, 9, 9, 9, 2, 0, 20), at(LAND, 0, 0, 0)))
    flight = here('fly', '--mission', file, '--instance', instance)
    assert (flight.returncode, flight.stderr) == (
        2, 'fly: mission x: the embedded autopilot does not fly item 2 (MAV_CMD_NAV_LOITER_TURNS);'
        ' fly with the autopilot px4\n')


@pytest.mark.slow
def test_a_plan_of_another_place_is_refused(instance):
    flight = here('fly', '--mission', SURVEY, '--set', 'home_latitude_deg=48.4',
                  '--instance', instance)
    assert flight.returncode == 2 and (
        'mission survey: its first point is 111 km from the origin of the world, 48.400000,'
        ' 8.545594 deg: must be within 10 km') in flight.stderr


@pytest.mark.slow
def test_a_plan_that_ends_in_the_air(instance, tmp_path):
    """That is how it was planned: the flight has succeeded, without having landed."""
    file = plan_files.write(tmp_path / 'up.plan', plan(
        at(TAKE_OFF, 0, 0, 5), at(WAYPOINT, 6, 0, 5, 1)))
    result, path = flown(mission=str(file), instance=instance)
    assert result.has_succeeded and not result.summary()['landed']
    assert 4.5 < path[-1, 2] - path[0, 2] < 5.5


@pytest.mark.slow
def test_yaw_speed_radius_and_a_return_of_our_own_format(instance):
    latitude, longitude = plan_files.place(10, 0)
    result, path = flown(instance=instance, scenario={'mission': [
        {'take_off': {'up_m': 2}},
        {'go_to': {'latitude_deg': latitude, 'longitude_deg': longitude, 'up_m': 2,
                   'yaw_deg': 90, 'speed_m_s': 2, 'radius_m': 3}},
        {'go_to': {'north_m': 10, 'east_m': 8, 'up_m': 2}}, {'hold': {'duration_s': 1}},
        {'return_home': {}}]})
    assert result.has_succeeded
    assert 1.0 < nearest_m(path, 10, 0) < 3.0 and nearest_m(path, 10, 8) < 0.5
    truth = result.table()
    speed_m_s = np.hypot(*np.gradient(path[:, :2], truth['time_s'], axis=0).T)
    assert 1.7 < np.max(speed_m_s) < 2.3
    w, z = (truth[f'attitude_wxyz.{axis}'][len(path) // 2] for axis in 'wz')
    assert np.degrees(2 * np.arctan2(z, w)) == pytest.approx(0.0, abs=5.0)     # east, from east
    assert np.hypot(*path[-1, :2]) < 0.5


@pytest.mark.process
def test_a_campaign_has_the_whole_plan(tmp_path):
    """Also where the file of the plan is gone, from which a run is flown again."""
    file = plan_files.write(tmp_path / 'x.plan', plan(
        at(TAKE_OFF, 0, 0, 2), at(WAYPOINT, 2, 0, 2), do(RETURN)))
    campaign = tmp_path / 'campaign.yaml'
    campaign.write_text(json.dumps({
        'mission': str(file), 'runs': 1, 'vary': {'weather.speed_m_s': {'uniform': [0.0, 2.0]}}}))
    out = tmp_path / 'out'
    assert here('campaign', campaign, '--out', out, '--workers', '1').returncode == 0
    file.unlink()
    again = here('campaign', 'refly', out, '1')
    assert again.returncode == 0, again.stderr


@pytest.mark.px4
@pytest.mark.process
def test_px4_flies_a_survey_and_lands_at_its_rally_point(tmp_path):
    """That is nearer than home when it returns; fence and rally points have been uploaded."""
    result, path = flown(mission=str(SURVEY), instance=of_px4(), **PX4)
    assert result.has_succeeded, result.failure
    assert all(nearest_m(path, *corner) < 2.5 for corner in CORNERS)
    assert nearest_m(path[-1:], -4, 14) < 0.5


@pytest.mark.px4
@pytest.mark.process
def test_px4_refuses_what_leaves_its_fence_in_its_own_words(tmp_path):
    content = plan_files.survey()
    content['geoFence']['polygons'] = [plan_files.polygon(*_BOX)]
    result, _ = flown(mission=str(plan_files.write(tmp_path / 'out.plan', content)),
                      instance=of_px4(), **PX4)
    assert not result.has_succeeded
    assert 'Geofence violation for waypoint 5' in result.failure


@pytest.mark.px4
@pytest.mark.process
def test_px4_refuses_a_command_that_it_does_not_know(tmp_path):
    file = plan_files.write(tmp_path / 'spline.plan', plan(
        at(TAKE_OFF, 0, 0, 9), at(82, 9, 9, 9), at(LAND, 0, 0, 0)))
    result, _ = flown(mission=str(file), instance=of_px4(), **PX4)
    assert 'the autopilot refuses the mission: MAV_MISSION_UNSUPPORTED' in result.failure


@pytest.mark.px4
@pytest.mark.process
def test_px4_flies_a_vtol_by_its_patterns(tmp_path):
    """On its wing from the take-off's point on, and lands where the pattern says."""
    file = plan_files.write(tmp_path / 'vtol.plan', plan(
        at(VTOL_TAKE_OFF, 120, 0, 30), at(WAYPOINT, 250, 150, 40), at(WAYPOINT, 150, 300, 40),
        plan_files.landing('vtolLandingPattern', (-60, 200, 35), (0, 20, 0))))
    result, path = flown(vehicle='standard_vtol', mission=str(file), instance=of_px4(), **PX4)
    assert result.has_succeeded, result.failure
    assert nearest_m(path, 250, 150) < 60.0 and nearest_m(path, 150, 300) < 60.0
    assert nearest_m(path[-1:], 0, 20) < 5.0
