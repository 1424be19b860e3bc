# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Logs are read as they were written: axes, rates, gaps, and motor commands by the allocation."""
import json
import math
import os
import pathlib
import re
import struct

import numpy as np
import pytest
import ulog_file

from px4_sim_ros.model.errors import InputWarning, ParameterError
from px4_sim_ros.model.frames import quaternion_enu_flu_to_ned_frd
from px4_sim_ros.model.rotation import from_rotation_vector, multiply
from px4_sim_ros.real import predictions, ulog
from px4_sim_ros.real.flight import has_samples, held
from px4_sim_ros.real.identification import identified
from px4_sim_ros.real.readers import read_flight
from px4_sim_ros.spec.files import load_vehicle
from px4_sim_ros.spec.resources import named_file

pytest.importorskip('pyulog')

# PX4's X quadrotor: front right, back left, front left, back right.
QUAD = [(1.0, 1.0, 0.05), (-1.0, -1.0, 0.05), (1.0, -1.0, -0.05), (-1.0, 1.0, -0.05)]


def quad_parameters():
    return {'CA_ROTOR_COUNT': 4} | {
        f'CA_ROTOR{i}_{key}': value for i, (x, y, km) in enumerate(QUAD) for key, value in {
            'PX': x, 'PY': y, 'PZ': 0.0, 'AX': 0.0, 'AY': 0.0, 'AZ': -1.0, 'CT': 6.5,
            'KM': km}.items()}


def test_the_mixer_of_an_x_quad_is_that_of_px4():
    """By hand: the root of a half for roll and pitch, 1 for yaw and for thrust down."""
    half = math.sqrt(0.5)
    assert ulog.mixer(quad_parameters()) == pytest.approx(np.array([
        [-half, half, 1.0, 0.0, 0.0, -1.0], [half, -half, 1.0, 0.0, 0.0, -1.0],
        [half, half, -1.0, 0.0, 0.0, -1.0], [-half, -half, -1.0, 0.0, 0.0, -1.0]]), abs=1e-12)
    # The lever does not matter, for it is normalised.
    longer = {key: 3.0 * value if key[-2:] in ('PX', 'PY') else value
              for key, value in quad_parameters().items()}
    assert ulog.mixer(longer) == pytest.approx(ulog.mixer(quad_parameters()))
    assert ulog.mixer({}) is None
    # As in the log of a plane, which has no parameters that its PX4 does not use.
    plane = {key: value for key, value in quad_parameters().items() if key[-2:-1] != 'A'}
    assert ulog.mixer(plane) is None


def test_the_thrust_model_is_undone():
    shares = np.linspace(0.0, 1.0, 11)
    sent = ulog.thrust_model(shares, 0.3)
    assert 0.3 * sent ** 2 + 0.7 * sent == pytest.approx(shares)
    assert ulog.thrust_model(shares, 0.0) is shares


def turn(t):
    """Return an attitude, FLU in ENU, that turns about all axes."""
    return multiply(from_rotation_vector((0.0, 0.0, 0.5 * t)), from_rotation_vector(
        (0.2 * math.sin(t), 0.1 * math.cos(t), 0.0)))


def topics(seconds=12.0, jump_s=None):
    """Return the topics of a flight on a circle, at the rates of a usual log."""
    def times(rate):
        return np.arange(0.0, seconds, 1.0 / rate) + 1.0

    def floats(**columns):
        return [('float', name, values) for name, values in columns.items()]

    p, a, w, s = times(10.0), times(20.0), times(50.0), times(50.0)
    q = np.array([quaternion_enu_flu_to_ned_frd(turn(t)) for t in a])
    jumped = (p >= jump_s).astype(int) if jump_s else np.zeros(len(p), int)
    flags = [('uint8_t', f'{name}_reset_counter', jumped if name == 'xy' else 0 * jumped)
             for name in ('xy', 'z', 'vxy', 'vz')]
    valid = [('uint8_t', f'{name}_valid', np.ones(len(p), int)) for name in ('v_xy', 'v_z')]
    us = 1e6
    thrust, torque = ({f'xyz[{i}]': values for i, values in enumerate(columns)} for columns in (
        (0.0 * s, 0.0 * s, -0.5 - 0.1 * np.sin(s)),
        (0.1 * np.sin(3.0 * s), 0.0 * s + 0.02, -0.01 * np.cos(s))))
    return {
        # North, east, down.
        'vehicle_local_position': (us * p, floats(
            x=5.0 * np.cos(p), y=5.0 * np.sin(p), z=-10.0 - p, vx=-5.0 * np.sin(p),
            vy=5.0 * np.cos(p), vz=0.0 * p - 1.0, ref_alt=0.0 * p + 400.0) + flags + valid),
        'vehicle_attitude': (us * a, floats(**{f'q[{i}]': q[:, i] for i in range(4)})),
        'vehicle_angular_velocity': (us * w, floats(**{
            'xyz[0]': np.sin(w), 'xyz[1]': np.cos(w), 'xyz[2]': 0.0 * w + 0.3})),
        'vehicle_thrust_setpoint': (us * s, floats(**thrust)),
        'vehicle_torque_setpoint': (us * s, floats(**torque)),
        'battery_status': (us * times(5.0), floats(
            voltage_v=16.0 - 0.1 * times(5.0), current_a=10.0 + times(5.0)))}


