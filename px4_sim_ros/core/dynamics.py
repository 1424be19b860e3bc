"""The vehicle's motion: rigid body, rotors, drag, battery and ground, integrated step by step."""
from __future__ import annotations

import dataclasses
import math
import typing

from px4_sim_ros.core.battery import Battery, clamp_charges
from px4_sim_ros.core.contact import GroundContact
from px4_sim_ros.core.environment import Environment
from px4_sim_ros.core.frames import Quaternion, Vector
from px4_sim_ros.core.integrators import (
    ADAPTIVE,
    FIXED,
    INTEGRATOR_NAMES,
    Adaptive,
    FixedStep,
    State,
    check_substeps,
)
from px4_sim_ros.core.parameters import Parameters, parameter
from px4_sim_ros.core.rotation import matrix, normalised, to_body, to_world
from px4_sim_ros.core.rotors import OUT_OF_GROUND_EFFECT, RotorSet
from px4_sim_ros.core.surroundings import BatteryStatus
from px4_sim_ros.core.timebase import seconds_text
from px4_sim_ros.core.vehicle import Vehicle

_ROTORS = 13        # where they begin in the state
_STILL_AIR = (0.0, 0.0, 0.0)
# No vehicle moves at so many m/s, nor turns at so many rad/s.
_WILD = 1e6


@dataclasses.dataclass(frozen=True)
class DynamicsParameters(Parameters):
    """How the motion is integrated, and how full the battery is at the start."""

    integrator: str = parameter(
        'integration method; euler and rk4 take equal steps, rk23 and rk45 choose theirs',
        choices=INTEGRATOR_NAMES)
    substeps: int = parameter(
        'integration steps of euler and rk4 in one step', minimum=1, maximum=1000)
    relative_tolerance: float = parameter(
        'error of a step of rk23 and rk45 per value', above=0, maximum=1)
    position_tolerance_m: float = parameter('least error that counts', 'm', above=0)
    velocity_tolerance_m_s: float = parameter('least error that counts', 'm/s', above=0)
    attitude_tolerance: float = parameter(
        'least error that counts, of a quaternion component', above=0)
    rate_tolerance_rad_s: float = parameter('least error that counts', 'rad/s', above=0)
    rotor_speed_tolerance_rad_s: float = parameter('least error that counts', 'rad/s', above=0)
    battery_tolerance: float = parameter(
        'least error that counts, of the share of charge and of volts', above=0)
    min_step_us: int = parameter(
        'a step of rk23 and rk45 this short is taken whatever its error', 'us', minimum=1)
    initial_charge: float = parameter(
        'share of its capacity in each pack at the start', minimum=0, maximum=1)

    def check_step(self, step_us: int) -> None:
        """Check that the substeps are whole microseconds, of a method that takes them.

        :raises ParameterError: naming the nearest valid values
        """
        if self.integrator in FIXED:
            check_substeps(step_us, self.substeps)


