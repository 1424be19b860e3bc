# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What actions make of a measurement, against what a formula says."""
import dataclasses
import functools
import math

import numpy as np
import pytest
from verification import plants

from px4_sim_ros.model.environment.geodesy import GeodeticPosition
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.faults.action import Fault, FaultChain, Subject
from px4_sim_ros.model.faults.actions import (
    ACTIONS,
    faults_from_plain,
    faults_to_plain,
    read_action,
)
from px4_sim_ros.model.sensors.airspeed import DifferentialPressureMeasurement
from px4_sim_ros.model.sensors.barometer import PressureMeasurement
from px4_sim_ros.model.sensors.gnss import FixType, GnssMeasurement
from px4_sim_ros.model.sensors.imu import ImuMeasurement
from px4_sim_ros.model.sensors.magnetometer import MagneticFieldMeasurement
from px4_sim_ros.model.sensors.optical_flow import FlowMeasurement
from px4_sim_ros.model.sensors.range_finder import RangeMeasurement
from px4_sim_ros.model.sensors.visual_odometry import VisualOdometryMeasurement

SINCE_US, STEP_US = 12_000_000, 20_000
EAST, NORTH, UP = (100.0, 200.0, 30.0)


@functools.cache
def place_in(frame):
    return frame.to_geodetic((EAST, NORTH, UP))


def measured(sensor, time_us, world):
    """Return a measurement whose numbers are the time in s, and a little more on each axis."""
    t = time_us * 1e-6
    vector = t, t + 1.0, t + 2.0
    return {
        'imu': lambda: ImuMeasurement(time_us, vector, (t + 3.0, t + 4.0, t + 5.0), 0.1, 0.2),
        'magnetometer': lambda: MagneticFieldMeasurement(time_us, vector, 0.1),
        'barometer': lambda: PressureMeasurement(time_us, t, 1.0),
        'airspeed': lambda: DifferentialPressureMeasurement(time_us, t, 1.0),
        'range_finder': lambda: RangeMeasurement(time_us, t, 0.1, 0.0, 50.0, 0.0, 'down'),
        'optical_flow': lambda: FlowMeasurement(time_us, vector, STEP_US),
        'visual_odometry': lambda: VisualOdometryMeasurement(
            time_us, vector, (1.0, 0.0, 0.0, 0.0), vector, 0.1, 0.1, 0.1),
        'gps': lambda: GnssMeasurement(
            time_us, place_in(world.local_frame()), vector, 0.9, 1.8),
    }[sensor]()


class Faulty:
    """A sensor at which one action is in force from SINCE_US on."""

    def __init__(self, world, kind, before=3, **values):
        self.world, self.sensor = world, values.get('sensor', 'gps')
        self.action = read_action('test', kind, values, {})
        self.chain = FaultChain(self.sensor, world, plants.iris())
        self.faults = (Fault('event', SINCE_US, self.action),)
        for i in range(before, 0, -1):
            self.last = self.true(-i)
            assert self.chain.of(self.last.time_us, self.last, ()) is self.last

    def true(self, step):
        return measured(self.sensor, SINCE_US + step * STEP_US, self.world)

    def __call__(self, step):
        truth = self.true(step)
        found = self.chain.of(truth.time_us, truth, self.faults)
        assert found is None or found.time_us == truth.time_us
        return found


@pytest.fixture
def faulty(world):
    return lambda kind, **values: Faulty(world, kind, **values)


SENSORS = {
    'imu': ('accel', 'specific_force_flu'), 'magnetometer': ('field', 'field_flu_t'),
    'barometer': ('pressure', 'pressure_pa'), 'airspeed': ('pressure', 'differential_pressure_pa'),
    'range_finder': ('range', 'range_m'), 'optical_flow': ('rate', 'rate_flu'),
    'visual_odometry': ('position', 'position_enu'), 'gps': ('velocity', 'velocity_enu')}


def numbers(value):
    return np.atleast_1d(np.array(value, float))


@pytest.mark.parametrize('sensor', SENSORS)
def test_a_bias_is_added_to_each_sensor(faulty, sensor):
    channel, field = SENSORS[sensor]
    sensor_at = faulty('sensor_bias', sensor=sensor, channel=channel, value=0.5)
    for step in range(3):
        expected = numbers(getattr(sensor_at.true(step), field)) + 0.5
        assert numbers(getattr(sensor_at(step), field)) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize('sensor', SENSORS)
