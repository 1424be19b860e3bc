# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What follows from a vehicle file for any body: its mass, how it stands, how fast it changes."""
from __future__ import annotations

import dataclasses
import math
import typing

import numpy as np

from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.parameters import Parameters, parameter
from px4_sim_ros.model.vehicle.elements import Wheel
from px4_sim_ros.model.vehicle.vehicle import Vehicle

# What follows from a vehicle file for standing on the ground: on feet or on wheels.

_WHEELS_TO_STAND_ON = 3


def standing_points_m(vehicle: Vehicle) -> tuple[Vector, ...]:
    """Return its supports: its wheels if these are three or more, or all that it has."""
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


# What follows from a vehicle file for driving: speed, turns, grip.
#
# A vehicle steers with servos, as a bicycle with the mean of its wheels, or with motors of its
# sides.


@dataclasses.dataclass(frozen=True)
class WheelFigures(BodyFigures):
    """The figures of a vehicle that drives on wheels."""

    mass_kg: float = parameter('mass', 'kg', minimum=0.2, maximum=5000)
    track_m: float = parameter('left to right wheels that drive', 'm', above=0)
    base_m: float = parameter(
        'axle that is not steered to axle that is; 0: steers with its motors', 'm')
    top_speed_m_s: float = parameter('at control 1', 'm/s', minimum=0.3, maximum=40)
    turn_radius_m: float = parameter(
        'smallest, of the middle of the axle that is not steered; 0: on the spot', 'm', maximum=30)
    yaw_rate_rad_s: float = parameter(
        'highest, in that turn at full control, without slip', 'rad/s', minimum=0.2, maximum=20)
    grip_m_s2: float = parameter(
        'acceleration at which the wheels that drive slip, on level ground', 'm/s^2',
        minimum=0.5, maximum=15)
    tipping_m_s2: float = parameter(
        'acceleration at which it tips over, if it does not slip before', 'm/s^2', minimum=2)


def driven_wheels(vehicle: Vehicle) -> list[Wheel]:
    """Return the wheels that a motor drives."""
    return [wheel for wheel in vehicle.wheels if wheel.driven_by]


def track_m(vehicle: Vehicle) -> float:
    """Return the distance of the outermost wheels that drive, from left to right."""
    sides = [wheel.position_m[1] for wheel in driven_wheels(vehicle)]
    return max(sides) - min(sides)


def base_m(vehicle: Vehicle) -> float:
    """Return how far the wheels that are steered are from the others; 0 if there are none."""
    steered = [w.position_m[0] for w in vehicle.wheels if w.steered_by]
    others = [w.position_m[0] for w in vehicle.wheels if not (w.steered_by or w.swivels)]
    if not steered or not others:
        return 0.0
    return abs(sum(steered) / len(steered) - sum(others) / len(others))


def steering_rad(vehicle: Vehicle) -> float:
    """Return the largest angle of a bicycle's wheel; 0 if nothing is steered."""
    travels = {servo.name: servo.travel_rad for servo in vehicle.servos}
    return max((abs(wheel.steering) * travels[wheel.steered_by]
                for wheel in vehicle.wheels if wheel.steered_by), default=0.0)


def top_speed_m_s(vehicle: Vehicle) -> float:
    """Return the speed of the slowest wheel that drives, at control 1."""
    speeds = {motor.name: motor.max_speed_rad_s for motor in vehicle.motors}
    return min(wheel.radius_m * speeds[wheel.driven_by] for wheel in driven_wheels(vehicle))


def wheel_figures(vehicle: Vehicle, gravity_m_s2: float, step_s: float) -> WheelFigures:
    """Return the figures of a vehicle with wheels that motors drive."""
    body = body_figures(vehicle, gravity_m_s2, step_s)
    speed, base = top_speed_m_s(vehicle), base_m(vehicle)
    radius = base / math.tan(steering_rad(vehicle)) if base else 0.0
    turn_m = radius or 0.5 * track_m(vehicle)
    return WheelFigures(
        **dataclasses.asdict(body),
        track_m=track_m(vehicle), base_m=base, top_speed_m_s=speed, turn_radius_m=radius,
        yaw_rate_rad_s=speed / turn_m if turn_m else 0.0,
        grip_m_s2=(vehicle.contact_model.friction_coefficient * gravity_m_s2
                   * _load_share(vehicle)),
        tipping_m_s2=gravity_m_s2 * body.foot_margin_m / body.standing_height_m)


def _load_share(vehicle: Vehicle) -> float:
    """Return the share of the weight that the wheels that drive carry when it stands.

    All points are alike as springs, so each carries (1 - x c) / n: c from the moments about y.
    """
    points = vehicle.ground_points_m
    mean = sum(x for x, _, _ in points) / len(points)
    spread = sum((x - mean) ** 2 for x, _, _ in points)
    slope = mean / spread if spread else 0.0
    return sum(1.0 / len(points) - slope * (wheel.position_m[0] - mean)
               for wheel in driven_wheels(vehicle))
