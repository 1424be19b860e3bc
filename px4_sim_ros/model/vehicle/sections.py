# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The sections of a vehicle file: body, rotors, motors, battery and contact with the ground."""
from __future__ import annotations

import dataclasses
import math

import numpy as np

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.parameters import Parameters, parameter
from px4_sim_ros.model.rotation import (
    dot,
    from_rotation_vector,
    matrix,
    scaled,
    to_world,
    unit,
)

LOW_CHARGE = 0.2
"""Share of the charge at which a flight should have ended."""

# Of the cosine between axis and hinge: a tenth of a degree.
_PARALLEL = 1.0 - 1.5e-6
# Of two moments over the third: what is measured of a flat body may be a little less than 1.
_TRIANGLE = 0.99


@dataclasses.dataclass(frozen=True)
class Body(Parameters):
    """The rigid body; its origin is the centre of mass.

    Drag is that of the whole body in air of the rotor model's reference density. Along body axis i
    it is -drag_ratios[i] (linear + quadratic |v|) v[i] at the airspeed v; that is how PX4's EKF2
    predicts the drag of a multirotor (EKF2_BCOEF_X, EKF2_BCOEF_Y).
    """

    mass_kg: float = parameter('mass of the whole vehicle', 'kg', above=0)
    inertia_kg_m2: tuple[float, float, float] = parameter(
        'moments of inertia about x, y, z', 'kg m^2', above=0)
    linear_drag_n_s_m: float = parameter('drag force per airspeed', 'N s/m', minimum=0)
    quadratic_drag_n_s2_m2: float = parameter(
        'drag force per airspeed squared', 'N s^2/m^2', minimum=0)
    inertia_products_kg_m2: tuple[float, float, float] = parameter(
        'xy, xz and yz elements of the inertia tensor: minus the integrals of x y, x z, y z',
        'kg m^2', default=(0.0, 0.0, 0.0))
    drag_ratios: tuple[float, float, float] = parameter(
        'drag along x, y, z / what the coefficients say', minimum=0, default=(1.0, 1.0, 1.0))

    @property
    def inertia_tensor(self) -> tuple[tuple[float, float, float], ...]:
        """The tensor about the centre of mass, kg m^2, FLU."""
        (xx, yy, zz), (xy, xz, yz) = self.inertia_kg_m2, self.inertia_products_kg_m2
        return (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)

    def check(self, owner: str) -> None:
        """Check that there can be such a body, whose principal moments are all of a mass.

        :raises ParameterError: a principal moment is not positive, or larger than the other two
        """
        least, middle, most = np.linalg.eigvalsh(self.inertia_tensor).tolist()
        if least <= 0.0:
            raise ParameterError(
                f'{owner}.inertia_products_kg_m2 = {self.inertia_products_kg_m2}: with'
                f' inertia_kg_m2 = {self.inertia_kg_m2} a principal moment is {least:.3g};'
                ' it must be greater than 0')
        if least + middle < _TRIANGLE * most:
            raise ParameterError(
                f'{owner}.inertia_kg_m2 = {self.inertia_kg_m2}: the largest principal moment is'
                f' {most:.3g}, more than the other two together, {least + middle:.3g}; no body'
                ' has that')


def rotor_reference_rad_s(
    command: float, gain_rad_s: float, offset_rad_s: float, most_rad_s: float, reversible: bool,
) -> float:
    """Return the speed asked for by a motor control; backwards it idles nowhere."""
    if command < 0.0 and reversible:
        return max(gain_rad_s * command - offset_rad_s, -most_rad_s)
    # Comparisons take a third of the time of `min` and `max`.
    speed = gain_rad_s * command + offset_rad_s
    if speed > most_rad_s:
        return most_rad_s
    return speed if speed > 0.0 else 0.0


