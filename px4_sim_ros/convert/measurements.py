"""Measurements as messages (REP-145), and back for the bridge."""
from __future__ import annotations

import typing

from geometry_msgs.msg import TwistStamped
from sensor_msgs.msg import FluidPressure, Imu, MagneticField, NavSatFix, NavSatStatus

from px4_sim_ros.convert.stamps import in_frame, set_stamp, stamp_us
from px4_sim_ros.convert.truth import WORLD_FRAME, set_vector
from px4_sim_ros.core.geodesy import GeodeticPosition
from px4_sim_ros.core.sensors.barometer import PressureMeasurement
from px4_sim_ros.core.sensors.gnss import GnssMeasurement
from px4_sim_ros.core.sensors.imu import ImuMeasurement
from px4_sim_ros.core.sensors.magnetometer import MagneticFieldMeasurement

# REP-145: this value says that there is no orientation in the message.
_NO_ORIENTATION = [-1.0] + [0.0] * 8


def _diagonal(x: float, y: float, z: float) -> list[float]:
    return [x, 0.0, 0.0, 0.0, y, 0.0, 0.0, 0.0, z]


def new_imu() -> Imu:
    """Return a message with all that never changes."""
    return in_frame(Imu(orientation_covariance=_NO_ORIENTATION), 'imu_link')


def fill_imu(message: Imu, m: ImuMeasurement) -> Imu:
    """Write specific force and rate."""
    set_stamp(message.header.stamp, m.time_us)
    set_vector(message.linear_acceleration, m.specific_force_flu)
    set_vector(message.angular_velocity, m.rate_flu)
    message.linear_acceleration_covariance[::4] = m.specific_force_variance
    message.angular_velocity_covariance[::4] = m.rate_variance
    return message


def imu_from(message: Imu) -> ImuMeasurement:
    """Return the measurement in a message."""
    a, w = message.linear_acceleration, message.angular_velocity
    return ImuMeasurement(
        stamp_us(message.header.stamp), (a.x, a.y, a.z), (w.x, w.y, w.z),
        float(message.linear_acceleration_covariance[0]),
        float(message.angular_velocity_covariance[0]))


def new_magnetic_field() -> MagneticField:
    """Return a message with all that never changes."""
    return in_frame(MagneticField(), 'mag_link')


def fill_magnetic_field(message: MagneticField, m: MagneticFieldMeasurement) -> MagneticField:
    """Write the field in tesla."""
    set_stamp(message.header.stamp, m.time_us)
    set_vector(message.magnetic_field, m.field_flu_t)
    message.magnetic_field_covariance = _diagonal(m.variance, m.variance, m.variance)
    return message


def magnetic_field_from(message: MagneticField) -> MagneticFieldMeasurement:
    """Return the measurement in a message."""
    b = message.magnetic_field
    return MagneticFieldMeasurement(
        stamp_us(message.header.stamp), (b.x, b.y, b.z),
        float(message.magnetic_field_covariance[0]))


def new_pressure() -> FluidPressure:
    """Return a message with all that never changes."""
    return in_frame(FluidPressure(), 'baro_link')


def fill_pressure(message: FluidPressure, m: PressureMeasurement) -> FluidPressure:
    """Write the pressure in pascal."""
    set_stamp(message.header.stamp, m.time_us)
    message.fluid_pressure = m.pressure_pa
    message.variance = m.variance
    return message


def pressure_from(message: FluidPressure) -> PressureMeasurement:
    """Return the measurement in a message."""
    return PressureMeasurement(
        stamp_us(message.header.stamp), message.fluid_pressure, message.variance)


def new_fix() -> NavSatFix:
    """Return a message with all that never changes."""
    return in_frame(NavSatFix(
        position_covariance_type=NavSatFix.COVARIANCE_TYPE_APPROXIMATED,
        status=NavSatStatus(status=NavSatStatus.STATUS_FIX, service=NavSatStatus.SERVICE_GPS),
    ), 'gps_link')


def fill_fix(message: NavSatFix, m: GnssMeasurement) -> NavSatFix:
    """Write the position over the ellipsoid and the accuracy that the receiver reports."""
    set_stamp(message.header.stamp, m.time_us)
    message.latitude = m.position.latitude_deg
    message.longitude = m.position.longitude_deg
    message.altitude = m.position.ellipsoid_altitude_m
    horizontal, vertical = m.horizontal_accuracy_m, m.vertical_accuracy_m
    message.position_covariance = _diagonal(
        horizontal * horizontal, horizontal * horizontal, vertical * vertical)
    return message


def new_velocity() -> TwistStamped:
    """Return a message with all that never changes."""
    return in_frame(TwistStamped(), WORLD_FRAME)


def fill_velocity(message: TwistStamped, m: GnssMeasurement) -> TwistStamped:
    """Write the ENU velocity."""
    set_stamp(message.header.stamp, m.time_us)
    set_vector(message.twist.linear, m.velocity_enu)
    return message


def gnss_from(fix: NavSatFix, velocity: TwistStamped) -> GnssMeasurement:
    """Return the measurement in two messages."""
    v = velocity.twist.linear
    return GnssMeasurement(
        stamp_us(fix.header.stamp),
        GeodeticPosition(fix.latitude, fix.longitude, fix.altitude),
        (v.x, v.y, v.z),
        float(fix.position_covariance[0]) ** 0.5,
        float(fix.position_covariance[8]) ** 0.5)


class Output(typing.NamedTuple):
    """How a measurement becomes the message of one topic."""

    new: typing.Callable[[], typing.Any]
    fill: typing.Callable[[typing.Any, typing.Any], typing.Any]


OUTPUTS: dict[str, Output] = {
    'imu/data_raw': Output(new_imu, fill_imu),
    'mag': Output(new_magnetic_field, fill_magnetic_field),
    'baro': Output(new_pressure, fill_pressure),
    'gps/fix': Output(new_fix, fill_fix),
    'gps/vel': Output(new_velocity, fill_velocity),
}
