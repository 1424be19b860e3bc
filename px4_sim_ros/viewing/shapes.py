# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The look of a vehicle: simple shapes from the numbers in its file."""
from __future__ import annotations

import enum
import math
import typing

from px4_sim_ros.messages.truth import BODY_FRAME, rotor_joint
from px4_sim_ros.model.frames import Quaternion, Vector
from px4_sim_ros.model.vehicle.elements import Surface
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.viewing.links import (
    IDENTITY,
    from_z_to,
    hinge_m,
    rotor_frame,
    rotor_link,
    servo_frame,
    surface_attitude,
    wheel_frame,
)

Colour = tuple[float, float, float, float]       # red, green, blue, opacity: 0 to 1

_DARK: Colour = (0.16, 0.18, 0.21, 1.0)
_METAL: Colour = (0.45, 0.48, 0.52, 1.0)
# Front and rear rotors differ, so that the heading can be seen.
FRONT: Colour = (0.95, 0.45, 0.10, 1.0)
BACK: Colour = (0.20, 0.45, 0.85, 1.0)
_SKIN: Colour = (0.85, 0.86, 0.88, 1.0)
_DISC_OPACITY = 0.22
# All relative to the mean distance of the rotors from the middle, or to the propeller.
_HUB_LENGTH, _HUB_WIDTH, _HUB_HEIGHT = 0.75, 0.45, 0.22
_ARM_THICKNESS, _LEG_THICKNESS = 0.07, 0.04
_MOTOR_RADIUS, _MOTOR_HEIGHT = 0.055, 0.09
_BLADE_CHORD, _BLADE_THICKNESS = 0.09, 0.012
_NOSE_SIZE = 0.14
# Of the radius of a wheel.
_WHEEL_WIDTH, _SPOKE_LENGTH, _SPOKE_WIDTH = 1.0, 0.9, 0.2
# Of the chord of a surface.
_THICKNESS, _FRONT = 0.10, 0.7


class Kind(enum.Enum):
    """The kind of a shape; sizes are along its own x, y and z."""

    BOX = 'box'
    CYLINDER = 'cylinder'      # its axis is z, its diameter x = y
    SPHERE = 'sphere'


class Shape(typing.NamedTuple):
    name: str
    frame: str
    kind: Kind
    size_m: Vector
    position_m: Vector
    attitude: Quaternion
    colour: Colour


def vehicle_shapes(vehicle: Vehicle) -> list[Shape]:
    """Return hub, nose, arms, motors, legs and feet in `base_link`, and what turns in its own."""
    arm_m = _arm_m(vehicle)
    hub_m = _HUB_LENGTH * arm_m, _HUB_WIDTH * arm_m, _HUB_HEIGHT * arm_m
    nose_m = _NOSE_SIZE * arm_m
    shapes = [
        Shape('hub', BODY_FRAME, Kind.BOX, hub_m, (0.0, 0.0, 0.0), IDENTITY, _DARK),
        Shape('nose', BODY_FRAME, Kind.SPHERE, (nose_m,) * 3, (0.5 * hub_m[0], 0.0, 0.0),
              IDENTITY, FRONT)]
    for i, rotor in enumerate(vehicle.rotors):
        x, y, z = rotor.position_m
        shapes += [
            _rod(f'arm_{i + 1}', (0.0, 0.0, 0.0), (x, y, z - _motor_height_m(vehicle)),
                 _ARM_THICKNESS * arm_m, _METAL),
            *_motor_and_rotor(vehicle, i)]
    for surface in vehicle.surfaces:
        shapes += _surface(vehicle, surface)
    for i in range(len(vehicle.wheels)):
        shapes += _wheel(vehicle, i)
    for i, foot in enumerate(vehicle.contact_points_m):
        hip = 0.5 * foot[0], 0.5 * foot[1], 0.0
        shapes += [
            _rod(f'leg_{i + 1}', hip, foot, _LEG_THICKNESS * arm_m, _METAL),
            Shape(f'foot_{i + 1}', BODY_FRAME, Kind.SPHERE, (2.0 * _LEG_THICKNESS * arm_m,) * 3,
                  foot, IDENTITY, _DARK)]
    return shapes


def _arm_m(vehicle: Vehicle) -> float:
    """Return the mean distance of the rotors from body z; of the wheels if there are no rotors."""
    if vehicle.drives:
        return sum(math.hypot(x, y) for x, y, _ in vehicle.ground_points_m) / len(
            vehicle.ground_points_m)
    arm_m = sum(math.hypot(*r.position_m[:2]) for r in vehicle.rotors) / len(vehicle.rotors)
    return max(arm_m, 0.1 * vehicle.rotor_model.propeller_diameter_m)


