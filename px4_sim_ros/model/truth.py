# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The true motion of a vehicle, which its sensors measure."""
from __future__ import annotations

import typing

from px4_sim_ros.model.frames import Quaternion, Vector


class WheelMotion(typing.NamedTuple):
    """How the wheels of a vehicle turn, in the order of its file."""

    angles_rad: tuple[float, ...]            # rolled by since the beginning, forwards
    speeds_rad_s: tuple[float, ...]
    steered: tuple[int, ...]                 # which wheels turn about body z
    steering_rad: tuple[float, ...]          # of those, to the left


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
    rotor_angles_rad: tuple[float, ...]      # turned by since the beginning, within -pi to pi
    motor_speeds_rad_s: tuple[float, ...] = ()     # of the motors of wheels
    servo_angles_rad: tuple[float, ...] = ()
    wheels: WheelMotion | None = None        # None: it has none
