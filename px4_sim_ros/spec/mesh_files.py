# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Mesh files, by trimesh: their triangles, and what these look like."""
from __future__ import annotations

import contextlib
import logging
import pathlib
import typing
import warnings

import numpy as np

from px4_sim_ros.model.errors import InputWarning, ParameterError
from px4_sim_ros.model.scene.scene import (
    FIRST_PIXEL,
    GAMMA,
    MOST_PIXELS,
    OF_SKIN,
    ON_PICTURE,
    SKIN_HEIGHT,
    SKIN_WIDTH,
)

_Skin = tuple[np.ndarray, np.ndarray]
# What trimesh stumbles over in a file; the words are about its code.
_OF_CODE = TypeError, AttributeError, LookupError


def mesh_of(where: str, path: pathlib.Path, *, has_skin: bool) -> dict[str, typing.Any]:
    """Return the triangles of all meshes of a file, as they are placed in it, and their skin.

    :param has_skin: whether what they look like is taken over
    :raises ParameterError: there is no trimesh, or a picture that the file names cannot be read
    """
    try:
        import trimesh
    except ImportError:
        raise ParameterError(f'{where}: the Python package trimesh is not installed; `pip install'
                             ' trimesh` installs it') from None
    with _pictures_left_out(where) as left_out:
        whole = trimesh.load_scene(path, process=False)
    parts: list[typing.Any] = [
        its for its in whole.dump() if isinstance(its, trimesh.Trimesh)]
    corners = [np.asarray(part.triangles, '<f4') for part in parts]
    found: dict[str, typing.Any] = {
        'corners': np.concatenate(corners) if corners else np.zeros((0, 3, 3), '<f4')}
    if has_skin and left_out.why:
        raise ParameterError(f'{where}: a picture of it cannot be read: {left_out.why}; with a'
                             ' colour in the scene file it needs none')
    plain = hash(trimesh.visual.material.empty_material())     # in place of one that is not there
    if has_skin and any(hash(part.visual.material) != plain if part.visual.kind == 'texture'
                        else part.visual.kind for part in parts):
        found['skin'] = _skin(parts, colours_are_light=path.suffix.lower() == '.glb')
    return found


class _LeftOut(logging.Handler):
    """Keeps why trimesh leaves a picture out, which it says in its log only; warns of the rest."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self._where = where
        self.why: str | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if 'load image' in record.msg:
            error = record.exc_info[1] if record.exc_info else record.msg
            self.why = 'it is damaged' if isinstance(error, _OF_CODE) else (
                str(error).partition(' <')[0])     # where in memory it was
        elif record.levelno >= logging.WARNING:
            warnings.warn(f'{self._where}: {record.getMessage()}', InputWarning, stacklevel=2)


@contextlib.contextmanager
def _pictures_left_out(where: str) -> typing.Iterator[_LeftOut]:
    log, handler = logging.getLogger('trimesh'), _LeftOut(where)
    before = log.level, log.propagate
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    log.propagate = False
    try:
        yield handler
    finally:
        log.removeHandler(handler)
        log.setLevel(before[0])
        log.propagate = before[1]


def _skin(parts: typing.Sequence[typing.Any], *, colours_are_light: bool) -> _Skin:
    """Return a row for each triangle, and the pixels of all.

    :param colours_are_light: those of corners, as in glTF; else they are pixels
    """
    pictures = _smaller([_picture(part.visual) for part in parts])
    rows, pixels, count = [], [], 0
    places: dict[tuple[tuple[int, ...], bytes], int] = {}      # of pictures that are there
    for part, picture in zip(parts, pictures):
        row = np.zeros((len(part.faces), OF_SKIN), '<f4')
        visual, first = part.visual, count
        if picture is not None:
            row[:, SKIN_HEIGHT], row[:, SKIN_WIDTH] = picture.shape[:2]
            row[:, ON_PICTURE:] = visual.uv[part.faces].reshape(-1, 6)
            first = places.setdefault((picture.shape, picture.tobytes()), count)
            row[:, FIRST_PIXEL] = first
            found = picture
        else:
            row[:, FIRST_PIXEL] = count + 3 * np.arange(len(row))
            found = _colours(part, colours_are_light=colours_are_light)
        rows.append(row)
        if first == count:
            pixels.append(found.reshape(-1, 3))
            count += len(pixels[-1])
    return np.concatenate(rows), np.concatenate(pixels)


def _picture(visual: typing.Any) -> typing.Any:
    """Return the image of a part, None for none."""
    if visual.kind != 'texture' or visual.uv is None:
        return None
    material = visual.material
    image = getattr(material, 'baseColorTexture', getattr(material, 'image', None))
    return None if image is None else image.convert('RGB')


def _smaller(images: list[typing.Any]) -> list[np.ndarray | None]:
    """Return images with as many pixels together as are allowed; with the mean of several."""
    by = 1
    while sum(-(-image.width // by) * -(-image.height // by)
              for image in images if image is not None) > MOST_PIXELS:
        by += 1
    return [None if image is None else np.asarray(image.reduce(by)) for image in images]


def _colours(part: typing.Any, *, colours_are_light: bool) -> np.ndarray:
    """Return the colours of the corners of triangles, (n, 3, 3), pixels."""
    visual, shape = part.visual, (len(part.faces), 3, 3)
    if visual.kind == 'texture':
        material, colours_are_light = visual.material, True
        colour = getattr(material, 'baseColorFactor', getattr(material, 'diffuse', None))
        found = np.broadcast_to([255] * 3 if colour is None else colour[:3], shape)
    elif visual.kind == 'vertex':
        found = visual.vertex_colors[part.faces][..., :3]
    elif visual.kind == 'face':
        found = np.broadcast_to(visual.face_colors[:, None, :3], shape)
    else:
        found = np.full(shape, 255)
    if not colours_are_light:
        return np.asarray(found, np.uint8)
    return np.round(255.0 * (found / 255.0) ** (1.0 / GAMMA)).astype(np.uint8)
