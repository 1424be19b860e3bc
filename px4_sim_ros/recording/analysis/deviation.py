# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The deviation of two runs over time, by groups of the vehicle's state."""
from __future__ import annotations

import dataclasses
import typing

import numpy as np

from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.recording.analysis.attitudes import angle_rad, in_world, tilt_deg
from px4_sim_ros.recording.analysis.series import Series, read_series
from px4_sim_ros.recording.bag.reader import BagReader

_ODOMETRY, _ROTORS, _BATTERY = 'ground_truth/odom', 'joint_states', 'battery_state'
# Beyond it a vehicle hangs below its rotors.
_UPRIGHT_DEG = 90.0
_Values = typing.Mapping[str, np.ndarray]     # of a topic, by field


class Group(typing.NamedTuple):
    """A part of the state and how its deviation is measured."""

    name: str
    unit: str
    meaning: str


# The order in which they are shown.
GROUPS: dict[str, Group] = {group.name: group for group in (
    Group('position', 'm', 'distance'),
    Group('velocity', 'm/s', 'length, in world axes'),
    Group('attitude', 'deg', 'angle between them'),
    Group('rate', 'rad/s', 'length, in own body axes'),
    Group('rotor speed', 'rad/s', 'largest of all rotors'),
    Group('battery voltage', 'V', 'difference'),
    Group('battery charge', 'Ah', 'difference'))}


@dataclasses.dataclass(frozen=True)
class GroupDeviation:
    """The deviation of a group, at least 0, at the times that both runs have."""

    group: Group
    time_s: np.ndarray     # (n,), simulated
    values: np.ndarray     # (n,), in the unit of the group

    @property
    def maximum(self) -> float:
        """The largest; NaN if a value is NaN."""
        return float(np.max(self.values))

    @property
    def maximum_at_s(self) -> float:
        """When it is largest for the first time."""
        return float(self.time_s[np.argmax(self.values)])

    @property
    def rms(self) -> float:
        """The root of the mean square."""
        return float(np.sqrt(np.mean(np.square(self.values))))


@dataclasses.dataclass(frozen=True)
class Deviation:
    """The deviation of two runs; a group that they do not both have is missing."""

    names: tuple[str, str]                 # the folders
    groups: dict[str, GroupDeviation]      # by name
    # When each has turned over first, at a time that both have; None if it has not.
    turned_over_at_s: tuple[float | None, float | None] = (None, None)

    @property
    def is_none(self) -> bool:
        """Whether the vehicles have moved alike, to the last bit."""
        return bool(self.groups) and all(
            group.maximum == 0.0 for group in self.groups.values())

    @property
    def sentence(self) -> str:
        """What the figures do not say: that one of the two has turned over; '' otherwise."""
        one, other = zip(self.names, self.turned_over_at_s)
        for (name, at_s), (_, not_at_s) in ((one, other), (other, one)):
            if at_s is not None and not_at_s is None:
                return f'the vehicle of {name} has turned over at t = {at_s:.3f} s'
        return ''


def deviation(one: BagReader, other: BagReader) -> Deviation:
    """Return the deviation of two runs, up to the end of the shorter one.

    :raises BagError: a file cannot be read
    """
    topics = _ODOMETRY, _ROTORS, _BATTERY
    mine, yours = read_series(one, topics), read_series(other, topics)
    found: dict[str, GroupDeviation] = {}
    turned_over_at_s: tuple[float | None, float | None] = None, None
    for topic, measure in (
            (_ODOMETRY, _motion_deviation), (_ROTORS, _rotor_deviation),
            (_BATTERY, _battery_deviation)):
        if topic not in mine or topic not in yours:
            continue
        time_s, fields, other_fields = _at_common_times(mine[topic], yours[topic])
        if topic == _ODOMETRY:
            turned_over_at_s = _turned_over_at_s(time_s, fields, other_fields)
        for name, values in measure(fields, other_fields).items():
            if time_s.size and not np.isnan(values).all():
                found[name] = GroupDeviation(GROUPS[name], time_s, values)
    return Deviation((str(one.folder), str(other.folder)),
                     {name: found[name] for name in GROUPS if name in found}, turned_over_at_s)


def _turned_over_at_s(
    time_s: np.ndarray, one: _Values, other: _Values,
) -> tuple[float | None, float | None]:
    def first(motion: _Values) -> float | None:
        over = np.flatnonzero(tilt_deg(motion['attitude_wxyz']) > _UPRIGHT_DEG)
        return float(time_s[over[0]]) if over.size else None

    return first(one), first(other)


def _motion_deviation(one: _Values, other: _Values) -> dict[str, np.ndarray]:
    """Return the deviation of two motions, by the first four groups; arrays of (n,).

    :param one: `position_m` (n, 3) in ENU, `velocity_m_s` and `rate_rad_s` (n, 3) in FLU, and
        `attitude_wxyz` (n, 4)
    :param other: the same of the other motion
    """
    return {
        'position': _lengths(one['position_m'] - other['position_m']),
        'velocity': _lengths(_world_velocity(one) - _world_velocity(other)),
        'attitude': np.degrees(angle_rad(one['attitude_wxyz'], other['attitude_wxyz'])),
        'rate': _lengths(one['rate_rad_s'] - other['rate_rad_s'])}


def _rotor_deviation(one: _Values, other: _Values) -> dict[str, np.ndarray]:
    speeds, other_speeds = one['rotor_speed_rad_s'], other['rotor_speed_rad_s']
    if speeds.shape != other_speeds.shape:      # of another vehicle
        return {}
    return {'rotor speed': np.abs(speeds - other_speeds).max(axis=1)}


def _battery_deviation(one: _Values, other: _Values) -> dict[str, np.ndarray]:
    return {name: np.abs(one[field] - other[field])[:, 0]
            for name, field in (('battery voltage', 'voltage_v'), ('battery charge', 'charge_ah'))}


def _world_velocity(motion: _Values) -> np.ndarray:
    return in_world(motion['attitude_wxyz'], motion['velocity_m_s'])


def _lengths(vectors: np.ndarray) -> np.ndarray:
    lengths: np.ndarray = np.linalg.norm(vectors, axis=1)
    return lengths


def _at_common_times(
    one: dict[str, Series], other: dict[str, Series],
) -> tuple[np.ndarray, dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the times that both have, and the values of each field at these times."""
    one_us, other_us = (next(iter(fields.values())).times_us for fields in (one, other))
    common_us, mine, yours = np.intersect1d(one_us, other_us, return_indices=True)
    return (common_us / US_PER_S,
            {name: series.values[mine] for name, series in one.items()},
            {name: series.values[yours] for name, series in other.items()})
