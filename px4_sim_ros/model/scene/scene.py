# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Scene files: the ground, and the objects that stand on it."""
from __future__ import annotations

import base64
import binascii
import dataclasses
import math
import typing
import zlib

import numpy as np

from px4_sim_ros.model.errors import ParameterError, did_you_mean, shown
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.parameters import Parameters, dict_of, list_of, mapping_of, parameter
from px4_sim_ros.model.scene.paths import MOST_PATHS, Path

MOST_OBJECTS = 2000
# So that a recording can carry them: of a height map, of each picture, and of all meshes.
MOST_POSTS = 1 << 18
MOST_PIXELS = 1 << 20
MOST_TRIANGLES = 1 << 18
_MOST_SKIN_PIXELS = MOST_PIXELS + 3 * MOST_TRIANGLES

_KEYS = 'ground', 'sun', 'paths', 'objects'
_FARTHEST_M = 100_000.0                # the world is about home
_GREY = (0.6, 0.6, 0.6)
GROUND_COLOUR = 0.45, 0.5, 0.35
GAMMA = 2.2                            # of pixels; colours are light


@dataclasses.dataclass(frozen=True)
class Picture:
    """An image of 8 bits each of red, green and blue, in rows from top to bottom."""

    width: int
    height: int
    pixels: bytes

    @property
    def array(self) -> np.ndarray:
        """Its pixels, (height, width, 3)."""
        return np.frombuffer(self.pixels, np.uint8).reshape(self.height, self.width, 3)

    def to_mapping(self) -> dict[str, typing.Any]:
        """Return the entry of a file."""
        return {'packed': _packed(self.pixels), 'shape': [self.height, self.width]}

    @classmethod
    def from_mapping(cls, owner: str, content: typing.Any) -> Picture:
        """Read the entry `picture` of an object.

        :raises ParameterError: naming the place in it and what is allowed
        """
        if isinstance(content, dict) and set(content) == {'cells'}:
            return _of_cells(f'{owner}.cells', content['cells'])
        if isinstance(content, dict) and set(content) == {'pixels'}:     # of the file it names
            pixels = content['pixels']
        elif isinstance(content, dict) and set(content) == {'packed', 'shape'}:
            pixels = _unpacked(f'{owner}.packed', content['packed'], content['shape'], 'u1',
                               MOST_PIXELS, 3)
        else:
            raise ParameterError(f'{owner} = {shown(content)}: must be a mapping with a file or'
                                 ' with cells')
        height, width, _ = pixels.shape
        return cls(width, height, np.ascontiguousarray(pixels, np.uint8).tobytes())


def _of_cells(owner: str, value: typing.Any) -> Picture:
    """Return a picture of black (#) and white (.) cells, a string for each row.

    :raises ParameterError: it is none
    """
    rows = list_of(owner, value)
    for i, row in enumerate(rows):
        if not isinstance(row, str) or not row or set(row) - {'#', '.'}:
            raise ParameterError(f'{owner}[{i}] = {shown(row)}: must be a row of # for black and .'
                                 ' for white')
        if len(row) != len(rows[0]):
            raise ParameterError(f'{owner}[{i}]: has {len(row)} cells: must be {len(rows[0])}, as'
                                 ' the first row has')
    if not 0 < sum(map(len, rows)) <= MOST_PIXELS:
        raise ParameterError(f'{owner}: has {sum(map(len, rows))} cells: must be 1 at least and'
                             f' {MOST_PIXELS} at most')
    shades = {'#': b'\x00\x00\x00', '.': b'\xff\xff\xff'}
    return Picture(len(rows[0]), len(rows), b''.join(shades[cell] for row in rows for cell in row))


@dataclasses.dataclass(frozen=True, kw_only=True)
class SceneObject(Parameters):
    """What objects of all shapes have."""

    shape: typing.ClassVar[str]        # its name in a file
    name: str = parameter('a name that no other object has')
    place_m: Vector = parameter(
        'its middle: to the east, to the north and above home, or in axes of its path', 'm',
        minimum=-_FARTHEST_M, maximum=_FARTHEST_M)
    roll_pitch_yaw_deg: Vector = parameter(
        'how it is turned: first about the east, then the north, then up', 'deg', minimum=-360,
        maximum=360, default=(0.0, 0.0, 0.0))
    colour: Vector = parameter(
        'red, green and blue, for viewers', minimum=0, maximum=1, default=_GREY)
    label: str = parameter('its class, such as building', default='')
    friction: float = parameter(
        "friction of what touches it; without it that of the vehicle's parts", minimum=0,
        maximum=10, default=math.nan)
    path: str = parameter('the path of the scene on which it moves', default='')

    @property
    def half_m(self) -> Vector:
        """Its half sizes along its own axes."""
        raise NotImplementedError

    def to_mapping(self) -> dict[str, typing.Any]:
        """Return the entry of a file."""
        found: dict[str, typing.Any] = {'shape': self.shape}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value != field.default and value == value:
                found[field.name] = (
                    list(value) if isinstance(value, tuple) else value.to_mapping()
                    if isinstance(value, Picture | Corners | Skin) else value)
        return found