def test_a_ulog_in_our_axes(tmp_path):
    path = tmp_path / 'circle.ulg'
    ulog_file.write(path, topics(), quad_parameters().items(), [('ver_hw', 'PX4_TEST')])
    flight = read_flight(path)
    assert flight.period_s == 0.01 and flight.usable[10:-10].all() and flight.name == 'circle'
    t = 1.0 + flight.time_s
    # East, north, up.
    assert flight.position_m == pytest.approx(
        np.stack((5.0 * np.sin(t), 5.0 * np.cos(t), 10.0 + t), axis=1), abs=1e-4)
    assert flight.velocity_m_s == pytest.approx(
        np.stack((5.0 * np.cos(t), -5.0 * np.sin(t), 1.0 + 0.0 * t), axis=1), abs=0.01)
    true = np.array([turn(x) for x in t])
    assert np.abs(np.sum(true * flight.attitude, axis=1)) == pytest.approx(1.0, abs=1e-6)
    # Forward, left, up.
    assert flight.rate_rad_s == pytest.approx(
        np.stack((np.sin(t), -np.cos(t), -0.3 + 0.0 * t), axis=1), abs=1e-3)
    middle = t + 0.005
    roll, yaw, lift = 0.1 * np.sin(3.0 * middle), -0.01 * np.cos(middle), 0.5 + 0.1 * np.sin(middle)
    half = math.sqrt(0.5)
    assert flight.commands[:-5, 0] == pytest.approx(
        (lift + half * (0.02 - roll) + yaw)[:-5], abs=1e-3)
    assert flight.bus_voltage_v == pytest.approx(16.0 - 0.1 * t, abs=0.03)
    assert flight.environment.home_altitude_m == 400.0
    assert ('airframe', '0') in flight.facts and any('wind' in one for one in flight.unknown)


def test_a_jump_of_the_estimate_is_not_flown_over(tmp_path):
    path = tmp_path / 'jump.ulg'
    ulog_file.write(path, topics(jump_s=6.0), quad_parameters().items())
    flight = read_flight(path)
    jump = 1.0 + flight.time_s[~flight.usable]
    jump = jump[(jump > 2.0) & (jump < 12.0)]
    assert len(jump) and jump.min() >= 5.89 and jump.max() < 6.0
    length = round(0.5 / flight.period_s)
    first = 1.0 + flight.time_s[flight.starts(length, 1)]
    assert not ((first < 6.0) & (first + 0.5 >= 5.95)).any()


def test_no_sample_is_behind_the_end_by_rounding(tmp_path):
    """From 1 s to 4.4 s every 10 ms NumPy's `arange` goes on to 4.4 s and a rounding error."""
    assert np.arange(1.0, 4.4, 0.01)[-1] > 4.4
    path = tmp_path / 'short.ulg'
    ulog_file.write(path, topics(seconds=3.45), quad_parameters().items())
    assert read_flight(path).samples == 340


def test_without_an_allocation_motors_are_those_of_the_log(tmp_path):
    table = topics()
    times = table['vehicle_torque_setpoint'][0][::5]
    table['actuator_motors'] = times, [
        ('float', f'control[{i}]', 0.5 + 0.1 * i * np.sin(times / 1e6)) for i in range(1, 5)]
    ulog_file.write(tmp_path / 'old.ulg', table, [('THR_MDL_FAC', 0.0)])
    flight = read_flight(tmp_path / 'old.ulg')
    assert flight.commands.shape[1] == 4
    assert flight.commands[:-20, 1] == pytest.approx(
        0.5 + 0.2 * np.sin(1.005 + flight.time_s)[:-20], abs=2e-3)
    assert ('motor commands', 'actuator_motors, 10 Hz') in flight.facts


