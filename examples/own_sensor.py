# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A radio beacon: ten times a second the distance to a known place, with noise."""
import contextlib
import math
import random

import rclpy
from nav_msgs.msg import Odometry
from rclpy.executors import ExternalShutdownException
from sensor_msgs.msg import Range

from px4_sim_ros.messages.stamps import stamp_us

BEACON_ENU_M, PERIOD_US, NOISE_M, SEED = (30.0, 40.0, 2.0), 100_000, 0.3, 7


def measure(truth):
    time_us, p = stamp_us(truth.header.stamp), truth.pose.pose.position
    if time_us % PERIOD_US == 0:
        noise_m = random.Random(f'{SEED} {time_us}').gauss(0.0, NOISE_M)
        message = Range(header=truth.header, max_range=math.inf, variance=NOISE_M**2)
        message.range = math.dist((p.x, p.y, p.z), BEACON_ENU_M) + noise_m
        publisher.publish(message)


rclpy.init()
node = rclpy.create_node('beacon')
publisher = node.create_publisher(Range, 'beacon/range', 100)
node.create_subscription(Odometry, 'ground_truth/odom', measure, 100)
with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
    rclpy.spin(node)
