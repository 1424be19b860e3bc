# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A recorded flight as Rerun shows it."""
from __future__ import annotations

import itertools
import typing

import numpy as np
import rerun

from px4_sim_ros.recording.analysis.export import columns_of
from px4_sim_ros.recording.analysis.fleet_flight import read_fleet
from px4_sim_ros.recording.analysis.flight_events import marks, read_contents
from px4_sim_ros.recording.analysis.flight_facts import mission_waypoints
from px4_sim_ros.recording.analysis.series import read_series
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.report.plots import COLOURS
from px4_sim_ros.viewing.rerun_log import RerunLog
from px4_sim_ros.viewing.rerun_stream import DISTANCE, RerunStream, fleet_blueprint, parts

_MOST_LINES, _STAMPS = 4, 'timestamp'
_LEVELS = {'warning': 'WARN', 'error': 'ERROR'}


def write_vehicle(
    bag: BagReader, open_run: typing.Callable[[], rerun.RecordingStream], **look: typing.Any,
) -> None:
    contents = read_contents(bag)
    series = contents.series
    odometry = series.get('ground_truth/odom')
    places = mission_waypoints(bag.run, odometry['position_m'].values[0]) if odometry else []
    configuration, lines = bag.run.configuration({}), marks(bag.run, contents)
    log = RerunLog(open_run(), configuration, places, whole=True, **look)
    log.add(series)
    _add_own_topics(bag, RerunStream(open_run(), look.get('namespace', '')))
    for mark in lines:
        log.log_text(mark.start_s, _LEVELS.get(mark.kind, 'INFO'), mark.who or mark.kind, mark.text)


def _add_own_topics(bag: BagReader, stream: RerunStream) -> None:
    """Plot the numbers of PX4's own topics, a line for each of a few."""
    for topic, fields in read_series(bag, bag.added).items() if bag.added else ():
        for field, its in fields.items():
            count = its.values.shape[1]
            if count <= _MOST_LINES and not field.startswith(_STAMPS):
                stream.plot(f'/{topic}/{field}', its.time_s, its.values, columns_of(field, count),
                            '')


def write_fleet(
    bags: typing.Sequence[BagReader], open_run: typing.Callable[[], rerun.RecordingStream],
) -> None:
    """Write all of a recording, each vehicle below its namespace in a colour of its own."""
    flight = read_fleet(bags[0])
    places = np.concatenate([*flight.positions_m.values(), [(0.0, 0.0, 0.0)]])
    open_run().send_blueprint(fleet_blueprint(
        list(flight.members), whole=True,
        box_enu=(np.nanmin(places, axis=0), np.nanmax(places, axis=0))))
    for bag, (name, nearest_m), colour in zip(
            bags, flight.nearest_m.items(), itertools.cycle(COLOURS)):
        write_vehicle(bag, open_run, namespace=name, path_colour=parts(colour))
        is_known = ~np.isnan(nearest_m)
        if is_known.any():
            RerunStream(open_run(), name).plot(
                DISTANCE, flight.time_s[is_known], nearest_m[is_known, None], (name,), 'm',
                (colour,))
