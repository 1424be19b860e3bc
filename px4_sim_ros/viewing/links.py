# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The parts of a vehicle that have a frame of their own: sensors, rotors, servos and wheels."""
from __future__ import annotations

import math
import typing

import numpy as np

from px4_sim_ros.messages.measurements import frame_of
from px4_sim_ros.messages.truth import (
    BODY_FRAME,
    ODOM_FRAME,
    WORLD_FRAME,
    rotor_joint,
    servo_joint,
    steering_joint,
    wheel_joint,
)
from px4_sim_ros.model.frames import Quaternion, Vector
from px4_sim_ros.model.parameters import Parameters
from px4_sim_ros.model.rotation import (
    difference,
    from_rotation_vector,
    matrix,
    multiply,
    scaled,
    to_world,
    unit,
)
from px4_sim_ros.model.sensors.mounting import mounting_rotation
from px4_sim_ros.model.sensors.range_finder import DIRECTIONS, RangeFinderParameters
from px4_sim_ros.model.vehicle.elements import Servo, Surface, Wheel
from px4_sim_ros.model.vehicle.sections import Rotor
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.spec.configuration import Configuration

IDENTITY: Quaternion = (1.0, 0.0, 0.0, 0.0)
_CENTRE: Vector = (0.0, 0.0, 0.0)
# Of the chord, from the leading edge.
_HINGE = 0.7
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


def servo_frame(index: int) -> str:
    """Return the frame that turns with a servo; the first index is 0."""
    return f'{servo_joint(index)}_link'


def wheel_frame(index: int) -> str:
    """Return the frame that rolls with a wheel; the first index is 0."""
    return f'{wheel_joint(index)}_link'


def steering_frame(index: int) -> str:
    """Return the frame that a wheel is steered with; the first index is 0."""
    return f'{steering_joint(index)}_link'


def rotor_link(vehicle: Vehicle, index: int, turned_rad: float = 0.0) -> Link:
    """Return where a rotor is when it has turned by an angle about its axis, which is its z.

    One that a servo tilts is in the frame of that.
    """
    rotor = vehicle.rotors[index]
    turned = from_rotation_vector((0.0, 0.0, turned_rad))
    upright = rotor.direction == (0.0, 0.0, 1.0)
    parent, position_m = BODY_FRAME, rotor.position_m
    for i, servo in enumerate(vehicle.servos):
        tilted = tilted_rotors(vehicle, servo)
        if rotor in tilted:
            parent, position_m = servo_frame(i), difference(position_m, tilted[0].position_m)
    return Link(rotor_frame(index), parent, position_m,
                turned if upright else multiply(from_z_to(rotor.direction), turned))


def servo_links(vehicle: Vehicle, angles_rad: typing.Sequence[float] = ()) -> list[Link]:
    """Return where servos are that deflect a surface; x is its chord, z its normal.

    One that only steers wheels is in their middle and turns about body z: an axle, beside which
    each wheel is steered by itself (`wheel_links`). One that only
    tilts rotors is in the hub of the first, whose hinge it turns about.

    :param angles_rad: of all servos; none: 0
    """
    links = []
    for i, servo in enumerate(vehicle.servos):
        surface = next((s for s in vehicle.surfaces if s.servo == servo.name), None)
        if surface is None:
            angle = angles_rad[i] if angles_rad else 0.0
            if wheels := axle_of(vehicle, servo):
                links.append(Link(servo_frame(i), BODY_FRAME, middle_m(wheels),
                                  from_rotation_vector((0.0, 0.0, wheels[0].steering * angle))))
            elif rotors := tilted_rotors(vehicle, servo):
                links.append(Link(servo_frame(i), BODY_FRAME, rotors[0].position_m,
                                  from_rotation_vector(scaled(angle, unit(rotors[0].hinge)))))
            continue
        # Positive lifts the trailing edge where that costs lift.
        angle = (angles_rad[i] if angles_rad else 0.0) * math.copysign(1.0, -surface.effect)
        links.append(Link(
            servo_frame(i), BODY_FRAME, hinge_m(surface),
            multiply(surface_attitude(surface), from_rotation_vector((0.0, angle, 0.0)))))
    return links


