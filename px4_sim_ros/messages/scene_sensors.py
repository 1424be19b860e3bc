# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Sensors that see the scene, for the section `blocks` of a vehicle: lidars and cameras."""
from __future__ import annotations

import array
import dataclasses
import itertools
import math
import typing

import numpy as np
from sensor_msgs.msg import CameraInfo, Image, LaserScan, PointCloud2, PointField, Range

from px4_sim_ros.messages.own_block import OwnBlock
from px4_sim_ros.model.frames import Quaternion, Vector
from px4_sim_ros.model.own_blocks import OwnBlockRow
from px4_sim_ros.model.rotation import conjugate, multiply, rotation_vector, scaled, total
from px4_sim_ros.model.scene.colours import Eye
from px4_sim_ros.model.scene.rays import Pose
from px4_sim_ros.model.sensors.mounting import MountedParameters, Mounting
from px4_sim_ros.model.sensors.scanning import (
    CameraParameters,
    ColourParameters,
    DepthScanParameters,
    LidarParameters,
    NoiseOfTimes,
    RangeParameters,
    RaySensor,
    ScanParameters,
)
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.step.block import BlockConfiguration, Inputs
from px4_sim_ros.step.graph import JOINTS

_TRUTH = 'ground_truth/odom'
_GROUP = 40                    # of pixels, at most
_FORMS = {'x': '<f4', 'y': '<f4', 'z': '<f4', 'intensity': '<f4', 'ring': '<u2', 'time': '<f4'}
"""As drivers of lidars with lines have it: the time is from the begin of the scan on."""
_POINT = np.dtype(list(_FORMS.items()))
_OFFSETS = dict(zip(_FORMS, itertools.accumulate(
    (np.dtype(form).itemsize for form in _FORMS.values()), initial=0)))
_POINT_FIELDS = [
    PointField(name=name, offset=_OFFSETS[name], count=1,
               datatype=PointField.UINT16 if name == 'ring' else PointField.FLOAT32)
    for name in _FORMS]


def _floats(numbers: np.ndarray) -> array.array[float]:
    return array.array('f', numbers.astype('<f4').tobytes())


class SceneSensor(OwnBlock):
    """Base of those below: parameters with bounds."""

    kind: typing.ClassVar[type[MountedParameters]]
    axes: typing.ClassVar[Quaternion] = (1.0, 0.0, 0.0, 0.0)
    """Turns the axes of its frame into forwards, left and up."""

    def __init_subclass__(cls) -> None:
        cls.defaults = {field.name: field.default for field in dataclasses.fields(cls.kind)}

    def __init__(self, configuration: BlockConfiguration[typing.Any]) -> None:
        super().__init__(configuration)
        self.values: typing.Any = self.kind.from_mapping('', self.parameters)
        self._frame = self.values.frame or self._name_of_frame(configuration.name)
        self._mounting = Mounting(
            f'block {configuration.name}', self.values, configuration.vehicle)

    @staticmethod
    def _name_of_frame(name: str) -> str:
        return f'{name}_link'

    @classmethod
    def checked(
        cls, owner: str, given: typing.Mapping[str, typing.Any],
    ) -> dict[str, typing.Any]:
        """Return all parameters, within their bounds."""
        found = super().checked(owner, given)
        cls.kind.from_mapping(owner, found)
        return found

    @classmethod
    def row(
        cls, name: str, path: str, given: typing.Mapping[str, typing.Any],
    ) -> OwnBlockRow:
        """Return its row in the graph; on a gimbal it needs the angles of servos."""
        found = super().row(name, path, given)
        values: typing.Any = cls.kind.from_mapping('', cls.checked(name, found.parameters))
        return found._replace(inputs=(*found.inputs, JOINTS)) if any(values.gimbal) else found

    def reset(self) -> None:
        """Begin with a gimbal that has not turned."""
        super().reset()
        self._before: Quaternion | None = None

    def _pose(self, inputs: Inputs) -> Pose:
        """Return where it is and how it moves, its gimbal as since the measurement before."""
        truth = inputs[_TRUTH]
        mounted = self._mounting.at(truth)
        found = Pose.on_body(truth, self.values.position_m, mounted)
        if not self._mounting.is_gimbal:
            return found
        turned = rotation_vector(multiply(conjugate(self._before or mounted), mounted))
        self._before = mounted
        return found._replace(rate=total(found.rate, scaled(1.0 / self._duration_s, turned)))

    @property
    def _duration_s(self) -> float:
        return self.configuration.world.period_us(self.configuration.name) / US_PER_S

    def _laser_scan(
        self, first_rad: float, step_rad: float, ranges: np.ndarray, **more: typing.Any,
    ) -> LaserScan:
        p = self.values
        message = LaserScan(
            angle_min=first_rad, angle_max=first_rad + step_rad * (len(ranges) - 1),
            angle_increment=step_rad, scan_time=self._duration_s, range_min=p.min_range_m,
            range_max=p.max_range_m, ranges=_floats(ranges), **more)
        message.header.frame_id = self._frame
        return message

    def _sensor(
        self, directions: np.ndarray, group: int = 0, *, is_nearest: bool = False,
    ) -> RaySensor:
        c = self.configuration
        return RaySensor(f'block {c.name}', self.values, c.world.seed, c.scene, c.world.ground(),
                         directions, group, is_nearest=is_nearest)


