# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The true motion and the rotor commands as messages (REP-103, REP-105)."""
from __future__ import annotations

from geometry_msgs.msg import AccelStamped, PoseStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState

from px4_sim_ros.messages.codec import Codec, Numbers
from px4_sim_ros.messages.stamps import in_frame
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.truth import Truth

WORLD_FRAME = 'map'
# Of estimates that drift (REP-105).
ODOM_FRAME = 'odom'
BODY_FRAME = 'base_link'

# The truth is exact; all zeros would mean "unknown".
_EXACT_VARIANCE = 1e-12
_EXACT_COVARIANCE = [_EXACT_VARIANCE if i % 7 == 0 else 0.0 for i in range(36)]
_NO_VECTOR: Vector = (0.0, 0.0, 0.0)


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


def _new_rotors(speeds_rad_s: Numbers, angles_rad: Numbers = ()) -> JointState:
    count = len(speeds_rad_s)
    return JointState(name=[*map(rotor_joint, range(count))], velocity=[0.0] * count,
                      position=[0.0] * len(angles_rad))


def _rotors_value(time_us: int, n: Numbers, frame: str) -> dict[str, Numbers]:
    count = len(n) // 2
    return {'rotor_angles_rad': n[:count], 'rotor_speeds_rad_s': n[count:]}


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

# Angles in rad and speeds in rad/s of the rotors; what is read are fields of `Truth`.
ROTORS = Codec(
    lambda truth: _new_rotors(truth.rotor_speeds_rad_s, truth.rotor_angles_rad),
    ('position', 'velocity'),
    lambda truth: (*truth.rotor_angles_rad, *truth.rotor_speeds_rad_s), _rotors_value)

# The references for rotor speeds in rad/s.
REFERENCES = Codec(_new_rotors, ('velocity',), lambda references_rad_s: references_rad_s,
                   lambda time_us, n, frame: n)
