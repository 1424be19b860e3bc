# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The scene as visualization_msgs, all in `map`: no viewer needs transforms for them."""
from __future__ import annotations

import math
import typing

from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from px4_sim_ros.messages.stamps import in_frame, set_stamp
from px4_sim_ros.messages.truth import WORLD_FRAME
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.rotation import matrix, scaled, to_world, total
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.spec.configuration import Configuration
from px4_sim_ros.viewing.links import beams
from px4_sim_ros.viewing.rotor_motion import ThrustArrows
from px4_sim_ros.viewing.scene import Scene
from px4_sim_ros.viewing.shapes import Colour, rotor_colour

# Namespaces of markers; a viewer can switch each off.
THRUST, WIND, SET_POINT, RANGE, GNSS, TEXT = NAMESPACES = (
    'thrust', 'wind', 'set point', 'range', 'gnss', 'text')

WIND_COLOUR: Colour = (0.25, 0.75, 0.85, 0.9)
SET_POINT_COLOUR: Colour = (0.95, 0.20, 0.60, 0.9)
BEAM_COLOUR: Colour = (0.90, 0.15, 0.15, 0.8)
NO_ECHO_COLOUR: Colour = (0.60, 0.60, 0.60, 0.4)
GNSS_COLOUR: Colour = (0.30, 0.85, 0.40, 0.25)
_TEXT_COLOUR: Colour = (1.0, 1.0, 1.0, 1.0)
# An arrow of a metre is a wind of 5 m/s; it starts above the vehicle.
WIND_M_PER_M_S = 0.2
WIND_ABOVE_M = 0.6
_TEXT_ABOVE_M, _TEXT_HEIGHT_M = 1.1, 0.22
_SET_POINT_M = 0.3
_BEAM_M = 0.02


class Markers:
    """Makes the markers of one vehicle."""

    def __init__(self, configuration: Configuration) -> None:
        vehicle = configuration.vehicle
        self._rotors = [(rotor.position_m, rotor_colour(vehicle, i))
                        for i, rotor in enumerate(vehicle.rotors)]
        self._thrust = ThrustArrows(vehicle, configuration.world.gravity_m_s2)
        self._beams = beams(configuration)

    def of(self, scene: Scene) -> MarkerArray:
        """Return the markers of a scene; one without a value is deleted."""
        position = scene.position_enu_m
        if position is None:
            return MarkerArray(markers=[Marker(action=Marker.DELETEALL)])
        markers = [
            *self._thrusts(scene, position), _wind(scene, position), _set_point(scene),
            self._beam(scene, position), _accuracy(scene), _text(scene, position)]
        for marker in markers:
            in_frame(marker, WORLD_FRAME)
            set_stamp(marker.header.stamp, round(scene.time_s * US_PER_S))
        return MarkerArray(markers=markers)

    def _thrusts(self, scene: Scene, position: Vector) -> typing.Iterator[Marker]:
        rotation = matrix(scene.attitude)
        vectors_m = self._thrust.vectors_m(scene.rotor_speeds_rad_s, scene.servo_angles_rad)
        for i, (hub_m, colour) in enumerate(self._rotors):
            start = total(position, to_world(rotation, hub_m))
            vector_m = vectors_m[i] if i < len(vectors_m) else (0.0, 0.0, 0.0)
            end = total(start, to_world(rotation, vector_m))
            yield (_arrow(THRUST, i, start, end, colour) if math.hypot(*vector_m) > 0.01
                   else _deleted(THRUST, i))

    def _beam(self, scene: Scene, position: Vector) -> Marker:
        if (scene.beam is None or scene.beam.frame not in self._beams
                or not scene.beam.range_m > 0.0):      # -inf: below the minimum range
            return _deleted(RANGE)
        mount_m, direction = self._beams[scene.beam.frame]
        rotation = matrix(scene.attitude)
        has_echo = math.isfinite(scene.beam.range_m)
        length_m = scene.beam.range_m if has_echo else scene.beam.max_range_m
        start = total(position, to_world(rotation, mount_m))
        end = total(start, to_world(rotation, scaled(length_m, direction)))
        marker = _marker(RANGE, 0, Marker.LINE_LIST, BEAM_COLOUR if has_echo else NO_ECHO_COLOUR)
        marker.scale.x = _BEAM_M
        marker.points = [_point(start), _point(end)]
        return marker


def _wind(scene: Scene, position: Vector) -> Marker:
    if scene.wind_enu_m_s is None or not any(scene.wind_enu_m_s):
        return _deleted(WIND)
    start = total(position, (0.0, 0.0, WIND_ABOVE_M))
    end = total(start, scaled(WIND_M_PER_M_S, scene.wind_enu_m_s))
    return _arrow(WIND, 0, start, end, WIND_COLOUR)


def _set_point(scene: Scene) -> Marker:
    if scene.set_point_enu_m is None:
        return _deleted(SET_POINT)
    size_m = _SET_POINT_M, _SET_POINT_M, _SET_POINT_M
    return _sphere(SET_POINT, scene.set_point_enu_m, size_m, SET_POINT_COLOUR)


def _accuracy(scene: Scene) -> Marker:
    """Return an ellipsoid of one standard deviation about the position that was measured."""
    if scene.fix is None:
        return _deleted(GNSS)
    size_m = scaled(2.0, scene.fix.deviation_enu_m)
    return _sphere(GNSS, scene.fix.position_enu_m, size_m, GNSS_COLOUR)


def _text(scene: Scene, position: Vector) -> Marker:
    marker = _marker(TEXT, 0, Marker.TEXT_VIEW_FACING, _TEXT_COLOUR)
    _place(marker, total(position, (0.0, 0.0, _TEXT_ABOVE_M)))
    marker.scale.z = _TEXT_HEIGHT_M
    marker.text = scene.text()
    return marker


def _marker(namespace: str, number: int, kind: int, colour: Colour) -> Marker:
    marker = Marker(ns=namespace, id=number, type=kind, color=ColorRGBA(
        **dict(zip('rgba', colour))))
    marker.pose.orientation.w = 1.0
    return marker


def _deleted(namespace: str, number: int = 0) -> Marker:
    return Marker(ns=namespace, id=number, action=Marker.DELETE)


def _arrow(namespace: str, number: int, start: Vector, end: Vector, colour: Colour) -> Marker:
    marker = _marker(namespace, number, Marker.ARROW, colour)
    # With two points these are the diameters of shaft and head.
    marker.scale.x, marker.scale.y = 0.03, 0.06
    marker.points = [_point(start), _point(end)]
    return marker


def _sphere(namespace: str, position: Vector, size_m: Vector, colour: Colour) -> Marker:
    marker = _marker(namespace, 0, Marker.SPHERE, colour)
    _place(marker, position)
    marker.scale.x, marker.scale.y, marker.scale.z = size_m
    return marker


def _place(marker: Marker, position: Vector) -> None:
    p = marker.pose.position
    p.x, p.y, p.z = position


def _point(position: Vector) -> Point:
    return Point(x=position[0], y=position[1], z=position[2])
