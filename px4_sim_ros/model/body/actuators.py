# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Servos and the motors of wheels: a lag of the first order, with a highest rate.

What follows is an angle in rad for a servo, a speed in rad/s for a motor; it goes no further than
that can.
"""
from __future__ import annotations

import math
import typing

import numpy as np

from px4_sim_ros.jit.compiled import compiled
from px4_sim_ros.model.vehicle.elements import Motor, Servo

# The columns of the table: time constant in s; highest rate in 1/s and ends of what follows.
LAG, RATE, LEAST, MOST = range(4)


def actuator_table(
    motors: typing.Sequence[Motor], servos: typing.Sequence[Servo],
) -> np.ndarray:
    """Return the constants of motors, then servos, for compiled functions, one entry each."""
    return np.array(
        [(motor.lag_s, math.inf, motor.least_rad_s, motor.max_speed_rad_s) for motor in motors]
        + [(servo.lag_s, servo.rate_rad_s, servo.center_rad - servo.travel_rad,
            servo.center_rad + servo.travel_rad) for servo in servos], float).reshape(-1, 4)


@compiled
def actuator_rate(actuators: np.ndarray, index: int, value: float, reference: float) -> float:
    """Return the rate of what follows a reference: rad/s, or rad/s^2 of a motor."""
    highest: float = actuators[index, RATE]
    goal = max(actuators[index, LEAST], min(reference, actuators[index, MOST]))
    rate: float = (goal - value) / actuators[index, LAG]
    return max(-highest, min(rate, highest))
