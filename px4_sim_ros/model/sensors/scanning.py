# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Sensors that cast rays, such as a lidar or a depth camera: how they look, and err."""
from __future__ import annotations

import dataclasses
import hashlib
import math
import typing

import numpy as np

from px4_sim_ros.model.environment.ground import Ground
from px4_sim_ros.model.errors import ParameterError, within
from px4_sim_ros.model.parameters import Parameters, check_ascending, parameter
from px4_sim_ros.model.scene.rays import DISTANCE, FACING, Pose, Rays
from px4_sim_ros.model.scene.scene import Scene
from px4_sim_ros.model.sensors.mounting import MountedParameters
from px4_sim_ros.model.sensors.range_finder import MOST_RANGE_M, cone

MOST_RAYS = 1 << 20
_WHOLE_TURN_DEG = 360.0


def check_rays(owner: str, rays: int) -> None:
    """Check how many rays a sensor has, before anything is computed of each."""
    if rays > MOST_RAYS:
        raise ParameterError(f'{owner}: has {rays} rays: must be at most {MOST_RAYS}')


@dataclasses.dataclass(frozen=True)
class RayParameters(MountedParameters):
    """The same of a sensor of distances, with its errors."""

    min_range_m: float = parameter('shortest distance', 'm', minimum=0, default=0.1)
    noise_m: float = parameter(
        'standard deviation of a distance', 'm', minimum=0, maximum=100, default=0.02)
    noise_per_m: float = parameter(
        'what is added to that for each metre of distance, squared', '1/m', minimum=0, maximum=1,
        default=0.0)
    resolution_m: float = parameter(
        'distances are multiples of it; 0: any', 'm', minimum=0, maximum=10, default=0.0)
    drop_out: float = parameter(
        'how likely a ray has no answer', minimum=0, maximum=1, default=0.0)

    @classmethod
    def from_mapping(
        cls, owner: str, values: typing.Mapping[str, typing.Any],
    ) -> typing.Self:
        """Build and validate; the shortest distance must be below the longest."""
        built = super().from_mapping(owner, values)
        check_ascending(owner, built, 'min_range_m', 'max_range_m')
        return built


@dataclasses.dataclass(frozen=True)
class RangeParameters(RayParameters):
    """A range finder, whose axis is x: what is nearest within a cone."""

    max_range_m: float = parameter(
        'longest distance', 'm', above=0, maximum=MOST_RANGE_M, default=40.0)
    field_of_view_deg: float = parameter(
        'full angle of the cone', 'deg', minimum=0, maximum=90, default=0.0)
    to_autopilot: bool = parameter('whether the autopilot gets it', default=False)

    @property
    def directions(self) -> np.ndarray:
        """Of its rays, (rays, 3), FLU."""
        return cone((1.0, 0.0, 0.0), 0.5 * math.radians(self.field_of_view_deg))


@dataclasses.dataclass(frozen=True)
class SectorParameters(Parameters):
    """What is made of a scan."""

    to_autopilot: bool = parameter(
        'whether the autopilot gets the nearest in each of eight sectors', default=False)


@dataclasses.dataclass(frozen=True)
class ScanParameters(RayParameters, SectorParameters):
    """What a lidar with one line looks at, which turns about its z axis."""

    columns: int = parameter('in how many directions it looks in a scan', minimum=1,
                             maximum=MOST_RAYS, default=720)
    field_of_view_deg: float = parameter(
        'angle of a scan, about forwards', 'deg', above=0, maximum=_WHOLE_TURN_DEG,
        default=_WHOLE_TURN_DEG)
    moves: bool = parameter(
        'whether it moves with the vehicle in a scan; else all of it is at its end', default=True)

    @classmethod
    def from_mapping(
        cls, owner: str, values: typing.Mapping[str, typing.Any],
    ) -> typing.Self:
        """Build and validate; it must not have too many rays."""
        built = super().from_mapping(owner, values)
        check_rays(owner, built.columns * len(built.elevations_rad))
        return built

    @property
    def step_rad(self) -> float:
        """From a column to the next; those of a whole turn are equally far apart."""
        gaps = self.columns if self.field_of_view_deg == _WHOLE_TURN_DEG else self.columns - 1
        return math.radians(self.field_of_view_deg) / max(1, gaps)

    @property
    def first_rad(self) -> float:
        """The azimuth of the first column, positive to the left."""
        return -0.5 * math.radians(self.field_of_view_deg) if self.columns > 1 else 0.0

    @property
    def elevations_rad(self) -> list[float]:
        """Of the lines."""
        return [0.0]

    @property
    def directions(self) -> np.ndarray:
        """Column by column and upwards, (rays, 3), FLU."""
        lines = [(math.cos(up), math.sin(up)) for up in self.elevations_rad]
        found = []
        for i in range(self.columns):
            azimuth = self.first_rad + self.step_rad * i
            x, y = math.cos(azimuth), math.sin(azimuth)
            found += [(flat * x, flat * y, up) for flat, up in lines]
        return np.array(found)


