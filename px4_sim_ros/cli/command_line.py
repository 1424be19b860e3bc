"""The command line `python -m px4_sim_ros`."""
from __future__ import annotations

import argparse
import contextlib
import importlib
import sys
import threading
import typing

from px4_sim_ros.cli import control
from px4_sim_ros.cli.progress import Progress
from px4_sim_ros.config.configuration import load_mission
from px4_sim_ros.config.resources import own_arguments
from px4_sim_ros.mavlink.pilot import Event, MissionError, Pilot
from px4_sim_ros.model.errors import ParameterError, sentence


def _pilot(options: argparse.Namespace, ros_arguments: typing.Sequence[str]) -> int:
    """Fly a mission with an autopilot that runs already.

    :param ros_arguments: if there are any, it is beside a graph and tells that what it does
    """
    with contextlib.ExitStack() as stack:
        voice = stack.enter_context(_ros_voice(ros_arguments)) if ros_arguments else None
        return _fly_pilot(options, voice)


@contextlib.contextmanager
def _ros_voice(ros_arguments: typing.Sequence[str]) -> typing.Iterator[typing.Any]:
    import rclpy
    from rclpy.signals import SignalHandlerOptions

    from px4_sim_ros.ros.pilot_publisher import PilotVoice
    rclpy.init(args=list(ros_arguments), signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node('pilot')
    try:
        yield PilotVoice(node)
    finally:
        node.destroy_node()
        rclpy.shutdown()


def _fly_pilot(options: argparse.Namespace, voice: typing.Any) -> int:
    try:
        mission = load_mission(options.mission)
        progress = Progress(mission.events)

        def report(event: Event) -> None:
            progress.show(event)
            if voice is not None:
                voice.say(event.text)

        pilot = Pilot(options.instance, report, threading.Event(),
                      *([voice.show] if voice is not None else []))
    except (ParameterError, OSError) as error:
        print(f'pilot: {sentence(error)}', file=sys.stderr)
        return 2
    try:
        pilot.fly(mission)
    except MissionError as error:
        print(f'pilot: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        # Under ros2 launch Ctrl-C is the ordinary end of every node.
        return 130 if voice is None else 0
    finally:
        progress.close()
        pilot.close()
    return 0


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
}


def main(arguments: typing.Sequence[str] | None = None) -> int:
    """Run a command; return its exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    own, launched = own_arguments(arguments)
    parser = argparse.ArgumentParser(prog='px4_sim_ros', description=__doc__)
    commands = parser.add_subparsers(dest='command', required=True, metavar='COMMAND')
    module: typing.Any = None
    for name, purpose in _COMMANDS.items():
        command = commands.add_parser(name, help=purpose)
        # A module takes a while to load, and the others are not needed.
        if own[:1] == [name]:
            module = importlib.import_module(f'px4_sim_ros.cli.{_function(name)}')
            module.add_arguments(command)
    pilot_parser = commands.add_parser(
        'pilot', help='fly a mission with an autopilot that runs already')
    pilot_parser.add_argument('--mission', default='square')
    pilot_parser.add_argument('--instance', type=int, default=0)
    control.add_parsers(commands)
    options = parser.parse_args(own)
    if module is not None:
        return getattr(module, _function(options.command))(options)
    if options.command == 'pilot':
        return _pilot(options, arguments[len(own):] if launched else ())
    return control.run(options)


def _function(command: str) -> str:
    return command.replace('-', '_')
