# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The sticks of a gamepad or of a remote control at a USB port, as a Joy."""
from __future__ import annotations

import math
import typing

from sensor_msgs.msg import Joy

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.faults.autopilot import Sticks


def sticks_of(message: Joy, axes: typing.Sequence[int]) -> Sticks:
    """Return where the sticks are; left and up are above 0 in a Joy."""
    values = message.axes
    if len(values) <= max(axes):
        raise ParameterError(f'joy: a message has {len(values)} axes, and pilot.joy_axes asks for'
                             f' axis {max(axes)}')
    found = [min(1.0, max(-1.0, values[i])) for i in axes]
    if not all(math.isfinite(values[i]) for i in axes):
        raise ParameterError('joy: an axis is no number')
    roll, pitch, yaw, throttle = found
    return Sticks(-roll, pitch, -yaw, (1.0 + throttle) / 2.0)
