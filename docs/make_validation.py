# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Makes the figures of docs/journal/validation.md from logs that are not part of this package.

`make validation DATA=folder` runs it; what each file of the folder is, `SOURCES` tells, and what is
missing is left out. With PX4_DIR the closed loop is flown as well. The tables go to standard
output, new vehicle files, profiles and flights to `--out`.
"""
from __future__ import annotations

import argparse
import math
import os
import pathlib
import subprocess
import sys
import typing

import numpy as np
from scipy.ndimage import median_filter, uniform_filter1d

from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.process import atomic_write
from px4_sim_ros.real import closed_loop, held_out, open_loop, predictions, statics
from px4_sim_ros.real.flight import RealFlight, kept
from px4_sim_ros.real.held_out import HeldOut
from px4_sim_ros.real.identification import identified
from px4_sim_ros.real.named import NAMED, with_values
from px4_sim_ros.real.pages import Identified
from px4_sim_ros.real.readers import read_flight
from px4_sim_ros.spec.files import Files, load_vehicle

_EXAMPLES = pathlib.Path(__file__).resolve().parents[1] / 'examples'
SOURCES = {
    'x500.ulg': 'github.com/Auterion/px4-ulog-rs at 8e06b71,'
                ' tests/fixtures/corrupt_unregistered_msg_id.ulg, MIT',
    'nanodrone/*.parquet': 'github.com/idsia-robotics/nanodrone-sysid-benchmark at b0cf4b3, all of'
                           ' .../data/real/processed/new/train and test, no licence',
}
_SEEDS = 1, 2, 3
_WIND_M_S, _WIND_FROM_DEG = 5.0, 55.0
_LEARNT = 'multisine*', 'random*', 'square*'
_HELD_OUT_RUNS = 'melon*run[145].parquet'      # those of the benchmark's own table
_HORIZON_S, _EVERY_S = 0.5, 0.1
_Lines = typing.Iterator[str]


def main(arguments: list[str] | None = None) -> int:
    """Print the tables of what the folder has."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('data', type=pathlib.Path, help='folder with the logs')
    parser.add_argument('--out', type=pathlib.Path, default=pathlib.Path('validation_figures'))
    parser.add_argument('--px4-dir', default=os.environ.get('PX4_DIR', ''))
    parser.add_argument('--instance', default='0', help='of PX4')
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    for pattern, source in SOURCES.items():
        if not sorted(options.data.glob(pattern)):
            print(f'left out: {options.data / pattern} is not there ({source})')
    for line in _figures(options):
        print(line, flush=True)
    return 0


def _figures(options: argparse.Namespace) -> _Lines:
    """Yield all lines for which there are logs."""
    x500, runs = (options.data / name for name in ('x500.ulg', 'nanodrone'))
    if x500.exists():
        yield from _x500(x500, options.out)
    if x500.exists() and options.px4_dir:
        yield from _closed_loop(x500, options)
    if runs.exists():
        yield from _crazyflie(runs, options.out)


def table(head: typing.Sequence[str], rows: typing.Iterable[typing.Sequence[str]]) -> _Lines:
    """Yield the lines of a table in Markdown, behind an empty one."""
    yield ''
    for row in (head, ['---'] * len(head), *rows):
        yield f'| {" | ".join(row)} |'
    yield ''


def _x500(log: pathlib.Path, out: pathlib.Path) -> _Lines:
    yield '## X500 V2'
    flight = read_flight(log)
    found, text = identified([flight], 'x500', Files().text('vehicles', 'x500'), 'x500_v2')
    atomic_write.write(out / 'x500_v2.yaml', text)
    yield from table(('', 'log', 'as it came', 'identified'), (
        (old.name, f'{old.log:.4g}', f'{old.model:.4g} ({old.error:+.1%})',
         f'{new.model:.4g} ({new.error:+.1%})') for old, new in zip(*found.pairs[0][1:])))
    yield from _numbers(found)
    yield from _held_out(found.held_out)
    vehicle = load_vehicle(str(out / 'x500_v2.yaml'))
    yield from _forces(with_values(flight, found.fit.values), vehicle)


def _numbers(found: Identified) -> _Lines:
    yield from table(('number', 'it was', 'it is'), (
        (f'{NAMED[one.name].meaning}, {NAMED[one.name].unit}', f'{one.before:.4g}',
         f'{one.value:.4g} +- {one.half_width:.2g}') for one in found.estimates))


def _held_out(found: HeldOut | str) -> _Lines:
    if isinstance(found, str):
        yield found
        return
    row = found.horizons_s.index(_HORIZON_S)
    yield from table(('held out', *(f'{q.name}, {q.unit}' for q in open_loop.QUANTITIES)), (
        (name, *(f'{mean:.3g}' for mean in means[row])) for name, means in found.means.items()))


