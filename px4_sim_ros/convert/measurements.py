"""Measurements as messages (REP-145), and back for the bridge."""
from __future__ import annotations

import typing

from geometry_msgs.msg import TwistStamped, Vector3Stamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import FluidPressure, Imu, MagneticField, NavSatFix, NavSatStatus, Range

from px4_sim_ros.convert import surroundings
from px4_sim_ros.convert.stamps import in_frame, set_stamp, stamp_us
from px4_sim_ros.convert.truth import BODY_FRAME, WORLD_FRAME, set_vector
from px4_sim_ros.core.geodesy import GeodeticPosition
from px4_sim_ros.core.instances import instance_name, kind_and_index
from px4_sim_ros.core.sensors.airspeed import DifferentialPressureMeasurement
from px4_sim_ros.core.sensors.barometer import PressureMeasurement
from px4_sim_ros.core.sensors.gnss import FixType, GnssMeasurement
from px4_sim_ros.core.sensors.imu import ImuMeasurement
from px4_sim_ros.core.sensors.magnetometer import MagneticFieldMeasurement
from px4_sim_ros.core.sensors.optical_flow import FlowMeasurement
from px4_sim_ros.core.sensors.range_finder import RangeMeasurement
from px4_sim_ros.core.sensors.visual_odometry import VisualOdometryMeasurement
from px4_sim_ros.graph import Topic

# REP-145: this value says that there is no orientation in the message.
_NO_ORIENTATION = [-1.0] + [0.0] * 8

# The camera tells no angular rates: all zeros would mean that they are known exactly.
_UNKNOWN_VARIANCE = 1e6

_LINK = '_link'
# The x axis of such a frame is the beam (sensor_msgs/Range).
_RANGE_FRAME_PREFIX, _RANGE_FRAME_SUFFIX = 'range_', _LINK


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
        status=NavSatStatus(service=NavSatStatus.SERVICE_GPS),
    ), 'gps_link')


def fill_fix(message: NavSatFix, m: GnssMeasurement) -> NavSatFix:
    """Write the position over the ellipsoid, and the accuracy and fix that are reported."""
    set_stamp(message.header.stamp, m.time_us)
    message.status.status = int(m.fix_type)
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
        float(fix.position_covariance[8]) ** 0.5,
        # STATUS_UNKNOWN is -2.
        FixType(max(fix.status.status, FixType.NONE)))


def new_differential_pressure() -> FluidPressure:
    """Return a message with all that never changes."""
    return in_frame(FluidPressure(), 'airspeed_link')


def fill_differential_pressure(
    message: FluidPressure, m: DifferentialPressureMeasurement,
) -> FluidPressure:
    """Write total minus static pressure in pascal."""
    set_stamp(message.header.stamp, m.time_us)
    message.fluid_pressure = m.differential_pressure_pa
    message.variance = m.variance
    return message


def differential_pressure_from(message: FluidPressure) -> DifferentialPressureMeasurement:
    """Return the measurement in a message."""
    return DifferentialPressureMeasurement(
        stamp_us(message.header.stamp), message.fluid_pressure, message.variance)


def new_range() -> Range:
    """Return a message with all that never changes."""
    return Range(radiation_type=Range.INFRARED)


def fill_range(message: Range, m: RangeMeasurement) -> Range:
    """Write the range and what the sensor can see; the frame tells the direction."""
    set_stamp(message.header.stamp, m.time_us)
    message.header.frame_id = f'{_RANGE_FRAME_PREFIX}{m.direction}{_RANGE_FRAME_SUFFIX}'
    message.range = m.range_m
    message.variance = m.variance
    message.min_range = m.min_range_m
    message.max_range = m.max_range_m
    message.field_of_view = m.field_of_view_rad
    return message


