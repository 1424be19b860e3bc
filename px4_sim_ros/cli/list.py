# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command `list`: all that has a name: vehicles, missions, scenarios, actions and more."""
from __future__ import annotations

import argparse
import pathlib
import re
import typing

from px4_sim_ros.spec.resources import named_files

_ACTIONS = 'actions'             # which have no files
_KINDS = 'vehicles', 'profiles', 'missions', 'scenarios', 'scenes', _ACTIONS, 'fleets', 'campaigns'
_COMMAND = 'campaigns'           # which is no option of `fly`


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.add_argument('kind', nargs='?', choices=_KINDS, help='all by default')


class ListAction(argparse.Action):
    """An option that prints all names, and ends as `--help` does."""

    def __init__(self, option_strings: typing.Sequence[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS,
                         help='print the names of vehicles, missions, ..., and end')

    def __call__(self, parser: argparse.ArgumentParser, *parsed: typing.Any) -> None:
        """Print, and end."""
        _print(_KINDS)
        parser.exit()


def list(options: argparse.Namespace) -> int:
    """Print the names with a line about each; return the exit code."""
    _print([options.kind] if options.kind else _KINDS)
    return 0


def _print(kinds: typing.Sequence[str]) -> None:
    for kind in kinds:
        lines = _actions() if kind == _ACTIONS else {
            name: about(path) for name, path in named_files(kind).items()}
        width = max(map(len, lines))
        print(f'{kind}, for {_use(kind)}')
        for name, text in lines.items():
            print(f'  {name:{width}}  {text}')


def _use(kind: str) -> str:
    """Return where the names of a kind are used."""
    if kind == _ACTIONS:
        return 'events of scenarios'
    return f"{'' if kind == _COMMAND else '--'}{kind.removesuffix('s')}"


def _actions() -> dict[str, str]:
    from px4_sim_ros.model.faults.actions import ACTIONS, meaning
    return {name: meaning(action) for name, action in ACTIONS.items()}


def about(path: pathlib.Path) -> str:
    """Return the first sentence of the comment at the head of a file."""
    comment = re.match(r'(#.*\n)*', path.read_text(encoding='utf-8'))
    text = ' '.join(line.lstrip('# ') for line in comment[0].splitlines()) if comment else ''
    return text.partition('. ')[0].removesuffix('.')