def test_rebuilt_commands_are_compared_with_what_turned(tmp_path, recwarn):
    """With all motors at half there is a figure, with all at rest there is none, and no warning."""
    table, said = topics(), []
    times = table['vehicle_torque_setpoint'][0]
    for share in 0.5, 0.0:
        table['actuator_motors'] = times, [
            ('float', f'control[{i}]', share + 0.0 * times) for i in range(4)]
        ulog_file.write(tmp_path / 'log.ulg', table, quad_parameters().items())
        said.append([text for _, text in read_flight(tmp_path / 'log.ulg').facts
                     if 'logged samples' in text])
    assert [len(texts) for texts in said] == [1, 0] and 'nan' not in said[0][0]
    assert not recwarn.list


def test_a_motor_without_a_number_is_stopped(tmp_path):
    """PX4 has no number for a motor that is not there, and none for one before it is armed."""
    table = topics()
    times = table['vehicle_torque_setpoint'][0][::5]
    armed = np.where(times < 4e6, math.nan, 0.5)
    table['actuator_motors'] = times, [
        ('float', 'control[0]', armed), ('float', 'control[1]', math.nan * armed)]
    ulog_file.write(tmp_path / 'plane.ulg', table)
    flight = read_flight(tmp_path / 'plane.ulg')
    t = 1.0 + flight.time_s
    assert flight.commands.shape[1] == 1
    assert set(flight.commands[t < 3.8, 0]) == {0.0} and set(flight.commands[t > 4.1, 0]) == {0.5}
    table['actuator_motors'] = times, [('float', 'control[0]', math.nan * armed)]
    ulog_file.write(tmp_path / 'rover.ulg', table)
    with pytest.raises(ParameterError, match='log rover: actuator_motors has no motor that is com'):
        read_flight(tmp_path / 'rover.ulg')


@pytest.mark.parametrize(('name', 'content', 'why'), [
    ('gone.ulg', None, 'No such file or directory'),
    ('log.txt', b'', 'must be a folder that was recorded with --record, or end with'),
    ('log.ulg', b'no log', 'no ULog')])
def test_what_is_no_log_is_one_sentence(name, content, why, tmp_path):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ParameterError) as raised:
        read_flight(path)
    assert str(raised.value).startswith(f'log {path}: ') and why in str(raised.value)


def test_a_log_that_is_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(path := tmp_path / 'log.ulg')
    with pytest.raises(ParameterError) as raised:
        read_flight(path)
    assert str(raised.value) == f'log {path}: no ULog: is no regular file'


def twice_and_swapped(table):
    """Repeat a row of the position and swap two rows of the attitude."""
    for name, rows in ('vehicle_local_position', [*range(60), 59, *range(60, 120)]), (
            'vehicle_attitude', [*range(100), 101, 100, *range(102, 240)]):
        times, fields = table[name]
        table[name] = times[rows], [(kind, field, values[rows]) for kind, field, values in fields]


def write_as_it_stands(path, table):
    """Write rows in the order of their tables: the helper sorts by time of reception."""
    stamped = {}
    for name, (times, fields) in table.items():
        order = np.sort(times)
        stamped[name] = order, [('uint64_t', 'timestamp_sample', times.astype(int)), *fields]
    ulog_file.write(path, stamped, quad_parameters().items())


def test_rows_that_are_twice_or_swapped_are_sorted_and_dropped(tmp_path):
    table = topics()
    write_as_it_stands(tmp_path / 'log.ulg', table)
    whole = read_flight(tmp_path / 'log.ulg')
    twice_and_swapped(table)
    write_as_it_stands(tmp_path / 'log.ulg', table)
    found = read_flight(tmp_path / 'log.ulg')
    assert whole.repaired == '' and found.repaired == (
        'log log: repaired by time and value: vehicle_local_position 0 sorted, 1 dropped;'
        ' vehicle_attitude 1 sorted, 0 dropped')
    assert found.position_m.tolist() == whole.position_m.tolist()
    assert found.attitude.tolist() == whole.attitude.tolist()


