# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The barometer: pressure by height, noise, drifts, and what the wind does to the port."""
from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from px4_sim_ros.model.environment.atmosphere import Atmosphere
from px4_sim_ros.model.sensors.barometer import Barometer
from px4_sim_ros.model.truth import SensorInputs

FACING_NORTH = (math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5))


@pytest.fixture(scope='module')
def build(configuration, world):
    """Return a function that builds a barometer with only the given errors."""
    quiet = dataclasses.replace(configuration.nodes['barometer'], noise_pa=0.0)

    def built(world=world, **changes):
        return Barometer('barometer', dataclasses.replace(quiet, **changes), world)
    return built


def test_noise(configuration, world, still_truth):
    """1 Pa about the pressure at home."""
    barometer = Barometer('barometer', configuration.nodes['barometer'], world)
    samples = [barometer.measure(still_truth) for _ in range(20_000)]
    pressures = np.array([s.pressure_pa for s in samples])
    assert pressures.std() == pytest.approx(1.0, rel=0.03)
    assert pressures.mean() == pytest.approx(95598.28, abs=0.04)
    assert samples[0].variance == 1.0


def test_height(build, still_truth):
    """10 m higher the pressure is lower by rho g 10 m."""
    start = build().measure(still_truth).pressure_pa
    higher = build().measure(still_truth._replace(position_enu=(0.0, 0.0, 10.0))).pressure_pa
    assert start - higher == pytest.approx(1.1685 * 9.80665 * 10.0, rel=2e-3)


def test_weather(build, world, still_truth):
    """The pressure at home is that of the atmosphere of the world."""
    warm = dataclasses.replace(
        world, sea_level_pressure_pa=99_000.0, sea_level_temperature_k=300.0)
    assert build(warm).measure(still_truth).pressure_pa == pytest.approx(
        Atmosphere(99_000.0, 300.0).pressure_pa(488.0), abs=1e-9)


def test_steady_drift(build, still_truth):
    """With simulated time."""
    barometer = build(drift_pa_s=0.5)
    start = barometer.measure(still_truth).pressure_pa
    later = barometer.measure(still_truth._replace(time_us=8_000_000)).pressure_pa
    assert later - start == pytest.approx(4.0, abs=1e-9)


def test_warm_up(build, still_truth):
    """It fades with its time constant."""
    barometer, true = build(warm_up_pa=20.0, warm_up_time_s=100.0), build()
    for time_s in (0, 100, 300):
        truth = still_truth._replace(time_us=time_s * 1_000_000)
        error = barometer.measure(truth).pressure_pa - true.measure(truth).pressure_pa
        assert error == pytest.approx(20.0 * math.exp(-time_s / 100.0), abs=1e-9)


def test_wander(build, still_truth):
    """Its standard deviation, and over 1 s the correlation exp(-1 s / tau), at 50 Hz."""
    barometer = build(wander_pa=10.0, wander_correlation_time_s=1.0)
    x = np.array([barometer.measure(still_truth).pressure_pa for _ in range(100_000)])
    x -= build().measure(still_truth).pressure_pa
    assert x.std() == pytest.approx(10.0, rel=0.05)
    assert abs(x.mean()) < 1.0
    correlation = np.mean(x[50:] * x[:-50]) / x.var()
    assert -1.0 / math.log(correlation) == pytest.approx(1.0, rel=0.1)


def test_wind_on_the_port(build, still_truth):
    """-c rho |v|^2 / 2 with the horizontal velocity relative to the air, in world axes."""
    barometer, true = build(wind_pressure_coefficient=0.3), build()
    # Nose north, 5 m/s ahead and 2 to the left: (-2, 5) in ENU; climbing does not matter.
    truth = still_truth._replace(
        attitude=FACING_NORTH, velocity_flu=(5.0, 2.0, 9.0), position_enu=(0.0, 0.0, 100.0))
    wind = SensorInputs(wind_enu=(7.0, -3.0, 4.0))
    density = Atmosphere().density_kg_m3(588.0)
    for inputs, squared in ((wind, 9.0 ** 2 + 8.0 ** 2), (SensorInputs(), 5 ** 2 + 2 ** 2)):
        error = (barometer.measure(truth, inputs).pressure_pa
                 - true.measure(truth, inputs).pressure_pa)
        assert error == pytest.approx(-0.3 * 0.5 * density * squared, abs=1e-9)
    assert barometer.measure(
        still_truth._replace(velocity_flu=(7.0, -3.0, 0.0)), wind).pressure_pa == pytest.approx(
        true.measure(still_truth).pressure_pa, abs=1e-9)      # drifting with the wind