def _forces(flight: RealFlight, vehicle: Vehicle) -> _Lines:
    """Yield the errors with the attitude as logged, and the variation of the lift."""
    ways = predictions.errors(flight, vehicle).ways
    yield from table(('velocity, m/s', *(f'{h:g} s' for h in predictions.HORIZONS_S)), (
        (way, *(f'{each[:, 1].mean():.3g}' for each in errors)) for way, errors in ways.items()))
    length, every = open_loop.marks_of(flight, [_HORIZON_S, _EVERY_S])
    starts = predictions.starts_of(flight, length, every)
    true = flight.velocity_m_s[starts + length]
    flown = open_loop.fly(flight, vehicle, starts, [length], None, open_loop.LOGGED)[:, 0]
    yield from table((f'velocity over {_HORIZON_S:g} s, m/s', 'east', 'north', 'up'), (
        (way, *(f'{mean:.2f}' for mean in np.abs(velocity - true).mean(axis=0)))
        for way, velocity in ((open_loop.LOGGED, flown[:, open_loop.V]),
                              (predictions.NONE, flight.velocity_m_s[starts]))))
    if flight.specific_force_m_s2 is not None:
        samples = statics.sampled(flight, vehicle)
        measured = uniform_filter1d(flight.specific_force_m_s2[:, 2], every)[
            np.round(samples.time_s / flight.period_s).astype(int)]
        yield (f'lift by the commands varies by {samples.model_lift_m_s2.std():.2f} m/s^2, of the'
               f' accelerometer over {_EVERY_S:g} s by {measured.std():.2f}; correlation'
               f' {np.corrcoef(samples.model_lift_m_s2, measured)[0, 1]:.2f}')
    shares = ', '.join(f'{share:.0%}' for share in open_loop.torque_shares(flight, vehicle))
    yield f'motors explain of how roll, pitch and yaw rate change: {shares}'


def _closed_loop(log: pathlib.Path, options: argparse.Namespace) -> _Lines:
    """Fly the mission of the log by PX4; its vehicle and its IMU are those identified."""
    yield '## The closed loop'
    imu = ['--profile', 'examples/x500_imu.yaml']
    flights = {f'seed {seed}': _flown(f'seed_{seed}', seed, imu, options) for seed in _SEEDS}
    flights['seed 1, default IMU'] = _flown('default_imu', _SEEDS[0], [], options)
    yield from table(('', 'log', *flights), closed_loop.compared(log, list(flights.values())))
    flight = read_flight(options.out / 'seed_1')
    vehicle = load_vehicle(str(options.out / 'x500_v2.yaml'))
    from_rad = math.radians(_WIND_FROM_DEG)
    mean = {'wind_m_s[0]': -_WIND_M_S * math.sin(from_rad),
            'wind_m_s[1]': -_WIND_M_S * math.cos(from_rad)}
    for name, values in ('as it was', {}), ('only its mean', mean):
        errors = predictions.errors(with_values(flight, values), vehicle, [_HORIZON_S])
        yield (f'recording of seed 1 with the wind {name}, {open_loop.LOGGED}:'
               f' {errors.ways[open_loop.LOGGED][0][:, 1].mean():.3g} m/s')


def _flown(
    name: str, seed: int, more: list[str], options: argparse.Namespace,
) -> pathlib.Path:
    """Fly the mission of the log, and return the log of PX4; the recording is beside it."""
    home = options.out / f'{name}_ros'
    subprocess.run(
        [sys.executable, '-m', 'px4_sim_ros', 'fly', '--mode', 'core', '--autopilot', 'px4',
         '--px4-dir', options.px4_dir, '--px4-schedule', 'repeatable',
         '--instance', options.instance, '--vehicle', str(options.out / 'x500_v2.yaml'),
         '--mission', str(_EXAMPLES / 'x500_mission.yaml'), '--wind', 'dryden',
         '--set', f'wind.speed_m_s={_WIND_M_S}', '--set', f'wind.from_deg={_WIND_FROM_DEG}',
         '--set', 'dynamics.initial_charge=0.5', '--seed', str(seed),
         '--record', str(options.out / name), *more],
        check=True, stdout=sys.stderr, env={**os.environ, 'ROS_HOME': str(home.resolve())})
    log, = home.rglob('*.ulg')
    return log


_POLE_PAIRS = 6                # of the Crazyflie 2.1 brushless' motors, 12 magnets
_MOST = 1e6                    # a value beyond is none that a flight has
_GLITCH = 0.5                  # of the speed, away from the median of 50 ms


