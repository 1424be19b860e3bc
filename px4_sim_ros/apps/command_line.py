"""The command line `python -m px4_sim_ros`."""
from __future__ import annotations

import argparse
import sys
import threading
import typing

from px4_sim_ros.apps import bench, check_vehicle, compare, control, fly, replay, report, visualizer
from px4_sim_ros.configuration import load_mission
from px4_sim_ros.core.parameters import ParameterError, sentence
from px4_sim_ros.mavlink.pilot import MissionError, Pilot
from px4_sim_ros.resources import own_arguments


def _pilot(options: argparse.Namespace, launched: bool) -> int:
    """Fly a mission with an autopilot that runs already.

    :param launched: by ros2 launch, where Ctrl-C is the ordinary end of every node
    """
    try:
        mission = load_mission(options.mission)
        progress = fly.Progress(mission.events)
        pilot = Pilot(options.instance, progress.show, threading.Event())
    except (ParameterError, OSError) as error:
        print(f'pilot: {sentence(error)}', file=sys.stderr)
        return 2
    try:
        pilot.fly(mission)
    except MissionError as error:
        print(f'pilot: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0 if launched else 130
    finally:
        progress.close()
        pilot.close()
    return 0


# Commands that are a function of the same name in a module of that name, with what they are for.
_COMMANDS = {
    'fly': (fly, 'fly a mission from start to summary'),
    'replay': (replay, 'fly a recording again, or play it'),
    'compare': (compare, 'compare two recordings, or the integrators'),
    'report': (report, 'make a page about a recorded flight'),
    'check-vehicle': (check_vehicle, 'what follows from a vehicle file'),
    'visualizer': (visualizer, 'publish for rviz2 and other viewers what a graph does'),
    'bench': (bench, 'measure how fast the modes are'),
}


def main(arguments: typing.Sequence[str] | None = None) -> int:
    """Run a command; return its exit code."""
    parser = argparse.ArgumentParser(prog='px4_sim_ros', description=__doc__)
    commands = parser.add_subparsers(dest='command', required=True, metavar='COMMAND')
    for name, (module, purpose) in _COMMANDS.items():
        module.add_arguments(commands.add_parser(name, help=purpose))
    pilot_parser = commands.add_parser(
        'pilot', help='fly a mission with an autopilot that runs already')
    pilot_parser.add_argument('--mission', default='square')
    pilot_parser.add_argument('--instance', type=int, default=0)
    control.add_parsers(commands)
    own, launched = own_arguments(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(own)
    if options.command in _COMMANDS:
        module, _ = _COMMANDS[options.command]
        return getattr(module, options.command.replace('-', '_'))(options)
    if options.command == 'pilot':
        return _pilot(options, launched)
    return control.run(options)
