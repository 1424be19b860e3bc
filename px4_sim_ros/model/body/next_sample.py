# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What an IMU will read at the end of the next step, as soon as the command for it is known.

The motion is integrated in memory of its own, by the machine code of `Dynamics`, and nothing else
is made of it. So it takes a fifth of the time of the step itself, whose IMU reads the same bits.
"""
from __future__ import annotations

import functools
import struct
import typing

import numpy as np

from px4_sim_ros.model.body.dynamics import Dynamics
from px4_sim_ros.model.body.felt import NUMBERS, SAMPLE
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.sensors.imu import Imu, ImuMeasurement
from px4_sim_ros.model.truth import BatteryStatus, Truth

_BYTES = 8            # of a number


class NextSample:
    """The sample of a plain IMU that follows the motion from one step to the next."""

    def __init__(self, dynamics: Dynamics, imu: Imu) -> None:
        """Take both as they are; `of` sees that they can be served."""
        self._dynamics, self._imu = dynamics, imu
        numbers = np.zeros(NUMBERS)
        twin = self._twin = dynamics.twin(numbers)
        self._set_noise = functools.partial(
            struct.Struct(f'{SAMPLE}d').pack_into, numbers.data, 0)
        self._read = functools.partial(
            struct.Struct('3d').unpack_from, numbers.data, _BYTES * SAMPLE), functools.partial(
            struct.Struct('3d').unpack_from, numbers.data, _BYTES * (SAMPLE + 3))
        self._hold, self._advance = twin.memory.hold, twin.advance
        self._wind_and_force: tuple[float, ...] = ()
        self._time_us = 0

    @classmethod
    def of(cls, dynamics: Dynamics, imu: Imu) -> NextSample | None:
        """Return it; None if there is no machine code for what the two do."""
        return cls(dynamics, imu) if dynamics.is_predictable and imu.is_plain else None

    def truth(self) -> Truth:
        """Return the motion at the end of the next step, once that of the IMU is known."""
        return self._dynamics.truth_of(self._twin)

    def battery(self) -> BatteryStatus | None:
        """Return the battery then."""
        return self._dynamics.battery_of(self._twin)

    def prepare(self, time_us: int, wind_enu: Vector) -> bool:
        """Follow the motion up to now; return whether the next step can be taken.

        :param time_us: the end of the next step
        :param wind_enu: which holds over it
        """
        if not self._dynamics.lets_follow(self._twin):
            return False
        self._set_noise(*self._imu.draw())
        self._wind_and_force = *wind_enu, *self._dynamics.force_enu
        self._time_us = time_us
        return True

    def after(self, references: typing.Sequence[float]) -> ImuMeasurement | None:
        """Return the IMU's sample after a step with these references; None if it is wild."""
        self._hold(*self._wind_and_force, *references)
        if not self._advance():
            return None
        force, rate = self._read
        return self._imu.plain_sample(self._time_us, force(), rate())
