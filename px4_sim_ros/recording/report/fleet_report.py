# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The report of a flight of several vehicles: one HTML page from a bag."""
from __future__ import annotations

import itertools
import os
import pathlib
import typing

import numpy as np

from px4_sim_ros.model.scenario.happening import is_verdict
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.process import atomic_write
from px4_sim_ros.px4.log import LACKS
from px4_sim_ros.recording.analysis import lockstep_terms as terms
from px4_sim_ros.recording.analysis.fleet_flight import FleetFlight, read_fleet
from px4_sim_ros.recording.bag.reader import BagReader, vehicles_of
from px4_sim_ros.recording.report import report_page
from px4_sim_ros.recording.report.flight_report import write_report
from px4_sim_ros.recording.report.lockstep_health import state_seconds, troubles
from px4_sim_ros.recording.report.plots import (
    COLOURS,
    Line,
    Row,
    path_points,
    paths_3d,
    paths_from_above,
)
from px4_sim_ros.recording.report.report_page import (
    NOTHING_TO_PLOT,
    Section,
    figure,
    paragraph,
    table,
    time_plot,
)

_BRIDGE, _PILOT = 'hil_bridge', 'pilot'


def health_table(bag: BagReader, flight: FleetFlight) -> str:
    """Return a row for each vehicle as HTML."""
    rows = [(*_health_row(flight, name), _log_text(bag, name))
            for name, found in flight.counters.items() if _BRIDGE in found]
    if not rows:
        return paragraph('No vehicle has published counters.')
    return table(('vehicle', 'mission', 'link at the end', terms.UNANSWERED,
                  terms.LINK_TROUBLES, terms.LINK_STATES, 'what had to hold', LACKS), rows)


def _health_row(flight: FleetFlight, name: str) -> tuple[object, ...]:
    bridge, sentences = flight.counters[name][_BRIDGE], flight.sentences[name]
    verdicts = [said.text for said in flight.said
                if said.who == f'{name}.scenario' and is_verdict(said.text)]
    return (name, sentences.get(_PILOT) or 'none', sentences[_BRIDGE],
            f"{bridge.last('unanswered'):.0f}",
            _listed(f'{terms.counter_name(kind)} {count}'
                    for kind, count in troubles(bridge).items()),
            _listed(f'{state} {terms.figure(spent_s)} s'
                    for state, spent_s in state_seconds(bridge).items()),
            '; '.join(verdicts) or 'nothing')


def _log_text(bag: BagReader, name: str) -> str:
    loss = bag.log_loss(name)
    return '' if loss is None else loss.text


def _listed(parts: typing.Iterable[str]) -> str:
    return ', '.join(parts)


_PATH_POINTS = 1500
_POINTS = 1000
_MOST_EVENTS = 300
# Pairs of vehicles, the nearest ones, that the table has.
_MOST_PAIRS = 30


def write_fleet_report(bag: BagReader, path: pathlib.Path) -> None:
    atomic_write.write(path, fleet_report(bag))


def fleet_report(bag: BagReader) -> str:
    """Return the report of a flight as HTML that needs no other file.

    :raises BagError: the bag cannot be read
    """
    flight = read_fleet(bag)
    return report_page.page(f'Flight of {len(flight.members)} vehicles', _head(bag, flight), [
        Section('paths', 'Paths', _paths(flight)),
        Section('distances', 'Distances', _distances(flight)),
        Section('vehicles', 'Vehicles', _vehicles(flight)),
        Section('health', 'Health', health_table(bag, flight)),
        Section('events', 'Events', _events(flight))])


