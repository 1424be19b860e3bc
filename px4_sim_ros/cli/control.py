# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Commands to a graph that runs: time, sensors, status."""
from __future__ import annotations

import argparse
import contextlib
import json
import re
import typing

from px4_sim_ros.cli import output
from px4_sim_ros.cli.arguments import namespace, speed_factor
from px4_sim_ros.cli.output import FAILED
from px4_sim_ros.model.errors import ParameterError, did_you_mean
from px4_sim_ros.process import signals
from px4_sim_ros.spec.resources import parse_yaml
from px4_sim_ros.step import graph

if typing.TYPE_CHECKING:
    # Needs rclpy, which the mode core of `fly` does without.
    from px4_sim_ros.ros.tools.control_client import Control

_ANSWER_TIMEOUT_S = 5.0
_RESET_TIMEOUT_S = 60.0
_END_TIMEOUT_S = 20.0
_FAILURES = 'OVERDUE', 'STOPPED'
_JUDGED = 'status', 'reset', 'pause', 'resume'
_MOST_STEPS = 10**9
# The name that a block of the user's may have.
_ADDED = re.compile(r'[a-z][a-z0-9_]*(?<!_[0-9])')


def _pause(control: Control, options: argparse.Namespace) -> None:
    control.ask('pause')
    control.wait_for(
        lambda: control.state != 'RUNNING', _ANSWER_TIMEOUT_S, 'time still runs')


def _resume(control: Control, options: argparse.Namespace) -> None:
    control.ask('resume')
    control.wait_for(
        lambda: control.state != 'PAUSED', _ANSWER_TIMEOUT_S, 'time still stands')


def _step(control: Control, options: argparse.Namespace) -> None:
    control.take_steps(options.count)


def _reset(control: Control, options: argparse.Namespace) -> None:
    resets = control.status.resets
    control.ask('reset')
    control.wait_for(
        lambda: control.status.resets > resets and control.state != 'RESETTING',
        _RESET_TIMEOUT_S, f'the reset has not come to an end within {_RESET_TIMEOUT_S:g} s')


def _speed(control: Control, options: argparse.Namespace) -> None:
    control.set('speed_factor', options.factor)


def _show(control: Control, options: argparse.Namespace) -> None:
    _ = control.status


def _stop(control: Control, options: argparse.Namespace) -> None:
    control.stop(_END_TIMEOUT_S)


def _sensor(control: Control, options: argparse.Namespace) -> None:
    print(f'{options.name} is {control.sensor(options.name, options.verb).state}')


def _vehicle(control: Control, options: argparse.Namespace) -> None:
    print(control.vehicle(options.verb, options.name))


def _fault(control: Control, options: argparse.Namespace) -> None:
    event: dict[str, typing.Any] = {options.action: dict(options.parameters)}
    for key in 'name', 'for_s', 'refused':
        if getattr(options, key) is not None:
            event[key] = getattr(options, key)
    print(control.fault(json.dumps(event, default=str), options.vehicle))


def _parameter(text: str) -> tuple[str, typing.Any]:
    name, equals, value = text.partition('=')
    if not equals or not name:
        raise argparse.ArgumentTypeError(f'{text!r}: must be PARAMETER=VALUE')
    try:
        return name, parse_yaml(value, repr(text))
    except ParameterError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


_VERBS: dict[str, typing.Callable[[Control, argparse.Namespace], None]] = {
    'pause': _pause, 'resume': _resume, 'step': _step, 'reset': _reset, 'speed': _speed,
    'status': _show, 'stop': _stop, 'sensor': _sensor, 'vehicle': _vehicle, 'fault': _fault}


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_STEPS:
        raise argparse.ArgumentTypeError(
            f'{text!r}: must be a whole number, at least 1 and at most {_MOST_STEPS}')
    return int(text)


def _sensor_name(text: str) -> str:
    # A block that is added may have any other name; the graph that runs knows them.
    if graph.spec_of(text).model if graph.is_node(text) else _ADDED.fullmatch(text):
        return text
    raise argparse.ArgumentTypeError(
        f'{text}: no such sensor{did_you_mean(text, _sensors())};'
        f" there are {', '.join(_sensors())} and further ones such as imu_1")


def _action(text: str) -> str:
    # They take a while to load, and other commands do without.
    from px4_sim_ros.model.faults.actions import ACTIONS, no_action
    if text not in ACTIONS:
        raise argparse.ArgumentTypeError(no_action(text, ACTIONS))
    return text


def _sensors() -> list[str]:
    return [name for name, spec in graph.NODES.items() if spec.model]


def add_arguments(parsers: typing.Mapping[str, argparse.ArgumentParser]) -> None:
    """Describe the options of the commands."""
    for parser in parsers.values():
        parser.add_argument('--namespace', type=namespace, default='', help='of the graph')
    parsers['step'].add_argument('count', type=_count, nargs='?', default=1)
    parsers['speed'].add_argument('factor', type=speed_factor, metavar='X|max')
    output.add_json(parsers['status'])
    output.add_json(parsers['top'])
    parsers['sensor'].add_argument(
        'name', type=_sensor_name,
        help=f"one of {', '.join(_sensors())}, a further one such as imu_1, or a block that is"
        ' added')
    parsers['vehicle'].add_argument('verb', choices=('add', 'remove', 'restart'))
    parsers['vehicle'].add_argument('name', metavar='NAMESPACE', help='as in the fleet file')
    parsers['fault'].add_argument('action', type=_action, metavar='ACTION',
                                  help='as in a scenario file; `list actions` names all')
    parsers['fault'].add_argument('parameters', nargs='*', type=_parameter,
                                  metavar='PARAMETER=VALUE', help='such as motor=2')
    parsers['fault'].add_argument('--for', dest='for_s', type=float, metavar='S',
                                  help='how long it lasts, in simulated time')
    parsers['fault'].add_argument('--refused', action='store_true', default=None,
                                  help='the autopilot is expected to refuse it')
    parsers['fault'].add_argument('--vehicle', metavar='NAMESPACE', default='',
                                  help='one of a fleet, as in the fleet file')
    parsers['fault'].add_argument('--name', help='by which `fault clear event=NAME` ends it')
    parsers['sensor'].add_argument('verb', choices=('start', 'stop', 'status'))


def run(options: argparse.Namespace) -> int:
    """Carry out a command; return its exit code."""
    if options.command == 'top':
        from px4_sim_ros.cli.top import top
        return top(options)
    from px4_sim_ros.ros.tools.control_client import Control

    control = Control(options.namespace)
    with contextlib.closing(control):
        try:
            with signals.unwrapped():
                _VERBS[options.command](control, options)
            if options.command == 'status' and options.json:
                output.write_json(options.json, control.status.values() | {
                    'sentence': control.status.sentence}, indent=None)
            elif options.command not in ('stop', 'sensor', 'vehicle', 'fault'):
                print(control.summary())
        except RuntimeError as error:
            return output.failed(options.command, error, FAILED)
        return FAILED if options.command in _JUDGED and control.state in _FAILURES else 0
