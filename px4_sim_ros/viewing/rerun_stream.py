# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Writes columns of data into the stream of a Rerun recording."""
from __future__ import annotations

import typing

import numpy as np
import rerun

from px4_sim_ros.recording.report.plots import COLOURS, rgb
from px4_sim_ros.viewing.rerun_blueprint import LOG, TIMELINE


class RerunStream:
    """A stream with one timeline, that of simulated time."""

    def __init__(self, stream: rerun.RecordingStream, vehicle: str = '') -> None:
        """Begin.

        :param vehicle: its namespace, which goes before the names of entities
        """
        self._stream = stream
        self._root = f'/{vehicle}' if vehicle else ''
        self._described: set[str] = set()
        stream.set_log_time_enabled(False)
        stream.set_log_tick_enabled(False)

    def log_static(self, entity: str, archetype: rerun.AsComponents) -> None:
        """Write what holds for all times."""
        self._stream.log(f'{self._root}{entity}', archetype, static=True)

    def describe(self, entity: str, archetype: rerun.AsComponents) -> None:
        """Write the look of an entity before its first data; later calls do nothing."""
        if entity not in self._described:
            self._described.add(entity)
            self.log_static(entity, archetype)

    def send(
        self, entity: str, time_s: np.ndarray, columns: typing.Iterable[typing.Any],
    ) -> None:
        """Write data over time."""
        self._stream.send_columns(
            f'{self._root}{entity}',
            indexes=[rerun.TimeColumn(TIMELINE, duration=_duration(time_s))],
            columns=columns)

    def plot(
        self, entity: str, time_s: np.ndarray, values: np.ndarray, names: typing.Sequence[str],
        unit: str, colours: typing.Sequence[str] = COLOURS,
    ) -> None:
        """Write lines over time as one entity.

        :param values: (n, k), with a name for each column
        """
        count = values.shape[1]
        self.describe(entity, rerun.SeriesLines(
            names=[f'{name}, {unit}' for name in names],
            colors=[rgb(colours[i % len(colours)]) for i in range(count)]))
        self.send(entity, time_s, rerun.Scalars.columns(
            scalars=values.ravel()).partition([count] * len(time_s)))

    def log_text(self, time_s: float, level: str, who: str, text: str) -> None:
        """Write a line into the log.

        :param level: as Rerun has them: INFO, WARN, ERROR
        """
        self._stream.set_time(TIMELINE, duration=_duration(time_s))
        self._stream.log(f'{self._root}{LOG}/{who}', rerun.TextLog(text, level=level))

    def send_blueprint(self, blueprint: typing.Any) -> None:
        """Write how a viewer arranges the recording."""
        self._stream.send_blueprint(blueprint)


def _duration(time_s: typing.Any) -> typing.Any:
    """Return seconds as whole microseconds: Rerun would cut 8.04 s off to 8.039999999 s."""
    return np.round(np.multiply(time_s, 1e6)).astype('timedelta64[us]')


def rgba(colour: tuple[float, ...]) -> list[int]:
    """Return a colour of parts from 0 to 1 as Rerun has it."""
    return [round(255.0 * part) for part in colour]


def parts(colour: str) -> tuple[float, ...]:
    """Return a colour such as '#2a9d8f' as parts from 0 to 1, without transparency."""
    return (*(value / 255.0 for value in rgb(colour)), 1.0)
