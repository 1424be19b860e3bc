"""The command line `python -m px4_sim_ros`."""
from __future__ import annotations

import argparse
import importlib
import sys
import types
import typing

from px4_sim_ros.cli import control
from px4_sim_ros.config.resources import own_arguments

# Commands that are a function of the same name in a module of that name, with what they are for.
_COMMANDS = {
    'fly': 'fly a mission from start to summary',
    'replay': 'fly a recording again, or play it',
    'compare': 'compare two recordings, or the integrators',
    'report': 'make a page about a recorded flight',
    'check-vehicle': 'what follows from a vehicle file',
    'view': 'show a running graph or a recording in Rerun',
    'visualizer': 'publish for rviz2 and other viewers what a graph does',
    'bench': 'measure how fast the modes are',
    'pilot': 'fly a mission with an autopilot that runs already',
}


def main(arguments: typing.Sequence[str] | None = None) -> int:
    """Run a command; return its exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    own, _ = own_arguments(arguments)
    parser = argparse.ArgumentParser(prog='px4_sim_ros', description=__doc__)
    commands = parser.add_subparsers(dest='command', required=True, metavar='COMMAND')
    module: types.ModuleType | None = None
    for name, purpose in _COMMANDS.items():
        command = commands.add_parser(name, help=purpose)
        # A module takes a while to load, and the others are not needed.
        if own[:1] == [name]:
            module = importlib.import_module(f'px4_sim_ros.cli.{_function(name)}')
            module.add_arguments(command)
    control.add_parsers(commands)
    options = parser.parse_args(own)
    options.ros_arguments = arguments[len(own):]
    if module is not None:
        return getattr(module, _function(options.command))(options)
    return control.run(options)


def _function(command: str) -> str:
    return command.replace('-', '_')
