# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Lands on a ship that sails and heaves: `python examples/land_on_deck.py`, or `... px4`.

It needs what `land_on_marker.py` needs. The camera finds the marker on the deck; how far away it
is follows from its size in the image. A filter keeps the place of the marker and its velocity,
which leads the vehicle on when the marker is larger than the image. A range finder, which is a
depth camera of one pixel, says when it is down; 3 s later the episode ends.
"""
from __future__ import annotations

import math
import sys

import cv2
import gymnasium
import numpy as np
from land_on_marker import BLIND_M, FOCAL_PX, HEIGHT, TOPIC, WIDTH, find
from land_on_marker import SCENARIO as LAND_ON_MARKER
from transforms3d.quaternions import rotate_vector

TAG_M = 1.2
CONTROL_S = 0.1
PLACE_GAIN, VELOCITY_GAIN = 0.4, 0.08          # of the filter, for each image
LEAD_1_S = 0.8                                 # how fast it goes to where it has to be
REACH_M_S = np.array((3.0, 3.0, 1.5))
SEARCH_M_S = np.array((2.5, 0.0, 0.0))         # after the ship, to the east
DOWN_M_S, PRESS_M_S = 0.5, 1.0
DOWN_M = 0.1                                   # what the range finder measures on the deck
STAYS_S = 3.0
# It begins on the ground, behind the ship.
SCENARIO = {'scene': 'moving_deck', 'weather': {'wind': 'dryden'},
            'set': {'dynamics.start_east_m': -8.0}, 'blocks': [
    *LAND_ON_MARKER['blocks'],
    {'class': 'px4_sim_ros:DepthCamera', 'width': 1, 'height': 1, 'mounting_deg': [0, 90, 0],
     'min_range_m': 0.02, 'period_us': 100_000}]}
RANGE = 'depth/image'
ends_us = [math.inf]                           # the episode; of simulated time


def reward(truth, target):
    """End the episode some time after the touch-down."""
    return 0.0, truth.time_us >= ends_us[0]


def to_marker_m(image, attitude):
    """Return the way to the middle of the marker, ENU; None: it is not seen."""
    pixels = np.frombuffer(image.data, np.uint8).reshape(image.height, image.width, 3)
    corners, numbers, _ = find(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY))
    if numbers is None or 0 not in numbers:
        return None
    corner = corners[numbers.ravel().tolist().index(0)][0]
    u, v = corner.mean(axis=0)
    side_px = np.linalg.norm(corner - np.roll(corner, 1, axis=0), axis=1).mean()
    ahead, left = (0.5 * HEIGHT - v) / FOCAL_PX, (0.5 * WIDTH - u) / FOCAL_PX
    return FOCAL_PX * TAG_M / side_px * rotate_vector((ahead, left, -1.0), attitude)


def land(env, seed=1):
    """Fly an episode; return the motion at the touch-down and at the end, and the fingerprint."""
    observation, info = env.reset(options={'seed': seed})
    target_m, place_m, velocity_m_s = np.array(env.unwrapped.target_enu), None, np.zeros(3)
    touched, is_over, is_late = None, False, False
    ends_us[0] = math.inf
    while not (is_over or is_late):
        own_m = target_m - observation[:3]
        found = to_marker_m(info[TOPIC], observation[3:7])
        if place_m is not None:
            place_m = place_m + velocity_m_s * CONTROL_S
        if found is not None:
            place_m = own_m + found if place_m is None else place_m
            error_m = own_m + found - place_m
            place_m = place_m + PLACE_GAIN * error_m
            velocity_m_s = velocity_m_s + VELOCITY_GAIN / CONTROL_S * error_m
        speed_m_s = SEARCH_M_S.copy()
        if place_m is not None:
            away_m = place_m - own_m
            speed_m_s = velocity_m_s + LEAD_1_S * away_m
            range_m, = np.frombuffer(info[RANGE].data, np.float32)
            is_above = math.hypot(*away_m[:2]) < 0.15 * range_m + 0.1
            speed_m_s[2] = -DOWN_M_S if is_above or range_m < BLIND_M else 0.0
            if touched is None and range_m < DOWN_M:
                touched = env.unwrapped.truth
                ends_us[0] = touched.time_us + 1e6 * STAYS_S
        if touched is not None:
            speed_m_s = np.array((*velocity_m_s[:2], -PRESS_M_S))
        observation, _, is_over, is_late, info = env.step(
            np.clip(speed_m_s / REACH_M_S, -1.0, 1.0).astype(np.float32))
    return touched, env.unwrapped.truth, info['fingerprint']


def environment(kind):
    """Return the environment: `SetPoint`, or `Px4` for the one that PX4_DIR names."""
    return gymnasium.make(
        f'px4_sim_ros.learning:px4_sim_ros/{kind}-v0', action='velocity',
        reach=tuple(REACH_M_S), observation='estimate', target_enu=(0.0, 0.0, 8.0),
        control_us=round(1e6 * CONTROL_S), limit_s=90.0, reward=reward,
        scenario=SCENARIO, topics=[TOPIC, RANGE])


if __name__ == '__main__':
    with environment('Px4' if 'px4' in sys.argv[1:] else 'SetPoint') as made:
        begin, end, fingerprint = land(made)
    assert begin is not None, 'it has not found the ship'
    for what, truth in ('touched the deck', begin), (f'{STAYS_S:g} s later', end):
        print(f'{what}: {truth.time_us / 1e6:.2f} s, {truth.position_enu[0]:.2f} m east,'
              f' {truth.position_enu[1]:.2f} m north, {truth.position_enu[2]:.2f} m up')
    print(f'fingerprint {fingerprint}')