@dataclasses.dataclass(frozen=True)
class RotorModel(Parameters):
    """What all rotors of a vehicle have in common.

    Coefficients of forces hold in air of the reference density.
    """

    thrust_coefficient_n_s2: float = parameter(
        'hover thrust / speed^2', 'N/(rad/s)^2', above=0)
    moment_coefficient_m: float = parameter('reaction torque / thrust', 'm', minimum=0)
    time_constant_up_s: float = parameter('lag of a rising speed', 's', above=0)
    time_constant_down_s: float = parameter('lag of a falling speed', 's', above=0)
    max_speed_rad_s: float = parameter(
        'highest speed, at the nominal voltage of the bus', 'rad/s', above=0)
    drag_coefficient_n_s2_m: float = parameter(
        'drag force / (speed * edgewise airspeed)', 'N s^2/m', minimum=0)
    rolling_moment_coefficient_n_s2: float = parameter(
        'rolling moment / (speed * edgewise airspeed)', 'N s^2', minimum=0)
    inertia_kg_m2: float = parameter('moment of inertia about the shaft', 'kg m^2', minimum=0)
    propeller_diameter_m: float = parameter('of the disc', 'm', above=0)
    zero_thrust_advance_ratio: float = parameter(
        'J = airspeed / (revolutions per second * diameter) where the thrust is gone in climb',
        above=0)
    reference_density_kg_m3: float = parameter(
        'density of the air that the coefficients hold in', 'kg/m^3', above=0)
    command_gain_rad_s: float = parameter('speed per unit of command', 'rad/s', above=0)
    command_offset_rad_s: float = parameter('speed when armed at command 0', 'rad/s', minimum=0)
    reversible: bool = parameter('a negative command turns it backwards', default=False)

    def reference_rad_s(self, command: float) -> float:
        """Return `rotor_reference_rad_s` of this model."""
        return rotor_reference_rad_s(
            command, self.command_gain_rad_s, self.command_offset_rad_s, self.max_speed_rad_s,
            self.reversible)

    @property
    def disc_area_m2(self) -> float:
        """The area that one propeller sweeps."""
        return math.pi * (0.5 * self.propeller_diameter_m) ** 2

    @property
    def hover_inflow_m(self) -> float:
        """Induced velocity in hover / rotor speed: T = 2 rho A v^2 with T = k w^2."""
        return math.sqrt(
            self.thrust_coefficient_n_s2 / (2.0 * self.reference_density_kg_m3 * self.disc_area_m2))

    @property
    def zero_thrust_inflow_m(self) -> float:
        """Axial airspeed at which the thrust is gone / rotor speed: J D / (2 pi)."""
        return self.zero_thrust_advance_ratio * self.propeller_diameter_m / math.tau

    def check(self, owner: str) -> None:
        """Check that the propeller can hover.

        :raises ParameterError: its thrust would be gone below the induced velocity in hover
        """
        least = self.hover_inflow_m * math.tau / self.propeller_diameter_m
        if self.zero_thrust_advance_ratio <= least:
            raise ParameterError(
                f'{owner}.zero_thrust_advance_ratio = {self.zero_thrust_advance_ratio}: must be'
                f' greater than {least:.3g}, the advance ratio of its own downwash in hover')


NO_ROTOR = RotorModel(
    thrust_coefficient_n_s2=1e-6, moment_coefficient_m=0.0, time_constant_up_s=1.0,
    time_constant_down_s=1.0, max_speed_rad_s=1.0, drag_coefficient_n_s2_m=0.0,
    rolling_moment_coefficient_n_s2=0.0, inertia_kg_m2=0.0, propeller_diameter_m=1.0,
    zero_thrust_advance_ratio=1.0, reference_density_kg_m3=1.225, command_gain_rad_s=1.0,
    command_offset_rad_s=0.0)
"""Of a vehicle without rotors: says only that the drag of its body is that at sea level."""


@dataclasses.dataclass(frozen=True)
class MotorModel(Parameters):
    """Motor, speed controller and propeller as a load of the battery; all motors are alike."""

    shaft_torque_coefficient_m: float = parameter(
        'shaft torque / thrust in hover, for the power only', 'm', above=0)
    motor_kv_rad_s_v: float = parameter('speed / back voltage', 'rad/s/V', above=0)
    winding_resistance_ohm: float = parameter('of one motor', 'ohm', minimum=0)
    no_load_current_a: float = parameter('of one motor when it turns', 'A', minimum=0)
    esc_efficiency: float = parameter('power to the motor / power from the bus', above=0, maximum=1)
    avionics_power_w: float = parameter('power that all else draws', 'W', minimum=0)

    def check(self, owner: str, rotor: RotorModel) -> None:
        """Check that the propeller draws at least the power of its own downwash.

        :raises ParameterError: it would be better than an ideal one
        """
        if self.shaft_torque_coefficient_m < rotor.hover_inflow_m:
            raise ParameterError(
                f'{owner}.shaft_torque_coefficient_m = {self.shaft_torque_coefficient_m}: must be'
                f' at least {rotor.hover_inflow_m:.3g} m, that of an ideal propeller')


