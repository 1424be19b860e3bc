# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What `fly` says at its end: the summary, on the terminal and in a file, and the report."""
from __future__ import annotations

import argparse
import json
import pathlib
import sys
import typing

from px4_sim_ros.cli import fly_fleet
from px4_sim_ros.flight.flight_plan import FlightPlan
from px4_sim_ros.link.hil.link_state import TROUBLES
from px4_sim_ros.link.pilot.events import place_text
from px4_sim_ros.model.errors import ParameterError, sentence
from px4_sim_ros.process import atomic_write
from px4_sim_ros.spec.configuration import Configuration
from px4_sim_ros.spec.scenarios import NONE


def head(
    options: argparse.Namespace, configuration: Configuration, plan: FlightPlan, bag: str,
    *, has_page: bool,
) -> dict[str, typing.Any]:
    """Return what was flown, with which the summary begins."""
    world = configuration.world
    said = {'mode': options.mode, 'wind': world.wind, 'seed': world.seed}
    if plan.fleet:
        said |= {'name': plan.fleet, 'vehicles': len(plan.others) + 1}
    else:
        said = {'mode': options.mode, 'autopilot': options.autopilot,
                'vehicle': configuration.vehicle.name, 'wind': world.wind, 'seed': world.seed,
                'mission': plan.mission.name if plan.mission else 'none'}
    if configuration.world.scenario != NONE:
        said['scenario'] = pathlib.Path(configuration.world.scenario).stem
    if options.record is not None:
        said['recording'] = bag
    if options.report is not None and has_page:
        said['report'] = str(options.report)
    return said


def write_summary(summary: dict[str, typing.Any], path: pathlib.Path | None) -> bool:
    """Print the summary, and write it if that is wanted; return whether that has worked."""
    _print_summary(summary)
    sys.stdout.flush()         # before what is said on stderr
    try:
        if path is not None:
            atomic_write.write(path, json.dumps(summary, indent=2) + '\n')
    except OSError as error:
        print(f'fly: summary {path}: {sentence(error)}', file=sys.stderr)
        return False
    return True


def write_report(bag: str, path: pathlib.Path) -> bool:
    """Write the page about a recorded flight; return whether that has worked."""
    from px4_sim_ros.recording.bag.run_description import BagError
    from px4_sim_ros.recording.report.fleet_report import write_any_report
    try:
        write_any_report(bag, path)
    except (BagError, ParameterError, OSError) as error:
        print(f'fly: report {path}: {sentence(error)}', file=sys.stderr)
        return False
    print(f'look at {path}')
    return True


# Of what is a list: what each entry is called, and its text.
_LISTS: dict[str, tuple[str, typing.Callable[[dict[str, typing.Any]], str]]] = {
    'arrivals': ('arrival', lambda a: (
        f"{place_text(a['target_enu_m'])}, off by {a['position_error_m']:g} m")),
    'events': ('event', lambda e: f"{e['event']}, at {e['time_s']:.3f} s"),
    'distances': ('least distance', lambda d: (
        f"{' and '.join(d['vehicles'])}, {d['distance_m']:g} m at {d['time_s']:.3f} s")),
    'expectations': ('expected', lambda v: str(v['text'])),
}

# Troubles of the link that are printed also if there were none.
_ALWAYS = 'misses', 'unanswered'
_IF_ANY = {*TROUBLES, 'log_dropouts', 'log_lost_s'}


def _print_summary(summary: dict[str, typing.Any]) -> None:
    for key, value in summary.items():
        if key in _LISTS:
            name, text = _LISTS[key]
            for entry in value:
                print(f'{name:28} {text(entry)}')
        elif key == 'fleet':
            for vehicle in value:
                fly_fleet.print_vehicle(vehicle)
        elif value in (None, '', {}) or key == 'failure' or (
                key in _IF_ANY and key not in _ALWAYS and not value):
            continue           # there is none, or it is said on stderr
        elif isinstance(value, dict):
            print(f'{key:28} ' + ', '.join(f'{k} {v:.2f}' for k, v in value.items()))
        else:
            print(f'{key:28} {value}')
