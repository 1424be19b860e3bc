# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Flies a square in offboard mode with px4_msgs: an ordinary ROS 2 node, in simulated time."""
import contextlib
import math
import sys

import rclpy
from px4_msgs.msg import OffboardControlMode, TrajectorySetpoint, VehicleCommand, VehicleStatus
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

QOS = QoSProfile(
    reliability=ReliabilityPolicy.BEST_EFFORT, durability=DurabilityPolicy.TRANSIENT_LOCAL,
    history=HistoryPolicy.KEEP_LAST, depth=1)
# North, east, down in metres: climb, go round, come back.
CORNERS_NED = (
    (0.0, 0.0, -5.0), (5.0, 0.0, -5.0), (5.0, 5.0, -5.0), (0.0, 5.0, -5.0), (0.0, 0.0, -5.0))
AT_CORNER_S, OFFBOARD = 6.0, 6.0


def versioned(name, message_type):
    """Return the name of a topic as PX4 has it."""
    version = getattr(message_type, 'MESSAGE_VERSION', 0)
    return f'fmu/{name}_v{version}' if version else f'fmu/{name}'


class OffboardSquare(Node):
    """Sends set points ten times a second."""

    def __init__(self):
        """Join ROS."""
        super().__init__('offboard_square', parameter_overrides=[
            Parameter('use_sim_time', Parameter.Type.BOOL, True)])
        self.system = self.declare_parameter('system', 1).value
        publish = self.create_publisher
        self.modes = publish(OffboardControlMode, 'fmu/in/offboard_control_mode', QOS)
        self.set_points = publish(
            TrajectorySetpoint, versioned('in/trajectory_setpoint', TrajectorySetpoint), QOS)
        self.commands = publish(
            VehicleCommand, versioned('in/vehicle_command', VehicleCommand), QOS)
        self.create_subscription(
            VehicleStatus, versioned('out/vehicle_status', VehicleStatus), self.on_status, QOS)
        self.begin()
        self.create_timer(0.1, self.tick)

    def begin(self):
        """Begin on the ground, also after a reset of time."""
        self.status = VehicleStatus()
        self.flying_since_s, self.ticks, self.last_us = None, 0, 0

    def on_status(self, status):
        """Keep what PX4 says of itself."""
        self.status = status

    def tick(self):
        """Send the set point of this time, and a command once a second while one is needed."""
        now = self.get_clock().now()
        time_us, time_s = now.nanoseconds // 1000, now.nanoseconds * 1e-9
        if time_us < self.last_us:
            self.begin()
        self.ticks, self.last_us = self.ticks + 1, time_us
        is_armed = self.status.arming_state == VehicleStatus.ARMING_STATE_ARMED
        if self.flying_since_s is None and is_armed:
            self.flying_since_s = time_s
            self.get_logger().info(f't = {time_s:.1f} s: armed')
        corner = 0 if self.flying_since_s is None else int(
            (time_s - self.flying_since_s) / AT_CORNER_S)
        if corner >= len(CORNERS_NED):
            if self.ticks % 10 == 0 and is_armed:
                self.command(time_us, VehicleCommand.VEHICLE_CMD_NAV_LAND)
        elif self.flying_since_s is None and self.ticks % 10 == 0 and self.status.timestamp:
            self.command(time_us, VehicleCommand.VEHICLE_CMD_DO_SET_MODE, 1.0, OFFBOARD)
            self.command(time_us, VehicleCommand.VEHICLE_CMD_COMPONENT_ARM_DISARM, 1.0)
        self.modes.publish(OffboardControlMode(timestamp=time_us, position=True))
        north, east, down = CORNERS_NED[min(corner, len(CORNERS_NED) - 1)]
        self.set_points.publish(TrajectorySetpoint(
            timestamp=time_us, position=[north, east, down], velocity=[math.nan] * 3,
            acceleration=[math.nan] * 3, yaw=0.0, yawspeed=math.nan))

    def command(self, time_us, command, param1=0.0, param2=0.0):
        """Send a command to PX4."""
        self.commands.publish(VehicleCommand(
            timestamp=time_us, command=command, param1=param1, param2=param2,
            target_system=self.system, target_component=1, source_system=1, source_component=1,
            from_external=True))


rclpy.init(args=sys.argv)
with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
    rclpy.spin(OffboardSquare())
