# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Finds its motion in the images of a camera that looks down, so that PX4 flies without GNSS.

`python -m px4_sim_ros fly --autopilot px4 --scenario examples/visual_odometry.yaml`; it needs
opencv-python-headless. From one image to the next the ground moves as a plane does, by a
homography; what it says of the way is in distances to the ground, which a range finder measures.
Of two ways that fit, a gyro says by their turns which it is.
"""
from __future__ import annotations

import math
import typing

import cv2
import numpy as np
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Image

from px4_sim_ros import OwnBlock

BLUR_PX = 1.5                  # edges of pixels are no edges of the ground
MOST_POINTS, LEAST_POINTS, APART_PX = 200, 15, 8
BACK_PX, PLANE_PX = 0.5, 1.0   # how far off a point may be: followed there and back; in the plane
NEAREST_M = 0.2                # below this there is too little in an image
SPEED_VARIANCE, UNKNOWN_VARIANCE = 0.1 ** 2, 1e6
# The camera looks down, and the upper edge of its image is ahead: forward, left and up by its
# axes, which are to the right, down in the image, and along its view.
BODY = np.array([[0.0, -1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])

follow: typing.Any = cv2.calcOpticalFlowPyrLK          # its types do not know None


def matches(before: np.ndarray, now: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where points of an image were before and are now, px."""
    points = cv2.goodFeaturesToTrack(before, MOST_POINTS, 0.001, APART_PX)
    if points is None:
        return np.empty((0, 1, 2)), np.empty((0, 1, 2))
    there, is_there, _ = follow(before, now, points, None)
    back, is_back, _ = follow(now, before, there, None)
    good = (is_there & is_back).ravel() == 1
    good &= np.hypot(*(back - points).reshape(-1, 2).T) < BACK_PX
    return points[good], there[good]


def way_of(
    before: np.ndarray, now: np.ndarray, camera: np.ndarray, turn_rad: np.ndarray,
) -> np.ndarray | None:
    """Return the way of a camera over a plane, in its axes, for a distance of 1 along its view.

    :param camera: its matrix
    :param turn_rad: by which it has turned, about its axes
    """
    start, end = matches(before, now)
    if len(start) < LEAST_POINTS:
        return None
    plane, fits = cv2.findHomography(start, end, cv2.RANSAC, PLANE_PX)
    if plane is None or fits.sum() < LEAST_POINTS:
        return None
    found = zip(*cv2.decomposeHomographyMat(plane, camera)[1:])
    _, way, normal = min(found, key=lambda its: np.hypot.reduce(
        cv2.Rodrigues(its[0])[0].ravel() + turn_rad))
    return -way.ravel() * normal[2, 0]


class ImageOdometry(OwnBlock):
    """The velocity over the ground, of the middle between two images, in the axes of the body."""

    topic, message, period_us = 'camera/odometry', Odometry, 60_000
    inputs = 'camera/image_raw', 'range', 'imu/data_raw'
    defaults: typing.ClassVar = {'to_autopilot': False, 'field_of_view_deg': 70.0}

    def reset(self) -> None:
        """Begin without an image."""
        super().reset()
        cv2.setNumThreads(1)
        self.before: tuple[int, np.ndarray, float, np.ndarray] | None = None

    def measure(self, time_us: int, inputs: typing.Mapping[str, typing.Any]) -> Odometry | None:
        """Return the odometry of a time; None: it is not known."""
        image = deserialize_message(inputs['camera/image_raw'], Image)
        pixels = np.frombuffer(image.data, np.uint8).reshape(image.height, image.width, 3)
        grey = cv2.GaussianBlur(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY), (0, 0), BLUR_PX)
        distance_m, rate = inputs['range'].range_m, np.array(inputs['imu/data_raw'].rate_flu)
        before, self.before = self.before, (time_us, grey, distance_m, rate)
        if before is None or not NEAREST_M < before[2] < math.inf:
            return None
        since_s = 1e-6 * (time_us - before[0])
        focal = 0.5 * image.width / math.tan(0.5 * math.radians(
            self.parameters['field_of_view_deg']))
        way = way_of(
            before[1], grey, np.array([[focal, 0.0, 0.5 * (image.width - 1)],
                                       [0.0, focal, 0.5 * (image.height - 1)], [0.0, 0.0, 1.0]]),
            BODY.T @ (0.5 * since_s * (before[3] + rate)))
        if way is None:
            return None
        found = Odometry(child_frame_id='base_link')
        found.header.frame_id = 'odom'
        found.pose.covariance[::7] = found.twist.covariance[21::7] = UNKNOWN_VARIANCE
        found.twist.covariance[:21:7] = SPEED_VARIANCE
        speed = found.twist.twist.linear
        speed.x, speed.y, speed.z = (
            BODY @ way * before[2] / since_s).tolist()
        return found
