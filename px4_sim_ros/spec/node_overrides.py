# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Blocks of a user that run in place of those of the graph: `NAME=MODULE:CLASS`."""
from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
import typing

from px4_sim_ros.model.errors import ParameterError, did_you_mean, why_not_imported
from px4_sim_ros.step import graph
from px4_sim_ros.step.block import Block

_FORM = 'NAME=MODULE:CLASS'


def add_argument(parser: argparse.ArgumentParser) -> None:
    """Describe the option `--node`."""
    parser.add_argument(
        '--node', action='append', default=[], metavar=_FORM,
        help='run this block of yours in place of that of a node; can be given for several')


def parse(texts: typing.Iterable[str], names: typing.Collection[str]) -> dict[str, str]:
    """Return which classes run in place of blocks, as `module:Class` by name; import them."""
    own: dict[str, str] = {}
    for text in texts:
        match = re.fullmatch(r'(\w+)=([\w.]+):(\w+)', text)
        if match is None:
            raise ParameterError(f'node {text!r}: must be {_FORM}')
        name, module, class_name = match.groups()
        what = f"node {name} = '{module}:{class_name}'"
        if name in own:
            raise ParameterError(f"{what}: '{own[name]}' is in the place of {name} already")
        if name in names and not graph.spec_of(name).block:
            raise ParameterError(f'{what}: {name} is no block of the step and stays as it is')
        if name not in names:
            there = [other for other in names if graph.spec_of(other).block]
            raise ParameterError(f'{what}: there is no such node{did_you_mean(name, there)};'
                                 f" there are {', '.join(there)}")
        _check(what, name, module, class_name)
        own[name] = f'{module}:{class_name}'
    return own


def _check(what: str, name: str, module: str, class_name: str) -> None:
    """Check that a class can run in place of a block."""
    # Only `python -m` has put the current folder there.
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        found = importlib.import_module(module)
    except Exception as error:
        raise ParameterError(
            f'{what}: {module} cannot be imported from {os.getcwd()} or PYTHONPATH:'
            f' {why_not_imported(error)}') from error
    own_class = getattr(found, class_name, None)
    if own_class is None:
        raise ParameterError(f'{what}: there is no {class_name} in {found.__file__}')
    # A flight asks the bridge about its link.
    base = graph.load(graph.NODES[name].block) if name == 'hil_bridge' else Block
    if not (isinstance(own_class, type) and issubclass(own_class, base)):
        raise ParameterError(
            f'{what}: must be a subclass of {base.__module__}.{base.__name__}')


def arguments(own_classes: typing.Mapping[str, str], names: typing.Container[str]) -> list[str]:
    """Return the options about classes of the user for a process that runs some nodes."""
    return [word for name, own_class in own_classes.items() if name in names
            for word in ('--node', f'{name}={own_class}')]
