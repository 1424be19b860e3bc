# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Measurements as messages (REP-145), and back."""
from __future__ import annotations

import math

from geometry_msgs.msg import TwistStamped, Vector3Stamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import (
    BatteryState,
    FluidPressure,
    Imu,
    MagneticField,
    NavSatFix,
    NavSatStatus,
    Range,
)

from px4_sim_ros.messages.codec import Codec, Numbers
from px4_sim_ros.messages.stamps import in_frame
from px4_sim_ros.messages.truth import BODY_FRAME, ODOM_FRAME, WORLD_FRAME
from px4_sim_ros.model.environment.geodesy import GeodeticPosition
from px4_sim_ros.model.parameters import Parameters
from px4_sim_ros.model.sensors.airspeed import DifferentialPressureMeasurement
from px4_sim_ros.model.sensors.barometer import PressureMeasurement
from px4_sim_ros.model.sensors.gnss import FixType, GnssMeasurement
from px4_sim_ros.model.sensors.imu import ImuMeasurement
from px4_sim_ros.model.sensors.magnetometer import MagneticFieldMeasurement
from px4_sim_ros.model.sensors.optical_flow import FlowMeasurement
from px4_sim_ros.model.sensors.range_finder import RangeFinderParameters, RangeMeasurement
from px4_sim_ros.model.sensors.visual_odometry import VisualOdometryMeasurement
from px4_sim_ros.model.timebase import instance_name, kind_and_index
from px4_sim_ros.model.truth import BatteryStatus, WindSample
from px4_sim_ros.step.graph import Topic


def _new_battery(status: BatteryStatus | None) -> BatteryState:
    """Return a message with all that never changes; what is not modelled is NaN."""
    return in_frame(BatteryState(
        temperature=math.nan,
        power_supply_status=BatteryState.POWER_SUPPLY_STATUS_DISCHARGING,
        power_supply_health=BatteryState.POWER_SUPPLY_HEALTH_GOOD,
        power_supply_technology=BatteryState.POWER_SUPPLY_TECHNOLOGY_LIPO), BODY_FRAME)


def _battery_numbers(status: BatteryStatus | None) -> Numbers:
    """Return the numbers; None is for a vehicle without a battery.

    The current is negative while discharging, as the message wants it.
    """
    if status is None:
        return math.nan, math.nan, math.nan, 0.0, 0.0, math.nan, False
    return (status.voltage_v, -status.current_a, status.charge_ah, status.capacity_ah,
            status.design_capacity_ah, status.state_of_charge, True)


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


# REP-145: this value means that the message has no orientation.
_NO_ORIENTATION = [-1.0] + [0.0] * 8

# The camera gives no angular rates: all zeros would mean that they are known exactly.
_UNKNOWN_VARIANCE = 1e6

_LINK = '_link'
# The x axis of such a frame is the beam (sensor_msgs/Range).
_RANGE_FRAME_PREFIX = 'range_'


def _diagonal(x: float, y: float, z: float) -> Numbers:
    return x, 0.0, 0.0, 0.0, y, 0.0, 0.0, 0.0, z


def _imu_numbers(m: ImuMeasurement) -> Numbers:
    w, a = m.rate_variance, m.specific_force_variance
    return (*m.rate_flu, *_diagonal(w, w, w), *m.specific_force_flu, *_diagonal(a, a, a))


def _fix_numbers(m: GnssMeasurement) -> Numbers:
    horizontal, vertical = m.horizontal_accuracy_m, m.vertical_accuracy_m
    place = m.position
    return (int(m.fix_type), place.latitude_deg, place.longitude_deg, place.ellipsoid_altitude_m,
            *_diagonal(horizontal * horizontal, horizontal * horizontal, vertical * vertical))


def _fix_value(time_us: int, n: Numbers, frame: str) -> GnssMeasurement:
    # STATUS_UNKNOWN is -2.
    return GnssMeasurement(
        time_us, GeodeticPosition(n[1], n[2], n[3]), (0.0, 0.0, 0.0), n[4] ** 0.5, n[12] ** 0.5,
        FixType(max(int(n[0]), FixType.NONE)))


def _new_range(m: RangeMeasurement) -> Range:
    return in_frame(Range(radiation_type=Range.INFRARED), range_frame(m.direction))


def range_frame(direction: str) -> str:
    """Return the frame of a range finder; its x axis is the beam."""
    return f'{_RANGE_FRAME_PREFIX}{direction}{_LINK}'


def _range_value(time_us: int, n: Numbers, frame: str) -> RangeMeasurement:
    field_of_view_rad, min_range_m, max_range_m, range_m, variance = n
    return RangeMeasurement(
        time_us, range_m, variance, min_range_m, max_range_m, field_of_view_rad,
        frame.removeprefix(_RANGE_FRAME_PREFIX).removesuffix(_LINK))


def _new_visual_odometry(m: VisualOdometryMeasurement) -> Odometry:
    message = in_frame(Odometry(child_frame_id=BODY_FRAME), ODOM_FRAME)
    message.twist.covariance[21::7] = _UNKNOWN_VARIANCE
    return message


