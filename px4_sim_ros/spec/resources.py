# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The package's own files, in a checkout or as installed, and reading YAML."""
from __future__ import annotations

import errno
import json
import os
import pathlib
import sys
import typing

import yaml

from px4_sim_ros import PACKAGE as PACKAGE
from px4_sim_ros.model.errors import ParameterError, check_installed, did_you_mean, shown
from px4_sim_ros.process.new_folder import try_to_make

# With libyaml, where it is, a vehicle file is read in a tenth of the time.
LOADER: typing.Any = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
DUMPER: typing.Any = getattr(yaml, 'CSafeDumper', yaml.SafeDumper)


# Bounds of a YAML file: deeper ones exhaust the stack of libyaml, and aliases multiply.
_MOST_BYTES = 4 << 20
_MOST_DEPTH = 50
_MOST_NODES = 200_000
_LARGEST_WHOLE = 1 << 63        # of ROS
_MOST_NAMES = 12                # in a sentence


class _Loader(LOADER):  # type: ignore[misc]
    """Reads YAML, but not a mapping with a key twice, and no dates: they stay texts.

    A value that its tag does not allow is an error with its place.
    """

    yaml_implicit_resolvers: typing.ClassVar = {
        first: [entry for entry in entries if not entry[0].endswith(':timestamp')]
        for first, entries in LOADER.yaml_implicit_resolvers.items()}

    def construct_object(self, node: yaml.Node, deep: bool = False) -> object:
        try:
            found = super().construct_object(node, deep)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise _no_value(node) from error
        if isinstance(found, int) and abs(found) > _LARGEST_WHOLE:
            raise yaml.constructor.ConstructorError(
                None, None, 'the whole number is beyond 64 bits', node.start_mark)
        return found

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:
        if not isinstance(node, yaml.MappingNode):        # but its tag says that it is one
            raise _no_value(node)
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(
                    None, None, 'a list or a mapping is no name', key.start_mark)
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f'{key.value} is given twice', key.start_mark)
            seen.add(key.value)
        mapping: dict[object, object] = super().construct_mapping(node, deep)
        return mapping


def _refuse_tag(loader: _Loader, node: yaml.Node) -> typing.NoReturn:
    tag = node.tag.replace('tag:yaml.org,2002:', '!!')
    raise yaml.constructor.ConstructorError(
        None, None, f'the tag {tag} is not allowed', node.start_mark)


_Loader.add_constructor(None, _refuse_tag)


def _no_value(node: yaml.Node) -> yaml.YAMLError:
    return yaml.constructor.ConstructorError(
        None, None, f"the value is no {node.tag.rpartition(':')[2]}", node.start_mark)


def config_directory() -> pathlib.Path:
    """Return the folder `config`, of the checkout that this runs from or of the installation."""
    checkout = pathlib.Path(__file__).resolve().parent.parent.parent
    if (checkout / 'package.xml').is_file():
        return checkout / 'config'
    # Installed by pip: no workspace is sourced.
    environment = pathlib.Path(sys.prefix)
    share = environment / 'share' / PACKAGE
    if checkout.is_relative_to(environment.resolve()) and (share / 'package.xml').is_file():
        return share / 'config'
    from ament_index_python.packages import get_package_share_directory
    return pathlib.Path(get_package_share_directory(PACKAGE)) / 'config'


def named_file(kind: str, name: str) -> pathlib.Path:
    """Return `config/<kind>/<name>.yaml`, or `name` itself when it is a path."""
    path = pathlib.Path(os.path.expanduser(name))
    if path.suffix or len(path.parts) > 1:
        return path
    files = named_files(kind)
    if name not in files:
        what = kind.removesuffix('s')
        there = (f"there are {', '.join(files)}" if len(files) <= _MOST_NAMES
                 else f'`list {kind}` prints all {len(files)}')
        raise ParameterError(f'{what} {shown(name)}: there is no such {what}'
                             f'{did_you_mean(name, files)}; {there}')
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
    """Check early that a file can be written, if one is wanted."""
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