def frame_of(row: OwnBlockRow) -> tuple[str, Vector, Quaternion] | None:
    """Return the frame of a sensor of this file, its place and its rotation in the body, FLU.

    None if it is a block of another kind.
    """
    kind = globals().get(row.path.removeprefix('px4_sim_ros:'))
    if not (isinstance(kind, type) and issubclass(kind, SceneSensor)):
        return None
    values: typing.Any = kind.kind.from_mapping(
        '', kind.checked(f'block {row.name}', row.parameters))
    return (values.frame or kind._name_of_frame(row.name), values.position_m,
            multiply(values.mounting((0.0, 0.0, 0.0)), kind.axes))


class DistanceSensor(SceneSensor):
    """A range finder anywhere, along x of its frame: what is nearest within a cone.

    It has no message where a measurement is missing.
    """

    kind = RangeParameters
    topic, message = 'distance', Range
    period_us = 40_000

    def __init__(self, configuration: BlockConfiguration[typing.Any]) -> None:
        """Compute what is the same in all measurements."""
        super().__init__(configuration)
        self._beam = self._sensor(self.values.directions, is_nearest=True)

    def measure(self, time_us: int, inputs: Inputs) -> Range | None:
        """Return the distance at a time."""
        p = self.values
        (distance,), _ = self._beam.measure(self._pose(inputs))
        if math.isnan(distance):
            return None
        message = Range(
            radiation_type=Range.INFRARED, field_of_view=math.radians(p.field_of_view_deg),
            min_range=p.min_range_m, max_range=p.max_range_m, range=float(distance),
            variance=float(self._beam.deviation_m(min(abs(distance), p.max_range_m)) ** 2))
        message.header.frame_id = self._frame
        return message


class _Lidar(SceneSensor):
    kind = ScanParameters
    period_us = 100_000

    def __init__(self, configuration: BlockConfiguration[typing.Any]) -> None:
        super().__init__(configuration)
        self._directions = self.values.directions
        self._lidar = self._sensor(self._directions, len(self.values.elevations_rad))

    def _scan(self, inputs: Inputs) -> tuple[np.ndarray, np.ndarray]:
        p = self.values
        moving = (p.columns, self._duration_s) if p.moves else ()
        return self._lidar.measure(self._pose(inputs), *moving)


