# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Lifting surfaces: wings, tails and fins, at any angle of attack, in the wake of a rotor or not.

With alpha from zero lift, a the lift slope, A the aspect ratio and e the Oswald factor:

    C_L = (1 - s) a alpha + s B sin(alpha) cos(alpha)
    C_D = C_D0 + (1 - s) (a alpha)^2 / (pi e A) + s B sin^2(alpha),   B = 1.11 + 0.018 A
    s   = (1 + E(-(alpha - stall)) + E(alpha + stall))
          / ((1 + E(-(alpha - stall))) (1 + E(alpha + stall))),   E(x) = exp(50 x)

which is a linear lift that blends into that of a flat plate beyond the stall (Beard & McLain 2012,
Small Unmanned Aircraft, 4.9 to 4.11). The plate is that of Viterna & Corrigan 1982 (NASA CP-2230,
Fixed Pitch Rotor Performance of Large Horizontal Axis Wind Turbines): B is its drag coefficient
across the flow, 1.13 for a square and 2.01 from an aspect ratio of 50 on. A deflection turns the
line of zero lift. The velocity is that of the surface, with the part of the body's rotation: that
gives all damping. The flow along the span does nothing.

A rotor blows what momentum theory gives far behind it, v' = sqrt(v^2 + 2 T / (rho A)) in place of
the speed v along its axis, over the whole of a surface in its wake.

