# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Attitudes that one can picture, tiny turns, headings and whole turns."""
from __future__ import annotations

import math

import numpy as np
import pytest
from transforms3d.axangles import axangle2mat
from transforms3d.quaternions import quat2mat

from px4_sim_ros.model import frames, rotation

HALF = math.sqrt(0.5)


@pytest.mark.parametrize(('enu_flu', 'ned_frd'), [
    ((1.0, 0.0, 0.0, 0.0), (HALF, 0.0, 0.0, HALF)),     # facing east is a heading of 90 deg
    ((HALF, 0.0, 0.0, HALF), (1.0, 0.0, 0.0, 0.0)),     # facing north is no turn at all
])
def test_attitudes_that_one_can_picture(enu_flu, ned_frd):
    """Level, facing east and north; the sign of the quaternion does not matter."""
    q = frames.quaternion_enu_flu_to_ned_frd(enu_flu)
    assert abs(np.dot(q, ned_frd)) == pytest.approx(1.0, abs=1e-15)


def test_tiny_turns_do_not_divide_by_zero():
    """A turn by |v| about v, against transforms3d."""
    v = (1e-10, 2e-10, 0.0)
    assert quat2mat(rotation.from_rotation_vector(v)) == pytest.approx(
        axangle2mat(v, math.hypot(*v)), abs=1e-15)
    assert rotation.from_rotation_vector((0.0, 0.0, 0.0)) == (1.0, 0.0, 0.0, 0.0)


def test_cross_product_and_heading():
    """The product a x b by NumPy; the heading is counter-clockwise from east, whatever the tilt."""
    assert rotation.cross((1, 2, 3), (4, 6, 5)) == tuple(np.cross((1, 2, 3), (4, 6, 5)))
    yaw = rotation.from_rotation_vector((0.0, 0.0, 0.7))
    pitch = rotation.from_rotation_vector((0.0, 0.4, 0.0))
    assert rotation.yaw_rad(rotation.multiply(yaw, pitch)) == pytest.approx(0.7, abs=1e-15)


@pytest.mark.parametrize('turns', [-3, -1, 0, 2])
def test_wrapped_angle_differs_by_whole_turns(turns):
    """The result lies within half a turn of zero."""
    assert rotation.wrap_rad(2.5 + turns * math.tau) == pytest.approx(2.5, abs=1e-14)
    assert abs(rotation.wrap_rad(3.5 + turns * math.tau)) <= math.pi
