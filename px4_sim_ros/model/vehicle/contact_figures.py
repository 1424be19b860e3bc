# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What follows from a vehicle file for standing on the ground: on feet or on wheels."""
from __future__ import annotations

import math

import numpy as np

from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.vehicle.vehicle import Vehicle

_WHEELS_TO_STAND_ON = 3


def standing_points_m(vehicle: Vehicle) -> tuple[Vector, ...]:
    """Return what it stands on: its wheels if these are three or more, or all that it has.

    With three wheels, feet are for when it tips over, such as the tail and the wing tips.
    """
    if len(vehicle.wheels) < _WHEELS_TO_STAND_ON:
        return vehicle.ground_points_m
    return tuple(wheel.contact_m for wheel in vehicle.wheels)


def contact_rates_rad_s(vehicle: Vehicle) -> list[float]:
    """Return the undamped angular frequencies of a vehicle with all feet on the ground, rising.

    Each foot or wheel is a spring in all directions: the modes of M x'' + K x = 0 with three
    translations and three turns about the centre of mass. A damper in parallel to each spring
    gives each mode the damping ratio c w / (2 k).
    """
    body, model = vehicle.body, vehicle.contact_model
    stiffness = np.zeros((6, 6))
    for x, y, z in vehicle.ground_points_m:
        # Motion of the foot by motion and turn of the body: v + w x p.
        foot = np.hstack([np.eye(3), [[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]]])
        stiffness += model.stiffness_n_m * foot.T @ foot
    root = 1.0 / np.sqrt([body.mass_kg] * 3 + list(body.inertia_kg_m2))
    squares = np.linalg.eigvalsh(root[:, None] * stiffness * root)
    return [math.sqrt(max(0.0, float(square))) for square in squares]


def foot_margin_m(vehicle: Vehicle) -> float:
    """Return how far the centre of mass may move before it leaves its feet; negative: it falls.

    It is the least over all directions of how far the furthest foot is.
    """
    return min(
        max(x * math.cos(a) + y * math.sin(a) for x, y, _ in standing_points_m(vehicle))
        for a in (math.radians(degrees) for degrees in range(360)))


def hull_margin_m(vehicle: Vehicle) -> float:
    """Return how deep the centre of mass is within all that touches the ground.

    It is the least over all directions of how far the furthest point is; of a vehicle that can
    fall over so that its centre of mass is in the ground, 0 or less.
    """
    points = np.array(vehicle.all_points_m)
    elevation, heading = np.meshgrid(
        np.radians(np.arange(-90.0, 91.0, 2.0)), np.radians(np.arange(0.0, 360.0, 2.0)))
    ways = np.stack((np.cos(elevation) * np.cos(heading), np.cos(elevation) * np.sin(heading),
                     np.sin(elevation)), axis=-1)
    return float((ways @ points.T).max(axis=-1).min())


def contact_figures(vehicle: Vehicle, weight_n: float, step_s: float) -> dict[str, float]:
    """Return the figures of its springs and dampers, by name."""
    model = vehicle.contact_model
    all_feet = model.stiffness_n_m * len(standing_points_m(vehicle))
    per_rate = 0.5 * model.damping_n_s_m / model.stiffness_n_m
    heave, fastest = math.sqrt(all_feet / vehicle.body.mass_kg), contact_rates_rad_s(vehicle)[-1]
    ratio = per_rate * fastest
    return {
        'contact_sinking_m': weight_n / all_feet,
        'contact_heave_hz': heave / math.tau,
        'contact_heave_damping': per_rate * heave,
        'contact_fastest_hz': fastest / math.tau,
        'contact_fastest_damping': ratio,
        # An overdamped mode has two real rates; the faster one counts.
        'contact_step': step_s * fastest * (ratio + math.sqrt(max(0.0, ratio * ratio - 1.0))
                                            if ratio > 1.0 else 1.0)}