@pytest.mark.parametrize(('topic', 'value'), [
    ('vehicle_attitude', 0.0), ('vehicle_attitude', math.nan), ('vehicle_local_position', math.nan),
    ('vehicle_local_position', 1e30), ('vehicle_angular_velocity', math.inf),
    ('vehicle_torque_setpoint', math.nan), ('battery_status', math.nan)])
def test_a_row_that_is_no_motion_is_dropped(topic, value, tmp_path):
    """Zero quaternion, NaN, out of all bounds; what is left is flown."""
    table = topics()
    times, fields = table[topic]
    table[topic] = times, [
        (kind, name, np.where(np.arange(len(values)) == 40, value, values))
        if kind == 'float' else (kind, name, values) for kind, name, values in fields]
    ulog_file.write(tmp_path / 'log.ulg', table, quad_parameters().items())
    flight = read_flight(tmp_path / 'log.ulg')
    assert flight.repaired == f'log log: repaired by time and value: {topic} 0 sorted, 1 dropped'
    for values in (flight.position_m, flight.attitude, flight.rate_rad_s, flight.commands,
                   flight.bus_voltage_v):
        assert np.isfinite(values).all()


@pytest.mark.parametrize(('change', 'why'), [
    (lambda times: times[:1], 'has no vehicle_attitude'),
    (lambda times: 0.0 * times + 5e6, 'vehicle_attitude has 1 rows that can be used, of'),
    (lambda times: times + 100e6, 'have no time in common')])
def test_times_that_are_none_are_one_sentence(change, why, tmp_path):
    table = topics()
    times, fields = table['vehicle_attitude']
    new = change(times)
    table['vehicle_attitude'] = new, [(k, n, v[:len(new)]) for k, n, v in fields]
    ulog_file.write(tmp_path / 'log.ulg', table, quad_parameters().items())
    with pytest.raises(ParameterError, match=why):
        read_flight(tmp_path / 'log.ulg')


