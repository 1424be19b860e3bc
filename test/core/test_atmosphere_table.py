"""The standard atmosphere against the published table."""
from __future__ import annotations

import math

import pytest
from scipy.integrate import quad

from px4_sim_ros.core import atmosphere

# ISO 2533 and US Standard Atmosphere 1976, by geopotential height: m, K, Pa, kg/m^3.
TABLE = [
    (0.0, 288.150, 101325.0, 1.22500),
    (1000.0, 281.650, 89874.6, 1.11164),
    (2000.0, 275.150, 79495.2, 1.00649),
    (5000.0, 255.650, 54019.9, 0.736116),
    (8000.0, 236.150, 35599.8, 0.525168),
    (11000.0, 216.650, 22632.1, 0.363918),
]


@pytest.mark.parametrize(('height', 'temperature', 'pressure', 'density'), TABLE)
def test_table(height, temperature, pressure, density):
    """Temperature to 1e-9 K; pressure and density to the digits that the table prints."""
    assert atmosphere.temperature_k(height) == pytest.approx(temperature, abs=1e-9)
    assert atmosphere.pressure_pa(height) == pytest.approx(pressure, rel=5e-6)
    assert atmosphere.density_kg_m3(height) == pytest.approx(density, rel=5e-6)


def test_pressure_at_home():
    """488 m: p0 exp(-integral of g / (R T) dh), and near the 95461 Pa of 500 m."""
    def scale(height):
        return 9.80665 / (287.05287 * (288.15 - 0.0065 * height))

    expected = 101325.0 * math.exp(-quad(scale, 0.0, 488.0)[0])
    assert atmosphere.pressure_pa(488.0) == pytest.approx(expected, rel=1e-12)
    assert atmosphere.pressure_pa(488.0) == pytest.approx(95598.0, rel=1e-3)
    assert atmosphere.pressure_pa(500.0) == pytest.approx(95460.8, rel=5e-6)


@pytest.mark.parametrize('height', [-100.0, 0.0, 488.0, 5000.0, 11000.0])
def test_pressure_altitude_undoes_pressure(height):
    """There and back to a micrometre."""
    assert atmosphere.pressure_altitude_m(atmosphere.pressure_pa(height)) == pytest.approx(
        height, abs=1e-6)
