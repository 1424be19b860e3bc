# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The HIL messages: bytes, units, axes and limits."""
from __future__ import annotations

import functools
import math
import struct

import mavlink_frames
import pytest
from mavlink_frames import frame
from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.hil import codec as hil_codec
from px4_sim_ros.link.hil.codec import HilEncoder
from px4_sim_ros.link.hil.frames import HilFrames
from px4_sim_ros.link.hil.link_state import HilParameters
from px4_sim_ros.model.environment.geodesy import GeodeticPosition
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.sensors.airspeed import DifferentialPressureMeasurement
from px4_sim_ros.model.sensors.barometer import PressureMeasurement
from px4_sim_ros.model.sensors.gnss import GnssMeasurement
from px4_sim_ros.model.sensors.imu import ImuMeasurement
from px4_sim_ros.model.sensors.magnetometer import MagneticFieldMeasurement
from px4_sim_ros.model.sensors.optical_flow import FlowMeasurement
from px4_sim_ros.model.sensors.range_finder import DIRECTIONS, RangeMeasurement
from px4_sim_ros.model.sensors.visual_odometry import VisualOdometryMeasurement
from px4_sim_ros.spec.blocks import block_configuration
from px4_sim_ros.spec.configuration import load_configuration

IMU = ImuMeasurement(1_234_567, (1.0, 2.0, 3.0), (4.0, 5.0, 6.0), 0.0, 0.0)
FIELD = MagneticFieldMeasurement(1_234_567, (1e-4, 2e-4, 3e-4), 0.0)      # 1, 2, 3 gauss
PRESSURE = PressureMeasurement(1_234_567, 101325.0, 0.0)                  # 0 m and 15 deg C
FIX = GnssMeasurement(
    7_654_321, GeodeticPosition(47.3977421, 8.5455939, 535.3), (1.0, 2.0, 3.0), 0.9, 1.78)

IMU_ONLY = ('fd3d00000001c86b000087d61200000000000000803f000000c0000040c00000'
            '80400000a0c00000c0c000000000000000000000000000000000000000000000'
            '0000000000003f85b1')
EVERYTHING = ('fd3e00000001c86b000087d61200000000000000803f000000c0000040c00000'
              '80400000a0c00000c0c00000803f000000c0000040c000507d44000000000000'
              '000000007041ff1ba4c4')
GPS = ('fd2400000001c8710000b1cb7400000000004d52401c43f41705407207005a00'
       'b200e000c8006400d4fe610a030a17d8')


def sensor_frame(fields, *, mag=(0.0, 0.0, 0.0), pressure=(0.0, 0.0, 0.0), sensor_id=0):
    """Return the HIL_SENSOR of IMU; pressure is hPa, m and deg C. Body axes are FRD."""
    hpa, altitude_m, temperature = pressure
    return frame(mavlink_frames.SENSOR, struct.pack(
        '<Q13fIB', 1_234_567, 1, -2, -3, 4, -5, -6, *mag, hpa, 0, altitude_m, temperature,
        fields, sensor_id), component=200)


def sent(data):
    """Return the messages in what the simulator sends."""
    return mavlink.MAVLink(None).parse_buffer(data)


# HIL_SENSOR

def test_sensor_with_imu_alone():
    """Groups that are not due are zero and not marked."""
    expected = sensor_frame(0x7 | 0x38)
    assert HilEncoder().sensor(IMU.time_us, IMU) == expected
    assert expected.hex() == IMU_ONLY


def test_sensor_with_everything_but_airspeed():
    """Gauss, hPa and deg C; y and z change sign from FLU to FRD."""
    expected = sensor_frame(0x1BFF, mag=(1, -2, -3), pressure=(1013.25, 0.0, 15.0))
    assert HilEncoder().sensor(IMU.time_us, IMU, FIELD, PRESSURE) == expected
    assert expected.hex() == EVERYTHING


@pytest.mark.parametrize(('field', 'pressure', 'fields'), [
    (None, None, 0x7 | 0x38),
    (FIELD, None, 0x7 | 0x38 | 0x1C0),
    (None, PRESSURE, 0x7 | 0x38 | 0x1A00),
    (FIELD, PRESSURE, 0x1BFF),
])
def test_groups_are_marked_whole(field, pressure, fields):
    """PX4 uses a group only if all of its bits are set."""
    message, = sent(HilEncoder().sensor(IMU.time_us, IMU, field, pressure))
    assert message.fields_updated == fields
    assert hil_codec.has_group(message, hil_codec.SensorFields.MAG) == (field is not None)
    assert hil_codec.has_group(message, hil_codec.SensorFields.BARO) == (pressure is not None)


