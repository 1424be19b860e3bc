# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The true motion of a vehicle, which its sensors measure."""
from __future__ import annotations

import struct
import typing

from px4_sim_ros.model.frames import Quaternion, Vector

# What sensors measure besides the true motion: the last wind and the last battery status.


def in_32_bits(*values: float) -> tuple[float, ...]:
    """Return each value rounded to 32 bits, as messages of that precision carry it.

    `core`, which sends no messages, rounds as well, so that all modes have the same bits.

    :raises OverflowError: one is too large for them
    """
    layout = f'<{len(values)}f'
    return struct.unpack(layout, struct.pack(layout, *values))


class WindSample(typing.NamedTuple):
    """The air's velocity in ENU: where it blows to. It holds until the next sample."""

    time_us: int
    velocity_enu: Vector


class BatteryStatus(typing.NamedTuple):
    """All packs of the bus together; the current is positive when discharging.

    From one status to the next the charge falls by the integral of the current, as long as the
    capacity stays.
    """

    time_us: int
    voltage_v: float
    current_a: float
    charge_ah: float
    capacity_ah: float             # of full packs
    design_capacity_ah: float      # of those when they were new

    @property
    def state_of_charge(self) -> float:
        """What is left, 0..1."""
        return self.charge_ah / self.capacity_ah

    def with_32_bits(self) -> BatteryStatus:
        """Return the values that sensor_msgs/BatteryState carries: all modes have the same bits."""
        return BatteryStatus(self.time_us, *in_32_bits(*self[1:]))


class SensorInputs(typing.NamedTuple):
    """The last wind and battery that were published, at or before the time of a measurement."""

    wind_enu: Vector = (0.0, 0.0, 0.0)
    current_a: float = 0.0


STILL = SensorInputs()


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
