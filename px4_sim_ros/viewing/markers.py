# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The scene as visualization_msgs, all in `map`: no viewer needs transforms for them."""
from __future__ import annotations

import dataclasses
import math
import typing

from geometry_msgs.msg import Point
from visualization_msgs.msg import Marker, MarkerArray

from px4_sim_ros.messages.stamps import in_frame, set_stamp
from px4_sim_ros.messages.truth import WORLD_FRAME
from px4_sim_ros.model.frames import Quaternion, Vector
from px4_sim_ros.model.rotation import matrix, scaled, to_world, total
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.spec.configuration import Configuration
from px4_sim_ros.viewing.links import IDENTITY, beams
from px4_sim_ros.viewing.scenery import moving_shapes, new_marker, shape_markers
from px4_sim_ros.viewing.shapes import Colour, rotor_colour

_FIRST_SPACING_M = 0.05


class FlownPath:
    """Points that are a spacing apart; it doubles when there are too many of them."""

    def __init__(self, most_points: int = 1500) -> None:
        self._most_points = most_points
        self.clear()

    def clear(self) -> None:
        """Remove all points."""
        self.points: list[Vector] = []
        self._spacing_m = _FIRST_SPACING_M

    def add(self, position_enu_m: Vector) -> bool:
        """Add a position unless it is too near; return whether it was added."""
        if self.points and math.dist(self.points[-1], position_enu_m) < self._spacing_m:
            return False
        self.points.append(position_enu_m)
        if len(self.points) > self._most_points:
            self._spacing_m *= 2.0
            thinned = FlownPath(self._most_points)
            thinned._spacing_m = self._spacing_m
            for point in self.points[:-1]:
                thinned.add(point)
            self.points = [*thinned.points, position_enu_m]
        return True


# Speeds are differences of positions; over less time they would be rounding.
_SPEED_OVER_S = 0.1


class Beam(typing.NamedTuple):
    """A range measurement; +inf without an echo, -inf below the minimum range (REP-117)."""

    frame: str
    range_m: float
    max_range_m: float


class Fix(typing.NamedTuple):
    """A GNSS position and its accuracy as reported by the receiver."""

    position_enu_m: Vector
    deviation_enu_m: Vector       # standard deviations


@dataclasses.dataclass
class Scene:
    """The last value received of each; None before the first."""

    time_s: float = 0.0
    position_enu_m: Vector | None = None
    attitude: Quaternion = IDENTITY
    speed_m_s: float = 0.0
    rotor_speeds_rad_s: tuple[float, ...] = ()
    servo_angles_rad: tuple[float, ...] = ()
    wheel_angles_rad: tuple[float, ...] = ()
    wheel_steering_rad: tuple[float, ...] = ()      # of those that are steered
    wind_enu_m_s: Vector | None = None
    beam: Beam | None = None
    fix: Fix | None = None
    set_point_enu_m: Vector | None = None
    link: str = ''
    state: str = ''
    real_time_factor: float | None = None
    _speed_from: tuple[float, Vector] | None = None

    def after_reset(self) -> Scene:
        """Return the scene at the start of the next run; values of latched topics are kept."""
        return Scene(link=self.link, state=self.state, real_time_factor=self.real_time_factor)

    def move(self, time_s: float, position_enu_m: Vector, attitude: Quaternion) -> None:
        """Set the pose, and the speed from its difference."""
        self.time_s, self.position_enu_m, self.attitude = time_s, position_enu_m, attitude
        if self._speed_from is None:
            self._speed_from = time_s, position_enu_m
        elapsed_s = time_s - self._speed_from[0]
        if elapsed_s >= _SPEED_OVER_S:
            self.speed_m_s = math.dist(position_enu_m, self._speed_from[1]) / elapsed_s
            self._speed_from = time_s, position_enu_m

    def text(self) -> str:
        """Return the lines shown above the vehicle."""
        up_m = self.position_enu_m[2] if self.position_enu_m else 0.0
        lines = [f'{up_m:.1f} m up  {self.speed_m_s:.1f} m/s', f't = {self.time_s:.1f} s']
        if self.real_time_factor is not None:
            lines[1] += f'  {self.real_time_factor:.1f} x real time'
        lines.append('  '.join(filter(None, [self.state, self.link])))
        return '\n'.join(filter(None, lines))


# How rotors are shown: angles slow enough to see, and thrusts as arrows.

# At 25 Hz a rotor that hovers at 600 rad/s would be aliased. A hundredth of that is a turn a
# second, in the right sense and in proportion.
SLOWED_DOWN = 100.0
# The arrow of a rotor that carries its share of the weight.
_HOVER_ARROW_M = 0.35


