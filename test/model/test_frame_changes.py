"""ENU/FLU to NED/FRD and back, and the quaternion arithmetic, against transforms3d."""
from __future__ import annotations

import math

import numpy as np
import pytest
from transforms3d.axangles import axangle2mat
from transforms3d.quaternions import qmult, quat2mat

from px4_sim_ros.model import frames, rotation

ENU_TO_NED = np.array([[0, 1, 0], [1, 0, 0], [0, 0, -1]])
FLU_TO_FRD = np.diag([1, -1, -1])
HALF = math.sqrt(0.5)


def random_quaternions(count=20):
    """Return unit quaternions over all attitudes."""
    q = np.random.default_rng(1).standard_normal((count, 4))
    return [tuple(row.tolist()) for row in q / np.linalg.norm(q, axis=1, keepdims=True)]


def test_vectors_with_distinct_components():
    """East 1, north 2, up 3 is north 2, east 1, down -3; left 2 is right -2."""
    assert frames.enu_to_ned((1, 2, 3)) == (2, 1, -3)
    assert frames.ned_to_enu((2, 1, -3)) == (1, 2, 3)
    assert frames.flu_to_frd((1, 2, 3)) == (1, -2, -3)
    assert frames.frd_to_flu((1, -2, -3)) == (1, 2, 3)


def test_vectors_come_back_bit_for_bit():
    """A change of axes and back changes nothing at all."""
    v = (0.1, -math.pi, 1e-17)
    assert frames.ned_to_enu(frames.enu_to_ned(v)) == v
    assert frames.frd_to_flu(frames.flu_to_frd(v)) == v


@pytest.mark.parametrize('q', random_quaternions())
def test_attitude_change_is_the_product_of_rotation_matrices(q):
    """R(FRD->NED) = P(ENU->NED) R(FLU->ENU) P(FRD->FLU), by transforms3d."""
    changed = frames.quaternion_enu_flu_to_ned_frd(q)
    assert quat2mat(changed) == pytest.approx(ENU_TO_NED @ quat2mat(q) @ FLU_TO_FRD, abs=1e-14)
    assert frames.quaternion_ned_frd_to_enu_flu(changed) == pytest.approx(q, abs=1e-15)


@pytest.mark.parametrize(('enu_flu', 'ned_frd'), [
    ((1.0, 0.0, 0.0, 0.0), (HALF, 0.0, 0.0, HALF)),     # facing east is a heading of 90 deg
    ((HALF, 0.0, 0.0, HALF), (1.0, 0.0, 0.0, 0.0)),     # facing north is no turn at all
])
def test_attitudes_that_one_can_picture(enu_flu, ned_frd):
    """Level, facing east and north; the sign of the quaternion does not matter."""
    q = frames.quaternion_enu_flu_to_ned_frd(enu_flu)
    assert abs(np.dot(q, ned_frd)) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize('q', random_quaternions(5))
def test_rotation_against_transforms3d(q):
    """Matrix, product, both directions of a vector, and the inverse."""
    p, v = random_quaternions(6)[5], (1.0, 2.0, 3.0)
    matrix = rotation.matrix(q)
    assert np.reshape(matrix, (3, 3)) == pytest.approx(quat2mat(q), abs=1e-15)
    assert rotation.to_world(matrix, v) == pytest.approx(quat2mat(q) @ v, abs=1e-14)
    assert rotation.to_body(matrix, v) == pytest.approx(quat2mat(q).T @ v, abs=1e-14)
    assert rotation.multiply(p, q) == pytest.approx(qmult(p, q), abs=1e-15)
    assert rotation.multiply(q, rotation.conjugate(q)) == pytest.approx((1, 0, 0, 0), abs=1e-15)


@pytest.mark.parametrize('v', [(0.3, -0.2, 0.9), (0.0, 0.0, 3.0), (1e-10, 2e-10, 0.0)])
def test_rotation_vector_against_transforms3d(v):
    """A turn by |v| about v; tiny turns do not divide by zero."""
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
