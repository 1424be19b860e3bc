"""A flight as Rerun shows it: vehicle, path and forces in space, everything else over time.

Rerun (https://rerun.io) is an extra: `pip install rerun-sdk`. Data goes to it in portions of
columns, because a call for each value would cost more than all the rest.
"""
from __future__ import annotations

import typing

import numpy as np
import rerun
import rerun.blueprint as rerun_blueprint

from px4_sim_ros.config.configuration import Configuration
from px4_sim_ros.messages.measurements import range_frame
from px4_sim_ros.model.parameters import ParameterError
from px4_sim_ros.model.rotation import matrix, to_world
from px4_sim_ros.model.sensors.range_finder import RangeFinderParameters
from px4_sim_ros.recording.analysis.attitudes import roll_pitch_yaw_deg
from px4_sim_ros.recording.analysis.sensor_errors import IdealSensors, SensorComparison
from px4_sim_ros.recording.analysis.series import Series
from px4_sim_ros.recording.report.path_plots import Waypoint
from px4_sim_ros.recording.report.plots import COLOURS, TRUTH_COLOUR
from px4_sim_ros.viewing.links import rotor_frame, sensor_links
from px4_sim_ros.viewing.markers import (
    BEAM_COLOUR,
    GNSS_COLOUR,
    SET_POINT_COLOUR,
    WIND_ABOVE_M,
    WIND_COLOUR,
    WIND_M_PER_M_S,
)
from px4_sim_ros.viewing.rotor_motion import RotorAngles, ThrustArrows
from px4_sim_ros.viewing.shapes import Kind, Shape, rotor_colour, vehicle_shapes

APPLICATION = 'px4_sim_ros'
TIMELINE = 'sim_time'
_WORLD, _VEHICLE, _LOG = '/world', '/world/vehicle', '/log'
# Goes with the vehicle, but does not turn with it.
_ABOVE = '/world/above'
_PATH_COLOUR = (0.95, 0.75, 0.20, 1.0)
# A negative radius is in points of the screen.
_LINE_POINTS, _THIN_POINTS, _PLACE_POINTS = -1.5, -0.5, -5.0
# It is large, and no more than a dark outline is drawn: Rerun's lines are opaque.
_OUTLINE_COLOUR = (*(0.5 * part for part in GNSS_COLOUR[:3]), 1.0)

# From the vehicle.
_EYE_M, _LOOK_AT_M = (-1.9, -2.3, 1.5), (0.0, 0.0, 0.3)

_SeriesOf = typing.Mapping[str, dict[str, Series]]


