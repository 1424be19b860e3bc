# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""WGS-84 positions and a local East-North-Up frame, by PROJ."""
from __future__ import annotations

import dataclasses
import functools
import typing

from px4_sim_ros.model.frames import Vector

if typing.TYPE_CHECKING:
    import pyproj


@dataclasses.dataclass(frozen=True)
class GeodeticPosition:
    """A position over the WGS-84 ellipsoid: degrees, degrees, metres."""

    latitude_deg: float
    longitude_deg: float
    ellipsoid_altitude_m: float


@dataclasses.dataclass(frozen=True)
class LocalFrame:
    """East-North-Up axes tangent to the ellipsoid at `origin`."""

    origin: GeodeticPosition

    def to_geodetic(self, position_enu_m: Vector) -> GeodeticPosition:
        """Return the WGS-84 position of a local one."""
        longitude, latitude, altitude = self._transformer.transform(*position_enu_m)
        return GeodeticPosition(latitude, longitude, altitude)

    def to_local(self, position: GeodeticPosition) -> Vector:
        """Return the local ENU coordinates in metres of a WGS-84 position."""
        return self._transformer.transform(
            position.longitude_deg, position.latitude_deg, position.ellipsoid_altitude_m,
            direction='INVERSE')

    def turned_from(self, other: LocalFrame, vector: Vector) -> Vector:
        """Return a vector on these axes that is given on those of another frame."""
        between = _pipeline(f'+inv {other._topocentric}', self._topocentric)
        # As the way from one point to another.
        start, end = (between.transform(*point) for point in ((0.0, 0.0, 0.0), vector))
        return tuple(b - a for a, b in zip(start, end))

    @functools.cached_property
    def _transformer(self) -> pyproj.Transformer:
        """From local to geodetic: longitude and latitude in degrees, and the altitude."""
        return _pipeline(f'+inv {self._topocentric}', '+inv +proj=cart',
                         '+proj=unitconvert +xy_in=rad +xy_out=deg')

    @property
    def _topocentric(self) -> str:
        """From geocentric coordinates to those of this frame, in the words of PROJ."""
        origin = self.origin
        return (f'+proj=topocentric +lon_0={origin.longitude_deg!r}'
                f' +lat_0={origin.latitude_deg!r} +h_0={origin.ellipsoid_altitude_m!r}')


def load_proj() -> None:
    """Load PROJ now, and not in the midst of a flight."""
    LocalFrame(GeodeticPosition(0.0, 0.0, 0.0)).to_geodetic((0.0, 0.0, 0.0))


def _pipeline(*steps: str) -> pyproj.Transformer:
    """Return steps one after the other on the WGS-84 ellipsoid, each in the words of PROJ."""
    import pyproj  # it takes a while, and most nodes and commands do without
    return pyproj.Transformer.from_pipeline(
        ' +step '.join(('+proj=pipeline +ellps=WGS84', *steps)))
