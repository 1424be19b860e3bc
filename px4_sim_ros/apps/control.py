"""Commands to a graph that runs: time, sensors, status."""
from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import sys
import time
import typing

import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from std_srvs.srv import Trigger

from px4_sim_ros import graph
from px4_sim_ros.apps.processes import ros_environment
from px4_sim_ros.nodes import qos
from px4_sim_ros.nodes.lifecycle_client import ManagedNode, SequenceRunner, TransitionError
from px4_sim_ros.pacing import speed_factor

_SPIN_S = 0.02
_FOUND_TIMEOUT_S = 5.0
_ANSWER_TIMEOUT_S = 5.0
_FAILURES = 'OVERDUE', 'STOPPED'


class ControlError(RuntimeError):
    """A command could not be carried out; the text says why."""


class Control:
    """Talks to the manager of a graph."""

    def __init__(self, namespace: str) -> None:
        """Join the ROS domain of the graph."""
        os.environ.update(ros_environment())
        rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
        self.node = rclpy.create_node(f'control_{os.getpid()}', namespace=namespace)
        self._status: DiagnosticStatus | None = None
        self._subscription = self.node.create_subscription(
            DiagnosticStatus, 'sim/status', self._on_status, qos.LATCHED)

    def close(self) -> None:
        """Leave the domain."""
        self.node.destroy_node()
        rclpy.shutdown()

    def _on_status(self, status: DiagnosticStatus) -> None:
        self._status = status

    def wait_for(
        self, condition: typing.Callable[[], typing.Any], timeout_s: float, otherwise: str,
    ) -> None:
        """Wait until a condition holds.

        :raises ControlError: `otherwise`, when that takes longer than `timeout_s`
        """
        deadline_s = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > deadline_s:
                raise ControlError(otherwise)
            rclpy.spin_once(self.node, timeout_sec=_SPIN_S)

    @property
    def status(self) -> DiagnosticStatus:
        """The last status of the manager."""
        self.wait_for(
            lambda: self._status, _FOUND_TIMEOUT_S,
            'no manager was found; does the graph run, with this ROS_DOMAIN_ID and namespace?')
        return self._status

    @property
    def values(self) -> dict[str, str]:
        """The values in the last status."""
        return {value.key: value.value for value in self.status.values}

    @property
    def steps(self) -> int:
        """How many steps are complete."""
        return int(self.values.get('steps', 0))

    @property
    def state(self) -> str:
        """The manager's state."""
        return self.values['state']

    def ask(self, verb: str) -> str:
        """Call one of the services below `sim` and return what it says.

        :raises ControlError: it refused, or did not answer
        """
        response = self._call(Trigger, f'sim/{verb}', Trigger.Request())
        if not response.success:
            raise ControlError(response.message)
        return response.message

    def set(self, name: str, value: typing.Any) -> None:
        """Set a parameter of the manager.

        :raises ControlError: it refused, or did not answer
        """
        request = SetParameters.Request(
            parameters=[Parameter(name, value=value).to_parameter_msg()])
        result = self._call(SetParameters, 'manager/set_parameters', request).results[0]
        if not result.successful:
            raise ControlError(result.reason)

    def _call(self, kind: type, name: str, request: typing.Any) -> typing.Any:
        _ = self.status       # so that a graph that is not there is told as such
        client = self.node.create_client(kind, name)
        self.wait_for(client.service_is_ready, _FOUND_TIMEOUT_S, f'there is no service {name}')
        call = client.call_async(request)
        self.wait_for(call.done, _ANSWER_TIMEOUT_S, 'manager does not answer')
        return call.result()

    def summary(self) -> str:
        """Return the manager's status as a line."""
        values, sentence = self.values, self.status.message
        line = (f"{values['state']} at t = {values.get('sim_time_s', '0.000000')} s,"
                f" run {values['run']}, real-time factor {values.get('real_time_factor', '0')}")
        return line if sentence == values['state'] else f'{line}: {sentence}'


def _pause(control: Control, options: argparse.Namespace) -> None:
    control.ask('pause')
    control.wait_for(
        lambda: control.state != 'RUNNING', _ANSWER_TIMEOUT_S, 'time goes on all the same')


