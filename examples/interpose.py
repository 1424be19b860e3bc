# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A node between the IMU and the bridge: adds a bias to the gyro from a simulated time on.

The bridge, and with it the autopilot, waits for this node in each step. Start the flight with the
IMU's topic under another name, and this node beside it, in either order:

    python -m px4_sim_ros fly --remap imu:imu/data_raw:=imu/unbiased
    python examples/interpose.py
"""
import contextlib

import rclpy
from rclpy.executors import ExternalShutdownException
from sensor_msgs.msg import Imu

FROM_S, BIAS_RAD_S = 4, 0.02


def add_bias(imu: Imu) -> None:
    """Publish a measurement again, with the same stamp: the bridge joins by it."""
    if imu.header.stamp.sec >= FROM_S:
        imu.angular_velocity.z += BIAS_RAD_S
    publisher.publish(imu)


rclpy.init()
node = rclpy.create_node('biased_gyro')
publisher = node.create_publisher(Imu, 'imu/data_raw', 100)
node.create_subscription(Imu, 'imu/unbiased', add_bias, 100)
with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
    rclpy.spin(node)