class DivergedError(RuntimeError):
    """The motion has left all bounds: the step is too long for the vehicle, or a value is wild."""


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
    """Motion of one vehicle over flat ground.

    The state is a list: position (3) and velocity (3) in ENU, attitude (w, x, y, z),
    body rate (3) in FLU, rotor speeds, then for each pack of the battery its charge (0..1) and
    its polarisation voltage. All of it is integrated together.
    """

    def __init__(
        self, parameters: DynamicsParameters, vehicle: Vehicle, environment: Environment,
        step_us: int, *, ground: bool = True,
    ) -> None:
        """Stand level on the ground, facing east, rotors still, the packs rested.

        :param ground: without it the vehicle starts at the origin and falls for ever
        :raises ParameterError: the substeps do not fit into the step
        """
        parameters.check_step(step_us)
        self._step_us = step_us
        self._gravity_at = environment.gravity_m_s2
        self._density_at = environment.density_kg_m3
        self._body = vehicle.body
        self._reference_density = vehicle.rotor_model.reference_density_kg_m3
        self._max_speed = vehicle.rotor_model.max_speed_rad_s
        self._packs = _ROTORS + len(vehicle.rotors)     # where they begin in the state
        self._references: tuple[float, ...] = (0.0,) * len(vehicle.rotors)
        self._wind: Vector = _STILL_AIR
        self._name = vehicle.name
        self._battery_model = vehicle.battery
        self._battery = Battery(vehicle.battery) if vehicle.battery is not None else None
        self._rotors = RotorSet(
            vehicle.rotor_model, vehicle.rotors,
            vehicle.motor_model if vehicle.battery is not None else None)
        self._contact = (
            GroundContact(vehicle.contact_model, vehicle.contact_points_m) if ground else None)
        self.time_us = 0
        weight = vehicle.body.mass_kg * environment.gravity_m_s2(0.0)
        height = self._contact.resting_height_m(weight) if self._contact else 0.0
        self.state: State = [
            0.0, 0.0, height, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
            *self._references,
            *(self._battery.initial(parameters.initial_charge) if self._battery else ())]
        self._parts, self._integrator = _integrator(parameters, len(vehicle.rotors), self.state)
        self.truth()

    def step(
        self, rotor_speed_references_rad_s: typing.Sequence[float],
        wind_enu: Vector = _STILL_AIR,
    ) -> Truth:
        """Advance by one step with references and wind held, and return the motion at its end.

        :param rotor_speed_references_rad_s: speeds asked for, as reached at nominal bus voltage
        :param wind_enu: velocity of the air
        :raises DivergedError: the motion has left all bounds
        """
        limit = self._max_speed
        self._references = tuple(
            [limit if r > limit else r for r in rotor_speed_references_rad_s])
        self._wind = wind_enu
        try:
            self._integrate()
        except OverflowError:
            raise self._diverged() from None
        self.time_us += self._step_us
        # Not true for what is no number.
        if not (-_WILD < sum(self.state[3:6]) < _WILD and -_WILD < sum(self.state[10:]) < _WILD):
            raise self._diverged()
        return self.truth()

    def _integrate(self) -> None:
        part_us = self._step_us // self._parts
        for _ in range(self._parts):
            x = self._integrator.advance(self._derivative, self.state, part_us)
            x[6:10] = normalised(x[6:10])
            if self._battery is not None:
                clamp_charges(x, self._packs)
            if self._contact is not None:
                self._contact.move_anchors(x[:3], matrix(x[6:10]))
            self.state = x

    def _diverged(self) -> DivergedError:
        return DivergedError(
            f'the motion of {self._name} has left all bounds at t = {seconds_text(self.time_us)}:'
            f' the step of {self._step_us} us is too long for it, or a value of it is wild;'
            ' check-vehicle says more')

    def truth(self) -> Truth:
        """Return the motion now."""
        x = self.state
        rotation = matrix(x[6:10])
        self._now = self._accelerations(x, rotation)
        self._now_in = list(x), self._wind
        acceleration, angular_acceleration, self._power_w = self._now
        return Truth(
            self.time_us,
            tuple(x[:3]),
            tuple(x[6:10]),
            to_body(rotation, x[3:6]),
            tuple(x[10:13]),
            to_body(rotation, acceleration),
            angular_acceleration,
            tuple(x[_ROTORS:self._packs]),
        )

    def battery(self) -> BatteryStatus | None:
        """Return the battery at the time of the last truth; None if the vehicle has none."""
        if self._battery is None:
            return None
        packs, voltage = self._bus()
        return BatteryStatus(
            self.time_us, voltage, sum(self._battery.currents_a(packs, voltage)),
            self._battery.charge_ah(packs), self._battery_model.capacity_ah)

    def packs(self) -> list[tuple[float, float]]:
        """Return charge (0..1) and current (A) of each pack, at the time of the last truth."""
        if self._battery is None:
            return []
        packs, voltage = self._bus()
        return list(zip(packs[::2], self._battery.currents_a(packs, voltage)))

    def _bus(self) -> tuple[list[float], float]:
        """Return the state of the packs and the voltage of their bus."""
        packs = self.state[self._packs:]
        return packs, self._battery.voltage_v(packs, self._power_w)

    def _derivative(self, x: State) -> State:
        state, wind = self._now_in
        # A step begins where the truth of the one before was taken.
        acceleration, angular_acceleration, power = (
            self._now if x == state and wind == self._wind
            else self._accelerations(x, matrix(x[6:10])))
        qw, qx, qy, qz, wx, wy, wz = x[6:13]
        if self._battery is None:
            voltage_share, pack_rates = 1.0, ()
        else:
            packs = x[self._packs:]
            voltage = self._battery.voltage_v(packs, power)
            voltage_share = voltage / self._battery_model.nominal_voltage_v
            pack_rates = self._battery.rates(packs, voltage)
        return [
            *x[3:6],
            *acceleration,
            # q' = q * (0, w) / 2
            0.5 * (-qx * wx - qy * wy - qz * wz),
            0.5 * (qw * wx + qy * wz - qz * wy),
            0.5 * (qw * wy + qz * wx - qx * wz),
            0.5 * (qw * wz + qx * wy - qy * wx),
            *angular_acceleration,
            *self._rotors.speed_rates(x[_ROTORS:self._packs], self._references, voltage_share),
            *pack_rates,
        ]

    def _accelerations(
        self, x: State, rotation: tuple[float, ...],
    ) -> tuple[Vector, Vector, float]:
        """Return acceleration in ENU, angular acceleration in FLU, and the power drawn in W."""
        body = self._body
        height, vx, vy, vz = x[2:6]
        wx, wy, wz = rate = x[10:13]
        density = self._density_at(height)
        wind_x, wind_y, wind_z = self._wind
        ax, ay, az = airspeed = to_body(rotation, (vx - wind_x, vy - wind_y, vz - wind_z))
        fx, fy, fz, tx, ty, tz, power = self._rotors.wrench(
            x[_ROTORS:self._packs], airspeed, rate, density,
            OUT_OF_GROUND_EFFECT if self._contact is None else (height, *rotation[6:]))
        speed = math.sqrt(ax * ax + ay * ay + az * az)
        drag = (body.linear_drag_n_s_m + body.quadratic_drag_n_s2_m2 * speed) * (
            density / self._reference_density)
        fx, fy, fz = to_world(rotation, (fx - drag * ax, fy - drag * ay, fz - drag * az))
        if self._contact is not None and height < self._contact.reach_m:
            cx, cy, cz, *torque = self._contact.wrench(x[:3], (vx, vy, vz), rotation, rate)
            fx, fy, fz = fx + cx, fy + cy, fz + cz
            cx, cy, cz = to_body(rotation, torque)
            tx, ty, tz = tx + cx, ty + cy, tz + cz
        mass = body.mass_kg
        ixx, iyy, izz = body.inertia_kg_m2
        return (
            (fx / mass, fy / mass, fz / mass - self._gravity_at(height)),
            # Euler: I w' = torque - w x (I w)
            (
                (tx - (izz - iyy) * wy * wz) / ixx,
                (ty - (ixx - izz) * wz * wx) / iyy,
                (tz - (iyy - ixx) * wx * wy) / izz,
            ),
            power,
        )


def _integrator(
    parameters: DynamicsParameters, rotors: int, state: State,
) -> tuple[int, FixedStep | Adaptive]:
    """Return in how many equal parts a step is taken, and what integrates a part.

    After each part the attitude is normalised and the feet's anchors move.
    """
    p = parameters
    if p.integrator in FIXED:
        return p.substeps, FixedStep(FIXED[p.integrator], 1)
    tolerances = [
        *[p.position_tolerance_m] * 3, *[p.velocity_tolerance_m_s] * 3,
        *[p.attitude_tolerance] * 4, *[p.rate_tolerance_rad_s] * 3,
        *[p.rotor_speed_tolerance_rad_s] * rotors]
    tolerances += [p.battery_tolerance] * (len(state) - len(tolerances))
    return 1, Adaptive(ADAPTIVE[p.integrator], p.relative_tolerance, tolerances, p.min_step_us)