@dataclasses.dataclass(frozen=True, kw_only=True)
class Box(SceneObject):
    """A box."""

    shape = 'box'
    size_m: Vector = parameter(
        'how long it is along its axes', 'm', above=0, maximum=_FARTHEST_M)
    picture: Picture | None = None
    """What is on its upper face: its right is along x, its top along y."""

    @property
    def half_m(self) -> Vector:
        """Its half sizes along its own axes."""
        x, y, z = self.size_m
        return 0.5 * x, 0.5 * y, 0.5 * z


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cylinder(SceneObject):
    """A cylinder, whose axis is its z."""

    shape = 'cylinder'
    radius_m: float = parameter('its radius', 'm', above=0, maximum=_FARTHEST_M)
    height_m: float = parameter('its height', 'm', above=0, maximum=_FARTHEST_M)

    @property
    def half_m(self) -> Vector:
        """Its half sizes along its own axes."""
        return self.radius_m, self.radius_m, 0.5 * self.height_m


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sphere(SceneObject):
    """A sphere."""

    shape = 'sphere'
    radius_m: float = parameter('its radius', 'm', above=0, maximum=_FARTHEST_M)

    @property
    def half_m(self) -> Vector:
        """Its half sizes along its own axes."""
        return self.radius_m, self.radius_m, self.radius_m


@dataclasses.dataclass(frozen=True)
class Corners:
    """The corners of triangles, m; seen from outside they go round counter-clockwise."""

    numbers: bytes

    @property
    def array(self) -> np.ndarray:
        """Its triangles, (n, 3, 3)."""
        return np.frombuffer(self.numbers, '<f4').reshape(-1, 3, 3).astype(float)

    def to_mapping(self) -> dict[str, typing.Any]:
        """Return the entry of a file."""
        return {'packed': _packed(self.numbers), 'shape': [len(self.array), 3]}

    @classmethod
    def from_value(cls, owner: str, value: typing.Any) -> Corners:
        """Take the corners that a file holds, or a recording.

        :raises ParameterError: they are none
        """
        if isinstance(value, dict) and set(value) == {'packed', 'shape'}:
            value = _unpacked(owner, value['packed'], value['shape'], '<f4', 3 * MOST_TRIANGLES, 3)
        if not isinstance(value, np.ndarray):
            raise ParameterError(f'{owner}: missing; name a file with the mesh')
        if value.shape[1:] != (3, 3):
            raise ParameterError(f'{owner}: must be triangles of three corners in space')
        if not 0 < len(value) <= MOST_TRIANGLES:
            raise ParameterError(f'{owner}: has {len(value)} triangles: must be 1 at least and'
                                 f' {MOST_TRIANGLES} at most')
        if not (np.abs(value) <= _FARTHEST_M).all():
            raise ParameterError(f'{owner}: has a corner that is not finite, or too far away: all'
                                 f' must be within {_FARTHEST_M:g} m')
        sides = np.diff(value.astype(float), axis=1)
        if not np.cross(sides[:, 0], sides[:, 1]).any():
            raise ParameterError(f'{owner}: has no triangle with an area: must have one')
        return cls(np.ascontiguousarray(value, '<f4').tobytes())


# Columns of a skin: the first pixel of a triangle, width and height of its picture, and where on
# that its corners are, to the right and up, in pictures beside each other; with a width of 0 it has
# three pixels, the colours of its corners.
FIRST_PIXEL, SKIN_WIDTH, SKIN_HEIGHT, ON_PICTURE, OF_SKIN = 0, 1, 2, 3, 9


