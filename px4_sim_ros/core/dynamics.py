"""The vehicle's motion: rigid body, rotors, drag and ground, integrated step by step."""
from __future__ import annotations

import dataclasses
import typing

from px4_sim_ros.core.contact import NO_WRENCH, GroundContact
from px4_sim_ros.core.frames import Quaternion, Vector
from px4_sim_ros.core.integrators import INTEGRATORS, State
from px4_sim_ros.core.parameters import Parameters, parameter
from px4_sim_ros.core.rotation import matrix, normalised, to_body, to_world
from px4_sim_ros.core.rotors import RotorSet
from px4_sim_ros.core.timebase import US_PER_S
from px4_sim_ros.core.vehicle import Vehicle


@dataclasses.dataclass(frozen=True)
class DynamicsParameters(Parameters):
    """How the motion is integrated."""

    integrator: str = parameter('integration method', choices=tuple(INTEGRATORS))
    substeps: int = parameter('integration steps in one step', minimum=1, maximum=1000)


class Truth(typing.NamedTuple):
    """The true motion at a time: what `ground_truth/*` and `joint_states` carry.

    World vectors are ENU from the home position, body vectors are FLU.
    """

    time_us: int
    position_enu: Vector
    attitude: Quaternion
    velocity_flu: Vector
    rate_flu: Vector
    acceleration_flu: Vector
    angular_acceleration_flu: Vector
    rotor_speeds_rad_s: tuple[float, ...]


class Dynamics:
    """Motion of one vehicle over flat ground under uniform gravity.

    The state is a list: position (3) and velocity (3) in ENU, attitude (w, x, y, z),
    body rate (3) in FLU, rotor speeds.
    """

    def __init__(
        self, parameters: DynamicsParameters, vehicle: Vehicle, gravity_m_s2: float, step_us: int,
        *, ground: bool = True,
    ) -> None:
        """Stand level on the ground, facing east, rotors still.

        :param ground: without it the vehicle starts at the origin and falls for ever
        """
        self._integrate = INTEGRATORS[parameters.integrator]
        self._substeps = parameters.substeps
        self._substep_s = step_us / parameters.substeps / US_PER_S
        self._step_us = step_us
        self._gravity = gravity_m_s2
        self._body = vehicle.body
        self._rotors = RotorSet(vehicle.rotor_model, vehicle.rotors)
        self._contact = (
            GroundContact(vehicle.contact_model, vehicle.contact_points_m) if ground else None)
        self._references: typing.Sequence[float] = (0.0,) * len(vehicle.rotors)
        self.time_us = 0
        height = (
            self._contact.resting_height_m(vehicle.body.mass_kg * gravity_m_s2)
            if self._contact else 0.0)
        self.state: State = [
            0.0, 0.0, height, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
            *self._references]

    def step(self, rotor_speed_references_rad_s: typing.Sequence[float]) -> Truth:
        """Advance by one step with these references held, and return the motion at its end."""
        self._references = rotor_speed_references_rad_s
        for _ in range(self._substeps):
            self.state = self._integrate(self._derivative, self.state, self._substep_s)
            self.state[6:10] = normalised(tuple(self.state[6:10]))
            if self._contact:
                self._contact.move_anchors(tuple(self.state[:3]), matrix(self.state[6:10]))
        self.time_us += self._step_us
        return self.truth()

    def truth(self) -> Truth:
        """Return the motion now."""
        x = self.state
        rotation = matrix(x[6:10])
        acceleration, angular_acceleration = self._accelerations(x, rotation)
        return Truth(
            self.time_us,
            tuple(x[:3]),
            tuple(x[6:10]),
            to_body(rotation, x[3:6]),
            tuple(x[10:13]),
            to_body(rotation, acceleration),
            angular_acceleration,
            tuple(x[13:]),
        )

    def _derivative(self, x: State) -> State:
        acceleration, angular_acceleration = self._accelerations(x, matrix(x[6:10]))
        qw, qx, qy, qz, wx, wy, wz = x[6:13]
        return [
            *x[3:6],
            *acceleration,
            # q' = q * (0, w) / 2
            0.5 * (-qx * wx - qy * wy - qz * wz),
            0.5 * (qw * wx + qy * wz - qz * wy),
            0.5 * (qw * wy + qz * wx - qx * wz),
            0.5 * (qw * wz + qx * wy - qy * wx),
            *angular_acceleration,
            *self._rotors.speed_rates(x[13:], self._references),
        ]

    def _accelerations(self, x: State, rotation: tuple[float, ...]) -> tuple[Vector, Vector]:
        """Return the acceleration in ENU and the angular acceleration in FLU."""
        body = self._body
        velocity = x[3:6]
        wx, wy, wz = rate = x[10:13]
        airspeed = to_body(rotation, velocity)
        fx, fy, fz, tx, ty, tz = self._rotors.wrench(x[13:], airspeed, rate)
        ax, ay, az = airspeed
        speed = (ax * ax + ay * ay + az * az) ** 0.5
        drag = body.linear_drag_n_s_m + body.quadratic_drag_n_s2_m2 * speed
        fx, fy, fz = to_world(rotation, (fx - drag * ax, fy - drag * ay, fz - drag * az))
        if self._contact:
            contact = self._contact.wrench(x[:3], velocity, rotation, rate)
            if contact is not NO_WRENCH:
                fx, fy, fz = fx + contact[0], fy + contact[1], fz + contact[2]
                cx, cy, cz = to_body(rotation, contact[3:])
                tx, ty, tz = tx + cx, ty + cy, tz + cz
        mass = body.mass_kg
        ixx, iyy, izz = body.inertia_kg_m2
        return (
            (fx / mass, fy / mass, fz / mass - self._gravity),
            # Euler: I w' = torque - w x (I w)
            (
                (tx - (izz - iyy) * wy * wz) / ixx,
                (ty - (ixx - izz) * wz * wx) / iyy,
                (tz - (iyy - ixx) * wx * wy) / izz,
            ),
        )
