# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The true motion and the rotor commands as messages (REP-103, REP-105)."""
from __future__ import annotations

import math
import typing

from geometry_msgs.msg import AccelStamped, PoseStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState

from px4_sim_ros.messages.codec import Codec, Numbers
from px4_sim_ros.messages.stamps import in_frame
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.truth import Truth, WheelMotion
from px4_sim_ros.model.vehicle.vehicle import References

WORLD_FRAME = 'map'
# Of estimates that drift (REP-105).
ODOM_FRAME = 'odom'
BODY_FRAME = 'base_link'

# The truth is exact; all zeros would mean "unknown".
_EXACT_VARIANCE = 1e-12
_EXACT_COVARIANCE = [_EXACT_VARIANCE if i % 7 == 0 else 0.0 for i in range(36)]
_NO_VECTOR: Vector = (0.0, 0.0, 0.0)
_UNKNOWN = math.nan
_WHEEL, _STEERING = 'wheel_', '_steering'


def _new_odometry(truth: Truth) -> Odometry:
    message = in_frame(Odometry(child_frame_id=BODY_FRAME), WORLD_FRAME)
    message.pose.covariance = _EXACT_COVARIANCE
    message.twist.covariance = _EXACT_COVARIANCE
    return message


def _pose_numbers(truth: Truth) -> Numbers:
    w, x, y, z = truth.attitude
    return (*truth.position_enu, x, y, z, w)


def _odometry_numbers(truth: Truth) -> Numbers:
    w, x, y, z = truth.attitude
    return (*truth.position_enu, x, y, z, w, *truth.velocity_flu, *truth.rate_flu)


def _odometry_value(time_us: int, n: Numbers, frame: str) -> Truth:
    x, y, z, qx, qy, qz, qw, vx, vy, vz, wx, wy, wz = n
    return Truth(time_us, (x, y, z), (qw, qx, qy, qz), (vx, vy, vz), (wx, wy, wz),
                 _NO_VECTOR, _NO_VECTOR, (), ())


def _pose_value(time_us: int, n: Numbers, frame: str) -> Truth:
    x, y, z, qx, qy, qz, qw = n
    return Truth(time_us, (x, y, z), (qw, qx, qy, qz), _NO_VECTOR, _NO_VECTOR, _NO_VECTOR,
                 _NO_VECTOR, (), ())


def rotor_joint(index: int) -> str:
    """Return the name of a rotor's joint in `joint_states`; the first index is 0."""
    return f'rotor_{index + 1}'


def servo_joint(index: int) -> str:
    """Return the name of a servo's joint in `joint_states`; the first index is 0."""
    return f'servo_{index + 1}'


def wheel_joint(index: int) -> str:
    """Return the name of the joint in `joint_states` that a wheel rolls in; the first is 0."""
    return f'{_WHEEL}{index + 1}'


def steering_joint(index: int) -> str:
    """Return the name of the joint in `joint_states` that a wheel is steered in; first 0."""
    return f'{wheel_joint(index)}{_STEERING}'


def is_wheel(joint: str) -> bool:
    """Return whether a joint is one that a wheel rolls or is steered in."""
    return joint.startswith(_WHEEL)


def is_steering(joint: str) -> bool:
    """Return whether a joint is one that a wheel is steered in."""
    return is_wheel(joint) and joint.endswith(_STEERING)


def _new_joints(speeds: int, angles: int, has_positions: bool) -> JointState:
    """Return a message of joints that turn, then of servos."""
    count = speeds + angles
    return JointState(
        name=[*map(rotor_joint, range(speeds)), *map(servo_joint, range(angles))],
        velocity=[0.0] * count, position=[0.0] * count if has_positions or angles else [])


def _joints(turned: Numbers, speeds: Numbers, angles: Numbers) -> Numbers:
    """Return positions, then velocities; what a joint does not have is NaN."""
    return (*turned, *angles, *speeds, *(_UNKNOWN,) * len(angles))


def _new_state(truth: Truth) -> JointState:
    """Return a message of rotors, servos, wheels that roll, and wheels that are steered."""
    rotors, servos = len(truth.rotor_speeds_rad_s), len(truth.servo_angles_rad)
    message = _new_joints(rotors, servos, True)
    if truth.wheels is not None:
        message.name = [
            *message.name, *map(wheel_joint, range(len(truth.wheels.angles_rad))),
            *map(steering_joint, truth.wheels.steered)]
        message.position = message.velocity = [0.0] * len(message.name)
    return message


