# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command line `python -m px4_sim_ros`."""
from __future__ import annotations

import importlib
import sys
import types
import typing

from px4_sim_ros import __version__
from px4_sim_ros.cli import control, output
from px4_sim_ros.cli.arguments import ArgumentParser
from px4_sim_ros.cli.exit_codes import BAD_INPUT, FAILED, INTERRUPTED, UNREAD
from px4_sim_ros.model.errors import ParameterError, did_you_mean, sentence
from px4_sim_ros.process import gc_control, leaving, signals
from px4_sim_ros.spec.resources import own_arguments

# Commands that are a function of the same name in a module of that name, with what they are for.
COMMANDS = {
    'fly': 'fly a mission from start to summary',
    'replay': 'fly the commands of a recording again',
    'refly': 'fly the mission of a recording again, with its autopilot',
    'compare': 'compare two recordings',
    'campaign': 'fly a scenario many times while something varies in it',
    'validate': 'fly a real flight through the model: how wrong is it',
    'identify': 'numbers of a vehicle file from real flights',
    'export': 'write the signals of a recording as tables',
    'report': 'make a page about a recorded flight',
    'list': 'all that has a name: vehicles, missions, scenarios, actions, campaigns, ...',
    'check-vehicle': 'what follows from a vehicle file',
    'view': 'show a running graph or a recording in Rerun',
    'visualizer': 'publish for rviz2 and other viewers what a graph does',
    'pilot': 'fly a mission with an autopilot that runs already',
    'px4-msgs': 'build px4_msgs for nodes in Python, from the messages of a PX4',
}


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
    parser = ArgumentParser(prog='px4_sim_ros', description=__doc__)
    parser.add_argument('--version', action='version', version=f'px4_sim_ros {__version__}')
    commands = parser.add_subparsers(dest='command', required=True, metavar='COMMAND')
    module: types.ModuleType | None = None
    for name, purpose in COMMANDS.items():
        command = commands.add_parser(name, help=purpose)
        # A module takes a while to load, and the others are not needed.
        if own[:1] == [name]:
            module = importlib.import_module(f'px4_sim_ros.cli.{_function(name)}')
            module.add_arguments(command)
    control.add_parsers(commands)
    if own and not own[0].startswith('-') and own[0] not in commands.choices:
        parser.error(f'{own[0]}: no such command' + did_you_mean(own[0], commands.choices))
    options, unknown = parser.parse_known_args(own)
    if unknown:
        commands.choices[options.command].refuse(unknown)
    options.ros_arguments = arguments[len(own):]
    gc_control.release()
    carry_out = control.run if module is None else getattr(module, _function(options.command))
    try:
        with output.input_warnings_reported():
            code: int = carry_out(options)
    except ParameterError as error:
        return output.failed(options.command, error, BAD_INPUT)
    except OSError as error:
        where = f'{error.filename}: ' if error.filename else ''
        print(f'{options.command}: {where}{sentence(error)}', file=sys.stderr)
        return BAD_INPUT
    return code


def _function(command: str) -> str:
    return command.replace('-', '_')