def _head(bag: BagReader, flight: FleetFlight) -> str:
    run = next(iter(flight.members.values()))
    end_s = float(flight.time_s[-1]) if len(flight.time_s) else 0.0
    nearest = flight.encounters.nearest()
    facts: list[tuple[str, object]] = [
        ('vehicles', len(flight.members)), ('mode', run.mode), ('seed', run.world.seed),
        ('wind', run.world.wind), ('simulated time', f'{end_s:.3f} s'),
        ('near misses', flight.encounters.near_misses),
        ('collisions', flight.encounters.collisions)]
    if nearest:
        facts.append(('least distance', f'{nearest[0].distance_m:.3f} m'))
    return (paragraph(bag.damage, 'warning') if bag.damage else '') + report_page.tiles(
        facts) + paragraph(
        f'From the recording {bag.folder.parent.name}. Paths and distances are of the simulated'
        ' centres of mass. Each vehicle has a page of its own: `report` with its namespace behind'
        ' the folder of the recording.')


def _colours(flight: FleetFlight) -> dict[str, str]:
    return dict(zip(flight.members, itertools.cycle(COLOURS)))


def _paths(flight: FleetFlight) -> str:
    if not len(flight.time_s):
        return NOTHING_TO_PLOT
    shown = {}
    for name, colour in _colours(flight).items():
        is_there = flight.is_there(name)
        if is_there.any():
            position = flight.positions_m[name][is_there]
            shown[name] = colour, position[path_points(
                flight.time_s[is_there], position, _PATH_POINTS)]
    return ('<div class="pair">'
            f'<div>{figure(paths_3d(shown))}</div>'
            f'<div>{figure(paths_from_above(shown))}</div></div>')


def _distances(flight: FleetFlight) -> str:
    if len(flight.members) < 2 or not len(flight.time_s):
        return paragraph('There is one vehicle only.')
    lines = [Line(name, flight.time_s, flight.nearest_m[name], colour)
             for name, colour in _colours(flight).items()]
    span_s = float(flight.time_s[0]), max(float(flight.time_s[-1]), float(flight.time_s[0]) + 1e-3)
    plot = time_plot([Row('distance to the nearest other vehicle', 'm', lines)], [], span_s,
                     _POINTS)
    return plot + table(('vehicles', 'least distance, m', 'at, s'), [
        (f'{pair.one} and {pair.other}', f'{pair.distance_m:.3f}',
         f'{pair.time_us / US_PER_S:.3f}')
        for pair in flight.encounters.nearest()[:_MOST_PAIRS]], 1)


def _vehicles(flight: FleetFlight) -> str:
    return table(
        ('vehicle', 'file', 'autopilot', 'mission', 'seed', 'there, s', 'greatest height, m',
         'from its start at the end, m', 'fingerprint', 'repeatable'),
        [_row(flight, name) for name in flight.members])


def _row(flight: FleetFlight, name: str) -> tuple[object, ...]:
    run, is_there = flight.members[name], flight.is_there(name)
    path = flight.positions_m[name][is_there]
    off = path - path[0] if len(path) else np.zeros((1, 3))
    found = flight.fingerprints[name]
    times_s = flight.time_s[is_there]
    span = f'{times_s[0]:.3f} to {times_s[-1]:.3f}' if len(times_s) else 'never'
    return (name, run.recorded_vehicle.name, run.autopilot, run.world.mission, run.world.seed, span,
            f'{off[:, 2].max():.3f}', f'{float(np.hypot(off[-1, 0], off[-1, 1])):.3f}',
            found.fingerprint or 'not known',
            f'no: {found.unrepeatable}' if found.unrepeatable else 'yes')


def _events(flight: FleetFlight) -> str:
    shown: typing.Sequence[typing.Any] = flight.said[:_MOST_EVENTS]
    if not shown:
        return paragraph('Nothing was logged.')
    left_out = len(flight.said) - len(shown)
    return table(('time, s', 'who', 'what'), [
        (f'{said.time_s:.3f}', said.who, said.text) for said in shown]) + (
        paragraph(f'{left_out} later ones are left out.', 'warning') if left_out else '')


def write_any_report(folder: str | pathlib.Path, path: pathlib.Path) -> None:
    """Write the report of a recording, or of a vehicle in it.

    :raises BagError: the bag cannot be read
    :raises OSError: the page cannot be written
    """
    bag = vehicles_of(folder)[0]
    if bag.folder == pathlib.Path(os.path.expanduser(folder)):
        write_report(bag, path)
    else:
        write_fleet_report(bag, path)
