# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rotors that servos tilt: where they point to now, and what their spin does to the body.

A rotor turns about a hinge h through its hub (Rodrigues):

    n = n_0 cos(a) + (h x n_0) sin(a) + h (h . n_0) (1 - cos(a))

with its axis n_0 at the angle a = 0 of the servo. Thrust, drag, torque of the air and the
gyroscopic moment of the body's rotation follow that axis. The servo turns the angular momentum
J w n of the rotor as well, against the body: with the torque -J w n', n' = a' h x n.

Not modelled: the inertia of what is tilted, and a hub that is not on its hinge.
"""
from __future__ import annotations

import math

import numpy as np

from px4_sim_ros.jit.compiled import compiled
from px4_sim_ros.model.body.actuators import actuator_rate
from px4_sim_ros.model.body.rotors import (
    AXIS_X,
    AXIS_Y,
    AXIS_Z,
    HINGE_X,
    HINGE_Y,
    HINGE_Z,
    INERTIA,
    REST_X,
    REST_Y,
    REST_Z,
    TILT_SERVO,
)
from px4_sim_ros.model.frames import Vector


@compiled
def tilt(
    rotors: np.ndarray, speeds_rad_s: np.ndarray, actuators: np.ndarray, angles_rad: np.ndarray,
    references: np.ndarray,
) -> Vector:
    """Set the axes of the rotors that are tilted; return the torque on the body in N m, FLU.

    :param rotors: the table of a RotorSet
    :param actuators: from `actuator_table`
    :param angles_rad: of the actuators
    :param references: of rotors, then actuators
    """
    count = len(rotors)
    tx = ty = tz = 0.0
    for i in range(count):
        servo = int(rotors[i, TILT_SERVO])
        if servo < 0:
            continue
        hx, hy, hz = rotors[i, HINGE_X], rotors[i, HINGE_Y], rotors[i, HINGE_Z]
        rx, ry, rz = rotors[i, REST_X], rotors[i, REST_Y], rotors[i, REST_Z]
        angle = angles_rad[servo]
        sine, cosine = math.sin(angle), math.cos(angle)
        along = (hx * rx + hy * ry + hz * rz) * (1.0 - cosine)
        nx = rx * cosine + (hy * rz - hz * ry) * sine + hx * along
        ny = ry * cosine + (hz * rx - hx * rz) * sine + hy * along
        nz = rz * cosine + (hx * ry - hy * rx) * sine + hz * along
        rotors[i, AXIS_X], rotors[i, AXIS_Y], rotors[i, AXIS_Z] = nx, ny, nz
        rate = actuator_rate(actuators, servo, angle, references[count + servo])
        torque = rotors[i, INERTIA] * speeds_rad_s[i] * rate
        tx -= torque * (hy * nz - hz * ny)
        ty -= torque * (hz * nx - hx * nz)
        tz -= torque * (hx * ny - hy * nx)
    return tx, ty, tz
