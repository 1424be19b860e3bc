# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""WGS-84 positions and a local frame on a map around home, by PROJ."""
from __future__ import annotations

import dataclasses
import functools
import math
import typing

from px4_sim_ros.model.frames import Quaternion, Vector

if typing.TYPE_CHECKING:
    import pyproj

# NIMA TR8350.2, table 3.1.
_SEMI_MAJOR_AXIS_M = 6378137.0
_SEMI_MINOR_AXIS_M = _SEMI_MAJOR_AXIS_M * (1.0 - 1.0 / 298.257223563)

_SHORT_WAY_DEG = 1e-4
# Of the map, within which places are interpolated, and up to which latitude that is exact.
_SQUARE_M, _HIGHEST_DEG = 128.0, 80.0


@dataclasses.dataclass(frozen=True)
class GeodeticPosition:
    """A position over the WGS-84 ellipsoid: degrees, degrees, metres."""

    latitude_deg: float
    longitude_deg: float
    ellipsoid_altitude_m: float


def geocentric_m(place: GeodeticPosition) -> tuple[float, float]:
    """Return how far a position is from the axis of the Earth, and from its equator, m."""
    latitude = math.radians(place.latitude_deg)
    sine, cosine = math.sin(latitude), math.cos(latitude)
    ratio = (_SEMI_MINOR_AXIS_M / _SEMI_MAJOR_AXIS_M) ** 2
    across_m = _SEMI_MAJOR_AXIS_M / math.sqrt(cosine * cosine + ratio * sine * sine)
    return ((across_m + place.ellipsoid_altitude_m) * cosine,
            (ratio * across_m + place.ellipsoid_altitude_m) * sine)


@dataclasses.dataclass(frozen=True)
class LocalFrame:
    """East and north on a map around `origin`, and up from its altitude.

    The map is azimuthal equidistant: a place is as far from the origin, and in the direction, as
    the shortest way there at the origin's altitude. Up is the height over the ellipsoid less that
    of the origin, so that flat ground follows the Earth, and a barometer and GNSS agree however far
    away; on a plane that touches the Earth they would differ by d^2 / 2R, 7.8 m at 10 km. It is the
    frame that PX4 estimates in. Ways from the origin are true to 1e-9. True north turns on it from
    place to place: by 0.1 degrees over 10 km east of Zurich, by 180 degrees beyond a pole.
    """

    origin: GeodeticPosition

    def to_geodetic(self, position_enu_m: Vector) -> GeodeticPosition:
        """Return the WGS-84 position of a local one."""
        east, north, up = position_enu_m
        longitude, latitude = self._projection(east, north, inverse=True)
        return GeodeticPosition(latitude, longitude, self.origin.ellipsoid_altitude_m + up)

    def to_local(self, position: GeodeticPosition) -> Vector:
        """Return the local ENU coordinates in metres of a WGS-84 position."""
        east, north = self._projection(position.longitude_deg, position.latitude_deg)
        return east, north, position.ellipsoid_altitude_m - self.origin.ellipsoid_altitude_m

    def turned_from_place(self, place: GeodeticPosition, vector_enu: Vector) -> Vector:
        """Return a vector on the axes of the map that is given in east, north and up at a place."""
        sine, cosine = self._north_at(place)
        return _turned(-sine, cosine, vector_enu)

    def turned_to_place(self, place: GeodeticPosition, vector_map: Vector) -> Vector:
        """Return a vector in east, north and up at a place that is given on the axes of the map."""
        return _turned(*self._north_at(place), vector_map)

    def fix_at(self, position_enu: Vector, velocity_map: Vector) -> tuple[
            GeodeticPosition, Vector]:
        """Return the WGS-84 position of a local one, and a velocity there in east, north and up.

        From the square of the map around it: a sensor that measures often has no time for PROJ.
        """
        east, north, up = position_enu
        square = self.square_at(east, north)
        if not abs(square[2]) < _HIGHEST_DEG:
            place = self.to_geodetic(position_enu)
            return place, self.turned_to_place(place, velocity_map)
        latitude, longitude, half = place_in(square, east, north)
        return (GeodeticPosition(latitude, longitude, self.origin.ellipsoid_altitude_m + up),
                _turned(math.sin(2.0 * half), math.cos(2.0 * half), velocity_map))

    def half_turn_at(self, place: GeodeticPosition) -> float:
        """Return half the angle by which `turned_to_place` turns, rad."""
        return 0.5 * math.atan2(*self._north_at(place))

    def _north_at(self, place: GeodeticPosition) -> tuple[float, float]:
        """Return how far east and north on the map true north of a place points, of length 1."""
        # Where a short way along the meridian of the place leads on the map; not beyond a pole.
        way_deg = -_SHORT_WAY_DEG if place.latitude_deg > 0.0 else _SHORT_WAY_DEG
        x, y = self._projection(place.longitude_deg, place.latitude_deg)
        ahead_x, ahead_y = self._projection(place.longitude_deg, place.latitude_deg + way_deg)
        east, north = (ahead_x - x) / way_deg, (ahead_y - y) / way_deg
        length = math.hypot(east, north)
        return east / length, north / length

    def square_at(self, east_m: float, north_m: float) -> tuple[float, ...]:
        """Return the square of the map around a place, for `place_in`.

        :return: its middle (east, north, m), then for each of its middle, its corners and the
            middles of its sides, from west to east and there from south to north: latitude (deg),
            longitude (deg), `half_turn_at` (rad)
        """
        return _square(self, *middle_of(east_m, north_m))

    @functools.cached_property
    def _projection(self) -> pyproj.Proj:
        """From degrees to metres on an ellipsoid that goes through the origin."""
        import pyproj  # it takes a while, and most nodes and commands do without
        origin = self.origin
        return pyproj.Proj(
            proj='aeqd', lat_0=origin.latitude_deg, lon_0=origin.longitude_deg,
            a=_SEMI_MAJOR_AXIS_M + origin.ellipsoid_altitude_m,
            b=_SEMI_MINOR_AXIS_M + origin.ellipsoid_altitude_m)


