# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where the numbers are that change in a step of the motion.

The state is an array: position (m) and velocity (m/s) in ENU, attitude (w, x, y, z), body rate
(rad/s) in FLU, rotor speeds (rad/s), speeds of the wheels' motors (rad/s), angles of the servos
(rad), then for each pack of the battery its charge (0..1) and its polarisation voltage (V).
"""
from __future__ import annotations

import functools
import struct
import typing

import numpy as np

from px4_sim_ros.model.body.integrators import WORK_ROWS
from px4_sim_ros.model.body.plant import Plant
from px4_sim_ros.model.body.wheel_motion import ROWS, wheel_count

# Indices of the state; from ROTORS on there are the rotor speeds, the actuators, then the packs.
X, Y, Z, VX, VY, VZ, QW, QX, QY, QZ, WX, WY, WZ, ROTORS = range(14)
POSITION, VELOCITY = slice(X, VX), slice(VX, QW)
ATTITUDE, RATE = slice(QW, WX), slice(WX, ROTORS)

# Indices of the outputs: velocity, acceleration and angular acceleration in FLU, then these, then
# the current out of each pack.
BUS_VOLTAGE, BUS_CURRENT, IN_VORTEX_RING, OUTPUTS = range(9, 13)


class HeldInputs(typing.NamedTuple):
    """Inputs that are held over a step."""

    references: np.ndarray         # (rotors + actuators,), of rotors as at nominal voltage
    wind_enu: np.ndarray           # (3,), m/s
    force_enu: np.ndarray          # (3,), N, on the centre of mass, added to all others
    anchors: np.ndarray            # (feet, 2), m, where feet hold on to the ground
    touches: np.ndarray            # of `no_touches`: what feet hold on to in a scene


class Memory:
    """One array of all that changes in a step: a compiled function is soon given it.

    It begins with what holds over the step (wind in m/s, force in N, references), which the state
    follows, the angles of the rotors (rad), and the outputs: motion and battery in that state, as
    far as they are not in the state itself. At the end are the wheels, see `wheel_motion`.
    """

    def __init__(self, plant: Plant) -> None:
        """Begin with zeros."""
        self.state_at, self.angles_at, self.outputs_at = layout(
            len(plant.rotors), len(plant.actuators), len(plant.packs))
        self.wheels_at = self.outputs_at + OUTPUTS + len(plant.packs)
        self.all = np.zeros(self.wheels_at + ROWS * wheel_count(plant.feet))
        self.inputs, self.state = self.all[:self.state_at], self.all[self.state_at:self.angles_at]
        self.rotor_angles_rad = self.all[self.angles_at:self.outputs_at]
        self.pack_currents_a = self.all[self.outputs_at + OUTPUTS:self.wheels_at]
        self.work = np.zeros((WORK_ROWS, len(self.state)))
        self.hold: typing.Callable[..., None] = functools.partial(
            struct.Struct(f'{self.state_at}d').pack_into, self.all.data, 0)
        """Sets all that holds over the step, given as numbers."""
        self.numbers: typing.Callable[[], tuple[float, ...]] = functools.partial(
            struct.Struct(f'{len(self.all) - self.state_at}d').unpack_from, self.all.data,
            self.all.itemsize * self.state_at)
        """Returns the state and all that follows it."""


def layout(rotors: int, actuators: int, packs: int) -> tuple[int, int, int]:
    """Return where in a `Memory` state, angles and outputs begin, by how many there are of each."""
    state_at = 6 + rotors + actuators
    angles_at = state_at + ROTORS + rotors + actuators + 2 * packs
    return state_at, angles_at, angles_at + rotors