def test_a_group_with_a_bit_missing_is_no_group():
    """As PX4 takes it."""
    message, = sent(sensor_frame(0x1BFF & ~0x1000 & ~0x80))
    assert hil_codec.pressure_from_hil(message) is None
    assert hil_codec.magnetic_field_from_hil(message) is None


def test_sensor_id():
    """The id is the last byte, an extension of the message."""
    assert HilEncoder().sensor(IMU.time_us, IMU, sensor_id=2) == sensor_frame(0x3F, sensor_id=2)


def test_pressure_altitude_and_temperature():
    """The standard atmosphere at 1000 m: 898.75 hPa and 8.5 deg C (ISO 2533, table 1)."""
    pressure = PressureMeasurement(0, 89874.6, 0.0)
    message, = sent(HilEncoder().sensor(IMU.time_us, IMU, None, pressure))
    assert message.abs_pressure == pytest.approx(898.746, rel=1e-6)
    assert message.pressure_alt == pytest.approx(1000.0, abs=0.1)
    assert message.temperature == pytest.approx(8.5, abs=0.001)
    assert message.diff_pressure == 0.0


def test_autopilot_reads_what_the_simulator_meant():
    """Back to SI and FLU."""
    message, = sent(HilEncoder().sensor(IMU.time_us, IMU, FIELD, PRESSURE))
    assert hil_codec.imu_from_hil(message) == ((1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
    assert hil_codec.magnetic_field_from_hil(message) == pytest.approx(FIELD.field_flu_t)
    assert hil_codec.pressure_from_hil(message) == pytest.approx(101325.0)


@pytest.mark.parametrize('force', [1e39, -1e39, math.inf, -math.inf, math.nan])
def test_a_float_field_takes_every_number(force):
    """A wild measurement is limited to its field, never an error of the encoder."""
    imu = IMU._replace(specific_force_flu=(force, 0.0, 0.0))
    assert sent(HilEncoder().sensor(IMU.time_us, imu))


@pytest.mark.parametrize('pressure_pa', [0.0, -1.0, math.nan])
def test_any_pressure_is_sent(pressure_pa):
    """Noise or drift may take a pressure below zero."""
    pressure = PressureMeasurement(0, pressure_pa, 0.0)
    assert sent(HilEncoder().sensor(IMU.time_us, IMU, None, pressure))


def test_frames_are_numbered():
    """Each frame has the next sequence number (MAVLink: packet loss is told by it)."""
    encoder = HilEncoder()
    frames = [encoder.sensor(IMU.time_us, IMU), encoder.gps(FIX, 0.0, 10),
              encoder.sensor(IMU.time_us, IMU)]
    assert [data[4] for data in frames] == [0, 1, 2]


# HIL_GPS

def gps_with(**changes):
    """Return the HIL_GPS of FIX with some values replaced."""
    position = {k: changes.pop(k) for k in tuple(changes) if hasattr(FIX.position, k)}
    geoid_height_m = changes.pop('geoid_height_m', 0.0)
    fix = FIX._replace(position=GeodeticPosition(**vars(FIX.position) | position), **changes)
    message, = sent(HilEncoder().gps(fix, geoid_height_m, 10))
    return message


def test_gps():
    """North, east and down in cm/s, course in cdeg, mm above mean sea level, cm of accuracy.

    The time is UTC, or 0 if that is not known.
    """
    course = round(math.degrees(math.atan2(1.0, 2.0)) * 100)
    def expected(time_us):
        return frame(mavlink_frames.GPS, struct.pack(
            '<QiiiHHHhhhHBBBH', time_us, 473977421, 85455939, 488000, 90, 178, 224,
            200, 100, -300, course, 3, 10, 0, 0), component=200)
    assert HilEncoder().gps(FIX, 47.3, 10) == expected(0)
    assert HilEncoder().gps(FIX, 47.3, 10, start_utc_us=0) == expected(7_654_321)
    assert expected(7_654_321).hex() == GPS


@pytest.mark.parametrize(('told', 'utc_us'), [
    ('', None), ('2026-06-01T12:00:00Z', 1_780_315_200_000_000),
    ('2026-06-01T12:00:00', 1_780_315_200_000_000),
    ('2026-06-01T14:00:00.5+02:00', 1_780_315_200_500_000)])
def test_utc_at_the_start(told, utc_us):
    found = load_configuration(None, {'hil_bridge': {'start_utc': told}})
    assert found.of_node('hil_bridge', HilParameters).start_utc_us == utc_us


@pytest.mark.parametrize('told', ['noon', '12:00', '1960-01-01', '2026-13-01T00:00:00Z'])
def test_a_start_that_is_no_time_is_refused(told):
    with pytest.raises(ParameterError) as refused:
        load_configuration(None, {'hil_bridge': {'start_utc': told}})
    assert str(refused.value).endswith(
        f'start_utc = {told!r}: must be a time of UTC after 1970, as 2026-06-01T12:00:00Z, or'
        ' empty')


def test_geoid_height_is_subtracted():
    """Mean sea level may be above or below the ellipsoid."""
    assert gps_with(ellipsoid_altitude_m=100.0, geoid_height_m=47.3).alt == 52_700
    assert gps_with(ellipsoid_altitude_m=100.0, geoid_height_m=-20.0).alt == 120_000


@pytest.mark.parametrize(('velocity_enu', 'course_cdeg'), [
    ((0.0, 1.0, 0.0), 0), ((1.0, 0.0, 0.0), 9000), ((0.0, -1.0, 0.0), 18000),
    ((-1.0, 0.0, 0.0), 27000),
    ((-1e-6, 1.0, 0.0), 35999),          # rounded it would be 360 degrees
    ((0.0, 0.0, 0.0), 65535), ((0.0, 0.0, 5.0), 65535), ((0.06, 0.07, 0.0), 65535),
    ((0.08, 0.08, 0.0), 4500), ((math.nan, 1.0, 0.0), 65535),
])
def test_course(velocity_enu, course_cdeg):
    """Clockwise from north; unknown below 0.1 m/s over ground."""
    assert gps_with(velocity_enu=velocity_enu).cog == course_cdeg


@pytest.mark.parametrize(('changes', 'field', 'value'), [
    ({'latitude_deg': 300.0}, 'lat', 2**31 - 1), ({'latitude_deg': -300.0}, 'lat', -2**31),
    ({'longitude_deg': 300.0}, 'lon', 2**31 - 1), ({'longitude_deg': -300.0}, 'lon', -2**31),
    ({'ellipsoid_altitude_m': 3e6}, 'alt', 2**31 - 1),
    ({'ellipsoid_altitude_m': -3e6}, 'alt', -2**31),
    ({'horizontal_accuracy_m': 1e3}, 'eph', 65535), ({'horizontal_accuracy_m': -1.0}, 'eph', 0),
    ({'vertical_accuracy_m': 1e3}, 'epv', 65535), ({'vertical_accuracy_m': -1.0}, 'epv', 0),
    ({'velocity_enu': (500.0, 500.0, 0.0)}, 'vel', 65535),
    ({'velocity_enu': (0.0, 400.0, 0.0)}, 'vn', 32767),
    ({'velocity_enu': (0.0, -400.0, 0.0)}, 'vn', -32768),
    ({'velocity_enu': (400.0, 0.0, 0.0)}, 've', 32767),
    ({'velocity_enu': (-400.0, 0.0, 0.0)}, 've', -32768),
    ({'velocity_enu': (0.0, 0.0, -400.0)}, 'vd', 32767),
    ({'velocity_enu': (0.0, 0.0, 400.0)}, 'vd', -32768),
    ({'velocity_enu': (math.inf, 0.0, -math.inf)}, 've', 32767),
    ({'latitude_deg': math.nan}, 'lat', 0), ({'longitude_deg': math.nan}, 'lon', 0),
    ({'ellipsoid_altitude_m': math.nan}, 'alt', 0),
    ({'horizontal_accuracy_m': math.nan}, 'eph', 0),
    ({'vertical_accuracy_m': math.nan}, 'epv', 0),
    ({'velocity_enu': (math.nan, 1.0, math.nan)}, 'vd', 0),
    ({'velocity_enu': (math.nan, 1.0, math.nan)}, 'vel', 0),
])
def test_gps_values_beyond_their_field(changes, field, value):
    """Limited to the field, NaN becomes 0."""
    assert getattr(gps_with(**changes), field) == value


@pytest.mark.parametrize(('value', 'whole'), [
    (0.0, 0), (99.0, 99), (99.49, 99), (100.0, 100), (100.51, 100), (-99.6, -100),
    (-100.4, -100), (1e300, 100), (math.inf, 100), (-math.inf, -100), (math.nan, 0),
])
def test_saturated(value, whole):
    """Rounded, and limited to the range."""
    assert hil_codec.saturated(value, -100, 100) == whole


def test_autopilot_reads_the_fix():
    """Back to degrees, metres and ENU."""
    position, velocity = hil_codec.gps_from_hil(gps_with(geoid_height_m=47.3))
    assert (position.latitude_deg, position.longitude_deg) == pytest.approx(
        (47.3977421, 8.5455939), abs=1e-9)
    assert position.ellipsoid_altitude_m == pytest.approx(488.0)
    assert velocity == pytest.approx((1.0, 2.0, 3.0))


# DISTANCE_SENSOR

RANGE = RangeMeasurement(7_654_321, 12.344, 4e-4, 0.06, 25.0, 0.125, 'down')


@functools.cache
def whole_bridge():
    """Return what the bridge of a graph with all sensors is configured with."""
    return block_configuration(load_configuration(None, {
        '': {'geoid_height_m': 47.3, 'instances.imu': 3, 'instances.magnetometer': 2,
             'instances.gps': 2} | {
                 f'{name}.{kind}': value for name, value in (('instances', 1), ('delays_us', 0))
                 for kind in ('airspeed', 'range_finder', 'optical_flow', 'visual_odometry')},
        'hil_bridge': {'satellites': 7}}), 'hil_bridge')


def sent_in_step(*, imus=(), magnetic_fields=(), fixes=(), **others):
    """Return the messages with some measurements that come later, then those of their step."""
    names = {'pressure': 'baro', 'flow': 'optical_flow', 'odometry': 'visual_odometry'}
    inputs = {names.get(name, name): value for name, value in others.items()}
    for first, values in (
            ('imu/data_raw', imus), ('mag', magnetic_fields), ('gps/fix', fixes)):
        sensor, slash, rest = first.partition('/')
        inputs |= {f'{sensor}_{i}{slash}{rest}' if i else first: value
                   for i, value in enumerate(values)}
    inputs = {name: value for name, value in inputs.items() if value is not None}
    frames = HilFrames(whole_bridge())
    now = sent(frames.of(IMU.time_us, inputs))
    frames.keep(inputs)
    # The autopilot's clock has to reach the times of all.
    *early, _ = sent(frames.of((2**32 + 6) * 1000, {}))
    *late, _ = sent(frames.of((2**32 + 10) * 1000, {}))
    return [*early, *late, *now]


def distance_with(**changes):
    """Return the DISTANCE_SENSOR of RANGE with some values replaced."""
    message, _ = sent_in_step(range=RANGE._replace(**changes))
    return message


def test_distance():
    """Centimetres, cm^2, radians; a laser, pitched by 270 degrees, with a perfect signal."""
    message = distance_with()
    assert message.get_type() == 'DISTANCE_SENSOR'
    assert (message.min_distance, message.max_distance, message.current_distance) == (
        6, 2500, 1234)
    assert (message.covariance, message.signal_quality) == (4, 100)
    assert (message.horizontal_fov, message.vertical_fov) == (0.125, 0.125)
    assert (message.type, message.id, message.orientation) == (0, 0, 25)
    assert (message.time_boot_ms, message.quaternion) == (7654, [0.0] * 4)


@pytest.mark.parametrize(('direction', 'orientation'), [
    ('forward', 0), ('right', 2), ('left', 6), ('backward', 12), ('up', 24), ('down', 25)])
def test_orientations(direction, orientation):
    """The values of MAV_SENSOR_ORIENTATION that PX4 takes for these."""
    assert direction in DIRECTIONS
    assert distance_with(direction=direction).orientation == orientation


@pytest.mark.parametrize(('changes', 'distance_cm', 'quality'), [
    ({'range_m': math.inf}, 2501, 1), ({'range_m': -math.inf}, 5, 1),
    ({'range_m': -math.inf, 'min_range_m': 0.0}, 0, 1),
    ({'range_m': math.inf, 'max_range_m': 655.36}, 65535, 1),
    ({'range_m': 0.06}, 6, 100), ({'range_m': 25.0}, 2500, 100),
    ({'range_m': 25.006, 'max_range_m': 25.004}, 2500, 100)])
def test_distances_at_and_beyond_the_limits(changes, distance_cm, quality):
    """1 is an invalid signal, which PX4 makes 0; 0 would be an unknown one, and be used."""
    message = distance_with(**changes)
    assert (message.current_distance, message.signal_quality) == (distance_cm, quality)


@pytest.mark.parametrize(('variance', 'covariance'), [(0.0, 0), (1.0, 254), (0.0254, 254)])
def test_distance_covariance(variance, covariance):
    """255 would mean unknown."""
    assert distance_with(variance=variance).covariance == covariance


def test_distance_after_seven_weeks():
    """The time since boot begins again at 0."""
    assert distance_with(time_us=(2**32 + 5) * 1000).time_boot_ms == 5


# HIL_OPTICAL_FLOW

FLOW = FlowMeasurement(7_654_321, (0.5, -0.25, 0.0), 20_000)


def px4_velocity_frd(message, rate_frd, distance_m):
    """Return the body velocity that PX4 finds in a flow (VehicleOpticalFlow.cpp).

    It turns the signs of flow and gyro, takes the difference, and multiplies with the distance.
    """
    seconds = message.integration_time_us * 1e-6
    x, y = (
        (-flow + rate * seconds) / seconds
        for flow, rate in zip((message.integrated_x, message.integrated_y), rate_frd))
    return -distance_m * y, distance_m * x


def test_flow():
    """Angles over the period about FRD axes; no gyro and no distance of its own."""
    message, _ = sent_in_step(flow=FLOW)
    assert message.get_type() == 'HIL_OPTICAL_FLOW'
    assert (message.time_usec, message.integration_time_us) == (7_654_321, 20_000)
    assert (message.integrated_x, message.integrated_y) == pytest.approx((0.01, 0.005))
    assert all(math.isnan(v) for v in (
        message.integrated_xgyro, message.integrated_ygyro, message.integrated_zgyro))
    assert (message.distance, message.quality, message.sensor_id) == (-1.0, 255, 0)


def test_px4_finds_the_velocity_in_the_flow():
    """(3, 2) m/s forward and right at 4 m, while rolling and pitching."""
    rate_flu = (0.1, -0.2, 0.3)
    flow = FLOW._replace(rate_flu=(0.1 + -2.0 / 4.0, -0.2 - 3.0 / 4.0, 0.0))
    message, _ = sent_in_step(flow=flow)
    assert px4_velocity_frd(message, (rate_flu[0], -rate_flu[1]), 4.0) == pytest.approx(
        (3.0, 2.0), rel=1e-6)


@pytest.mark.parametrize('rate_flu', [
    (math.nan, math.nan, 0.0), (math.nan, 1.0, 0.0), (1.0, math.nan, 0.0)])
def test_no_flow(rate_flu):
    """Zero with quality 0: a NaN PX4 would drop."""
    message, _ = sent_in_step(flow=FLOW._replace(rate_flu=rate_flu))
    assert (message.integrated_x, message.integrated_y, message.quality) == (0.0, 0.0, 0)
    assert message.integration_time_us == 20_000


# ODOMETRY

ODOMETRY = VisualOdometryMeasurement(
    7_654_321, (1.0, 2.0, 3.0), (0.5, 0.5, 0.5, 0.5), (4.0, 5.0, 6.0), 0.25, 0.125, 0.0625)


def test_odometry():
    """Position in NED, velocity in body FRD, variances in the diagonals, no rates."""
    message, _ = sent_in_step(odometry=ODOMETRY)
    assert message.get_type() == 'ODOMETRY'
    assert message.time_usec == 7_654_321
    assert (message.frame_id, message.child_frame_id) == (
        mavlink.MAV_FRAME_LOCAL_NED, mavlink.MAV_FRAME_BODY_FRD)
    assert (message.x, message.y, message.z) == (2.0, 1.0, -3.0)
    assert (message.vx, message.vy, message.vz) == (4.0, -5.0, -6.0)
    assert all(math.isnan(v) for v in (
        message.rollspeed, message.pitchspeed, message.yawspeed))
    diagonal = (0, 6, 11, 15, 18, 20)
    assert [message.pose_covariance[i] for i in diagonal] == [0.25] * 3 + [0.125] * 3
    assert [message.velocity_covariance[i] for i in diagonal[:3]] == [0.0625] * 3
    assert all(math.isnan(message.velocity_covariance[i]) for i in diagonal[3:])
    for covariance in (message.pose_covariance, message.velocity_covariance):
        assert {covariance[i] for i in range(21) if i not in diagonal} == {0.0}
    assert (message.reset_counter, message.estimator_type, message.quality) == (
        0, mavlink.MAV_ESTIMATOR_TYPE_VISION, 100)


@pytest.mark.parametrize(('attitude', 'ned_frd'), [
    # Level, facing east; facing north; facing north, rolled 90 degrees to the right.
    ((1.0, 0.0, 0.0, 0.0), (math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5))),
    ((math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5)), (1.0, 0.0, 0.0, 0.0)),
    ((0.5, 0.5, 0.5, 0.5), (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0))])