@dataclasses.dataclass(frozen=True)
class LidarParameters(ScanParameters):
    """The same of a lidar with several lines."""

    columns: int = parameter('in how many directions it looks in a scan', minimum=1,
                             maximum=MOST_RAYS, default=1800)
    lines: int = parameter('how many rays it has in each of them', minimum=1, maximum=256,
                           default=16)
    lowest_deg: float = parameter(
        'elevation of the lowest line', 'deg', minimum=-90, maximum=90, default=-15.0)
    highest_deg: float = parameter(
        'elevation of the highest line', 'deg', minimum=-90, maximum=90, default=15.0)

    @property
    def elevations_rad(self) -> list[float]:
        """Of the lines, the lowest first."""
        gap = (self.highest_deg - self.lowest_deg) / max(1, self.lines - 1)
        return [math.radians(self.lowest_deg + gap * i) for i in range(self.lines)]


@dataclasses.dataclass(frozen=True)
class PinholeParameters(Parameters):
    """What a camera looks at."""

    width: int = parameter('pixels of a row', minimum=1, maximum=4096, default=320)
    height: int = parameter('rows', minimum=1, maximum=4096, default=240)
    field_of_view_deg: float = parameter(
        'angle from the left edge of the image to the right', 'deg', above=0, maximum=170,
        default=87.0)

    @classmethod
    def from_mapping(
        cls, owner: str, values: typing.Mapping[str, typing.Any],
    ) -> typing.Self:
        """Build and validate; it must not have too many pixels."""
        built = super().from_mapping(owner, values)
        check_rays(owner, built.width * built.height)
        return built

    @property
    def focal_px(self) -> float:
        """The focal length in pixels."""
        return 0.5 * self.width / math.tan(0.5 * math.radians(self.field_of_view_deg))

    @property
    def middle_px(self) -> tuple[float, float]:
        """Where the optical axis is; the middle of the first pixel is (0, 0)."""
        return 0.5 * (self.width - 1), 0.5 * (self.height - 1)

    @property
    def slopes(self) -> np.ndarray:
        """Of the pixels, row by row: forwards 1, left and up, (pixels, 3), FLU."""
        (u, v), f = self.middle_px, self.focal_px
        left, up = np.meshgrid((u - np.arange(self.width)) / f, (v - np.arange(self.height)) / f)
        return np.stack([np.ones_like(left), left, up], axis=-1).reshape(-1, 3)


@dataclasses.dataclass(frozen=True)
class CameraParameters(RayParameters, PinholeParameters):
    """A depth camera: a pinhole, without distortion."""


@dataclasses.dataclass(frozen=True)
class DepthScanParameters(CameraParameters, SectorParameters):
    """A depth camera that is made into a scan."""

    rows: int = parameter('how many rows are looked at, those in the middle', minimum=1,
                          maximum=4096, default=10)


# Until the slopes of an image are those before distortion, from a guess that is near.
_ROUNDS, _NEAR = 50, 1e-9
_OF_A_LENS_THAT_BENDS_OVER = np.errstate(over='ignore', invalid='ignore')