def range_from(message: Range) -> RangeMeasurement:
    """Return the measurement in a message."""
    frame = message.header.frame_id
    return RangeMeasurement(
        stamp_us(message.header.stamp), message.range, message.variance, message.min_range,
        message.max_range, message.field_of_view,
        frame.removeprefix(_RANGE_FRAME_PREFIX).removesuffix(_RANGE_FRAME_SUFFIX))


def new_flow() -> Vector3Stamped:
    """Return a message with all that never changes."""
    return in_frame(Vector3Stamped(), BODY_FRAME)


def fill_flow(message: Vector3Stamped, m: FlowMeasurement) -> Vector3Stamped:
    """Write the flow in rad/s; no standard message is for it."""
    set_stamp(message.header.stamp, m.time_us)
    set_vector(message.vector, m.rate_flu)
    return message


def flow_from(message: Vector3Stamped, period_us: int) -> FlowMeasurement:
    """Return the measurement in a message of a sensor with this period."""
    v = message.vector
    return FlowMeasurement(stamp_us(message.header.stamp), (v.x, v.y, v.z), period_us)


def new_visual_odometry() -> Odometry:
    """Return a message with all that never changes."""
    message = in_frame(Odometry(child_frame_id=BODY_FRAME), WORLD_FRAME)
    message.twist.covariance[21::7] = _UNKNOWN_VARIANCE
    return message


def fill_visual_odometry(message: Odometry, m: VisualOdometryMeasurement) -> Odometry:
    """Write pose (in map) and velocity (in base_link)."""
    set_stamp(message.header.stamp, m.time_us)
    set_vector(message.pose.pose.position, m.position_enu)
    q = message.pose.pose.orientation
    q.w, q.x, q.y, q.z = m.attitude
    set_vector(message.twist.twist.linear, m.velocity_flu)
    message.pose.covariance[:21:7] = m.position_variance
    message.pose.covariance[21::7] = m.attitude_variance
    message.twist.covariance[:21:7] = m.velocity_variance
    return message


def visual_odometry_from(message: Odometry) -> VisualOdometryMeasurement:
    """Return the measurement in a message."""
    p, q = message.pose.pose.position, message.pose.pose.orientation
    v = message.twist.twist.linear
    return VisualOdometryMeasurement(
        stamp_us(message.header.stamp), (p.x, p.y, p.z), (q.w, q.x, q.y, q.z), (v.x, v.y, v.z),
        float(message.pose.covariance[0]), float(message.pose.covariance[21]),
        float(message.twist.covariance[0]))


class Output(typing.NamedTuple):
    """How a measurement becomes the message of one topic."""

    new: typing.Callable[[], typing.Any]
    fill: typing.Callable[[typing.Any, typing.Any], typing.Any]


OUTPUTS: dict[str, Output] = {
    'wind': Output(surroundings.new_wind, surroundings.fill_wind),
    'imu/data_raw': Output(new_imu, fill_imu),
    'mag': Output(new_magnetic_field, fill_magnetic_field),
    'baro': Output(new_pressure, fill_pressure),
    'gps/fix': Output(new_fix, fill_fix),
    'gps/vel': Output(new_velocity, fill_velocity),
    'airspeed': Output(new_differential_pressure, fill_differential_pressure),
    'range': Output(new_range, fill_range),
    'optical_flow': Output(new_flow, fill_flow),
    'visual_odometry': Output(new_visual_odometry, fill_visual_odometry),
}


def new_message(topic: Topic) -> typing.Any:
    """Return the message of a topic with all that never changes.

    A further sensor may be mounted elsewhere, so it has a frame of its own: `imu_1_link`.
    """
    message = OUTPUTS[topic.kind].new()
    frame, index = message.header.frame_id, kind_and_index(topic.publisher)[1]
    return in_frame(message, frame_of_instance(frame, index))


def frame_of_instance(frame: str, index: int) -> str:
    """Return the frame of a further sensor; frames that are no sensor's stay as they are."""
    if not frame.endswith(_LINK):
        return frame
    return instance_name(frame.removesuffix(_LINK), index) + _LINK