class Lidar(_Lidar):
    """A lidar with lines, as a cloud of the points that it has met, in its own axes.

    Its intensity is the cosine of the angle at which a surface is met.
    """

    kind = LidarParameters
    topic, message = 'lidar/points', PointCloud2

    def __init__(self, configuration: BlockConfiguration[typing.Any]) -> None:
        """Compute what is the same in all scans."""
        super().__init__(configuration)
        p = self.values
        self._points = np.empty(p.columns * p.lines, _POINT)
        self._points['ring'] = np.tile(np.arange(p.lines), p.columns)
        self._points['time'] = np.repeat(
            np.arange(p.columns) * (self._duration_s / p.columns), p.lines)
        self._axes = np.ascontiguousarray(self._directions.T)

    def measure(self, time_us: int, inputs: Inputs) -> PointCloud2:
        """Return the points of the scan that ends now."""
        distance, facing = self._scan(inputs)
        is_met = np.isfinite(distance)
        distance[~is_met] = 0.0
        for name, axis in zip('xyz', self._axes):
            self._points[name] = distance * axis
        self._points['intensity'] = facing
        points = self._points[is_met]
        message = PointCloud2(
            height=1, width=len(points), fields=_POINT_FIELDS, is_dense=True,
            point_step=_POINT.itemsize, row_step=_POINT.itemsize * len(points),
            data=array.array('B', points.tobytes()))
        message.header.frame_id = self._frame
        return message


class Lidar2d(_Lidar):
    """A lidar with one line, as ranges by azimuth; those beyond its limits are infinite."""

    topic, message = 'scan', LaserScan

    def measure(self, time_us: int, inputs: Inputs) -> LaserScan:
        """Return the scan that ends now."""
        distance, facing = self._scan(inputs)
        p = self.values
        return self._laser_scan(
            p.first_rad, p.step_rad, distance, time_increment=self._duration_s / p.columns,
            intensities=_floats(facing))


class _Camera(SceneSensor):
    kind: typing.ClassVar[type[MountedParameters]] = CameraParameters
    period_us = 64_000
    axes = (0.5, -0.5, 0.5, -0.5)          # to the right, down, and along the optical axis

    @staticmethod
    def _name_of_frame(name: str) -> str:
        # A calibration is of the camera that has the rest of its name.
        camera = name.removesuffix('_info').removesuffix('_calibration')
        return f'{camera}_optical_frame'

    @property
    def _group(self) -> int:
        """How many pixels of a row are looked for together: what is beside one is close to it."""
        return max(n for n in range(1, _GROUP + 1) if self.values.width % n == 0)

    def _image(self, encoding: str, size: int, pixels: np.ndarray) -> Image:
        p = self.values
        message = Image(width=p.width, height=p.height, encoding=encoding, step=size * p.width,
                        data=array.array('B', pixels.tobytes()))
        message.header.frame_id = self._frame
        return message


class DepthCamera(_Camera):
    """A depth camera: how far along its axis each pixel is (m); infinite beyond the limits."""

    topic, message = 'depth/image', Image

    def __init__(self, configuration: BlockConfiguration[typing.Any]) -> None:
        """Compute what is the same in all images."""
        super().__init__(configuration)
        slopes = self.values.slopes
        self._lengths = np.sqrt((slopes * slopes).sum(axis=1))
        self._camera = self._sensor(slopes / self._lengths[:, None], self._group)

    def measure(self, time_us: int, inputs: Inputs) -> Image:
        """Return the image of a time."""
        distance, _ = self._camera.measure(self._pose(inputs))
        return self._image('32FC1', 4, (distance / self._lengths).astype('<f4'))


