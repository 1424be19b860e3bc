# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command line `python -m px4_sim_ros`."""
from __future__ import annotations

import argparse
import importlib
import os
import sys
import types
import typing

from px4_sim_ros import __version__
from px4_sim_ros.cli import completion, control, output
from px4_sim_ros.cli.arguments import ArgumentParser
from px4_sim_ros.cli.commands import COMMANDS, STEERING, overview
from px4_sim_ros.cli.exit_codes import BAD_INPUT, FAILED, INTERRUPTED, UNREAD
from px4_sim_ros.model.errors import ParameterError, did_you_mean, sentence
from px4_sim_ros.process import gc_control, leaving, signals
from px4_sim_ros.spec.resources import own_arguments


def main(arguments: typing.Sequence[str] | None = None) -> int:
    """Run a command; return its exit code.

    :param arguments: those of the process when None; then signals and output are its own as well
    """
    return leaving.run(_main) if arguments is None else _run(list(arguments))


def _main() -> int:
    output.watch()
    try:
        signals.raise_interrupt()
        try:
            with signals.unwrapped():
                code = _run(sys.argv[1:])
        finally:
            output.flush()
    except KeyboardInterrupt:      # before or after what a command takes care of
        code = INTERRUPTED
    if output.is_unread():
        return UNREAD
    return code or FAILED if output.report_failures() else code


def _run(arguments: list[str]) -> int:
    own = own_arguments(arguments)
    for argument in own:
        # It becomes part of recordings, summaries and pages.
        if not argument.isascii() and any('\ud800' <= c <= '\udfff' for c in argument):
            print(f'px4_sim_ros: argument {argument!r}: is no {sys.getfilesystemencoding()}',
                  file=sys.stderr)
            return BAD_INPUT
    is_completing = '_ARGCOMPLETE' in os.environ        # set by the shell's hook
    parser, commands, module = _parser(completion.words() if is_completing else own)
    if is_completing:
        completion.complete(parser)
    if own and not own[0].startswith('-') and own[0] not in commands.choices:
        parser.error(f'{own[0]}: no such command' + did_you_mean(own[0], commands.choices))
    options, unknown = parser.parse_known_args(own)
    if unknown:
        commands.choices[options.command].refuse(unknown)
    options.ros_arguments = arguments[len(own):]
    gc_control.release()
    carry_out = control.run if module is None else getattr(module, _function(options.command))
    try:
        with output.input_warnings_reported(), output.json_alone(options):
            code: int = carry_out(options)
    except ParameterError as error:
        return output.failed(options.command, error, BAD_INPUT)
    except OSError as error:
        where = f'{error.filename}: ' if error.filename else ''
        print(f'{options.command}: {where}{sentence(error)}', file=sys.stderr)
        return BAD_INPUT
    return code


def _parser(words: typing.Sequence[str]) -> tuple[
        ArgumentParser, typing.Any, types.ModuleType | None]:
    """Return the parser, its commands, and the module of the one that words begin with."""
    parser = ArgumentParser(
        prog='px4_sim_ros', description='The world around a PX4 autopilot, in lockstep.',
        formatter_class=argparse.RawDescriptionHelpFormatter, epilog=overview())
    parser.add_argument('--version', action='version', version=f'px4_sim_ros {__version__}')
    commands = parser.add_subparsers(
        dest='command', required=True, metavar='COMMAND', help='one of those below')
    parsers = {name: commands.add_parser(
        name, description=f'{command.purpose[0].upper()}{command.purpose[1:]}.',
        epilog=f'example: px4_sim_ros {command.example}')
        for name, command in COMMANDS.items()}
    control.add_arguments({name: parsers[name] for name in STEERING})
    module: types.ModuleType | None = None
    # A module takes a while to load, and the others are not needed.
    if words and words[0] in COMMANDS.keys() - STEERING.keys():
        module = importlib.import_module(f'px4_sim_ros.cli.{_function(words[0])}')
        module.add_arguments(parsers[words[0]])
    return parser, commands, module


def _function(command: str) -> str:
    return command.replace('-', '_')