def _resume(control: Control, options: argparse.Namespace) -> None:
    control.ask('resume')
    control.wait_for(
        lambda: control.state != 'PAUSED', _ANSWER_TIMEOUT_S, 'time stands still all the same')


def _step(control: Control, options: argparse.Namespace) -> None:
    if options.count < 1:
        raise ControlError(f'step {options.count}: must be at least 1')
    control.set('step_count', options.count)
    goal = control.steps + options.count
    control.ask('step')
    # However long they take; unless something holds time back.
    control.wait_for(
        lambda: control.steps >= goal or control.state in ('OVERDUE', 'WAITING'), math.inf, '')
    if control.steps < goal:
        raise ControlError(control.summary())


def _reset(control: Control, options: argparse.Namespace) -> None:
    run = int(control.values['run'])
    control.ask('reset')
    timeout_s = 60.0
    control.wait_for(
        lambda: control.state == 'STOPPED' or (
            int(control.values['run']) > run and control.state != 'RESETTING'),
        timeout_s, f'the reset has not come to an end within {timeout_s:g} s')


def _speed(control: Control, options: argparse.Namespace) -> None:
    control.set('speed_factor', options.factor)


def _show(control: Control, options: argparse.Namespace) -> None:
    _ = control.status


def _stop(control: Control, options: argparse.Namespace) -> None:
    control.ask('stop')
    client = control.node.create_client(Trigger, 'sim/stop')
    control.wait_for(
        lambda: not client.service_is_ready(), 20.0, 'the graph has not ended within 20 s')


def _sensor(control: Control, options: argparse.Namespace) -> None:
    _ = control.status
    sensor = ManagedNode(control.node, options.name)
    deadline_s = time.monotonic() + _FOUND_TIMEOUT_S

    def sequence() -> typing.Iterator:
        yield from sensor.wait_until_there(deadline_s)
        if options.verb == 'start':
            yield from sensor.start()
        elif options.verb == 'stop':
            yield from sensor.stop()
        options.sensor_status = yield from sensor.status()

    runner = SequenceRunner(sequence(), call_timeout_s=1.0)
    control.wait_for(runner.tick, math.inf, '')


_VERBS: dict[str, typing.Callable[[Control, argparse.Namespace], None]] = {
    'pause': _pause, 'resume': _resume, 'step': _step, 'reset': _reset, 'speed': _speed,
    'status': _show, 'stop': _stop, 'sensor': _sensor}


def add_parsers(commands: typing.Any) -> None:
    """Describe the commands."""
    helps = {
        'pause': 'hold time at the end of this step',
        'resume': 'let time go on',
        'step': 'go on by some steps while time is paused',
        'reset': 'begin again at time 0, with the same seed',
        'speed': 'set simulated over wall time',
        'status': 'say what the graph is about',
        'stop': 'take the graph down',
        'sensor': 'start or stop a sensor, or ask for its status',
    }
    parsers = {verb: commands.add_parser(verb, help=text) for verb, text in helps.items()}
    for parser in parsers.values():
        parser.add_argument('--namespace', default='', help='of the graph')
    parsers['step'].add_argument('count', type=int, nargs='?', default=1)
    parsers['speed'].add_argument('factor', type=speed_factor, metavar='X|max')
    parsers['status'].add_argument('--json', action='store_true', help='for programs')
    sensors = [name for name, spec in graph.NODES.items() if spec.model]
    parsers['sensor'].add_argument(
        'name', help=f"one of {', '.join(sensors)}, or a further one such as imu_1")
    parsers['sensor'].add_argument('verb', choices=('start', 'stop', 'status'))


def run(options: argparse.Namespace) -> int:
    """Carry out a command; return its exit code."""
    control = Control(options.namespace)
    with contextlib.closing(control):
        try:
            _VERBS[options.command](control, options)
            if options.command == 'sensor':
                print(f'{options.name} is {options.sensor_status.state}')
            elif options.command == 'status' and options.json:
                print(json.dumps(control.values | {'sentence': control.status.message}))
            elif options.command != 'stop':
                print(control.summary())
        except (ControlError, TransitionError) as error:
            print(f'{options.command}: {error}', file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            return 130
        return 1 if options.command != 'stop' and control.state in _FAILURES else 0
