# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An Odometry of an added block as PX4 gets it: each number in its place, by pymavlink's fields."""
import math

import numpy as np
import pytest
from nav_msgs.msg import Odometry
from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.hil.odometry import odometry_message, read_odometry
from px4_sim_ros.messages.cdr import serialised


@pytest.mark.parametrize('frame', ['', 'a', 'odom', 'camera_odom'])
def test_it_is_read_whatever_its_frames_are_called(frame):
    message = Odometry(child_frame_id='base_link')
    message.header.stamp.sec, message.header.stamp.nanosec = 7, 250_000_000
    message.header.frame_id = frame
    place, velocity = message.pose.pose.position, message.twist.twist.linear
    place.x, place.y, place.z = 1.0, 2.0, 3.0              # east, north, up
    velocity.x, velocity.y, velocity.z = 4.0, 5.0, 6.0     # forward, left, up
    turn = message.pose.pose.orientation                   # to the north
    turn.w = turn.z = math.sqrt(0.5)
    message.pose.covariance = np.diag([0.1, 0.1, 0.1, 0.2, 0.2, 0.2]).ravel()
    message.twist.covariance = np.diag([0.3, 0.3, 0.3, 9.0, 9.0, 9.0]).ravel()
    m = odometry_message(read_odometry(serialised(message) + b'\0\0'))
    assert m.time_usec == 7_250_000
    assert (m.frame_id, m.child_frame_id) == (
        mavlink.MAV_FRAME_LOCAL_NED, mavlink.MAV_FRAME_BODY_FRD)
    assert (m.x, m.y, m.z) == (2.0, 1.0, -3.0)
    assert (m.vx, m.vy, m.vz) == (4.0, -5.0, -6.0)
    assert m.q == pytest.approx((1.0, 0.0, 0.0, 0.0), abs=1e-7)
    assert [m.pose_covariance[i] for i in (0, 6, 11, 15, 18, 20)] == pytest.approx(
        [0.1] * 3 + [0.2] * 3)
    assert [m.velocity_covariance[i] for i in (0, 6, 11)] == pytest.approx([0.3] * 3)
