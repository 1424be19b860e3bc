"""The true motion and the rotor commands as messages (REP-103, REP-105)."""
from __future__ import annotations

from geometry_msgs.msg import AccelStamped, PoseStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState

from px4_sim_ros.convert.stamps import in_frame, set_stamp, stamp_us
from px4_sim_ros.core.dynamics import Truth
from px4_sim_ros.core.frames import Vector

WORLD_FRAME = 'map'
BODY_FRAME = 'base_link'

# The truth is exact; all zeros would mean "unknown".
_EXACT_VARIANCE = 1e-12
_EXACT_COVARIANCE = [_EXACT_VARIANCE if i % 7 == 0 else 0.0 for i in range(36)]
_NO_VECTOR: Vector = (0.0, 0.0, 0.0)


def set_vector(message: object, vector: Vector) -> None:
    """Write a vector into a Vector3 or a Point."""
    message.x, message.y, message.z = vector


def _set_pose(pose: object, truth: Truth) -> None:
    set_vector(pose.position, truth.position_enu)
    q = pose.orientation
    q.w, q.x, q.y, q.z = truth.attitude


def new_odometry() -> Odometry:
    """Return a message with all that never changes."""
    message = in_frame(Odometry(child_frame_id=BODY_FRAME), WORLD_FRAME)
    message.pose.covariance = _EXACT_COVARIANCE
    message.twist.covariance = _EXACT_COVARIANCE
    return message


def fill_odometry(message: Odometry, truth: Truth) -> Odometry:
    """Write pose (in map) and twist (in base_link)."""
    set_stamp(message.header.stamp, truth.time_us)
    _set_pose(message.pose.pose, truth)
    set_vector(message.twist.twist.linear, truth.velocity_flu)
    set_vector(message.twist.twist.angular, truth.rate_flu)
    return message


def new_accel() -> AccelStamped:
    """Return a message with all that never changes."""
    return in_frame(AccelStamped(), BODY_FRAME)


def fill_accel(message: AccelStamped, truth: Truth) -> AccelStamped:
    """Write the acceleration of the body, without gravity, in base_link."""
    set_stamp(message.header.stamp, truth.time_us)
    set_vector(message.accel.linear, truth.acceleration_flu)
    set_vector(message.accel.angular, truth.angular_acceleration_flu)
    return message


def new_pose() -> PoseStamped:
    """Return a message with all that never changes."""
    return in_frame(PoseStamped(), WORLD_FRAME)


def fill_pose(message: PoseStamped, truth: Truth) -> PoseStamped:
    """Write the pose in map."""
    set_stamp(message.header.stamp, truth.time_us)
    _set_pose(message.pose, truth)
    return message


def new_rotors(count: int) -> JointState:
    """Return a message for the speeds of `count` rotors."""
    return JointState(name=[f'rotor_{i + 1}' for i in range(count)])


def fill_rotors(message: JointState, time_us: int, speeds_rad_s: tuple[float, ...]) -> JointState:
    """Write rotor speeds, or the references for them."""
    set_stamp(message.header.stamp, time_us)
    message.velocity = speeds_rad_s
    return message


def truth_from(odometry: Odometry, accel: AccelStamped | None = None) -> Truth:
    """Return the motion that the messages tell; without `accel` its accelerations are zero."""
    p, q = odometry.pose.pose.position, odometry.pose.pose.orientation
    v, w = odometry.twist.twist.linear, odometry.twist.twist.angular
    linear = angular = _NO_VECTOR
    if accel is not None:
        a, b = accel.accel.linear, accel.accel.angular
        linear, angular = (a.x, a.y, a.z), (b.x, b.y, b.z)
    return Truth(
        stamp_us(odometry.header.stamp), (p.x, p.y, p.z), (q.w, q.x, q.y, q.z),
        (v.x, v.y, v.z), (w.x, w.y, w.z), linear, angular, ())
