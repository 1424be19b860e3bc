# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The motion between poses, by differences, for a viewer that subscribes to poses only."""
from __future__ import annotations

import typing

import numpy as np

from px4_sim_ros.recording.analysis.attitudes import in_body, rate_rad_s
from px4_sim_ros.recording.analysis.series import Series

_Fields = typing.Mapping[str, Series]


class PoseMotion:
    """Estimates `ground_truth/odom` and `ground_truth/accel` from poses.

    By central differences, so the last two poses of a portion are kept for the next one. At the
    display rate of 25 Hz the error of a velocity is about a hundredth of its change in a second.
    """

    def __init__(self) -> None:
        self._kept: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def of(self, poses: _Fields) -> dict[str, dict[str, Series]]:
        """Return the motion at the poses that have neighbours on both sides; empty if none has.

        :param poses: `position_m` in ENU and `attitude_wxyz`, later than those before
        """
        new = (poses['position_m'].time_s, poses['position_m'].values,
               poses['attitude_wxyz'].values)
        time_s, position_m, attitude = new if self._kept is None else map(
            np.concatenate, zip(self._kept, new))
        self._kept = time_s[-4:], position_m[-4:], attitude[-4:]
        if len(time_s) < 5:
            return {}
        attitude = _without_jumps(attitude)
        velocity = np.gradient(position_m, time_s, axis=0)
        rate = rate_rad_s(attitude, np.gradient(attitude, time_s, axis=0))
        fields = {
            'position_m': position_m, 'attitude_wxyz': attitude,
            'velocity_m_s': in_body(attitude, velocity), 'rate_rad_s': rate}
        accelerations = {
            'acceleration_m_s2': in_body(attitude, np.gradient(velocity, time_s, axis=0)),
            'angular_acceleration_rad_s2': np.gradient(rate, time_s, axis=0)}
        # Two at each end lack a neighbour for the second difference.
        inner = slice(2, -2)
        return {
            topic: {name: Series(time_s[inner], values[inner]) for name, values in columns.items()}
            for topic, columns in (
                ('ground_truth/odom', fields), ('ground_truth/accel', accelerations))}


def _without_jumps(attitude: np.ndarray) -> np.ndarray:
    """Return the same attitudes, with signs such that neighbours are near each other."""
    flips = np.sum(attitude[1:] * attitude[:-1], axis=1) < 0.0
    signs = np.where(np.concatenate([[0], np.cumsum(flips)]) % 2, -1.0, 1.0)
    return attitude * signs[:, None]
