# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Flies every vehicle with PX4, and prints the table of docs/journal/measured.md, "Every vehicle".

Each flight repeats itself bit for bit, so its fingerprint can be looked up there. A flight counts
when its mission was flown to the end, no reply was missed, and PX4's log tells of nothing amiss: no
failure detector, no fault of the estimator, no WARN. It needs the package pyulog. The exit code is
1 when a flight does not count. Summaries and logs stay in `--out`; what is there already is not
flown again.
"""
from __future__ import annotations

import argparse
import concurrent.futures
import itertools
import json
import os
import pathlib
import queue
import re
import shutil
import subprocess
import sys
import typing

import numpy as np
from pyulog import ULog

from px4_sim_ros.spec.files import load_vehicle
from px4_sim_ros.spec.resources import named_files

_WEATHER = {'calm': [], 'dryden': ['--wind', 'dryden']}
_MISSIONS = 'square', 'plane', 'vtol', 'rover'
_TITLES = ('vehicle', 'wind', 'fingerprints of the seeds', 'in the air, s',
           'arrivals, m off at most', 'height, m off at most', 'end, m from the start')
_LOUD = 'EMERGENCY', 'ALERT', 'CRITICAL', 'ERROR', 'WARNING'
# Not about the flight: PX4's logger has room for 255 topics, of which a VTOL has more; and on a
# busy machine PX4 has to wait for a second of wall time now and then, which changes no bit.
_KNOWN = re.compile('Too many subscriptions|poll timeout')
_ARMED = 2          # vehicle_status.arming_state
_IN_THE_AIR_M = 0.5


class Flown(typing.NamedTuple):
    """What a flight was, and what PX4's log says of it."""

    summary: dict[str, typing.Any]
    air_s: float
    rejected: tuple[str, ...]
    problems: tuple[str, ...]


def mission_of(name: str) -> str:
    """Return the mission for the kind of a vehicle."""
    vehicle = load_vehicle(name)
    if vehicle.drives:
        return 'rover'
    if vehicle.is_multirotor:
        return 'square'
    return 'vtol' if vehicle.lift_rotors else 'plane'