def _state_numbers(truth: Truth) -> Numbers:
    """Return positions, then velocities; what a joint does not have is NaN."""
    wheels = truth.wheels
    if wheels is None:
        return _joints(
            truth.rotor_angles_rad, truth.rotor_speeds_rad_s, truth.servo_angles_rad)
    return (*truth.rotor_angles_rad, *truth.servo_angles_rad, *wheels.angles_rad,
            *wheels.steering_rad, *truth.rotor_speeds_rad_s,
            *(_UNKNOWN,) * len(truth.servo_angles_rad), *wheels.speeds_rad_s,
            *(_UNKNOWN,) * len(wheels.steered))


def _state_reader(message: JointState) -> typing.Callable[[int, Numbers, str], typing.Any]:
    """Return a reader of messages of the same joints: wheels are known by their names."""
    names = list(message.name)
    rolling = sum(is_wheel(name) and not is_steering(name) for name in names)
    steered = tuple(
        int(name.removeprefix(_WHEEL).removesuffix(_STEERING)) - 1
        for name in names if is_steering(name))

    def value(time_us: int, n: Numbers, frame: str) -> dict[str, typing.Any]:
        count = len(n) // 2
        others = count - rolling - len(steered)
        rotors = others - sum(map(math.isnan, n[count:count + others]))
        found: dict[str, typing.Any] = {
            'rotor_angles_rad': n[:rotors], 'servo_angles_rad': n[rotors:others],
            'rotor_speeds_rad_s': n[count:count + rotors]}
        if rolling:
            last = others + rolling
            found['wheels'] = WheelMotion(
                n[others:last], n[count + others:count + last], steered, n[last:count])
        return found
    return value


def _new_references(references: Numbers) -> JointState:
    angles = getattr(references, 'angles', 0)
    return _new_joints(len(references) - angles, angles, False)


def _reference_numbers(references: Numbers) -> Numbers:
    angles = getattr(references, 'angles', 0)
    if not angles:
        return references
    speeds = references[:-angles]
    return _joints((_UNKNOWN,) * len(speeds), speeds, references[-angles:])


def _reference_value(time_us: int, n: Numbers, frame: str) -> Numbers:
    if not any(map(math.isnan, n)):
        return n                    # of a vehicle without servos, which has no positions
    positions, velocities = n[:len(n) // 2], n[len(n) // 2:]
    return References.of(
        (position if math.isnan(velocity) else velocity
         for position, velocity in zip(positions, velocities)),
        sum(map(math.isnan, velocities)))


def references_in(message: JointState) -> Numbers:
    """Return the references in a message of `actuators/command`."""
    return _reference_value(0, (*map(float, message.position), *map(float, message.velocity)), '')


# Pose in map and twist in base_link. What is read has no acceleration and no rotors.
ODOMETRY = Codec(_new_odometry, ('pose.pose', 'twist.twist'), _odometry_numbers, _odometry_value)

# The acceleration of the body, without gravity, in base_link; what is read are fields of `Truth`.
ACCEL = Codec(
    lambda truth: in_frame(AccelStamped(), BODY_FRAME), ('accel',),
    lambda truth: (*truth.acceleration_flu, *truth.angular_acceleration_flu),
    lambda time_us, n, frame: {
        'acceleration_flu': n[0:3], 'angular_acceleration_flu': n[3:6]})

# The pose in map.
POSE = Codec(
    lambda truth: in_frame(PoseStamped(), WORLD_FRAME), ('pose',), _pose_numbers, _pose_value)

# Angles in rad and speeds in rad/s of rotors and wheels, and angles of servos and of wheels that
# are steered, whose speeds are NaN; what is read are fields of `Truth`.
JOINTS = Codec(
    _new_state, ('position', 'velocity'), _state_numbers, reader=_state_reader)

# The references of rotors and motors in rad/s as velocity, of servos in rad as position.
REFERENCES = Codec(
    _new_references, ('position', 'velocity'), _reference_numbers, _reference_value)
