# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Time series of the fields of topics, from a bag or from a running graph."""
from __future__ import annotations

import dataclasses
import functools
import math
import operator
import typing

import numpy as np

from px4_sim_ros.messages.stamps import stamp_us
from px4_sim_ros.messages.truth import is_steering, is_wheel
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.step.graph import TOPICS, Graph
from px4_sim_ros.step.side_topics import ESTIMATE, RECORDED, SET_POINT


class Mark(typing.NamedTuple):
    """An event at a time, or a state from one time to another."""

    start_s: float
    end_s: float
    kind: str                  # one of `report.plots.MARK_COLOURS`
    who: str
    text: str


class Waypoint(typing.NamedTuple):
    """A point that the mission leads to, drawn with the path."""

    name: str
    position_enu_m: Vector


_Read = typing.Callable[[typing.Any], typing.Sequence[float]]


class Series(typing.NamedTuple):
    """One field of a topic over time."""

    time_s: np.ndarray     # (n,), simulated
    values: np.ndarray     # (n, k)

    @property
    def times_us(self) -> np.ndarray:
        """The times in whole microseconds."""
        times_us: np.ndarray = np.rint(self.time_s * US_PER_S).astype(int)
        return times_us


# By topic and field.
AllSeries = typing.Mapping[str, dict[str, Series]]


def _xyz(vector: typing.Any) -> tuple[float, float, float]:
    return vector.x, vector.y, vector.z


def _wxyz(q: typing.Any) -> tuple[float, float, float, float]:
    return q.w, q.x, q.y, q.z


def _speeds(velocities: typing.Sequence[float]) -> list[float]:
    return [speed for speed in velocities if not math.isnan(speed)]


def _angles(
    positions: typing.Sequence[float], velocities: typing.Sequence[float],
) -> list[float]:
    """Return the angles of servos: joints without a speed."""
    return [angle for angle, speed in zip(positions, velocities) if math.isnan(speed)]


def _no_wheels(joints: typing.Any) -> slice:
    """Return which joints are rotors and servos: those before the wheels."""
    return slice(-sum(map(is_wheel, joints.name)) or None)


def _rolling(field: str, joints: typing.Any) -> list[float]:
    """Return a field of the joints that wheels roll in."""
    return [value for name, value in zip(joints.name, getattr(joints, field))
            if is_wheel(name) and not is_steering(name)]


def _steering(joints: typing.Any) -> list[float]:
    """Return the angles of the joints that wheels are steered in."""
    return [angle for name, angle in zip(joints.name, joints.position) if is_steering(name)]


# By topic of the first instance, then by field; units are in the names, frames as the graph says.
FIELDS: dict[str, dict[str, _Read]] = {
    'ground_truth/odom': {
        'position_m': lambda m: _xyz(m.pose.pose.position),
        'attitude_wxyz': lambda m: _wxyz(m.pose.pose.orientation),
        'velocity_m_s': lambda m: _xyz(m.twist.twist.linear),
        'rate_rad_s': lambda m: _xyz(m.twist.twist.angular)},
    'ground_truth/accel': {
        'acceleration_m_s2': lambda m: _xyz(m.accel.linear),
        'angular_acceleration_rad_s2': lambda m: _xyz(m.accel.angular)},
    'ground_truth/pose': {
        'position_m': lambda m: _xyz(m.pose.position),
        'attitude_wxyz': lambda m: _wxyz(m.pose.orientation)},
    'joint_states': {
        'rotor_speed_rad_s': lambda m: _speeds(m.velocity[_no_wheels(m)]),
        'servo_angle_rad': lambda m: _angles(
            m.position[_no_wheels(m)], m.velocity[_no_wheels(m)]),
        'wheel_angle_rad': functools.partial(_rolling, 'position'),
        'wheel_speed_rad_s': functools.partial(_rolling, 'velocity'),
        'wheel_steering_rad': _steering},
    'actuators/command': {
        'rotor_speed_reference_rad_s': lambda m: _speeds(m.velocity),
        'servo_angle_reference_rad': lambda m: _angles(m.position, m.velocity)},
    'battery_state': {
        'voltage_v': lambda m: (m.voltage,), 'current_a': lambda m: (m.current,),
        'charge_ah': lambda m: (m.charge,), 'capacity_ah': lambda m: (m.capacity,),
        'percentage': lambda m: (m.percentage,)},
    'wind': {'velocity_m_s': lambda m: _xyz(m.twist.linear)},
    'imu/data_raw': {
        'specific_force_m_s2': lambda m: _xyz(m.linear_acceleration),
        'rate_rad_s': lambda m: _xyz(m.angular_velocity)},
    'mag': {'field_t': lambda m: _xyz(m.magnetic_field)},
    'baro': {'pressure_pa': lambda m: (m.fluid_pressure,)},
    'gps/fix': {
        'geodetic_deg_m': lambda m: (m.latitude, m.longitude, m.altitude),
        'status': lambda m: (m.status.status,),
        'deviation_m': lambda m: [math.sqrt(m.position_covariance[i]) for i in (0, 4, 8)]},
    'gps/vel': {'velocity_m_s': lambda m: _xyz(m.twist.linear)},
    'gps/sky': {
        'satellites': lambda m: (m.vector.x,), 'hdop': lambda m: (m.vector.y,),
        'vdop': lambda m: (m.vector.z,)},
    'airspeed': {'pressure_pa': lambda m: (m.fluid_pressure,)},
    'range': {'range_m': lambda m: (m.range,)},
    'optical_flow': {'rate_rad_s': lambda m: _xyz(m.vector)},
    'visual_odometry': {
        'position_m': lambda m: _xyz(m.pose.pose.position),
        'attitude_wxyz': lambda m: _wxyz(m.pose.pose.orientation),
        'velocity_m_s': lambda m: _xyz(m.twist.twist.linear)},
    ESTIMATE.name: {
        'position_m': lambda m: _xyz(m.pose.pose.position),
        'attitude_wxyz': lambda m: _wxyz(m.pose.pose.orientation),
        'velocity_m_s': lambda m: _xyz(m.twist.twist.linear),
        'rate_rad_s': lambda m: _xyz(m.twist.twist.angular)},
    SET_POINT.name: {'position_m': lambda m: _xyz(m.point)},
}
# Those that are not of the step: their times are their own stamps.
_BESIDE = {topic.name: topic for topic in (ESTIMATE, SET_POINT)}


