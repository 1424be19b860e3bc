# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Steps with autopilots as machine code: reply, motion, sensors, frame, one after the other.

Of several vehicles all replies are there before the next step begins. What is not as usual ends
it: the frames of the last step are out then, or still to be sent, and their replies are read in
Python. Frames are MAVLink 2, not signed; MAVLink's numbers of messages and check
sums are pymavlink's.
"""
from __future__ import annotations

import ctypes
import functools
import math
import typing

import numpy as np
from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.jit import machine_code
from px4_sim_ros.jit.code_cache import BURST
from px4_sim_ros.jit.compiled import compiled, put_integer
from px4_sim_ros.link.fields import INT16_MAX, INT16_MIN, INT32_MAX, INT32_MIN, saturated
from px4_sim_ros.link.hil.codec import (
    BARO_GROUP,
    BAROMETER,
    GAUSS_PER_TESLA,
    IMU,
    IMU_GROUPS,
    MAG_GROUP,
    MAGNETOMETER,
    PA_PER_HPA,
    ModeFlag,
)
from px4_sim_ros.model import frames, rotation
from px4_sim_ros.model.body import motion_code
from px4_sim_ros.model.body.demand import set_references
from px4_sim_ros.model.body.felt import ACCEL_NOISE, GYRO_NOISE, SAMPLE
from px4_sim_ros.model.body.motion_memory import (
    BUS_CURRENT,
    IN_VORTEX_RING,
    QW,
    QX,
    QY,
    QZ,
    VX,
    WX,
    WY,
    WZ,
    X,
    Y,
    Z,
)
from px4_sim_ros.model.body.plant import Plant
from px4_sim_ros.model.body.rotors import SHAKING
from px4_sim_ros.model.environment import atmosphere, geodesy
from px4_sim_ros.model.environment.geodesy import SQUARE_NUMBERS
from px4_sim_ros.model.sensors.sensing import (
    limit_imu,
    magnetic_field_t,
    sensing_record,
    static_pressure_pa,
)

# How a burst has ended.
DONE, LATE, ODD, UNSENT, DIVERGED, MET, STOPPED = range(7)
"""All steps were sent; no reply came, or not in the time that a burst may take; bytes came that
are no plain reply; the frames of the last step were not sent as a whole; the motion has left all
bounds; it has met a bound of a scenario, and nothing is measured in the last step; a block has
acted that ends them, and the frames of that step are still to be sent."""

# Numbers of a burst, 64-bit integers. What is given:
(SOCKET, HEARD, STEP_US, COUNT, SEQUENCE, SENDER, SYSTEM, LONGEST_NS, SLEEPS, YIELDS, HOLDS_LAST,
 # when a burst that has begun waits for no further reply, by the clock CLOCK_MONOTONIC,
 UNTIL_NS,
 PREFIX,
 SHAKING_AT, ACCEL_AT, GYRO_AT, FIELD_AT, PRESSURE_AT, SUBSTEPS, IS_RK4, STATE_AT, OUTPUTS_AT,
 # periods, in us; 0: never,
 FIELD_US, PRESSURE_US, BATTERY_US, TRUTH_US,
 # changes of references, bounds of a scenario, and whether the last step ends with the motion,
 CHANGES, BOUNDS, STOPS_AT_MOTION,
 # what changes: the time of the step that waits for its reply, those before and after whose frames
 # Python is called, and bytes that come before the next frames,
 TIME_US, BEFORE_US, CALL_US, LATE_BYTES,
 # of the pilot, which is called before: its socket, up to when it acts only if something has come
 # there, and in which period,
 PILOT, IDLE_US, PILOT_US,
 # and what is found: the steps that were begun, how it has ended, bytes of the last frames, those
 # of them that were sent, bytes that were read and not used, whether the last reply that was used
 # is armed and the last one, the groups of the last HIL_SENSOR, whether the true motion is before
 # it (at first: before that of the first step), when the last frames were sent, how long replies
 # were waited for, and how long the models took.
 BEGUN, ENDED, LENGTH, SENT, UNREAD, IS_ARMED, IS_NEXT_ARMED, GROUPS, HAS_TRUTH, SENT_NS,
 WAITED_NS, MODELS_NS, NUMBERS) = range(49)
HERE = -1
"""Instead of a socket: the autopilot is in this process."""
UNHEARD = -1
"""Instead of the socket on which PX4 says more than its replies: nothing is read there."""
# Real numbers of a burst: the length of a substep, the current that was published last, and the
# radius of the sphere that collides with those of others; 0: nothing does.
SUBSTEP_S, CURRENT_A, REACH_M = 0, 1, 7
START, ALTITUDES, SQUARE = 2, 5, 8
"""Where the vehicle stood at first, ENU; see `HilFrames.altitudes_m`, and `geodesy.place_in`."""
REALS = SQUARE + SQUARE_NUMBERS

# Values of a row behind the memory of the motion: the IMU's sample, the field, the pressure; then
# the references that were commanded.
IMU_SAMPLE, FIELD, PRESSURE, ROW = 0, 6, 9, 10
# Floats of a HIL_SENSOR: three each of force, rate and field, then these.
_HPA, _DIFFERENTIAL_HPA, _ALTITUDE, _TEMPERATURE, FLOATS = 9, 10, 11, 12, 13

_SENSOR, _CONTROLS = (
    mavlink.MAVLink_hil_sensor_message, mavlink.MAVLink_hil_actuator_controls_message)
_SENSOR_ID, _SENSOR_EXTRA, _SENSOR_BYTES = _SENSOR.id, _SENSOR.crc_extra, _SENSOR.unpacker.size
_TRUTH = mavlink.MAVLink_hil_state_quaternion_message
_TRUTH_ID, _TRUTH_EXTRA, _TRUTH_BYTES = _TRUTH.id, _TRUTH.crc_extra, _TRUTH.unpacker.size
_CONTROLS_ID, _CONTROLS_EXTRA, _CONTROLS_BYTES = (
    _CONTROLS.id, _CONTROLS.crc_extra, _CONTROLS.unpacker.size)
_MARKER, _HEADER, _FRAME = mavlink.PROTOCOL_MARKER_V2, 10, 12
_FIELDS_AT, _CONTROLS_AT, _MODE_AT = 60, 16, 80      # in the payloads
_ARMED = int(ModeFlag.ARMED)
_DO_NOT_WAIT, _LOOK, _NO_SIGNAL, _READABLE, _MONOTONIC = 0x40, 2, 0x4000, 1, 1     # of Linux
_NS_PER_MS = 1_000_000
_NEAR = 1e-6           # of a quantity

_about_up = compiled(geodesy.about_up)
_enu_to_ned = compiled(frames.enu_to_ned)
_flu_to_frd = compiled(frames.flu_to_frd)
_matrix = compiled(rotation.matrix)
_middle_of = compiled(geodesy.middle_of)
_multiply = compiled(rotation.multiply)
_ned_frd = compiled(frames.quaternion_enu_flu_to_ned_frd)
_place_in = compiled(geodesy.place_in)
_saturated = compiled(saturated)
_to_world = compiled(rotation.to_world)
_pressure_altitude_m = compiled(atmosphere.pressure_altitude_m)


@compiled
def check_sum(data: np.ndarray, begin: int, end: int, extra: int) -> int:
    """Return MAVLink's check sum (X.25) of bytes, and of one that follows them."""
    summed = 0xFFFF
    for i in range(begin, end + 1):
        byte = int(data[i]) if i < end else extra
        byte = (byte ^ summed) & 0xFF
        byte = (byte ^ (byte << 4)) & 0xFF
        summed = ((summed >> 8) ^ (byte << 8) ^ (byte << 3) ^ (byte >> 4)) & 0xFFFF
    found: int = summed
    return found


