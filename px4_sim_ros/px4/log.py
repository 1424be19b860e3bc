# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What PX4's logs (ULog) lack: its writer drops data when the machine gives it too little time.

Each dropout is a message of type O with its length in ms, see
https://docs.px4.io/main/en/dev_log/ulog_file_format.html.
"""
from __future__ import annotations

import mmap
import pathlib
import struct
import typing

from px4_sim_ros.process.children import Child
from px4_sim_ros.px4.sitl import Px4Process

_MAGIC = b'ULog\x01\x12\x35'
_HEADER_BYTES = 16
_HEAD = struct.Struct('<HB')         # of a message: the bytes that follow, and its type
_DROPOUT = struct.Struct('<H')       # ms
_TYPES = frozenset(b'ABCDFILMOPQRS')
LACKS = "PX4's log lacks"


class LogLoss(typing.NamedTuple):
    """How much of a flight is missing in PX4's logs."""

    log_dropouts: int
    log_lost_s: float    # simulated

    @classmethod
    def of(cls, values: typing.Mapping[str, typing.Any]) -> LogLoss | None:
        """Return the loss in a summary, a row or a recording; None if it has none."""
        try:
            return cls(int(values['log_dropouts']), float(values['log_lost_s']))
        except (LookupError, TypeError, ValueError, OverflowError):
            return None

    @classmethod
    def total(cls, losses: typing.Iterable[LogLoss]) -> LogLoss:
        """Return the loss in several flights together."""
        dropouts, lost_s = map(sum, zip((0, 0.0), *losses))
        return cls(dropouts, round(lost_s, 3))

    @property
    def text(self) -> str:
        if not self.log_dropouts:
            return 'nothing'
        count = self.log_dropouts
        return f"{self.log_lost_s:g} s in {'a dropout' if count == 1 else f'{count} dropouts'}"

    def warning(self, repeats: bool) -> str:
        """Return the gaps and the remedy, or ''."""
        if not self.log_dropouts:
            return ''
        return (f'{LACKS} {self.text}, because the machine was busy:'
                f" fly with {'' if repeats else '--px4-schedule repeatable, or with '}"
                'fewer other processes')


def loss_of(autopilots: typing.Iterable[Child]) -> LogLoss | None:
    """Return the gaps in the logs of autopilots that have ended; None if there is no log."""
    logs = [durations for autopilot in autopilots if isinstance(autopilot, Px4Process)
            for path in sorted(autopilot.run_folder.glob('log/**/*.ulg'))
            if (durations := dropouts_ms(path)) is not None]
    durations_ms = [duration_ms for log in logs for duration_ms in log]
    return LogLoss(len(durations_ms), round(sum(durations_ms) / 1e3, 3)) if logs else None


def dropouts_ms(path: pathlib.Path) -> list[int] | None:
    """Return the lengths of the dropouts of a log in ms, None if it cannot be read."""
    found: list[int] = []
    try:
        with path.open('rb') as file:
            if file.read(_HEADER_BYTES)[:len(_MAGIC)] != _MAGIC:
                return None
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                if data.find(_HEAD.pack(_DROPOUT.size, ord('O'))) < 0:
                    return []              # as most have none: to walk takes half a second
                place, last = _HEADER_BYTES, len(data) - _HEAD.size
                while place <= last:
                    size, kind = _HEAD.unpack_from(data, place)
                    place += _HEAD.size
                    if kind not in _TYPES or place + size > len(data):
                        break
                    if kind == ord('O') and size == _DROPOUT.size:
                        found += _DROPOUT.unpack_from(data, place)
                    place += size
    except OSError:        # it is gone, or of another user
        return None
    return found