def read_nanodrone(path: pathlib.Path) -> RealFlight:
    """Read a run of the nanodrone benchmark, a Crazyflie 2.1 brushless (Busetto et al. 2026).

    A parquet file with a row each 10 ms: motion in ENU and FLU, electrical revolutions per
    minute of each motor.
    """
    import pyarrow.parquet
    table = pyarrow.parquet.read_table(path)

    def columns(*names: str) -> np.ndarray:
        return np.stack([table[name].to_numpy().astype(float) for name in names], axis=1)

    times, turns = columns('t')[:, 0], columns('qw', 'qx', 'qy', 'qz')
    size = np.linalg.norm(turns, axis=1)
    speeds = columns(*(f'm{i}_erpm' for i in range(1, 5))) * math.tau / 60.0 / _POLE_PAIRS
    rows = np.concatenate((
        columns('x', 'y', 'z', 'vx', 'vy', 'vz', 'wx', 'wy', 'wz'),
        turns / np.where(size > 0.0, size, 1.0)[:, None], speeds), axis=1)
    found = kept(times, (np.abs(rows) <= _MOST).all(axis=1) & (size > 0.0)).rows
    times = times[found]
    period_s = float(np.median(np.diff(times)))
    # A row each period; one that is missing is that before, and not used.
    places = np.round((times - times[0]) / period_s).astype(int)
    grid = np.arange(places[-1] + 1)
    place = np.searchsorted(places, grid, side='right') - 1
    there, place = places[place] == grid, found[place]
    rows, speeds = rows[place], speeds[place]
    usual = median_filter(speeds, size=(5, 1))
    glitches = (np.abs(speeds - usual) > _GLITCH * np.maximum(usual, 1.0)).any(axis=1)

    def optional(*names: str) -> np.ndarray | None:
        """Return columns if the run has them whole."""
        values = columns(*names)[place] if {*names} <= {*table.column_names} else None
        return None if values is None or not np.isfinite(values).all() else values

    voltage_v = optional('Vbat')
    return RealFlight(
        path.stem, period_s, rows[:, :3], rows[:, 3:6], rows[:, 9:13], rows[:, 6:9],
        there & ~glitches, commands=optional(*(f'm{i}_thrust' for i in range(1, 5))),
        rotor_speeds_rad_s=speeds, wind_m_s=np.zeros((len(rows), 3)),
        bus_voltage_v=None if voltage_v is None else voltage_v[:, 0])


def _crazyflie(runs: pathlib.Path, out: pathlib.Path) -> _Lines:
    yield '## Crazyflie 2.1 brushless'
    published = str(_EXAMPLES / 'crazyflie.yaml')
    learnt = [read_nanodrone(path) for pattern in _LEARNT for path in sorted(runs.glob(pattern))]
    found, text = identified(
        learnt, published, Files().text('vehicles', published), 'crazyflie_identified')
    atomic_write.write(out / 'crazyflie_identified.yaml', text)
    yield from _numbers(found)
    yield from (f'not determined: {name}: {why}' for name, why in found.refused)
    before, after = (load_vehicle(path) for path in (
        published, str(out / 'crazyflie_identified.yaml')))
    tested = [read_nanodrone(path) for path in sorted(runs.glob(_HELD_OUT_RUNS))]
    if not tested:
        return
    mounted = [with_values(flight, found.fit.values) for flight in tested]
    yield from _benchmark({
        'as published': _every(tested, before), 'identified': _every(mounted, after)},
        _linear(learnt, tested, before))


def _all_starts(flight: RealFlight) -> tuple[np.ndarray, int]:
    """Return each sample from which a window begins, as in the benchmark, and its length."""
    length, = open_loop.marks_of(flight, [_HORIZON_S])
    return flight.starts(length, 1), length


def _every(flights: list[RealFlight], vehicle: Vehicle) -> dict[str, np.ndarray]:
    """Return errors from each sample, by way, (starts, 4)."""
    found = {}
    for way in open_loop.HELD, open_loop.FREE, open_loop.LOGGED:
        parts = []
        for flight in flights:
            starts, length = _all_starts(flight)
            flown = open_loop.fly(flight, vehicle, starts, [length], None, way)[:, 0]
            parts.append(open_loop.lengths(
                open_loop.differences(flown, open_loop.logged(flight, starts + length))))
        found[way] = np.concatenate(parts)
    return found


def _linear(
    learnt: list[RealFlight], tested: list[RealFlight], vehicle: Vehicle,
) -> np.ndarray:
    coefficients = held_out.linear_fit(learnt, vehicle, _HORIZON_S)
    return np.concatenate([held_out.linear_errors(
        flight, vehicle, coefficients, _HORIZON_S, _all_starts(flight)[0]) for flight in tested])


def _benchmark(models: dict[str, dict[str, np.ndarray]], linear: np.ndarray) -> _Lines:
    """Yield the table in the units of the nanodrone benchmark."""
    rows = {f'{model}, {way}': errors for model, ways in models.items()
            for way, errors in ways.items()} | {'linear fit': linear}
    units = np.array((1.0, 1.0, math.pi / 180.0, 1.0))
    yield f'mean errors over {_HORIZON_S:g} s from {len(linear)} starts'
    yield from table(('', 'position, m', 'velocity, m/s', 'attitude, rad', 'rate, rad/s'), (
        (name, *(f'{mean:.3f}' for mean in errors.mean(axis=0) * units))
        for name, errors in rows.items()))


if __name__ == '__main__':
    sys.exit(main())
