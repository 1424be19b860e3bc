# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Completion of commands, options and names in bash, zsh and fish, by argcomplete."""
from __future__ import annotations

import argparse
import os
import typing

from px4_sim_ros.spec.resources import named_files

# Where a name of a kind is wanted.
_KINDS = {'vehicle': 'vehicles', 'mission': 'missions', 'scenario': 'scenarios',
          'profile': 'profiles', 'fleet': 'fleets', 'words': 'campaigns'}


def words() -> list[str]:
    """Return the words after the name of the program on the line that is completed."""
    return os.environ.get('COMP_LINE', '').split()[1:]


def complete(parser: argparse.ArgumentParser) -> typing.NoReturn:
    """Write the completions for the shell, and end."""
    import argcomplete
    for action in _actions(parser):
        if action.dest in _KINDS:
            action.completer = _Names(_KINDS[action.dest])      # type: ignore[attr-defined]
    argcomplete.autocomplete(parser)
    raise SystemExit(1)


def _actions(parser: argparse.ArgumentParser) -> typing.Iterator[argparse.Action]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)
        else:
            yield action


class _Names:
    """Names of a kind, and files."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def __call__(self, prefix: str, **_: typing.Any) -> list[str]:
        """Return the completions of a prefix."""
        from argcomplete.completers import FilesCompleter
        return [*named_files(self._kind), *FilesCompleter(['yaml'])(prefix)]
