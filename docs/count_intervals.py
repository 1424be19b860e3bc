# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Counts whether `identify`'s intervals have the true numbers, and what `validate`'s 95 % hold.

`make coverage OUT=folder` flies an Iris with other numbers in each flight by a real PX4 (PX4_DIR),
and identifies its log from the file of the Iris as it is. A flight that the folder has already is
only counted. What a flight is follows from its number.
"""
from __future__ import annotations

import argparse
import collections
import os
import pathlib
import subprocess
import sys
import typing

import numpy as np
import yaml
from scipy.spatial.transform import Rotation, Slerp

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.process import atomic_write
from px4_sim_ros.real import identification, predictions
from px4_sim_ros.real.flight import RealFlight
from px4_sim_ros.real.named import changed, value_of, with_values
from px4_sim_ros.real.open_loop import FREE, HELD, LOGGED, QUANTITIES
from px4_sim_ros.real.readers import read_flight
from px4_sim_ros.spec.files import Files
from px4_sim_ros.spec.resources import LOADER

_VARIED = {
    'rotor_model.thrust_coefficient_n_s2': (0.88, 1.15),
    'rotor_model.drag_coefficient_n_s2_m': (0.6, 1.6), 'body.quadratic_drag_n_s2_m2': (0.5, 2.5),
    identification.SHAFT_TORQUE: (0.85, 1.2), identification.RESISTANCE: (0.7, 1.8)}
_STEP_S = 0.004                # PX4's stamps are one step after those of the recording
_SHARE = 0.95                  # of `validate`'s starts are below its second figure
_WAYS = FREE, LOGGED, HELD, predictions.TRIMMED


def main(arguments: list[str] | None = None) -> int:
    """Fly, and print the tables of what was flown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('out', type=pathlib.Path, help='folder of the flights')
    parser.add_argument('--numbers', nargs=2, type=int, default=(100, 119),
                        metavar=('FIRST', 'LAST'), help='of the flights')
    parser.add_argument('--px4-dir', default=os.environ.get('PX4_DIR', ''))
    parser.add_argument('--instance', default='0', help='of PX4')
    options = parser.parse_args(arguments)
    intervals: dict[str, list[bool]] = collections.defaultdict(list)
    shares: dict[tuple[str, float], list[np.ndarray]] = collections.defaultdict(list)
    for number in range(options.numbers[0], options.numbers[1] + 1):
        folder = options.out / f'{number:02d}'
        log = next(folder.rglob('ros/**/*.ulg'), None)
        if log is None and options.px4_dir:
            log = _flown(number, folder, options)
        if log is None:
            print(f'left out: {folder} has no log of PX4, and PX4_DIR is not set', flush=True)
            continue
        text, true = ((folder / name).read_text(encoding='utf-8') for name in (
            'nominal.yaml', 'vehicle.yaml'))
        flight = read_flight(log)
        found, new = identification.identified([flight], 'iris', text, 'found')
        truth = _truth(flight, read_flight(folder / 'bag'), yaml.load(true, LOADER))
        for one in found.estimates:
            held = abs(one.value - truth(one.name)) <= one.half_width
            intervals[one.name].append(held)
            print(f'{number} {one.name}: {one.value:.5g} +- {one.half_width:.3g}, true'
                  f' {truth(one.name):.5g}{"" if held else ", missed"}', flush=True)
        vehicle = Vehicle.from_mapping('found', yaml.load(new, LOADER))
        for key, share in _shares(with_values(flight, found.fit.values), vehicle):
            shares[key].append(share)
    every = [held for each in intervals.values() for held in each]
    _table(('number', 'intervals', 'have the true number', ''), [
        (name, str(len(each)), str(sum(each)), f'{np.mean(each):.1%}') for name, each in (
            *intervals.items(), ('all', every)) if each])
    _table((f'below the {_SHARE:.0%} of the first half', 'after', 'halves',
            *(q.name for q in QUANTITIES)), [
        (way, f'{horizon:g} s', str(len(each)), *(f'{mean:.1%}' for mean in np.mean(each, axis=0)))
        for (way, horizon), each in shares.items()])
    return 0


def _table(head: typing.Sequence[str], rows: typing.Iterable[typing.Sequence[str]]) -> None:
    print('\n' + '\n'.join(f'| {" | ".join(row)} |' for row in (head, ['---'] * len(head), *rows)))


