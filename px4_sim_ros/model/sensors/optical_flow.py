# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Optical flow: how fast the ground, a plane, seems to turn about a camera that looks down."""
from __future__ import annotations

import dataclasses
import math
import typing

import numpy as np

from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.parameters import Parameters, check_ascending, parameter
from px4_sim_ros.model.random_streams import NormalStream
from px4_sim_ros.model.scene.rays import DISTANCE, Pose, Rays
from px4_sim_ros.model.sensors.mounting import plane_along_m, velocity_flu
from px4_sim_ros.model.truth import STILL, SensorInputs, Truth
from px4_sim_ros.model.world import WorldParameters

if typing.TYPE_CHECKING:
    from px4_sim_ros.model.scene.scene import Scene

_NO_FLOW = (math.nan, math.nan, 0.0)
_AXIS: Vector = (0.0, 0.0, -1.0)


@dataclasses.dataclass(frozen=True)
class OpticalFlowParameters(Parameters):
    """Where the camera is, what it can follow, and its noise."""

    position_m: tuple[float, float, float] = parameter(
        'place relative to the centre of mass, FLU', 'm', minimum=-100, maximum=100)
    min_distance_m: float = parameter('shortest distance along the axis', 'm', above=0)
    max_distance_m: float = parameter('longest distance along the axis', 'm', above=0)
    max_rate_rad_s: float = parameter('fastest flow', 'rad/s', above=0)
    noise_rad_s: float = parameter('standard deviation of a sample', 'rad/s', minimum=0)

    @classmethod
    def from_mapping(
        cls, owner: str, values: typing.Mapping[str, typing.Any],
    ) -> OpticalFlowParameters:
        """Build and validate; the shortest distance must be below the longest."""
        built = super().from_mapping(owner, values)
        check_ascending(owner, built, 'min_distance_m', 'max_distance_m')
        return built


class FlowMeasurement(typing.NamedTuple):
    """The mean flow over the last period, body FLU; NaN about x and y when it is not valid.

    It is the rate at which the camera would have to turn for what it sees: positive in the
    right-handed sense, about z always 0.
    """

    time_us: int
    rate_flu: Vector
    period_us: int


class OpticalFlow:
    """The sensor: the optical axis is body -z.

    In camera axes a point of the ground that is d ahead on the optical axis moves with
    -v - w x (0, 0, -d), and its image with that over d. So the flow is (wx + vy/d, wy - vx/d)
    in FLU for every tilt, with the velocity v of the camera and d = height / cos(tilt). It is
    what MAVLink and PX4 define: (wx - vy/d, wy + vx/d) in FRD.
    """

    def __init__(
        self, name: str, parameters: OpticalFlowParameters, world: WorldParameters,
    ) -> None:
        self._parameters = parameters
        self._ground = world.ground()
        self._period_us = world.period_us(name)
        self._stream = NormalStream(world.seed, name)
        self._last: tuple[float, float] | None = None
        self._rays: Rays | None = None

    def see(self, scene: Scene) -> None:
        """Look at what stands in the world: the flow is that where the optical axis meets it."""
        self._rays = Rays(
            scene, self._ground, np.array([_AXIS]), self._parameters.max_distance_m)

    def measure(self, truth: Truth, inputs: SensorInputs = STILL) -> FlowMeasurement:
        """Return the mean over the period that ends at the truth's time.

        It is the mean of the flow at both ends, so that it fits the gyro that an autopilot
        integrates over the same period. The first sample has only one end.
        """
        p = self._parameters
        last, self._last = self._last, self._flow(truth)
        noise_x, noise_y = self._stream.next(), self._stream.next()
        rate = _NO_FLOW
        if self._last is not None:
            x, y = self._last
            if last is not None:
                x, y = 0.5 * (x + last[0]), 0.5 * (y + last[1])
            x, y = x + p.noise_rad_s * noise_x, y + p.noise_rad_s * noise_y
            if math.hypot(x, y) <= p.max_rate_rad_s:
                rate = x, y, 0.0
        return FlowMeasurement(truth.time_us, rate, self._period_us)

    def skip(self, samples: int) -> None:
        """Skip samples: the noise advances as if they had been measured."""
        self._stream.skip(2 * samples)

    def _flow(self, truth: Truth) -> tuple[float, float] | None:
        """Return the flow about x and y now, or None when the ground cannot be seen."""
        p = self._parameters
        if self._rays is None:
            distance = plane_along_m(self._ground, truth, p.position_m, _AXIS)
        else:
            found = self._rays.cast(Pose.on_body(truth, p.position_m))
            distance = float(found[0, DISTANCE])
        if not p.min_distance_m <= distance <= p.max_distance_m:
            return None
        vx, vy, _ = velocity_flu(truth, p.position_m)
        wx, wy, _ = truth.rate_flu
        return wx + vy / distance, wy - vx / distance
