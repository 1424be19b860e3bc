# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The entities of a Rerun recording, and how a viewer arranges them at first."""
from __future__ import annotations

import typing

import numpy as np
import rerun.blueprint as rerun_blueprint

from px4_sim_ros.spec.configuration import Configuration

TIMELINE = 'sim_time'
WORLD, VEHICLE, LOG = '/world', '/world/vehicle', '/log'
# Moves with the vehicle, but does not turn with it.
ABOVE = '/world/above'
# To the nearest other vehicle.
DISTANCE = '/distance'
# From the vehicle.
_EYE_M, _LOOK_AT_M = (-1.9, -2.3, 1.5), (0.0, 0.0, 0.3)


def blueprint(
    configuration: Configuration, whole: bool = False,
    start_enu_m: typing.Sequence[float] = (0.0, 0.0, 0.0), at_end: bool = False,
) -> rerun_blueprint.Blueprint:
    """Return how a viewer arranges a recording at first: space next to plots, the log below.

    :param whole: the path is shown to its end, and not only up to the vehicle
    :param start_enu_m: where the vehicle is at first
    :param at_end: begin at the latest time
    """
    b = rerun_blueprint
    flown = _flown(whole)
    space = b.Spatial3DView(
        origin='/', contents=[f'{WORLD}/**'], name='Flight',
        overrides={f'{WORLD}/path': [flown]},
        line_grid=b.LineGrid3D(visible=True, spacing=1.0),
        eye_controls=b.EyeControls3D(
            position=np.add(start_enu_m, _EYE_M), look_target=np.add(start_enu_m, _LOOK_AT_M),
            eye_up=(0.0, 0.0, 1.0), tracking_entity=ABOVE))
    motion = b.Vertical(
        b.TimeSeriesView(contents=['/truth/position', '/autopilot/position'], name='Position'),
        b.TimeSeriesView(contents=['/truth/velocity', '/autopilot/velocity'], name='Velocity'),
        b.TimeSeriesView(contents=['/truth/attitude', '/autopilot/attitude'], name='Attitude'),
        name='Motion')
    forces = b.Vertical(
        b.TimeSeriesView(contents=['/rotors/**', '/wheels/**'], name='Rotors'),
        b.TimeSeriesView(contents=['/battery/**'], name='Battery'),
        b.TimeSeriesView(contents=['/wind/**'], name='Wind'), name='Rotors, battery, wind')
    sensors = [
        b.TimeSeriesView(contents=[f'/sensors/{sensor}/**'], name=sensor)
        for sensor in configuration.graph.sensors if sensor != 'wind']
    return b.Blueprint(
        b.Horizontal(
            b.Vertical(space, b.TextLogView(contents=[f'{LOG}/**'], name='Log'),
                       row_shares=[4, 1]),
            b.Tabs(motion, b.Vertical(*sensors[:4], name='Sensors'), *(
                [b.Vertical(*sensors[4:], name='More sensors')] if sensors[4:] else []), forces),
            column_shares=[3, 2]),
        b.TimePanel(timeline=TIMELINE, state='collapsed',
                    play_state='following' if at_end else None), collapse_panels=True)


def fleet_blueprint(
    vehicles: typing.Sequence[str], whole: bool = False,
    box_enu: tuple[np.ndarray, np.ndarray] = (np.zeros(3), np.zeros(3)),
) -> rerun_blueprint.Blueprint:
    """Return how a viewer arranges several vehicles: all in one space, plots by vehicle.

    :param vehicles: their namespaces
    :param box_enu: the least and the greatest coordinates of what there is to see
    """
    b = rerun_blueprint
    low, high = box_enu
    middle = 0.5 * (low + high)
    away_m = 2.0 + 0.5 * np.linalg.norm(high - low)
    space = b.Spatial3DView(
        origin='/', contents=[f'/{name}{WORLD}/**' for name in vehicles], name='Flight',
        overrides={f'/{name}{WORLD}/path': [_flown(whole)] for name in vehicles},
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


def _flown(whole: bool) -> typing.Any:
    """Return which part of a path is visible."""
    b = rerun_blueprint
    end = b.TimeRangeBoundary.infinite() if whole else b.TimeRangeBoundary.cursor_relative(
        seconds=0.0)
    return b.VisibleTimeRanges([b.VisibleTimeRange(
        TIMELINE, start=b.TimeRangeBoundary.infinite(), end=end)])