class DepthScan(_Camera):
    """The scan of a depth camera: the nearest in each direction of its middle rows.

    The directions are equally far apart, as many as there are columns; z of its frame is up.
    """

    kind = DepthScanParameters
    axes, _name_of_frame = SceneSensor.axes, staticmethod(SceneSensor._name_of_frame)
    topic, message = 'depth/scan', LaserScan

    def __init__(self, configuration: BlockConfiguration[typing.Any]) -> None:
        """Compute what is the same in all scans."""
        super().__init__(configuration)
        p = self.values
        first = max(0, (p.height - p.rows) // 2)
        slopes = p.slopes.reshape(p.height, p.width, 3)[first:first + p.rows]
        lengths = np.sqrt((slopes * slopes).sum(axis=2))
        self._camera = self._sensor((slopes / lengths[..., None]).reshape(-1, 3), self._group)
        # Along the plane of the scan; and the column that is nearest to each of its directions.
        self._shares = np.hypot(slopes[..., 0], slopes[..., 1]) / lengths
        self._first_rad = -math.atan(slopes[0, 0, 1])
        self._step_rad = -2.0 * self._first_rad / max(1, p.width - 1)
        azimuths = self._first_rad + self._step_rad * np.arange(p.width)
        self._columns = np.rint(p.middle_px[0] - p.focal_px * np.tan(azimuths)).astype(int)

    def measure(self, time_us: int, inputs: Inputs) -> LaserScan:
        """Return the scan of a time."""
        distance, _ = self._camera.measure(self._pose(inputs))
        # Without those that are missing.
        nearest = np.fmin.reduce(distance.reshape(self._shares.shape) * self._shares, axis=0)
        return self._laser_scan(self._first_rad, self._step_rad, nearest[self._columns])


class _CameraInfo(_Camera):
    message = CameraInfo

    def measure(self, time_us: int, inputs: Inputs) -> CameraInfo:
        """Return it."""
        p, f = self.values, self.values.focal_px
        u, v = p.middle_px
        message = CameraInfo(
            width=p.width, height=p.height, distortion_model='plumb_bob',
            d=list(getattr(p, 'distortion', (0.0,) * 5)),
            k=[f, 0.0, u, 0.0, f, v, 0.0, 0.0, 1.0], r=np.eye(3).ravel(),
            p=[f, 0.0, u, 0.0, 0.0, f, v, 0.0, 0.0, 0.0, 1.0, 0.0])
        message.header.frame_id = self._frame
        return message


class DepthCameraInfo(_CameraInfo):
    """The calibration of a depth camera, with the same parameters and period."""

    topic = 'depth/camera_info'


class Camera(_Camera):
    """A camera: 8 bits each of red, green and blue, of all pixels at once."""

    kind = ColourParameters
    topic, message = 'camera/image_raw', Image

    def __init__(self, configuration: BlockConfiguration[typing.Any]) -> None:
        """Compute what is the same in all images."""
        super().__init__(configuration)
        p, c, slopes = self.values, self.configuration, self.values.slopes
        self._eye = Eye(
            c.scene, c.world.ground(), slopes / np.sqrt((slopes * slopes).sum(axis=1))[:, None],
            p.max_range_m, p.exposure, self._group)
        self._noise = NoiseOfTimes(c.world.seed, f'block {c.name}')

    def measure(self, time_us: int, inputs: Inputs) -> Image:
        """Return the image of a time."""
        self._eye.look(self._pose(inputs))
        return self._image(*self._pixels(time_us))

    def _pixels(self, time_us: int) -> tuple[str, int, np.ndarray]:
        """Return encoding, bytes of a pixel, and the pixels."""
        image, noise = self._eye.image, self.values.noise
        if noise:
            errors = self._noise.of(time_us).standard_normal(image.size, np.float32)
            image = np.clip(np.rint(image + 255.0 * noise * errors.reshape(image.shape)), 0, 255
                            ).astype(np.uint8)
        return 'rgb8', 3, image


class LabelCamera(Camera):
    """What each pixel of a camera shows: 0 the sky, 1 the ground, 2 the first object, and so on."""

    topic = 'labels/image_raw'

    def _pixels(self, time_us: int) -> tuple[str, int, np.ndarray]:
        return '16UC1', 2, self._eye.labels.astype('<u2')


class CameraCalibration(_CameraInfo):
    """The calibration of a camera, with the same parameters and period."""

    kind = ColourParameters
    topic = 'camera/camera_info'