def _wheel(vehicle: Vehicle, index: int) -> list[Shape]:
    """Return a wheel, and a spoke on both of its sides by which one sees it roll."""
    radius_m, frame = vehicle.wheels[index].radius_m, wheel_frame(index)
    width_m = _WHEEL_WIDTH * radius_m
    return [
        Shape(f'wheel_{index + 1}', frame, Kind.CYLINDER, (2.0 * radius_m, 2.0 * radius_m, width_m),
              (0.0, 0.0, 0.0), from_z_to((0.0, 1.0, 0.0)), _DARK),
        Shape(f'wheel_{index + 1}_spoke', frame, Kind.BOX,
              (_SPOKE_WIDTH * radius_m, 1.05 * width_m, _SPOKE_LENGTH * radius_m),
              (0.0, 0.0, 0.5 * _SPOKE_LENGTH * radius_m), IDENTITY, _SKIN)]


def _surface(vehicle: Vehicle, surface: Surface) -> list[Shape]:
    """Return a box for a surface, and one for the part behind its hinge if a servo turns it."""
    span_m, thickness_m = surface.area_m2 / surface.chord_m, _THICKNESS * surface.chord_m
    attitude, hinge = surface_attitude(surface), hinge_m(surface)
    names = [servo.name for servo in vehicle.servos]
    front_m, rear_m = _FRONT * surface.chord_m, (1.0 - _FRONT) * surface.chord_m
    x, y, z = (h + 0.5 * front_m * c for h, c in zip(hinge, surface.chord))
    shapes = [Shape(surface.name, BODY_FRAME, Kind.BOX, (front_m, span_m, thickness_m), (x, y, z),
                    attitude, _SKIN)]
    size_m = rear_m, span_m, 0.6 * thickness_m
    if surface.servo:
        frame = servo_frame(names.index(surface.servo))
        return [*shapes, Shape(f'{surface.name}_flap', frame, Kind.BOX, size_m,
                               (-0.5 * rear_m, 0.0, 0.0), IDENTITY, BACK)]
    x, y, z = (h - 0.5 * rear_m * c for h, c in zip(hinge, surface.chord))
    return [*shapes, Shape(f'{surface.name}_rear', BODY_FRAME, Kind.BOX, size_m, (x, y, z),
                           attitude, _SKIN)]


def rotor_colour(vehicle: Vehicle, index: int) -> Colour:
    """Return the colour of a rotor: those in front differ from those at the back."""
    return FRONT if vehicle.rotors[index].position_m[0] > 0.0 else BACK


def _motor_height_m(vehicle: Vehicle) -> float:
    return _MOTOR_HEIGHT * vehicle.rotor_model.propeller_diameter_m


def _motor_and_rotor(vehicle: Vehicle, index: int) -> list[Shape]:
    diameter_m = vehicle.rotor_model.propeller_diameter_m
    link = rotor_link(vehicle, index)
    x, y, z = link.position_m
    height_m, width_m = _motor_height_m(vehicle), 2.0 * _MOTOR_RADIUS * diameter_m
    joint, frame, colour = rotor_joint(index), rotor_frame(index), rotor_colour(vehicle, index)
    thickness_m = _BLADE_THICKNESS * diameter_m
    return [
        Shape(f'{joint}_motor', link.parent, Kind.CYLINDER, (width_m, width_m, height_m),
              (x, y, z - 0.5 * height_m), IDENTITY, _DARK),
        Shape(f'{joint}_blades', frame, Kind.BOX,
              (diameter_m, _BLADE_CHORD * diameter_m, thickness_m), (0.0, 0.0, 0.0), IDENTITY,
              colour),
        Shape(f'{joint}_disc', frame, Kind.CYLINDER, (diameter_m, diameter_m, 0.3 * thickness_m),
              (0.0, 0.0, 0.0), IDENTITY, (*colour[:3], _DISC_OPACITY))]


def _rod(name: str, start: Vector, end: Vector, thickness_m: float, colour: Colour) -> Shape:
    """Return a cylinder from one point of the body to another."""
    along = end[0] - start[0], end[1] - start[1], end[2] - start[2]
    middle = (0.5 * (start[0] + end[0]), 0.5 * (start[1] + end[1]), 0.5 * (start[2] + end[2]))
    return Shape(name, BODY_FRAME, Kind.CYLINDER,
                 (thickness_m, thickness_m, math.hypot(*along)), middle, from_z_to(along), colour)
