# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Steps with an autopilot as machine code: reply, motion, sensors, frame, one after the other.

What is not as usual ends it: the frame of the last step is out then, or still to be sent, and its
reply is read in Python. Frames are MAVLink 2, not signed; MAVLink's numbers of messages and check
sums are pymavlink's.
"""
from __future__ import annotations

import ctypes
import functools
import typing

import numpy as np
from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.jit import machine_code
from px4_sim_ros.jit.code_cache import BURST
from px4_sim_ros.jit.compiled import compiled
from px4_sim_ros.link.hil.codec import (
    BARO_GROUP,
    GAUSS_PER_TESLA,
    IMU_GROUPS,
    MAG_GROUP,
    PA_PER_HPA,
    ModeFlag,
)
from px4_sim_ros.model.body.demand import set_references
from px4_sim_ros.model.body.felt import ACCEL_NOISE, GYRO_NOISE, SAMPLE
from px4_sim_ros.model.body.motion import advance
from px4_sim_ros.model.body.motion_memory import BUS_CURRENT, IN_VORTEX_RING, layout
from px4_sim_ros.model.body.plant import Plant
from px4_sim_ros.model.environment import atmosphere
from px4_sim_ros.model.sensors.sensing import (
    limit_imu,
    magnetic_field_t,
    sensing_record,
    static_pressure_pa,
)

# How a burst has ended.
DONE, LATE, ODD, UNSENT, DIVERGED = range(5)
"""All steps were sent; no reply came; bytes came that are no plain reply; the frames of the last
step were not sent as a whole; the motion has left all bounds."""

# Numbers of a burst, 64-bit integers. What is given:
(SOCKET, STEP_US, COUNT, SEQUENCE, SENDER, SYSTEM, LONGEST_NS, SLEEPS, YIELDS, HOLDS_LAST, MEASURED,
 PREFIX, ACCEL_AT, GYRO_AT, SUBSTEPS, IS_RK4,
 # what changes: the time of the step that waits for its reply, in us,
 TIME_US,
 # and what is found: the steps that were begun, how it has ended, bytes of the last frames, those
 # of them that were sent, bytes that were read and not used, whether the last reply is armed, when
 # the last frames were sent, how long replies were waited for, and how long the models took.
 BEGUN, ENDED, LENGTH, SENT, UNREAD, IS_ARMED, SENT_NS, WAITED_NS, MODELS_NS,
 NUMBERS) = range(27)
# In `MEASURED`: what is measured in the last step beside the IMU.
MEASURES_FIELD, MEASURES_PRESSURE, PUBLISHES_BATTERY = 1, 2, 4
# Real numbers of a burst: the length of a substep, and the current that was published last.
SUBSTEP_S, CURRENT_A, REALS = range(3)

# Values of a row behind the memory of the motion: the IMU's sample, the field, the pressure.
IMU_SAMPLE, FIELD, PRESSURE, ROW = 0, 6, 9, 10
# Floats of a HIL_SENSOR: three each of force, rate and field, then these.
_HPA, _DIFFERENTIAL_HPA, _ALTITUDE, _TEMPERATURE, FLOATS = 9, 10, 11, 12, 13

_SENSOR, _CONTROLS = (
    mavlink.MAVLink_hil_sensor_message, mavlink.MAVLink_hil_actuator_controls_message)
_SENSOR_ID, _SENSOR_EXTRA, _SENSOR_BYTES = _SENSOR.id, _SENSOR.crc_extra, _SENSOR.unpacker.size
_CONTROLS_ID, _CONTROLS_EXTRA, _CONTROLS_BYTES = (
    _CONTROLS.id, _CONTROLS.crc_extra, _CONTROLS.unpacker.size)
_MARKER, _HEADER, _FRAME = mavlink.PROTOCOL_MARKER_V2, 10, 12
_FIELDS_AT, _CONTROLS_AT, _MODE_AT = 60, 16, 80      # in the payloads
_ARMED = int(ModeFlag.ARMED)
_DO_NOT_WAIT, _NO_SIGNAL, _READABLE, _MONOTONIC = 0x40, 0x4000, 1, 1       # of Linux
_NS_PER_MS = 1_000_000

_layout = compiled(layout)
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
    sender: int, longs: np.ndarray, long_bytes: np.ndarray, value_bytes: np.ndarray,
) -> int:
    """Write a HIL_SENSOR of id 0; return where it ends.

    :param sender: its system, and 256 times its component
    :param longs: (1,), for its bytes
    :param value_bytes: of (13,) 32-bit floats
    """
    body: int = at + _HEADER
    longs[0] = time_us
    for i in range(8):
        out[body + i] = long_bytes[i]
    for i in range(4 * FLOATS):
        out[body + 8 + i] = value_bytes[i]
    for i in range(4):
        out[body + _FIELDS_AT + i] = (fields >> (8 * i)) & 0xFF
    out[body + _SENSOR_BYTES - 1] = 0
    length = _SENSOR_BYTES
    while length > 1 and out[body + length - 1] == 0:
        length -= 1
    out[at], out[at + 1], out[at + 2], out[at + 3] = _MARKER, length, 0, 0
    out[at + 4], out[at + 5], out[at + 6] = sequence, sender & 0xFF, sender >> 8
    for i in range(3):
        out[at + 7 + i] = (_SENSOR_ID >> (8 * i)) & 0xFF
    summed = check_sum(out, at + 1, body + length, _SENSOR_EXTRA)
    out[body + length], out[body + length + 1] = summed & 0xFF, summed >> 8
    end: int = body + length + 2
    return end


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
    field_errors: np.ndarray, pressure_errors: np.ndarray, current_a: float, time_us: int,
    measured: int, values: np.ndarray, floats: np.ndarray,
) -> int:
    """Set a row's field and pressure and their floats of a HIL_SENSOR; return its groups of these.

    :param measured: which are due
    :param current_a: that was published before this step
    :param floats: (16,) of 32 bits, changes
    """
    fields = 0
    if measured & PUBLISHES_BATTERY:
        floats[0] = outputs[BUS_CURRENT]       # in 32 bits, as it is published
        current_a = float(floats[0])
    if measured & MEASURES_FIELD:
        mx, my, mz = magnetic_field_t(x, sensing, field_errors, current_a)
        row[FIELD], row[FIELD + 1], row[FIELD + 2] = mx, my, mz
        values[6], values[7], values[8] = (
            mx * GAUSS_PER_TESLA, -my * GAUSS_PER_TESLA, -mz * GAUSS_PER_TESLA)
        fields |= MAG_GROUP
    if measured & MEASURES_PRESSURE:
        pressure = static_pressure_pa(
            x, (outputs[0], outputs[1], outputs[2]), (memory[0], memory[1], memory[2]), time_us,
            sensing, pressure_errors)
        row[PRESSURE] = pressure
        fields |= BARO_GROUP
        values[_HPA] = pressure / PA_PER_HPA
        positive = max(pressure, 0.0)
        c = sensing[0]
        values[_ALTITUDE] = _pressure_altitude_m(
            positive, _STANDARD_PRESSURE_PA, _STANDARD_TEMPERATURE_K)
        altitude = _pressure_altitude_m(
            positive, c.sea_level_pressure_pa, c.sea_level_temperature_k)
        values[_TEMPERATURE] = (
            c.sea_level_temperature_k - _LAPSE_RATE * altitude) - _ZERO_CELSIUS
    return fields


_STANDARD_PRESSURE_PA = atmosphere.STANDARD.sea_level_pressure_pa
_STANDARD_TEMPERATURE_K = atmosphere.STANDARD.sea_level_temperature_k
_LAPSE_RATE, _ZERO_CELSIUS = atmosphere.LAPSE_RATE_K_M, atmosphere.KELVIN_AT_ZERO_CELSIUS


class Burst(typing.NamedTuple):
    """The arrays of a burst, which have to stay where they are."""

    memory: np.ndarray             # of the motion, as are the next seven
    rotors: np.ndarray
    surfaces: np.ndarray
    actuators: np.ndarray
    feet: np.ndarray
    anchors: np.ndarray
    work: np.ndarray
    imu: np.ndarray                # see `body.felt`
    accel_noise: np.ndarray        # rows to come
    gyro_noise: np.ndarray
    demand: np.ndarray             # from `demand_table`
    rows: np.ndarray               # (most steps, memory and ROW)
    field_errors: np.ndarray       # the row of the next sample
    pressure_errors: np.ndarray
    controls: np.ndarray           # (16,), of the last reply
    reals: np.ndarray
    constants: np.ndarray          # records
    packs: np.ndarray
    sensing: np.ndarray
    numbers: np.ndarray            # of integers, and two for the time
    longs: np.ndarray              # (1,)
    out: np.ndarray                # bytes: begins with what goes before the first frame
    into: np.ndarray               # bytes
    values: np.ndarray             # (13,) of 32 bits
    floats: np.ndarray             # (16,) of 32 bits
    polled: np.ndarray             # (2,), 32-bit integers


_DOUBLES = 16      # of the arrays, at first


def function_of(burst: Burst) -> typing.Callable[[], int]:
    """Return a function that runs a burst; it releases the interpreter meanwhile."""
    doubles, rest = burst[:_DOUBLES], burst[_DOUBLES:]
    assert all(array.flags.c_contiguous for array in burst)
    shape = [n for array in doubles for n in (array.shape + (1,))[:2]]
    shape += [len(burst.packs), len(burst.out), len(burst.into)]
    where = (
        (ctypes.c_void_p * len(doubles))(*(array.ctypes.data for array in doubles)),
        (ctypes.c_int64 * len(shape))(*shape),
        *(ctypes.c_void_p(array.ctypes.data) for array in rest),
        # The same memory as bytes.
        *(ctypes.c_void_p(array.ctypes.data)
          for array in (burst.longs, burst.values, burst.floats)))
    address = _address(burst.constants.dtype, burst.packs.dtype, burst.sensing.dtype)
    return functools.partial(
        ctypes.CFUNCTYPE(ctypes.c_int64, *map(type, where))(address), *where)


def prepare(plant: Plant) -> None:
    """Make the machine code if none is kept, and load it.

    :param plant: of any vehicle
    """
    _address(plant.constants.dtype, plant.packs.dtype, sensing_record().dtype)


@functools.cache
def _address(
    constants: np.dtype[typing.Any], pack: np.dtype[typing.Any], sensing: np.dtype[typing.Any],
) -> int:
    """Return the address of the machine code, for records of these types."""
    return machine_code.load(BURST, functools.partial(_make, constants, pack, sensing))


def _make(
    constants: np.dtype[typing.Any], pack: np.dtype[typing.Any], sensing: np.dtype[typing.Any],
    numba: typing.Any,
) -> tuple[typing.Any, typing.Any]:
    """Return signature and function."""
    t, carray, fly = numba.types, numba.carray, _fly(numba)

    def entry(  # type: ignore[no-untyped-def]
        where, shape, of_constants, of_packs, of_sensing, numbers, longs, out, into, values,
        floats, polled, long_bytes, value_bytes, float_bytes,
    ):
        return fly(
            carray(where[0], shape[0]), carray(where[1], (shape[2], shape[3])),
            carray(where[2], (shape[4], shape[5])), carray(where[3], (shape[6], shape[7])),
            carray(where[4], (shape[8], shape[9])), carray(where[5], (shape[10], shape[11])),
            carray(where[6], (shape[12], shape[13])), carray(where[7], shape[14]),
            carray(where[8], (shape[16], shape[17])), carray(where[9], (shape[18], shape[19])),
            carray(where[10], (shape[20], shape[21])), carray(where[11], (shape[22], shape[23])),
            carray(where[12], shape[24]), carray(where[13], shape[26]),
            carray(where[14], shape[28]), carray(where[15], shape[30]), carray(of_constants, 1),
            carray(of_packs, shape[32]), carray(of_sensing, 1), carray(numbers, NUMBERS + 2),
            carray(longs, 1), carray(out, shape[33]), carray(into, shape[34]),
            carray(values, FLOATS), carray(floats, 16), carray(polled, 2), carray(long_bytes, 8),
            carray(value_bytes, 4 * FLOATS), carray(float_bytes, 64))

    records = (t.CPointer(numba.from_dtype(d)) for d in (constants, pack, sensing))
    long, byte, single = t.CPointer(t.int64), t.CPointer(t.uint8), t.CPointer(t.float32)
    return t.int64(
        t.CPointer(t.CPointer(t.float64)), long, *records, long, long, byte, byte, single, single,
        t.CPointer(t.int32), byte, byte, byte), entry


def _fly(numba: typing.Any) -> typing.Any:
    """Return the loop, which calls the system by the names of the C library."""
    t = numba.types
    address, number = t.uintp, t.intc
    receive = t.ExternalFunction('recv', t.intp(number, address, address, number))
    send = t.ExternalFunction('send', t.intp(number, address, address, number))
    poll = t.ExternalFunction('poll', number(address, address, number))
    give_way = t.ExternalFunction('sched_yield', number())
    clock = t.ExternalFunction('clock_gettime', number(number, address))

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
                numbers[IS_ARMED] = armed
                return DONE
            left = since + numbers[LONGEST_NS] - now
            if left <= 0:
                numbers[WAITED_NS] += now - since
                return LATE
            if numbers[SLEEPS]:
                polled[0], polled[1] = numbers[SOCKET], _READABLE
                poll(polled.ctypes.data, 1, (left + _NS_PER_MS - 1) // _NS_PER_MS)

    @numba.njit(error_model='numpy', _nrt=False)
    def fly(  # type: ignore[no-untyped-def]
        memory, rotors, surfaces, actuators, feet, anchors, work, imu, accel_noise, gyro_noise,
        demand, rows, field_errors, pressure_errors, controls, reals, constants, packs, sensing,
        numbers, longs, out, into, values, floats, polled, long_bytes, value_bytes, float_bytes,
    ):
        state_at, angles_at, outputs_at = _layout(len(rotors), len(actuators), len(packs))
        x, outputs, size = memory[state_at:angles_at], memory[outputs_at:], len(memory)
        spec, count = numbers[NUMBERS:], numbers[COUNT]
        numbers[BEGUN] = numbers[WAITED_NS] = numbers[MODELS_NS] = numbers[UNREAD] = 0
        ended = DONE
        for step in range(count):
            if numbers[YIELDS]:
                give_way()
            ended = wait_for_reply(
                numbers, spec, into, polled, controls, longs, long_bytes, floats, float_bytes)
            if ended != DONE:
                break
            since, is_last = now_ns(spec), step + 1 == count
            set_references(memory[6:state_at], demand, controls, numbers[IS_ARMED] != 0)
            for i in range(6):
                imu[ACCEL_NOISE + i] = accel_noise[numbers[ACCEL_AT] + step, i]
                imu[GYRO_NOISE + i] = gyro_noise[numbers[GYRO_AT] + step, i]
            is_valid = advance(
                memory, constants, rotors, surfaces, actuators, packs, feet, anchors, work, imu,
                reals[SUBSTEP_S], numbers[SUBSTEPS], numbers[IS_RK4] != 0)
            numbers[TIME_US] += numbers[STEP_US]
            numbers[BEGUN] += 1
            row = rows[step]
            for i in range(size):
                row[i] = memory[i]
            if not is_valid:
                ended = DIVERGED
                break
            limit_imu(imu, sensing)
            for i in range(6):
                row[size + IMU_SAMPLE + i] = imu[SAMPLE + i]
                values[i] = imu[SAMPLE + i] if i % 3 == 0 else -imu[SAMPLE + i]
            for i in range(6, FLOATS):
                values[i] = 0.0
            fields = IMU_GROUPS
            if is_last:
                fields |= measure(
                    row[size:], memory, x, outputs, sensing, field_errors, pressure_errors,
                    reals[CURRENT_A], numbers[TIME_US], numbers[MEASURED], values, floats)
            numbers[LENGTH] = pack_sensor(
                out, numbers[PREFIX] if step == 0 else 0, numbers[TIME_US], fields,
                numbers[SEQUENCE], numbers[SENDER], longs, long_bytes, value_bytes)
            numbers[SENT_NS] = now_ns(spec)
            numbers[MODELS_NS] += numbers[SENT_NS] - since
            if is_last and numbers[HOLDS_LAST]:
                break
            numbers[SEQUENCE] = (numbers[SEQUENCE] + 1) & 0xFF
            numbers[SENT] = send(numbers[SOCKET], out.ctypes.data, numbers[LENGTH],
                                 _NO_SIGNAL | _DO_NOT_WAIT)
            numbers[WAITED_NS] += now_ns(spec) - numbers[SENT_NS]
            if numbers[SENT] != numbers[LENGTH]:
                ended = UNSENT
                break
            if outputs[IN_VORTEX_RING] > 0.0:
                break
        numbers[ENDED] = ended
        return ended

    return fly
