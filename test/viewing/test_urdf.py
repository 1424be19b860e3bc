# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The URDF, read by a parser that is none of ours: masses, places and names are as in the run."""
from __future__ import annotations

import math

import numpy as np
import pytest
from rclpy.serialization import deserialize_message
from scipy.spatial.transform import Rotation
from scripted_flight import fly_scripted, standing
from transforms3d.euler import euler2mat
from urdf_parser_py.urdf import URDF, Box, Cylinder, Sphere

from px4_sim_ros.messages.publications import Publications
from px4_sim_ros.messages.truth import BODY_FRAME, ODOM_FRAME, WORLD_FRAME
from px4_sim_ros.model.sensors.range_finder import DIRECTIONS
from px4_sim_ros.ros.framework.session import message_class
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.spec.resources import config_directory
from px4_sim_ros.step import graph
from px4_sim_ros.viewing.links import rotor_frame
from px4_sim_ros.viewing.urdf import BODY_LINK, urdf

VEHICLES = sorted(path.stem for path in (config_directory() / 'vehicles').glob('*.yaml'))
ALL = {f'instances.{kind}': graph.NODES[kind].instances
       for kind in load_configuration(None, {}).world.instances}
# Roll, pitch and yaw; the last two have no angles of their own.
MOUNTINGS = {'imu': (10.0, -20.0, 30.0), 'imu_1': (180.0, 0.0, -90.0), 'imu_2': (25.0, 90.0, 60.0),
             'magnetometer': (0.0, 0.0, 45.0), 'magnetometer_1': (40.0, -90.0, 10.0)}
PLACES = {'imu': (0.01, -0.02, 0.03), 'imu_1': (-0.05, 0.0, 0.02), 'imu_2': (0.0, 0.0, 0.0),
          'airspeed': (0.1, 0.0, 0.05), 'range_finder': (0.02, 0.01, -0.04)}
# Simulated time in which every topic has a message.
STEPS = 150


def with_all_sensors(vehicle='iris', direction='down'):
    """Return a run with every sensor as often as it can be, in odd places."""
    overrides = {'': {'vehicle': vehicle, 'wind': 'constant', **ALL}}
    for node, angles in MOUNTINGS.items():
        overrides.setdefault(node, {})['mounting_deg'] = list(angles)
    for node, place in PLACES.items():
        overrides.setdefault(node, {})['position_m'] = list(place)
    overrides['range_finder']['direction'] = direction
    return load_configuration(None, overrides)


def parsed(configuration):
    """Return the robot; the parser raises where a reference or a number is wrong."""
    return URDF.from_xml_string(urdf(configuration).encode())


def turned(joint):
    """Return the rotation matrix of a joint by two libraries that must agree."""
    r = euler2mat(*joint.origin.rpy, 'sxyz')
    assert np.allclose(r, Rotation.from_euler('xyz', joint.origin.rpy).as_matrix(), atol=1e-12)
    return r


@pytest.fixture(params=VEHICLES)
def configuration(request):
    """Return a run with each vehicle of config/vehicles."""
    return load_configuration(None, {'': {'vehicle': request.param}})


@pytest.fixture(params=[*VEHICLES, 'all sensors'])
def any_configuration(request):
    """Return a run with each vehicle, and one with all sensors."""
    if request.param == 'all sensors':
        return with_all_sensors()
    return load_configuration(None, {'': {'vehicle': request.param}})


def test_mass_and_inertia_are_those_of_the_file_exactly(configuration):
    robot, body = parsed(configuration), configuration.vehicle.body
    inertials = {link.name: link.inertial for link in robot.links if link.inertial}
    assert list(inertials) == [BODY_LINK]
    found = inertials[BODY_LINK]
    assert found.mass == body.mass_kg
    assert (found.inertia.ixx, found.inertia.iyy, found.inertia.izz) == body.inertia_kg_m2
    assert (found.inertia.ixy, found.inertia.ixz, found.inertia.iyz) == (0.0, 0.0, 0.0)
    # About the centre of mass, which is the origin of base_link.
    assert found.origin.xyz == found.origin.rpy == [0.0, 0.0, 0.0]
    [joint] = [j for j in robot.joints if j.child == BODY_LINK]
    assert joint.parent == BODY_FRAME and joint.origin.xyz == joint.origin.rpy == [0.0, 0.0, 0.0]


