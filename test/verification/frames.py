# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Changes of axes and rotations, against numbers written out and transforms3d."""
from __future__ import annotations

import itertools
import math

import numpy as np
from transforms3d.axangles import axangle2mat
from transforms3d.quaternions import qmult, quat2mat

from px4_sim_ros.model import frames, rotation
from verification.checks import check

ENU_TO_NED = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
FLU_TO_FRD = np.diag([1.0, -1.0, -1.0])


def unit_quaternions(count=50):
    """Return unit quaternions over all attitudes."""
    q = np.random.default_rng(1).standard_normal((count, 4))
    return [tuple(row) for row in (q / np.linalg.norm(q, axis=1, keepdims=True)).tolist()]


@check(
    'axes of a vector', model='ENU to NED, FLU to FRD',
    reference='REP-103: (1, 2, 3) is (2, 1, -3) and (1, -2, -3)', tolerance=0, unit='components')
def axes_of_a_vector():
    """Count the components that are wrong."""
    pairs = [
        (frames.enu_to_ned((1, 2, 3)), (2, 1, -3)), (frames.ned_to_enu((2, 1, -3)), (1, 2, 3)),
        (frames.flu_to_frd((1, 2, 3)), (1, -2, -3)), (frames.frd_to_flu((1, -2, -3)), (1, 2, 3))]
    return sum(a != b for got, expected in pairs for a, b in zip(got, expected))


@check(
    'round trip of a vector', model='ENU to NED and FLU to FRD, and back',
    reference='the vector itself, bit by bit', tolerance=0, unit='components')
def round_trip_of_a_vector():
    """Count the components that come back changed."""
    vectors = np.random.default_rng(2).standard_normal((100, 3)) * 10.0 ** np.arange(-9, 9, 6)
    wrong = 0
    for v in map(tuple, vectors.tolist()):
        for back in (frames.ned_to_enu(frames.enu_to_ned(v)),
                     frames.frd_to_flu(frames.flu_to_frd(v))):
            wrong += sum(a != b for a, b in zip(back, v))
    return wrong


@check(
    'axes of an attitude', model='quaternion of FLU in ENU to FRD in NED',
    reference='product of the rotation matrices, by transforms3d', tolerance=1e-14, unit='1')
def axes_of_an_attitude():
    """Return the largest difference of a matrix element."""
    return np.max([
        np.abs(quat2mat(frames.quaternion_enu_flu_to_ned_frd(q))
               - ENU_TO_NED @ quat2mat(q) @ FLU_TO_FRD)
        for q in unit_quaternions()])


@check(
    'round trip of an attitude', model='quaternion of FLU in ENU to FRD in NED, and back',
    reference='the quaternion itself; the factor sqrt(1/2) is rounded', tolerance=1e-15, unit='1')
def round_trip_of_an_attitude():
    """Return the largest difference of a component."""
    return np.max([
        abs(a - b) for q in unit_quaternions()
        for a, b in zip(q, frames.quaternion_enu_flu_to_ned_frd(
            frames.quaternion_enu_flu_to_ned_frd(q)))])


@check(
    'rotations', model='matrix, product, inverse, turned vectors, rotation vector',
    reference='transforms3d 0.4', tolerance=1e-15, unit='1')
def rotations():
    """Return the largest difference over random attitudes and a unit vector."""
    v, worst = (2.0 / 7.0, 3.0 / 7.0, 6.0 / 7.0), 0.0
    quaternions = unit_quaternions()
    for p, q in itertools.pairwise(quaternions):
        matrix = rotation.matrix(q)
        turn = tuple(3.0 * a for a in p[1:])
        for got, expected in (
                (np.reshape(matrix, (3, 3)), quat2mat(q)),
                (rotation.to_world(matrix, v), quat2mat(q) @ v),
                (rotation.to_body(matrix, v), quat2mat(q).T @ v),
                (rotation.multiply(p, q), qmult(p, q)),
                (rotation.multiply(q, rotation.conjugate(q)), (1.0, 0.0, 0.0, 0.0)),
                (np.reshape(rotation.matrix(rotation.from_rotation_vector(turn)), (3, 3)),
                 axangle2mat(turn, math.hypot(*turn)))):
            worst = np.maximum(worst, np.abs(np.subtract(got, expected)).max())
    return worst
