# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Worlds and controllers that the tests of the embedded autopilot share."""
from __future__ import annotations

import contextlib

import pytest
from flight_rig import Rig
from law import FedEstimator, SteeredController

from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.spec.resources import config_directory, read_yaml

QUIET = {
    'imu': ('gyro_noise_density', 'accel_noise_density'),
    'magnetometer': ('noise_density', 'random_walk'),
    'barometer': ('noise_pa',),
    'gps': ('horizontal_error_m', 'vertical_error_m', 'velocity_noise_m_s', 'delay_s'),
}


@pytest.fixture(scope='session')
def configuration():
    """Return the configuration with all defaults: sensors with noise."""
    return load_configuration(None, {})


@pytest.fixture(scope='session')
def quiet_configuration():
    """Return the configuration with ideal sensors."""
    return load_configuration(
        None, {node: dict.fromkeys(names, 0.0) for node, names in QUIET.items()})


@pytest.fixture(scope='session')
def iris(configuration):
    """Return the Iris as its file describes it."""
    return configuration.vehicle


@pytest.fixture(scope='session')
def gains():
    """Return the sections of the autopilot's file."""
    return read_yaml(config_directory() / 'autopilot.yaml', 'autopilot file')


@pytest.fixture
def estimator(gains, iris):
    """Return an estimator that is not aligned."""
    return FedEstimator(iris, gains)


@pytest.fixture
def controller(gains, iris):
    """Return a fresh controller of the Iris."""
    return SteeredController(iris, gains)


@pytest.fixture
def rig(configuration, instance):
    """Return an autopilot in a world whose sensors have noise."""
    with contextlib.closing(Rig(configuration, instance)) as rig:
        yield rig


@pytest.fixture
def quiet_rig(quiet_configuration, instance):
    """Return an autopilot in a world of ideal sensors."""
    with contextlib.closing(Rig(quiet_configuration, instance)) as rig:
        yield rig
