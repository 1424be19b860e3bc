# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The world around a PX4 autopilot, as ROS 2 nodes in lockstep; `Flight` flies from Python.

`OwnBlock` is the base of blocks of yours that are added to the step; `DistanceSensor`, `Lidar`,
`Camera` and others are such that come with the package.
"""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:          # imported before signals wait: nothing here takes long
    import typing

__version__ = '0.1.0'
PACKAGE = 'px4_sim_ros'


def __getattr__(name: str) -> typing.Any:
    """Return what is public; a process imports it when it needs it."""
    if name == 'Flight':
        from px4_sim_ros.flight.own_flight import Flight
        return Flight
    if name == 'OwnBlock':
        from px4_sim_ros.messages.own_block import OwnBlock
        return OwnBlock
    if name in ('DistanceSensor', 'Lidar', 'Lidar2d', 'DepthCamera', 'DepthCameraInfo', 'DepthScan',
                'Camera', 'CameraCalibration', 'LabelCamera'):
        from px4_sim_ros.messages import scene_sensors
        return getattr(scene_sensors, name)
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
