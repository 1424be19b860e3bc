# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Folders that are made for what is written: of a recording, of a run of PX4."""
from __future__ import annotations

import os
import pathlib
import tempfile
import typing

from px4_sim_ros.model.errors import ParameterError


def try_to_make(
    what: str, folder: pathlib.Path, make: typing.Callable[[pathlib.Path], object],
) -> None:
    """Make something within a folder, under a name of its own, and remove it again."""
    try:
        with tempfile.TemporaryDirectory(dir=folder) as trial:
            make(pathlib.Path(trial))
    except OSError as error:
        raise ParameterError(f'{what}: cannot be made in {folder}: {error.strerror}') from None


def new_folder(folder: str | pathlib.Path) -> pathlib.Path:
    """Return the absolute path of a bag that can be created; nothing is left there yet."""
    path = pathlib.Path(os.path.abspath(pathlib.Path(os.path.expanduser(folder))))
    if not str(folder):
        raise ParameterError("record '': name a folder that the bag becomes")
    try:
        # A link that leads nowhere exists as well.
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise ParameterError(f'record {folder}: cannot be made: {error.strerror}') from None
    else:
        raise ParameterError(f'record {folder}: exists already; name a folder that does not')
    existing = next(parent for parent in path.parents if os.path.lexists(parent))
    try_to_make(f'record {folder}', existing, lambda trial: (
        trial / path.relative_to(existing)).mkdir(parents=True))
    return path


def make_folder(folder: str | pathlib.Path) -> pathlib.Path:
    """Create the folder of a bag."""
    path = new_folder(folder)
    try:
        path.mkdir(parents=True)
    except OSError as error:
        raise ParameterError(f'record {folder}: cannot be made: {error.strerror}') from None
    return path