def _flown(number: int, folder: pathlib.Path, options: argparse.Namespace) -> pathlib.Path:
    """Fly one flight, and return the log of PX4; beside it are truth, recording and mission."""
    draw = np.random.default_rng(1000 + number)
    text = Files().text('vehicles', 'iris')
    content = yaml.load(text, LOADER)
    true = changed(content, {name: value_of(content, name) * float(draw.uniform(*factors))
                             for name, factors in _VARIED.items()}) | {'name': f'true_{number}'}
    wind = 'constant' if number % 6 == 5 else ('calm', 'dryden')[number % 2]
    asked = [] if wind == 'calm' else [
        '--wind', wind, '--set', f'wind.speed_m_s={draw.uniform(2.0, 7.0)}',
        '--set', f'wind.from_deg={draw.uniform(0.0, 360.0)}']
    items: list[dict[str, typing.Any]] = [
        {'take_off': {'up_m': float(draw.uniform(5.0, 15.0))}}, {'hold': {'duration_s': 3.0}}]
    up_m = 10.0
    for _ in range(6):
        north_m, east_m = (float(draw.uniform(-25.0, 25.0)) for _ in range(2))
        up_m = float(np.clip(up_m + draw.uniform(-4.0, 4.0), 5.0, 20.0))
        items.append({'go_to': {'north_m': north_m, 'east_m': east_m, 'up_m': up_m}})
    items.append({'land': {}})
    folder.mkdir(parents=True, exist_ok=True)
    for name, written in (('nominal.yaml', text), ('vehicle.yaml', yaml.safe_dump(
            true, sort_keys=False)), ('mission.yaml', yaml.safe_dump(
                {'name': 'waypoints', 'items': items}))):
        atomic_write.write(folder / name, written)
    subprocess.run(
        [sys.executable, '-m', 'px4_sim_ros', 'fly', '--mode', 'core', '--autopilot', 'px4',
         '--px4-dir', options.px4_dir, '--instance', options.instance, '--seed', str(number + 1),
         '--vehicle', str(folder / 'vehicle.yaml'), '--mission', str(folder / 'mission.yaml'),
         '--record', str(folder / 'bag'), *asked], check=True, stdout=sys.stderr,
        env={**os.environ, 'ROS_HOME': str((folder / 'ros').resolve())})
    log, = folder.rglob('ros/**/*.ulg')
    return log


def _truth(
    flight: RealFlight, recording: RealFlight, content: typing.Any,
) -> typing.Callable[[str], float]:
    """Return the true value of a number: of wind and mounting of the log the flight's mean."""
    usable = flight.usable
    times = np.clip(flight.start_s + flight.time_s - _STEP_S, 0.0, recording.time_s[-1])[usable]
    estimated, true = Rotation.from_quat(flight.attitude[usable], scalar_first=True), Slerp(
        recording.time_s, Rotation.from_quat(recording.attitude, scalar_first=True))(times)
    mounting = (estimated.inv() * true).as_rotvec().mean(axis=0)
    wind = np.zeros(2) if recording.wind_m_s is None else np.array([
        np.interp(times, recording.time_s, recording.wind_m_s[:, k]).mean() for k in range(2)])
    of_log = {f'{name}[{k}]': float(values[k]) for name, values in (
        ('wind_m_s', wind), ('mounting_rad', mounting)) for k in range(2)}
    return lambda name: of_log[name] if name in of_log else value_of(content, name)


def _shares(
    flight: RealFlight, vehicle: Vehicle,
) -> typing.Iterator[tuple[tuple[str, float], np.ndarray]]:
    """Yield which share of the starts of the second half is below the 95 % of the first half."""
    at = np.flatnonzero(flight.usable)
    middle = int(at[len(at) // 2])
    try:
        before, after = (predictions.errors(part, vehicle) for part in (
            flight.part(0, middle), flight.part(middle, flight.samples)))
    except ParameterError:
        return                 # a half is too short
    for i, horizon in enumerate(before.horizons_s):
        if horizon in after.horizons_s:
            k = after.horizons_s.index(horizon)
            for way in _WAYS:
                limit = np.quantile(before.ways[way][i], _SHARE, axis=0)
                yield (way, horizon), np.mean(after.ways[way][k] <= limit, axis=0)


if __name__ == '__main__':
    sys.exit(main())
