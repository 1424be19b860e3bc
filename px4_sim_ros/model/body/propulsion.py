# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What one propeller and its motor do at a speed and in a flow: the laws and their constants.

Thrust. A blade element sees the speed of the rotor and the flow u through the disc, and lifts in
proportion to how far u is below the flow that the blades would screw through freely:

    T = s w (v0 - u),   v0 = J0 D w / (2 pi)                  (blade element, linear lift)
    T = 2 rho A (u - v) sqrt(V^2 + u^2)                       (Glauert 1926, momentum)

with w the rotor's speed, v the airspeed along the shaft (positive in climb), V the airspeed
across it, J0 the advance ratio of zero thrust; Leishman 2006, Principles of Helicopter
Aerodynamics, chapters 2 and 3. The slope s is such that hover gives T = k w^2.

In axial flow (V = 0) both together are a quadratic equation of u; its solution u0 is exact, in
climb up to v0, where the thrust is gone, and in descent, where the thrust grows and saturates.
Across the shaft the root is taken at u0, and then u is linear:

    b = s w / (2 rho A),   u0 = (v - b) / 2 + sqrt((v - b)^2 / 4 + b v0),
    S = sqrt(V^2 + u0^2),  u = (b v0 + v S) / (b + S)

This needs no iteration. For the Iris it gives the thrust within 2 % of hover thrust
of the implicit equations in level flight and climb, and within 6 % in descent up to the induced
velocity of hover.

In a fast descent the flow goes up through the disc, which windmills: T = 2 rho A (u - v) (-u). With
the blades that has a root from v <= -(b + 2 sqrt(b v0)) on, 2.6 times the induced velocity of hover
for the Iris:

    u0 = (v + b) / 2 - sqrt((v + b)^2 / 4 - b v0)

and the rest as above. Before it, from v <= -(b + sqrt(b v0)) on, 1.5 times that velocity, momentum
theory does not hold; there the flow goes smoothly over from the branch of the helicopter. A blade
lifts no more than twice what it does in hover: own estimate of its stall.

In a vortex ring, at half to one and a half times the induced velocity of hover, the thrust shakes.
Small propellers were measured to do so by up to 30 % of it (Shetty & Selig 2011, AIAA 2011-1254).
How much is a parameter; its course is noise with the time that the flow takes through a diameter.

Power. The shaft takes T u and the profile drag of the blades, c w^3. c is such that in hover the
torque is `shaft_torque_coefficient_m` times the thrust; it is never negative. A motor draws
I = Q / Kt + I0 at w / Kv + R I volts, with Kt = 1 / Kv (Drela 2007, First-order DC electric
motor model).

Not modelled: a stall of the blades that depends on their shape, windmilling beyond zero thrust in
climb, the delay of the inflow, rotors in the wake of others, Reynolds and Mach numbers; the
power that speeds a rotor up, and braking that feeds the bus.
"""
from __future__ import annotations

import typing

from px4_sim_ros.model.vehicle.sections import MotorModel, RotorModel


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
        """Return what draws no power, with the torque that is left to the vehicle in hover.

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
