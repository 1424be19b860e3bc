# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Wind and battery as messages, and back."""
from __future__ import annotations

import math

from geometry_msgs.msg import TwistStamped
from sensor_msgs.msg import BatteryState

from px4_sim_ros.messages.codec import Codec, Numbers
from px4_sim_ros.messages.stamps import in_frame
from px4_sim_ros.messages.truth import BODY_FRAME, WORLD_FRAME
from px4_sim_ros.model.inputs import BatteryStatus, WindSample


def _new_battery(status: BatteryStatus | None) -> BatteryState:
    """Return a message with all that never changes; what is not modelled is NaN."""
    return in_frame(BatteryState(
        temperature=math.nan,
        power_supply_status=BatteryState.POWER_SUPPLY_STATUS_DISCHARGING,
        power_supply_health=BatteryState.POWER_SUPPLY_HEALTH_GOOD,
        power_supply_technology=BatteryState.POWER_SUPPLY_TECHNOLOGY_LIPO), BODY_FRAME)


def _battery_numbers(status: BatteryStatus | None) -> Numbers:
    """Return the numbers; None is for a vehicle without a battery.

    They have 32 bits, and the current is negative while discharging, as the message wants it.
    """
    if status is None:
        return math.nan, math.nan, math.nan, 0.0, 0.0, math.nan, False
    s = status.with_32_bits()      # so that the percentage follows from what is written
    return (s.voltage_v, -s.current_a, s.charge_ah, s.capacity_ah, s.design_capacity_ah,
            s.state_of_charge, True)


def _battery_value(time_us: int, n: Numbers, frame: str) -> BatteryStatus | None:
    voltage_v, current_a, charge_ah, capacity_ah, design_ah, _, present = n
    if not present:
        return None
    return BatteryStatus(time_us, voltage_v, -current_a, charge_ah, capacity_ah, design_ah)


# The air's velocity: where it blows to.
WIND = Codec(
    lambda sample: in_frame(TwistStamped(), WORLD_FRAME), ('twist.linear',),
    lambda sample: sample.velocity_enu,
    lambda time_us, n, frame: WindSample(time_us, (n[0], n[1], n[2])))

# The state of the battery; None is for a vehicle without one.
BATTERY = Codec(
    _new_battery, ('voltage', 'current', 'charge', 'capacity', 'design_capacity', 'percentage',
                   'present'), _battery_numbers, _battery_value)