@compiled
def pack_sensor(
    out: np.ndarray, at: int, time_us: int, fields: int, sequence: int,
    sender: int, value_bytes: np.ndarray,
) -> int:
    """Write a HIL_SENSOR of id 0; return where it ends.

    :param sender: its system, and 256 times its component
    :param value_bytes: of (13,) 32-bit floats
    """
    body: int = at + _HEADER
    put_integer(out, body, time_us, 8)
    for i in range(4 * FLOATS):
        out[body + 8 + i] = value_bytes[i]
    put_integer(out, body + _FIELDS_AT, fields, 4)
    out[body + _SENSOR_BYTES - 1] = 0
    return _finish_frame(out, at, _SENSOR_ID, _SENSOR_BYTES, _SENSOR_EXTRA, sequence, sender)


@compiled
def _finish_frame(
    out: np.ndarray, at: int, message: int, size: int, extra: int, sequence: int, sender: int,
) -> int:
    """Write all of a frame but its payload, which is there; return where it ends."""
    body, length = at + _HEADER, size
    while length > 1 and out[body + length - 1] == 0:
        length -= 1
    out[at], out[at + 1], out[at + 2], out[at + 3] = _MARKER, length, 0, 0
    out[at + 4], out[at + 5], out[at + 6] = sequence, sender & 0xFF, sender >> 8
    put_integer(out, at + 7, message, 3)
    end: int = body + length
    return put_integer(out, end, check_sum(out, at + 1, end, extra), 2)


