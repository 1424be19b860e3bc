"""Vehicles, worlds and builders that the tests of the core share."""
from __future__ import annotations

import dataclasses

import pytest
from verification.plants import uniform

from px4_sim_ros.config.configuration import load_configuration
from px4_sim_ros.model.body.dynamics import Dynamics
from px4_sim_ros.model.truth import Truth


@pytest.fixture(scope='session')
def configuration():
    """Return the configuration with all defaults."""
    return load_configuration(None, {})


@pytest.fixture(scope='session')
def world(configuration):
    """Return the shared parameters: place, time, seed."""
    return configuration.world


@pytest.fixture(scope='session')
def iris(configuration):
    """Return the Iris as its file describes it."""
    return configuration.vehicle


@pytest.fixture(scope='session')
def alter():
    """Return a function that replaces values in the sections of a vehicle."""
    def altered(vehicle, **sections):
        return dataclasses.replace(vehicle, **{
            name: dataclasses.replace(getattr(vehicle, name), **values)
            for name, values in sections.items()})
    return altered


@pytest.fixture(scope='session')
def dragless(iris, alter):
    """Return an Iris that the air does not touch: only thrust is left."""
    return alter(
        iris,
        body={'linear_drag_n_s_m': 0.0, 'quadratic_drag_n_s2_m2': 0.0},
        rotor_model={'drag_coefficient_n_s2_m': 0.0, 'rolling_moment_coefficient_n_s2': 0.0})


@pytest.fixture(scope='session')
def on_mains(iris):
    """Return an Iris without battery: its bus is always at nominal voltage."""
    return dataclasses.replace(iris, battery=None)


@pytest.fixture(scope='session')
def build_dynamics(configuration, world):
    """Return a function that builds the motion of a vehicle, without ground unless asked.

    Gravity and air are the same everywhere, unless an environment is given.
    """
    def build(
        vehicle, *, step_us=4000, gravity_m_s2=world.gravity_m_s2, density_kg_m3=1.225,
        environment=None, ground=False, **parameters,
    ):
        if environment is None:
            environment = uniform(gravity_m_s2, density_kg_m3)
        return Dynamics(
            dataclasses.replace(configuration.nodes['dynamics'], **parameters),
            vehicle, environment, step_us, ground=ground)
    return build


@pytest.fixture(scope='session')
def still_truth():
    """Return the truth of a vehicle that stands level at home, facing east."""
    zero = (0.0, 0.0, 0.0)
    return Truth(0, zero, (1.0, 0.0, 0.0, 0.0), zero, zero, zero, zero, (0.0,) * 4)