class RerunLog:
    """Writes one run into one Rerun recording."""

    def __init__(
        self, stream: rerun.RecordingStream, configuration: Configuration,
        places: typing.Sequence[Waypoint] = (), *, whole: bool = False,
    ) -> None:
        """Write what never changes.

        :param places: where the mission leads
        :param whole: the run is over: its whole path is shown at once
        """
        self._stream = stream
        self._configuration = configuration
        vehicle = configuration.vehicle
        self._thrust = ThrustArrows(vehicle, configuration.world.gravity_m_s2)
        self._angles = RotorAngles(vehicle)
        self._ideal = IdealSensors(configuration)
        self._beams = {link.frame: (link.position_m, to_world(matrix(link.attitude), (1, 0, 0)))
                       for link in sensor_links(configuration)}
        self._path_end: np.ndarray | None = None
        self._last_wind: Series | None = None
        self._named: set[str] = set()
        # Nothing is on a timeline but the simulated one.
        stream.set_log_time_enabled(False)
        stream.set_log_tick_enabled(False)
        self._draw_vehicle()
        self._draw_places(places)
        self._whole, self._arranged = whole, False

    def add(self, series: _SeriesOf) -> None:
        """Write a portion of the run, later than those before.

        :raises ParameterError: the vehicle of the run is not that of the configuration
        """
        pose = series.get('ground_truth/pose')
        self._arrange(pose)
        self._add_pose(pose)
        self._add_rotors(series)
        self._add_wind(series.get('wind'))
        self._add_beam(series.get('range'))
        self._add_truth(series.get('ground_truth/odom'))
        self._add_battery(series.get('battery_state'))
        for comparison in self._ideal.compare(self._with_last_wind(series)):
            self._add_comparison(comparison)
        for sensor in self._configuration.graph.instances['gps']:
            self._add_accuracy(sensor, series)

    def _with_last_wind(self, series: _SeriesOf) -> _SeriesOf:
        """Return a portion in which the wind before it still blows."""
        now = series['wind']['velocity_m_s'] if 'wind' in series else None
        known = [wind for wind in (self._last_wind, now) if wind is not None]
        if not known:
            return series
        whole = Series(*map(np.concatenate, zip(*known)))
        self._last_wind = Series(whole.time_s[-1:], whole.values[-1:])
        return {**series, 'wind': {'velocity_m_s': whole}}

    def log_text(self, time_s: float, level: str, who: str, text: str) -> None:
        """Write a line into the log.

        :param level: as Rerun has them: INFO, WARN, ERROR
        """
        self._stream.set_time(TIMELINE, duration=time_s)
        self._stream.log(f'{_LOG}/{who}', rerun.TextLog(text, level=level))

    # What never changes.

    def _draw_vehicle(self) -> None:
        log = self._stream.log
        log(_WORLD, rerun.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
        vehicle = self._configuration.vehicle
        entities = {rotor_frame(i): f'{_VEHICLE}/{rotor_frame(i)}'
                    for i in range(len(vehicle.rotors))}
        for i, rotor in enumerate(vehicle.rotors):
            log(entities[rotor_frame(i)], rerun.Transform3D(translation=rotor.position_m),
                static=True)
        for shape in vehicle_shapes(vehicle):
            turning = entities.get(shape.frame)
            entity = f'{turning}/turning' if turning else f'{_VEHICLE}/body'
            log(f'{entity}/{shape.name}', _drawn(shape), static=True)

    def _draw_places(self, places: typing.Sequence[Waypoint]) -> None:
        if places:
            self._stream.log(f'{_WORLD}/mission', rerun.Points3D(
                [place.position_enu_m for place in places], radii=_PLACE_POINTS,
                colors=_rgba(SET_POINT_COLOUR), labels=[place.name for place in places],
                show_labels=False), static=True)

    # In space.

    def _arrange(self, pose: typing.Mapping[str, Series] | None) -> None:
        """Say how it is looked at: a viewer follows the vehicle from where it finds it."""
        if not self._arranged:
            self._arranged = True
            start_m = (0.0, 0.0, 0.0) if pose is None else pose['position_m'].values[0]
            self._stream.send_blueprint(blueprint(self._configuration, self._whole, start_m))

    def _add_pose(self, pose: typing.Mapping[str, Series] | None) -> None:
        if pose is None:
            return
        time_s, position_m = pose['position_m']
        self._send(_VEHICLE, time_s, rerun.Transform3D.columns(
            translation=position_m, quaternion=np.roll(pose['attitude_wxyz'].values, -1, axis=1)))
        self._send(_ABOVE, time_s, rerun.Transform3D.columns(
            translation=position_m + (0.0, 0.0, WIND_ABOVE_M)))
        start = position_m[:1] if self._path_end is None else self._path_end
        points = np.concatenate([start, position_m])
        self._path_end = position_m[-1:]
        # A viewer draws all pieces up to its time: so the path grows.
        self._once(f'{_WORLD}/path', rerun.LineStrips3D.from_fields(
            colors=[_rgba(_PATH_COLOUR)], radii=[_LINE_POINTS]))
        self._send(f'{_WORLD}/path', time_s, rerun.LineStrips3D.columns(
            strips=list(np.stack([points[:-1], points[1:]], axis=1))))

    def _add_rotors(self, series: _SeriesOf) -> None:
        measured = series.get('joint_states')
        if measured is not None:
            time_s, speeds = measured['rotor_speed_rad_s']
            self._check_rotors(speeds.shape[1])
            angles = np.array([self._angles.at(t, row) for t, row in zip(
                time_s.tolist(), speeds.tolist())])
            for i in range(speeds.shape[1]):
                half = 0.5 * angles[:, i]
                self._send(f'{_VEHICLE}/{rotor_frame(i)}/turning', time_s,
                           rerun.Transform3D.columns(quaternion=np.stack(
                               [0.0 * half, 0.0 * half, np.sin(half), np.cos(half)], axis=1)))
            self._add_thrust(time_s, speeds)
            self._plot('/rotors/speed', time_s, speeds, _numbered(speeds), 'rad/s')
        asked = series.get('actuators/command')
        if asked is not None:
            time_s, speeds = asked['rotor_speed_reference_rad_s']
            self._plot('/rotors/reference', time_s, speeds, _numbered(speeds), 'rad/s')

    def _check_rotors(self, count: int) -> None:
        vehicle = self._configuration.vehicle
        if count != len(vehicle.rotors):
            raise ParameterError(
                f'vehicle {vehicle.name}: it has {len(vehicle.rotors)} rotors and that of the'
                f' graph has {count}; name the vehicle of the graph')

    def _add_thrust(self, time_s: np.ndarray, speeds_rad_s: np.ndarray) -> None:
        vehicle, count = self._configuration.vehicle, speeds_rad_s.shape[1]
        vectors = np.zeros((len(time_s), count, 3))
        vectors[:, :, 2] = [self._thrust.lengths_m(row) for row in speeds_rad_s.tolist()]
        self._once(f'{_VEHICLE}/thrust', rerun.Arrows3D.from_fields(
            origins=[rotor.position_m for rotor in vehicle.rotors],
            colors=[_rgba(rotor_colour(vehicle, i)) for i in range(count)]))
        self._send(f'{_VEHICLE}/thrust', time_s, rerun.Arrows3D.columns(
            vectors=vectors.reshape(-1, 3)).partition([count] * len(time_s)))

    def _add_wind(self, wind: typing.Mapping[str, Series] | None) -> None:
        if wind is None:
            return
        time_s, velocity_m_s = wind['velocity_m_s']
        self._once(f'{_ABOVE}/wind', rerun.Arrows3D.from_fields(colors=[_rgba(WIND_COLOUR)]))
        self._send(f'{_ABOVE}/wind', time_s, rerun.Arrows3D.columns(
            vectors=WIND_M_PER_M_S * velocity_m_s))
        self._plot('/wind/velocity', time_s, velocity_m_s, ('east', 'north', 'up'), 'm/s')

    def _add_beam(self, measured: typing.Mapping[str, Series] | None) -> None:
        if measured is None:
            return
        parameters = typing.cast(
            RangeFinderParameters, self._configuration.nodes['range_finder'])
        start, along = self._beams[range_frame(parameters.direction)]
        time_s, range_m = measured['range_m']
        seen = np.isfinite(range_m[:, 0])
        if seen.any():
            ends = np.array(start) + range_m[seen] * np.array(along)
            self._once(f'{_VEHICLE}/range', rerun.LineStrips3D.from_fields(
                colors=[_rgba(BEAM_COLOUR)], radii=[_THIN_POINTS]))
            self._send(f'{_VEHICLE}/range', time_s[seen], rerun.LineStrips3D.columns(
                strips=[np.array([start, end]) for end in ends]))

    def _add_accuracy(self, sensor: str, series: _SeriesOf) -> None:
        fixes = next((series[topic.name] for topic in self._configuration.graph.outputs(sensor)
                      if topic.kind == 'gps/fix' and topic.name in series), None)
        if fixes is None:
            return
        self._once(f'{_WORLD}/{sensor}', rerun.Ellipsoids3D.from_fields(
            colors=[_rgba(_OUTLINE_COLOUR)], line_radii=[_THIN_POINTS],
            fill_mode='majorwireframe'))
        time_s, deviation_m = fixes['deviation_m']
        self._send(f'{_WORLD}/{sensor}', time_s, rerun.Ellipsoids3D.columns(
            half_sizes=deviation_m))

    # Over time.

    def _add_truth(self, odometry: typing.Mapping[str, Series] | None) -> None:
        if odometry is None:
            return
        time_s, position_m = odometry['position_m']
        self._plot('/truth/position', time_s, position_m, ('east', 'north', 'up'), 'm')
        self._plot('/truth/velocity', time_s, odometry['velocity_m_s'].values,
                   ('forward', 'left', 'up'), 'm/s')
        self._plot('/truth/attitude', time_s, roll_pitch_yaw_deg(odometry['attitude_wxyz'].values),
                   ('roll', 'pitch', 'yaw'), 'deg')
        self._plot('/truth/rate', time_s, odometry['rate_rad_s'].values, 'xyz', 'rad/s')

    def _add_battery(self, battery: typing.Mapping[str, Series] | None) -> None:
        if battery is None:
            return
        for field, unit in (('voltage_v', 'V'), ('current_a', 'A')):
            name = field.rpartition('_')[0]
            self._plot(f'/battery/{name}', *battery[field], (name,), unit)

    def _add_comparison(self, comparison: SensorComparison) -> None:
        entity = f"/sensors/{comparison.sensor}/{comparison.quantity.replace(' ', '_')}"
        self._plot(f'{entity}/measured', comparison.time_s, comparison.measured, comparison.axes,
                   comparison.unit)
        self._plot(f'{entity}/truth', comparison.time_s, comparison.truth,
                   [f'{axis}, truth' for axis in comparison.axes], comparison.unit,
                   [TRUTH_COLOUR] * len(comparison.axes))
        if comparison.quantity == 'position' and comparison.sensor.startswith('gps'):
            known = np.isfinite(comparison.measured).all(axis=1)
            if known.any():
                self._send(f'{_WORLD}/{comparison.sensor}', comparison.time_s[known],
                           rerun.Ellipsoids3D.columns(centers=comparison.measured[known]))

    def _plot(
        self, entity: str, time_s: np.ndarray, values: np.ndarray, names: typing.Sequence[str],
        unit: str, colours: typing.Sequence[str] = COLOURS,
    ) -> None:
        """Write lines over time, all of one entity, with names and a unit."""
        count = values.shape[1]
        self._once(entity, rerun.SeriesLines(
            names=[f'{name}, {unit}' for name in names],
            colors=[_hex(colours[i % len(colours)]) for i in range(count)]))
        self._send(entity, time_s, rerun.Scalars.columns(
            scalars=values.ravel()).partition([count] * len(time_s)))

    def _once(self, entity: str, archetype: rerun.AsComponents) -> None:
        if entity not in self._named:
            self._named.add(entity)
            self._stream.log(entity, archetype, static=True)

    def _send(
        self, entity: str, time_s: np.ndarray, columns: typing.Iterable[typing.Any],
    ) -> None:
        self._stream.send_columns(
            entity, indexes=[rerun.TimeColumn(TIMELINE, duration=time_s)], columns=columns)


def blueprint(
    configuration: Configuration, whole: bool = False,
    start_enu_m: typing.Sequence[float] = (0.0, 0.0, 0.0), at_end: bool = False,
) -> rerun_blueprint.Blueprint:
    """Return how a viewer arranges it at first: space beside plots, the log below.

    :param whole: the path is shown to its end, and not only to where the vehicle is
    :param start_enu_m: where the vehicle is when somebody begins to look
    :param at_end: begin at the end of what there is
    """
    b = rerun_blueprint
    end = b.TimeRangeBoundary.infinite() if whole else b.TimeRangeBoundary.cursor_relative(
        seconds=0.0)
    flown = b.VisibleTimeRanges([b.VisibleTimeRange(
        TIMELINE, start=b.TimeRangeBoundary.infinite(), end=end)])
    space = b.Spatial3DView(
        origin='/', contents=[f'{_WORLD}/**'], name='Flight',
        overrides={f'{_WORLD}/path': [flown]},
        line_grid=b.LineGrid3D(visible=True, spacing=1.0),
        eye_controls=b.EyeControls3D(
            position=np.add(start_enu_m, _EYE_M), look_target=np.add(start_enu_m, _LOOK_AT_M),
            eye_up=(0.0, 0.0, 1.0), tracking_entity=_ABOVE))
    motion = b.Vertical(
        b.TimeSeriesView(contents=['/truth/position'], name='Position'),
        b.TimeSeriesView(contents=['/truth/velocity'], name='Velocity'),
        b.TimeSeriesView(contents=['/truth/attitude'], name='Attitude'), name='Motion')
    forces = b.Vertical(
        b.TimeSeriesView(contents=['/rotors/**'], name='Rotors'),
        b.TimeSeriesView(contents=['/battery/**'], name='Battery'),
        b.TimeSeriesView(contents=['/wind/**'], name='Wind'), name='Rotors, battery, wind')
    sensors = [
        b.TimeSeriesView(contents=[f'/sensors/{sensor}/**'], name=sensor)
        for sensor in configuration.graph.sensors if sensor != 'wind']
    return b.Blueprint(
        b.Horizontal(
            b.Vertical(space, b.TextLogView(contents=[f'{_LOG}/**'], name='Log'),
                       row_shares=[4, 1]),
            b.Tabs(motion, b.Vertical(*sensors[:4], name='Sensors'), *(
                [b.Vertical(*sensors[4:], name='More sensors')] if sensors[4:] else []), forces),
            column_shares=[3, 2]),
        b.TimePanel(timeline=TIMELINE, state='collapsed',
                    play_state='following' if at_end else None), collapse_panels=True)


def _drawn(shape: Shape) -> rerun.AsComponents:
    placed: dict[str, typing.Any] = {
        'centers': [shape.position_m], 'quaternions': [np.roll(shape.attitude, -1)],
        'colors': [_rgba(shape.colour)], 'fill_mode': 'solid'}
    x, _, z = shape.size_m
    if shape.kind is Kind.BOX:
        return rerun.Boxes3D(sizes=[shape.size_m], **placed)
    if shape.kind is Kind.CYLINDER:
        return rerun.Cylinders3D(lengths=[z], radii=[0.5 * x], **placed)
    return rerun.Ellipsoids3D(radii=[0.5 * x], **placed)


def _rgba(colour: tuple[float, ...]) -> list[int]:
    return [round(255.0 * part) for part in colour]


def _hex(colour: str) -> list[int]:
    return [int(colour[i:i + 2], 16) for i in (1, 3, 5)]


def _numbered(values: np.ndarray) -> list[str]:
    return [f'rotor {i + 1}' for i in range(values.shape[1])]
