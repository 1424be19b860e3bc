# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The parts of a vehicle that have a frame of their own: sensors and rotors."""
from __future__ import annotations

import typing

from px4_sim_ros.config.configuration import Configuration
from px4_sim_ros.messages.measurements import frame_of
from px4_sim_ros.messages.truth import BODY_FRAME, ODOM_FRAME, WORLD_FRAME, rotor_joint
from px4_sim_ros.model.frames import Quaternion, Vector
from px4_sim_ros.model.rotation import from_rotation_vector, matrix, to_world
from px4_sim_ros.model.sensors.mounting import mounting_rotation
from px4_sim_ros.model.sensors.range_finder import DIRECTIONS, RangeFinderParameters
from px4_sim_ros.model.vehicle.sections import Rotor

IDENTITY: Quaternion = (1.0, 0.0, 0.0, 0.0)
_CENTRE: Vector = (0.0, 0.0, 0.0)
_QUARTER_TURN = 1.5707963267948966
# Turns the x axis of a frame into a direction of the body.
_ALONG: dict[str, Quaternion] = {
    'forward': IDENTITY,
    'backward': from_rotation_vector((0.0, 0.0, 2.0 * _QUARTER_TURN)),
    'left': from_rotation_vector((0.0, 0.0, _QUARTER_TURN)),
    'right': from_rotation_vector((0.0, 0.0, -_QUARTER_TURN)),
    'up': from_rotation_vector((0.0, -_QUARTER_TURN, 0.0)),
    'down': from_rotation_vector((0.0, _QUARTER_TURN, 0.0)),
}
assert set(_ALONG) == set(DIRECTIONS)


class Link(typing.NamedTuple):
    """A frame that is fixed in another."""

    frame: str
    parent: str
    position_m: Vector = _CENTRE
    attitude: Quaternion = IDENTITY      # turns its axes into those of the parent


def rotor_frame(index: int) -> str:
    """Return the frame that turns with a rotor; the first index is 0."""
    return f'{rotor_joint(index)}_link'


def rotor_link(index: int, rotor: Rotor, turned_rad: float = 0.0) -> Link:
    """Return where a rotor is when it has turned by an angle about body z."""
    return Link(rotor_frame(index), BODY_FRAME, rotor.position_m,
                from_rotation_vector((0.0, 0.0, turned_rad)))


def sensor_links(configuration: Configuration) -> list[Link]:
    """Return the frames of all sensors that have one, each once, as they are mounted."""
    links: dict[str, Link] = {}
    for sensor in configuration.graph.sensors:
        parameters = configuration.nodes[sensor]
        position_m = getattr(parameters, 'position_m', _CENTRE)
        attitude = mounting_rotation(getattr(parameters, 'mounting_deg', _CENTRE))
        for topic in configuration.graph.outputs(sensor):
            frame = frame_of(topic, parameters)
            if frame not in (WORLD_FRAME, ODOM_FRAME, BODY_FRAME):
                links.setdefault(frame, Link(
                    frame, BODY_FRAME, position_m,
                    _ALONG[parameters.direction] if isinstance(parameters, RangeFinderParameters)
                    else attitude))
    return list(links.values())


def beams(configuration: Configuration) -> dict[str, tuple[Vector, Vector]]:
    """Return where the x axis of each sensor's frame begins and points to, in body axes."""
    return {link.frame: (link.position_m, to_world(matrix(link.attitude), (1, 0, 0)))
            for link in sensor_links(configuration)}
