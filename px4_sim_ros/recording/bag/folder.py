"""The folder of a new recording."""
from __future__ import annotations

import os
import pathlib

from px4_sim_ros.model.errors import ParameterError


def new_folder(folder: str | pathlib.Path) -> pathlib.Path:
    """Return the absolute path of a bag that can be created; nothing is created yet.

    :raises ParameterError: the folder exists, or cannot be made
    """
    path = pathlib.Path(os.path.abspath(pathlib.Path(folder).expanduser()))
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
    parent = next(parent for parent in path.parents if parent.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise ParameterError(f'record {folder}: nothing can be made in {parent}')
    return path


def make_folder(folder: str | pathlib.Path) -> pathlib.Path:
    """Create the folder of a bag.

    :raises ParameterError: it exists, or cannot be made
    """
    path = new_folder(folder)
    try:
        path.mkdir(parents=True)
    except OSError as error:
        raise ParameterError(f'record {folder}: cannot be made: {error.strerror}') from None
    return path
