# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The URDF of a vehicle, made from its file: http://wiki.ros.org/urdf/XML."""
from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree

from px4_sim_ros.messages.truth import BODY_FRAME
from px4_sim_ros.model.frames import Quaternion, Vector
from px4_sim_ros.model.rotation import unit
from px4_sim_ros.model.vehicle.sections import Body
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.spec.configuration import Configuration
from px4_sim_ros.viewing.links import (
    Link,
    axle_of,
    rotor_frame,
    rotor_link,
    sensor_links,
    servo_frame,
    servo_links,
    steering_frame,
    tilted_rotors,
    wheel_frame,
    wheel_links,
)
from px4_sim_ros.viewing.shapes import Colour, Kind, Shape, vehicle_shapes

# The whole mass is here and not in base_link: robot_state_publisher wants a root without any.
BODY_LINK = 'body_link'


def urdf(configuration: Configuration) -> str:
    """Return the vehicle of a run with its sensors as URDF.

    Mass and inertia are those of the whole vehicle, rotors included, about its centre of mass,
    which is the origin of `base_link`. Each rotor is a continuous joint, about its axis
    or against it as the rotor turns, with the name that it has in `joint_states`; each servo of a
    surface, of an axle or of rotors is a revolute one. Each wheel rolls in a continuous joint,
    which is in a revolute one if it is steered, or in another continuous one if it is a caster.
    """
    vehicle = configuration.vehicle
    robot = ElementTree.Element('robot', name=vehicle.name)
    shapes = vehicle_shapes(vehicle)
    ElementTree.SubElement(robot, 'link', name=BODY_FRAME)
    body = ElementTree.SubElement(robot, 'link', name=BODY_LINK)
    _inertial(body, vehicle.body)
    _add_shapes(body, [s for s in shapes if s.frame == BODY_FRAME])
    _fixed(robot, Link(BODY_LINK, BODY_FRAME))
    for i in range(len(vehicle.rotors)):
        link = ElementTree.SubElement(robot, 'link', name=rotor_frame(i))
        _add_shapes(link, [s for s in shapes if s.frame == rotor_frame(i)])
        _rotor_joint(robot, i, vehicle)
    for servo_link in servo_links(vehicle):
        link = ElementTree.SubElement(robot, 'link', name=servo_link.frame)
        _add_shapes(link, [s for s in shapes if s.frame == servo_link.frame])
        _servo_joint(robot, servo_link, vehicle)
    _add_wheels(robot, vehicle, shapes)
    for sensor_link in sensor_links(configuration):
        ElementTree.SubElement(robot, 'link', name=sensor_link.frame)
        _fixed(robot, sensor_link)
    ElementTree.indent(robot)
    return ElementTree.tostring(robot, encoding='unicode', xml_declaration=True) + '\n'


def _inertial(link: ElementTree.Element, body: Body) -> None:
    inertial = ElementTree.SubElement(link, 'inertial')
    _origin(inertial, (0.0, 0.0, 0.0))
    ElementTree.SubElement(inertial, 'mass', value=repr(body.mass_kg))
    ixx, iyy, izz = map(repr, body.inertia_kg_m2)
    ixy, ixz, iyz = map(repr, body.inertia_products_kg_m2)
    ElementTree.SubElement(
        inertial, 'inertia', ixx=ixx, iyy=iyy, izz=izz, ixy=ixy, ixz=ixz, iyz=iyz)


def _add_shapes(link: ElementTree.Element, shapes: list[Shape]) -> None:
    for shape in shapes:
        visual = ElementTree.SubElement(link, 'visual', name=shape.name)
        _origin(visual, shape.position_m, shape.attitude)
        _geometry(ElementTree.SubElement(visual, 'geometry'), shape)
        _material(visual, shape.colour)


def _geometry(geometry: ElementTree.Element, shape: Shape) -> None:
    diameter_m, _, length_m = shape.size_m
    if shape.kind is Kind.BOX:
        ElementTree.SubElement(geometry, 'box', size=_numbers(shape.size_m))
    elif shape.kind is Kind.CYLINDER:
        ElementTree.SubElement(
            geometry, 'cylinder', radius=_number(0.5 * diameter_m),
            length=_number(length_m))
    else:
        ElementTree.SubElement(geometry, 'sphere', radius=_number(0.5 * diameter_m))


