# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Writes columns of data into the stream of a Rerun recording."""
from __future__ import annotations

import typing

import numpy as np
import rerun
import rerun.blueprint as rerun_blueprint

from px4_sim_ros.recording.report.plots import COLOURS, rgb
from px4_sim_ros.spec.configuration import Configuration

# The entities of a Rerun recording, and how a viewer arranges them at first.

TIMELINE = 'sim_time'
WORLD, VEHICLE, LOG = '/world', '/world/vehicle', '/log'
# Moves with the vehicle, but does not turn with it.
ABOVE = '/world/above'
# To the nearest other vehicle.
DISTANCE = '/distance'
# From the vehicle.
_EYE_M, _LOOK_AT_M = (-1.9, -2.3, 1.5), (0.0, 0.0, 0.3)


def blueprint(
    configuration: Configuration, start_enu_m: typing.Sequence[float],
    images: typing.Mapping[str, bool], at_end: bool = False,
) -> rerun_blueprint.Blueprint:
    """Return how a viewer arranges a recording at first: space next to plots, the log below.

    :param images: entities, and whether they have a calibration and so a place in space
    """
    b = rerun_blueprint
    space = b.Spatial3DView(
        origin='/', name='Flight',
        contents=[f'{WORLD}/**', *(f'- {entity}' for entity, has in images.items() if not has)],
        overrides={f'{WORLD}/path': [_whole()]},
        line_grid=b.LineGrid3D(visible=True, spacing=1.0),
        eye_controls=b.EyeControls3D(
            position=np.add(start_enu_m, _EYE_M), look_target=np.add(start_enu_m, _LOOK_AT_M),
            eye_up=(0.0, 0.0, 1.0), tracking_entity=ABOVE))

    def plots(**contents: str) -> list[typing.Any]:
        return [b.TimeSeriesView(contents=entities.split(), name=name.replace('_', ' '))
                for name, entities in contents.items()]

    added = {'wind', *(row.name for row in configuration.world.own_blocks)}
    sensors = plots(**{sensor: f'/sensors/{sensor}/**'
                       for sensor in configuration.graph.sensors if sensor not in added})
    tabs = {
        'Cameras': [b.Spatial2DView(origin=entity, name=entity.removeprefix(f'{VEHICLE}/'))
                    for entity in images],
        'Motion': plots(Position='/truth/position /autopilot/position',
                        Velocity='/truth/velocity /autopilot/velocity',
                        Attitude='/truth/attitude /autopilot/attitude'),
        'Sensors': sensors[:4], 'More sensors': sensors[4:],
        'Rotors, battery, wind': plots(
            Rotors='/rotors/** /wheels/**', Battery='/battery/**', Wind='/wind/**')}
    return b.Blueprint(
        b.Horizontal(
            b.Vertical(space, b.TextLogView(contents=[f'{LOG}/**'], name='Log'),
                       row_shares=[4, 1]),
            b.Tabs(*(b.Vertical(*views, name=name) for name, views in tabs.items() if views)),
            column_shares=[3, 2]),
        b.TimePanel(timeline=TIMELINE, state='collapsed',
                    play_state='following' if at_end else None), collapse_panels=True)


def fleet_blueprint(
    vehicles: typing.Sequence[str], box_enu: tuple[np.ndarray, np.ndarray],
) -> rerun_blueprint.Blueprint:
    """Return how a viewer arranges several vehicles: all in one space, plots by vehicle."""
    b = rerun_blueprint
    low, high = box_enu
    middle = 0.5 * (low + high)
    away_m = 2.0 + 0.5 * np.linalg.norm(high - low)
    space = b.Spatial3DView(
        origin='/', contents=[f'/{name}{WORLD}/**' for name in vehicles], name='Flight',
        overrides={f'/{name}{WORLD}/path': [_whole()] for name in vehicles},
        line_grid=b.LineGrid3D(visible=True, spacing=1.0),
        eye_controls=b.EyeControls3D(
            position=middle + away_m * np.array((-1.2, -1.5, 1.0)), look_target=middle,
            eye_up=(0.0, 0.0, 1.0)))
    together = b.Vertical(
        b.TimeSeriesView(contents=[f'/{name}{DISTANCE}' for name in vehicles],
                         name='Distance to the nearest other vehicle'),
        b.TimeSeriesView(contents=[f'/{name}/battery/voltage' for name in vehicles],
                         name='Voltage'), name='All')
    each = [b.Vertical(
        b.TimeSeriesView(contents=[f'/{name}/truth/position'], name='Position'),
        b.TimeSeriesView(contents=[f'/{name}/truth/velocity'], name='Velocity'),
        b.TimeSeriesView(contents=[f'/{name}/rotors/**'], name='Rotors'), name=name)
        for name in vehicles]
    return b.Blueprint(
        b.Horizontal(
            b.Vertical(space, b.TextLogView(
                contents=[f'/{name}{LOG}/**' for name in vehicles], name='Log'),
                row_shares=[4, 1]),
            b.Tabs(together, *each), column_shares=[3, 2]),
        b.TimePanel(timeline=TIMELINE, state='collapsed'), collapse_panels=True)


def _whole() -> typing.Any:
    """Make all of a path visible, whatever time is looked at."""
    b = rerun_blueprint
    return b.VisibleTimeRanges([b.VisibleTimeRange(
        TIMELINE, start=b.TimeRangeBoundary.infinite(), end=b.TimeRangeBoundary.infinite())])


class RerunStream:
    """A stream with one timeline, that of simulated time."""

    def __init__(self, stream: rerun.RecordingStream, vehicle: str = '') -> None:
        self._stream = stream
        self._root = f'/{vehicle}' if vehicle else ''
        self._described: set[str] = set()
        stream.set_log_time_enabled(False)
        stream.set_log_tick_enabled(False)

    def log_static(self, entity: str, archetype: rerun.AsComponents) -> None:
        """Write what holds for all times."""
        self._stream.log(f'{self._root}{entity}', archetype, static=True)

    def log(self, entity: str, time_us: int, archetype: rerun.AsComponents) -> None:
        """Write what holds from a time on."""
        self._stream.set_time(TIMELINE, duration=np.timedelta64(time_us, 'us'))
        self._stream.log(f'{self._root}{entity}', archetype)

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
            names=[f'{name}, {unit}' if unit else name for name in names],
            colors=[rgb(colours[i % len(colours)]) for i in range(count)]))
        self.send(entity, time_s, rerun.Scalars.columns(
            scalars=values.ravel()).partition([count] * len(time_s)))

    def log_text(self, time_s: float, level: str, who: str, text: str) -> None:
        """Write a line into the log.

        :param level: as Rerun has them: INFO, WARN, ERROR
        """
        self.log(f'{LOG}/{who}', round(1e6 * time_s), rerun.TextLog(text, level=level))

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
