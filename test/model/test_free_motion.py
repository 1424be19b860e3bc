# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Motion without ground against closed forms: falling, drag, turning."""
from __future__ import annotations

import numpy as np
import pytest
from transforms3d.quaternions import quat2mat
from verification.integrators import dense_vehicle, plant_reference
from verification.plant_equations import (
    REFERENCES,
    START,
    WIND,
    environment,
    equations_of_motion,
    rotation,
)
from verification.plants import TILTED

from px4_sim_ros.model.errors import ParameterError


def test_drag_by_direction(dragless, alter, build_dynamics):
    """Along each body axis it has its own share, of the speed in all directions."""
    linear, quadratic, ratios = 0.3, 0.02, np.array([1.0, 2.5, 4.0])
    vehicle = alter(dragless, body={
        'linear_drag_n_s_m': linear, 'quadratic_drag_n_s2_m2': quadratic,
        'drag_ratios': tuple(ratios)})
    dynamics = build_dynamics(vehicle, gravity_m_s2=0.0)
    dynamics.state[6:10] = TILTED
    airspeed = np.array([3.0, -4.0, 12.0])                      # FLU, 13 m/s
    dynamics.state[3:6] = quat2mat(TILTED) @ airspeed
    force = -(linear + quadratic * 13.0) * ratios * airspeed
    assert dynamics.truth().acceleration_flu == pytest.approx(
        force / vehicle.body.mass_kg, rel=1e-12)


def test_substeps_refine_the_same_step(iris, build_dynamics):
    """One step of 4 ms in four substeps is four steps of 1 ms, bit for bit."""
    whole = build_dynamics(iris, substeps=4)
    parts = build_dynamics(iris, step_us=1000)
    command = (900.0, 700.0, 800.0, 600.0)
    truth = whole.step(command)
    for _ in range(4):
        last = parts.step(command)
    assert truth == last


# The whole plant in flight: accelerations, adaptive steps, moving air.


def test_the_flight_is_in_ground_effect_and_in_free_air():
    """It ends above the feet's reach, and low enough for the ground to matter."""
    assert 0.5 < plant_reference(dense_vehicle)[2] < 4.0


def test_accelerations_in_the_truth_agree(build_dynamics):
    """Acceleration and angular acceleration in FLU, at one state, climbing and descending."""
    for climb in (-3.0, 6.0, 30.0):
        x = START.copy()
        x[5] = climb
        dynamics = build_dynamics(dense_vehicle(), environment=environment(), ground=True)
        dynamics.step(REFERENCES, WIND)
        dynamics.state = x.tolist()
        truth = dynamics.truth()
        rates = equations_of_motion(dense_vehicle())(0.0, x)
        assert truth.acceleration_flu == pytest.approx(
            rotation(x[6:10]).T @ rates[3:6], abs=1e-11)
        assert truth.angular_acceleration_flu == pytest.approx(rates[10:13], abs=1e-10)


def test_substeps_must_fit_into_the_step(iris, build_dynamics):
    """Whole microseconds, for the methods that take them."""
    with pytest.raises(ParameterError, match=r'^substeps = 3: must divide step_us = 4000 '):
        build_dynamics(iris, substeps=3)
    build_dynamics(iris, substeps=3, integrator='rk45')


def test_air_that_moves_along_changes_nothing(on_mains, build_dynamics):
    """Drifting with the wind is as hovering in still air."""
    truths = []
    for wind in ((0.0, 0.0, 0.0), (8.0, -6.0, 1.0)):
        dynamics = build_dynamics(on_mains)
        dynamics.state[3:6] = wind
        dynamics.state[13:] = [700.0, 750.0, 720.0, 710.0]
        for _ in range(50):
            truth = dynamics.step((800.0, 790.0, 780.0, 810.0), wind)
        truths.append(truth)
    still, drifting = truths
    assert drifting.attitude == pytest.approx(still.attitude, abs=1e-12)
    assert drifting.acceleration_flu == pytest.approx(still.acceleration_flu, abs=1e-10)