class SeriesCollector:
    """Collects series from messages."""

    def __init__(self, nodes: Graph, topics: typing.Container[str] | None = None) -> None:
        kinds = {name: topic.kind for name, topic in nodes.topics.items()}
        self._topics = topics
        self._known = {*TOPICS, *nodes.topics, *RECORDED}.difference(nodes.own_topics)
        self._own = [name for name in nodes.own_topics if topics is None or name in topics]
        if 'pilot' in nodes.nodes:
            kinds |= {name: name for name in _BESIDE}
        self._reads = {name: FIELDS[kind] for name, kind in kinds.items()
                       if kind in FIELDS and (topics is None or name in topics)}
        self._times_us: dict[str, list[int]] = {name: [] for name in self._reads}
        self._values: dict[str, dict[str, list[typing.Sequence[float]]]] = {
            name: {field: [] for field in reads} for name, reads in self._reads.items()}

    @property
    def topics(self) -> list[str]:
        return list(dict.fromkeys([*self._reads, *self._own]))

    def __contains__(self, topic: str) -> bool:
        """Return whether messages of a topic are wanted."""
        return topic in self._reads

    def wants_added(self, topic: str) -> bool:
        """Return whether a topic is wanted that is none of the graph, as those of PX4 itself."""
        return topic not in self._known and (
            self._topics is None or topic in self._topics)

    def add(self, topic: str, time_us: int, message: typing.Any) -> None:
        """Add a decoded message of a topic that is wanted."""
        if topic not in self._reads:
            self._reads[topic], self._times_us[topic] = _numbers(message), []
            self._values[topic] = {field: [] for field in self._reads[topic]}
        if topic in _BESIDE:
            time_us = stamp_us(message.header.stamp)
        self._times_us[topic].append(time_us)
        for field, read in self._reads[topic].items():
            self._values[topic][field].append(read(message))

    def series(self) -> dict[str, dict[str, Series]]:
        """Return series by topic and field; topics without numbers have none."""
        found = {}
        for name, times_us in self._times_us.items():
            columns = self._values[name]
            if times_us and columns:
                time_s = np.array(times_us) / US_PER_S
                found[name] = {field: Series(time_s, _array(column))
                               for field, column in columns.items()}
        return found


def read_series(
    bag: BagReader, topics: typing.Container[str] | None = None,
) -> dict[str, dict[str, Series]]:
    """Return the series of a bag, by topic and field; topics without messages have none."""
    collector = SeriesCollector(bag.run.graph, topics)
    for message in bag.messages():
        if message.topic in collector or collector.wants_added(message.topic):
            collector.add(message.topic, message.time_us, bag.decode(message))
    return collector.series()


def _array(rows: list[typing.Sequence[float]]) -> np.ndarray:
    """Return rows as an array; NaN is where one has fewer values than another."""
    most = max(map(len, rows))
    return np.array([row if len(row) == most else [*row, *[math.nan] * (most - len(row))]
                     for row in rows], float)


def _numbers(message: typing.Any, path: str = '') -> dict[str, _Read]:
    """Return readers of the numeric fields of a message, by their names."""
    found: dict[str, _Read] = {}
    for field in dataclasses.fields(message):
        value, name = getattr(message, field.name), f'{path}{field.name}'
        if field.name.isupper() or (not path and field.name == 'header'):
            continue                           # a constant, or the time that a row has
        if field.name == 'data' and hasattr(message, 'is_bigendian'):
            continue                           # octets of an image or of a cloud
        if dataclasses.is_dataclass(value):
            found |= _numbers(value, f'{name}.')
        elif isinstance(value, (bool, int, float)):
            found[name] = _reader(name, lambda value: (value,))
        elif isinstance(value, np.ndarray):
            found[name] = _reader(name, lambda value: value)
    return found


def _reader(path: str, as_numbers: typing.Callable[[typing.Any], typing.Any]) -> _Read:
    get = operator.attrgetter(path)
    return lambda message: as_numbers(get(message))
