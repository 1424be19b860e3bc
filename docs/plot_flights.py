# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Draws flights for the documents: faults, what repeats, and PX4's own topics.

They are flown by PX4 if `PX4_DIR` names one that was built, else by the embedded autopilot.
"""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import typing

import matplotlib.pyplot as plt
import numpy as np

from px4_sim_ros import Flight
from px4_sim_ros.recording.analysis.export import read_table
from px4_sim_ros.recording.analysis.flight_events import marks, read_contents
from px4_sim_ros.recording.bag.reader import BagReader

_HAS_PX4 = 'PX4_DIR' in os.environ
_AUTOPILOT = 'px4' if _HAS_PX4 else 'embedded'
_BLUE, _ORANGE, _GREEN, _GREY = '#2f6fb0', '#d98a1f', '#3a9d5d', '#7d8792'
_SHADE = '#f3d9d9'
_FAULTS = {'motor_out': 'a motor stops', 'gnss_lost': 'no GNSS for 5 s',
           'autopilot_restarts': 'the autopilot loses its power for 1 s'}
Table = typing.Mapping[str, np.ndarray]


def fly(*options: str | pathlib.Path) -> None:
    """Run a command of the package."""
    subprocess.run([sys.executable, '-m', 'px4_sim_ros', *options], check=True)


def places_m(table: Table) -> np.ndarray:
    """Return the positions in a table, (rows, 3), ENU."""
    return np.stack([table[f'position_m.{axis}'] for axis in 'xyz'], axis=1)


def at_times(time_s: np.ndarray, table: Table) -> np.ndarray:
    """Return the positions in a table at other times, (times, 3)."""
    return np.stack([np.interp(time_s, table['time_s'], its) for its in places_m(table).T], axis=1)


def span_s(
    events: typing.Sequence[typing.Mapping[str, typing.Any]], end_s: float,
) -> tuple[float, float]:
    """Return from when to when the one event of a flight was in force."""
    times_s = [event['time_s'] for event in events]
    return times_s[0], times_s[1] if len(times_s) > 1 else end_s


def draw_faults(path: pathlib.Path, scratch: pathlib.Path) -> None:
    """Draw flights in which something fails, side by side, with the modes of the autopilot."""
    figure, columns = plt.subplots(
        2, len(_FAULTS), figsize=(12.8, 6.0), layout='constrained', sharex='col', sharey='row')
    for (name, what), (high, turning) in zip(_FAULTS.items(), columns.T):
        result = Flight(scenario=name, autopilot=_AUTOPILOT, record=scratch / name).fly()
        truth, estimate, joints = map(
            result.table, ('ground_truth/odom', 'autopilot/odometry', 'joint_states'))
        high.plot(truth['time_s'], truth['position_m.z'], color=_BLUE, label='truth')
        high.plot(estimate['time_s'], estimate['position_m.z'], color=_ORANGE, lw=1,
                  label="the autopilot's estimate")
        for i in range(1, 5):
            turning.plot(joints['time_s'], joints[f'rotor_speed_rad_s.{i}'], lw=1,
                         label=f'rotor {i}')
        high.set_title(f'{what}\n--scenario {name}', fontsize=10)
        for axes in (high, turning):
            axes.grid(color='#e6e9ec')
            axes.axvspan(*span_s(result.events, truth['time_s'][-1]), color=_SHADE,
                         label='the fault')
        for since_s, mode in modes(BagReader(scratch / name)):
            high.axvline(since_s, color=_GREY, lw=0.8, ls=':')
            high.text(since_s, 8.8, mode, rotation=90, fontsize=7, ha='right', va='top')
        turning.set_xlabel('simulated time, s')
    columns[0, 0].set_ylim(-1.0, 9.0)
    for axes, label in zip(columns[:, 0], ('height, m', 'rotors, rad/s')):
        axes.set_ylabel(label)
    columns[0, 0].legend(fontsize=8, loc='center left')
    columns[1, 0].legend(fontsize=8, loc='upper left')
    figure.savefig(path)
    plt.close(figure)


def modes(bag: BagReader) -> list[tuple[float, str]]:
    """Return when the autopilot took each of its modes, s."""
    found: list[tuple[float, str]] = []
    for mark in marks(bag.run, read_contents(bag)):
        mode = mark.text.partition(',')[0]
        if mark.kind == 'autopilot' and mode.isupper() and mode != (
                found[-1][1] if found else ''):
            found.append((mark.start_s, mode))
    return found


def draw_repeats(path: pathlib.Path, scratch: pathlib.Path) -> None:
    """Draw how far flights are from one that they repeat, or change."""
    first = scratch / 'first'
    fly('fly', '--mode', 'core', '--mission', 'square', '--wind', 'dryden', '--seed', '7',
        '--autopilot', _AUTOPILOT, '--record', first)
    figure, (seen, away) = plt.subplots(
        1, 2, figsize=(12.8, 5.2), layout='constrained', width_ratios=(1, 2))
    truth = read_table(BagReader(first), 'ground_truth/odom')
    place, time_s = places_m(truth), truth['time_s']
    seen.plot(place[:, 0], place[:, 1], color=_GREY, lw=5, alpha=0.5,
              label='fly --mission square\n--wind dryden --seed 7')
    for i, (command, more, width, line) in enumerate((
            ('refly', ('--mode', 'composed'), 6, '-'), ('replay', ('--mode', 'separate'), 2, '--'),
            ('replay', ('--set', 'dynamics.integrator=rk45'), 1.2, '-'),
            ('refly', ('--seed', '8'), 1.2, '-'))):
        folder = scratch / f'again_{i}'
        fly(command, first, *more, '--record', folder)
        again = read_table(BagReader(folder), 'ground_truth/odom')
        its = at_times(time_s[time_s <= again['time_s'][-1]], again)
        distance = np.linalg.norm(its - place[:len(its)], axis=1)
        label = ' '.join((command, *more))
        colour = (_BLUE, 'black', _GREEN, _ORANGE)[i]
        away.plot(time_s[:len(its)], distance, lw=width, ls=line, color=colour,
                  label=label if distance.any() else f'{label}: the same bits')
        if more[0] == '--seed':
            seen.plot(its[:, 0], its[:, 1], color=colour, lw=1, label=label)
    seen.set(xlabel='east, m', ylabel='north, m', aspect='equal', title='the path')
    seen.legend(fontsize=8, loc='center')
    away.set_yscale('symlog', linthresh=1e-15)
    away.set(xlabel='simulated time, s', ylabel='distance from the first flight, m',
             title=f'flown by {_AUTOPILOT.replace("px4", "PX4")}',
             yticks=[0.0, *(10.0**k for k in range(-15, 2, 3))], ylim=(-2e-16, 20.0))
    away.grid(color='#e6e9ec')
    away.legend(fontsize=8, loc='lower right', bbox_to_anchor=(1.0, 0.1))
    figure.savefig(path)
    plt.close(figure)


def draw_px4_topics(path: pathlib.Path, scratch: pathlib.Path) -> None:
    """Draw where PX4 says on its own topic that it is, beside the truth."""
    folder = scratch / 'topics'
    fly('fly', '--mode', 'core', '--mission', 'square', '--wind', 'dryden', '--autopilot', 'px4',
        '--px4-topics', '--instance', '0', '--record', folder)
    bag = BagReader(folder)
    topic = next(name for name in sorted({its.topic for its in bag.messages()})
                 if 'vehicle_local_position' in name)
    truth, said = (read_table(bag, name) for name in ('ground_truth/odom', topic))
    stamps_us = np.round(said['timestamp'])
    is_step = np.isin(stamps_us, np.round(1e6 * truth['time_s']))
    said_enu = np.stack([said['y'], said['x'], -said['z']], axis=1)
    error = said_enu - at_times(1e-6 * stamps_us, truth)
    figure, (seen, off) = plt.subplots(
        1, 2, figsize=(12.8, 5.2), layout='constrained', width_ratios=(1, 2))
    place = places_m(truth)
    seen.plot(place[:, 0], place[:, 1], color=_GREY, lw=5, alpha=0.5, label='ground_truth/odom')
    seen.plot(said_enu[:, 0], said_enu[:, 1], color=_BLUE, lw=1, label=topic)
    seen.set(xlabel='east, m', ylabel='north, m', aspect='equal', title='the path')
    seen.legend(fontsize=8, loc='center')
    for k, (axis, colour) in enumerate(zip(('east', 'north', 'up'), (_BLUE, _ORANGE, _GREEN))):
        off.plot(1e-6 * stamps_us, error[:, k], color=colour, lw=1, label=axis)
    off.set(xlabel='timestamp of PX4, s', ylabel='what PX4 says, less the truth, m',
            title=f'{is_step.sum()} of {len(is_step)} messages have the time of a step')
    off.grid(color='#e6e9ec')
    off.legend(fontsize=8)
    figure.savefig(path)
    plt.close(figure)