def test_it_is_one_tree_with_base_link_as_its_root(any_configuration):
    robot = parsed(any_configuration)
    names = [link.name for link in robot.links]
    assert len(set(names)) == len(names)
    assert robot.get_root() == BODY_FRAME
    parents = {joint.child: joint.parent for joint in robot.joints}
    assert len(parents) == len(robot.joints) == len(names) - 1
    assert set(parents) == set(names) - {BODY_FRAME} and set(parents.values()) <= set(names)
    for name in parents:
        assert robot.get_chain(BODY_FRAME, name)[0] == BODY_FRAME
    # A root with an inertia is what robot_state_publisher warns of.
    assert robot.link_map[BODY_FRAME].inertial is None


def test_rotors_are_joints_of_the_names_that_joint_states_has(any_configuration):
    robot, rotors = parsed(any_configuration), any_configuration.vehicle.rotors
    turning = [joint for joint in robot.joints if joint.type in ('continuous', 'revolute')]
    assert [joint.name for joint in turning] == list(
        published(any_configuration)['joint_states'].name)
    for i, (joint, rotor) in enumerate(zip(turning, rotors)):
        assert joint.child == rotor_frame(i)
        place = joint.origin.xyz
        if rotor.tilted_by:
            # In the frame of the servo, whose axes are those of the body at its angle 0.
            [tilt] = [other for other in turning if other.child == joint.parent]
            [servo] = [s for s in any_configuration.vehicle.servos if s.name == rotor.tilted_by]
            assert (tilt.parent, tilt.origin.rpy) == (BODY_FRAME, [0.0, 0.0, 0.0])
            assert tuple(tilt.axis) == rotor.hinge
            assert (tilt.limit.lower, tilt.limit.upper) == (
                servo.center_rad - servo.travel_rad, servo.center_rad + servo.travel_rad)
            place = np.add(place, tilt.origin.xyz)
        else:
            assert joint.parent == BODY_FRAME
        assert tuple(place) == rotor.position_m
        assert euler2mat(*joint.origin.rpy)[:, 2] == pytest.approx(rotor.direction, abs=1e-12)
        assert rotor.direction != (0.0, 0.0, 1.0) or joint.origin.rpy == [0.0, 0.0, 0.0]
        assert joint.axis == [0.0, 0.0, {'ccw': 1.0, 'cw': -1.0}[rotor.turns]]


@pytest.mark.parametrize('direction', DIRECTIONS)
def test_every_frame_that_a_message_names_is_there(direction):
    configuration = with_all_sensors(direction=direction)
    links = set(parsed(configuration).link_map)
    named = {frame for name, message in published(configuration).items()
             for frame in frames(message)}
    assert named - links == {WORLD_FRAME, ODOM_FRAME}
    assert links - named == {BODY_LINK, *map(rotor_frame, range(4))}


def published(configuration):
    """Return a message of every topic of a run, as its bytes are read by ROS."""
    found, outputs = {}, []
    publications = Publications(configuration.graph, configuration.world)
    still = standing(configuration.vehicle)
    fly_scripted(configuration, [still] * STEPS, outputs.extend)
    for output in outputs:
        found |= publications.of(output)
    assert set(found) == set(configuration.graph.topics)
    return {name: deserialize_message(data, message_class(configuration.graph.topics[name].type))
            for name, data in found.items()}


def frames(message):
    """Return the frames that a message names."""
    named = {getattr(getattr(message, 'header', None), 'frame_id', ''),
             getattr(message, 'child_frame_id', '')}
    return named - {''}


@pytest.mark.parametrize('node, frame', [
    ('imu', 'imu_link'), ('imu_1', 'imu_1_link'), ('imu_2', 'imu_2_link'),
    ('magnetometer', 'mag_link'), ('magnetometer_1', 'mag_1_link')])
def test_sensors_are_turned_as_the_parameters_say(node, frame):
    joint = joint_to(parsed(with_all_sensors()), frame)
    expected = Rotation.from_euler('xyz', MOUNTINGS[node], degrees=True).as_matrix()
    assert np.allclose(turned(joint), expected, atol=1e-12)


@pytest.mark.parametrize('node, topic', [
    ('imu', 'imu/data_raw'), ('imu_1', 'imu_1/data_raw'), ('imu_2', 'imu_2/data_raw'),
    ('airspeed', 'airspeed'), ('range_finder', 'range')])
def test_sensors_are_where_the_parameters_say(node, topic):
    configuration = with_all_sensors()
    [frame] = frames(published(configuration)[topic])
    assert tuple(joint_to(parsed(configuration), frame).origin.xyz) == PLACES[node]


@pytest.mark.parametrize('direction', DIRECTIONS)
def test_the_x_axis_of_a_range_finder_is_its_beam(direction):
    configuration = with_all_sensors(direction=direction)
    joint = joint_to(parsed(configuration), f'range_{direction}_link')
    assert tuple(joint.origin.xyz) == PLACES['range_finder']
    assert np.allclose(turned(joint) @ (1.0, 0.0, 0.0), DIRECTIONS[direction], atol=1e-12)