def test_a_sensor_that_is_frozen_repeats_its_last_measurement(faulty, sensor):
    frozen = faulty('sensor_frozen', sensor=sensor)
    for step in range(3):
        found = frozen(step)
        assert found == frozen.last._replace(time_us=found.time_us)


@pytest.mark.parametrize('sensor', SENSORS)
def test_a_sensor_that_is_off_measures_nothing(faulty, sensor):
    off = faulty('sensor_off', sensor=sensor)
    assert off(0) is off(1) is None
    after = off.true(2)
    assert off.chain.of(after.time_us, after, ()) is after


def test_a_bias_that_grows_reaches_its_value_along_a_line(faulty):
    ramp = faulty('sensor_bias', sensor='magnetometer', value=[1.0, 2.0, -4.0], over_s=0.2)
    for step, share in ((0, 0.0), (5, 0.5), (10, 1.0), (20, 1.0)):
        assert numbers(ramp(step).field_flu_t) - numbers(ramp.true(step).field_flu_t) == (
            pytest.approx(share * np.array([1.0, 2.0, -4.0]), abs=1e-12))


def test_a_drift_is_its_rate_times_its_age(faulty):
    drift = faulty('sensor_drift', sensor='barometer', per_s=3.0)
    for step in 0, 50, 500:
        assert drift(step).pressure_pa - drift.true(step).pressure_pa == (
            pytest.approx(3.0 * step * STEP_US * 1e-6, abs=1e-9))


def test_a_scale_multiplies(faulty):
    scaled = faulty('sensor_scale', sensor='imu', channel='gyro', factor=[0.5, 1.0, 2.0])
    found = scaled(4)
    assert numbers(found.rate_flu) == pytest.approx(
        numbers(scaled.true(4).rate_flu) * [0.5, 1.0, 2.0])
    assert found.specific_force_flu == scaled.true(4).specific_force_flu


def test_noise_is_white_with_its_spread(faulty):
    noisy = faulty('sensor_noise', sensor='imu', channel='accel', sigma=[0.1, 0.2, 0.4])
    errors = np.array([numbers(noisy(k).specific_force_flu)
                       - numbers(noisy.true(k).specific_force_flu) for k in range(5000)])
    assert errors.std(axis=0) == pytest.approx(np.array([0.1, 0.2, 0.4]), rel=0.04)
    assert np.abs(np.mean(errors[1:] * errors[:-1], axis=0) / errors.var(axis=0)).max() < 0.05
    again = faulty('sensor_noise', sensor='imu', channel='accel', sigma=[0.1, 0.2, 0.4])
    assert again(0) == faulty(
        'sensor_noise', sensor='imu', channel='accel', sigma=[0.1, 0.2, 0.4])(0)


def test_spikes_are_as_high_and_as_frequent_as_they_should_be(faulty):
    """One of 50 samples: of 20 000 they are 400, with a standard deviation of 20."""
    spiked = faulty('sensor_spikes', sensor='barometer', value=100.0, every_s=1.0)
    errors = np.array([spiked(k).pressure_pa - spiked.true(k).pressure_pa for k in range(20_000)])
    high = np.abs(errors) > 1.0
    assert np.abs(errors[high]) == pytest.approx(np.full(high.sum(), 100.0))
    assert errors[~high] == pytest.approx(np.zeros((~high).sum()))
    assert abs(high.sum() - 400) < 5 * 20
    assert abs((errors > 1.0).sum() - 0.5 * high.sum()) < 5 * math.sqrt(0.25 * high.sum())


def test_a_delay_repeats_the_last_measurement_and_then_lags(faulty):
    late = faulty('sensor_delay', sensor='barometer', delay_s=0.1)
    found = [late(step).pressure_pa for step in range(10)]
    lag = [late.true(max(step - 5, -1)).pressure_pa for step in range(10)]
    assert found == lag


def test_axes_change_places_and_signs(faulty):
    mixed = faulty('sensor_axes', sensor='imu', channel='accel', axes='-y x z')
    x, y, z = mixed.true(0).specific_force_flu
    assert mixed(0).specific_force_flu == (-y, x, z)


