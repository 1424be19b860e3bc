# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Files that a scene names: heights of its ground, meshes, and pictures on its boxes."""
from __future__ import annotations

import os
import pathlib
import typing
import warnings

import numpy as np

from px4_sim_ros.model.errors import ParameterError, shown
from px4_sim_ros.model.parameters import number
from px4_sim_ros.model.scene.scene import MOST_PIXELS, MOST_POSTS
from px4_sim_ros.spec.mesh_files import mesh_of
from px4_sim_ros.spec.resources import check_regular

_LARGEST = 64 << 20
_WHITE = 65535.0               # of 16 bits
MESHES = '.stl', '.obj', '.glb', '.ply'
_IMAGES = '.png', '.tif', '.tiff', '.jpg', '.jpeg'

Section = dict[str, typing.Any]
Reader = typing.Callable[[str, pathlib.Path, Section], Section]
"""Returns the data of a file, from its name in an error, its path and the rest of the section."""


def with_data(folder: pathlib.Path | None, owner: str, content: typing.Any) -> typing.Any:
    """Return the content of a scene file with the data in place of the files that it names.

    :param folder: of the scene file; None: it may name none
    :raises ParameterError: a file is missing, damaged or of another kind
    """
    if not isinstance(content, dict):
        return content
    found = dict(content)
    if 'ground' in content:
        found['ground'] = _taken(
            folder, f'{owner}: ground', content['ground'], '.npy, .png, .tif or .jpg',
            ('.npy', *_IMAGES), _heights)
    if isinstance(content.get('objects'), list):
        found['objects'] = [_object(folder, f'{owner}: objects[{i}]', entry)
                            for i, entry in enumerate(content['objects'])]
    return found


def _object(folder: pathlib.Path | None, owner: str, entry: typing.Any) -> typing.Any:
    if not isinstance(entry, dict):
        return entry
    if entry.get('shape') == 'mesh':
        return _taken(folder, owner, entry, '.stl, .obj, .glb or .ply', MESHES, _corners)
    if 'picture' in entry:
        return {**entry, 'picture': _taken(
            folder, f'{owner}.picture', entry['picture'], '.png, .tif or .jpg', _IMAGES, _pixels)}
    return entry


def _taken(
    folder: pathlib.Path | None, owner: str, section: typing.Any, kinds: str,
    suffixes: typing.Collection[str], read: Reader,
) -> typing.Any:
    """Return a section with what its file holds, if it names one.

    :raises ParameterError: it cannot be read
    """
    if not isinstance(section, dict) or 'file' not in section:
        return section
    rest = dict(section)
    name = rest.pop('file')
    where = f'{owner}.file = {shown(name)}'
    if not isinstance(name, str) or folder is None:
        raise ParameterError(f'{where}: must be the name of a file, {kinds}')
    path = folder / os.path.expanduser(name)
    try:
        check_regular(path)
        if path.stat().st_size > _LARGEST:
            raise ParameterError(f'{where}: must be at most {_LARGEST >> 20} MiB')
        if path.suffix.lower() not in suffixes:
            raise ParameterError(f'{where}: must be a file {kinds}')
        with warnings.catch_warnings():
            # What it warns of is a part of an image that cannot be used.
            warnings.filterwarnings('error', module='PIL')
            return read(where, path, rest)
    except OSError as error:
        raise ParameterError(f'{where}: {error.strerror or error}') from error
    except ParameterError:
        raise
    except Exception as error:         # of a file that is damaged libraries raise many
        raise ParameterError(f'{where}: cannot be read: must be a whole file {kinds}') from error


def _heights(where: str, path: pathlib.Path, rest: Section) -> Section:
    """Return the heights of an array, or of an image."""
    if path.suffix.lower() == '.npy':
        return {**rest, 'heights_m': np.load(path, allow_pickle=False)}
    ground = where.partition('.file')[0]
    if 'white_m' not in rest:
        raise ParameterError(f'{ground}.white_m: missing; it is the height of white')
    white_m = number(f'{ground}.white_m', rest.pop('white_m'))
    black_m = number(f'{ground}.black_m', rest.pop('black_m', 0.0))
    return {**rest, 'heights_m': black_m + (white_m - black_m) * shades_of(
        where, path, MOST_POSTS)}


def shades_of(where: str, path: pathlib.Path, most: int) -> np.ndarray:
    """Return the shades of an image, whose north is up: rows from the south, 1 is white.

    :param most: pixels that it may have
    """
    with _open(where, path, most) as image:
        is_deep = image.mode.startswith('I')
        shades = np.asarray(image if is_deep else image.convert('L'), float)
        if image.mode == 'F' or not (shades.min() >= 0 and shades.max() <= _WHITE):
            raise ParameterError(f'{where}: has shades of mode {image.mode}: must be of 8 or 16'
                                 ' bits without a sign; heights in m are for .npy')
    found: np.ndarray = shades[::-1] / (_WHITE if is_deep else 255.0)
    return found


def _pixels(where: str, path: pathlib.Path, rest: Section) -> Section:
    with _open(where, path, MOST_PIXELS) as image:
        return {**rest, 'pixels': np.asarray(image.convert('RGB'))}


def _corners(where: str, path: pathlib.Path, rest: Section) -> Section:
    return {**rest, **mesh_of(where, path, has_skin='colour' not in rest)}


def _open(where: str, path: pathlib.Path, most: int) -> typing.Any:
    """Open an image.

    :raises ParameterError: it has more pixels
    """
    try:
        from PIL import Image
    except ImportError:
        raise ParameterError(f'{where}: the Python package pillow is not installed; `pip install'
                             ' pillow` installs it') from None
    image = Image.open(path)
    if image.width * image.height > most:
        raise ParameterError(f'{where}: has {image.width * image.height} pixels: must be at most'
                             f' {most}')
    return image
