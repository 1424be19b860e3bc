# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What follows from a vehicle file for any body: its mass, how it stands, how fast it changes."""
from __future__ import annotations

import dataclasses
import math
import typing

import numpy as np

from px4_sim_ros.model.parameters import Parameters, parameter
from px4_sim_ros.model.vehicle.contact_figures import (
    contact_figures,
    foot_margin_m,
    hull_margin_m,
    standing_points_m,
)
from px4_sim_ros.model.vehicle.vehicle import Vehicle


@dataclasses.dataclass(frozen=True)
class BodyFigures(Parameters):
    """The figures that each vehicle has, whatever moves it; None: it has no such part."""

    mass_kg: float = parameter('mass', 'kg', minimum=0.02, maximum=200)
    inertia_triangle: float = parameter(
        'smallest sum of two principal moments of inertia / the third', minimum=1)
    gyration: float = parameter(
        'largest radius of gyration / farthest part from the centre of mass', minimum=0.15,
        maximum=1)
    foot_margin_m: float = parameter(
        'least distance of the centre of mass from the edge of its feet or wheels, level', 'm',
        above=0)
    standing_height_m: float = parameter(
        'centre of mass above the lowest foot or wheel', 'm', above=0)
    hull_margin_m: float = parameter(
        'least depth of the centre of mass within its feet, wheels and hull, whatever is up', 'm',
        above=0)
    contact_sinking_m: float = parameter(
        'how deep it stands in the ground', 'm', minimum=1e-5, maximum=0.02)
    contact_heave_hz: float = parameter('frequency on the ground, up and down', 'Hz', above=0)
    contact_heave_damping: float = parameter('damping ratio of the same', minimum=0.1, maximum=2)
    contact_fastest_hz: float = parameter(
        'highest frequency with all feet and wheels on the ground', 'Hz', above=0)
    contact_fastest_damping: float = parameter('damping ratio of the same', minimum=0.05)
    contact_step: float = parameter(
        'fastest rate of the same * integration step; rk4 bears 2.7, euler 2', maximum=2)
    rotor_step: float | None = parameter(
        'integration step / shortest lag of the rotors', maximum=2)
    servo_step: float | None = parameter(
        'integration step / shortest lag of servos and motors of wheels', maximum=2)
    battery_step: float | None = parameter(
        'integration step / shortest time constant of the packs on their bus', maximum=2)


def body_figures(vehicle: Vehicle, gravity_m_s2: float, step_s: float) -> BodyFigures:
    """Return the figures of a vehicle as a body.

    :param step_s: of the integration
    """
    body = vehicle.body
    moments = np.linalg.eigvalsh(body.inertia_tensor)
    models = [vehicle.model_of(rotor) for rotor in vehicle.rotors]
    return BodyFigures(
        mass_kg=body.mass_kg,
        inertia_triangle=float(moments.sum() / moments[-1]) - 1.0,
        gyration=math.sqrt(moments[-1] / body.mass_kg) / extent_m(vehicle),
        foot_margin_m=foot_margin_m(vehicle),
        standing_height_m=-min(z for _, _, z in standing_points_m(vehicle)),
        hull_margin_m=hull_margin_m(vehicle),
        **contact_figures(vehicle, body.mass_kg * gravity_m_s2, step_s),
        rotor_step=_steps(step_s, [lag for model in models for lag in (
            model.time_constant_up_s, model.time_constant_down_s)]),
        servo_step=_steps(step_s, [part.lag_s for part in (*vehicle.motors, *vehicle.servos)]),
        battery_step=_steps(step_s, _time_constants_s(vehicle)))


def extent_m(vehicle: Vehicle) -> float:
    """Return how far the farthest part is from the centre of mass."""
    points: list[np.typing.ArrayLike] = [
        *vehicle.all_points_m, *(rotor.position_m for rotor in vehicle.rotors)]
    for surface in vehicle.surfaces:
        across = np.cross(surface.normal, surface.chord)
        half_span = 0.5 * surface.area_m2 / surface.chord_m * across / np.linalg.norm(across)
        points += [surface.position_m + half_span, surface.position_m - half_span]
    return max(float(np.linalg.norm(point)) for point in points)


def _steps(step_s: float, lags_s: typing.Sequence[float]) -> float | None:
    """Return the integration step over the shortest lag, None without any."""
    return step_s / min(lags_s, default=math.inf) or None


def _time_constants_s(vehicle: Vehicle) -> list[float]:
    """Return those of packs whose other end is held: C1 times R0 and R1 in parallel."""
    if vehicle.battery is None:
        return []
    return [pack.polarisation_capacitance_f / (
        1.0 / pack.series_resistance_ohm + 1.0 / pack.polarisation_resistance_ohm)
        for pack in vehicle.battery.packs]
