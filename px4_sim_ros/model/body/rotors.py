# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""All rotors together: forces, torques, the power they draw, and their lag.

Thrust and power are in `propulsion`, drag, rolling moment, reaction torque and lag as in
RotorS (Furrer et al. 2016, section 2). Everything the air does grows with its density.
Near the ground thrust grows at the same power (Cheeseman & Bennett 1955, ARC R&M 3021).

Not modelled: flapping beyond the linear drag and rolling moment, and the torque on the body of
rotors that change their speed. The ground effect is that of a level disc, however it is tilted.
"""
from __future__ import annotations

import typing
from math import inf, sqrt

import numpy as np

from px4_sim_ros.model.body.propulsion import NO_LOAD, Load, Propeller
from px4_sim_ros.model.compiled import compiled, record
from px4_sim_ros.model.frames import Vector, vector
from px4_sim_ros.model.vehicle.sections import MotorModel, Rotor, RotorModel

STANDING_RAD_S = 1e-3
"""A slower rotor does nothing to the air."""

GROUND_EFFECT_REACH = 300.0
"""Height in propeller radii above which ground effect is below one part in a million."""

OUT_OF_GROUND_EFFECT = (inf, 0.0, 0.0, 0.0)


class RotorSet:
    """All rotors of a vehicle; shafts point along body z."""

    def __init__(
        self, model: RotorModel, rotors: typing.Sequence[Rotor], motor: MotorModel | None = None,
    ) -> None:
        """Take rotors as they are mounted.

        :param motor: without it they draw no power
        """
        radius = 0.5 * model.propeller_diameter_m
        load = NO_LOAD if motor is None else Load.of(motor, model)
        # By name; `wrench` takes them as a record, alone or among others.
        self.constants = dict(
            **Propeller.of(model)._asdict(), **load._asdict(),
            reference_density_kg_m3=model.reference_density_kg_m3,
            drag_coefficient_n_s2_m=model.drag_coefficient_n_s2_m,
            rolling_moment_coefficient_n_s2=model.rolling_moment_coefficient_n_s2,
            moment_coefficient_m=model.moment_coefficient_m,
            rotor_inertia_kg_m2=model.inertia_kg_m2,
            max_speed_rad_s=model.max_speed_rad_s,
            time_constant_up_s=model.time_constant_up_s,
            time_constant_down_s=model.time_constant_down_s,
            radius_m=radius,
            ground_effect_height_m=GROUND_EFFECT_REACH * radius)
        self._record = record(**self.constants)
        # Place in FLU and sense of each.
        self.hubs = np.array([(*rotor.position_m, rotor.spin) for rotor in rotors])

    def wrench(
        self, speeds_rad_s: typing.Sequence[float], airspeed_flu: Vector, rate_flu: Vector,
        density_kg_m3: float, above_ground: tuple[float, float, float, float],
    ) -> tuple[float, float, float, float, float, float, float]:
        """Return `wrench` of these rotors."""
        height, up_x, up_y, up_z = map(float, above_ground)
        return wrench(
            self._record, self.hubs, np.array(speeds_rad_s, float),
            vector(map(float, airspeed_flu)), vector(map(float, rate_flu)),
            float(density_kg_m3), (height, up_x, up_y, up_z))


@compiled
def wrench(
    constants: np.ndarray, hubs: np.ndarray, speeds_rad_s: np.ndarray,
    airspeed_flu: Vector, rate_flu: Vector, density_kg_m3: float,
    above_ground: tuple[float, float, float, float],
) -> tuple[float, float, float, float, float, float, float]:
    """Return force in N and torque about the centre of mass in N m, body FLU, and the power.

    The power in W is what motors and avionics together draw from the bus.

    :param constants: a record with those of a RotorSet
    :param hubs: those of a RotorSet
    :param airspeed_flu: velocity of the body relative to the air, m/s
    :param rate_flu: angular rate of the body, rad/s
    :param above_ground: height of the body's origin, m, and the world's vertical in FLU;
        or OUT_OF_GROUND_EFFECT
    """
    c = constants[0]
    density = density_kg_m3 / c.reference_density_kg_m3
    slope = c.slope_n_s2_m * density
    drag_coefficient = -density * c.drag_coefficient_n_s2_m
    rolling_coefficient = -density * c.rolling_moment_coefficient_n_s2
    profile, kv = c.profile_n_m_s2 * density, c.kv_rad_s_v
    height, up_x, up_y, up_z = above_ground
    near_ground = height < c.ground_effect_height_m
    ax, ay, az = airspeed_flu
    wx, wy, wz = rate_flu
    fx = fy = fz = tx = ty = tz = spin_sum = power = 0.0
    for i in range(len(hubs)):
        speed = speeds_rad_s[i]
        if speed < STANDING_RAD_S:
            continue
        x, y, z, spin = hubs[i, 0], hubs[i, 1], hubs[i, 2], hubs[i, 3]
        # Airspeed at the hub, with the part that the body's rotation adds.
        vx = ax + wy * z - wz * y
        vy = ay + wz * x - wx * z
        vz = az + wx * y - wy * x
        # Flow through the disc; names and formulas as in `propulsion`.
        across = vx * vx + vy * vy
        b = c.lag_inflow_m * speed
        v0 = c.zero_thrust_inflow_m * speed
        half = 0.5 * (vz - b)
        u = half + sqrt(half * half + b * v0)
        root = sqrt(across + u * u)
        u = (b * v0 + vz * root) / (b + root)
        thrust = slope * speed * (v0 - u) if u < v0 else 0.0
        torque = spin * c.moment_coefficient_m * thrust
        shaft_torque = thrust * u / speed + profile * speed * speed
        current = c.no_load_current_a + (kv * shaft_torque if shaft_torque > 0.0 else 0.0)
        power += current * (speed / kv + c.resistance_ohm * current)
        if near_ground:
            # T / T_free = 1 / (1 - (R / 4z)^2 / (1 + (V / v_hover)^2))
            clearance = height + up_x * x + up_y * y + up_z * z
            if clearance < 0.5 * c.radius_m:
                clearance = 0.5 * c.radius_m
            downwash = c.hover_inflow_m * speed
            image = 0.25 * c.radius_m / clearance * downwash
            free = across + downwash * downwash
            thrust *= free / (free - image * image)
        drag = drag_coefficient * speed
        dx, dy = drag * vx, drag * vy
        rolling = spin * rolling_coefficient * speed
        fx += dx
        fy += dy
        fz += thrust
        tx += y * thrust - z * dy + rolling * vx
        ty += z * dx - x * thrust + rolling * vy
        tz += x * dy - y * dx - torque
        spin_sum += spin * speed
    # The body turns the rotors' angular momentum H = (0, 0, h): torque -rate x H.
    h = c.rotor_inertia_kg_m2 * spin_sum
    return (
        fx, fy, fz, tx - wy * h, ty + wx * h, tz,
        power * c.per_efficiency + c.avionics_power_w)


@compiled
def speed_rate(
    constants: np.ndarray, speed_rad_s: float, reference_rad_s: float, voltage_share: float,
) -> float:
    """Return the angular acceleration of a rotor in rad/s^2: a lag, faster up than down.

    :param reference_rad_s: speed asked for, as reached at nominal voltage
    :param voltage_share: bus voltage / nominal voltage. A speed controller without a
        speed loop sets a share of the voltage, so the speed that is reached scales with it.
    """
    c = constants[0]
    goal: float = min(reference_rad_s, c.max_speed_rad_s) * voltage_share
    lag_s: float = c.time_constant_up_s if goal > speed_rad_s else c.time_constant_down_s
    return (goal - speed_rad_s) / lag_s
