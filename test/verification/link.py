# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What time an autopilot takes measurements for, whose clock goes on with HIL_SENSOR of id 0."""
from __future__ import annotations

import functools
import math

import numpy as np
from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.hil.frames import HilFrames
from px4_sim_ros.model.environment.geodesy import GeodeticPosition
from px4_sim_ros.model.sensors.airspeed import DifferentialPressureMeasurement
from px4_sim_ros.model.sensors.barometer import PressureMeasurement
from px4_sim_ros.model.sensors.gnss import GnssMeasurement
from px4_sim_ros.model.sensors.imu import ImuMeasurement
from px4_sim_ros.model.sensors.magnetometer import MagneticFieldMeasurement
from px4_sim_ros.model.sensors.optical_flow import FlowMeasurement
from px4_sim_ros.model.sensors.range_finder import RangeMeasurement
from px4_sim_ros.model.sensors.visual_odometry import VisualOdometryMeasurement
from px4_sim_ros.spec.blocks import block_configuration
from px4_sim_ros.spec.configuration import load_configuration
from verification.checks import check
from verification.plants import STILL_TRUTH

OPTIONAL = 'airspeed', 'range_finder', 'optical_flow', 'visual_odometry'
# Of EKF2's parameters, ms: EKF2_ASP_DELAY, EKF2_RNG_DELAY, EKF2_OF_DELAY, EKF2_EV_DELAY.
TAKEN_OFF = {'HIL_SENSOR': 100.0, 'DISTANCE_SENSOR': 5.0, 'HIL_OPTICAL_FLOW': 20.0, 'ODOMETRY': 0.0,
             'HIL_GPS': 0.0, 'HIL_STATE_QUATERNION': 0.0}
START_US = 1_780_315_200_000_000      # 2026-06-01T12:00:00Z
WITHIN = 'magnetometer', 'barometer'
STEP_US = 4000


def measured(time_us):
    """Return a measurement of each kind.

    Where no time is sent the value tells it: of the airspeed in s as hPa, of the field as gauss
    along x, of the pressure in 10 us as Pa above 1e5.
    """
    still = (0.0, 0.0, 0.0)
    return {
        'imu/data_raw': ImuMeasurement(time_us, still, still, 0.0, 0.0),
        'mag': MagneticFieldMeasurement(time_us, (1e-10 * time_us, 0.0, 0.0), 0.0),
        'baro': PressureMeasurement(time_us, 1e5 + 0.1 * time_us, 0.0),
        'airspeed': DifferentialPressureMeasurement(time_us, 1e-4 * time_us, 0.0),
        'gps/fix': GnssMeasurement(time_us, GeodeticPosition(47.0, 8.0, 500.0), still, 1.0, 1.0),
        'range': RangeMeasurement(time_us, 2.0, 0.0, 0.1, 10.0, 0.0, 'down'),
        'optical_flow': FlowMeasurement(time_us, still, 20_000),
        'visual_odometry': VisualOdometryMeasurement(
            time_us, still, (1.0, 0.0, 0.0, 0.0), still, 0.0, 0.0, 0.0)}


@functools.cache
def ages_us(late_us=0):
    """Return by message how much later than its measurement PX4's clock was, over 0.4 s.

    Those of magnetometer and barometer, which come with HIL_SENSOR, have their own names.

    :param late_us: how late these two are
    """
    shared = {f'instances.{kind}': 1 for kind in OPTIONAL} | {
        f'delays_us.{kind}': late_us for kind in WITHIN}
    frames = HilFrames(block_configuration(load_configuration(None, {
        '': shared, 'hil_bridge': {'start_utc': '2026-06-01T12:00:00Z'}}), 'hil_bridge'))
    reader, clock_us = mavlink.MAVLink(None), 0
    ages = {name: [] for name in (*TAKEN_OFF, *WITHIN)}
    for time_us in range(STEP_US, 400_000, STEP_US):
        inputs = measured(time_us)
        for message in reader.parse_buffer(frames.of(time_us, inputs)):
            name = message.get_type()
            if name == 'HIL_SENSOR':
                clock_us = message.time_usec
                for kind, group, taken in (
                        ('magnetometer', 0x1C0, 1e6 * message.xmag),
                        ('barometer', 0x1A00, 1e3 * (message.abs_pressure - 1e3))):
                    if message.fields_updated & group == group:
                        ages[kind].append(clock_us - round(taken))
                if not message.fields_updated & 0x400:
                    continue
                taken_us = round(1e6 * message.diff_pressure)
            elif name == 'DISTANCE_SENSOR':
                taken_us = 1000 * message.time_boot_ms
            else:
                taken_us = message.time_usec - (START_US if name == 'HIL_GPS' else 0)
            ages[name].append(clock_us - taken_us)
        frames.keep(inputs)
        frames.truth = STILL_TRUTH._replace(time_us=time_us)
    return ages


def _worst(names, expected_us, late_us=0):
    """Return the largest difference; infinite if a kind never came."""
    ages = ages_us(late_us)
    return np.max([
        max((abs(age - expected_us(name)) for age in ages[name]), default=math.inf)
        for name in names])


@check('stamp of GNSS, odometry and truth', model="PX4's clock as a message comes, 100 steps",
       reference='the time of the measurement', tolerance=0, unit='us')
def stamps():
    """Return the largest difference."""
    return _worst(('HIL_GPS', 'ODOMETRY', 'HIL_STATE_QUATERNION'), lambda name: 0)


@check('delay of airspeed, range and flow', model="PX4's clock as a message comes, 100 steps",
       reference='what EKF2 takes off by default, to half a step', tolerance=STEP_US // 2,
       unit='us')
def delays():
    """Return the largest difference."""
    return _worst(
        ('HIL_SENSOR', 'DISTANCE_SENSOR', 'HIL_OPTICAL_FLOW'),
        lambda name: 1000.0 * TAKEN_OFF[name])


@check('delay of magnetometer and barometer', tolerance=0, unit='us',
       model="PX4's clock as a HIL_SENSOR with them comes, 100 steps",
       reference='delays_us: none, which EKF2 believes by default, and three steps')
def delays_within():
    """Return the largest difference."""
    return np.max([
        _worst(WITHIN, lambda name, late_us=late_us: late_us, late_us)
        for late_us in (0, 3 * STEP_US)])
