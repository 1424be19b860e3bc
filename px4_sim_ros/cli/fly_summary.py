# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What `fly` says at its end: the summary, on the terminal and in a file, and the report."""
from __future__ import annotations

import argparse
import pathlib
import sys
import typing

from px4_sim_ros.cli import output
from px4_sim_ros.flight.record import FlightResult
from px4_sim_ros.link.hil.link_state import TROUBLES
from px4_sim_ros.link.pilot.events import place_text
from px4_sim_ros.model.errors import ParameterError, sentence
from px4_sim_ros.px4.log import LogLoss


def head(
    options: argparse.Namespace, result: FlightResult, failure: str, *, has_page: bool,
) -> dict[str, typing.Any]:
    """Return the head of the summary: verdict, flight and files."""
    said = {'verdict': result.verdict(failure)} | result.head()
    if options.record is not None:
        said['recording'] = result.recording
    if options.report is not None and has_page:
        said['report'] = str(options.report)
    return said


def write_summary(
    summary: dict[str, typing.Any], where: pathlib.Path | typing.TextIO | None,
) -> bool:
    """Print the summary, and write it if that is wanted; return whether that has worked."""
    _print_summary(summary)
    sys.stdout.flush()         # before what is said on stderr
    try:
        if where is not None:
            output.write_json(where, summary)
    except OSError as error:
        print(f'fly: summary {where}: {sentence(error)}', file=sys.stderr)
        return False
    return True


def write_report(bag: str, path: pathlib.Path) -> bool:
    """Write the page about a recorded flight; return whether that has worked."""
    from px4_sim_ros.recording.report.fleet_report import write_any_report
    try:
        write_any_report(bag, path)
    except (ParameterError, OSError) as error:
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
_IF_ANY = {*TROUBLES, *LogLoss._fields}


def _print_summary(summary: dict[str, typing.Any]) -> None:
    for key, value in summary.items():
        if key == 'verdict' and summary.get('failure'):
            print(f"{key:28} {value.partition(':')[0]}")       # the rest is said on stderr
        elif key in _LISTS:
            name, text = _LISTS[key]
            for entry in value:
                print(f'{name:28} {text(entry)}')
        elif key == 'fleet':
            for vehicle in value:
                _print_vehicle(vehicle)
        elif value in (None, '', {}) or key == 'failure' or (
                key in _IF_ANY and key not in _ALWAYS and not value):
            continue           # there is none, or it is said on stderr
        elif isinstance(value, dict):
            print(f'{key:28} ' + ', '.join(f'{k} {v:.2f}' for k, v in value.items()))
        else:
            print(f'{key:28} {value}')


def _print_vehicle(summary: dict[str, typing.Any]) -> None:
    """Print a line about a vehicle, and one for each thing that its scenario expects."""
    if summary['joined_s'] is None:
        print(f"{summary['namespace']:28} {summary['vehicle']}: in reserve, it has not joined")
        return
    how = 'landed' if summary['landed'] else summary['failure'] or 'not landed'
    for key, verb in ('left_s', 'left'), ('joined_s', 'joined'):
        if summary[key]:
            how = f'{verb} at {summary[key]:g} s, {how}'
    off = summary['position_error_at_landing_m']
    troubles = [f'{name} {summary[name]}' for name in TROUBLES
                if name == 'misses' or summary[name]]
    if summary.get('log_lost_s'):
        troubles.append(f"log_lost_s {summary['log_lost_s']:g}")
    print(f"{summary['namespace']:28} {summary['vehicle']}, {summary['mission']},"
          f" {summary['autopilot']}: {how}{f', off by {off:g} m' if off is not None else ''},"
          f" {', '.join(troubles)}, fingerprint {summary['fingerprint']}")
    for verdict in summary.get('expectations', ()):
        print(f"{'':28} expected {verdict['text']}")
