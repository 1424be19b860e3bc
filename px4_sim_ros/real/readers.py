# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which reader a log has, and that of a recording: its ground truth as if it were measured."""
from __future__ import annotations

import os
import pathlib

import numpy as np

from px4_sim_ros.model.errors import ParameterError, within
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.model.world import Environment
from px4_sim_ros.real.flight import RealFlight, between, held
from px4_sim_ros.recording.analysis.attitudes import in_world
from px4_sim_ros.recording.analysis.series import read_series
from px4_sim_ros.recording.bag.reader import BagReader, folder_and_vehicle

_TRUTH, _COMMAND = 'ground_truth/odom', 'actuators/command'
_CLEAR_M = 1.0                 # above the ground: no feet, nearly no ground effect


def read_recording(path: pathlib.Path) -> RealFlight:
    """Read motion and commands of a simulated flight, step by step.

    :raises BagError: it cannot be read
    """
    with within(f'log {path}'):
        bag = BagReader(path)
        series = read_series(bag, {_TRUTH, _COMMAND, 'battery_state', 'wind'})
        world, vehicle = bag.run.world, bag.run.recorded_vehicle
    if _TRUTH not in series or _COMMAND not in series:
        raise ParameterError(f'log {path}: has no {_TRUTH} and {_COMMAND} of one vehicle')
    truth = series[_TRUTH]
    times = truth['position_m'].time_s
    attitude = truth['attitude_wxyz'].values
    asked = series[_COMMAND]['rotor_speed_reference_rad_s']
    model = vehicle.rotor_model
    commands = (held(asked.time_s, asked.values, times) - model.command_offset_rad_s) / (
        model.command_gain_rad_s)
    battery = series.get('battery_state')
    position = truth['position_m'].values
    wind = series.get('wind')
    return RealFlight(
        path.name, world.step_us / US_PER_S, position,
        in_world(attitude, truth['velocity_m_s'].values), attitude, truth['rate_rad_s'].values,
        position[:, 2] > _CLEAR_M, commands=commands,
        bus_voltage_v=None if battery is None else between(
            battery['voltage_v'].time_s, battery['voltage_v'].values, times)[:, 0],
        # In a BatteryState a current that is taken is negative.
        bus_current_a=None if battery is None else -between(
            battery['current_a'].time_s, battery['current_a'].values, times)[:, 0],
        wind_m_s=None if wind is None else held(
            wind['velocity_m_s'].time_s, wind['velocity_m_s'].values, times),
        environment=Environment.of(world),
        facts=(('motion', f'ground truth of a simulated flight, {len(np.unique(times))} steps'),),
        repaired=bag.damage)


def read_flight(path: str | pathlib.Path) -> RealFlight:
    """Read a log by the kind of its file."""
    path = pathlib.Path(os.path.expanduser(path))
    if path.is_dir() or (not path.exists() and folder_and_vehicle(path)[1]):
        return read_recording(path)
    if not path.exists():
        raise ParameterError(f'log {path}: No such file or directory')
    if path.suffix != '.ulg':
        raise ParameterError(
            f'log {path}: must be a folder that was recorded with --record, or end with .ulg')
    from px4_sim_ros.real.ulog import read_ulog
    return read_ulog(path)
