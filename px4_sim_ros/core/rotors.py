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

from px4_sim_ros.core.frames import Vector
from px4_sim_ros.core.propulsion import Load, Propeller
from px4_sim_ros.core.vehicle import MotorModel, Rotor, RotorModel

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
        self._hubs = tuple((*rotor.position_m, rotor.spin) for rotor in rotors)
        self._model = model
        self._propeller = Propeller.of(model)
        self._load = Load.of(motor, model) if motor is not None else None
        self._radius = 0.5 * model.propeller_diameter_m
        self.ground_effect_height_m = GROUND_EFFECT_REACH * self._radius

    def wrench(
        self, speeds_rad_s: typing.Sequence[float], airspeed_flu: Vector, rate_flu: Vector,
        density_kg_m3: float, above_ground: tuple[float, float, float, float],
    ) -> tuple[float, float, float, float, float, float, float]:
        """Return force in N and torque about the centre of mass in N m, body FLU, and the power.

        The power in W is what motors and avionics together draw from the bus.

        :param airspeed_flu: velocity of the body relative to the air, m/s
        :param rate_flu: angular rate of the body, rad/s
        :param above_ground: height of the body's origin, m, and the world's vertical in FLU;
            or OUT_OF_GROUND_EFFECT
        """
        model, load = self._model, self._load
        slope, zero_thrust, lag, hover = self._propeller
        density = density_kg_m3 / model.reference_density_kg_m3
        slope *= density
        drag_coefficient = -density * model.drag_coefficient_n_s2_m
        rolling_coefficient = -density * model.rolling_moment_coefficient_n_s2
        moment_coefficient = model.moment_coefficient_m
        height, up_x, up_y, up_z = above_ground
        near_ground = height < self.ground_effect_height_m
        lowest, quarter_radius = 0.5 * self._radius, 0.25 * self._radius
        if load is not None:
            profile, kv, resistance, no_load, per_efficiency, avionics = load
            profile *= density
        ax, ay, az = airspeed_flu
        wx, wy, wz = rate_flu
        fx = fy = fz = tx = ty = tz = spin_sum = power = 0.0
        for (x, y, z, spin), speed in zip(self._hubs, speeds_rad_s):
            if speed < STANDING_RAD_S:
                continue
            # Airspeed at the hub, with the part that the body's rotation adds.
            vx = ax + wy * z - wz * y
            vy = ay + wz * x - wx * z
            vz = az + wx * y - wy * x
            # Flow through the disc; names and formulas as in `propulsion`.
            across = vx * vx + vy * vy
            b = lag * speed
            v0 = zero_thrust * speed
            half = 0.5 * (vz - b)
            u = half + sqrt(half * half + b * v0)
            root = sqrt(across + u * u)
            u = (b * v0 + vz * root) / (b + root)
            thrust = slope * speed * (v0 - u) if u < v0 else 0.0
            torque = spin * moment_coefficient * thrust
            if load is not None:
                shaft_torque = thrust * u / speed + profile * speed * speed
                current = no_load + (kv * shaft_torque if shaft_torque > 0.0 else 0.0)
                power += current * (speed / kv + resistance * current)
            if near_ground:
                # T / T_free = 1 / (1 - (R / 4z)^2 / (1 + (V / v_hover)^2))
                clearance = height + up_x * x + up_y * y + up_z * z
                if clearance < lowest:
                    clearance = lowest
                downwash = hover * speed
                image = quarter_radius / clearance * downwash
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
        if load is not None:
            power = power * per_efficiency + avionics
        # The body turns the rotors' angular momentum H = (0, 0, h): torque -rate x H.
        h = model.inertia_kg_m2 * spin_sum
        return fx, fy, fz, tx - wy * h, ty + wx * h, tz, power

    def speed_rates(
        self, speeds_rad_s: typing.Sequence[float], references_rad_s: typing.Sequence[float],
        voltage_share: float,
    ) -> list[float]:
        """Return the angular accelerations in rad/s^2: a first-order lag, faster up than down.

        :param voltage_share: bus voltage / nominal voltage. A speed controller without a
            speed loop sets a share of the voltage, so the speed that is reached scales with it.
        """
        up, down = self._model.time_constant_up_s, self._model.time_constant_down_s
        return [
            (reference * voltage_share - speed)
            / (up if reference * voltage_share > speed else down)
            for speed, reference in zip(speeds_rad_s, references_rad_s)
        ]