@dataclasses.dataclass(frozen=True)
class Skin:
    """What the triangles of a mesh look like."""

    numbers: bytes
    pixels: bytes

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """A row for each triangle, with the columns above, and the pixels of all, (n, 3)."""
        return (np.frombuffer(self.numbers, '<f4').reshape(-1, OF_SKIN).astype(float),
                np.frombuffer(self.pixels, np.uint8).reshape(-1, 3))

    def to_mapping(self) -> dict[str, typing.Any]:
        """Return the entry of a file."""
        rows, pixels = self.arrays
        return {'packed': _packed(self.numbers), 'shape': [len(rows), 1],
                'packed_pixels': _packed(self.pixels), 'shape_of_pixels': [len(pixels), 1]}

    @classmethod
    def from_value(cls, owner: str, value: typing.Any, triangles: int) -> Skin | None:
        """Take the skin that a file holds, or a recording; None for none.

        :raises ParameterError: it is none of so many triangles
        """
        if value is None:
            return None
        if isinstance(value, dict):
            value = (
                _unpacked(owner, value.get('packed'), value.get('shape'), '<f4', MOST_TRIANGLES,
                          OF_SKIN),
                _unpacked(owner, value.get('packed_pixels'), value.get('shape_of_pixels'), 'u1',
                          _MOST_SKIN_PIXELS, 3))
        if not isinstance(value, tuple):
            raise ParameterError(f'{owner}: must be what a recording writes')
        numbers, pixels = np.asarray(value[0], '<f4').reshape(-1, OF_SKIN), value[1].reshape(-1, 3)
        first, width, height = numbers[:, :ON_PICTURE].T.astype(float)
        with np.errstate(invalid='ignore'):
            last = first + np.where(width > 0, width * height, 3)
        if len(numbers) != triangles or not np.isfinite(numbers).all() or not (
                (first >= 0) & (width >= 0) & (height >= 0) & (last <= len(pixels))).all():
            raise ParameterError(f'{owner}: has a corner that is not on its picture; all must be,'
                                 ' by finite numbers')
        return cls(numbers.tobytes(), np.ascontiguousarray(pixels, np.uint8).tobytes())


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mesh(SceneObject):
    """Triangles, about its own origin."""

    shape = 'mesh'
    scale: float = parameter('what the file has 1 of, in m', 'm', above=0, maximum=1e6, default=1.0)
    corners: Corners = Corners(b'')
    skin: Skin | None = None
    """None: all of it has one colour."""

    @property
    def half_m(self) -> Vector:
        """The half sizes of a box about its origin that holds it."""
        x, y, z = (self.scale * np.abs(self.corners.array).max(axis=(0, 1))).tolist()
        return x, y, z


OBJECTS: dict[str, type[SceneObject]] = {
    kind.shape: kind for kind in (Box, Cylinder, Sphere, Mesh)}
"""By the name of their shape in a file."""


@dataclasses.dataclass(frozen=True)
class Ground(Parameters):
    """The ground of a scene: a height map; beyond its edges there is no ground."""

    spacing_m: float = parameter('from post to post', 'm', above=0, maximum=10_000)
    middle_m: tuple[float, float] = parameter(
        'of the map: to the east and to the north of home', 'm', minimum=-_FARTHEST_M,
        maximum=_FARTHEST_M, default=(0.0, 0.0))
    colour: Vector = parameter(
        'red, green and blue, for viewers', minimum=0, maximum=1, default=GROUND_COLOUR)
    friction: float = parameter(
        "friction of what touches it; without it that of the vehicle's parts", minimum=0,
        maximum=10, default=math.nan)


@dataclasses.dataclass(frozen=True)
class Heights:
    """The heights of the ground at posts over home, m: rows to the north, columns to the east."""

    heights_m: np.ndarray
    ground: Ground

    @property
    def corner_m(self) -> tuple[float, float]:
        """East and north of the first post: the one in the south-west."""
        rows, columns = self.heights_m.shape
        east, north = self.ground.middle_m
        step = 0.5 * self.ground.spacing_m
        return east - step * (columns - 1), north - step * (rows - 1)

    def to_mapping(self) -> dict[str, typing.Any]:
        """Return the section `ground` of a file, with the heights in it."""
        ground = self.ground
        found: dict[str, typing.Any] = {
            'packed_heights_m': _packed(np.ascontiguousarray(self.heights_m, '<f8').tobytes()),
            'shape': list(self.heights_m.shape),
            'spacing_m': ground.spacing_m, 'middle_m': list(ground.middle_m),
            'colour': list(ground.colour)}
        return found if math.isnan(ground.friction) else found | {'friction': ground.friction}

    @classmethod
    def from_mapping(cls, owner: str, content: typing.Any) -> Heights:
        """Read the section `ground` of a file.

        :raises ParameterError: naming the place in it and what is allowed
        """
        rest = dict(dict_of(owner, content))
        if 'packed_heights_m' in rest:
            name = f'{owner}.packed_heights_m'
            heights = _array(name, _unpacked(
                name, rest.pop('packed_heights_m'), rest.pop('shape', None), '<f8', MOST_POSTS))
        else:
            heights = _array(f'{owner}.heights_m', rest.pop('heights_m', None))
        return cls(heights, Ground.from_mapping(owner, rest))


