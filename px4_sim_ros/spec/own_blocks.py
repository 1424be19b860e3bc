# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Blocks of the user's that a vehicle file adds to the step: its section `blocks`."""
from __future__ import annotations

import os
import pathlib
import re
import sys
import typing

from px4_sim_ros.model.errors import ParameterError, shown, within
from px4_sim_ros.model.own_blocks import Entry, OwnBlockRow, read_entries
from px4_sim_ros.step import graph, side_topics


def in_folder(entries: typing.Iterable[Entry], folder: pathlib.Path) -> tuple[Entry, ...]:
    """Return blocks whose files are looked for in the folder of the file that names them."""
    return tuple({**entry, 'class': str(folder / entry['class'])}
                 if entry['class'].partition(':')[0].endswith('.py') else entry
                 for entry in entries)


def found_anywhere(
    owner: str, content: typing.Any, folder: pathlib.Path = pathlib.Path(),
) -> typing.Any:
    """Return the content of a file whose blocks are flown from another folder.

    :param folder: of that file
    """
    if not isinstance(content, dict) or 'blocks' not in content:
        return content
    entries = read_entries(f'{owner}: blocks', content['blocks'])
    return {**content, 'blocks': [*map(dict, in_folder(
        entries, pathlib.Path(os.path.abspath(folder))))]}


def rows_of(
    entries: typing.Mapping[str, typing.Iterable[Entry]],
    settings: typing.Callable[[str], typing.Mapping[str, typing.Any]] = lambda name: {},
) -> tuple[OwnBlockRow, ...]:
    """Import the classes of blocks; return their rows.

    :param entries: by what to call their file in an error sentence
    :param settings: returns what is laid over what the files say, by the name of a block
    :raises ParameterError: naming the block and what is allowed
    """
    rows: list[OwnBlockRow] = []
    for owner, of_file in entries.items():
        with within(owner):
            for entry in of_file:
                rows.append(_row(entry, rows))
    for i, entry in enumerate(found for of_file in entries.values() for found in of_file):
        if given := settings(rows[i].name):
            rows[i] = _row(entry, [*rows[:i], *rows[i + 1:]], given)
    return tuple(rows)


def _row(
    entry: Entry, others: typing.Sequence[OwnBlockRow],
    settings: typing.Mapping[str, typing.Any] | None = None,
) -> OwnBlockRow:
    rest = dict(entry)
    path = rest.pop('class')
    name = str(rest.pop('name', _name_of(path)))
    rest |= settings or {}
    row: OwnBlockRow = _class(f'block {name}: class', path).row(name, path, rest)
    for key, text in ('name', row.name), ('topic', row.topic):
        taken = (text in side_topics.BESIDE or text in side_topics.VIEWED) and key == 'topic'
        if taken or any(getattr(other, key) == text for other in others):
            raise ParameterError(
                f'block {name}: {key} = {shown(text)}: must be one that no other has')
    return row


def _name_of(path: str) -> str:
    """Return the name of a class as one of a node: `SunSensor` becomes `sun_sensor`."""
    return re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '_', path.rpartition(':')[2]).lower()


def _class(owner: str, path: str) -> typing.Any:
    if not re.fullmatch(r'.+:\w+', path):
        raise ParameterError(f'{owner} = {shown(path)}: must be file.py:Class or module:Class')
    # Only `python -m` has put the current folder there.
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    found = graph.own_block_class(owner, path)
    # It is in a room above this one.
    if not (isinstance(found, type) and 'OwnBlock' in [its.__name__ for its in found.__mro__[1:]]):
        raise ParameterError(f'{owner} = {shown(path)}: must be a subclass of px4_sim_ros.OwnBlock')
    return found
