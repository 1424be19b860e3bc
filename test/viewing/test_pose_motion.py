# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Motion from poses: against a motion in closed form, in portions as in one piece."""
import itertools

import numpy as np
import pytest

from px4_sim_ros.recording.analysis.series import Series
from px4_sim_ros.viewing.markers import PoseMotion

PERIOD_S, TURN_RAD_S, RADIUS_M = 0.04, 0.7, 3.0


def circle(count):
    """Return poses on a level circle, the nose along the path."""
    time_s = PERIOD_S * np.arange(count)
    angle = TURN_RAD_S * time_s
    position = np.stack([RADIUS_M * np.sin(angle), -RADIUS_M * np.cos(angle), 0.0 * angle], axis=1)
    zero = 0.0 * angle
    attitude = np.stack([np.cos(angle / 2), zero, zero, np.sin(angle / 2)], axis=1)
    attitude[count // 2:] *= -1.0         # the same attitude with the other sign
    return {'position_m': Series(time_s, position), 'attitude_wxyz': Series(time_s, attitude)}


def part(poses, first, last):
    return {name: Series(s.time_s[first:last], s.values[first:last]) for name, s in poses.items()}


def test_a_circle_has_its_speed_its_turn_and_its_acceleration():
    found = PoseMotion().of(circle(200))
    odom, accel = found['ground_truth/odom'], found['ground_truth/accel']
    assert odom['velocity_m_s'].values == pytest.approx(
        np.tile([TURN_RAD_S * RADIUS_M, 0.0, 0.0], (196, 1)), abs=2e-3)
    assert odom['rate_rad_s'].values == pytest.approx(
        np.tile([0.0, 0.0, TURN_RAD_S], (196, 1)), abs=1e-3)
    # To the centre, which is on the left.
    assert accel['acceleration_m_s2'].values == pytest.approx(
        np.tile([0.0, TURN_RAD_S**2 * RADIUS_M, 0.0], (196, 1)), abs=2e-3)
    assert accel['angular_acceleration_rad_s2'].values == pytest.approx(
        np.zeros((196, 3)), abs=1e-3)


def test_portions_give_the_same_as_one_piece():
    poses = circle(200)
    whole = PoseMotion().of(poses)
    motion = PoseMotion()
    cuts = 0, 1, 3, 60, 62, 200
    pieces = [motion.of(part(poses, a, b)) for a, b in itertools.pairwise(cuts)]
    for topic, fields in whole.items():
        for name, series in fields.items():
            joined = [piece[topic][name] for piece in pieces if piece]
            assert np.concatenate([s.time_s for s in joined]) == pytest.approx(series.time_s)
            values = np.concatenate([s.values for s in joined])
            if name == 'attitude_wxyz':       # a sign may begin anew
                values *= np.sign(np.sum(values * series.values, axis=1, keepdims=True))
            assert values == pytest.approx(series.values, abs=1e-12)


def test_too_few_poses_give_nothing():
    assert PoseMotion().of(circle(4)) == {}