def _material(visual: ElementTree.Element, colour: Colour) -> None:
    # A material is known by its name in the whole file.
    name = 'rgba_' + '_'.join(f'{round(100 * c)}' for c in colour)
    material = ElementTree.SubElement(visual, 'material', name=name)
    ElementTree.SubElement(material, 'color', rgba=_numbers(colour))


def _rotor_joint(robot: ElementTree.Element, index: int, vehicle: Vehicle) -> None:
    _turning(robot, rotor_link(vehicle, index), 'continuous',
             (0.0, 0.0, vehicle.rotors[index].spin))


def _servo_joint(robot: ElementTree.Element, link: Link, vehicle: Vehicle) -> None:
    servo = next(s for i, s in enumerate(vehicle.servos) if servo_frame(i) == link.frame)
    axle = axle_of(vehicle, servo)
    if axle:
        axis = 0.0, 0.0, math.copysign(1.0, axle[0].steering)
    elif rotors := tilted_rotors(vehicle, servo):
        axis = unit(rotors[0].hinge)
    else:
        surface = next(s for s in vehicle.surfaces if s.servo == servo.name)
        axis = 0.0, -1.0 if surface.effect > 0.0 else 1.0, 0.0
    _limit(_turning(robot, link, 'revolute', axis), servo.center_rad - servo.travel_rad,
           servo.center_rad + servo.travel_rad, servo.rate_rad_s)


def _add_wheels(robot: ElementTree.Element, vehicle: Vehicle, shapes: list[Shape]) -> None:
    """Add all wheels: the joints that they roll in, then those that they are steered in."""
    links = {link.frame: link for link in wheel_links(vehicle)}
    for frame in links:
        link = ElementTree.SubElement(robot, 'link', name=frame)
        _add_shapes(link, [s for s in shapes if s.frame == frame])
    for i in range(len(vehicle.wheels)):
        _turning(robot, links[wheel_frame(i)], 'continuous', (0.0, 1.0, 0.0))
    servos = {servo.name: servo for servo in vehicle.servos}
    for i, wheel in enumerate(vehicle.wheels):
        if wheel.swivels:
            _turning(robot, links[steering_frame(i)], 'continuous', (0.0, 0.0, 1.0))
        elif wheel.steered_by:
            servo = servos[wheel.steered_by]
            joint = _turning(robot, links[steering_frame(i)], 'revolute', (0.0, 0.0, 1.0))
            lower, upper = sorted(wheel.heading_rad(servo.center_rad + way * servo.travel_rad)
                                  for way in (-1.0, 1.0))
            _limit(joint, lower, upper, abs(wheel.steering) * servo.rate_rad_s)


def _turning(
    robot: ElementTree.Element, link: Link, kind: str, axis: Vector,
) -> ElementTree.Element:
    """Add the joint that a link turns in, with the name that it has in `joint_states`."""
    joint = ElementTree.SubElement(
        robot, 'joint', name=link.frame.removesuffix('_link'), type=kind)
    ElementTree.SubElement(joint, 'parent', link=link.parent)
    ElementTree.SubElement(joint, 'child', link=link.frame)
    _origin(joint, link.position_m, link.attitude)
    ElementTree.SubElement(joint, 'axis', xyz=_numbers(axis))
    return joint


def _limit(joint: ElementTree.Element, lower: float, upper: float, velocity: float) -> None:
    ElementTree.SubElement(
        joint, 'limit', lower=_number(lower), upper=_number(upper), velocity=_number(velocity),
        effort='0.0')


def _fixed(robot: ElementTree.Element, link: Link) -> None:
    joint = ElementTree.SubElement(robot, 'joint', name=f'{link.frame}_joint', type='fixed')
    ElementTree.SubElement(joint, 'parent', link=link.parent)
    ElementTree.SubElement(joint, 'child', link=link.frame)
    _origin(joint, link.position_m, link.attitude)


def _origin(
    parent: ElementTree.Element, position_m: Vector,
    attitude: Quaternion = (1.0, 0.0, 0.0, 0.0),
) -> None:
    from transforms3d.euler import quat2euler  # it takes a tenth of a second to load
    ElementTree.SubElement(
        parent, 'origin', xyz=_numbers(position_m), rpy=_numbers(quat2euler(attitude, 'sxyz')))


def _numbers(values: tuple[float, ...]) -> str:
    return ' '.join(map(_number, values))


def _number(value: float) -> str:
    return repr(value + 0.0)      # no -0.0
