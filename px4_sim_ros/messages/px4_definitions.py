# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Definitions of PX4's messages: from the sources of the PX4 that flies, or px4_msgs."""
from __future__ import annotations

import os
import pathlib
import re
import typing

from px4_sim_ros.model.errors import ParameterError

PACKAGE = 'px4_msgs'
_SEPARATOR = '=' * 80 + '\n'
_FIELD = re.compile(r'([\w/]+)(\[\d*\])?\s+\w+\s*$')
_PRIMITIVE = re.compile(r'(u?int(8|16|32|64)|float(32|64)|bool|char|byte|w?string)$')


def installed_folder() -> pathlib.Path | None:
    """Return the folder of the definitions of an installed px4_msgs, None without one."""
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        folder = pathlib.Path(prefix) / 'share' / PACKAGE / 'msg'
        if prefix and folder.is_dir():
            return folder
    return None


class Px4Definitions:
    def __init__(self, folder: str) -> None:
        """Look for them.

        :param folder: where the .msg files are; '' for those of an installed px4_msgs
        """
        self.folder = pathlib.Path(folder) if folder else installed_folder()
        self._texts: dict[str, str] = {}

    def know(self, type_name: str, text: str) -> None:
        """Take a definition with all that it refers to from elsewhere."""
        self._texts[type_name] = text

    def lines(self, name: str) -> tuple[str, ...]:
        """Return fields and constants of a message.

        :param name: without the package
        :raises ParameterError: it is not known
        """
        folders = () if self.folder is None else (self.folder, self.folder / 'versioned')
        for path in (folder / f'{name}.msg' for folder in folders):
            if path.is_file():
                return _lines(path.read_text('utf-8', 'replace'))
        where = self.folder or 'an installed px4_msgs'
        raise ParameterError(f'message {name!r}: must be one of those in {where}')

    def with_parts(self, name: str) -> list[str]:
        """Return a message and those that its fields are of.

        :raises ParameterError: one of them is not known
        """
        found, wanted = [], [name]
        while wanted:
            name = wanted.pop(0)
            if name not in found:
                found.append(name)
                wanted += references(self.lines(name))
        return found

    def text(self, type_name: str) -> str:
        """Return a definition with all that it refers to (`ros2msg`), '' if it is not known."""
        if type_name not in self._texts:
            self._texts[type_name] = self._text(type_name)
        return self._texts[type_name]

    def type_hash(self, type_name: str) -> str:
        """Return the hash of a type by REP-2011 (`RIHS01_...`), '' if it is not known."""
        text = self.text(type_name)
        return str(store_of({type_name: text}).hash_rihs01(type_name)) if text else ''

    def services(self) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
        """Return the fields of request and response of each service, by name."""
        found = {}
        for path in sorted((self.folder.parent / 'srv').glob('*.srv')) if self.folder else ():
            request, _, response = path.read_text('utf-8', 'replace').partition('---')
            found[path.stem] = _lines(request), _lines(response)
        return found

    def service_bytes(self, type_name: str) -> tuple[int, int] | None:
        """Return how long request and response of a service are as CDR; None: it is not known.

        All messages of PX4 have a fixed length.
        """
        name = type_name.rpartition('/')[2]
        try:
            texts = {f'{PACKAGE}/msg/{name}_{i}': self._with_others(lines)
                     for i, lines in enumerate(self.services()[name])}
        except (KeyError, ParameterError):
            return None
        store = store_of(texts)
        request, response = (_end(store, name, 0) for name in texts)
        return request, response

    def _text(self, type_name: str) -> str:
        package, _, name = type_name.partition('/msg/')
        if package != PACKAGE:
            return ''
        try:
            return self._with_others(self.lines(name))
        except ParameterError:
            return ''

    def _with_others(self, lines: typing.Iterable[str]) -> str:
        """Return lines with the definitions that they refer to (`ros2msg`).

        :raises ParameterError: one of them is not known
        """
        lines = tuple(lines)
        others = dict.fromkeys(part for its in references(lines) for part in self.with_parts(its))
        return _text(lines) + ''.join(
            f'{_SEPARATOR}MSG: {PACKAGE}/{other}\n{_text(self.lines(other))}' for other in others)


def store_of(definitions: typing.Mapping[str, str]) -> typing.Any:
    """Return a decoder of messages, given the definitions of types as `ros2msg`."""
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore
    store = get_typestore(Stores.EMPTY)
    for name, text in definitions.items():
        store.register(get_types_from_msg(text, name))
    return store


def _lines(text: str) -> tuple[str, ...]:
    """Return the lines of a definition without comments."""
    return tuple(filter(None, (line.partition('#')[0].strip() for line in text.splitlines())))


_BYTES = {'bool': 1, 'byte': 1, 'char': 1, 'octet': 1, 'int8': 1, 'uint8': 1, 'int16': 2,
          'uint16': 2, 'int32': 4, 'uint32': 4, 'float32': 4, 'int64': 8, 'uint64': 8, 'float64': 8}


def _end(store: typing.Any, name: str, at: int) -> int:
    """Return where a message of a fixed length ends as CDR, given where it begins."""
    from rosbags.interfaces import Nodetype
    for _, (kind, its) in store.fielddefs[name][1]:
        count = 1
        if kind == Nodetype.ARRAY:
            (kind, its), count = its
        for _ in range(count):
            if kind == Nodetype.NAME:
                at = _end(store, its, at)
            else:
                size = _BYTES[its[0]]
                at += -at % size + size
    return at


def _text(lines: typing.Iterable[str]) -> str:
    """Return lines with the fields first, where some tools look for them."""
    return ''.join(f'{line}\n' for line in sorted(lines, key=lambda line: '=' in line))


def references(lines: typing.Iterable[str]) -> list[str]:
    """Return the names of other messages that fields are of."""
    found = (_FIELD.match(line) for line in lines if '=' not in line)
    return [match[1].rpartition('/')[2] for match in found
            if match and not _PRIMITIVE.match(match[1])]
