# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The package's own files, in a checkout or as installed, and reading YAML."""
from __future__ import annotations

import os
import pathlib
import sys
import tempfile
import typing

import yaml

from px4_sim_ros.model.errors import ParameterError, check_installed, did_you_mean

PACKAGE = 'px4_sim_ros'
# With libyaml, where it is, a vehicle file is read in a tenth of the time.
LOADER: typing.Any = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
DUMPER: typing.Any = getattr(yaml, 'CSafeDumper', yaml.SafeDumper)


class _UniqueKeys(LOADER):  # type: ignore[misc]
    """Refuses a mapping that says something twice, of which YAML would take the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:
        seen: set[str] = set()
        # A list or a mapping as a key is refused below.
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f'{key.value} is given twice', key.start_mark)
            seen.add(key.value)
        mapping: dict[object, object] = super().construct_mapping(node, deep)
        return mapping


def config_directory() -> pathlib.Path:
    """Return the folder `config`, of the checkout that this runs from or of the installation."""
    checkout = pathlib.Path(__file__).resolve().parent.parent.parent
    if (checkout / 'package.xml').is_file():
        return checkout / 'config'
    # Installed by pip: nobody has sourced a workspace.
    environment = pathlib.Path(sys.prefix)
    share = environment / 'share' / PACKAGE
    if checkout.is_relative_to(environment.resolve()) and (share / 'package.xml').is_file():
        return share / 'config'
    from ament_index_python.packages import get_package_share_directory
    return pathlib.Path(get_package_share_directory(PACKAGE)) / 'config'


def named_file(kind: str, name: str) -> pathlib.Path:
    """Return `config/<kind>/<name>.yaml`, or `name` itself when it is a path.

    :raises ParameterError: it is neither a path nor one of the names that there are
    """
    path = pathlib.Path(name).expanduser()
    if path.suffix or len(path.parts) > 1:
        return path
    files = named_files(kind)
    if name not in files:
        what = kind.removesuffix('s')
        raise ParameterError(f'{what} {name!r}: there is no such {what}'
                             f"{did_you_mean(name, files)}; there are {', '.join(files)}")
    return files[name]


def named_files(kind: str) -> dict[str, pathlib.Path]:
    """Return all files `config/<kind>/<name>.yaml` by their names."""
    return {path.stem: path for path in sorted((config_directory() / kind).glob('*.yaml'))}


def own_arguments(arguments: typing.Sequence[str]) -> list[str]:
    """Return the arguments before `--ros-args`.

    ros2 launch appends ROS arguments to every node, also to programs that need none.
    """
    arguments = list(arguments)
    if '--ros-args' not in arguments:
        return arguments
    return arguments[:arguments.index('--ros-args')]


def check_writable(name: str, path: pathlib.Path | None) -> None:
    """Check early that a file can be written, if one is wanted.

    :param name: of the option, for the error sentence
    :raises ParameterError: it cannot
    """
    if path is None:
        return
    folder = path.absolute().parent
    if os.path.isdir(path):
        raise ParameterError(f'{name} {path}: is a folder; name a file')
    if os.path.exists(path):
        if not os.access(path, os.W_OK):
            raise ParameterError(f'{name} {path}: exists and cannot be written; name another file')
    elif os.path.exists(folder) and not os.path.isdir(folder):
        raise ParameterError(f'{name} {path}: {folder} is no folder')
    elif not os.access(folder, os.W_OK | os.X_OK):
        raise ParameterError(f'{name} {path}: its folder is missing or cannot be written')
    else:
        try_to_make(f'{name} {path}', folder, lambda trial: (trial / path.name).touch())


def try_to_make(
    what: str, folder: pathlib.Path, make: typing.Callable[[pathlib.Path], object],
) -> None:
    """Make something within a folder, under a name of its own, and remove it again.

    :param what: the beginning of the error sentence
    :param make: makes it in the folder that it is given
    :raises ParameterError: it cannot be made; permissions do not say so for all file systems
    """
    try:
        with tempfile.TemporaryDirectory(dir=folder) as trial:
            make(pathlib.Path(trial))
    except OSError as error:
        raise ParameterError(f'{what}: cannot be made in {folder}: {error.strerror}') from None


def check_page(name: str, path: pathlib.Path | None) -> None:
    """Check early that a page can be written, if one is wanted.

    :param name: of the option, for the error sentence
    :raises ParameterError: it cannot, its name is not that of a page, or plotly is not installed
    """
    if path is not None and path.suffix != '.html':
        raise ParameterError(f'{name} {path}: is a page; its name must end with .html')
    if path is not None:
        check_installed('plotly')
    check_writable(name, path)


def read_yaml(path: str | pathlib.Path, what: str) -> typing.Any:
    """Return the content of a YAML file.

    :param what: the kind of file, for the error sentence
    :raises ParameterError: the file cannot be read or is no YAML
    """
    try:
        with open(pathlib.Path(path).expanduser(), encoding='utf-8') as file:
            return yaml.load(file, _UniqueKeys)
    except OSError as error:
        raise ParameterError(f'{what} {path}: {error.strerror}') from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        place = ' '.join(str(error).split())
        raise ParameterError(f'{what} {path}: not YAML: {place}') from error