@pytest.mark.parametrize('change, what', [
    (lambda data: data[:len(data) * 6 // 10 + 1], 'ends too early'),
    # What a loss of power leaves: ten million messages of no length.
    (lambda data: data + bytes(30 << 20), 'ends too early'),
    (lambda data: data[:len(data) // 2] + bytes(100) + data[len(data) // 2 + 100:], 'is damaged')])
def test_a_log_that_is_cut_or_damaged_says_so(change, what, tmp_path):
    path = tmp_path / 'log.ulg'
    path.write_bytes(change(LOG.read_bytes()))
    with pytest.warns(InputWarning) as told:
        flight = read_flight(path)
    said, = {str(one.message) for one in told}
    assert re.fullmatch(rf'log {path}: {what}; \d\d\d\d rows of it could be read', said)
    # For the page, the summary and the JSON file.
    assert flight.repaired.startswith(said)


def test_a_log_cut_to_less_than_a_take_off_is_read(tmp_path):
    """Shorter than the 4 s around a landing, over which it looks."""
    table = topics(seconds=1.0)
    times = table['vehicle_attitude'][0]
    table['vehicle_land_detected'] = times, [('uint8_t', 'landed', 0 * times.astype(int))]
    ulog_file.write(tmp_path / 'log.ulg', table, quad_parameters().items())
    assert read_flight(tmp_path / 'log.ulg').usable.any()


def test_a_log_that_ends_in_a_message_of_no_kind_is_not_read_for_ever(tmp_path):
    """From the end of the file pyulog would go back to the message before, again and again."""
    path = tmp_path / 'log.ulg'
    ulog_file.write(path, {}, quad_parameters().items())
    before, there = ulog_file.text('P', 'MPC_XY_P', 0.9), bytes(5)
    no_kind = struct.pack('<HB', len(before) + 1 + len(there), 0) + there
    path.write_bytes(path.read_bytes() + before + no_kind)
    with (pytest.warns(InputWarning, match='; 0 rows of it could be read$'),
          pytest.raises(ParameterError, match='has no vehicle_local_position')):
        read_flight(path)


@pytest.mark.filterwarnings('error::RuntimeWarning')
def test_a_signalling_nan_is_a_row_that_cannot_be_used(tmp_path):
    path, table, marked = tmp_path / 'log.ulg', topics(), 12345.5
    times, fields = table['vehicle_local_position']
    kind, name, values = fields[0]
    values = np.array(values, float)
    values[5] = marked
    table['vehicle_local_position'] = times, [(kind, name, values), *fields[1:]]
    ulog_file.write(path, table, quad_parameters().items())
    path.write_bytes(path.read_bytes().replace(
        struct.pack('<f', marked), struct.pack('<I', 0x7fa00000), 1))
    assert '1 dropped' in read_flight(path).repaired


def test_a_log_without_a_topic_names_it(tmp_path):
    table = topics()
    del table['vehicle_attitude']
    ulog_file.write(tmp_path / 'log.ulg', table)
    with pytest.raises(ParameterError, match='log log: has no vehicle_attitude'):
        read_flight(tmp_path / 'log.ulg')


def test_values_are_held_and_gaps_are_seen():
    times = np.array([0.0, 0.1, 0.2, 1.0, 1.1])
    grid = np.array([-0.1, 0.05, 0.15, 0.5, 1.05, 1.2])
    assert held(times, np.arange(5.0), grid).tolist() == [0.0, 0.0, 1.0, 2.0, 3.0, 4.0]
    assert has_samples(times, grid).tolist() == [False, True, True, False, True, False]


# A real flight through `validate` and `identify`: a cut of a log of docs/journal/validation.md.

pytest.importorskip('pyulog')
LOG = pathlib.Path(__file__).with_name('data') / 'x500_v2_cut.ulg'
ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / 'docs' / 'journal' / 'validation.md').read_text('utf-8')
THRUST, INERTIA = 'rotor_model.thrust_coefficient_n_s2', 'body.inertia_kg_m2[0]'


@pytest.fixture(scope='module')
def flight():
    return read_flight(LOG)


def of_page(name):
    """Return what the page says of the whole log, and of the model as it came."""
    row = re.search(rf'^\| {name} \| ([\d.]+)[^|]* \| ([\d.]+) ', PAGE, re.M)
    return float(row[1]), float(row[2])


def test_steady_flight_is_that_of_the_page(here, tmp_path):
    """The cut is the first third of the flight, and not far from the whole."""
    told = here('validate', LOG, '--vehicle', 'x500', '--report', tmp_path / 'x.html', '--json',
                tmp_path / 'x.json')
    assert told.returncode == 0, told.stderr
    found = json.loads((tmp_path / 'x.json').read_text())
    for name, what in ('motor command in hover', 'motor command in hover'), (
            'current, mean, A', 'current, mean'):
        log, model = of_page(name)
        assert found['steady'][what]['log'] == pytest.approx(log, rel=0.01)
        assert found['steady'][what]['model'] == pytest.approx(model, rel=0.03)
    assert list(found['starts']) == ['0.1 s', '0.5 s', '2 s']
    assert list(found['starts'].values()) == sorted(found['starts'].values(), reverse=True)
    assert 'wind: taken as still air' in found['unknown']


def test_inertia_is_refused(flight):
    with pytest.raises(ParameterError, match=(
            r'fit body\.inertia_kg_m2\[0\]: the log does not determine it: its motors explain')):
        identified([flight], 'x500', named_file('vehicles', 'x500').read_text('utf-8'), 'mine',
                   [THRUST, INERTIA])


def test_nothing_is_flown_over_a_break(flight):
    """Set points are lost eight times a minute; each start has all up to the end of its window."""
    broken_s = flight.time_s[~flight.usable]
    assert len(np.flatnonzero(np.diff(flight.usable.astype(int)) == 1)) > 5
    found = predictions.errors(flight, load_vehicle('x500'))
    assert found.horizons_s == predictions.HORIZONS_S
    for horizon_s, starts_s in zip(found.horizons_s, found.starts_s):
        first, last = starts_s[:, None] - predictions.PAST_S, starts_s[:, None] + horizon_s
        assert not ((broken_s > first) & (broken_s < last)).any()


def test_its_gains_and_filters_are_known(flight):
    """Those of PX4's airframe of the X500 V2, and not what finds gains by itself."""
    assert dict(flight.px4_tuning) == {
        'IMU_GYRO_CUTOFF': 30.0, **{f'MC_{axis}RATE_{gain}': value
                                    for axis in ('PITCH', 'ROLL')
                                    for gain, value in (('D', 0.004), ('I', 0.3), ('P', 0.14))}}
