"""The Earth's magnetic field by the World Magnetic Model 2025, from pygeomag."""
from __future__ import annotations

import pygeomag

from px4_sim_ros.core.frames import Vector, ned_to_enu
from px4_sim_ros.core.geodesy import GeodeticPosition

_TESLA_PER_NANOTESLA = 1e-9
_WMM_2025 = 'wmm/WMM_2025.COF'


def field_enu_t(position: GeodeticPosition, year: float) -> Vector:
    """Return the main field in tesla, East-North-Up.

    :param year: decimal year within the model's validity, 2025 to 2030
    """
    model = pygeomag.GeoMag(coefficients_file=_WMM_2025)
    result = model.calculate(
        position.latitude_deg, position.longitude_deg, position.ellipsoid_altitude_m / 1000.0,
        year)
    north, east, down = (float(v) * _TESLA_PER_NANOTESLA for v in (result.x, result.y, result.z))
    return ned_to_enu((north, east, down))