@compiled
def pack_truth(
    out: np.ndarray, begin: int, time_us: int, x: np.ndarray, outputs: np.ndarray,
    reals: np.ndarray, sequence: int, sender: int, floats: np.ndarray, float_bytes: np.ndarray,
) -> int:
    """Write a HIL_STATE_QUATERNION of the true motion, as `codec` does; return where it ends.

    :param x: the state of the motion
    :param outputs: of it
    :param floats: (16,) of 32 bits, changes
    """
    latitude, longitude, half = _place_in(reals[SQUARE:], x[X], x[Y])
    attitude = _multiply(_about_up(half), (x[QW], x[QX], x[QY], x[QZ]))
    turn = _matrix(attitude)
    velocity = _enu_to_ned(_to_world(turn, (outputs[0], outputs[1], outputs[2])))
    acceleration = _enu_to_ned(_to_world(turn, (outputs[3], outputs[4], outputs[5])))
    floats[0], floats[1], floats[2], floats[3] = _ned_frd(attitude)
    floats[4], floats[5], floats[6] = _flu_to_frd((x[WX], x[WY], x[WZ]))
    at = put_integer(out, begin + _HEADER, time_us, 8)
    for i in range(28):
        out[at + i] = float_bytes[i]
    at = put_integer(out, at + 28, _saturated(latitude * 1e7, INT32_MIN, INT32_MAX), 4)
    at = put_integer(out, at, _saturated(longitude * 1e7, INT32_MIN, INT32_MAX), 4)
    altitude = reals[ALTITUDES] + x[Z] - reals[ALTITUDES + 1]
    at = put_integer(out, at, _saturated(altitude * 1e3, INT32_MIN, INT32_MAX), 4)
    for i in range(3):
        at = put_integer(out, at, _saturated(velocity[i] * 1e2, INT16_MIN, INT16_MAX), 2)
    at = put_integer(out, at, 0, 4)              # no airspeeds
    for i in range(3):
        at = put_integer(out, at, _saturated(acceleration[i] * 1e3, INT16_MIN, INT16_MAX), 2)
    return _finish_frame(out, begin, _TRUTH_ID, _TRUTH_BYTES, _TRUTH_EXTRA, sequence, sender)


@compiled
def read_controls(
    data: np.ndarray, size: int, system: int, time_us: int, controls: np.ndarray,
    longs: np.ndarray, long_bytes: np.ndarray, floats: np.ndarray, float_bytes: np.ndarray,
) -> int:
    """Read the one frame that is the reply to a time; return 1 if armed, 0 if not, else -1.

    :param controls: (16,), is set
    """
    if size < _FRAME or data[0] != _MARKER or data[2] != 0 or data[5] != system:
        return -1
    length = int(data[1])
    message = int(data[7]) | int(data[8]) << 8 | int(data[9]) << 16
    if size != length + _FRAME or length > _CONTROLS_BYTES or message != _CONTROLS_ID:
        return -1
    end = _HEADER + length
    if check_sum(data, 1, end, _CONTROLS_EXTRA) != int(data[end]) | int(data[end + 1]) << 8:
        return -1
    for i in range(8):
        long_bytes[i] = data[_HEADER + i] if i < length else 0
    if longs[0] != time_us:
        return -1
    for i in range(4 * len(controls)):
        at = _CONTROLS_AT + i
        float_bytes[i] = data[_HEADER + at] if at < length else 0
    for i in range(len(controls)):
        if not -1.0 <= floats[i] <= 1.0:
            return -1
    for i in range(len(controls)):
        controls[i] = floats[i]
    return 1 if length > _MODE_AT and data[_HEADER + _MODE_AT] & _ARMED else 0


