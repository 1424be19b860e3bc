# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The Earth's magnetic field by the World Magnetic Model 2025, from pygeomag."""
from __future__ import annotations

import functools
import typing

from px4_sim_ros.model.environment.geodesy import GeodeticPosition, LocalFrame
from px4_sim_ros.model.errors import check_installed
from px4_sim_ros.model.frames import Vector, ned_to_enu, vector

if typing.TYPE_CHECKING:
    import pygeomag

_TESLA_PER_NANOTESLA = 1e-9
_WMM_2025 = 'wmm/WMM_2025.COF'
_DIFFERENCE_M = 1000.0


@functools.cache
def _model() -> pygeomag.GeoMag:
    check_installed('pygeomag')
    import pygeomag
    return pygeomag.GeoMag(coefficients_file=_WMM_2025)


def field_enu_t(position: GeodeticPosition, year: float) -> Vector:
    """Return the main field in tesla, East-North-Up at the position itself.

    :param year: decimal year within the model's validity, 2025 to 2030
    """
    result = _model().calculate(
        position.latitude_deg, position.longitude_deg, position.ellipsoid_altitude_m / 1000.0,
        year)
    north, east, down = (float(v) * _TESLA_PER_NANOTESLA for v in (result.x, result.y, result.z))
    return ned_to_enu((north, east, down))


def local_field_t(frame: LocalFrame, position_enu: Vector, year: float) -> Vector:
    """Return the main field in tesla at a local position, on the axes of the local frame.

    On a map true north turns from place to place, by 0.1 degrees over 10 km east of Zurich.
    """
    place = frame.to_geodetic(position_enu)
    return frame.turned_from_place(place, field_enu_t(place, year))


def field_at(
    position_enu: Vector, home_t: Vector, slopes_t_m: tuple[Vector, Vector, Vector],
) -> Vector:
    """Return a field in tesla at a position.

    :param slopes_t_m: how it changes to the east, to the north and upwards
    """
    x, y, z = position_enu
    bx, by, bz = home_t
    (ex, ey, ez), (nx, ny, nz), (ux, uy, uz) = slopes_t_m
    return (
        bx + x * ex + y * nx + z * ux,
        by + x * ey + y * ny + z * uy,
        bz + x * ez + y * nz + z * uz,
    )


class MagneticField:
    """The main field around home: its value there and its slope along each axis.

    Within 10 km and 500 m up it differs from the model by less than 1 nT, where the field
    at home would by 150 nT. Local anomalies and the daily variation, far larger, are not in
    the model.
    """

    def __init__(self, frame: LocalFrame, year: float) -> None:
        """Ask the model once at home and by central differences 1 km around it."""
        self.home_t = local_field_t(frame, (0.0, 0.0, 0.0), year)
        self.slopes_t_m = (
            _slope(frame, 0, year), _slope(frame, 1, year), _slope(frame, 2, year))

    def at(self, position_enu: Vector) -> Vector:
        """Return the field in tesla at a local position, both on the local frame's axes."""
        return field_at(position_enu, self.home_t, self.slopes_t_m)


def _slope(frame: LocalFrame, axis: int, year: float) -> Vector:
    """Return how the field changes along an axis of the frame, T/m."""
    step = [0.0, 0.0, 0.0]
    step[axis] = _DIFFERENCE_M
    ahead = local_field_t(frame, vector(step), year)
    behind = local_field_t(frame, vector(-s for s in step), year)
    return vector((a - b) / (2.0 * _DIFFERENCE_M) for a, b in zip(ahead, behind))
