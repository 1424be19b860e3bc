# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""All rotors together: forces, torques, the power they draw, and their lag.

Thrust and power are in `propulsion`, drag, rolling moment, reaction torque and lag as in
RotorS (Furrer et al. 2016, section 2). Everything the air does grows with its density.
Near the ground thrust grows at the same power (Cheeseman & Bennett 1955, ARC R&M 3021).

A rotor is anywhere, points anywhere, and has a model of its own; one that a servo tilts points to
where `tilting` has turned it.

A motor turns the body the other way by the torque that it gives the propeller: that of the air,
and the inertia times the angular acceleration. The torque of the air follows the power that the
shaft takes; its file says how large it is in hover.

Not modelled: flapping beyond the linear drag and rolling moment. The ground effect is that of a
level disc, however the body is tilted; a disc across body z has none.
"""
from __future__ import annotations

import types
import typing
from math import inf, sqrt

import numpy as np

from px4_sim_ros.jit.compiled import compiled, record
from px4_sim_ros.model.frames import Vector, vector
from px4_sim_ros.model.rotation import unit
from px4_sim_ros.model.vehicle.sections import MotorModel, Rotor, RotorModel

# What one propeller and its motor do at a speed and in a flow: the laws and their constants.
#
# Thrust. A blade element sees the speed of the rotor and the flow u through the disc, and lifts
# in proportion to how far u is below the flow that the blades would screw through freely:
#
#     T = s w (v0 - u),   v0 = J0 D w / (2 pi)                  (blade element, linear lift)
#     T = 2 rho A (u - v) sqrt(V^2 + u^2)                       (Glauert 1926, momentum)
#
# with w the rotor's speed, v the airspeed along the shaft (positive in climb), V the airspeed
# across it, J0 the advance ratio of zero thrust; Leishman 2006, Principles of Helicopter
# Aerodynamics, chapters 2 and 3. The slope s is such that hover gives T = k w^2.
#
# In axial flow (V = 0) both together are a quadratic equation of u; its solution u0 is exact, in
# climb up to v0, where the thrust is gone, and in descent, where the thrust grows and saturates.
# Across the shaft the root is taken at u0, and then u is linear:
#
#     b = s w / (2 rho A),   u0 = (v - b) / 2 + sqrt((v - b)^2 / 4 + b v0),
#     S = sqrt(V^2 + u0^2),  u = (b v0 + v S) / (b + S)
#
# This needs no iteration. For the Iris it gives the thrust within 2 % of hover thrust of the
# implicit equations in level flight and climb, and within 6 % in descent up to the induced
# velocity of hover.
#
# In a fast descent the flow goes up through the disc, which windmills: T = 2 rho A (u - v) (-u).
# With the blades that has a root from v <= -(b + 2 sqrt(b v0)) on, 2.6 times the induced velocity
# of hover for the Iris:
#
#     u0 = (v + b) / 2 - sqrt((v + b)^2 / 4 - b v0)
#
# and the rest as above. Before it, from v <= -(b + sqrt(b v0)) on, 1.5 times that velocity,
# momentum theory does not hold; there the flow goes smoothly over from the branch of the
# helicopter. A blade lifts no more than twice what it does in hover: own estimate of its stall.
#
# In a vortex ring, at half to one and a half times the induced velocity of hover, the thrust
# shakes. Small propellers were measured to do so by up to 30 % of it (Shetty & Selig 2011, AIAA
# 2011-1254). How much is a parameter; its course is noise with the time that the flow takes
# through a diameter.
#
# Power. The shaft takes T u and the profile drag of the blades, c w^3. c is such that in hover
# the torque is `shaft_torque_coefficient_m` times the thrust; it is never negative. A motor draws
# I = Q / Kt + I0 at w / Kv + R I volts, with Kt = 1 / Kv (Drela 2007, First-order DC electric
# motor model).
#
# Not modelled: a stall of the blades that depends on their shape, windmilling beyond zero thrust
# in climb, the delay of the inflow, rotors in the wake of others, Reynolds and Mach numbers; the
# power that speeds a rotor up, and braking that feeds the bus.


class Propeller(typing.NamedTuple):
    """Constants of one propeller in air of the reference density."""

    slope_n_s2_m: float
    """s: thrust lost / (speed * flow through the disc)."""
    zero_thrust_inflow_m: float
    """v0 / w."""
    lag_inflow_m: float
    """b / w."""
    hover_inflow_m: float
    """Induced velocity in hover / w."""

    @classmethod
    def of(cls, model: RotorModel) -> Propeller:
        """Return the constants of a rotor model."""
        slope = model.thrust_coefficient_n_s2 / (model.zero_thrust_inflow_m - model.hover_inflow_m)
        return cls(
            slope, model.zero_thrust_inflow_m,
            slope / (2.0 * model.reference_density_kg_m3 * model.disc_area_m2),
            model.hover_inflow_m)


class Load(typing.NamedTuple):
    """Constants of one motor with its propeller; powers are of all of them on the bus."""

    profile_n_m_s2: float
    """Profile torque / speed^2 at the reference density."""
    kv_rad_s_v: float
    resistance_ohm: float
    no_load_current_a: float
    per_efficiency: float
    avionics_power_w: float
    shaft_torque_m: float
    """Torque / thrust in hover."""

    @classmethod
    def none(cls, rotor: RotorModel) -> Load:
        """Return the model without power, with the torque that is left to the vehicle in hover.

        It is at least that of an ideal propeller.
        """
        torque_m = max(rotor.moment_coefficient_m, rotor.hover_inflow_m)
        return NO_LOAD._replace(
            profile_n_m_s2=rotor.thrust_coefficient_n_s2 * (torque_m - rotor.hover_inflow_m),
            shaft_torque_m=torque_m)

    @classmethod
    def of(cls, motor: MotorModel, rotor: RotorModel) -> Load:
        """Return the constants of a motor that turns such a rotor."""
        return cls(
            rotor.thrust_coefficient_n_s2
            * (motor.shaft_torque_coefficient_m - rotor.hover_inflow_m),
            motor.motor_kv_rad_s_v, motor.winding_resistance_ohm, motor.no_load_current_a,
            1.0 / motor.esc_efficiency, motor.avionics_power_w, motor.shaft_torque_coefficient_m)


NO_LOAD = Load(0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0)
"""Nothing that draws a power."""


STANDING_RAD_S = 1e-3
"""A slower rotor does nothing to the air."""

GROUND_EFFECT_REACH = 300.0
"""Height in propeller radii above which ground effect is below one part in a million."""

# The columns of the table of rotors, in SI units; those of propeller and load are described in
# `propulsion`. Moments have the sign of the spin. The table is a plain array: to pass a record to
# compiled functions takes twice as long.
(
    X, Y, Z, AXIS_X, AXIS_Y, AXIS_Z, SLOPE, ZERO_THRUST_INFLOW, LAG_INFLOW, HOVER_INFLOW,
    PROFILE, KV, RESISTANCE, NO_LOAD_CURRENT, EFFICIENCY_SHARE, DRAG, ROLLING, MOMENT,
    INERTIA, MAX_SPEED, LAG_UP, LAG_DOWN, RADIUS, GROUND_EFFECT_HEIGHT, DISC_AREA,
    SHAKING,       # relative change of the thrust in a vortex ring: set at boundaries of steps
    THRUST,        # what it gave last: `wrench` writes it, and surfaces in its wake read it
    ACCELERATION,  # of its speed, rad/s^2: `spin_up` writes it
    LEAST_SPEED,   # below 0 if it can turn backwards
    TILT_SERVO,    # its index behind the rotors, -1 for none; at its angle 0 the axis is at REST
    REST_X, REST_Y, REST_Z, HINGE_X, HINGE_Y, HINGE_Z,
) = range(36)
COLUMNS = 36

SHAKES_FROM = 0.5
"""Descent at which a vortex ring begins / downwash of hover."""

OUT_OF_GROUND_EFFECT = (inf, 0.0, 0.0, 0.0)
_NONE: typing.Mapping[str, int] = types.MappingProxyType({})


class RotorSet:
    """All rotors of a vehicle."""

    def __init__(
        self, model: RotorModel, rotors: typing.Sequence[Rotor], motor: MotorModel | None = None,
        models: typing.Mapping[str, RotorModel] | None = None,
        motors: typing.Mapping[str, MotorModel] | None = None,
        servos: typing.Mapping[str, int] = _NONE,
    ) -> None:
        """Take rotors as they are mounted.

        :param model: of those that name none
        :param motor: of models that have none of their own; without any they draw no power
        :param models: the others, by name
        :param motors: those of their own, by the name of the rotor model
        :param servos: the index of each behind the rotors; without them none is tilted
        """
        named = dict(models or {})
        used = [named.get(rotor.model, model) for rotor in rotors]
        loads = [_load(used[i], (motors or {}).get(rotor.model, motor))
                 for i, rotor in enumerate(rotors)]
        first = loads[0] if loads else NO_LOAD
        own = {load.avionics_power_w for load in loads}
        # By name; `wrench` takes them as a record, alone or among others.
        reference = model.reference_density_kg_m3
        self.constants = dict(
            reference_density_kg_m3=reference, per_efficiency=first.per_efficiency,
            avionics_power_w=sum(sorted(own)))
        self._record = record(**self.constants)
        self.table = np.array([
            _row(rotor, used[i], loads[i], first, reference, servos.get(rotor.tilted_by, -1))
            for i, rotor in enumerate(rotors)]).reshape(-1, COLUMNS)

    def wrench(
        self, speeds_rad_s: typing.Sequence[float], airspeed_flu: Vector, rate_flu: Vector,
        density_kg_m3: float, above_ground: tuple[float, float, float, float],
    ) -> tuple[float, float, float, float, float, float, float]:
        """Return `wrench` of these rotors."""
        height, up_x, up_y, up_z = map(float, above_ground)
        return wrench(
            self._record, self.table, np.array(speeds_rad_s, float),
            vector(map(float, airspeed_flu)), vector(map(float, rate_flu)),
            float(density_kg_m3), (height, up_x, up_y, up_z))


def _load(model: RotorModel, motor: MotorModel | None) -> Load:
    return Load.none(model) if motor is None else Load.of(motor, model)


def _row(
    rotor: Rotor, model: RotorModel, load: Load, first: Load, density_kg_m3: float, servo: int,
) -> tuple[float, ...]:
    """Return the constants of one rotor: where it is, then those of its model.

    :param first: the load whose efficiency all are relative to
    :param density_kg_m3: of the air that all coefficients are brought to
    """
    thin = density_kg_m3 / model.reference_density_kg_m3
    propeller, radius = Propeller.of(model), 0.5 * model.propeller_diameter_m
    # In the order of the columns.
    return (
        *rotor.position_m, *rotor.direction,
        thin * propeller.slope_n_s2_m, propeller.zero_thrust_inflow_m, propeller.lag_inflow_m,
        propeller.hover_inflow_m, thin * load.profile_n_m_s2, load.kv_rad_s_v,
        load.resistance_ohm, load.no_load_current_a,
        load.per_efficiency / first.per_efficiency if first.per_efficiency else 1.0,
        thin * model.drag_coefficient_n_s2_m,
        rotor.spin * thin * model.rolling_moment_coefficient_n_s2,
        rotor.spin * model.moment_coefficient_m / load.shaft_torque_m,
        rotor.spin * model.inertia_kg_m2,
        model.max_speed_rad_s, model.time_constant_up_s, model.time_constant_down_s,
        radius, GROUND_EFFECT_REACH * radius, model.disc_area_m2, 0.0, 0.0, 0.0,
        -model.max_speed_rad_s if model.reversible else 0.0,
        servo, *rotor.direction, *unit(rotor.hinge))


@compiled
def wrench(
    constants: np.ndarray, rotors: np.ndarray, speeds_rad_s: np.ndarray,
    airspeed_flu: Vector, rate_flu: Vector, density_kg_m3: float,
    above_ground: tuple[float, float, float, float],
) -> tuple[float, float, float, float, float, float, float]:
    """Return force in N and torque about the centre of mass in N m, body FLU, and the power.

    The power in W is what motors and avionics together draw from the bus. A rotor that turns
    backwards is one that turns forwards with its axis the other way round.

    :param constants: a record with those of a RotorSet
    :param rotors: the table of a RotorSet; the thrusts in it are set
    :param airspeed_flu: velocity of the body relative to the air, m/s
    :param rate_flu: angular rate of the body, rad/s
    :param above_ground: height of the body's origin, m, and the world's vertical in FLU;
        or OUT_OF_GROUND_EFFECT
    """
    density = density_kg_m3 / constants[0].reference_density_kg_m3
    height, up_x, up_y, up_z = above_ground
    ax, ay, az = airspeed_flu
    wx, wy, wz = rate_flu
    fx = fy = fz = tx = ty = tz = spin_x = spin_y = spin_z = power = 0.0
    for i in range(len(rotors)):
        speed = speeds_rad_s[i]
        nx, ny, nz = rotors[i, AXIS_X], rotors[i, AXIS_Y], rotors[i, AXIS_Z]
        if speed < 0.0:
            speed, nx, ny, nz = -speed, -nx, -ny, -nz
        if speed < STANDING_RAD_S:
            rotors[i, THRUST] = 0.0
            continue
        x, y, z = rotors[i, X], rotors[i, Y], rotors[i, Z]
        # Airspeed at the hub, with the part that the body's rotation adds; along and across.
        vx = ax + wy * z - wz * y
        vy = ay + wz * x - wx * z
        vz = az + wx * y - wy * x
        along = vx * nx + vy * ny + vz * nz
        vx, vy, vz = vx - along * nx, vy - along * ny, vz - along * nz
        # Flow through the disc; names and formulas as in `propulsion`.
        across = vx * vx + vy * vy + vz * vz
        b = rotors[i, LAG_INFLOW] * speed
        v0 = rotors[i, ZERO_THRUST_INFLOW] * speed
        half = 0.5 * (along - b)
        u = half + sqrt(half * half + b * v0)
        root = sqrt(across + u * u)
        u = (b * v0 + along * root) / (b + root)
        downwash = rotors[i, HOVER_INFLOW] * speed
        if along < -SHAKES_FROM * downwash:
            u = _flow_in_descent(u, along, across, b, v0, 2.0 * downwash - v0)
        thrust = rotors[i, SLOPE] * density * speed * (v0 - u) if u < v0 else 0.0
        shaft_torque = thrust * u / speed + rotors[i, PROFILE] * density * speed * speed
        torque = rotors[i, MOMENT] * shaft_torque
        if along < -SHAKES_FROM * downwash:
            thrust *= 1.0 + rotors[i, SHAKING] * vortex_ring(along / downwash, across / (
                downwash * downwash))
        kv = rotors[i, KV]
        current = rotors[i, NO_LOAD_CURRENT] + (kv * shaft_torque if shaft_torque > 0.0 else 0.0)
        drawn = current * (speed / kv + rotors[i, RESISTANCE] * current)
        power += rotors[i, EFFICIENCY_SHARE] * drawn
        if height < rotors[i, GROUND_EFFECT_HEIGHT]:
            # T / T_free = 1 / (1 - (R / 4z)^2 / (1 + (V / v_hover)^2)), for a disc that faces down
            clearance = height + up_x * x + up_y * y + up_z * z
            if clearance < 0.5 * rotors[i, RADIUS]:
                clearance = 0.5 * rotors[i, RADIUS]
            image = 0.25 * rotors[i, RADIUS] / clearance * downwash * nz
            free = across + downwash * downwash
            thrust *= free / (free - image * image)
        rotors[i, THRUST] = thrust
        drag = -density * rotors[i, DRAG] * speed
        rolling = -density * rotors[i, ROLLING] * speed
        px, py, pz = drag * vx + thrust * nx, drag * vy + thrust * ny, drag * vz + thrust * nz
        fx += px
        fy += py
        fz += pz
        tx += y * pz - z * py + rolling * vx - torque * nx
        ty += z * px - x * pz + rolling * vy - torque * ny
        tz += x * py - y * px + rolling * vz - torque * nz
        momentum = rotors[i, INERTIA] * speed
        spin_x += momentum * nx
        spin_y += momentum * ny
        spin_z += momentum * nz
    # The body turns the rotors' angular momentum H: torque -rate x H.
    return (
        fx, fy, fz,
        tx - (wy * spin_z - wz * spin_y), ty - (wz * spin_x - wx * spin_z),
        tz - (wx * spin_y - wy * spin_x),
        power * constants[0].per_efficiency + constants[0].avionics_power_w)


@compiled
def _flow_in_descent(
    u: float, along: float, across: float, b: float, v0: float, least: float,
) -> float:
    """Return the flow through a disc that sinks; names and formulas as in `propulsion`.

    :param u: on the helicopter's branch
    :param least: at which the blades stall
    """
    q = along + b
    if q >= 0.0 or q * q <= b * v0:
        return u
    double = sqrt(b * v0)                            # the root where windmilling begins
    share = min(1.0, -q / double - 1.0)
    excess = 0.25 * q * q - b * v0
    windmill = 0.5 * q - sqrt(excess) if excess > 0.0 else -double
    root = sqrt(across + windmill * windmill)
    windmill = (b * v0 + along * root) / (b + root)
    u += share * share * (3.0 - 2.0 * share) * (windmill - u)
    return max(u, least)


@compiled
def vortex_ring(climb: float, across_squared: float) -> float:
    """Return how far a rotor is in its vortex ring, 0 to 1; speeds are over the downwash of hover.

    It is worst at a descent with that speed, and gone in half and one and a half of it, and in a
    flow across the shaft of that speed.
    """
    inside = (1.0 - 4.0 * (climb + 1.0) * (climb + 1.0)) * (1.0 - across_squared)
    return inside if -1.5 < climb < -SHAKES_FROM and across_squared < 1.0 else 0.0


@compiled
def shakes(
    rotors: np.ndarray, speeds_rad_s: np.ndarray, airspeed_along_z: float,
) -> bool:
    """Return whether a rotor may be in its vortex ring, by the airspeed of the body along z."""
    for i in range(len(rotors)):
        if airspeed_along_z * rotors[i, AXIS_Z] < (
                -SHAKES_FROM * rotors[i, HOVER_INFLOW] * abs(speeds_rad_s[i])):
            return True
    return False


@compiled
def spin_up(
    rotors: np.ndarray, speeds_rad_s: np.ndarray, references_rad_s: np.ndarray,
    voltage_share: float,
) -> Vector:
    """Let the rotors follow their references; return the torque on the body in N m, FLU.

    A motor that speeds a rotor up by its torque turns the body the other way: -J w'.

    :param references_rad_s: those of rotors come first
    """
    tx = ty = tz = 0.0
    for i in range(len(rotors)):
        rate = speed_rate(rotors, i, speeds_rad_s[i], references_rad_s[i], voltage_share)
        rotors[i, ACCELERATION] = rate
        torque = rotors[i, INERTIA] * rate
        tx -= torque * rotors[i, AXIS_X]
        ty -= torque * rotors[i, AXIS_Y]
        tz -= torque * rotors[i, AXIS_Z]
    return tx, ty, tz


@compiled
def speed_rate(
    rotors: np.ndarray, index: int, speed_rad_s: float, reference_rad_s: float,
    voltage_share: float,
) -> float:
    """Return the angular acceleration of a rotor in rad/s^2: a lag, faster up than down.

    :param reference_rad_s: speed asked for, as reached at nominal voltage
    :param voltage_share: bus voltage / nominal voltage. A speed controller without a
        speed loop sets a share of the voltage, so the speed that is reached scales with it.
    """
    goal: float = max(rotors[index, LEAST_SPEED], min(
        reference_rad_s, rotors[index, MAX_SPEED])) * voltage_share
    rises = goal > speed_rad_s if goal >= 0.0 else goal < speed_rad_s
    lag_s: float = rotors[index, LAG_UP] if rises else rotors[index, LAG_DOWN]
    return (goal - speed_rad_s) / lag_s