def _array(owner: str, value: typing.Any) -> np.ndarray:
    """Return heights as an array.

    :raises ParameterError: they are none
    """
    if value is None:
        raise ParameterError(f'{owner}: missing; it is the heights at the posts in rows from south'
                             ' to north, each from west to east; or name a file with them')
    if not isinstance(value, np.ndarray):
        rows = list_of(owner, value)
        for i, row in enumerate(rows):
            if len(list_of(f'{owner}[{i}]', row)) != len(rows[0]):
                raise ParameterError(f'{owner}[{i}]: has {len(row)} heights: must be'
                                     f' {len(rows[0])}, as the first row has')
            for j, height in enumerate(row):
                if isinstance(height, bool) or not isinstance(height, int | float):
                    raise ParameterError(f'{owner}[{i}][{j}] = {shown(height)}: must be a number')
        value = np.array(rows, float)
    if value.ndim != 2 or min(value.shape) < 2:
        raise ParameterError(f'{owner}: has the shape {shown(value.shape)}: must be two rows and'
                             ' two columns at least')
    if value.size > MOST_POSTS:
        raise ParameterError(f'{owner}: has {value.size} posts: must be at most {MOST_POSTS}')
    if value.dtype.kind not in 'fiu':
        raise ParameterError(f'{owner}: has values of type {value.dtype}: must be numbers')
    heights = np.ascontiguousarray(value, float)
    wrong = np.argwhere(~(np.abs(heights) <= _FARTHEST_M))
    if len(wrong):
        i, j = wrong[0]
        raise ParameterError(f'{owner}[{i}][{j}] = {heights[i, j]:g}: must be a finite number and'
                             f' at most {_FARTHEST_M:g} m')
    return heights


def _packed(raw: bytes) -> str:
    return base64.b64encode(zlib.compress(raw, 9)).decode()


def _unpacked(
    owner: str, packed: typing.Any, shape: typing.Any, kind: str, most: int, *each: int,
) -> np.ndarray:
    """Return the array that a recording has packed.

    :param shape: its rows and columns, at most so many together, and `each` has so many numbers
    :raises ParameterError: it has not
    """
    try:
        rows, columns = shape
        if not 0 < rows * columns <= most:
            raise ValueError(shape)
        size = np.dtype(kind).itemsize * rows * columns * math.prod(each)
        raw = zlib.decompressobj().decompress(base64.b64decode(packed), size)
        return np.frombuffer(raw, kind).reshape(rows, columns, *each)
    except (TypeError, ValueError, binascii.Error, zlib.error) as error:
        raise ParameterError(f'{owner}: must be what a recording writes') from error


@dataclasses.dataclass(frozen=True)
class Sun(Parameters):
    """The light."""

    azimuth_deg: float = parameter(
        'where it stands, clockwise from north', 'deg', minimum=0, maximum=360, default=135.0)
    elevation_deg: float = parameter(
        'how high it stands; below 0 there is only the light of the sky', 'deg', minimum=-90,
        maximum=90, default=50.0)
    sky: float = parameter(
        'the light of the sky as a share of all that falls on what faces the sun', minimum=0,
        maximum=1, default=0.35)

    @property
    def direction_enu(self) -> Vector:
        """Where it is, of length 1."""
        azimuth, up = math.radians(self.azimuth_deg), math.radians(self.elevation_deg)
        return (math.cos(up) * math.sin(azimuth), math.cos(up) * math.cos(azimuth), math.sin(up))


_SUN = Sun.from_mapping('sun', {})