def test_odometry_attitude(attitude, ned_frd):
    """From FLU in ENU to FRD in NED."""
    message, _ = sent_in_step(odometry=ODOMETRY._replace(attitude=attitude))
    assert message.q == pytest.approx(ned_frd, abs=1e-7)


@pytest.mark.parametrize('value', [1e39, math.inf, math.nan])
def test_wild_values_of_optional_sensors_are_sent(value):
    """Limited to their fields, never an error of the encoder."""
    vector = (value, -value, value)
    assert len(sent_in_step(
        airspeed=DifferentialPressureMeasurement(0, value, 0.0),
        range=RANGE._replace(range_m=value, variance=value),
        flow=FLOW._replace(rate_flu=vector),
        odometry=VisualOdometryMeasurement(
            0, vector, (value,) * 4, vector, value, value, value))) == 4


# A step

def test_airspeed():
    """Differential pressure in hPa, beside the other groups."""
    airspeed = DifferentialPressureMeasurement(IMU.time_us, 150.0, 1.0)
    message, = sent_in_step(imus=[IMU], airspeed=airspeed)
    assert message.diff_pressure == 1.5
    assert message.fields_updated == 0x3F | 0x400
    message, = sent_in_step(
        imus=[IMU], magnetic_fields=[FIELD], pressure=PRESSURE, airspeed=airspeed)
    assert (message.fields_updated, message.abs_pressure) == (0x1FFF, 1013.25)


