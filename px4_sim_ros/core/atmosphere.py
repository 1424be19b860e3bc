"""The International Standard Atmosphere up to 11 km (ISO 2533): one linear layer.

Altitudes are geopotential metres above mean sea level. Below 11 km the difference
to geometric altitude is at most 19 m.
"""
from __future__ import annotations

SEA_LEVEL_PRESSURE_PA = 101325.0
SEA_LEVEL_TEMPERATURE_K = 288.15
LAPSE_RATE_K_M = 0.0065
GAS_CONSTANT_J_KG_K = 287.05287
STANDARD_GRAVITY_M_S2 = 9.80665
KELVIN_AT_ZERO_CELSIUS = 273.15

_EXPONENT = STANDARD_GRAVITY_M_S2 / (GAS_CONSTANT_J_KG_K * LAPSE_RATE_K_M)


def temperature_k(altitude_m: float) -> float:
    """Return the air temperature at an altitude of at most 11 km."""
    return SEA_LEVEL_TEMPERATURE_K - LAPSE_RATE_K_M * altitude_m


def pressure_pa(altitude_m: float) -> float:
    """Return the static pressure at an altitude of at most 11 km."""
    ratio = temperature_k(altitude_m) / SEA_LEVEL_TEMPERATURE_K
    return SEA_LEVEL_PRESSURE_PA * ratio ** _EXPONENT


def density_kg_m3(altitude_m: float) -> float:
    """Return the air density at an altitude of at most 11 km."""
    return pressure_pa(altitude_m) / (GAS_CONSTANT_J_KG_K * temperature_k(altitude_m))


def pressure_altitude_m(pressure: float) -> float:
    """Return the altitude at which the standard atmosphere has this pressure in Pa."""
    ratio = (pressure / SEA_LEVEL_PRESSURE_PA) ** (1.0 / _EXPONENT)
    return SEA_LEVEL_TEMPERATURE_K / LAPSE_RATE_K_M * (1.0 - ratio)
