# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What servos and wheels turn, in Rerun."""
from __future__ import annotations

import typing

import numpy as np
import rerun

from px4_sim_ros.messages.truth import BODY_FRAME
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.recording.analysis.series import Series
from px4_sim_ros.viewing.links import Link, servo_links, wheel_links
from px4_sim_ros.viewing.rerun_blueprint import VEHICLE
from px4_sim_ros.viewing.rerun_stream import RerunStream


def entity_of(link: Link) -> str:
    """Return where a frame is: what is in another's moves with that."""
    parent = '' if link.parent == BODY_FRAME else f'/{link.parent}'
    return f'{VEHICLE}{parent}/{link.frame}'


def add_joints(
    stream: RerunStream, vehicle: Vehicle, joints: typing.Mapping[str, Series],
) -> None:
    """Turn surfaces, axles, tilted rotors and wheels, and plot their angles or speeds.

    :param joints: of `joint_states`
    """
    time_s, angles_rad = joints['servo_angle_rad']
    if angles_rad.size:
        _turn(stream, time_s, [servo_links(vehicle, row) for row in angles_rad.tolist()])
        names = [servo.name for servo in vehicle.servos]
        stream.plot('/servos/angle', time_s, angles_rad, names, 'rad')
    rolled_rad, steering_rad = (
        joints[field].values for field in ('wheel_angle_rad', 'wheel_steering_rad'))
    if not rolled_rad.size:      # so it is in recordings of version 5 and older
        steering_rad = _steered_by_servos(vehicle, angles_rad)
    if steering_rad.size or rolled_rad.size:
        _turn(stream, time_s, [wheel_links(vehicle, *rows) for rows in zip(
            rolled_rad.tolist(), steering_rad.tolist())])
    speeds = joints['wheel_speed_rad_s'].values
    if speeds.size:
        stream.plot('/wheels/speed', time_s, speeds,
                    [f'wheel {i + 1}' for i in range(speeds.shape[1])], 'rad/s')


def _steered_by_servos(vehicle: Vehicle, angles_rad: np.ndarray) -> np.ndarray:
    """Return how far left wheels head that are steered, (n, k); casters straight on.

    :param angles_rad: (n, servos)
    """
    steered = [wheel for wheel in vehicle.wheels if wheel.has_steering]
    servos = {servo.name: i for i, servo in enumerate(vehicle.servos)}
    headings = np.array([
        [wheel.heading_rad(row[servos[wheel.steered_by]]) if wheel.steered_by else 0.0
         for wheel in steered] for row in angles_rad.tolist()])
    return headings.reshape(len(angles_rad), len(steered))


def _turn(
    stream: RerunStream, time_s: np.ndarray, links: typing.Sequence[typing.Sequence[Link]],
) -> None:
    """Write where frames are, those of each time together."""
    for column in zip(*links):
        stream.send(entity_of(column[0]), time_s, rerun.Transform3D.columns(
            translation=[link.position_m for link in column],
            quaternion=[np.roll(link.attitude, -1) for link in column]))