def joint_to(robot, frame):
    [joint] = [joint for joint in robot.joints if joint.child == frame]
    assert (joint.type, joint.parent) == ('fixed', BODY_FRAME)
    return joint


def test_the_vehicle_looks_like_its_file(configuration):
    robot, vehicle = parsed(configuration), configuration.vehicle
    shapes = {v.name: v for link in robot.links for v in link.visuals}
    for shape in shapes.values():
        assert isinstance(shape.geometry, Box | Cylinder | Sphere)
        assert all(size > 0.0 for size in sizes(shape.geometry))
        assert all(0.0 <= c <= 1.0 for c in shape.material.color.rgba)
    diameter_m = vehicle.rotor_model.propeller_diameter_m
    for i, rotor in enumerate(vehicle.rotors):
        assert shapes[f'rotor_{i + 1}_blades'].geometry.size[0] == diameter_m
        assert 2.0 * shapes[f'rotor_{i + 1}_disc'].geometry.radius == diameter_m
        # Arms are rods from the middle; they end below their hubs.
        assert ends(shapes[f'arm_{i + 1}'])[1][:2] == pytest.approx(rotor.position_m[:2])
    for i, foot in enumerate(vehicle.contact_points_m):
        assert tuple(shapes[f'foot_{i + 1}'].origin.xyz) == foot
        assert ends(shapes[f'leg_{i + 1}'])[1] == pytest.approx(foot)


def sizes(geometry):
    if isinstance(geometry, Box):
        return geometry.size
    return [geometry.radius] + ([geometry.length] if isinstance(geometry, Cylinder) else [])


def ends(rod):
    """Return both ends of a cylinder in the frame of its link."""
    along = Rotation.from_euler('xyz', rod.origin.rpy).as_matrix() @ (0, 0, 1)
    half = 0.5 * rod.geometry.length * along
    return tuple(rod.origin.xyz - half), tuple(rod.origin.xyz + half)


def test_a_material_of_one_name_has_one_colour(any_configuration):
    colours = {}
    for link in parsed(any_configuration).links:
        for visual in link.visuals:
            colour = tuple(visual.material.color.rgba)
            assert colours.setdefault(visual.material.name, colour) == colour


def test_no_number_is_infinite_or_none(any_configuration):
    for joint in parsed(any_configuration).joints:
        assert all(map(math.isfinite, [*joint.origin.xyz, *joint.origin.rpy]))


@pytest.mark.parametrize('vehicle', ['rover_ackermann', 'rover_differential', 'plane'])
def test_each_wheel_rolls_in_a_joint_and_is_steered_in_another(vehicle):
    configuration = load_configuration(None, {'': {'vehicle': vehicle}})
    robot, vehicle = parsed(configuration), configuration.vehicle
    travels = {servo.name: servo.travel_rad for servo in vehicle.servos}
    shapes = {v.name: link.name for link in robot.links for v in link.visuals}
    for i, wheel in enumerate(vehicle.wheels):
        name, parent, place = f'wheel_{i + 1}', BODY_FRAME, wheel.position_m
        if wheel.steered_by or wheel.swivels:
            steering = robot.joint_map[f'{name}_steering']
            assert (steering.parent, tuple(steering.origin.xyz)) == (BODY_FRAME, place)
            assert steering.axis == [0.0, 0.0, 1.0] and steering.origin.rpy == [0.0, 0.0, 0.0]
            assert steering.type == ('continuous' if wheel.swivels else 'revolute')
            parent, place = f'{name}_steering_link', (0.0, 0.0, 0.0)
        else:
            assert f'{name}_steering' not in robot.joint_map
        rolling = robot.joint_map[name]
        assert (rolling.type, rolling.parent, rolling.child) == (
            'continuous', parent, f'{name}_link')
        assert tuple(rolling.origin.xyz) == place and rolling.origin.rpy == [0.0, 0.0, 0.0]
        assert rolling.axis == [0.0, 1.0, 0.0]
        assert shapes[name] == shapes[f'{name}_spoke'] == f'{name}_link'
        if wheel.steered_by:
            # Ackermann: the inner wheel is steered further, in both directions.
            travel, base_m = travels[wheel.steered_by], wheel.steering_base_m
            y_m, limits = wheel.position_m[1], (steering.limit.lower, steering.limit.upper)
            assert limits == pytest.approx([
                math.atan(base_m / (base_m / math.tan(way * travel) - y_m)) if base_m
                else way * abs(wheel.steering) * travel for way in (-1.0, 1.0)])
