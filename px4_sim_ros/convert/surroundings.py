"""Wind and battery as messages, and back."""
from __future__ import annotations

import math

from geometry_msgs.msg import TwistStamped
from sensor_msgs.msg import BatteryState

from px4_sim_ros.convert.stamps import in_frame, set_stamp, stamp_us
from px4_sim_ros.convert.truth import BODY_FRAME, WORLD_FRAME, set_vector
from px4_sim_ros.core.frames import Vector
from px4_sim_ros.core.surroundings import BatteryStatus, WindSample


def new_wind() -> TwistStamped:
    """Return a message with all that never changes."""
    return in_frame(TwistStamped(), WORLD_FRAME)


def fill_wind(message: TwistStamped, sample: WindSample) -> TwistStamped:
    """Write the air's velocity: where it blows to."""
    set_stamp(message.header.stamp, sample.time_us)
    set_vector(message.twist.linear, sample.velocity_enu)
    return message


def wind_from(message: TwistStamped) -> Vector:
    """Return the air's velocity in ENU."""
    v = message.twist.linear
    return v.x, v.y, v.z


def new_battery() -> BatteryState:
    """Return a message with all that never changes; what is not modelled is not a number."""
    return in_frame(BatteryState(
        temperature=math.nan,
        power_supply_status=BatteryState.POWER_SUPPLY_STATUS_DISCHARGING,
        power_supply_health=BatteryState.POWER_SUPPLY_HEALTH_GOOD,
        power_supply_technology=BatteryState.POWER_SUPPLY_TECHNOLOGY_LIPO), BODY_FRAME)


def fill_battery(message: BatteryState, time_us: int, status: BatteryStatus | None) -> BatteryState:
    """Write what the battery is about; None says that the vehicle has none.

    The numbers have 32 bits, and the current is negative while discharging, as the message
    wants it.
    """
    set_stamp(message.header.stamp, time_us)
    message.present = status is not None
    if status is None:
        message.voltage = message.current = message.charge = message.percentage = math.nan
        return message
    status = status.with_32_bits()      # so that the percentage follows from what is written
    message.voltage = status.voltage_v
    message.current = -status.current_a
    message.charge = status.charge_ah
    message.capacity = message.design_capacity = status.capacity_ah
    message.percentage = status.state_of_charge
    return message


def battery_from(message: BatteryState) -> BatteryStatus | None:
    """Return what the battery is about, None when there is none."""
    if not message.present:
        return None
    return BatteryStatus(
        stamp_us(message.header.stamp), message.voltage, -message.current, message.charge,
        message.capacity)


def current_from(message: BatteryState) -> float:
    """Return the current drawn from the battery, 0 A when there is none."""
    return -message.current if message.present else 0.0
