# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What follows from a vehicle file for driving: speed, turns, grip.

A vehicle steers with servos, as a bicycle with the mean of its wheels, or with motors of its sides.
"""
from __future__ import annotations

import dataclasses
import math

from px4_sim_ros.model.parameters import parameter
from px4_sim_ros.model.vehicle.body_figures import BodyFigures, body_figures
from px4_sim_ros.model.vehicle.elements import Wheel
from px4_sim_ros.model.vehicle.vehicle import Vehicle


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
    """Return the figures of a vehicle with wheels that motors drive.

    :param step_s: of the integration
    """
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
