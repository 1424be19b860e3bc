# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The atmosphere over any sea level, against hydrostatics."""
from __future__ import annotations

import dataclasses

import pytest

from px4_sim_ros.model.environment.atmosphere import STANDARD, Atmosphere

HOT = Atmosphere(sea_level_pressure_pa=99000.0, sea_level_temperature_k=308.15)


@pytest.mark.parametrize('height', [-100.0, 0.0, 488.0, 5000.0, 11000.0])
def test_pressure_altitude_undoes_pressure(height):
    """There and back to a micrometre."""
    for air in (STANDARD, HOT):
        assert air.pressure_altitude_m(air.pressure_pa(height)) == pytest.approx(
            height, abs=1e-6)


def test_density_at_sea_level():
    """It is that of the table, to the digits that it has."""
    assert STANDARD.density_kg_m3(0.0) == pytest.approx(1.225, rel=1e-6)


@pytest.mark.parametrize('height', [0.0, 488.0, 3000.0, 11000.0])
def test_air_over_another_sea_level(height):
    """It is a gas, p = rho R T, and carries its own weight: dp/dh = -rho g."""
    density = HOT.density_kg_m3(height)
    assert HOT.pressure_pa(0.0) == 99000.0
    assert HOT.temperature_k(height) == pytest.approx(308.15 - 0.0065 * height, abs=1e-9)
    assert HOT.pressure_pa(height) == pytest.approx(
        density * 287.05287 * HOT.temperature_k(height), rel=1e-12)
    slope = (HOT.pressure_pa(height + 1.0) - HOT.pressure_pa(height - 1.0)) / 2.0
    assert slope == pytest.approx(-density * 9.80665, rel=1e-6)


def test_no_air_above_the_layer():
    """Where the formula would take the root of a negative number there is a vacuum."""
    assert (STANDARD.pressure_pa(60e3), STANDARD.density_kg_m3(60e3)) == (0.0, 0.0)


def test_world_has_the_air_of_its_parameters(world):
    """Standard by default."""
    assert world.atmosphere() == STANDARD
    altered = dataclasses.replace(
        world, sea_level_pressure_pa=99000.0, sea_level_temperature_k=308.15)
    assert altered.atmosphere() == HOT
