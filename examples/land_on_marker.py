# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Lands on a marker that a camera sees: `python examples/land_on_marker.py`, or `... px4`.

It needs opencv-python-headless and the extra `gymnasium`. The camera looks down. A velocity leads
the vehicle over the middle of the marker, and down as long as it is over it.
"""
from __future__ import annotations

import math
import sys

import cv2
import gymnasium
import numpy as np
from transforms3d.quaternions import rotate_vector

WIDTH, HEIGHT, FIELD_OF_VIEW_DEG = 320, 240, 70.0
FOCAL_PX = 0.5 * WIDTH / math.tan(math.radians(0.5 * FIELD_OF_VIEW_DEG))
TOPIC = 'camera/image_raw'
SCENARIO = {'scene': 'landing_pad', 'weather': {'wind': 'dryden'}, 'blocks': [{
    'class': 'px4_sim_ros:Camera', 'width': WIDTH, 'height': HEIGHT, 'mounting_deg': [0, 90, 0],
    'field_of_view_deg': FIELD_OF_VIEW_DEG, 'period_us': 100_000}]}
REACH_M_S = (1.5, 1.5, 1.0)
BLIND_M = 1.0                  # below this height the marker is larger than the image

find = cv2.aruco.ArucoDetector(
    cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_APRILTAG_36h11)).detectMarkers


def reward(truth, target):
    """End the episode on the ground."""
    return 0.0, truth.position_enu[2] < 0.25


def way_to_marker_m(image, height_m, attitude):
    """Return how far the marker is to the east and to the north; None: it is not seen."""
    pixels = np.frombuffer(image.data, np.uint8).reshape(image.height, image.width, 3)
    corners, numbers, _ = find(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY))
    if numbers is None or 0 not in numbers:
        return None
    u, v = np.mean(corners[numbers.ravel().tolist().index(0)][0], axis=0)
    # What is above in the image is ahead, and what is on the right is on the right.
    ahead, left = (0.5 * HEIGHT - v) / FOCAL_PX, (0.5 * WIDTH - u) / FOCAL_PX
    ray = rotate_vector((ahead, left, -1.0), attitude)
    return height_m * ray[:2] / -ray[2]


def land(env, seed=1):
    """Fly an episode; return the place of the touch-down and the fingerprint."""
    observation, info = env.reset(options={'seed': seed})
    target_m, marker_m = np.array(env.unwrapped.target_enu), np.zeros(2)
    while True:
        place_m = target_m - observation[:3]
        found = way_to_marker_m(info[TOPIC], place_m[2], observation[3:7])
        if found is not None:
            marker_m = place_m[:2] + found
        away_m = marker_m - place_m[:2]
        is_over = found is not None and math.hypot(*away_m) < 0.2 * place_m[2]
        down_m_s = 0.5 if is_over or place_m[2] < BLIND_M else 0.0
        observation, _, is_down, is_late, info = env.step(
            (np.array([*away_m, -down_m_s]) / REACH_M_S).astype(np.float32))
        if is_down or is_late:
            return env.unwrapped.truth.position_enu, info['fingerprint']


def environment(kind):
    """Return the environment: `SetPoint`, or `Px4` for the one that PX4_DIR names."""
    return gymnasium.make(
        f'px4_sim_ros.learning:px4_sim_ros/{kind}-v0', action='velocity', reach=REACH_M_S,
        observation='estimate', target_enu=(0.0, 0.0, 6.0), control_us=100_000, limit_s=60.0,
        reward=reward, scenario=SCENARIO, topics=[TOPIC])


if __name__ == '__main__':
    with environment('Px4' if 'px4' in sys.argv[1:] else 'SetPoint') as made:
        place, fingerprint = land(made)
    print(f'landed {place[0]:.2f} m east, {place[1]:.2f} m north of home; the marker is at 3.00'
          f' and 2.00; fingerprint {fingerprint}')
