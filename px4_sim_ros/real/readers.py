# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which reader a log has."""
from __future__ import annotations

import pathlib
import typing

from px4_sim_ros.model.errors import ParameterError, within
from px4_sim_ros.real.flight import RealFlight


def read_flight(path: str | pathlib.Path) -> RealFlight:
    """Read a log by the kind of its file."""
    path = pathlib.Path(path).expanduser()
    if path.is_dir() or (not path.exists() and _names_vehicle(path)):
        return _recording(path)
    if not path.exists():
        raise ParameterError(f'log {path}: No such file or directory')
    if path.suffix not in _READERS:
        raise ParameterError(
            f'log {path}: must be a folder that was recorded with --record, or end with'
            f' {" or ".join(_READERS)}')
    return _READERS[path.suffix](path)


# Each loads what it needs only when it reads.
def _names_vehicle(path: pathlib.Path) -> bool:
    from px4_sim_ros.recording.bag.reader import folder_and_vehicle
    return bool(folder_and_vehicle(path)[1])


def _ulog(path: pathlib.Path) -> RealFlight:
    from px4_sim_ros.real.ulog import read_ulog
    return read_ulog(path)


def _parquet(path: pathlib.Path) -> RealFlight:
    from px4_sim_ros.real.mocap import read_nanodrone
    return read_nanodrone(path)


def _recording(path: pathlib.Path) -> RealFlight:
    from px4_sim_ros.real.recorded import read_recording
    with within(f'log {path}'):
        return read_recording(path)


_READERS: dict[str, typing.Callable[[pathlib.Path], RealFlight]] = {
    '.ulg': _ulog, '.parquet': _parquet}
