"""The command `bench`: a step of dynamics alone, then the default flight in each mode."""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import typing

import tqdm

from px4_sim_ros.apps.fly import AUTOPILOTS, MODES
from px4_sim_ros.apps.px4 import Px4
from px4_sim_ros.configuration import load_configuration
from px4_sim_ros.core.dynamics import Dynamics
from px4_sim_ros.core.environment import Environment
from px4_sim_ros.core.integrators import INTEGRATOR_NAMES
from px4_sim_ros.core.parameters import ParameterError

# Short enough that a vehicle without control stays upright.
_STEPS, _ROUNDS = 250, 20
_LIGHT_AIR_ENU = (0.002, 0.001, 0.0)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.add_argument('--repeat', type=int, default=3, help='flights of each kind')
    parser.add_argument('--px4-dir', default=os.environ.get('PX4_DIR', ''),
                        help='a built PX4, to be measured as well; PX4_DIR by default')
    parser.add_argument('--json', type=pathlib.Path, metavar='FILE', help='write all figures here')


def bench(options: argparse.Namespace) -> int:
    """Fly, print the medians as a table, and write the JSON."""
    try:
        if options.px4_dir:
            Px4.find(options.px4_dir)
    except ParameterError as error:
        print(f'bench: {error}', file=sys.stderr)
        return 2
    kinds = [(mode, autopilot) for autopilot in AUTOPILOTS for mode in MODES
             if autopilot == 'embedded' or options.px4_dir]
    flights: dict[tuple[str, str], list[dict[str, typing.Any]]] = {kind: [] for kind in kinds}
    # Kinds in turn, not one after the other: a machine that slows down slows all of them.
    for kind in tqdm.tqdm(kinds * options.repeat, unit='flight', disable=None):
        summary = _fly(*kind, options.px4_dir)
        if summary is None:
            return 1
        flights[kind].append(summary)
    dynamics_us = {name: dynamics_cost_us(name) for name in INTEGRATOR_NAMES}
    print('a step of dynamics alone, us (median and range): ' + ', '.join(
        f'{name} {median:.1f} ({least:.1f}-{most:.1f})'
        for name, (median, least, most) in dynamics_us.items()))
    _print_table(flights)
    if options.json:
        figures = {'machine': machine(), 'dynamics_us': dynamics_us, 'flights': {
            ' '.join(kind): summaries for kind, summaries in flights.items()}}
        options.json.write_text(json.dumps(figures, indent=2) + '\n', encoding='utf-8')
    return 0


def machine() -> str:
    """Return a line about this machine."""
    with open('/proc/cpuinfo', encoding='utf-8') as file:
        model = next((line.partition(':')[2].strip() for line in file
                      if line.startswith('model name')), platform.machine())
    return f'{model}, {os.cpu_count()} cores, Python {platform.python_version()}'


def dynamics_cost_us(integrator: str) -> tuple[float, float, float]:
    """Return the wall time of a step in flight of the default vehicle: median, least, most."""
    configuration = load_configuration(None, {'dynamics': {'integrator': integrator}})
    world, vehicle = configuration.world, configuration.vehicle
    environment = Environment.of(world)
    speed = 1.01 * vehicle.hover_speed_rad_s(
        world.gravity().at(0.0), world.atmosphere().density_kg_m3(world.home_altitude_m))
    rounds = []
    for _ in range(_ROUNDS):
        dynamics = Dynamics(configuration.nodes['dynamics'], vehicle, environment, world.step_us)
        for _ in range(_STEPS):
            dynamics.step((speed,) * len(vehicle.rotors), _LIGHT_AIR_ENU)
        started_s = time.perf_counter()
        for _ in range(_STEPS):
            dynamics.step((speed,) * len(vehicle.rotors), _LIGHT_AIR_ENU)
        rounds.append((time.perf_counter() - started_s) / _STEPS * 1e6)
    return statistics.median(rounds), min(rounds), max(rounds)


def _fly(mode: str, autopilot: str, px4_dir: str) -> dict[str, typing.Any] | None:
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / 'summary.json'
        result = subprocess.run(
            [sys.executable, '-m', 'px4_sim_ros', 'fly', '--mode', mode, '--autopilot', autopilot,
             '--px4-dir', px4_dir, '--summary', str(file)],
            capture_output=True, text=True, check=False,
            # PX4 writes its log on the cores that fly.
            env=dict(os.environ) | {'PX4_PARAM_SDLOG_BACKEND': '0'})
        if result.returncode:
            print(f'bench: the flight in mode {mode} with {autopilot} failed:\n{result.stderr}',
                  file=sys.stderr)
            return None
        return json.loads(file.read_text(encoding='utf-8'))


def _print_table(flights: dict[tuple[str, str], list[dict[str, typing.Any]]]) -> None:
    print(machine())
    print(f"{'mode':10} {'autopilot':10} {'real-time factor':>26}  us a step by part")
    for (mode, autopilot), summaries in flights.items():
        factors = sorted(s['real_time_factor'] for s in summaries)
        parts = {part: statistics.median(s['step_cost_us'][part] for s in summaries)
                 for part in summaries[0]['step_cost_us']}
        text = ', '.join(f'{part} {spent_us:.0f}' for part, spent_us in parts.items())
        spread = f'{statistics.median(factors):.2f} ({factors[0]:.2f}-{factors[-1]:.2f})'
        print(f'{mode:10} {autopilot:10} {spread:>26}  {text}')