class RotorAngles:
    """Integrates speeds to angles, a hundred times slower than the rotors turn."""

    def __init__(self, vehicle: Vehicle) -> None:
        self._spins = tuple(rotor.spin for rotor in vehicle.rotors)
        self._time_s: float | None = None
        self.angles_rad: tuple[float, ...] = (0.0,) * len(self._spins)

    @property
    def joints_rad(self) -> tuple[float, ...]:
        """The angles about the axes that the rotors turn about, as in `joint_states`."""
        return tuple(spin * angle for spin, angle in zip(self._spins, self.angles_rad))

    def at(self, time_s: float, speeds_rad_s: typing.Sequence[float]) -> tuple[float, ...]:
        """Return the angles about body z; they are reset to 0 when time goes back.

        :param speeds_rad_s: at this time, of each rotor
        """
        elapsed_s = 0.0 if self._time_s is None else time_s - self._time_s
        self._time_s = time_s
        if elapsed_s < 0.0:
            self.angles_rad = (0.0,) * len(self._spins)
        else:
            self.angles_rad = tuple(
                math.remainder(angle + spin * speed * elapsed_s / SLOWED_DOWN, math.tau)
                for angle, spin, speed in zip(self.angles_rad, self._spins, speeds_rad_s))
        return self.angles_rad


class ThrustArrows:
    """Arrows along the axes of rotors, as long as their thrust in still air of sea level."""

    def __init__(self, vehicle: Vehicle, gravity_m_s2: float) -> None:
        servos = {servo.name: i for i, servo in enumerate(vehicle.servos)}
        self._rotors = [
            (rotor, rotor.direction, servos.get(rotor.tilted_by, -1)) for rotor in vehicle.rotors]
        self._coefficients_n_s2 = [
            vehicle.model_of(rotor).thrust_coefficient_n_s2 for rotor in vehicle.rotors]
        share_n = vehicle.body.mass_kg * gravity_m_s2 / max(1, len(vehicle.rotors))
        self._m_per_n = _HOVER_ARROW_M / share_n if share_n > 0.0 else 0.0

    def vectors_m(
        self, speeds_rad_s: typing.Sequence[float], servo_angles_rad: typing.Sequence[float],
    ) -> list[Vector]:
        """Return them in FLU.

        :param servo_angles_rad: of all servos; none: 0
        """
        found = []
        for length_m, (rotor, axis, servo) in zip(self._lengths_m(speeds_rad_s), self._rotors):
            if 0 <= servo < len(servo_angles_rad):
                axis = rotor.direction_at(servo_angles_rad[servo])
            found.append(scaled(length_m, axis))
        return found

    def _lengths_m(self, speeds_rad_s: typing.Sequence[float]) -> list[float]:
        """Return how long they are: T = k w^2, in proportion to a share of the weight."""
        return [coefficient * speed * speed * self._m_per_n
                for coefficient, speed in zip(self._coefficients_n_s2, speeds_rad_s)]


# Namespaces of markers; a viewer can switch each off.
THRUST, WIND, SET_POINT, RANGE, GNSS, TEXT = NAMESPACES = (
    'thrust', 'wind', 'set point', 'range', 'gnss', 'text')
MOVING = 'objects that move'
"""Of a scene that has some."""

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
    def __init__(self, configuration: Configuration) -> None:
        vehicle = configuration.vehicle
        self._rotors = [(rotor.position_m, rotor_colour(vehicle, i))
                        for i, rotor in enumerate(vehicle.rotors)]
        self._thrust = ThrustArrows(vehicle, configuration.world.gravity_m_s2)
        self._beams = beams(configuration)
        self._world = configuration.scene

    def of(self, scene: Scene) -> MarkerArray:
        """Return the markers of a scene; one without a value is deleted."""
        position = scene.position_enu_m
        if position is None:
            return MarkerArray(markers=[Marker(action=Marker.DELETEALL)])
        markers = [
            *self._thrusts(scene, position), _wind(scene, position), _set_point(scene),
            self._beam(scene, position), _accuracy(scene), _text(scene, position),
            *shape_markers(MOVING, moving_shapes(self._world, round(scene.time_s * US_PER_S)))]
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
        marker = new_marker(
            RANGE, 0, Marker.LINE_LIST, BEAM_COLOUR if has_echo else NO_ECHO_COLOUR)
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
    marker = new_marker(TEXT, 0, Marker.TEXT_VIEW_FACING, _TEXT_COLOUR)
    _place(marker, total(position, (0.0, 0.0, _TEXT_ABOVE_M)))
    marker.scale.z = _TEXT_HEIGHT_M
    marker.text = scene.text()
    return marker


def _deleted(namespace: str, number: int = 0) -> Marker:
    return Marker(ns=namespace, id=number, action=Marker.DELETE)


def _arrow(namespace: str, number: int, start: Vector, end: Vector, colour: Colour) -> Marker:
    marker = new_marker(namespace, number, Marker.ARROW, colour)
    # With two points these are the diameters of shaft and head.
    marker.scale.x, marker.scale.y = 0.03, 0.06
    marker.points = [_point(start), _point(end)]
    return marker


def _sphere(namespace: str, position: Vector, size_m: Vector, colour: Colour) -> Marker:
    marker = new_marker(namespace, 0, Marker.SPHERE, colour)
    _place(marker, position)
    marker.scale.x, marker.scale.y, marker.scale.z = size_m
    return marker


def _place(marker: Marker, position: Vector) -> None:
    p = marker.pose.position
    p.x, p.y, p.z = position


def _point(position: Vector) -> Point:
    return Point(x=position[0], y=position[1], z=position[2])
