# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An instrument as it is mounted: how it is turned, how high it is and how it moves."""
from __future__ import annotations

import dataclasses
import math
import typing

from px4_sim_ros.model.environment.ground import Ground
from px4_sim_ros.model.errors import ParameterError, did_you_mean, shown
from px4_sim_ros.model.frames import Quaternion, Vector
from px4_sim_ros.model.own_blocks import OwnBlockRow
from px4_sim_ros.model.parameters import Parameters, parameter
from px4_sim_ros.model.rotation import (
    cross,
    from_rotation_vector,
    matrix,
    multiply,
    to_world,
)
from px4_sim_ros.model.truth import Truth

if typing.TYPE_CHECKING:
    from px4_sim_ros.model.vehicle.vehicle import Vehicle


def mounting_rotation(roll_pitch_yaw_deg: Vector) -> Quaternion:
    """Return the rotation from sensor into body axes: first roll, then pitch, then yaw."""
    roll, pitch, yaw = (math.radians(angle) for angle in roll_pitch_yaw_deg)
    return multiply(
        from_rotation_vector((0.0, 0.0, yaw)),
        multiply(from_rotation_vector((0.0, pitch, 0.0)), from_rotation_vector((roll, 0.0, 0.0))))


@dataclasses.dataclass(frozen=True)
class MountedParameters(Parameters):
    """Where a sensor is, and how far it sees."""

    position_m: Vector = parameter(
        'place relative to the centre of mass, FLU', 'm', minimum=-100, maximum=100,
        default=(0.0, 0.0, 0.0))
    mounting_deg: Vector = parameter(
        'how it is turned in the body: roll, then pitch, then yaw', 'deg', minimum=-360,
        maximum=360, default=(0.0, 0.0, 0.0))
    frame: str = parameter('of its messages; without it the name of the block gives one',
                           default='')
    max_range_m: float = parameter('longest distance', 'm', above=0, maximum=10_000, default=100.0)

    gimbal_roll: str = parameter(
        'the servo that turns it last, about its own axis, to the right', default='')
    gimbal_pitch: str = parameter('the servo that turns it up', default='')
    gimbal_yaw: str = parameter('the servo that turns it first, to the right', default='')

    @property
    def gimbal(self) -> tuple[str, str, str]:
        """Its servos for roll, pitch and yaw, as MAVLink counts these; '' for none.

        Their axes meet at the place of the sensor.
        """
        return self.gimbal_roll, self.gimbal_pitch, self.gimbal_yaw

    def mounting(self, angles_rad: Vector) -> Quaternion:
        """Return its rotation in the body with roll, pitch and yaw of its gimbal."""
        roll, pitch, yaw = map(math.degrees, angles_rad)
        return multiply(mounting_rotation((roll, -pitch, -yaw)),
                        mounting_rotation(self.mounting_deg))


class Mounting:
    """How a sensor is turned in the body: fixed, or by the servos of its gimbal."""

    def __init__(self, owner: str, parameters: MountedParameters, vehicle: Vehicle) -> None:
        """Find its servos.

        :param owner: what to call it in an error sentence
        :raises ParameterError: the vehicle has no such servo
        """
        names = [servo.name for servo in vehicle.servos]
        for axis, name in zip(('roll', 'pitch', 'yaw'), parameters.gimbal):
            if name and name not in names:
                raise ParameterError(
                    f'{owner}: gimbal_{axis} = {shown(name)}: must be a servo of {vehicle.name}:'
                    f' {", ".join(names)}{did_you_mean(name, names)}')
        self._parameters = parameters
        self._servos = [names.index(name) if name else -1 for name in parameters.gimbal]
        self.is_gimbal = any(parameters.gimbal)
        self._at_rest = parameters.mounting((0.0, 0.0, 0.0))

    @classmethod
    def of_block(cls, row: OwnBlockRow, vehicle: Vehicle) -> typing.Self:
        """Return that of a block of the package; any other looks ahead."""
        names = {field.name for field in dataclasses.fields(MountedParameters)}
        return cls(f'block {row.name}', MountedParameters.from_mapping('', {
            name: value for name, value in row.parameters.items()
            if name in names and row.is_of_package}), vehicle)

    def at(self, truth: Truth) -> Quaternion:
        """Return its rotation into axes of the body."""
        if not self.is_gimbal:
            return self._at_rest
        roll, pitch, yaw = (truth.servo_angles_rad[i] if i >= 0 else 0.0 for i in self._servos)
        return self._parameters.mounting((roll, pitch, yaw))


def velocity_flu(truth: Truth, position_m: Vector) -> Vector:
    """Return the velocity of a place on the body: v + w x r, in FLU."""
    x, y, z = cross(truth.rate_flu, position_m)
    vx, vy, vz = truth.velocity_flu
    return vx + x, vy + y, vz + z


def height_m(truth: Truth, rotation: tuple[float, ...], position_m: Vector) -> float:
    """Return how high a place on the body is above home; `rotation` is that of the attitude."""
    x, y, z = position_m
    return truth.position_enu[2] + rotation[6] * x + rotation[7] * y + rotation[8] * z


def plane_along_m(
    ground: Ground, truth: Truth, position_m: Vector, axis: Vector, half_angle_rad: float = 0.0,
) -> float:
    """Return how far ground that is a plane is along an axis of the body, or within a cone, m.

    :param position_m: from where it is seen, FLU
    :param axis: FLU, of length 1
    :param half_angle_rad: of the cone about it
    """
    truth = ground.seen(truth)
    rotation = matrix(truth.attitude)
    off_nadir_rad = math.acos(min(1.0, max(-1.0, -to_world(rotation, axis)[2])))
    return distance_to_ground_m(
        height_m(truth, rotation, position_m), max(0.0, off_nadir_rad - half_angle_rad))


def distance_to_ground_m(height: float, off_nadir_rad: float) -> float:
    """Return how far the ground at height 0 is along a ray, or infinity; negative below it.

    :param off_nadir_rad: the angle between the ray and straight down
    """
    if off_nadir_rad >= math.pi / 2.0:
        return math.inf
    return height / math.cos(off_nadir_rad)