def test_actions_on_one_sensor_follow_one_another(world):
    actions = [read_action('test', kind, values, {}) for kind, values in (
        ('sensor_bias', {'sensor': 'barometer', 'value': 10.0}),
        ('sensor_scale', {'sensor': 'barometer', 'factor': 2.0}))]
    chain = FaultChain('barometer', world, plants.iris())
    faults = tuple(Fault(str(i), SINCE_US, action) for i, action in enumerate(actions))
    true = measured('barometer', SINCE_US, world)
    assert chain.of(SINCE_US, true, faults).pressure_pa == 2.0 * (true.pressure_pa + 10.0)
    assert chain.of(SINCE_US, true, faults[1:]).pressure_pa == 2.0 * true.pressure_pa


# GNSS.

def enu(world, measurement):
    return numbers(world.local_frame().to_local(measurement.position))


def test_a_receiver_that_is_denied_has_no_fix_and_holds_the_last(faulty):
    denied = faulty('gnss_denied')
    found = denied(5)
    assert found.fix_type is FixType.NONE
    assert (found.position, found.velocity_enu) == (denied.last.position, denied.last.velocity_enu)


def test_a_receiver_that_is_jammed_is_noisy_and_says_so(faulty, world):
    jammed = faulty('gnss_jammed', error_m=5.0, error_m_s=0.5, horizontal_accuracy_m=12.0,
                    vertical_accuracy_m=20.0)
    found = [jammed(k) for k in range(1500)]
    assert {(m.horizontal_accuracy_m, m.vertical_accuracy_m) for m in found} == {(12.0, 20.0)}
    frame = world.local_frame()
    places = np.array([frame.to_local(m.position) for m in found]) - [EAST, NORTH, UP]
    assert places.std(axis=0) == pytest.approx(np.full(3, 5.0), rel=0.07)
    speeds = np.array([numbers(m.velocity_enu) - numbers(jammed.true(k).velocity_enu)
                       for k, m in enumerate(found)])
    assert speeds.std(axis=0) == pytest.approx(np.full(3, 0.5), rel=0.07)


def test_a_receiver_that_is_spoofed_is_led_along_the_path(faulty, world):
    """10 m east within 10 s, then 20 m north within 5 s; velocities are the slopes."""
    spoofed = faulty('gnss_spoofed', path=[[10, 10, 0, 0], [15, 10, 20, 0]])
    for age_s, offset, rate in (
            (0.0, (0, 0, 0), (1, 0, 0)), (5.0, (5, 0, 0), (1, 0, 0)),
            (12.5, (10, 10, 0), (0, 4, 0)), (40.0, (10, 20, 0), (0, 0, 0))):
        step = round(age_s * 1e6 / STEP_US)
        found = spoofed(step)
        assert enu(world, found) - [EAST, NORTH, UP] == pytest.approx(np.array(offset), abs=1e-6)
        assert numbers(found.velocity_enu) - numbers(spoofed.true(step).velocity_enu) == (
            pytest.approx(np.array(rate, float), abs=1e-9))
        assert (found.fix_type, found.horizontal_accuracy_m) == (FixType.FIX, 0.9)


def test_a_place_without_an_offset_survives_the_way_to_the_frame_and_back(faulty):
    still = faulty('gnss_spoofed', path=[[1000, 0, 0, 0]])
    found, true = still(3).position, still.true(3).position
    assert isinstance(found, GeodeticPosition)
    assert dataclasses.astuple(found) == pytest.approx(dataclasses.astuple(true), abs=1e-8)


# As plain values, and checks.

