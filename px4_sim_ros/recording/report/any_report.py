# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The report of a recording: of one vehicle, or of several at once."""
from __future__ import annotations

import pathlib

from px4_sim_ros.recording.bag.reader import BagReader, vehicles_of
from px4_sim_ros.recording.report.fleet_report import write_fleet_report
from px4_sim_ros.recording.report.flight_report import write_report


def write_any_report(folder: str | pathlib.Path, path: pathlib.Path) -> BagReader:
    """Write the report of a recording, or of a vehicle in it; return what was read.

    :raises BagError: the bag cannot be read
    :raises OSError: the page cannot be written
    """
    bag = vehicles_of(folder)[0]
    if bag.folder == pathlib.Path(folder).expanduser():
        write_report(bag, path)
    else:
        write_fleet_report(bag, path)
    return bag
