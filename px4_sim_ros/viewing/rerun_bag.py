# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A recorded flight as Rerun shows it."""
from __future__ import annotations

import typing

import rerun

from px4_sim_ros.recording.analysis.flight_events import marks, read_contents
from px4_sim_ros.recording.analysis.flight_facts import mission_waypoints
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.viewing.rerun_log import RerunLog

_LEVELS = {'warning': 'WARN', 'error': 'ERROR'}


def write_vehicle(
    bag: BagReader, open_run: typing.Callable[[], rerun.RecordingStream], **look: typing.Any,
) -> None:
    """Write all of the recording of a vehicle.

    :param open_run: returns where to, and is called once all is read
    :param look: of one of several, as `RerunLog` takes it
    :raises BagError: it cannot be read
    :raises ParameterError: it does not fit its vehicle
    """
    contents = read_contents(bag)
    series = contents.series
    odometry = series.get('ground_truth/odom')
    places = mission_waypoints(bag.run, odometry['position_m'].values[0]) if odometry else []
    configuration, lines = bag.run.configuration({}), marks(bag.run, contents)
    log = RerunLog(open_run(), configuration, places, whole=True, **look)
    log.add(series)
    for mark in lines:
        log.log_text(mark.start_s, _LEVELS.get(mark.kind, 'INFO'), mark.who or mark.kind, mark.text)
