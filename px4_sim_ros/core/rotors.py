"""Rotors: thrust, reaction torque, drag, rolling moment, gyroscopic moment and lag."""
from __future__ import annotations

import typing

from px4_sim_ros.core.frames import Vector
from px4_sim_ros.core.vehicle import Rotor, RotorModel


class RotorSet:
    """All rotors of a vehicle; shafts point along body z.

    The model is that of RotorS (Furrer et al. 2016, section 2) with a thrust that is
    lost in climb and separate time constants up and down.
    """

    def __init__(self, model: RotorModel, rotors: typing.Sequence[Rotor]) -> None:
        self._hubs = [(*rotor.position_m, rotor.spin) for rotor in rotors]
        self._model = model

    def wrench(
        self, speeds_rad_s: typing.Sequence[float], airspeed_flu: Vector, rate_flu: Vector,
    ) -> tuple[float, float, float, float, float, float]:
        """Return force in N and torque about the centre of mass in N m, body FLU.

        :param airspeed_flu: velocity of the body relative to the air, m/s
        :param rate_flu: angular rate of the body, rad/s
        """
        model = self._model
        thrust_coefficient = model.thrust_coefficient_n_s2
        moment_coefficient = model.moment_coefficient_m
        drag_coefficient = model.drag_coefficient_n_s2_m
        rolling_coefficient = model.rolling_moment_coefficient_n_s2
        zero_thrust_climb = model.zero_thrust_climb_m_s
        ax, ay, az = airspeed_flu
        wx, wy, wz = rate_flu
        fx = fy = fz = tx = ty = tz = spin_sum = 0.0
        for (x, y, z, spin), speed in zip(self._hubs, speeds_rad_s):
            # Airspeed at the hub, with the part that the body's rotation adds.
            vx = ax + wy * z - wz * y
            vy = ay + wz * x - wx * z
            vz = az + wx * y - wy * x
            thrust = thrust_coefficient * speed * speed
            if vz > 0.0:
                thrust *= max(0.0, 1.0 - vz / zero_thrust_climb)
            drag = -drag_coefficient * speed
            dx, dy = drag * vx, drag * vy
            rolling = -spin * rolling_coefficient * speed
            fx += dx
            fy += dy
            fz += thrust
            tx += y * thrust - z * dy + rolling * vx
            ty += z * dx - x * thrust + rolling * vy
            tz += x * dy - y * dx - spin * moment_coefficient * thrust
            spin_sum += spin * speed
        # The body turns the rotors' angular momentum H = (0, 0, h): torque -rate x H.
        h = model.inertia_kg_m2 * spin_sum
        return fx, fy, fz, tx - wy * h, ty + wx * h, tz

    def speed_rates(
        self, speeds_rad_s: typing.Sequence[float], references_rad_s: typing.Sequence[float],
    ) -> list[float]:
        """Return the angular accelerations in rad/s^2: a first-order lag, faster up than down."""
        up, down = self._model.time_constant_up_s, self._model.time_constant_down_s
        return [
            (reference - speed) / (up if reference > speed else down)
            for speed, reference in zip(speeds_rad_s, references_rad_s)
        ]