@compiled
def measure(
    row: np.ndarray, memory: np.ndarray, x: np.ndarray, outputs: np.ndarray, sensing: np.ndarray,
    field_noise: np.ndarray, pressure_noise: np.ndarray, reals: np.ndarray, numbers: np.ndarray,
    values: np.ndarray, floats: np.ndarray,
) -> int:
    """Set a row's field and pressure and their floats of a HIL_SENSOR; return its groups of these.

    :param floats: (16,) of 32 bits, changes
    """
    time_us, groups = numbers[TIME_US], 0
    if numbers[BATTERY_US] and time_us % numbers[BATTERY_US] == 0:
        floats[0] = outputs[BUS_CURRENT]       # in 32 bits, as it is published
        reals[CURRENT_A] = floats[0]
    if numbers[FIELD_US] and time_us % numbers[FIELD_US] == 0:
        mx, my, mz = magnetic_field_t(
            x, sensing, field_noise[numbers[FIELD_AT]], reals[CURRENT_A])
        numbers[FIELD_AT] += 1
        row[FIELD], row[FIELD + 1], row[FIELD + 2] = mx, my, mz
        values[6], values[7], values[8] = (
            mx * GAUSS_PER_TESLA, -my * GAUSS_PER_TESLA, -mz * GAUSS_PER_TESLA)
        groups |= MAG_GROUP
    if numbers[PRESSURE_US] and time_us % numbers[PRESSURE_US] == 0:
        pressure = static_pressure_pa(
            x, (outputs[0], outputs[1], outputs[2]), (memory[0], memory[1], memory[2]), time_us,
            sensing, pressure_noise[numbers[PRESSURE_AT]])
        numbers[PRESSURE_AT] += 1
        row[PRESSURE] = pressure
        groups |= BARO_GROUP
        values[_HPA] = pressure / PA_PER_HPA
        positive = max(pressure, 0.0)
        c = sensing[0]
        values[_ALTITUDE] = _pressure_altitude_m(
            positive, _STANDARD_PRESSURE_PA, _STANDARD_TEMPERATURE_K)
        altitude = _pressure_altitude_m(
            positive, c.sea_level_pressure_pa, c.sea_level_temperature_k)
        values[_TEMPERATURE] = (
            c.sea_level_temperature_k - _LAPSE_RATE * altitude) - _ZERO_CELSIUS
    return groups


_STANDARD_PRESSURE_PA = atmosphere.STANDARD.sea_level_pressure_pa
_STANDARD_TEMPERATURE_K = atmosphere.STANDARD.sea_level_temperature_k
_LAPSE_RATE, _ZERO_CELSIUS = atmosphere.LAPSE_RATE_K_M, atmosphere.KELVIN_AT_ZERO_CELSIUS


@compiled
def has_met(
    bounds: np.ndarray, x: np.ndarray, outputs: np.ndarray, reals: np.ndarray,
) -> bool:
    """Return whether a quantity may have left the side of its bounds on which it was.

    It is so also for one next to a bound: `math.hypot`, by which a scenario takes it, is another
    one here.

    :param bounds: of each: the number of the quantity in `situation.MOTION`, two bounds, and
        whether it was between them
    """
    turn = _matrix((x[QW], x[QX], x[QY], x[QZ]))
    for i in range(len(bounds)):
        which = int(bounds[i, 0])
        if which == 0:
            value = x[Z] - reals[START + 2]
        elif which == 1:
            value = x[Y]
        elif which == 2:
            value = x[X]
        elif which == 3:
            dx, dy = x[X] - reals[START], x[Y] - reals[START + 1]
            value = math.sqrt(dx * dx + dy * dy)
        elif which == 4:
            value = math.sqrt(outputs[0] * outputs[0] + outputs[1] * outputs[1]
                              + outputs[2] * outputs[2])
        elif which == 5:
            value = turn[6] * outputs[0] + turn[7] * outputs[1] + turn[8] * outputs[2]
        elif which == 6:
            value = math.degrees(2.0 * math.asin(min(1.0, math.sqrt(
                x[QX] * x[QX] + x[QY] * x[QY]))))
        else:
            value = math.degrees(math.sqrt(x[WX] * x[WX] + x[WY] * x[WY] + x[WZ] * x[WZ]))
        above, below = bounds[i, 1], bounds[i, 2]
        near = _NEAR * max(1.0, abs(value))
        if abs(value - above) <= near or abs(value - below) <= near or (
                above < value < below) != (bounds[i, 3] != 0.0):
            return True
    return False


class InProcess(typing.NamedTuple):
    """An autopilot in machine code: where it has its sample and its reply."""

    time_us: np.ndarray            # (1,) integer
    imu: np.ndarray                # (6,): specific force and rate
    field_t: np.ndarray            # (3,)
    pressure_pa: np.ndarray        # (1,)
    controls: np.ndarray           # (16,)
    is_armed: np.ndarray           # (1,) integer
    address: int                   # of code that takes both records, and flags of `codec`
    memory: int
    constants: int


_ELSEWHERE = InProcess(
    np.zeros(1, np.int64), np.zeros(6), np.zeros(3), np.zeros(1), np.zeros(16),
    np.zeros(1, np.int64), 0, 0, 0)