def fly(vehicle: str, weather: str, seed: int, instance: int,
        options: argparse.Namespace) -> Flown:
    """Fly once, unless that was done before; return the findings in summary and PX4's log.

    :raises RuntimeError: it did not begin
    """
    folder = options.out / f'{vehicle}_{weather}_{seed}'
    summary = folder / 'summary.json'
    if not summary.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        run = subprocess.run(
            [sys.executable, '-m', 'px4_sim_ros', 'fly', '--mode', 'core', '--autopilot', 'px4',
             '--px4-dir', options.px4_dir, '--px4-schedule', 'repeatable', '--vehicle', vehicle,
             '--mission', mission_of(vehicle), '--seed', str(seed), *_WEATHER[weather],
             '--instance', str(instance), '--summary', summary],
            env=os.environ | {'ROS_HOME': str(folder.resolve())}, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        (folder / 'fly.log').write_text(run.stdout)
        if not summary.exists():
            raise RuntimeError(run.stdout)
    [path] = folder.rglob('*.ulg')
    return judged(json.loads(summary.read_text()), ULog(str(path)))


def judged(summary: dict[str, typing.Any], log: ULog) -> Flown:
    """Return a flight with what was wrong with it."""
    problems = [word for word in ('mission_flown', 'landed', 'repeatable') if not summary[word]]
    problems += [f'{summary[word]} {word}' for word in ('misses', 'unanswered') if summary[word]]
    data = {d.name: d.data for d in log.data_list if not d.multi_id}
    armed = _armed_us(data['vehicle_status'])
    problems += [f'failure detector: {name}'
                 for name in _raised(data['failure_detector_status'], 'fd_', armed)]
    problems += [f'estimator: {name}'
                 for name in (*_raised(data['estimator_status_flags'], 'fs_', armed),
                              *_raised(data['estimator_status'], 'filter_fault_flags', armed))]
    problems += [f'{m.log_level_str()} {m.message.strip()}' for m in log.logged_messages
                 if m.log_level_str() in _LOUD and m.timestamp >= armed[0]
                 and not _KNOWN.search(m.message)]
    rejected = _raised(data['estimator_status_flags'], 'reject_', armed)
    return Flown(summary, _air_s(summary, data), rejected, tuple(problems))


def _air_s(summary: dict[str, typing.Any], data: dict[str, dict[str, np.ndarray]]) -> float:
    """Return the time from leaving the ground to touching it; of one that drives, that of all."""
    truth = data['vehicle_local_position_groundtruth']
    high = truth['timestamp'][truth['z'][0] - truth['z'] > _IN_THE_AIR_M]
    return 1e-6 * float(high[-1] - high[0]) if len(high) else summary['sim_time_s']


def _armed_us(status: dict[str, np.ndarray]) -> tuple[float, float]:
    """Return from when to when it was armed."""
    times = status['timestamp'][status['arming_state'] == _ARMED]
    return float(times[0]), float(times[-1])


def _raised(
    data: dict[str, np.ndarray], prefix: str, span_us: tuple[float, float],
) -> tuple[str, ...]:
    """Return the flags that were not zero in this time."""
    during = (data['timestamp'] >= span_us[0]) & (data['timestamp'] <= span_us[1])
    return tuple(name for name, values in data.items()
                 if name.startswith(prefix) and values[during].any())


def row(vehicle: str, weather: str, flights: typing.Sequence[Flown]) -> str:
    """Return the line of the table for the flights of one vehicle in one weather."""
    summaries = [flight.summary for flight in flights]
    arrivals = [a for s in summaries for a in s['arrivals']]
    cells = (f'`{vehicle}`', {'calm': 'calm', 'dryden': 'Dryden'}[weather],
             ' '.join(f"`{s['fingerprint']}`" for s in summaries),
             _range([flight.air_s for flight in flights], 0),
             f"{max(a['position_error_m'] for a in arrivals):.2f}",
             f"{max(abs(a['altitude_error_m']) for a in arrivals):.1f}",
             _range([s['position_error_at_landing_m'] for s in summaries], 1))
    return f"| {' | '.join(cells)} |"


def _range(values: typing.Sequence[float], digits: int) -> str:
    least, most = (f'{f(values):.{digits}f}' for f in (min, max))
    return least if least == most else f'{least} to {most}'


def main() -> int:
    """Fly, and print the table and what was wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = sorted(named_files('vehicles'), key=lambda name: _MISSIONS.index(mission_of(name)))
    parser.add_argument('--px4-dir', default=os.environ.get('PX4_DIR'), required=(
        'PX4_DIR' not in os.environ))
    parser.add_argument('--out', type=pathlib.Path, default=pathlib.Path('all_flights'))
    parser.add_argument('--vehicles', nargs='+', choices=known, default=known, metavar='NAME')
    parser.add_argument('--weather', nargs='+', choices=_WEATHER, default=list(_WEATHER))
    parser.add_argument('--seeds', nargs='+', type=int, default=[1, 2, 3], metavar='N')
    parser.add_argument('--jobs', type=int, default=1, help='flights at a time')
    parser.add_argument('--instance', type=int, default=0, help='of the first of them')
    options = parser.parse_args()
    free: queue.SimpleQueue[int] = queue.SimpleQueue()
    for i in range(options.jobs):
        free.put(options.instance + i)

    def flight(job: tuple[str, str, int]) -> Flown:
        instance = free.get()
        try:
            return fly(*job, instance, options)
        finally:
            free.put(instance)

    pairs = list(itertools.product(options.vehicles, options.weather))
    print('| ' + ' | '.join(_TITLES) + ' |\n' + '| --- ' * len(_TITLES) + '|', flush=True)
    remarks, all_count = [], True
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        found = pool.map(flight, [(*pair, seed) for pair in pairs for seed in options.seeds])
        for pair in pairs:
            flights = [next(found) for _ in options.seeds]
            print(row(*pair, flights), flush=True)
            for seed, one in zip(options.seeds, flights):
                name = f"{' '.join(pair)} {seed}"
                remarks += [f'{name}: {problem}' for problem in one.problems]
                if one.rejected:
                    remarks.append(f"{name}: EKF2 rejected now and then: {', '.join(one.rejected)}")
                all_count &= not one.problems
    print('', *remarks, 'all flights count' if all_count else 'not all flights count', sep='\n')
    return 0 if all_count else 1


if __name__ == '__main__':
    sys.exit(main())
