# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Parameters from the command line: `--set wind.speed_m_s=8`, `--wind dryden`, `--vehicle x500`."""
from __future__ import annotations

import argparse
import contextlib
import typing

from px4_sim_ros.model.environment.wind import WIND_CHOICES
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.spec.parameter_files import Settings as Settings
from px4_sim_ros.spec.parameter_files import node_and_key
from px4_sim_ros.spec.resources import parse_yaml


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options that set parameters."""
    parser.add_argument('--vehicle', help='name in config/vehicles, or a path')
    parser.add_argument('--wind', help=f"model of the wind: {', '.join(WIND_CHOICES)}; its"
                        ' parameters are those of the node wind')
    parser.add_argument('--scene', help='name in config/scenes, or a path: what stands in the'
                        ' world')
    parser.add_argument('--profile', default='', help='how good the sensors are: name in'
                        ' config/profiles, or a path')
    parser.add_argument('--set', action='append', default=[], metavar='[NODE.]PARAMETER=VALUE',
                        help='set any parameter, for example wind.speed_m_s=8; may be repeated')


def settings(options: argparse.Namespace) -> Settings:
    """Return the parameters that these options set."""
    given = {'vehicle': options.vehicle, 'wind': options.wind, 'scene': options.scene}
    found: Settings = {'': {k: v for k, v in given.items() if v is not None}}
    for text in options.set:
        name, equals, value = text.partition('=')
        if not equals or not name:
            raise ParameterError(f'set {text!r}: must be [NODE.]PARAMETER=VALUE')
        node, key = node_and_key(f'set {text!r}', name)
        found.setdefault(node, {})[key] = _value(text, value)
    return found


def _value(text: str, value: str) -> typing.Any:
    # YAML takes 4e-8 for a text.
    for number in int, float:
        with contextlib.suppress(ValueError):
            return number(value)
    return parse_yaml(value, f'set {text!r}')
