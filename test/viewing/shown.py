# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is shown, as the tests look at it."""
from __future__ import annotations

import dataclasses

import numpy as np
from scipy.spatial.transform import Rotation
from visualization_msgs.msg import Marker, MarkerArray

from px4_sim_ros.spec.configuration import load_configuration

LEVEL = (1.0, 0.0, 0.0, 0.0)


def windy():
    """Return a run with wind, two IMUs, and a range finder that is off the middle."""
    return load_configuration(None, {
        '': {'wind': 'constant', 'instances.range_finder': 1, 'instances.imu': 2},
        'range_finder': {'position_m': [0.05, -0.02, -0.04]},
        'imu_1': {'position_m': [0.0, 0.1, 0.0], 'mounting_deg': [0.0, 0.0, 90.0]}})


def turn(roll_deg, pitch_deg, yaw_deg):
    """Return an attitude as (w, x, y, z), and its matrix, by another library."""
    r = Rotation.from_euler('xyz', (roll_deg, pitch_deg, yaw_deg), degrees=True)
    x, y, z, w = r.as_quat()
    return (w, x, y, z), r.as_matrix()


@dataclasses.dataclass
class Shown:
    """Markers by namespace and number."""

    array: MarkerArray

    def __post_init__(self):
        keys = [(m.ns, m.id) for m in self.array.markers]
        assert len(set(keys)) == len(keys)      # rviz refuses others
        self.by_name = dict(zip(keys, self.array.markers))

    def __getitem__(self, key):
        return self.by_name[key if isinstance(key, tuple) else (key, 0)]


def points(marker):
    """Return the points of a marker."""
    return [np.array((p.x, p.y, p.z)) for p in marker.points]


def at(marker):
    """Return where a marker is that is shown."""
    p = marker.pose.position
    assert marker.action == Marker.ADD and marker.pose.orientation.w == 1.0
    return p.x, p.y, p.z