@dataclasses.dataclass(frozen=True)
class ColourParameters(MountedParameters, PinholeParameters):
    """A camera: a pinhole, with the lens of OpenCV's model."""

    max_range_m: float = parameter(
        'how far it sees; beyond is the sky', 'm', above=0, maximum=100_000, default=1000.0)
    exposure: float = parameter(
        'by which the light is multiplied', above=0, maximum=100, default=1.0)
    noise: float = parameter(
        'standard deviation of a value, as a share of the whole scale', minimum=0, maximum=1,
        default=0.0)
    distortion: tuple[float, float, float, float, float] = parameter(
        "of the lens, OpenCV's k1, k2, p1, p2, k3", minimum=-10, maximum=10,
        default=(0.0, 0.0, 0.0, 0.0, 0.0))

    @classmethod
    def from_mapping(
        cls, owner: str, values: typing.Mapping[str, typing.Any],
    ) -> typing.Self:
        """Build and validate; the lens must not bend the edges of the image over."""
        built = super().from_mapping(owner, values)
        with within(owner):
            built.check()
        return built

    @_OF_A_LENS_THAT_BENDS_OVER
    def check(self) -> None:
        """Check that each pixel has a place before the distortion."""
        if not any(self.distortion):
            return
        seen, slopes = super().slopes, self.slopes
        u, v = self.distorted(-slopes[:, 1], -slopes[:, 2])
        if not (np.hypot(u + seen[:, 1], v + seen[:, 2]) < _NEAR).all():
            raise ParameterError(f'distortion = {list(self.distortion)}: bends the edges of the'
                                 ' image over; take a smaller one, or a smaller field of view')

    def distorted(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where slopes to the right and down are in the image, over the focal length."""
        k1, k2, p1, p2, k3 = self.distortion
        square = x * x + y * y
        radial = 1.0 + square * (k1 + square * (k2 + square * k3))
        return (x * radial + 2.0 * p1 * x * y + p2 * (square + 2.0 * x * x),
                y * radial + p1 * (square + 2.0 * y * y) + 2.0 * p2 * x * y)

    @property
    @_OF_A_LENS_THAT_BENDS_OVER
    def slopes(self) -> np.ndarray:
        """Of the pixels, as of a camera without distortion."""
        seen = super().slopes
        if not any(self.distortion):
            return seen
        right, down = -seen[:, 1], -seen[:, 2]
        x, y = right, down
        for _ in range(_ROUNDS):
            u, v = self.distorted(x, y)
            x, y = x + right - u, y + down - v
        return np.stack([np.ones_like(x), -x, -y], axis=-1)


class NoiseOfTimes:
    """Random numbers of each time: they do not depend on whether there was a measurement before."""

    def __init__(self, seed: int, name: str) -> None:
        self._seed = [seed, int.from_bytes(hashlib.sha256(name.encode()).digest()[:16], 'little')]

    def of(self, time_us: int) -> np.random.Generator:
        """Return those of a time."""
        return np.random.Generator(np.random.PCG64([*self._seed, time_us]))


class RaySensor:
    """Casts its rays from where it is mounted, and errs."""

    def __init__(
        self, name: str, parameters: RayParameters, seed: int, scene: Scene | None, plane: Ground,
        directions: np.ndarray, group: int = 0, *, is_nearest: bool = False,
    ) -> None:
        """Make ready.

        :param name: of its random numbers
        :param directions: of its rays in its own axes, (rays, 3), each of length 1
        :param group: so many of them, one after the other, are close together; 0: none
        :param is_nearest: whether it measures one distance, that of what is nearest
        """
        p = self._parameters = parameters
        # Beyond what it sees noise may take a distance into it, and the other way.
        far_m = p.max_range_m + 6.0 * self.deviation_m(p.max_range_m)
        self._rays = Rays(scene, plane, directions, far_m, group)
        self._is_nearest = is_nearest
        self._noise = NoiseOfTimes(seed, name)

    def deviation_m(self, distance_m: typing.Any) -> typing.Any:
        """Return the standard deviation at a distance."""
        p = self._parameters
        if not p.noise_per_m:
            return p.noise_m
        return p.noise_m + p.noise_per_m * distance_m * distance_m

    def measure(
        self, pose: Pose, turns: int = 1, duration_s: float = 0.0,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the distance of each ray (m), and the cosine at which it meets what is there.

        A distance beyond the limits is infinite, as REP-117 has it; one that is missing is NaN.
        """
        p = self._parameters
        found = self._rays.cast(pose, turns, duration_s)
        if self._is_nearest:
            found = found[[found[:, DISTANCE].argmin()]]
        noise = self._noise.of(pose.time_us)
        distance = found[:, DISTANCE].copy()
        if p.noise_m or p.noise_per_m:
            distance += noise.standard_normal(len(found)) * self.deviation_m(
                np.minimum(distance, p.max_range_m))
        if p.resolution_m:
            distance = np.round(distance / p.resolution_m) * p.resolution_m
        distance[distance > p.max_range_m] = math.inf
        distance[distance < p.min_range_m] = -math.inf
        if p.drop_out:
            distance[noise.random(len(found)) < p.drop_out] = math.nan
        return distance, found[:, FACING]
