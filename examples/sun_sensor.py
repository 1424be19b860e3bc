# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A sun sensor: the direction of the sun in the axes of the vehicle, with noise."""
import math

from geometry_msgs.msg import Vector3Stamped

from px4_sim_ros import OwnBlock
from px4_sim_ros.model.rotation import matrix, to_body


class SunSensor(OwnBlock):
    """Turns with the vehicle: x is forward, y left, z up."""

    topic, message, period_us = 'sun', Vector3Stamped, 40_000
    defaults = {'azimuth_deg': 135.0, 'elevation_deg': 40.0, 'noise': 0.01}

    def reset(self):
        """Begin with the noise of time 0."""
        super().reset()
        azimuth, up = (math.radians(self.parameters[f'{name}_deg'])
                       for name in ('azimuth', 'elevation'))
        self.sun_enu = (math.cos(up) * math.sin(azimuth), math.cos(up) * math.cos(azimuth),
                        math.sin(up))

    def measure(self, time_us, inputs):
        """Return the message of a time."""
        attitude = inputs['ground_truth/odom'].attitude
        message = Vector3Stamped()
        message.header.frame_id = 'base_link'
        v = message.vector
        v.x, v.y, v.z = (exact + self.parameters['noise'] * self.noise.next()
                         for exact in to_body(matrix(attitude), self.sun_enu))
        return message