def wheel_links(
    vehicle: Vehicle, angles_rad: typing.Sequence[float] = (),
    steering_rad: typing.Sequence[float] = (),
) -> list[Link]:
    """Return where wheels are: each that is steered has a frame for that, which it rolls in.

    :param angles_rad: what each wheel has rolled by; none: 0
    :param steering_rad: how far left each that is steered heads; none: 0
    """
    links, headings = [], iter(steering_rad)
    for i, wheel in enumerate(vehicle.wheels):
        parent, position_m = BODY_FRAME, wheel.position_m
        if wheel.has_steering:
            links.append(Link(steering_frame(i), parent, position_m,
                              from_rotation_vector((0.0, 0.0, next(headings, 0.0)))))
            parent, position_m = steering_frame(i), _CENTRE
        angle = math.remainder(angles_rad[i], math.tau) if angles_rad else 0.0
        links.append(Link(wheel_frame(i), parent, position_m,
                          from_rotation_vector((0.0, angle, 0.0))))
    return links


def axle_of(vehicle: Vehicle, servo: Servo) -> list[Wheel]:
    """Return the wheels that a servo steers, if it deflects no surface."""
    if any(surface.servo == servo.name for surface in vehicle.surfaces):
        return []
    return [wheel for wheel in vehicle.wheels if wheel.steered_by == servo.name]


def tilted_rotors(vehicle: Vehicle, servo: Servo) -> list[Rotor]:
    """Return the rotors that a servo tilts, if it deflects no surface and steers no wheel."""
    if axle_of(vehicle, servo) or any(s.servo == servo.name for s in vehicle.surfaces):
        return []
    return [rotor for rotor in vehicle.rotors if rotor.tilted_by == servo.name]


def middle_m(wheels: typing.Sequence[Wheel]) -> Vector:
    x, y, z = (sum(values) / len(wheels) for values in zip(*(w.position_m for w in wheels)))
    return x, y, z


def hinge_m(surface: Surface) -> Vector:
    """Return the middle of the line about which the rear part of a surface turns."""
    behind = (_HINGE - 0.25) * surface.chord_m
    x, y, z = (p - behind * c for p, c in zip(surface.position_m, surface.chord))
    return x, y, z


def surface_attitude(surface: Surface) -> Quaternion:
    """Return the rotation of body axes to chord, span and normal of a surface."""
    from transforms3d.quaternions import mat2quat  # it takes a tenth of a second to load
    c, n = np.array(surface.chord), np.array(surface.normal)
    columns = np.stack([c / np.linalg.norm(c), np.cross(n, c) / np.linalg.norm(np.cross(n, c)),
                        n / np.linalg.norm(n)], axis=1)
    w, x, y, z = mat2quat(columns).tolist()
    return w, x, y, z


def from_z_to(direction: Vector) -> Quaternion:
    """Return the shortest rotation of the z axis into a direction."""
    x, y, z = direction
    across = math.hypot(x, y)
    if across == 0.0:
        return IDENTITY if z >= 0.0 else (0.0, 1.0, 0.0, 0.0)
    angle = math.atan2(across, z)
    return from_rotation_vector((-y / across * angle, x / across * angle, 0.0))


def sensor_links(configuration: Configuration) -> list[Link]:
    """Return the frames of all sensors that have one, each once, as they are mounted."""
    links: dict[str, Link] = {}
    for sensor in configuration.graph.sensors:
        parameters = configuration.of_node(sensor, Parameters)
        if found := _scene_sensor_link(configuration, sensor):
            links.setdefault(found.frame, found)
        position_m = getattr(parameters, 'position_m', _CENTRE)
        attitude = mounting_rotation(getattr(parameters, 'mounting_deg', _CENTRE))
        for topic in configuration.graph.outputs(sensor):
            if topic.own_us:
                continue
            frame = frame_of(topic, parameters)
            if frame not in (WORLD_FRAME, ODOM_FRAME, BODY_FRAME):
                links.setdefault(frame, Link(
                    frame, BODY_FRAME, position_m,
                    _ALONG[parameters.direction] if isinstance(parameters, RangeFinderParameters)
                    else attitude))
    return list(links.values())


def _scene_sensor_link(configuration: Configuration, sensor: str) -> Link | None:
    """Return the frame of a sensor that sees the scene; None if it is another block."""
    row = next((row for row in configuration.world.own_blocks if row.name == sensor), None)
    if row is None or not row.is_of_package:
        return None
    from px4_sim_ros.messages.scene_sensors import frame_of as frame_of_block
    found = frame_of_block(row)
    return None if found is None else Link(found[0], BODY_FRAME, *found[1:])


def beams(configuration: Configuration) -> dict[str, tuple[Vector, Vector]]:
    """Return where the x axis of each sensor's frame begins and points to, in body axes."""
    return {link.frame: (link.position_m, to_world(matrix(link.attitude), (1, 0, 0)))
            for link in sensor_links(configuration)}