@dataclasses.dataclass(frozen=True)
class Rotor(Parameters):
    """Where one rotor is, where it pushes the vehicle to, and how it turns."""

    position_m: tuple[float, float, float] = parameter('hub, FLU', 'm')
    turns: str = parameter('sense seen from where it pushes to', choices=('ccw', 'cw'))
    axis: tuple[float, float, float] = parameter(
        'direction of the thrust, FLU', default=(0.0, 0.0, 1.0))
    model: str = parameter('in rotor_models; empty: rotor_model', default='')
    control: int = parameter(
        'index in HIL_ACTUATOR_CONTROLS; -1: its own in the list of rotors', default=-1,
        minimum=-1, maximum=15)
    stops: bool = parameter(
        'stands still at a control of exactly 0 while armed, and does not idle', default=False)
    tilted_by: str = parameter(
        'servo that turns the axis about its hinge; empty: it is fixed', default='')
    hinge: tuple[float, float, float] = parameter(
        'direction about which that servo turns it, FLU; its hub is on the hinge',
        default=(0.0, 1.0, 0.0))

    @property
    def direction(self) -> tuple[float, float, float]:
        """The axis as a unit vector, of one that is tilted at the angle 0 of its servo."""
        return unit(self.axis)

    def direction_at(self, angle_rad: float) -> tuple[float, float, float]:
        """Return the axis as a unit vector at an angle of the servo that tilts it."""
        turn = from_rotation_vector(scaled(angle_rad, unit(self.hinge)))
        return to_world(matrix(turn), self.direction)

    @property
    def lifts(self) -> bool:
        """Whether it pushes up more than along."""
        return self.direction[2] > math.sqrt(0.5)

    def check(self, owner: str) -> None:
        """Check that axis and hinge have directions, and that the one can turn about the other.

        :raises ParameterError: one is zero, or they are parallel
        """
        for name in 'axis', 'hinge':
            value = getattr(self, name)
            if not any(value):
                raise ParameterError(f'{owner}.{name} = {value}: must have a direction')
        if self.tilted_by and abs(dot(self.direction, unit(self.hinge))) > _PARALLEL:
            raise ParameterError(
                f'{owner}.hinge = {self.hinge}: must not be along axis = {self.axis}, which would'
                ' not tilt')

    @property
    def spin(self) -> float:
        """+1 when it turns about its axis (counter-clockwise), -1 otherwise."""
        return 1.0 if self.turns == 'ccw' else -1.0


@dataclasses.dataclass(frozen=True)
class ContactModel(Parameters):
    """Spring, damper and Coulomb friction of each point that touches the ground."""

    stiffness_n_m: float = parameter('normal and tangential spring', 'N/m', above=0)
    damping_n_s_m: float = parameter('normal and tangential damper', 'N s/m', minimum=0)
    friction_coefficient: float = parameter('Coulomb friction', minimum=0)


@dataclasses.dataclass(frozen=True)
class ContactPoint(Parameters):
    """A point of the body that can touch the ground."""

    position_m: tuple[float, float, float] = parameter('point, FLU', 'm')


@dataclasses.dataclass(frozen=True)
class Pack(Parameters):
    """One pack; voltages and resistances are of all its cells in series."""

    cells: int = parameter('cells in series', minimum=1)
    capacity_ah: float = parameter('charge when full', 'A h', above=0)
    full_voltage_v: float = parameter('open circuit, full', 'V', above=0)
    empty_voltage_v: float = parameter('open circuit, empty', 'V', above=0)
    series_resistance_ohm: float = parameter('R0', 'ohm', above=0)
    polarisation_resistance_ohm: float = parameter('R1', 'ohm', above=0)
    polarisation_capacitance_f: float = parameter('C1', 'F', above=0)
    # Of lithium polymer cells: 3.61 V at 5 %, 3.27 V when empty, in common tables of rested cells.
    knee_charge: float = parameter(
        'share of the charge below which the open-circuit voltage leaves the line from full to'
        ' empty', default=0.05, above=0, maximum=1)
    end_voltage_share: float = parameter(
        'open circuit at no charge at all / empty_voltage_v', default=0.91, above=0, maximum=1)


@dataclasses.dataclass(frozen=True)
class BatteryModel:
    """Packs in parallel.

    At the nominal voltage of the bus a rotor reaches the speed that is asked of it.
    """

    nominal_voltage_v: float
    packs: tuple[Pack, ...]

    @property
    def capacity_ah(self) -> float:
        """The charge of all packs together when full."""
        return sum(pack.capacity_ah for pack in self.packs)