def _visual_odometry_numbers(m: VisualOdometryMeasurement) -> Numbers:
    w, x, y, z = m.attitude
    return (*m.position_enu, x, y, z, w,
            *_pose_covariance(m.position_variance, m.attitude_variance), *m.velocity_flu,
            0.0, 0.0, 0.0, *_pose_covariance(m.velocity_variance, _UNKNOWN_VARIANCE))


def _pose_covariance(linear: float, angular: float) -> list[float]:
    covariance = [0.0] * 36
    covariance[:21:7] = [linear] * 3
    covariance[21::7] = [angular] * 3
    return covariance


def _visual_odometry_value(time_us: int, n: Numbers, frame: str) -> VisualOdometryMeasurement:
    return VisualOdometryMeasurement(
        time_us, (n[0], n[1], n[2]), (n[6], n[3], n[4], n[5]), (n[43], n[44], n[45]),
        n[7], n[28], n[49])


# By kind of topic. What is read of a topic that carries a part of a value are fields of it. The
# flow's interval is the sensor's period: 0 as it is read.
CODECS: dict[str, Codec] = {
    'wind': WIND,
    'imu/data_raw': Codec(
        lambda m: in_frame(Imu(orientation_covariance=_NO_ORIENTATION), 'imu_link'),
        ('angular_velocity', 'angular_velocity_covariance', 'linear_acceleration',
         'linear_acceleration_covariance'), _imu_numbers,
        lambda time_us, n, frame: ImuMeasurement(
            time_us, (n[12], n[13], n[14]), (n[0], n[1], n[2]), n[15], n[3])),
    'mag': Codec(
        lambda m: in_frame(MagneticField(), 'mag_link'),
        ('magnetic_field', 'magnetic_field_covariance'),
        lambda m: (*m.field_flu_t, *_diagonal(m.variance, m.variance, m.variance)),
        lambda time_us, n, frame: MagneticFieldMeasurement(
            time_us, (n[0], n[1], n[2]), n[3])),
    'baro': Codec(
        lambda m: in_frame(FluidPressure(), 'baro_link'), ('fluid_pressure', 'variance'),
        lambda m: (m.pressure_pa, m.variance),
        lambda time_us, n, frame: PressureMeasurement(time_us, *n)),
    'gps/fix': Codec(
        lambda m: in_frame(NavSatFix(
            position_covariance_type=NavSatFix.COVARIANCE_TYPE_APPROXIMATED,
            status=NavSatStatus(service=NavSatStatus.SERVICE_GPS)), 'gps_link'),
        ('status.status', 'latitude', 'longitude', 'altitude', 'position_covariance'),
        _fix_numbers, _fix_value),
    'gps/vel': Codec(
        lambda m: in_frame(TwistStamped(), WORLD_FRAME), ('twist.linear',),
        lambda m: m.velocity_enu, lambda time_us, n, frame: {'velocity_enu': n}),
    'gps/sky': Codec(
        lambda m: in_frame(Vector3Stamped(), 'gps_link'), ('vector',),
        lambda m: (m.satellites, m.hdop, m.vdop), lambda time_us, n, frame: {
            'satellites': int(n[0]), 'hdop': n[1], 'vdop': n[2]}),
    'airspeed': Codec(
        lambda m: in_frame(FluidPressure(), 'airspeed_link'), ('fluid_pressure', 'variance'),
        lambda m: (m.differential_pressure_pa, m.variance),
        lambda time_us, n, frame: DifferentialPressureMeasurement(time_us, *n)),
    'range': Codec(
        _new_range, ('field_of_view', 'min_range', 'max_range', 'range', 'variance'),
        lambda m: (m.field_of_view_rad, m.min_range_m, m.max_range_m, m.range_m, m.variance),
        _range_value),
    # In rad/s; no standard message is for it.
    'optical_flow': Codec(
        lambda m: in_frame(Vector3Stamped(), BODY_FRAME), ('vector',), lambda m: m.rate_flu,
        lambda time_us, n, frame: FlowMeasurement(time_us, (n[0], n[1], n[2]), 0)),
    'visual_odometry': Codec(
        _new_visual_odometry, ('pose', 'twist'), _visual_odometry_numbers,
        _visual_odometry_value),
}


def frame_of(topic: Topic, parameters: Parameters) -> str:
    """Return the frame of a topic's messages."""
    if isinstance(parameters, RangeFinderParameters):
        return range_frame(parameters.direction)
    return frame_of_instance(topic)


def frame_of_instance(topic: Topic) -> str:
    """Return the frame of a topic whose sensor's parameters do not change it.

    A further sensor may be mounted elsewhere, so it has a frame of its own: `imu_1_link`.
    """
    frame: str = CODECS[topic.kind].new(None).header.frame_id
    if not frame.endswith(_LINK):
        return frame
    return instance_name(frame.removesuffix(_LINK), kind_and_index(topic.publisher)[1]) + _LINK
