# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The messages of PX4's simulator link: SI units in ENU/FLU to and from HIL fields.

Every HIL unit is converted here, or in `hil_optional` for sensors that not every vehicle has,
and nowhere else. Values outside a field's range are limited to it. `hil_decoder` finds the
actuator controls in the bytes of the autopilot.
"""
from __future__ import annotations

import enum
import math
import typing

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.fast_frames import FramePacker
from px4_sim_ros.link.fields import (
    INT16_MAX,
    INT16_MIN,
    INT32_MAX,
    INT32_MIN,
    UINT16_MAX,
    float32,
    packed,
    saturated,
    simulator_mavlink,
)
from px4_sim_ros.model.environment.atmosphere import (
    KELVIN_AT_ZERO_CELSIUS,
    STANDARD,
    Atmosphere,
)
from px4_sim_ros.model.environment.geodesy import GeodeticPosition
from px4_sim_ros.model.frames import (
    Vector,
    enu_to_ned,
    flu_to_frd,
    frd_to_flu,
    ned_to_enu,
    quaternion_enu_flu_to_ned_frd,
)
from px4_sim_ros.model.rotation import matrix, to_world
from px4_sim_ros.model.sensors.airspeed import DifferentialPressureMeasurement
from px4_sim_ros.model.sensors.barometer import PressureMeasurement
from px4_sim_ros.model.sensors.gnss import FixType, GnssMeasurement
from px4_sim_ros.model.sensors.imu import ImuMeasurement
from px4_sim_ros.model.sensors.magnetometer import MagneticFieldMeasurement
from px4_sim_ros.model.sensors.sky import NOT_MODELLED
from px4_sim_ros.model.truth import Truth

GAUSS_PER_TESLA = 1e4
PA_PER_HPA = 100.0

IMU, MAGNETOMETER, BAROMETER, GNSS = 1, 2, 4, 8
"""What an autopilot in machine code has got a sample of."""

# GPS_FIX_TYPE: no fix, three-dimensional, differential, RTK with whole numbers.
HIL_FIX_TYPES = {FixType.NONE: 0, FixType.FIX: 3, FixType.SBAS: 4, FixType.GBAS: 6}
COURSE_UNKNOWN = UINT16_MAX
_YAW_UNKNOWN = 0
_MIN_SPEED_FOR_COURSE_M_S = 0.1


class SensorFields(enum.IntFlag):
    """Groups of HIL_SENSOR.fields_updated; PX4 uses a group only if all its bits are set."""

    ACCEL = 0x7
    GYRO = 0x38
    MAG = 0x1C0
    BARO = 0x1A00                    # absolute pressure, pressure altitude, temperature
    DIFFERENTIAL_PRESSURE = 0x400


class ModeFlag(enum.IntFlag):
    """The bits of HIL_ACTUATOR_CONTROLS.mode that the simulator reads or PX4 sets."""

    CUSTOM = 1
    ARMED = 128


# HIL_ACTUATOR_CONTROLS.flags of an autopilot that keeps step with the simulator.
LOCKSTEP_FLAG = 1

# As plain numbers: operations on flags take a microsecond each.
IMU_GROUPS = int(SensorFields.ACCEL | SensorFields.GYRO)
MAG_GROUP, BARO_GROUP = int(SensorFields.MAG), int(SensorFields.BARO)
_DIFFERENTIAL_PRESSURE_GROUP = int(SensorFields.DIFFERENTIAL_PRESSURE)


class ActuatorControls(typing.NamedTuple):
    """What an autopilot asks of its actuators: motors 0..1, servos -1..1."""

    time_us: int
    armed: bool
    controls: tuple[float, ...]


DISARMED = ActuatorControls(0, False, (0.0,) * 16)


class HilEncoder:
    """Packs measurements into MAVLink 2 frames as the simulator sends them."""

    def __init__(self, air: Atmosphere = STANDARD) -> None:
        """Take the air whose temperature a barometer feels."""
        self._air = air
        self._mav = simulator_mavlink()
        self._sensor_frames = FramePacker(self._mav, mavlink.MAVLink_hil_sensor_message)
        self._gps_frames = FramePacker(self._mav, mavlink.MAVLink_hil_gps_message)
        self._truth_frames = FramePacker(self._mav, mavlink.MAVLink_hil_state_quaternion_message)

    @property
    def sequence(self) -> int:
        """The number of the next frame."""
        return int(self._mav.seq)

    @sequence.setter
    def sequence(self, number: int) -> None:
        self._mav.seq = number

    @property
    def sender(self) -> tuple[int, int]:
        """Its system and its component."""
        return self._mav.srcSystem, self._mav.srcComponent

    def frame(self, message: mavlink.MAVLink_message) -> bytes:
        """Return the frame of a message."""
        return packed(self._mav, message)

    def sensor(
        self, time_us: int, imu: ImuMeasurement | None = None,
        magnetic_field: MagneticFieldMeasurement | None = None,
        pressure: PressureMeasurement | None = None,
        airspeed: DifferentialPressureMeasurement | None = None, *, sensor_id: int = 0,
    ) -> bytes:
        """Return a HIL_SENSOR with the groups that are given."""
        fields = 0
        force = rate = mag = (0.0, 0.0, 0.0)
        pressure_hpa = differential_hpa = pressure_altitude = temperature = 0.0
        if imu is not None:
            fields |= IMU_GROUPS
            force, rate = flu_to_frd(imu.specific_force_flu), flu_to_frd(imu.rate_flu)
        if magnetic_field is not None:
            fields |= MAG_GROUP
            x, y, z = flu_to_frd(magnetic_field.field_flu_t)
            mag = (x * GAUSS_PER_TESLA, y * GAUSS_PER_TESLA, z * GAUSS_PER_TESLA)
        if pressure is not None:
            fields |= BARO_GROUP
            pressure_hpa = pressure.pressure_pa / PA_PER_HPA
            # A pressure below zero, out of a wild drift, has no altitude.
            pressure_pa = max(pressure.pressure_pa, 0.0)
            pressure_altitude = STANDARD.pressure_altitude_m(pressure_pa)
            altitude = self._air.pressure_altitude_m(pressure_pa)
            temperature = self._air.temperature_k(altitude) - KELVIN_AT_ZERO_CELSIUS
        if airspeed is not None:
            fields |= _DIFFERENTIAL_PRESSURE_GROUP
            differential_hpa = airspeed.differential_pressure_pa / PA_PER_HPA
        values = (
            *force, *rate, *mag, pressure_hpa, differential_hpa, pressure_altitude, temperature)
        try:
            return self._sensor_frames.pack(time_us, *values, fields, sensor_id)
        except OverflowError:       # of a 32-bit float
            return self._sensor_frames.pack(time_us, *map(float32, values), fields, sensor_id)

    def gps(
        self, fix: GnssMeasurement, geoid_height_m: float, satellites: int, *,
        gps_id: int = 0, start_utc_us: int | None = None,
    ) -> bytes:
        """Return a HIL_GPS; its altitude is above mean sea level.

        :param satellites: how many there are as long as there is a fix, unless it has a number
        :param start_utc_us: UTC of time 0; PX4 takes the time of a HIL_GPS for UTC, and 0, which is
            sent without it, for unknown
        """
        north, east, down = enu_to_ned(fix.velocity_enu)
        speed = math.hypot(north, east)
        course_deg = math.degrees(math.atan2(east, north)) % 360.0
        if fix.satellites != NOT_MODELLED:
            satellites = fix.satellites
        elif fix.fix_type == FixType.NONE:
            satellites = 0
        return self._gps_frames.pack(
            0 if start_utc_us is None else start_utc_us + fix.time_us,
            saturated(fix.position.latitude_deg * 1e7, INT32_MIN, INT32_MAX),
            saturated(fix.position.longitude_deg * 1e7, INT32_MIN, INT32_MAX),
            saturated(
                (fix.position.ellipsoid_altitude_m - geoid_height_m) * 1e3, INT32_MIN, INT32_MAX),
            saturated(fix.horizontal_accuracy_m * 1e2, 0, UINT16_MAX),
            saturated(fix.vertical_accuracy_m * 1e2, 0, UINT16_MAX),
            saturated(speed * 1e2, 0, UINT16_MAX),
            saturated(north * 1e2, INT16_MIN, INT16_MAX),
            saturated(east * 1e2, INT16_MIN, INT16_MAX),
            saturated(down * 1e2, INT16_MIN, INT16_MAX),
            saturated(course_deg * 1e2, 0, 35999)
            if speed > _MIN_SPEED_FOR_COURSE_M_S else COURSE_UNKNOWN,
            HIL_FIX_TYPES[fix.fix_type],
            satellites,
            gps_id,
            _YAW_UNKNOWN)

    def truth(self, truth: Truth, place: GeodeticPosition, geoid_height_m: float) -> bytes:
        """Return a HIL_STATE_QUATERNION of the true motion, without airspeeds.

        PX4 takes the accelerations for mm/s^2 in NED; MAVLink's text has them in mG.

        :param truth: its attitude is in east, north and up at the place
        :param place: of the truth
        """
        rotation = matrix(truth.attitude)
        velocity = enu_to_ned(to_world(rotation, truth.velocity_flu))
        acceleration = enu_to_ned(to_world(rotation, truth.acceleration_flu))
        return self._truth_frames.pack(
            truth.time_us,
            *quaternion_enu_flu_to_ned_frd(truth.attitude),
            *flu_to_frd(truth.rate_flu),
            saturated(place.latitude_deg * 1e7, INT32_MIN, INT32_MAX),
            saturated(place.longitude_deg * 1e7, INT32_MIN, INT32_MAX),
            saturated((place.ellipsoid_altitude_m - geoid_height_m) * 1e3, INT32_MIN, INT32_MAX),
            *(saturated(v * 1e2, INT16_MIN, INT16_MAX) for v in velocity),
            0, 0,
            *(saturated(a * 1e3, INT16_MIN, INT16_MAX) for a in acceleration))


def imu_from_hil(message: mavlink.MAVLink_hil_sensor_message) -> tuple[Vector, Vector]:
    """Return specific force and rate in FLU from a HIL_SENSOR, as an autopilot reads it."""
    return (
        frd_to_flu((message.xacc, message.yacc, message.zacc)),
        frd_to_flu((message.xgyro, message.ygyro, message.zgyro)),
    )


def magnetic_field_from_hil(
    message: mavlink.MAVLink_hil_sensor_message,
) -> Vector | None:
    """Return the field in tesla, FLU, or None when the HIL_SENSOR has none."""
    if not has_group(message, MAG_GROUP):
        return None
    x, y, z = frd_to_flu((message.xmag, message.ymag, message.zmag))
    return x / GAUSS_PER_TESLA, y / GAUSS_PER_TESLA, z / GAUSS_PER_TESLA


def pressure_from_hil(message: mavlink.MAVLink_hil_sensor_message) -> float | None:
    """Return the static pressure in Pa, or None when the HIL_SENSOR has none."""
    return message.abs_pressure * PA_PER_HPA if has_group(message, BARO_GROUP) else None


def gps_from_hil(
    message: mavlink.MAVLink_hil_gps_message,
) -> tuple[GeodeticPosition, Vector]:
    """Return position (altitude above mean sea level) and ENU velocity from a HIL_GPS."""
    return (
        GeodeticPosition(message.lat * 1e-7, message.lon * 1e-7, message.alt * 1e-3),
        ned_to_enu((message.vn * 1e-2, message.ve * 1e-2, message.vd * 1e-2)),
    )


def has_fix(message: mavlink.MAVLink_hil_gps_message) -> bool:
    """Return whether a HIL_GPS has a position in three dimensions, on the Earth."""
    return bool(message.fix_type >= HIL_FIX_TYPES[FixType.FIX]
                and abs(message.lat) <= 900_000_000 and abs(message.lon) <= 1_800_000_000)


def has_group(message: mavlink.MAVLink_hil_sensor_message, group: int) -> bool:
    """Return whether all bits of a group are set in a HIL_SENSOR."""
    return bool(message.fields_updated & group == group)