class Arrays(typing.NamedTuple):
    """The arrays of a burst, which have to stay where they are."""

    memory: np.ndarray             # of the motion
    rotors: np.ndarray             # of its plant
    shaking: np.ndarray            # of rotors in their vortex rings, in steps to come
    imu: np.ndarray                # see `body.felt`
    accel_noise: np.ndarray        # rows to come
    gyro_noise: np.ndarray
    changes: np.ndarray            # of references: which, a factor, or NaN and a value
    bounds: np.ndarray             # of a scenario: see `has_met`
    demand: np.ndarray             # from `demand_table`
    rows: np.ndarray               # of each step
    field_noise: np.ndarray
    pressure_noise: np.ndarray
    controls: np.ndarray           # (32,), of the last reply that was used, and of the last one
    reals: np.ndarray
    sensing: np.ndarray            # record
    numbers: np.ndarray            # of integers, and two for the time
    longs: np.ndarray              # (1,)
    out: np.ndarray                # bytes: begins with what goes before the first frame
    into: np.ndarray               # bytes
    late: np.ndarray               # bytes: what comes before the next frames
    values: np.ndarray             # (13,) of 32 bits
    floats: np.ndarray             # (16,) of 32 bits
    polled: np.ndarray             # (2,), 32-bit integers


_DOUBLES = 14      # of the arrays, at first


class Vehicle(typing.NamedTuple):
    """Where machine code finds what a vehicle's steps need."""

    doubles: typing.Any
    shape: typing.Any
    calls: typing.Any
    longs: typing.Any
    places: typing.Any
    singles: typing.Any
    polled: typing.Any
    sensing: typing.Any


def vehicle_of(
    arrays: Arrays, plant: Plant, motion: tuple[typing.Any, ...], autopilot: InProcess | None,
    asked: typing.Sequence[int],
) -> Vehicle:
    """Return a vehicle of these arrays, which have to live as long.

    :param motion: the first arguments of its machine code, likewise
    :param autopilot: in this process; None: it is at the socket
    :param asked: addresses of what is called with a time, and returns whether the steps end with
        it: before the frames of BEFORE_US, after those of CALL_US, and after a reply if there is
        more on the socket HEARD
    """
    there = autopilot or _ELSEWHERE
    doubles = (*arrays[:_DOUBLES], there.imu, there.field_t, there.pressure_pa, there.controls)
    assert all(array.flags.c_contiguous for array in (*arrays, *there[:6]))
    shape = [n for array in doubles for n in (array.shape + (1,))[:2]]
    shape += [len(arrays.out), len(arrays.into), len(arrays.late)]
    calls = [motion_code.address(plant), *map(_place, motion), *there[6:], *asked]
    longs = arrays.numbers, arrays.longs, there.time_us, there.is_armed
    # The last of these are the same memory as bytes.
    places = arrays.out, arrays.into, arrays.late, arrays.longs, arrays.values, arrays.floats
    return Vehicle(
        _places(doubles), (ctypes.c_int64 * len(shape))(*shape),
        (ctypes.c_int64 * len(calls))(*calls), _places(longs), _places(places),
        _places((arrays.values, arrays.floats)), _places((arrays.polled,)),
        _places((arrays.sensing,)))


def _places(arrays: typing.Sequence[np.ndarray]) -> typing.Any:
    return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))


def function_of(
    vehicles: typing.Sequence[Vehicle], sensing: np.dtype[typing.Any],
) -> typing.Callable[[], int]:
    """Return a function that runs a burst of vehicles; it releases the interpreter meanwhile.

    :param sensing: type of the records of their sensors
    """
    where = [(ctypes.c_void_p * len(vehicles))(*map(ctypes.addressof, tables))
             for tables in zip(*vehicles)]
    run = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, *map(type, where))(_address(sensing))

    def run_them() -> int:
        found: int = run(len(vehicles), *where)      # it has the vehicles, so they live as long
        return found

    return run_them


def _place(argument: typing.Any) -> int:
    """Return the address that an argument of machine code is."""
    return argument.value or 0 if isinstance(
        argument, ctypes.c_void_p) else ctypes.addressof(argument)


def prepare() -> None:
    """Make the machine code if none is kept, and load it."""
    _address(sensing_record().dtype)


@functools.cache
def _address(sensing: np.dtype[typing.Any]) -> int:
    """Return the address of the machine code, for records of this type."""
    return machine_code.load(BURST, functools.partial(_make, sensing))


