# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Arrows, beams and ellipsoids: where they are, and how long."""
from __future__ import annotations

import math

import numpy as np
import pytest
from shown import LEVEL, Shown, at, points, turn, windy
from visualization_msgs.msg import Marker

from px4_sim_ros.messages.truth import WORLD_FRAME
from px4_sim_ros.viewing import markers
from px4_sim_ros.viewing.markers import Beam, Fix, Scene


@pytest.fixture(scope='module')
def configuration():
    """Return a run with wind and a range finder."""
    return windy()


def hover_rad_s(configuration):
    vehicle = configuration.vehicle
    share_n = vehicle.body.mass_kg * configuration.world.gravity_m_s2 / len(vehicle.rotors)
    return math.sqrt(share_n / vehicle.rotor_model.thrust_coefficient_n_s2)


@pytest.fixture
def shown(configuration):
    """Return a function that gives the markers of a scene at 3 m, with what is named."""
    drawn = markers.Markers(configuration)

    def of(position=(1.0, 2.0, 3.0), attitude=LEVEL, **received):
        scene = Scene(**received)
        scene.move(1.5, position, attitude)
        return Shown(drawn.of(scene))
    return of


def test_all_markers_are_in_map_at_the_time_of_the_pose(shown):
    found = shown(wind_enu_m_s=(1.0, 0.0, 0.0))
    assert {m.header.frame_id for m in found.array.markers} == {WORLD_FRAME}
    assert {(m.header.stamp.sec, m.header.stamp.nanosec) for m in found.array.markers} == {
        (1, 500_000_000)}
    assert {m.ns for m in found.array.markers} == set(markers.NAMESPACES)


def test_what_was_not_heard_is_deleted(shown):
    actions = {ns: m.action for (ns, _), m in shown().by_name.items()}
    assert actions == dict.fromkeys(markers.NAMESPACES, Marker.DELETE) | {markers.TEXT: Marker.ADD}


def test_without_a_pose_nothing_is_shown(configuration):
    found = markers.Markers(configuration).of(Scene(link='LOCKED'))
    assert [m.action for m in found.markers] == [Marker.DELETEALL]


def test_thrust_arrows_begin_at_the_hubs_and_go_up_the_body(shown, configuration):
    attitude, r = turn(20.0, -10.0, 130.0)
    hover = hover_rad_s(configuration)
    speeds = (hover, math.sqrt(0.5) * hover, 2.0 * hover, hover)
    found = shown(attitude=attitude, rotor_speeds_rad_s=speeds)
    lengths_m = []
    for i, rotor in enumerate(configuration.vehicle.rotors):
        arrow = found[markers.THRUST, i]
        start, end = points(arrow)
        assert arrow.action == Marker.ADD and arrow.type == Marker.ARROW
        assert np.allclose(start, (1.0, 2.0, 3.0) + r @ rotor.position_m)
        assert np.allclose((end - start) / math.dist(start, end), r @ (0, 0, 1))
        lengths_m.append(math.dist(start, end))
    # In proportion to the thrust, which goes with the square of the speed.
    assert np.array(lengths_m) / lengths_m[0] == pytest.approx([1.0, 0.5, 4.0, 1.0])


def test_a_rotor_that_stands_has_no_arrow(shown, configuration):
    speeds = (hover_rad_s(configuration), 0.0, 0.0, 0.0)
    found = shown(rotor_speeds_rad_s=speeds)
    assert [found[markers.THRUST, i].action for i in range(4)] == [
        Marker.ADD, Marker.DELETE, Marker.DELETE, Marker.DELETE]


@pytest.mark.parametrize('angles', [(0, 0, 0), (25, -15, 70), (-35, 20, 200)])
def test_a_beam_ends_on_the_ground_under_a_tilted_vehicle(shown, angles):
    attitude, r = turn(*angles)
    mount = np.array((1.0, 2.0, 3.0)) + r @ (0.05, -0.02, -0.04)
    down = r @ (0.0, 0.0, -1.0)
    range_m = mount[2] / -down[2]
    found = shown(attitude=attitude, beam=Beam('range_down_link', range_m, 25.0))
    start, end = points(found[markers.RANGE])
    assert np.allclose(start, mount)
    assert end[2] == pytest.approx(0.0, abs=1e-12)
    assert math.dist(start, end) == pytest.approx(range_m)


def test_a_beam_without_an_echo_is_as_long_as_it_sees(shown):
    found = shown(beam=Beam('range_down_link', math.inf, 25.0))[markers.RANGE]
    assert math.dist(*points(found)) == pytest.approx(25.0)
    assert tuple(found.color.__getattribute__(c) for c in 'rgba') == pytest.approx(
        markers.NO_ECHO_COLOUR)


@pytest.mark.parametrize('range_m', [-math.inf, math.nan])
def test_a_beam_that_is_too_short_is_none(shown, range_m):
    found = shown(beam=Beam('range_down_link', range_m, 25.0))[markers.RANGE]
    assert found.action == Marker.DELETE


def test_a_beam_of_an_unknown_frame_is_none(shown):
    assert shown(beam=Beam('range_up_link', 1.0, 25.0))[markers.RANGE].action == Marker.DELETE


def test_the_ellipsoid_is_one_deviation_about_the_fix(shown):
    found = shown(fix=Fix((1.5, 2.5, 3.5), (0.9, 0.8, 1.78)))[markers.GNSS]
    assert found.type == Marker.SPHERE and at(found) == (1.5, 2.5, 3.5)
    # Scales are diameters.
    assert (found.scale.x, found.scale.y, found.scale.z) == pytest.approx((1.8, 1.6, 3.56))


def test_the_wind_goes_where_it_blows_to(shown):
    start, end = points(shown(wind_enu_m_s=(5.0, -2.0, 1.0))[markers.WIND])
    assert np.allclose(end - start, markers.WIND_M_PER_M_S * np.array((5.0, -2.0, 1.0)))
    assert np.allclose(start, (1.0, 2.0, 3.0 + markers.WIND_ABOVE_M))
    assert shown(wind_enu_m_s=(0.0, 0.0, 0.0))[markers.WIND].action == Marker.DELETE


def test_the_set_point_is_where_it_is(shown):
    assert at(shown(set_point_enu_m=(7.0, 8.0, 9.0))[markers.SET_POINT]) == (7.0, 8.0, 9.0)


def test_nothing_is_shown_that_rviz_refuses(shown, configuration):
    found = shown(rotor_speeds_rad_s=(hover_rad_s(configuration),) * 4,
                  wind_enu_m_s=(1.0, 0.0, 0.0), beam=Beam('range_down_link', math.inf, 25.0),
                  fix=Fix((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)), set_point_enu_m=(0.0, 0.0, 0.0))
    for marker in found.array.markers:
        assert marker.action == Marker.ADD
        assert len(marker.points) in (0, 2) and marker.color.a > 0.0
        assert np.isfinite(points(marker)).all()
        assert marker.scale.x > 0.0 or marker.type == Marker.TEXT_VIEW_FACING