EXAMPLES = {
    'motor_thrust': {'motor': 1, 'share': 0.5}, 'motor_off': {'motor': 2},
    'motor_stuck': {'motor': 3}, 'motor_slow': {'motor': 4, 'time_constant_s': 0.2},
    'servo_stuck': {'servo': 'elevator'}, 'servo_slack': {'servo': 'rudder', 'play_deg': 3},
    'servo_hard_over': {'servo': 'elevator', 'side': 'negative'},
    'sensor_off': {'sensor': 'imu'}, 'sensor_frozen': {'sensor': 'gps'},
    'sensor_bias': {'sensor': 'imu', 'channel': 'gyro', 'value': [1, 2, 3]},
    'sensor_drift': {'sensor': 'barometer', 'per_s': 1.0},
    'sensor_scale': {'sensor': 'barometer', 'factor': 1.1},
    'sensor_noise': {'sensor': 'barometer', 'sigma': 3},
    'sensor_spikes': {'sensor': 'barometer', 'value': 30, 'every_s': 2.0},
    'sensor_delay': {'sensor': 'gps', 'delay_s': 0.3},
    'sensor_axes': {'sensor': 'magnetometer', 'axes': 'y -x z'}, 'gnss_denied': None,
    'gnss_jammed': {'error_m': 1.0, 'error_m_s': 0.1, 'horizontal_accuracy_m': 3.0,
                    'vertical_accuracy_m': 4.0},
    'gnss_spoofed': {'path': [[1, 2, 3, 4]]}, 'wind': {'speed_m_s': 3.0, 'from_deg': 90},
    'gust': {'speed_m_s': 3.0, 'from_deg': 90, 'duration_s': 2},
    'turbulence': {'intensity_m_s': 1.0, 'correlation_time_s': 2.0},
    'air_density': {'share': 0.8}, 'torque': {'torque_n_m': [1, 2, 3]},
    'push': {'force_n': [1, 2, 3]}, 'payload': {'mass_kg': 0.2},
    'battery_cells': {'shorted': 1, 'of': 4}, 'battery_resistance': {'factor': 2.0},
    'battery_capacity': {'share': 0.5},
    'replies_late': {'delay_s': 0.1}, 'replies_lost': {'share': 0.5}, 'link_lost': None,
    'autopilot_paused': None, 'autopilot_off': None,
    'px4_failure': {'unit': 'gps', 'type': 'off'},
    'command': {'command': 'MAV_CMD_NAV_LAND', 'params': [0, None, 0.1]},
    'sticks': {'throttle': 0.8}, 'mode': {'to': 'ALTCTL'},
    'parameter': {'name': 'MPC_XY_P', 'value': 0.9}, 'note': {'text': 'hello'},
    'clear': {'event': 'one'}}


@pytest.mark.parametrize('kind', ACTIONS)
def test_each_action_survives_as_plain_values(kind):
    """A process that gets it as text has the same action: NaN of a command included."""
    fault = Fault('event', SINCE_US, read_action('test', kind, EXAMPLES[kind], {}))
    again, = faults_from_plain(faults_to_plain((fault,)))
    assert repr(again) == repr(fault)


SUBJECT_BLOCKS = ('wind', 'dynamics', 'imu', 'magnetometer', 'barometer', 'gps', 'pilot')


@pytest.mark.parametrize(('kind', 'values', 'sentence'), [
    ('motor_off', {'motor': 5}, 'test.motor = 5: must be at most 4, as many as iris has'),
    ('servo_stuck', {'servo': 'rudder'}, 'test: iris has no servos'),
    ('sensor_off', {'sensor': 'baro'}, "there is no such sensor in this run; did you mean"),
    ('sensor_bias', {'sensor': 'imu', 'value': 1}, "channel = '': must be one of accel, gyro"),
    ('sensor_bias', {'sensor': 'imu', 'channel': 'gyro', 'value': [1, 2]},
     'test: 2 numbers for gyro of imu: must be 3, or one for all axes'),
    ('sensor_axes', {'sensor': 'barometer', 'axes': 'x y z'}, 'barometer has no axes'),
    ('sensor_axes', {'sensor': 'magnetometer', 'axes': 'x y y'}, "axes = 'x y y': must be x, y"),
    ('gnss_denied', {'sensor': 'imu'}, 'must be a GNSS receiver'),
    ('payload', {'mass_kg': -9}, 'has only'),
    ('payload', {'mass_kg': 0.0, 'inertia_kg_m2': [0, 0, -9]}, 'iris has only (0.'),
])
def test_an_action_has_to_fit_the_run(iris, kind, values, sentence):
    with pytest.raises(ParameterError) as refused:
        read_action('test', kind, values, {}).check('test', Subject(iris, SUBJECT_BLOCKS))
    assert sentence in str(refused.value) and '\n' not in str(refused.value)