def test_what_px4_stamps_comes_before_a_later_imu():
    """HIL_SENSOR advances PX4's clock, which is then the time of what comes next."""
    messages = sent_in_step(
        imus=[IMU], magnetic_fields=[FIELD], pressure=PRESSURE, fixes=[FIX], range=RANGE,
        flow=FLOW, odometry=ODOMETRY)
    assert [m.get_type() for m in messages] == [
        'HIL_GPS', 'DISTANCE_SENSOR', 'HIL_OPTICAL_FLOW', 'ODOMETRY', 'HIL_SENSOR']
    assert messages[0].satellites_visible == 7
    assert [m.get_type() for m in sent_in_step(
        imus=[IMU], magnetic_fields=[None], fixes=[None])] == ['HIL_SENSOR']


def test_further_sensors_come_after_the_first_imu():
    """PX4 stamps them with the clock that the first HIL_SENSOR has set."""
    messages = sent_in_step(
        imus=[IMU, IMU, None], magnetic_fields=[FIELD, FIELD], pressure=PRESSURE,
        fixes=[None, FIX])
    assert [(m.get_type(), m.id) for m in messages] == [
        ('HIL_GPS', 1), ('HIL_SENSOR', 0), ('HIL_SENSOR', 1)]
    assert [m.fields_updated for m in messages[1:]] == [0x1BFF, 0x1FF]


@pytest.mark.parametrize(('pressure', 'fields'), [(None, 0), (PRESSURE, 0x1A00)])
def test_without_the_first_imu_the_clock_goes_on(pressure, fields):
    messages = sent_in_step(
        imus=[None, IMU], magnetic_fields=[None], pressure=pressure, fixes=[None])
    assert [(m.id, m.fields_updated, m.time_usec) for m in messages] == [
        (0, fields, IMU.time_us), (1, 0x3F, IMU.time_us)]


@pytest.mark.parametrize('measured', [
    {}, {'imus': [None], 'magnetic_fields': [None], 'fixes': [None]}])
def test_with_no_measurement_at_all_the_clock_goes_on(measured):
    message, = sent_in_step(**measured)
    assert (message.id, message.fields_updated, message.time_usec) == (0, 0, IMU.time_us)
