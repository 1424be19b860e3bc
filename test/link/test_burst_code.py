# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What compiled code reads and packs is what the encoder and the decoder do."""
import numpy as np
import pytest
from mavlink_frames import controls_frame, px4_greeting
from pymavlink.generator.mavcrc import x25crc

from px4_sim_ros.link.hil import burst_code
from px4_sim_ros.link.hil.codec import HilEncoder
from px4_sim_ros.link.hil.replies import HilDecoder
from px4_sim_ros.model.body.demand import demand_table, set_references
from px4_sim_ros.model.sensors.imu import ImuMeasurement
from px4_sim_ros.spec.files import load_vehicle
from px4_sim_ros.spec.resources import named_files

TIME_US = 123_456_000


def array_and_bytes(values, kind):
    array = np.array(values, kind)
    return array, array.view(np.uint8)


@pytest.mark.parametrize('seed', range(5))
def test_the_check_sum_is_that_of_pymavlink(seed):
    data = np.random.default_rng(seed).integers(0, 256, 80).astype(np.uint8)
    expected = x25crc()
    expected.accumulate(bytes(data[3:70]) + bytes([107]))
    assert burst_code.check_sum(data, 3, 70, 107) == expected.crc


@pytest.mark.parametrize('force, rate', [
    ((0.1, -9.8, 3.0), (1.0, 0.0, -0.0)), ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    ((-1e-30, 1e20, 7.0), (3.4e38, 1.0, 2.0))], ids=str)
@pytest.mark.parametrize('sequence', [0, 255])
def test_a_sensor_frame_is_that_of_the_encoder(force, rate, sequence):
    encoder = HilEncoder()
    encoder.sequence = sequence
    expected = encoder.sensor(TIME_US, ImuMeasurement(TIME_US, force, rate, 0.0, 0.0))
    _, value_bytes = array_and_bytes(
        [force[0], -force[1], -force[2], rate[0], -rate[1], -rate[2], *[0.0] * 7], np.float32)
    out = np.zeros(200, np.uint8)
    end = burst_code.pack_sensor(
        out, 7, TIME_US, burst_code.IMU_GROUPS, sequence, 200 << 8 | 1, value_bytes)
    assert bytes(out[7:end]) == expected


def read(data, system=1, time_us=TIME_US):
    """Return what is read, and the controls."""
    controls = np.full(16, -7.0)
    into = np.zeros(500, np.uint8)
    into[:len(data)] = np.frombuffer(data, np.uint8)
    longs, long_bytes = array_and_bytes([0], np.int64)
    floats, float_bytes = array_and_bytes([0.0] * 16, np.float32)
    return burst_code.read_controls(
        into, len(data), system, time_us, controls, longs, long_bytes, floats, float_bytes,
    ), controls.tolist()


@pytest.mark.parametrize('mode', [1, 129])
def test_controls_are_those_of_the_decoder(mode):
    frame = controls_frame(TIME_US, (0.1, -1.0, 1.0, 0.3), mode=mode)
    expected, = HilDecoder().controls(px4_greeting() + frame)
    assert read(frame) == (int(expected.armed), list(expected.controls))


FRAME = controls_frame(TIME_US, (0.1, 0.2), mode=129)


@pytest.mark.parametrize('data', [
    b'', FRAME[:-1], FRAME + FRAME, px4_greeting(), FRAME[:-1] + bytes([FRAME[-1] ^ 1]),
    b'\xfe' + FRAME[1:], controls_frame(TIME_US + 4000, (0.1, 0.2), mode=129),
    controls_frame(TIME_US, (1.5, 0.2), mode=129), controls_frame(TIME_US, (float('nan'),)),
    controls_frame(TIME_US, (0.1,), mode=129, system=2)], ids=range(10))
def test_all_else_is_left_to_the_decoder(data):
    assert read(data) == (-1, [-7.0] * 16)


@pytest.mark.parametrize('name', sorted(named_files('vehicles')))
def test_references_are_those_of_the_vehicle(name):
    vehicle, random = load_vehicle(name), np.random.default_rng(1)
    table = demand_table(vehicle)
    for i in range(200):
        controls = random.uniform(-1.2, 1.2, 16) * (random.random(16) > 0.2)
        found = np.zeros(vehicle.reference_count)
        set_references(found, table, controls, i % 2 == 1)
        # As texts, which show the sign of a zero.
        assert str(tuple(found.tolist())) == str(
            tuple(vehicle.references(controls.tolist(), i % 2 == 1)))
