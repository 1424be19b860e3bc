# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the command lines have in common: errors of one sentence, and types of options."""
from __future__ import annotations

import argparse
import contextlib
import re
import typing

from px4_sim_ros.cli.output import BAD_INPUT
from px4_sim_ros.link.hil.link_state import HilParameters
from px4_sim_ros.model.errors import did_you_mean, one_line
from px4_sim_ros.model.parameters import range_text
from px4_sim_ros.spec.run_parameters import SPEEDS, is_speed
from px4_sim_ros.step import pacing


class ArgumentParser(argparse.ArgumentParser):
    """Refuses in one sentence, and says where help is."""

    def error(self, message: str) -> typing.NoReturn:
        """End with a sentence."""
        name = self.prog.split()[-1]
        for kind, allowed in ('float', 'a number'), ('int', 'a whole number'):
            message = re.sub(f"invalid {kind} value: ('.*')$", rf'\1: must be {allowed}', message)
        self.exit(BAD_INPUT, one_line(
            f"{name}: {message.removeprefix('argument ')}; `python -m {self.prog} --help` says what"
            ' there is') + '\n')

    def _check_value(self, action: argparse.Action, value: typing.Any) -> None:
        """Refuse a value that is none of the choices, as parameters are refused."""
        if action.choices is not None and value not in action.choices:
            choices = [str(choice) for choice in action.choices]
            raise argparse.ArgumentError(
                action, f"{value!r}: must be one of {', '.join(choices)}"
                f'{did_you_mean(str(value), choices)}')

    def refuse(self, words: typing.Sequence[str]) -> typing.NoReturn:
        """End with a sentence about arguments that the command does not take."""
        wrong = next((word for word in words if word.startswith('-')), words[0])
        if not wrong.startswith('-'):
            self.error(f'{wrong}: one argument too many')
        option = wrong.partition('=')[0]
        self.error(f'{option}: no such option'
                   + did_you_mean(option, self._option_string_actions))


def speed_factor(text: str) -> float:
    """Return a speed factor; `max` is 0, as fast as possible."""
    with contextlib.suppress(ValueError):
        if is_speed(factor := pacing.speed_factor(text)):
            return factor
    raise argparse.ArgumentTypeError(f'{text!r}: must be a number, {SPEEDS}, or max')


def instance(text: str) -> int:
    """Return an instance of PX4, which gives the ports."""
    allowed = HilParameters.infos()['instance']
    with contextlib.suppress(ValueError):
        if allowed['minimum'] <= (number := int(text)) <= allowed['maximum']:
            return number
    raise argparse.ArgumentTypeError(
        f'{text!r}: must be a whole number, {range_text(allowed)}')


# Topics have their names behind it; ROS refuses more than 244 characters, not without a word more.
_LONGEST_NAMESPACE = 100


def namespace(text: str) -> str:
    """Return a namespace of ROS without the slashes around it."""
    name = text.strip('/')
    if name and not (len(name) <= _LONGEST_NAMESPACE and re.fullmatch(
            r'[A-Za-z_]\w*(/[A-Za-z_]\w*)*', name, re.ASCII)):
        raise argparse.ArgumentTypeError(f'{text!r}: must be a ROS namespace such as uav1')
    return name