Not modelled: the lag of the lift, downwash of the wing on the tail, the blending's dependence on
the Reynolds number, and the hinge moments on the servos.
"""
from __future__ import annotations

import math
import typing

import numpy as np

from px4_sim_ros.jit.compiled import compiled
from px4_sim_ros.model.body.rotors import AXIS_X, AXIS_Y, AXIS_Z, DISC_AREA, THRUST
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.rotation import unit
from px4_sim_ros.model.vehicle.elements import Surface

_BLENDING = 50.0
"""M of Beard & McLain: how sudden the stall is, 1/rad."""

# The columns of the table, in SI units; servo and rotor are indices, -1 for none.
(
    X, Y, Z, CHORD_X, CHORD_Y, CHORD_Z, NORMAL_X, NORMAL_Y, NORMAL_Z, AREA, MOMENT_AREA, LIFT_SLOPE,
    INDUCED, ZERO_LIFT, STALL, DRAG_0, BROADSIDE, SERVO, EFFECT, ROTOR,
) = range(20)


def surface_table(
    surfaces: typing.Sequence[Surface], servos: typing.Mapping[str, int],
) -> np.ndarray:
    """Return the constants of surfaces for compiled functions, one entry each.

    :param servos: the index of each servo in the state, from the first actuator
    """
    return np.array([(
        *surface.position_m, *unit(surface.chord), *unit(surface.normal), surface.area_m2,
        surface.moment_0 * surface.area_m2 * surface.chord_m, surface.lift_slope,
        1.0 / (math.pi * surface.efficiency * surface.aspect_ratio),
        surface.zero_lift_rad, surface.stall_rad, surface.drag_0, surface.broadside_drag,
        servos.get(surface.servo, -1), surface.effect, surface.in_wake_of - 1)
        for surface in surfaces]).reshape(-1, 20)


@compiled
def coefficients(
    surfaces: np.ndarray, index: int, alpha_rad: float,
) -> tuple[float, float]:
    """Return lift and drag coefficient of a surface.

    :param alpha_rad: angle of attack from zero lift
    """
    above = math.exp(-_BLENDING * (alpha_rad - surfaces[index, STALL]))
    below = math.exp(_BLENDING * (alpha_rad + surfaces[index, STALL]))
    plate = (1.0 + above + below) / ((1.0 + above) * (1.0 + below))
    sine, linear = math.sin(alpha_rad), surfaces[index, LIFT_SLOPE] * alpha_rad
    pressure = surfaces[index, BROADSIDE] * sine          # normal to the plate
    induced = surfaces[index, INDUCED] * linear * linear
    return (
        (1.0 - plate) * linear + plate * pressure * math.cos(alpha_rad),
        surfaces[index, DRAG_0] + (1.0 - plate) * induced + plate * pressure * sine)


@compiled
def surface_wrench(
    surfaces: np.ndarray, rotors: np.ndarray, angles_rad: np.ndarray, airspeed_flu: Vector,
    rate_flu: Vector, density_kg_m3: float,
) -> tuple[float, float, float, float, float, float]:
    """Return force in N and torque about the centre of mass in N m, body FLU.

    :param surfaces: from `surface_table`
    :param rotors: the table of a RotorSet, after `wrench`
    :param angles_rad: of the servos, by their index
    :param airspeed_flu: velocity of the body relative to the air, m/s
    :param rate_flu: angular rate of the body, rad/s
    """
    ax, ay, az = airspeed_flu
    wx, wy, wz = rate_flu
    fx = fy = fz = tx = ty = tz = 0.0
    for i in range(len(surfaces)):
        x, y, z = surfaces[i, X], surfaces[i, Y], surfaces[i, Z]
        cx, cy, cz = surfaces[i, CHORD_X], surfaces[i, CHORD_Y], surfaces[i, CHORD_Z]
        nx, ny, nz = surfaces[i, NORMAL_X], surfaces[i, NORMAL_Y], surfaces[i, NORMAL_Z]
        vx = ax + wy * z - wz * y
        vy = ay + wz * x - wx * z
        vz = az + wx * y - wy * x
        if surfaces[i, ROTOR] >= 0.0:
            vx, vy, vz = _in_wake(rotors, int(surfaces[i, ROTOR]), (vx, vy, vz), density_kg_m3)
        along = vx * cx + vy * cy + vz * cz
        across = vx * nx + vy * ny + vz * nz
        square = along * along + across * across
        if square == 0.0:
            continue
        alpha = math.atan2(-across, along) - surfaces[i, ZERO_LIFT]
        if surfaces[i, SERVO] >= 0.0:
            alpha += surfaces[i, EFFECT] * angles_rad[int(surfaces[i, SERVO])]
        lift, drag = coefficients(surfaces, i, alpha)
        speed = math.sqrt(square)
        pressure = 0.5 * density_kg_m3 * surfaces[i, AREA] * speed
        # Lift is across the flow, drag along it.
        chordwise = pressure * (-lift * across - drag * along)
        normal = pressure * (lift * along - drag * across)
        px = chordwise * cx + normal * nx
        py = chordwise * cy + normal * ny
        pz = chordwise * cz + normal * nz
        fx += px
        fy += py
        fz += pz
        # Nose up is from the chord to the normal.
        moment = 0.5 * density_kg_m3 * square * surfaces[i, MOMENT_AREA]
        tx += y * pz - z * py + moment * (cy * nz - cz * ny)
        ty += z * px - x * pz + moment * (cz * nx - cx * nz)
        tz += x * py - y * px + moment * (cx * ny - cy * nx)
    return fx, fy, fz, tx, ty, tz


@compiled
def _in_wake(
    rotors: np.ndarray, index: int, velocity_flu: Vector, density_kg_m3: float,
) -> Vector:
    """Return the velocity relative to the air that a rotor has set in motion."""
    nx, ny, nz = rotors[index, AXIS_X], rotors[index, AXIS_Y], rotors[index, AXIS_Z]
    thrust = max(0.0, rotors[index, THRUST])
    vx, vy, vz = velocity_flu
    along = vx * nx + vy * ny + vz * nz
    inflow = along if along > 0.0 else 0.0
    gained = math.sqrt(
        inflow * inflow + 2.0 * thrust / (density_kg_m3 * rotors[index, DISC_AREA])) - inflow
    return vx + gained * nx, vy + gained * ny, vz + gained * nz
