# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Servos and the motors of wheels: a lag of the first order, with a highest rate.

What follows is an angle in rad for a servo, a speed in rad/s for a motor.
"""
from __future__ import annotations

import math
import typing

import numpy as np

from px4_sim_ros.model.compiled import compiled
from px4_sim_ros.model.vehicle.elements import Motor, Servo

# The columns of the table: time constant in s, highest rate in 1/s of what follows.
LAG, RATE = range(2)


def actuator_table(
    motors: typing.Sequence[Motor], servos: typing.Sequence[Servo],
) -> np.ndarray:
    """Return the constants of motors, then servos, for compiled functions, one entry each."""
    return np.array(
        [(motor.lag_s, math.inf) for motor in motors]
        + [(servo.lag_s, servo.rate_rad_s) for servo in servos], float).reshape(-1, 2)


@compiled
def actuator_rate(actuators: np.ndarray, index: int, value: float, reference: float) -> float:
    """Return the rate of what follows a reference: rad/s, or rad/s^2 of a motor."""
    highest: float = actuators[index, RATE]
    rate: float = (reference - value) / actuators[index, LAG]
    return max(-highest, min(rate, highest))
