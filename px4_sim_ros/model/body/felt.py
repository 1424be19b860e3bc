# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What an IMU at the centre of mass reads at the end of a step, compiled with the motion."""
from __future__ import annotations

import numpy as np

from px4_sim_ros.jit.compiled import compiled
from px4_sim_ros.model import rotation
from px4_sim_ros.model.body.motion_memory import QW, QX, QY, QZ, WX, WY, WZ, Z
from px4_sim_ros.model.environment import gravity
from px4_sim_ros.model.sensors import imu as imu_model

# Where the numbers of an IMU begin: the noise of accelerometer and gyro, each as `VectorNoise.draw`
# returns it, then the sample: specific force (m/s^2) and rate (rad/s), FLU.
ACCEL_NOISE, GYRO_NOISE, SAMPLE, NUMBERS = 0, 6, 12, 18

NO_IMU = np.zeros(0)

_gravity_m_s2 = compiled(gravity.gravity_m_s2)
_ideal_sample = compiled(imu_model.ideal_sample)
_matrix = compiled(rotation.matrix)
_to_body = compiled(rotation.to_body)


@compiled
def feel(imu: np.ndarray, x: np.ndarray, outputs: np.ndarray, constants: np.ndarray) -> None:
    """Set the sample of an IMU from a state and its outputs.

    :param outputs: velocity, acceleration in FLU, as `motion.advance` sets them
    """
    c = constants[0]
    r = _matrix((x[QW], x[QX], x[QY], x[QZ]))
    force, rate = _ideal_sample(
        r, (outputs[0], outputs[1], outputs[2]), (outputs[3], outputs[4], outputs[5]),
        (x[WX], x[WY], x[WZ]),
        _gravity_m_s2(x[Z], c.gravity_at_home, c.gravity_per_m, c.gravity_per_m2),
        _to_body(r, (0.0, c.earth_rate_north, c.earth_rate_up)))
    for i in range(3):
        imu[SAMPLE + i] = force[i] + imu[ACCEL_NOISE + i] + imu[ACCEL_NOISE + 3 + i]
        imu[SAMPLE + 3 + i] = rate[i] + imu[GYRO_NOISE + i] + imu[GYRO_NOISE + 3 + i]
