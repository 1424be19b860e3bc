# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Worlds of Gazebo as scenes: what stands still in an SDF file, http://sdformat.org/spec.

What is seen of a link is taken, and touched as well; of a link without visuals what it collides
with.
"""
from __future__ import annotations

import math
import pathlib
import typing
import warnings
from xml.etree import ElementTree

import numpy as np
from transforms3d.euler import euler2quat, quat2euler

from px4_sim_ros.model.errors import InputWarning, ParameterError, shown
from px4_sim_ros.model.frames import Quaternion, Vector
from px4_sim_ros.model.rotation import matrix, multiply, scaled, to_world, total, unit
from px4_sim_ros.model.scene.scene import MOST_OBJECTS, MOST_POSTS
from px4_sim_ros.spec.resources import read_text
from px4_sim_ros.spec.scene_data import MESHES, shades_of

_Element = ElementTree.Element
_MOST_DEPTH = 20                       # of models in models
_MOST_NAMES = 8                        # in a sentence
_MOST_POINTS = 1000                    # of a polyline
_MOST_PIXELS = 4100 * 4100             # of a height map, which is thinned out
_HEIGHT_MAPS = '.png', '.jpg', '.jpeg'
_LEVEL = 1e-6                          # how exactly a plane is the ground
_UPRIGHT = 1.0 - 1e-9                  # w of an attitude that is not turned
_THIN_M = 0.01                         # a plane that is not the ground
# What a link or a model may have beside what stands there, and what to call it in a sentence.
_OTHERS = {'joint': 'joints', 'plugin': 'plugins', 'sensor': 'sensors', 'light': 'lights',
           'frame': 'frames', 'particle_emitter': 'particle emitters', 'projector': 'projectors',
           'actor': 'actors, which move', 'gripper': 'grippers', 'population': 'populations',
           'road': 'roads'}
# What a world has, and a flight's parameters have as well.
_OF_WORLD = frozenset({'physics', 'gravity', 'magnetic_field', 'atmosphere', 'scene', 'wind', 'gui',
                       'spherical_coordinates', 'audio', 'state'})


class _Pose(typing.NamedTuple):
    place_m: Vector
    attitude: Quaternion

    def then(self, inner: _Pose) -> _Pose:
        """Return a pose within this one."""
        return _Pose(total(self.place_m, to_world(matrix(self.attitude), inner.place_m)),
                     multiply(self.attitude, inner.attitude))


_ORIGIN = _Pose((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))


def scene_content(text: str, owner: str, folder: pathlib.Path) -> dict[str, typing.Any]:
    """Return the content of a scene file for a world; of what is left out warnings say.

    :param owner: what to call the file in a sentence
    :param folder: of the file
    :raises ParameterError: it is no such file, or a value in it is wrong
    """
    root = _parsed(text, owner)
    world = root.find('world')
    if root.tag != 'sdf' or world is None:
        raise ParameterError(f'{owner}: must be a world of Gazebo: sdf with a world in it')
    found = _World(owner, folder)
    found.take(world)
    for kind, names in found.left_out.items():
        more = f' and {len(names) - _MOST_NAMES} more' if len(names) > _MOST_NAMES else ''
        warnings.warn(f"{owner}: not as in Gazebo: {kind}: {', '.join(names[:_MOST_NAMES])}{more}",
                      InputWarning, stacklevel=2)
    return {'sun': found.sun, 'ground': found.ground, 'objects': found.objects}


def _parsed(text: str, owner: str) -> _Element:
    # An entity of one may multiply without end, or name a file.
    if '<!DOCTYPE' in text:
        raise ParameterError(f'{owner}: must be without a DOCTYPE')
    try:
        return ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as error:
        raise ParameterError(f'{owner}: not XML: {error}') from error


class _World:
    def __init__(self, owner: str, folder: pathlib.Path) -> None:
        self._owner, self._folder = owner, folder
        self.objects: list[dict[str, typing.Any]] = []
        self.sun: dict[str, float] | None = None
        self.ground: dict[str, typing.Any] | None = None
        self.left_out: dict[str, list[str]] = {}       # names, by what is said of them
        self._has_ground = False
        self._includes = 0
        self._names: set[str] = set()                  # of objects

    def take(self, world: _Element) -> None:
        """Take all that is in a world."""
        for child in world:
            if child.tag == 'model':
                self._model(child, _ORIGIN, self._folder, 0)
            elif child.tag == 'include':
                self._include(child, _ORIGIN, self._folder, 0)
            elif child.tag == 'light' and child.get('type') == 'directional' and self.sun is None:
                self._sun(child)
            elif child.tag in _OF_WORLD:
                self._leave('as the parameters of the flight say', child.tag)
            else:
                self._other(child)
        if not (self._has_ground or self.ground):
            self._leave('there is a ground, of the parameter', 'ground_slope_deg')

    def _leave(self, kind: str, name: str) -> None:
        names = self.left_out.setdefault(kind, [])
        if shown(name) not in names:
            names.append(shown(name))

    def _other(self, element: _Element) -> None:
        what = _OTHERS.get(element.tag, 'elements')
        self._leave(f'without {what}', element.get('name') or element.tag)

    # Models and links.

    def _model(
        self, model: _Element, outer: _Pose, folder: pathlib.Path, depth: int,
        include: _Element | None = None,
    ) -> None:
        """Take a model; what an include says goes before its own words."""
        name = model.get('name', '')
        pose, static = model.find('pose'), model.findtext('static', '')
        if include is not None:
            name = include.findtext('name', name).strip()
            inner = include.find('pose')
            pose, static = pose if inner is None else inner, include.findtext('static', static)
        where = f'{self._owner}: model {shown(name)}'
        if depth > _MOST_DEPTH:
            raise ParameterError(f'{where}: is in {depth} others: must be in {_MOST_DEPTH} at most')
        if depth == 0 and static.strip() not in ('true', '1'):
            self._leave('it stands still', name)
        placed = outer.then(self._pose(where, pose))
        for child in model:
            if child.tag == 'model':
                self._model(child, placed, folder, depth + 1)
            elif child.tag == 'include':
                self._include(child, placed, folder, depth + 1)
            elif child.tag == 'link':
                self._link(child, where, name, placed, folder)
            elif child.tag in _OTHERS:
                self._other(child)

    def _include(
        self, include: _Element, outer: _Pose, folder: pathlib.Path, depth: int,
    ) -> None:
        uri = include.findtext('uri', '').strip()
        found = self._file(uri, folder)
        if found is not None and found.is_dir():
            found /= 'model.sdf'
        if found is None or not found.is_file():
            self._leave('without models that are not beside the file', uri)
            return
        self._includes += 1
        if self._includes > MOST_OBJECTS:
            raise ParameterError(f'{self._owner}: must include at most {MOST_OBJECTS} models')
        owner = f'{self._owner}: {found}'
        model = _parsed(read_text(found, f'{self._owner}: model file'), owner).find('model')
        if model is None:
            raise ParameterError(f'{owner}: must be a model of Gazebo: sdf with a model in it')
        self._model(model, outer, found.parent, depth, include)

    def _file(self, uri: str, folder: pathlib.Path) -> pathlib.Path | None:
        """Return the file or folder of a URI, if it is beside the file of the world."""
        scheme, separator, path = uri.rpartition('://')
        if not uri or (separator and scheme not in ('model', 'file')):
            return None
        places = (folder,) if not separator else (
            self._folder, self._folder / 'models', self._folder.parent / 'models')
        try:
            return next((place / path for place in places if (place / path).exists()), None)
        except OSError:                    # no file has such a name
            return None

    def _link(
        self, link: _Element, where: str, name: str, outer: _Pose, folder: pathlib.Path,
    ) -> None:
        placed = outer.then(self._pose(where, link.find('pose')))
        collisions = link.findall('collision')
        visuals = link.findall('visual') or collisions
        for child in {id(its): its for its in (*collisions, *visuals)}.values():
            geometry = child.find('geometry')
            shape = next(iter(geometry), None) if geometry is not None else None
            if shape is None:
                continue
            pose = placed.then(self._pose(where, child.find('pose')))
            if shape.tag == 'plane':
                pose = pose.then(_normal(self._direction(where, shape, 'normal', '0 0 1')))
                up = matrix(pose.attitude)[8]
                if abs(pose.place_m[2]) < _LEVEL and up > 1.0 - _LEVEL:
                    self._has_ground = True
                    continue
            if child in visuals:
                self._object(child, shape, where, name, pose, folder)
        for child in link:
            if child.tag in _OTHERS:
                self._other(child)

    def _object(
        self, owner: _Element, shape: _Element, where: str, name: str, pose: _Pose,
        folder: pathlib.Path,
    ) -> None:
        """Take a shape."""
        def numbers(tag: str, count: int, default: str | None = None) -> list[float]:
            return self._numbers(where, shape, tag, count, default)

        found: dict[str, typing.Any] = {}
        picture = owner.findtext('material/pbr/metal/albedo_map', '').strip()
        if shape.tag == 'box':
            found['size_m'] = numbers('size', 3)
        elif shape.tag == 'plane':
            # Its upper face is the plane.
            found |= {'shape': 'box', 'size_m': [*numbers('size', 2, '1 1'), _THIN_M]}
            pose = pose.then(_Pose((0.0, 0.0, -0.5 * _THIN_M), _ORIGIN.attitude))
            file = self._file(picture, folder)
            if file is not None:
                found['picture'], picture = {'file': str(file.absolute())}, ''
        elif shape.tag == 'cylinder':
            (found['radius_m'],), (found['height_m'],) = numbers('radius', 1), numbers('length', 1)
        elif shape.tag == 'sphere':
            found['radius_m'], = numbers('radius', 1)
        elif shape.tag == 'polyline':
            height_m, = numbers('height', 1)
            found |= {'shape': 'mesh', 'corners': self._extruded(where, shape, height_m)}
        elif shape.tag == 'mesh':
            uri = shape.findtext('uri', '').strip()
            file, scale = self._file(uri, folder), numbers('scale', 3, '1 1 1')
            if file is None or file.suffix.lower() not in MESHES or len({*scale}) > 1 \
                    or shape.find('submesh') is not None:
                self._leave(f"without meshes that are not beside the file as {', '.join(MESHES)},"
                            ' whole and with one scale', uri)
                return
            found |= {'file': str(file.absolute()), 'scale': scale[0]}
        elif shape.tag == 'heightmap':
            if not self._height_map(where, shape, pose, folder):
                self._leave('without height maps but one, a .png or .jpg beside the file that is'
                            ' not turned, as long as wide in all its cells', name)
            return
        else:
            self._leave(f'without shapes of the kind {shape.tag}', name)
            return
        if picture or owner.find('material/script') is not None:
            self._leave('without the textures of', name)
        diffuse = owner.find('material/diffuse')
        if diffuse is not None:
            shades = self._floats_of(f'{where}: diffuse', diffuse.text, 3, 4)
            found['colour'] = [min(1.0, max(0.0, shade)) for shade in shades[:3]]
        angles = quat2euler(pose.attitude, 'sxyz')
        self.objects.append({
            'shape': shape.tag, 'name': self._unique(name),
            'place_m': [round(x, 9) for x in pose.place_m],
            'roll_pitch_yaw_deg': [round(math.degrees(angle), 9) for angle in angles], **found})
        if len(self.objects) > MOST_OBJECTS:
            raise ParameterError(f'{self._owner}: must have at most {MOST_OBJECTS} objects')

    def _height_map(
        self, where: str, shape: _Element, pose: _Pose, folder: pathlib.Path,
    ) -> bool:
        """Take a height map as the ground; return whether it can be, or is."""
        file = self._file(shape.findtext('uri', '').strip(), folder)
        size_m, place = (self._numbers(where, shape, tag, 3, default) for tag, default in (
            ('size', '1 1 1'), ('pos', '0 0 0')))
        if file is None or file.suffix.lower() not in _HEIGHT_MAPS or pose.attitude[0] < _UPRIGHT:
            return False
        shades = shades_of(f'{where}: heightmap.uri', file, _MOST_PIXELS)
        while shades.size > MOST_POSTS and all(count % 2 for count in shades.shape):
            shades = shades[::2, ::2]      # Gazebo's have a power of two and one
        spacings_m = [size / max(1, count - 1) for size, count in zip(size_m, shades.shape[::-1])]
        # The brightest is as high as the size says.
        east, north, up = total(pose.place_m, (place[0], place[1], place[2]))
        ground = {'heights_m': up + size_m[2] / (shades.max() or 1.0) * shades,
                  'spacing_m': spacings_m[0], 'middle_m': [east, north]}
        is_taken = math.isclose(*spacings_m) and (self.ground is None or all(
            np.array_equal(self.ground[key], value) for key, value in ground.items()))
        self.ground = ground if is_taken else self.ground
        return is_taken

    def _unique(self, name: str) -> str:
        """Return a name that no other object has: of a model with several the second is name_2."""
        count, found = 1, name or 'object'
        while found in self._names:
            count += 1
            found = f'{name or "object"}_{count}'
        self._names.add(found)
        return found

    def _extruded(self, where: str, polyline: _Element, height_m: float) -> np.ndarray:
        """Return the triangles of a convex polygon that is as high, (n, 3, 3)."""
        points = [self._floats_of(f'{where}: point', its.text, 2)
                  for its in polyline.findall('point')]
        if not 3 <= len(points) <= _MOST_POINTS:
            raise ParameterError(f'{where}: polyline has {len(points)} points: must be 3 at least'
                                 f' and {_MOST_POINTS} at most')
        if height_m <= 0.0:
            raise ParameterError(f'{where}: polyline.height = {height_m:g}: must be greater than 0')
        ring = np.array(points)
        ways = np.roll(ring, -1, axis=0) - ring
        (x, y), (next_x, next_y) = ways.T, np.roll(ways, -1, axis=0).T
        turns = x * next_y - y * next_x
        if not ((turns >= 0.0).all() or (turns <= 0.0).all()):
            raise ParameterError(f'{where}: polyline: must be convex')
        if turns.sum() < 0.0:              # clockwise from above
            ring = ring[::-1]
        low, high = (np.column_stack((ring, np.full(len(ring), z))) for z in (0.0, height_m))
        next_low, next_high = (np.roll(corners, -1, axis=0) for corners in (low, high))
        return np.concatenate([np.stack(np.broadcast_arrays(*corners), axis=1) for corners in (
            (low, next_low, next_high), (low, next_high, high), (high[0], high, next_high),
            (low[0], next_low, low))])

    def _sun(self, light: _Element) -> None:
        where = f"{self._owner}: light {shown(light.get('name', ''))}"
        pose = self._pose(where, light.find('pose'))
        down = self._direction(where, light, 'direction', '0 0 -1')
        east, north, up = to_world(matrix(pose.attitude), scaled(-1.0, down))
        self.sun = {'azimuth_deg': round(math.degrees(math.atan2(east, north)) % 360.0, 9),
                    'elevation_deg': round(math.degrees(math.asin(max(-1.0, min(1.0, up)))), 9)}

    # Values.

    def _pose(self, where: str, element: _Element | None) -> _Pose:
        if element is None:
            return _ORIGIN
        for name in ('relative_to', 'frame', 'rotation_format'):
            if element.get(name):
                raise ParameterError(
                    f'{where}: pose has {name} = {shown(element.get(name))}: must be without it:'
                    ' x y z roll pitch yaw in the frame of what it is in')
        if not (element.text or '').strip():
            return _ORIGIN
        x, y, z, *angles = self._floats_of(f'{where}: pose', element.text, 6)
        if element.get('degrees', '').strip() in ('true', '1'):
            angles = [math.radians(angle) for angle in angles]
        w, *axis = euler2quat(*angles, 'sxyz').tolist()
        return _Pose((x, y, z), (w, *axis))

    def _numbers(
        self, where: str, element: _Element, tag: str, count: int, default: str | None,
    ) -> list[float]:
        """Return the numbers of a child.

        :param default: its text if it is missing; None: it may not be
        """
        return self._floats_of(
            f'{where}: {element.tag}.{tag}', element.findtext(tag, default), count)

    def _direction(self, where: str, element: _Element, tag: str, default: str) -> Vector:
        x, y, z = self._numbers(where, element, tag, 3, default)
        if not 0.0 < math.hypot(x, y, z) < math.inf:
            raise ParameterError(f'{where}: {element.tag}.{tag} = {x:g} {y:g} {z:g}: must have a'
                                 ' length')
        return unit((x, y, z))

    @staticmethod
    def _floats_of(where: str, text: str | None, *counts: int) -> list[float]:
        """Return as many numbers as one of the counts."""
        try:
            found = [float(word) for word in (text or '').split()]
        except ValueError:
            found = []
        if len(found) not in counts or not all(map(math.isfinite, found)):
            raise ParameterError(f'{where} = {shown(text)}: must be finite numbers,'
                                 f" {' or '.join(map(str, counts))} of them")
        return found


def _normal(normal: Vector) -> _Pose:
    """Return the pose whose z is a normal."""
    x, y, z = normal
    half = math.sqrt(max(0.0, 0.5 * (1.0 + z)))
    turn = (half, -0.5 * y / half, 0.5 * x / half, 0.0) if half > _LEVEL else (0.0, 1.0, 0.0, 0.0)
    return _Pose(_ORIGIN.place_m, turn)
