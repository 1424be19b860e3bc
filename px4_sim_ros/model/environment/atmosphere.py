# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The International Standard Atmosphere up to 11 km (ISO 2533): one linear layer.

Altitudes are geopotential metres above mean sea level. Below 11 km the difference
to geometric altitude is at most 19 m.
"""
from __future__ import annotations

import dataclasses

LAPSE_RATE_K_M = 0.0065
GAS_CONSTANT_J_KG_K = 287.05287
STANDARD_GRAVITY_M_S2 = 9.80665
KELVIN_AT_ZERO_CELSIUS = 273.15

_PRESSURE_EXPONENT = STANDARD_GRAVITY_M_S2 / (GAS_CONSTANT_J_KG_K * LAPSE_RATE_K_M)
_DENSITY_EXPONENT = _PRESSURE_EXPONENT - 1.0


def density_kg_m3(
    altitude_m: float, sea_level_pressure_pa: float, sea_level_temperature_k: float,
) -> float:
    """Return the air density p / (R T), with the powers of T put together."""
    ratio = 1.0 - LAPSE_RATE_K_M * altitude_m / sea_level_temperature_k
    if ratio <= 0.0:
        return 0.0
    density: float = sea_level_pressure_pa * ratio ** _DENSITY_EXPONENT / (
        GAS_CONSTANT_J_KG_K * sea_level_temperature_k)
    return density


def pressure_pa(
    altitude_m: float, sea_level_pressure_pa: float, sea_level_temperature_k: float,
) -> float:
    """Return the static pressure."""
    ratio = 1.0 - LAPSE_RATE_K_M * altitude_m / sea_level_temperature_k
    if ratio <= 0.0:
        return 0.0
    pressure: float = sea_level_pressure_pa * ratio ** _PRESSURE_EXPONENT
    return pressure


def pressure_altitude_m(
    pressure_pa: float, sea_level_pressure_pa: float, sea_level_temperature_k: float,
) -> float:
    """Return the altitude at which the pressure is this."""
    ratio: float = (pressure_pa / sea_level_pressure_pa) ** (1.0 / _PRESSURE_EXPONENT)
    return sea_level_temperature_k / LAPSE_RATE_K_M * (1.0 - ratio)


@dataclasses.dataclass(frozen=True)
class Atmosphere:
    """Air at rest over a sea level of one's choice; the lapse rate is the standard one.

    The formulas hold up to 11 km. Above, the layer is extended; near 44 km it ends in
    a vacuum.
    """

    sea_level_pressure_pa: float = 101325.0
    sea_level_temperature_k: float = 288.15

    def temperature_k(self, altitude_m: float) -> float:
        """Return the air temperature."""
        return self.sea_level_temperature_k - LAPSE_RATE_K_M * altitude_m

    def pressure_pa(self, altitude_m: float) -> float:
        """Return `pressure_pa` of this atmosphere."""
        return pressure_pa(altitude_m, self.sea_level_pressure_pa, self.sea_level_temperature_k)

    def density_kg_m3(self, altitude_m: float) -> float:
        """Return `density_kg_m3` of this atmosphere."""
        return density_kg_m3(
            altitude_m, self.sea_level_pressure_pa, self.sea_level_temperature_k)

    def pressure_altitude_m(self, pressure_pa: float) -> float:
        """Return `pressure_altitude_m` of this atmosphere."""
        return pressure_altitude_m(
            pressure_pa, self.sea_level_pressure_pa, self.sea_level_temperature_k)


STANDARD = Atmosphere()
