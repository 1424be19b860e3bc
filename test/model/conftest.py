# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Vehicles, worlds and builders that the tests of the core share with the checks."""
from __future__ import annotations

import pytest
from verification import plants


@pytest.fixture(scope='session')
def configuration():
    """Return the configuration with all defaults."""
    return plants.configuration()


@pytest.fixture(scope='session')
def world():
    """Return the shared parameters: place, time, seed."""
    return plants.world()


@pytest.fixture(scope='session')
def iris():
    """Return the Iris as its file describes it."""
    return plants.iris()


@pytest.fixture(scope='session')
def alter():
    """Return a function that replaces values in the sections of a vehicle."""
    return plants.altered


@pytest.fixture(scope='session')
def dragless(iris):
    """Return an Iris that the air does not touch: only thrust is left."""
    return plants.without_drag(iris)


@pytest.fixture(scope='session')
def on_mains():
    """Return an Iris without battery: its bus is always at nominal voltage."""
    return plants.steady_iris()


@pytest.fixture(scope='session')
def quiet_imu():
    """Return a function that builds the parameters of an IMU with only the given errors."""
    return plants.quiet_imu


@pytest.fixture(scope='session')
def build_dynamics(world):
    """Return a function that builds the motion of a vehicle, without ground unless asked.

    Gravity and air are the same everywhere, unless an environment is given.
    """
    def build(
        vehicle, *, gravity_m_s2=world.gravity_m_s2, density_kg_m3=1.225, environment=None,
        **options,
    ):
        if environment is None:
            environment = plants.uniform(gravity_m_s2, density_kg_m3)
        return plants.build(vehicle, environment, **options)
    return build


@pytest.fixture(scope='session')
def still_truth():
    """Return the truth of a vehicle that stands level at home, facing east."""
    return plants.STILL_TRUTH