@dataclasses.dataclass(frozen=True)
class Scene:
    """What a scene file says."""

    name: str
    objects: tuple[SceneObject, ...] = ()
    ground: Heights | None = None
    """None: the plane that the parameters of the world describe."""
    sun: Sun = _SUN
    paths: dict[str, Path] = dataclasses.field(default_factory=dict)
    kept: dict[str, np.ndarray] = dataclasses.field(
        default_factory=dict, compare=False, repr=False)
    """What was computed of it."""

    @property
    def meshes(self) -> dict[int, Mesh]:
        """Its meshes by their numbers among the objects."""
        return {i: its for i, its in enumerate(self.objects) if isinstance(its, Mesh)}

    @property
    def has_arrays(self) -> bool:
        """Whether there is something in it that a file beside it may hold."""
        return self.ground is not None or bool(self.meshes) or any(
            getattr(its, 'picture', None) for its in self.objects)

    @classmethod
    def from_mapping(cls, owner: str, name: str, content: typing.Any) -> Scene:
        """Build a scene from the content of its file.

        :param owner: what to call the file in an error sentence
        :raises ParameterError: naming the place in it and what is allowed
        """
        content = {key: value for key, value in mapping_of(owner, 'scene', content, _KEYS).items()
                   if value is not None}
        entries = list_of(f'{owner}: objects', content.get('objects', []))
        if len(entries) > MOST_OBJECTS:
            raise ParameterError(f'{owner}: objects: {len(entries)} of them; must be at most'
                                 f' {MOST_OBJECTS}')
        objects: dict[str, SceneObject] = {}
        for i, entry in enumerate(entries):
            found = _object(f'{owner}: objects[{i}]', entry)
            if not found.name or found.name in objects:
                raise ParameterError(f'{owner}: objects[{i}].name = {shown(found.name)}: must be'
                                     ' one that no other object has')
            objects[found.name] = found
        triangles = sum(len(its.corners.array) for its in objects.values() if isinstance(its, Mesh))
        if triangles > MOST_TRIANGLES:
            raise ParameterError(f'{owner}: objects: have {triangles} triangles: must be at most'
                                 f' {MOST_TRIANGLES}')
        paths = _paths(f'{owner}: paths', content.get('paths', {}))
        for i, its in enumerate(objects.values()):
            _check_path(f'{owner}: objects[{i}].path = {shown(its.path)}', its, paths)
        ground = content.get('ground')
        return cls(name, tuple(objects.values()),
                   None if ground is None else Heights.from_mapping(f'{owner}: ground', ground),
                   Sun.from_mapping(f'{owner}: sun', content.get('sun', {})), paths)

    def to_mapping(self) -> dict[str, typing.Any]:
        """Return the content of a file that needs no others."""
        found: dict[str, typing.Any] = {}
        if self.ground is not None:
            found['ground'] = self.ground.to_mapping()
        if self.sun != _SUN:
            found['sun'] = dataclasses.asdict(self.sun)
        if self.paths:
            found['paths'] = {name: path.to_mapping() for name, path in self.paths.items()}
        return found | {'objects': [its.to_mapping() for its in self.objects]}


def _paths(owner: str, content: typing.Any) -> dict[str, Path]:
    if len(dict_of(owner, content, ' of names to paths')) > MOST_PATHS:
        raise ParameterError(f'{owner}: {len(content)} of them; must be at most {MOST_PATHS}')
    for name in content:
        if not isinstance(name, str) or not name:
            raise ParameterError(f'{owner}: {shown(name)}: must be a name')
    return {name: Path.from_mapping(f'{owner}.{name}', path) for name, path in content.items()}


def _check_path(owner: str, its: SceneObject, paths: typing.Collection[str]) -> None:
    if not its.path:
        return
    if its.path not in paths:
        raise ParameterError(f'{owner}: must be one of {", ".join(paths) or "no paths"}'
                             f'{did_you_mean(its.path, paths)}')


def _object(owner: str, entry: typing.Any) -> SceneObject:
    shape = entry.get('shape') if isinstance(entry, dict) else None
    if not isinstance(shape, str) or shape not in OBJECTS:
        raise ParameterError(f'{owner} = {shown(entry)}: must be a mapping with a shape, one of'
                             f' {", ".join(OBJECTS)}')
    kind, rest = OBJECTS[shape], {key: value for key, value in entry.items() if key != 'shape'}
    more: dict[str, typing.Any] = {}
    if kind is Box and 'picture' in rest:
        more['picture'] = Picture.from_mapping(f'{owner}.picture', rest.pop('picture'))
    if kind is Mesh:
        corners = more['corners'] = Corners.from_value(f'{owner}.file', rest.pop('corners', None))
        more['skin'] = Skin.from_value(f'{owner}.file', rest.pop('skin', None), len(corners.array))
    return dataclasses.replace(kind.from_mapping(owner, rest), **more)