def _make(sensing: np.dtype[typing.Any], numba: typing.Any) -> tuple[typing.Any, typing.Any]:
    """Return signature and function."""
    t, carray, fly = numba.types, numba.carray, _fly(numba)

    @numba.njit(error_model='numpy', _nrt=False)
    def two_meet(vehicles, all_doubles, all_longs):  # type: ignore[no-untyped-def]
        """Return whether spheres may overlap in the next step, as `collisions` finds it."""
        for i in range(vehicles):
            one, at = all_doubles[i][0], all_longs[i][0][STATE_AT]
            step_s, reach_m = 1e-6 * all_longs[i][0][STEP_US], all_doubles[i][13][REACH_M]
            for j in range(i if reach_m > 0.0 else 0):
                other, its = all_doubles[j][0], all_longs[j][0][STATE_AT]
                away = closer = 0.0
                for k in range(3):
                    away += (one[at + X + k] - other[its + X + k]) ** 2
                    closer += (one[at + VX + k] - other[its + VX + k]) ** 2
                # A little more than needed: Python takes such a step.
                if math.sqrt(away) < (1.0 + _NEAR) * (
                        reach_m + all_doubles[j][13][REACH_M] + step_s * math.sqrt(closer)):
                    return True
        return False

    def entry(  # type: ignore[no-untyped-def]
        vehicles, all_doubles, all_shapes, all_calls, all_longs, all_places, all_singles,
        all_polled, all_sensing,
    ):
        """Let each vehicle read its reply, then each take its step."""
        ended = DONE
        for turn in range(max(1, 2 * vehicles * all_longs[0][0][COUNT])):
            i, acts = turn % vehicles, turn // vehicles % 2 == 1
            if i == 0 and not acts and (ended != DONE or two_meet(
                    vehicles, all_doubles, all_longs)):
                break
            doubles, shape, longs = all_doubles[i], all_shapes[i], all_longs[i]
            places, singles = all_places[i], all_singles[i]
            found = fly(
                acts, turn // (2 * vehicles),
                carray(doubles[0], shape[0]), carray(doubles[1], (shape[2], shape[3])),
                carray(doubles[2], (shape[4], shape[5])), carray(doubles[3], shape[6]),
                carray(doubles[4], (shape[8], shape[9])),
                carray(doubles[5], (shape[10], shape[11])),
                carray(doubles[6], (shape[12], shape[13])),
                carray(doubles[7], (shape[14], shape[15])),
                carray(doubles[8], (shape[16], shape[17])),
                carray(doubles[9], (shape[18], shape[19])),
                carray(doubles[10], (shape[20], shape[21])),
                carray(doubles[11], (shape[22], shape[23])), carray(doubles[12], shape[24]),
                carray(doubles[13], shape[26]), carray(doubles[14], shape[28]),
                carray(doubles[15], shape[30]), carray(doubles[16], shape[32]),
                carray(doubles[17], shape[34]),
                carray(all_sensing[i][0], 1), carray(longs[0], NUMBERS + 2), carray(longs[1], 1),
                carray(longs[2], 1), carray(longs[3], 1), carray(all_calls[i], 11),
                carray(places[0], shape[36]), carray(places[1], shape[37]),
                carray(places[2], shape[38]),
                carray(singles[0], FLOATS), carray(singles[1], 16), carray(all_polled[i][0], 2),
                carray(places[3], 8), carray(places[4], 4 * FLOATS), carray(places[5], 64))
            longs[0][ENDED] = found
            if found != DONE:
                ended = found
                if not acts:
                    break
        return ended

    def tables(kind: typing.Any) -> typing.Any:
        return t.CPointer(t.CPointer(t.CPointer(kind)))

    numbers = t.CPointer(t.CPointer(t.int64))
    return t.int64(
        t.int64, tables(t.float64), numbers, numbers, tables(t.int64), tables(t.uint8),
        tables(t.float32), tables(t.int32), tables(numba.from_dtype(sensing))), entry


