# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Motor commands from PX4's set points of thrust and torque, as its control allocation makes them.

A log has set points more often than motors. The matrix is the pseudo-inverse of the rotors'
effectiveness with PX4's normalisation: a roll or pitch set point of 1 moves the motors by the root
of twice the mean square of its column, one of yaw the motor that moves most by 1, one of thrust
all by 1 on average (PX4, modules/control_allocator, ControlAllocationPseudoInverse). What a motor
cannot do is cut off; PX4 gives it to others first, which matters near full and no thrust only.
"""
from __future__ import annotations

import typing

import numpy as np

from px4_sim_ros.model.vehicle.vehicle import MOST_ROTORS

_ROLL, _PITCH, _YAW, _FIRST_FORCE = 0, 1, 2, 3
_TINY = 1e-3                   # PX4 takes less for nothing
_IDLE = 1e-6
_KEYS = 'PX', 'PY', 'PZ', 'AX', 'AY', 'AZ', 'CT', 'KM'


def mixer(parameters: typing.Mapping[str, float]) -> np.ndarray | None:
    """Return motors / (roll, pitch, yaw, x, y, z) set points, (rotors, 6); None if not known.

    :param parameters: PX4's `CA_ROTOR...`, of which a log has those that its PX4 uses: none before
        PX4 1.13, no axes of the rotors of a plane
    """
    count = int(parameters.get('CA_ROTOR_COUNT', 0))
    if not 0 < count <= MOST_ROTORS or any(f'CA_ROTOR{i}_{key}' not in parameters
                        for i in range(count) for key in _KEYS):
        return None
    effects = np.zeros((6, count))
    for i in range(count):
        position, along = (np.array([parameters[f'CA_ROTOR{i}_{kind}{k}'] for k in 'XYZ'])
                           for kind in 'PA')
        length = np.linalg.norm(along)
        if length == 0.0:
            return None
        along = along / length
        thrust = parameters[f'CA_ROTOR{i}_CT']
        spin = parameters[f'CA_ROTOR{i}_KM']
        effects[:3, i] = thrust * (np.cross(position, along) - spin * along)
        effects[3:, i] = thrust * along
    mix = np.linalg.pinv(effects)
    scale = max(_spread(mix[:, _ROLL]), _spread(mix[:, _PITCH]))
    if scale > 0.0:
        mix[:, :_YAW] /= scale
    if mix[:, _YAW].max() > 0.0:
        mix[:, _YAW] /= mix[:, _YAW].max()
    moved = np.abs(mix[:, _FIRST_FORCE:])
    for axis, column in enumerate(moved.T, _FIRST_FORCE):
        if (column > _IDLE).any():
            mix[:, axis] /= column.sum() / (column > _IDLE).sum()
    mix[np.abs(mix) < _TINY] = 0.0
    return mix


def _spread(column: np.ndarray) -> float:
    """Return the root of twice the mean square of what a set point moves."""
    moved = int((np.abs(column) > _TINY).sum())
    return float(np.sqrt(np.sum(column ** 2) / (moved / 2.0))) if moved else 0.0


def motors(mix: np.ndarray, torque: np.ndarray, thrust: np.ndarray) -> np.ndarray:
    """Return motor commands 0..1 from set points in FRD, (n, rotors)."""
    found: np.ndarray = np.clip(np.concatenate((torque, thrust), axis=1) @ mix.T, 0.0, 1.0)
    return found


def thrust_model(commands: np.ndarray, factor: float) -> np.ndarray:
    """Return what PX4 sends to motors for a share of thrust, by its THR_MDL_FAC.

    It solves factor * u^2 + (1 - factor) * u = command.
    """
    if factor <= 0.0:
        return commands
    linear = 1.0 - factor
    found: np.ndarray = (np.sqrt(linear ** 2 + 4.0 * factor * commands) - linear) / (2.0 * factor)
    return found