SQUARE_NUMBERS = 2 + 3 * 9


def _turned(sine: float, cosine: float, vector: Vector) -> Vector:
    """Return a vector that is turned about the vertical."""
    x, y, z = vector
    return cosine * x - sine * y, cosine * y + sine * x, z


def middle_of(east_m: float, north_m: float) -> tuple[float, float]:
    """Return the middle of the square of the map that a place is in, m."""
    return (math.floor(east_m / _SQUARE_M + 0.5) * _SQUARE_M,
            math.floor(north_m / _SQUARE_M + 0.5) * _SQUARE_M)


@functools.lru_cache(maxsize=16)
def _square(frame: LocalFrame, east_m: float, north_m: float) -> tuple[float, ...]:
    numbers = [east_m, north_m]
    longitude = 0.0
    for x in (0.0, -0.5, 0.5):
        for y in (0.0, -0.5, 0.5):
            place = frame.to_geodetic((east_m + x * _SQUARE_M, north_m + y * _SQUARE_M, 0.0))
            if len(numbers) == 2:
                longitude = place.longitude_deg
            numbers += [
                place.latitude_deg,
                longitude + math.remainder(place.longitude_deg - longitude, 360.0),
                frame.half_turn_at(place)]
    return tuple(numbers)


def place_in(square: typing.Any, east_m: float, north_m: float) -> tuple[float, float, float]:
    """Return latitude (deg), longitude (deg) and `half_turn_at` (rad).

    They are interpolated by the parabolas through the nine places of a square: up to a latitude of
    80 degrees that is less than 1e-7 m off. Compiled code has no PROJ.

    :param square: the numbers of `square_at`
    """
    u, v = (east_m - square[0]) / _SQUARE_M, (north_m - square[1]) / _SQUARE_M
    along = 1.0 - 4.0 * u * u, 2.0 * u * u - u, 2.0 * u * u + u
    across = 1.0 - 4.0 * v * v, 2.0 * v * v - v, 2.0 * v * v + v
    latitude = longitude = half = 0.0
    for i in range(3):
        for j in range(3):
            weight, at = along[i] * across[j], 2 + 3 * (3 * i + j)
            latitude += weight * square[at]
            longitude += weight * square[at + 1]
            half += weight * square[at + 2]
    if longitude > 180.0:
        longitude -= 360.0
    elif longitude < -180.0:
        longitude += 360.0
    return latitude, longitude, half


def about_up(half: float) -> Quaternion:
    """Return the rotation about the vertical by twice an angle in rad."""
    return math.cos(half), 0.0, 0.0, math.sin(half)


def load_proj() -> None:
    """Load PROJ now, and not in the midst of a flight."""
    LocalFrame(GeodeticPosition(0.0, 0.0, 0.0)).to_geodetic((0.0, 0.0, 0.0))
