# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A flight as Rerun shows it: vehicle, path and forces in space, all else over time.

Rerun (https://rerun.io) is an extra, in requirements-rerun.txt. Data is sent in columns: a call
for each value would cost more than all the rest.
"""
from __future__ import annotations

import typing

import numpy as np
import rerun

from px4_sim_ros.messages.measurements import range_frame
from px4_sim_ros.messages.truth import BODY_FRAME
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.scene.moving import axes_at
from px4_sim_ros.model.sensors.range_finder import RangeFinderParameters
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.recording.analysis.attitudes import roll_pitch_yaw_deg
from px4_sim_ros.recording.analysis.sensor_errors import SensorComparison, compare_sensors
from px4_sim_ros.recording.analysis.series import AllSeries, Series, Waypoint
from px4_sim_ros.recording.report.plots import TRUTH_COLOUR
from px4_sim_ros.spec.configuration import Configuration
from px4_sim_ros.step.side_topics import ESTIMATE, SET_POINT
from px4_sim_ros.viewing.links import (
    Link,
    beams,
    rotor_link,
    servo_links,
    wheel_links,
)
from px4_sim_ros.viewing.markers import (
    BEAM_COLOUR,
    GNSS_COLOUR,
    SET_POINT_COLOUR,
    WIND_ABOVE_M,
    WIND_COLOUR,
    WIND_M_PER_M_S,
    RotorAngles,
    ThrustArrows,
)
from px4_sim_ros.viewing.rerun_stream import ABOVE, VEHICLE, WORLD, RerunStream, rgba
from px4_sim_ros.viewing.scenery import scene_parts, scene_shapes
from px4_sim_ros.viewing.shapes import Kind, Shape, rotor_colour, vehicle_shapes


def entity_of(link: Link) -> str:
    """Return where a frame is: what is in another's moves with that."""
    parent = '' if link.parent == BODY_FRAME else f'/{link.parent}'
    return f'{VEHICLE}{parent}/{link.frame}'


def add_joints(
    stream: RerunStream, vehicle: Vehicle, joints: typing.Mapping[str, Series],
) -> None:
    """Turn surfaces, axles, tilted rotors and wheels, and plot their angles or speeds."""
    time_s, angles_rad = joints['servo_angle_rad']
    if angles_rad.size:
        _turn(stream, time_s, [servo_links(vehicle, row) for row in angles_rad.tolist()])
        names = [servo.name for servo in vehicle.servos]
        stream.plot('/servos/angle', time_s, angles_rad, names, 'rad')
    rolled_rad, steering_rad = (
        joints[field].values for field in ('wheel_angle_rad', 'wheel_steering_rad'))
    if steering_rad.size or rolled_rad.size:
        _turn(stream, time_s, [wheel_links(vehicle, *rows) for rows in zip(
            rolled_rad.tolist(), steering_rad.tolist())])
    speeds = joints['wheel_speed_rad_s'].values
    if speeds.size:
        stream.plot('/wheels/speed', time_s, speeds,
                    [f'wheel {i + 1}' for i in range(speeds.shape[1])], 'rad/s')


def _turn(
    stream: RerunStream, time_s: np.ndarray, links: typing.Sequence[typing.Sequence[Link]],
) -> None:
    """Write where frames are, those of each time together."""
    for column in zip(*links):
        stream.send(entity_of(column[0]), time_s, rerun.Transform3D.columns(
            translation=[link.position_m for link in column],
            quaternion=[np.roll(link.attitude, -1) for link in column]))


_ESTIMATE_COLOUR = (0.25, 0.75, 0.45, 1.0)
PATH_COLOUR = (0.95, 0.75, 0.20, 1.0)
_MOVED_EVERY_S = 0.04
# A negative radius is in points of the screen.
_LINE_POINTS, _THIN_POINTS, _WAYPOINT_POINTS = -1.5, -0.5, -5.0
# Of the GNSS accuracy: it is large and Rerun's lines are opaque, so a dark outline is enough.
_OUTLINE_COLOUR = (*(0.5 * part for part in GNSS_COLOUR[:3]), 1.0)


class RerunLog:
    """Writes one run into one Rerun recording."""

    def __init__(
        self, stream: rerun.RecordingStream, configuration: Configuration,
        waypoints: typing.Sequence[Waypoint] = (), *, namespace: str = '',
        path_colour: tuple[float, ...] = PATH_COLOUR,
    ) -> None:
        """Write what never changes.

        :param waypoints: of the mission
        :param namespace: of one of several vehicles; who shows them arranges the viewer
        """
        self._stream = RerunStream(stream, namespace)
        self._namespace, self._path_colour = namespace, path_colour
        self._configuration = configuration
        vehicle = configuration.vehicle
        self._thrust = ThrustArrows(vehicle, configuration.world.gravity_m_s2)
        self._angles = RotorAngles(vehicle)
        self._rotor_entities = [
            entity_of(rotor_link(vehicle, i)) for i in range(len(vehicle.rotors))]
        self._beams = beams(configuration)
        self._draw_vehicle()
        self._draw_scene()
        self._draw_mission(waypoints)

    def add(self, series: AllSeries) -> None:
        """Write all of the run."""
        pose = series.get('ground_truth/pose')
        self._add_pose(pose)
        self._add_rotors(series)
        self._add_wind(series.get('wind'))
        self._add_beam(series.get('range'))
        self._add_truth(series.get('ground_truth/odom'))
        self._add_estimate(series.get(ESTIMATE.name))
        self._add_set_point(series.get(SET_POINT.name))
        self._add_battery(series.get('battery_state'))
        for comparison in compare_sensors(self._configuration, series):
            self._add_comparison(comparison)
        for sensor in self._configuration.graph.instances['gps']:
            self._add_accuracy(sensor, series)

    def log_text(self, time_s: float, level: str, who: str, text: str) -> None:
        """Write a line into the log.

        :param level: as Rerun has them: INFO, WARN, ERROR
        """
        self._stream.log_text(time_s, level, who, text)

    # What never changes.

    def _draw_vehicle(self) -> None:
        log = self._stream.log_static
        log(WORLD, rerun.ViewCoordinates.RIGHT_HAND_Z_UP)
        vehicle = self._configuration.vehicle
        entities: dict[str, str] = {}
        for link in (*(rotor_link(vehicle, i) for i in range(len(vehicle.rotors))),
                     *servo_links(vehicle), *wheel_links(vehicle)):
            entities[link.frame] = entity_of(link)
            log(entities[link.frame], rerun.Transform3D(
                translation=link.position_m,
                quaternion=rerun.Quaternion(xyzw=np.roll(link.attitude, -1))))
        for shape in vehicle_shapes(vehicle):
            turning = entities.get(shape.frame)
            entity = f'{turning}/turning' if turning else f'{VEHICLE}/body'
            log(f'{entity}/{shape.name}', _drawn(shape))

        if self._namespace:
            log(f'{ABOVE}/name', rerun.Points3D(
                [(0.0, 0.0, 0.0)], radii=_THIN_POINTS, labels=[self._namespace],
                colors=rgba(self._path_colour)))

    def _draw_scene(self) -> None:
        scene = self._configuration.scene
        for _, shape in scene_shapes(scene):
            self._stream.log_static(f'{WORLD}/scene/{shape.name}', _drawn(shape))
        for part in scene_parts(scene):
            look: dict[str, typing.Any] = {'vertex_colors': part.colours.reshape(-1, 3)}
            if part.on_picture is not None:            # from the top on
                look = {'vertex_texcoords': (0.0, 1.0) + part.on_picture.reshape(-1, 2) * (
                    1.0, -1.0), 'albedo_texture': part.picture}
            self._stream.log_static(f'{WORLD}/scene/{part.name}', rerun.Mesh3D(
                vertex_positions=part.triangles.reshape(-1, 3), **look))

    def _draw_mission(self, waypoints: typing.Sequence[Waypoint]) -> None:
        if waypoints:
            self._stream.log_static(f'{WORLD}/mission', rerun.Points3D(
                [waypoint.position_enu_m for waypoint in waypoints], radii=_WAYPOINT_POINTS,
                colors=rgba(SET_POINT_COLOUR), labels=[waypoint.name for waypoint in waypoints],
                show_labels=False))

    # In space.

    def _add_pose(self, pose: typing.Mapping[str, Series] | None) -> None:
        if pose is None:
            return
        time_s, position_m = pose['position_m']
        self._stream.send(VEHICLE, time_s, rerun.Transform3D.columns(
            translation=position_m, quaternion=np.roll(pose['attitude_wxyz'].values, -1, axis=1)))
        self._stream.send(ABOVE, time_s, rerun.Transform3D.columns(
            translation=position_m + (0.0, 0.0, WIND_ABOVE_M)))
        points = np.concatenate([position_m[:1], position_m])
        self._stream.describe(f'{WORLD}/path', rerun.LineStrips3D.from_fields(
            colors=[rgba(self._path_colour)], radii=[_LINE_POINTS]))
        self._stream.send(f'{WORLD}/path', time_s, rerun.LineStrips3D.columns(
            strips=list(np.stack([points[:-1], points[1:]], axis=1))))
        self._add_moving(float(time_s[-1]))

    def _add_moving(self, end_s: float) -> None:
        """Move what moves in the scene."""
        time_s = np.arange(0.0, end_s + _MOVED_EVERY_S, _MOVED_EVERY_S)
        scene = self._configuration.scene
        if scene is None:
            return
        for its in scene.objects:
            if its.path:
                places, attitudes = zip(*(axes_at(scene, its.path, round(t * US_PER_S))
                                          for t in time_s.tolist()))
                self._stream.send(f'{WORLD}/scene/{its.name}', time_s, rerun.Transform3D.columns(
                    translation=places, quaternion=np.roll(attitudes, -1, axis=1)))

    def _add_rotors(self, series: AllSeries) -> None:
        measured = series.get('joint_states')
        if measured is not None:
            time_s, speeds = measured['rotor_speed_rad_s']
            self._check_rotors(speeds.shape[1])
            angles = np.array([self._angles.at(t, row) for t, row in zip(
                time_s.tolist(), speeds.tolist())])
            for i in range(speeds.shape[1]):
                half = 0.5 * angles[:, i]
                quaternions_xyzw = np.stack(
                    [0.0 * half, 0.0 * half, np.sin(half), np.cos(half)], axis=1)
                self._stream.send(f'{self._rotor_entities[i]}/turning', time_s,
                                  rerun.Transform3D.columns(quaternion=quaternions_xyzw))
            self._add_thrust(time_s, speeds, measured['servo_angle_rad'].values)
            self._stream.plot('/rotors/speed', time_s, speeds, _numbered(speeds), 'rad/s')
            add_joints(self._stream, self._configuration.vehicle, measured)
        command = series.get('actuators/command')
        if command is not None:
            time_s, speeds = command['rotor_speed_reference_rad_s']
            self._stream.plot('/rotors/reference', time_s, speeds, _numbered(speeds), 'rad/s')

    def _check_rotors(self, count: int) -> None:
        vehicle = self._configuration.vehicle
        if count != len(vehicle.rotors):
            raise ParameterError(
                f'vehicle {vehicle.name}: it has {len(vehicle.rotors)} rotors and that of the'
                f' graph has {count}; name the vehicle of the graph')

    def _add_thrust(
        self, time_s: np.ndarray, speeds_rad_s: np.ndarray, angles_rad: np.ndarray,
    ) -> None:
        vehicle, count = self._configuration.vehicle, speeds_rad_s.shape[1]
        vectors = np.array([self._thrust.vectors_m(*rows) for rows in zip(
            speeds_rad_s.tolist(), angles_rad.tolist())])
        self._stream.describe(f'{VEHICLE}/thrust', rerun.Arrows3D.from_fields(
            origins=[rotor.position_m for rotor in vehicle.rotors],
            colors=[rgba(rotor_colour(vehicle, i)) for i in range(count)]))
        self._stream.send(f'{VEHICLE}/thrust', time_s, rerun.Arrows3D.columns(
            vectors=vectors.reshape(-1, 3)).partition([count] * len(time_s)))

    def _add_wind(self, wind: typing.Mapping[str, Series] | None) -> None:
        if wind is None:
            return
        time_s, velocity_m_s = wind['velocity_m_s']
        self._stream.describe(f'{ABOVE}/wind', rerun.Arrows3D.from_fields(
            colors=[rgba(WIND_COLOUR)]))
        self._stream.send(f'{ABOVE}/wind', time_s, rerun.Arrows3D.columns(
            vectors=WIND_M_PER_M_S * velocity_m_s))
        self._stream.plot('/wind/velocity', time_s, velocity_m_s, ('east', 'north', 'up'), 'm/s')

    def _add_beam(self, measured: typing.Mapping[str, Series] | None) -> None:
        if measured is None:
            return
        parameters = self._configuration.of_node('range_finder', RangeFinderParameters)
        start, along = self._beams[range_frame(parameters.direction)]
        time_s, range_m = measured['range_m']
        has_echo = np.isfinite(range_m[:, 0])
        if has_echo.any():
            ends = np.array(start) + range_m[has_echo] * np.array(along)
            self._stream.describe(f'{VEHICLE}/range', rerun.LineStrips3D.from_fields(
                colors=[rgba(BEAM_COLOUR)], radii=[_THIN_POINTS]))
            self._stream.send(f'{VEHICLE}/range', time_s[has_echo], rerun.LineStrips3D.columns(
                strips=[np.array([start, end]) for end in ends]))

    def _add_accuracy(self, sensor: str, series: AllSeries) -> None:
        fixes = next((series[topic.name] for topic in self._configuration.graph.outputs(sensor)
                      if topic.kind == 'gps/fix' and topic.name in series), None)
        if fixes is None:
            return
        self._stream.describe(f'{WORLD}/{sensor}', rerun.Ellipsoids3D.from_fields(
            colors=[rgba(_OUTLINE_COLOUR)], line_radii=[_THIN_POINTS],
            fill_mode='majorwireframe'))
        time_s, deviation_m = fixes['deviation_m']
        self._stream.send(f'{WORLD}/{sensor}', time_s, rerun.Ellipsoids3D.columns(
            half_sizes=deviation_m))

    # Over time.

    def _add_truth(self, odometry: typing.Mapping[str, Series] | None) -> None:
        if odometry is None:
            return
        plot = self._stream.plot
        time_s, position_m = odometry['position_m']
        angles_deg = roll_pitch_yaw_deg(odometry['attitude_wxyz'].values)
        plot('/truth/position', time_s, position_m, ('east', 'north', 'up'), 'm')
        plot('/truth/velocity', time_s, odometry['velocity_m_s'].values,
             ('forward', 'left', 'up'), 'm/s')
        plot('/truth/attitude', time_s, angles_deg, ('roll', 'pitch', 'yaw'), 'deg')
        plot('/truth/rate', time_s, odometry['rate_rad_s'].values, 'xyz', 'rad/s')

    def _add_estimate(self, odometry: typing.Mapping[str, Series] | None) -> None:
        """Draw what the autopilot takes for its motion, in space and beside the truth."""
        if odometry is None:
            return
        time_s, position_m = odometry['position_m']
        self._stream.describe(f'{WORLD}/estimate', rerun.Points3D.from_fields(
            colors=[rgba(_ESTIMATE_COLOUR)], radii=[_WAYPOINT_POINTS]))
        self._stream.send(f'{WORLD}/estimate', time_s, rerun.Points3D.columns(
            positions=position_m))
        plot = self._stream.plot
        plot('/autopilot/position', time_s, position_m, _said_of(('east', 'north', 'up')), 'm')
        plot('/autopilot/velocity', time_s, odometry['velocity_m_s'].values,
             _said_of(('forward', 'left', 'up')), 'm/s')
        plot('/autopilot/attitude', time_s,
             roll_pitch_yaw_deg(odometry['attitude_wxyz'].values),
             _said_of(('roll', 'pitch', 'yaw')), 'deg')

    def _add_set_point(self, set_point: typing.Mapping[str, Series] | None) -> None:
        if set_point is not None:
            self._stream.plot('/autopilot/set_point', *set_point['position_m'],
                              ('east', 'north', 'up'), 'm')

    def _add_battery(self, battery: typing.Mapping[str, Series] | None) -> None:
        if battery is None:
            return
        for field, unit in (('voltage_v', 'V'), ('current_a', 'A')):
            name = field.rpartition('_')[0]
            self._stream.plot(f'/battery/{name}', *battery[field], (name,), unit)

    def _add_comparison(self, c: SensorComparison) -> None:
        entity = f"/sensors/{c.sensor}/{c.quantity.replace(' ', '_')}"
        self._stream.plot(f'{entity}/measured', c.time_s, c.measured, c.axes, c.unit)
        self._stream.plot(
            f'{entity}/truth', c.time_s, c.truth, [f'{axis}, truth' for axis in c.axes], c.unit,
            [TRUTH_COLOUR] * len(c.axes))
        if c.quantity == 'position' and c.sensor.startswith('gps'):
            known = np.isfinite(c.measured).all(axis=1)
            if known.any():
                self._stream.send(f'{WORLD}/{c.sensor}', c.time_s[known],
                                  rerun.Ellipsoids3D.columns(centers=c.measured[known]))


def _drawn(shape: Shape) -> rerun.AsComponents:
    placed: dict[str, typing.Any] = {
        'centers': [shape.position_m], 'quaternions': [np.roll(shape.attitude, -1)],
        'colors': [rgba(shape.colour)], 'fill_mode': 'solid'}
    x, _, z = shape.size_m
    if shape.kind is Kind.BOX:
        return rerun.Boxes3D(sizes=[shape.size_m], **placed)
    if shape.kind is Kind.CYLINDER:
        return rerun.Cylinders3D(lengths=[z], radii=[0.5 * x], **placed)
    return rerun.Ellipsoids3D(radii=[0.5 * x], **placed)


def _said_of(axes: typing.Sequence[str]) -> list[str]:
    return [f'{axis}, estimate' for axis in axes]


def _numbered(values: np.ndarray) -> list[str]:
    return [f'rotor {i + 1}' for i in range(values.shape[1])]
