# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A position controller outside of PX4: answers each VehicleOdometry with an attitude and a thrust.

Where answers are awaited (`--px4-topics`) it acts as if it were a part of PX4, however slow it is.
"""
import contextlib
import math
import sys

import rclpy
from px4_msgs.msg import (
    OffboardControlMode,
    VehicleAttitudeSetpoint,
    VehicleCommand,
    VehicleOdometry,
)
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

QOS = QoSProfile(
    reliability=ReliabilityPolicy.BEST_EFFORT, durability=DurabilityPolicy.TRANSIENT_LOCAL,
    history=HistoryPolicy.KEEP_LAST, depth=10)
TARGET_NED_M, HOVER, OFFBOARD = (0.0, 0.0, -4.0), 0.72, 6.0
# Of tilt in rad, and of thrust as a share, by metres and by metres a second.
TILT, THRUST, MOST_TILT_RAD = (0.08, 0.12), (0.06, 0.1), 0.3
BEGINS_S, LANDS_S = 6.0, 30.0


def versioned(name, message_type):
    """Return the name of a topic as PX4 has it."""
    version = getattr(message_type, 'MESSAGE_VERSION', 0)
    return f'fmu/{name}_v{version}' if version else f'fmu/{name}'


def bounded(value, bound):
    """Return a value within a bound of either sign."""
    return max(-bound, min(bound, value))


class AttitudeHover(Node):
    """Hovers, and has no clock but the stamps of PX4."""

    def __init__(self):
        """Join ROS."""
        super().__init__('attitude_hover')
        self.system = self.declare_parameter('system', 1).value
        self.modes = self.create_publisher(
            OffboardControlMode, 'fmu/in/offboard_control_mode', QOS)
        self.set_points = self.create_publisher(
            VehicleAttitudeSetpoint,
            versioned('in/vehicle_attitude_setpoint', VehicleAttitudeSetpoint), QOS)
        self.commands = self.create_publisher(
            VehicleCommand, versioned('in/vehicle_command', VehicleCommand), QOS)
        self.create_subscription(
            VehicleOdometry, versioned('out/vehicle_odometry', VehicleOdometry), self.answer, QOS)
        self.answers = 0

    def answer(self, odometry):
        """Send what the vehicle is to do, with the stamp of where it is."""
        time_us, time_s = odometry.timestamp, odometry.timestamp * 1e-6
        self.answers += 1
        if BEGINS_S < time_s < LANDS_S and self.answers % 100 == 0:
            self.command(time_us, VehicleCommand.VEHICLE_CMD_DO_SET_MODE, 1.0, OFFBOARD)
            self.command(time_us, VehicleCommand.VEHICLE_CMD_COMPONENT_ARM_DISARM, 1.0)
        elif time_s > LANDS_S and self.answers % 100 == 0:
            self.command(time_us, VehicleCommand.VEHICLE_CMD_NAV_LAND)
        self.modes.publish(OffboardControlMode(timestamp=time_us, attitude=True))
        errors = [float(target - place) for target, place in zip(TARGET_NED_M, odometry.position)]
        north, east, down = (
            gains[0] * error - gains[1] * float(speed) for gains, error, speed in zip(
                (TILT, TILT, THRUST), errors, odometry.velocity))
        pitch, roll = bounded(-north, MOST_TILT_RAD), bounded(east, MOST_TILT_RAD)
        set_point = VehicleAttitudeSetpoint(timestamp=time_us, yaw_sp_move_rate=0.0)
        set_point.q_d = [math.cos(roll / 2) * math.cos(pitch / 2),
                         math.sin(roll / 2) * math.cos(pitch / 2),
                         math.cos(roll / 2) * math.sin(pitch / 2),
                         -math.sin(roll / 2) * math.sin(pitch / 2)]
        set_point.thrust_body = [0.0, 0.0, -min(max(HOVER - down, 0.1), 1.0)]
        self.set_points.publish(set_point)

    def command(self, time_us, command, param1=0.0, param2=0.0):
        """Send a command to PX4."""
        self.commands.publish(VehicleCommand(
            timestamp=time_us, command=command, param1=param1, param2=param2,
            target_system=self.system, target_component=1, source_system=1, source_component=1,
            from_external=True))


rclpy.init(args=sys.argv)
with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
    rclpy.spin(AttitudeHover())
