# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where navigation satellites are, and what their geometry makes of the errors of a receiver."""
from __future__ import annotations

import math
import typing

from px4_sim_ros.model.environment.geodesy import GeodeticPosition, geocentric_m
from px4_sim_ros.model.frames import Vector

# NIMA TR8350.2, table 3.1.
_EARTH_RATE_RAD_S = 7.292115e-5
SIDEREAL_DAY_S = math.tau / _EARTH_RATE_RAD_S


class Constellation(typing.NamedTuple):
    """Satellites on circles in planes that keep their places among the stars."""

    epoch_greenwich_deg: float     # right ascension of Greenwich at the epoch
    radius_m: float
    inclination_deg: float
    rounds: float                  # in a sidereal day
    planes: tuple[tuple[float, tuple[float, ...]], ...]
    """Right ascension of the ascending node, and arguments of latitude at the epoch, in degrees."""


# Nominal orbits, 24 satellites each.
SYSTEMS: dict[str, Constellation] = {
    # GPS Standard Positioning Service Performance Standard, 2001, table 3-1 and the values below
    # it; the epoch is 1993-07-01T00:00:00Z.
    'gps': Constellation(15.0 * (18.0 + 36.0 / 60.0 + 14.4 / 3600.0), 26_559_700.0, 55.0, 2.0, (
        (272.847, (268.126, 161.786, 11.676, 41.806)),
        (332.847, (80.956, 173.336, 309.976, 204.376)),
        (32.847, (111.876, 11.796, 339.666, 241.556)),
        (92.847, (135.226, 265.446, 35.156, 167.356)),
        (152.847, (197.046, 302.596, 66.066, 333.686)),
        (212.847, (238.886, 345.226, 105.206, 135.346)))),
    # Galileo Open Service Service Definition Document: a Walker constellation 24/3/1; the epoch is
    # 2016-11-21T00:00:00Z. Greenwich by the mean sidereal time of IAU 1982.
    'galileo': Constellation(60.426, 29_599_800.0, 56.0, 1.7, tuple(
        ((317.632 + 120.0 * plane) % 360.0,
         tuple((225.153 + 15.0 * plane + 45.0 * slot) % 360.0 for slot in range(8)))
        for plane in range(3)))}


def directions_enu(system: str, place: GeodeticPosition, time_s: float) -> list[Vector]:
    """Return where the satellites are seen, also below the horizon: unit vectors at a place.

    :param system: a key of `SYSTEMS`
    :param time_s: since its epoch
    """
    its = SYSTEMS[system]
    longitude = math.radians(place.longitude_deg + its.epoch_greenwich_deg)
    longitude += _EARTH_RATE_RAD_S * time_s
    latitude, inclination = math.radians(place.latitude_deg), math.radians(its.inclination_deg)
    sine, cosine = math.sin(latitude), math.cos(latitude)
    own_x, own_z = geocentric_m(place)
    found = []
    for node_deg, arguments_deg in its.planes:
        node = math.radians(node_deg) - longitude      # east of the place
        for argument_deg in arguments_deg:
            u = math.radians(argument_deg) + its.rounds * _EARTH_RATE_RAD_S * time_s
            along, across = its.radius_m * math.cos(u), its.radius_m * math.sin(u)
            flat = across * math.cos(inclination)
            x = along * math.cos(node) - flat * math.sin(node) - own_x
            east = along * math.sin(node) + flat * math.cos(node)
            z = across * math.sin(inclination) - own_z
            north, up = cosine * z - sine * x, cosine * x + sine * z
            distance = math.sqrt(east * east + north * north + up * up)
            found.append((east / distance, north / distance, up / distance))
    return found


class Dilution(typing.NamedTuple):
    """The errors of a position over that of a distance to a satellite: DOP, 1-sigma."""

    horizontal: float
    vertical: float

    @property
    def position(self) -> float:
        """Of the position: PDOP."""
        return math.hypot(self.horizontal, self.vertical)


_NO_POSITION = Dilution(math.inf, math.inf)
_SMALLEST_DETERMINANT = 1e-9


def dilution(directions: typing.Collection[Vector]) -> Dilution:
    """Return the dilution of precision by directions to satellites; infinite without a position.

    With rows (east, north, up, 1) of G it is in the diagonal of the inverse of G^T G (Kaplan and
    Hegarty, Understanding GPS, 7.3). Without the receiver's clock, the fourth unknown, what is
    left is the inverse of the scatter of the directions about their mean.
    """
    count = len(directions)
    if count < 4:
        return _NO_POSITION
    e0, n0, u0 = (math.fsum(axis) / count for axis in zip(*directions))
    ee = en = eu = nn = nu = uu = 0.0
    for e, n, u in directions:
        e, n, u = e - e0, n - n0, u - u0
        ee, en, eu, nn, nu, uu = (
            ee + e * e, en + e * n, eu + e * u, nn + n * n, nu + n * u, uu + u * u)
    of_ee, of_nn, of_uu = nn * uu - nu * nu, ee * uu - eu * eu, ee * nn - en * en
    determinant = ee * of_ee - en * (en * uu - nu * eu) + eu * (en * nu - nn * eu)
    if determinant < _SMALLEST_DETERMINANT:
        return _NO_POSITION
    return Dilution(math.sqrt((of_ee + of_nn) / determinant), math.sqrt(of_uu / determinant))