def _fly(numba: typing.Any) -> typing.Any:
    """Return the loop, which calls the system by the names of the C library."""
    t = numba.types
    address, number = t.uintp, t.intc
    receive = t.ExternalFunction('recv', t.intp(number, address, address, number))
    send = t.ExternalFunction('send', t.intp(number, address, address, number))
    poll = t.ExternalFunction('poll', number(address, address, number))
    give_way = t.ExternalFunction('sched_yield', number())
    clock = t.ExternalFunction('clock_gettime', number(number, address))
    call = machine_code.caller(numba)

    @numba.njit(error_model='numpy', _nrt=False)
    def now_ns(spec):  # type: ignore[no-untyped-def]
        clock(_MONOTONIC, spec.ctypes.data)
        return spec[0] * 1_000_000_000 + spec[1]

    @numba.njit(error_model='numpy', _nrt=False)
    def wait_for_reply(  # type: ignore[no-untyped-def]
        numbers, spec, into, polled, controls, longs, long_bytes, floats, float_bytes,
    ):
        """Set controls and whether they are armed; return how it has ended."""
        since = now_ns(spec)
        if numbers[BEGUN] and since > numbers[UNTIL_NS]:
            return LATE
        while True:
            size = receive(numbers[SOCKET], into.ctypes.data, len(into), _DO_NOT_WAIT)
            now = now_ns(spec)
            if size >= 0:
                numbers[WAITED_NS] += now - since
                armed = read_controls(into, size, numbers[SYSTEM], numbers[TIME_US], controls,
                                      longs, long_bytes, floats, float_bytes)
                if armed < 0:
                    numbers[UNREAD] = size
                    return ODD
                numbers[IS_NEXT_ARMED], numbers[UNREAD] = armed, size
                return DONE
            left = since + numbers[LONGEST_NS] - now
            if left <= 0:
                numbers[WAITED_NS] += now - since
                return LATE
            if numbers[SLEEPS]:
                polled[0], polled[1] = numbers[SOCKET], _READABLE
                poll(polled.ctypes.data, 1, (left + _NS_PER_MS - 1) // _NS_PER_MS)

    @numba.njit(error_model='numpy', _nrt=False)
    def take_reply(numbers, answered, is_armed, controls, floats):  # type: ignore[no-untyped-def]
        """Do the same with the reply of an autopilot in this process."""
        for i in range(len(controls)):
            floats[i] = answered[i]        # in 32 bits, as in a frame
            if not -1.0 <= floats[i] <= 1.0:
                return ODD
        for i in range(len(controls)):
            controls[i] = floats[i]
        numbers[IS_NEXT_ARMED] = is_armed[0]
        return DONE

    @numba.njit(error_model='numpy', _nrt=False)
    def answer(  # type: ignore[no-untyped-def]
        numbers, calls, values, time_us, felt, field_t, pressure_pa,
    ):
        """Let an autopilot in this process answer a HIL_SENSOR."""
        sensors = IMU
        time_us[0] = numbers[TIME_US]
        for i in range(6):
            felt[i] = values[i] if i % 3 == 0 else -values[i]
        if numbers[GROUPS] & MAG_GROUP:
            sensors |= MAGNETOMETER
            for i in range(3):
                value = float(values[6 + i])
                field_t[i] = (value if i == 0 else -value) / GAUSS_PER_TESLA
        if numbers[GROUPS] & BARO_GROUP:
            sensors |= BAROMETER
            pressure_pa[0] = float(values[_HPA]) * PA_PER_HPA
        call(calls[5], (calls[6], calls[7], sensors))

    @numba.njit(error_model='numpy', _nrt=False)
    def send_frames(  # type: ignore[no-untyped-def]
        numbers, spec, calls, values, time_us, felt, field_t, pressure_pa, out,
    ):
        """Send the frames of a step; return whether all of their bytes were."""
        numbers[SENT_NS] = now_ns(spec)
        numbers[SEQUENCE] = (numbers[SEQUENCE] + 1) & 0xFF
        if numbers[SOCKET] == HERE:
            answer(numbers, calls, values, time_us, felt, field_t, pressure_pa)
            numbers[SENT] = numbers[LENGTH]
        else:
            numbers[SENT] = send(numbers[SOCKET], out.ctypes.data, numbers[LENGTH],
                                 _NO_SIGNAL | _DO_NOT_WAIT)
        numbers[WAITED_NS] += now_ns(spec) - numbers[SENT_NS]
        return numbers[SENT] == numbers[LENGTH]

    @numba.njit(error_model='numpy', _nrt=False)
    def fly(  # type: ignore[no-untyped-def]
        acts, step, memory, rotors, shaking, imu, accel_noise, gyro_noise, changes, bounds, demand,
        rows, field_noise, pressure_noise, controls, reals, felt, field_t, pressure_pa, answered,
        sensing, numbers, longs, time_us, is_armed, calls, out, into, late, values, floats, polled,
        long_bytes, value_bytes, float_bytes,
    ):
        """Read the reply to the step before a step, or take the step; return how it has ended."""
        spec, count, is_here = numbers[NUMBERS:], numbers[COUNT], numbers[SOCKET] == HERE
        if count == 0:         # no more than the frames that were held
            return DONE if send_frames(
                numbers, spec, calls, values, time_us, felt, field_t, pressure_pa, out) else UNSENT
        has_truth = numbers[HAS_TRUTH] if step == 0 else (
            numbers[TRUTH_US] and numbers[TIME_US] % numbers[TRUTH_US] == 0)
        if not acts:
            x = memory[numbers[STATE_AT]:]
            if has_truth and _middle_of(x[X], x[Y]) != (reals[SQUARE], reals[SQUARE + 1]):
                return ODD                 # another square is wanted
            if numbers[YIELDS]:
                give_way()
            if is_here:
                return take_reply(numbers, answered, is_armed, controls[16:], floats)
            found = wait_for_reply(
                numbers, spec, into, polled, controls[16:], longs, long_bytes, floats, float_bytes)
            if found == DONE and numbers[HEARD] != UNHEARD and receive(
                    numbers[HEARD], 0, 0, _LOOK | _DO_NOT_WAIT) >= 0 and call(
                        calls[10], (numbers[TIME_US],)):
                return LATE                # with the reply unread
            return found
        since = now_ns(spec)
        numbers[UNREAD], numbers[IS_ARMED] = 0, numbers[IS_NEXT_ARMED]
        for i in range(16):
            controls[i] = controls[16 + i]
        state_at, outputs_at = numbers[STATE_AT], numbers[OUTPUTS_AT]
        x, outputs, size = memory[state_at:], memory[outputs_at:], len(memory)
        if step > 0:                       # what is of the step before arrives in this one
            numbers[PREFIX] = numbers[LATE_BYTES]
            for i in range(numbers[LATE_BYTES]):
                out[i] = late[i]
        numbers[LATE_BYTES], numbers[HAS_TRUTH] = 0, has_truth
        if has_truth:
            numbers[PREFIX] = pack_truth(
                out, numbers[PREFIX], numbers[TIME_US], x, outputs, reals, numbers[SEQUENCE],
                numbers[SENDER], floats, float_bytes)
            numbers[SEQUENCE] = (numbers[SEQUENCE] + 1) & 0xFF
        set_references(memory[6:state_at], demand, controls[:16], numbers[IS_ARMED] != 0)
        row = rows[step]
        for i in range(6, state_at):
            row[size + ROW + i - 6] = memory[i]
        for i in range(numbers[CHANGES]):
            at = 6 + int(changes[i, 0])
            if math.isnan(changes[i, 1]):
                memory[at] = changes[i, 2]
            else:
                memory[at] = changes[i, 1] * memory[at]
        for i in range(6):
            imu[ACCEL_NOISE + i] = accel_noise[numbers[ACCEL_AT] + step, i]
            imu[GYRO_NOISE + i] = gyro_noise[numbers[GYRO_AT] + step, i]
        if outputs[IN_VORTEX_RING] > 0.0:
            for i in range(len(rotors)):
                rotors[i, SHAKING] = shaking[numbers[SHAKING_AT], i]
            numbers[SHAKING_AT] += 1
        is_valid = call(calls[0], (
            calls[1], calls[2], calls[3], calls[4], reals[SUBSTEP_S], numbers[SUBSTEPS],
            numbers[IS_RK4]))
        numbers[TIME_US] += numbers[STEP_US]
        numbers[BEGUN] += 1
        for i in range(size):
            row[i] = memory[i]
        if not is_valid:
            return DIVERGED
        if numbers[BOUNDS] and has_met(bounds[:numbers[BOUNDS]], x, outputs, reals):
            return MET
        if step + 1 == count and numbers[STOPS_AT_MOTION]:
            return DONE
        limit_imu(imu, sensing)
        for i in range(6):
            row[size + IMU_SAMPLE + i] = imu[SAMPLE + i]
            values[i] = imu[SAMPLE + i] if i % 3 == 0 else -imu[SAMPLE + i]
        for i in range(6, FLOATS):
            values[i] = 0.0
        numbers[GROUPS] = IMU_GROUPS | measure(
            row[size:], memory, x, outputs, sensing, field_noise, pressure_noise, reals,
            numbers, values, floats)
        if not is_here:
            numbers[LENGTH] = pack_sensor(
                out, numbers[PREFIX], numbers[TIME_US], numbers[GROUPS],
                numbers[SEQUENCE], numbers[SENDER], value_bytes)
        numbers[MODELS_NS] += now_ns(spec) - since
        if step + 1 == count and numbers[HOLDS_LAST]:
            return DONE
        if numbers[TIME_US] == numbers[BEFORE_US]:
            if numbers[TIME_US] < numbers[IDLE_US] and receive(
                    numbers[PILOT], 0, 0, _LOOK | _DO_NOT_WAIT) < 0:
                numbers[BEFORE_US] += numbers[PILOT_US]
            elif call(calls[8], (numbers[TIME_US],)):
                return STOPPED
        if not send_frames(
                numbers, spec, calls, values, time_us, felt, field_t, pressure_pa, out):
            return UNSENT
        if step + 1 < count and numbers[TIME_US] == numbers[CALL_US] and call(
                calls[9], (numbers[TIME_US],)):
            return LATE
        return DONE

    return fly
