# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the autopilot says of itself, as messages with simulated stamps."""
from __future__ import annotations

import typing

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PointStamped
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import Log

from px4_sim_ros.messages.codec import Codec, Numbers
from px4_sim_ros.messages.diagnostics import OK, WARN, diagnostic_status, values_of
from px4_sim_ros.messages.stamps import in_frame, set_stamp
from px4_sim_ros.messages.truth import BODY_FRAME, ODOM_FRAME, WORLD_FRAME
from px4_sim_ros.model.rotation import matrix, to_body, to_world
from px4_sim_ros.model.telemetry import AutopilotStatus, Estimate, SetPoint

AUTOPILOT = 'autopilot'
"""Who speaks in its messages."""


def _estimate_numbers(estimate: Estimate) -> Numbers:
    w, x, y, z = estimate.attitude
    return (*estimate.position_enu, x, y, z, w,
            *to_body(matrix(estimate.attitude), estimate.velocity_enu), *estimate.rate_flu)


def _estimate_value(time_us: int, n: Numbers, frame: str) -> Estimate:
    x, y, z, qx, qy, qz, qw, forward, left, up, roll, pitch, yaw = n
    attitude = qw, qx, qy, qz
    return Estimate(time_us, (x, y, z), to_world(matrix(attitude), (forward, left, up)), attitude,
                    (roll, pitch, yaw))


# Where the autopilot takes itself for: pose in odom, twist in base_link. Its covariance is not
# known: all zeros.
ESTIMATE = Codec(
    lambda _: in_frame(Odometry(child_frame_id=BODY_FRAME), ODOM_FRAME),
    ('pose.pose', 'twist.twist'), _estimate_numbers, _estimate_value)


def set_point_message(set_point: SetPoint) -> PointStamped:
    """Return where the autopilot wants to be."""
    message = in_frame(PointStamped(), WORLD_FRAME)
    set_stamp(message.header.stamp, set_point.time_us)
    point = message.point
    point.x, point.y, point.z = set_point.position_enu
    return message


def status_message(status: AutopilotStatus) -> DiagnosticArray:
    """Return mode and flags: a warning while the autopilot is in a failsafe."""
    flags = {'armed': status.armed, 'landed': status.landed, 'failsafe': status.failsafe}
    message = DiagnosticArray(status=[diagnostic_status(
        AUTOPILOT, WARN if status.failsafe else OK, status.text, {
            'mode': status.mode, **{key: str(flag).lower() for key, flag in flags.items()}})])
    set_stamp(message.header.stamp, status.time_us)
    return message


def read_status(time_us: int, message: typing.Any) -> AutopilotStatus:
    """Return mode and flags from a message; what it does not tell is not known, or not so."""
    values = values_of(message.status[0])
    return AutopilotStatus(time_us, values.get('mode', ''), *(
        values.get(key) == 'true' for key in ('armed', 'landed', 'failsafe')))


def line(time_us: int, who: str, text: str, level: int = Log.INFO) -> Log:
    message = Log(level=level, name=who, msg=text)
    set_stamp(message.stamp, time_us)
    return message


def text_message(time_us: int, text: str) -> Log:
    """Return a text of the autopilot as a line of the log."""
    return line(time_us, AUTOPILOT, text)


def link_text(state: str) -> str:
    """Return the log line of a new state of the link."""
    return f'link {state}'
