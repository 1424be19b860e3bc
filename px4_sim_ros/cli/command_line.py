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
from px4_sim_ros.cli import control, output
from px4_sim_ros.cli.arguments import ArgumentParser
from px4_sim_ros.cli.output import BAD_INPUT, FAILED, INTERRUPTED, UNREAD
from px4_sim_ros.model.errors import ParameterError, did_you_mean
from px4_sim_ros.process import gc_control, leaving, signals
from px4_sim_ros.spec.resources import named_files, own_arguments

# The commands in groups: what each is for, and an example.


class Command(typing.NamedTuple):
    """A command for a reader who does not know it."""

    purpose: str
    example: str               # its words


_STEERED = 'steer a flight that runs'
GROUPS: dict[str, dict[str, Command]] = {
    'fly': {
        'fly': Command('fly a mission from start to summary',
                       'fly --wind dryden --seed 7 --report flight.html'),
        'campaign': Command('fly a scenario many times while something varies in it',
                            'campaign wind_limit --runs 60'),
        'pilot': Command('fly a mission with an autopilot that runs already',
                         'pilot --mission square')},
    'look at a flight': {
        'report': Command('make a page about a recorded flight', 'report flights/one -o one.html'),
        'export': Command('write the signals of a recording as tables',
                          'export flights/one --format csv'),
        'compare': Command('compare two recordings', 'compare flights/one flights/two'),
        'replay': Command('fly the commands of a recording again',
                          'replay flights/one --set dynamics.integrator=rk45'),
        'refly': Command('fly the mission of a recording again, with its autopilot',
                         'refly flights/one --seed 8'),
        'view': Command('show a recording in Rerun', 'view flights/one'),
        'visualizer': Command('publish for rviz2 and other viewers what a graph does',
                              'visualizer')},
    _STEERED: {
        'pause': Command('hold time at the end of this step', 'pause'),
        'resume': Command('let time run again', 'resume'),
        'step': Command('take some steps while time is paused', 'step 250'),
        'reset': Command('begin again at time 0, with the same seed', 'reset'),
        'speed': Command('set simulated over wall time', 'speed 1'),
        'status': Command('print the state of the graph', 'status --json'),
        'stop': Command('take the graph down', 'stop'),
        'top': Command('show what the graph does, node by node', 'top'),
        'sensor': Command('start or stop a sensor, or ask for its status', 'sensor gps stop'),
        'vehicle': Command('add a vehicle of a fleet to the world, remove it, or start it again',
                           'vehicle add px4_4'),
        'fault': Command('do something to a flight with a scenario: a motor, a sensor, the wind,'
                         ' ...', 'fault motor_off motor=2')},
    'a vehicle and its numbers': {
        'check-vehicle': Command('what follows from a vehicle file', 'check-vehicle iris'),
        'validate': Command('fly a real flight through the model: how wrong is it',
                            'validate log.ulg --vehicle x500'),
        'identify': Command('numbers of a vehicle file from real flights',
                            'identify log.ulg --vehicle x500 --out my_x500.yaml')},
    'this machine, and what there is': {
        'doctor': Command('what this machine has for a flight, what it lacks, and what to do',
                          'doctor'),
        'list': Command('all that has a name: vehicles, missions, scenarios, scenes, actions,'
                        ' campaigns, ...', 'list scenarios'),
        'px4-msgs': Command('build px4_msgs for nodes in Python, from the messages of a PX4',
                            'px4-msgs my_msgs --px4 ~/PX4-Autopilot')}}

COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}
STEERING = GROUPS[_STEERED]
"""Those to a graph that runs, which are in `control`; any other has a module of its name."""


def overview() -> str:
    """Return the groups for the end of the help."""
    width = max(map(len, COMMANDS))
    lines = []
    for group, commands in GROUPS.items():
        lines += ['', f'{group}:', *(f'  {name:{width}}  {command.purpose}'
                                     for name, command in commands.items())]
    return '\n'.join([*lines, '', '`px4_sim_ros COMMAND --help` has the options of a command, and'
                      ' an example.'])


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
    except SystemExit as end:      # of the help and the version, or a command that is none
        code = end.code if isinstance(end.code, int) else 0
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
    parser, commands, module = _parser(_completed() if is_completing else own)
    if is_completing:
        _complete(parser)
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
        return output.failed(f'{options.command}: {where}'.removesuffix(': '), error, BAD_INPUT)
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


# Completion of commands, options and names in bash, zsh and fish, by argcomplete.

# Where a name of a kind is wanted.
_KINDS = {'vehicle': 'vehicles', 'mission': 'missions', 'scenario': 'scenarios',
          'scene': 'scenes', 'profile': 'profiles', 'fleet': 'fleets', 'words': 'campaigns'}


def _completed() -> list[str]:
    """Return the words after the name of the program on the line that is completed."""
    return os.environ.get('COMP_LINE', '').split()[1:]


def _complete(parser: argparse.ArgumentParser) -> typing.NoReturn:
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
        from argcomplete.completers import FilesCompleter
        return [*named_files(self._kind), *FilesCompleter(['yaml'])(prefix)]
