"""The package's own files, in a checkout or as installed, and reading YAML."""
from __future__ import annotations

import os
import pathlib
import typing

import yaml

from px4_sim_ros.model.errors import ParameterError

PACKAGE = 'px4_sim_ros'
# With libyaml, where it is, a vehicle file is read in a tenth of the time.
_LOADER = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)


def config_directory() -> pathlib.Path:
    """Return the folder `config`, of the checkout that this runs from or of the installation."""
    checkout = pathlib.Path(__file__).resolve().parent.parent.parent
    if (checkout / 'package.xml').is_file():
        return checkout / 'config'
    from ament_index_python.packages import get_package_share_directory
    return pathlib.Path(get_package_share_directory(PACKAGE)) / 'config'


def named_file(kind: str, name: str) -> pathlib.Path:
    """Return `config/<kind>/<name>.yaml`, or `name` itself when it is a path."""
    path = pathlib.Path(name).expanduser()
    if path.suffix or len(path.parts) > 1:
        return path
    return config_directory() / kind / f'{name}.yaml'


def own_arguments(arguments: typing.Sequence[str]) -> tuple[list[str], bool]:
    """Return the arguments before `--ros-args`, and whether there were such.

    ros2 launch appends ROS arguments to every node, also to programs that need none.
    """
    arguments = list(arguments)
    if '--ros-args' not in arguments:
        return arguments, False
    return arguments[:arguments.index('--ros-args')], True


def check_writable(name: str, path: pathlib.Path | None) -> None:
    """Check early that a file can be written, if one is wanted.

    :param name: of the option, for the error sentence
    :raises ParameterError: it cannot
    """
    if path is not None and not os.access(path.absolute().parent, os.W_OK):
        raise ParameterError(f'{name} {path}: its folder is missing or cannot be written')


def read_yaml(path: str | pathlib.Path, what: str) -> typing.Any:
    """Return the content of a YAML file.

    :param what: the kind of file, for the error sentence
    :raises ParameterError: the file cannot be read or is no YAML
    """
    try:
        with open(pathlib.Path(path).expanduser(), encoding='utf-8') as file:
            return yaml.load(file, _LOADER)
    except OSError as error:
        raise ParameterError(f'{what} {path}: {error.strerror}') from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        place = ' '.join(str(error).split())
        raise ParameterError(f'{what} {path}: not YAML: {place}') from error