def check_page(name: str, path: pathlib.Path | None) -> None:
    """Check early that a page can be written, if one is wanted."""
    if path is not None and path.suffix != '.html':
        raise ParameterError(f'{name} {path}: is a page; its name must end with .html')
    if path is not None:
        check_installed('plotly')
    check_writable(name, path)


def read_yaml(path: str | pathlib.Path, what: str) -> typing.Any:
    """Return the content of a YAML file."""
    return parse_yaml(read_text(path, what), f'{what} {path}', str(path))


def read_text(path: str | pathlib.Path, what: str) -> str:
    """Return the text of a file."""
    try:
        return decoded(first_bytes(pathlib.Path(os.path.expanduser(path))), f'{what} {path}')
    except OSError as error:
        raise ParameterError(f'{what} {path}: {error.strerror}') from error


def decoded(data: bytes, what: str) -> str:
    """Return the text that bytes are in UTF-8, without the mark that it may begin with."""
    check_size(data, what)
    try:
        return data.decode('utf-8-sig')
    except UnicodeDecodeError as error:
        line = data.count(b'\n', 0, error.start) + 1
        raise ParameterError(f'{what}: must be text in UTF-8; line {line} is none') from error


def first_bytes(file: pathlib.Path, most: int = _MOST_BYTES) -> bytes:
    """Return the bytes of a file, of one that has more than `most` one more.

    :raises OSError: it cannot be read, or is no regular file
    """
    check_regular(file)
    with file.open('rb') as opened:
        return opened.read(most + 1)


def check_regular(file: pathlib.Path) -> None:
    """Check that a file that is there is one of a disk: a pipe would be waited for.

    :raises OSError: it is another one
    """
    if file.exists() and not file.is_file() and not file.is_dir():
        raise OSError(errno.EINVAL, 'is no regular file', str(file))


def check_size(text: str | bytes, what: str, most: int = _MOST_BYTES) -> None:
    """Check how long a text is."""
    if len(text) > most:
        raise ParameterError(f'{what}: must be at most {most >> 20} MiB')


def parse_yaml(text: str | bytes, what: str, path: str = '') -> typing.Any:
    """Return the content of a YAML text."""
    if isinstance(text, bytes):
        text = decoded(text, what)
    check_size(text, what)
    try:
        _check_bounds(text)
        return yaml.load(text, _Loader)
    except yaml.YAMLError as error:
        place = f'in "{path}",' if path else 'at'
        reason = ' '.join(str(error).split()).replace('in "<unicode string>",', place)
        raise ParameterError(f'{what}: not YAML: {reason}') from error


def parse_json(text: str, what: str) -> typing.Any:
    """Return the content of a JSON text."""
    check_size(text, what)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:      # also of its place
        raise ParameterError(f'{what}: not JSON: {error}') from error


def _check_bounds(text: str) -> None:
    """Check how deep a text nests and how many values it has, before any is made."""
    sizes: dict[str | None, int] = {}         # of what anchors name
    nested: list[list[typing.Any]] = [['', 0]]      # anchor and size of what is open
    for event in yaml.parse(text, LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            nested.append([event.anchor, 1])
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, size = nested.pop()
            nested[-1][1] += size
            sizes[anchor] = size
        elif isinstance(event, yaml.AliasEvent):
            nested[-1][1] += sizes.get(event.anchor, _MOST_NODES)
        elif isinstance(event, yaml.ScalarEvent):
            nested[-1][1] += 1
            sizes[event.anchor] = 1
        if len(nested) > _MOST_DEPTH or nested[-1][1] > _MOST_NODES:
            raise yaml.composer.ComposerError(
                None, None, f'more than {_MOST_DEPTH} levels or {_MOST_NODES} values',
                typing.cast(yaml.Mark, event.start_mark))
