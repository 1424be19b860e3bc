"""WGS-84 positions and a local East-North-Up frame, by pymap3d."""
from __future__ import annotations

import dataclasses

import pymap3d

from px4_sim_ros.core.frames import Vector


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
        latitude, longitude, altitude = pymap3d.enu2geodetic(*position_enu_m, *self._origin())
        return GeodeticPosition(float(latitude), float(longitude), float(altitude))

    def to_local(self, position: GeodeticPosition) -> Vector:
        """Return the local ENU coordinates in metres of a WGS-84 position."""
        east, north, up = pymap3d.geodetic2enu(
            position.latitude_deg, position.longitude_deg, position.ellipsoid_altitude_m,
            *self._origin())
        return float(east), float(north), float(up)

    def _origin(self) -> tuple[float, float, float]:
        origin = self.origin
        return origin.latitude_deg, origin.longitude_deg, origin.ellipsoid_altitude_m
