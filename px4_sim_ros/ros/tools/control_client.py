# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A client of a graph that runs: its manager's status, services and parameters."""
from __future__ import annotations

import contextlib
import math
import os
import time
import typing

import rclpy
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from px4_sim_ros.messages.run_status import RunState, RunStatus
from px4_sim_ros.model.errors import ParameterError, did_you_mean
from px4_sim_ros.process import domain_claim
from px4_sim_ros.ros.framework.endpoints import NodeStatus
from px4_sim_ros.ros.framework.session import ros_node
from px4_sim_ros.ros.framework.status_client import StatusClient
from px4_sim_ros.ros.manager.lifecycle_client import ManagedNode, Sequence, SequenceRunner
from px4_sim_ros.step import graph

_SPIN_S = 0.02
_FOUND_TIMEOUT_S = 5.0
_ANSWER_TIMEOUT_S = 5.0
_CALL_TIMEOUT_S = 1.0
# An answer is lost when the service does not know its client yet. These requests are sent again
# then, since they change nothing the second time.
_REPEATED = 'sim/pause', 'sim/resume', 'sim/stop', 'manager/set_parameters'
_TRIES = 5
# A graph is up before that, or says why not.
_UP_TIMEOUT_S = 30.0
_COMES_UP = RunState.STARTING, RunState.RESETTING
# After the manager's status has come, to hear of whom it manages.
_KNOWN_TIMEOUT_S = 1.0
# The manager publishes its status twice a second.
_SILENT_S = 3.0
# How long a step may be overdue: a message that was lost is repeated meanwhile.
_OVERDUE_S = 10.0


def _place(name: str) -> tuple[str, int, str]:
    vehicle, _, node = name.rpartition('/')
    return vehicle, graph.order_of(node), node


class ControlError(RuntimeError):
    """A command could not be carried out; the text says why."""


def _why_unknown() -> str:
    """Return a sentence about a graph whose status does not come."""
    if holder := domain_claim.holder_of_graph():
        return (f'a graph runs in this ROS domain{holder}, and its manager does not answer: it'
                ' hangs, is just starting or ending, or has another namespace')
    return 'no manager was found; does the graph run, with this ROS_DOMAIN_ID and namespace?'


class Control:
    """Talks to the manager of a graph."""

    def __init__(self, namespace: str) -> None:
        self._joined = contextlib.ExitStack()
        self.node = self._joined.enter_context(
            ros_node(f'control_{os.getpid()}', namespace=namespace))
        self.statuses = StatusClient(self.node)
        self._clients: dict[str, typing.Any] = {}

    def close(self) -> None:
        """Leave the domain."""
        self._joined.close()

    def wait_for(
        self, condition: typing.Callable[[], typing.Any], timeout_s: float, otherwise: str,
    ) -> None:
        """Wait until a condition holds.

        :raises ControlError: `otherwise`, when that takes longer than `timeout_s`
        """
        if not self.comes(condition, timeout_s):
            raise ControlError(otherwise)

    def comes(self, condition: typing.Callable[[], typing.Any], timeout_s: float) -> bool:
        """Wait until a condition holds, at most so long; return whether it does."""
        deadline_s = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > deadline_s:
                return False
            rclpy.spin_once(self.node, timeout_sec=_SPIN_S)
        return True

    @property
    def status(self) -> RunStatus:
        """The last status of the manager.

        :raises ControlError: there is none
        """
        self.comes(lambda: self.has_status, _FOUND_TIMEOUT_S)
        if self.statuses.last is None:
            raise ControlError(_why_unknown())
        return self.statuses.last

    @property
    def has_status(self) -> bool:
        return self.statuses.last is not None

    @property
    def steps(self) -> int:
        """How many steps are complete."""
        return self.status.steps

    @property
    def state(self) -> str:
        return self.status.state

    def ask(
        self, verb: str, vehicle: str = '', acted: typing.Callable[[], bool] = lambda: False,
    ) -> str:
        """Call one of the services below `sim` and return its answer, '' if that is lost.

        :param vehicle: one of a fleet, whose service it is
        :param acted: whether it has acted, as is seen when its answer does not come
        :raises ControlError: it refused, or did not answer
        """
        response = self._call(
            Trigger, graph.qualified(vehicle, f'sim/{verb}'), Trigger.Request(), acted)
        if response is None:
            return ''
        if not response.success:
            raise ControlError(response.message)
        return str(response.message)

    def take_steps(self, count: int) -> None:
        """Take some steps while time is paused, however long that takes.

        :raises ControlError: the manager refused or did not answer, or something holds time back
        """
        before = self.steps
        self.set('step_count', count)
        self.ask('step', acted=lambda: self.steps > before)
        self._wait_for_steps(before + count)

    def set(self, name: str, value: typing.Any) -> None:
        """Set a parameter of the manager.

        :raises ControlError: it refused, or did not answer
        """
        request = SetParameters.Request(
            parameters=[Parameter(name, value=value).to_parameter_msg()])
        result = self._call(SetParameters, 'manager/set_parameters', request).results[0]
        if not result.successful:
            raise ControlError(result.reason)

    def fault(self, event: str, vehicle: str = '') -> str:
        """Let the scenario do something more; return the name of the event.

        :param vehicle: one of a fleet, to which it happens
        :raises ControlError: there is none, or it does not answer
        :raises ParameterError: the event does not fit the flight
        """
        self._check_vehicle(vehicle)
        if not self.comes(lambda: self.state not in _COMES_UP, _UP_TIMEOUT_S):
            raise ControlError(f'the graph is not up within {_UP_TIMEOUT_S:g} s: {self.state}')
        node = graph.qualified(vehicle, 'scenario')
        if not self.comes(lambda: node in self.managed(), _KNOWN_TIMEOUT_S):
            raise ControlError('this graph has no node scenario, which does faults; start it with'
                               ' by_hand: true')
        request = SetParameters.Request(
            parameters=[Parameter('event', value=event).to_parameter_msg()])
        result = self._call(SetParameters, f'{node}/do', request).results[0]
        if not result.successful:
            raise ParameterError(result.reason)
        return str(result.reason)

    def vehicle(self, verb: str, name: str) -> str:
        """Add a vehicle of a fleet to the world, remove it or start it again; return the answer.

        :raises ControlError: it refused, did not answer, or there is no such vehicle
        """
        self._check_vehicle(name)
        before = self.status.changes
        said = self.ask(verb, name)
        self.wait_for(
            lambda: self.status.changes > before, _ANSWER_TIMEOUT_S,
            f'{name} has not changed yet: its step is under way, or its process hangs')
        if verb != 'add' or self.comes(lambda: name in self.status.there, _KNOWN_TIMEOUT_S):
            return said
        return f'{said}, and joins when the step under way is complete: {self.status.sentence}'

    def _call(
        self, kind: type, name: str, request: typing.Any,
        acted: typing.Callable[[], bool] = lambda: False,
    ) -> typing.Any:
        """Return the answer of a service, None if it has acted and its answer is lost."""
        _ = self.status       # so that a graph that is not there is reported as such
        if name not in self._clients:
            self._clients[name] = self.node.create_client(kind, name)
        client = self._clients[name]
        self.wait_for(client.service_is_ready, _FOUND_TIMEOUT_S, f'there is no service {name}')
        tries = _TRIES if name in _REPEATED else 1
        calls: list[typing.Any] = []
        for _ in range(tries):
            calls.append(client.call_async(request))
            if self.comes(lambda: any(call.done() for call in calls), _ANSWER_TIMEOUT_S / tries):
                return next(call for call in calls if call.done()).result()
            if acted():
                return None
        raise ControlError('manager does not answer')

    def summary(self) -> str:
        """Return the manager's status as a line."""
        status = self.status
        line = (f'{status.state} at t = {status.sim_time_s or 0.0:.6f} s, run {status.run},'
                f' real-time factor {status.real_time_factor or 0.0:.3f}')
        return line if status.sentence == status.state else f'{line}: {status.sentence}'

    def _wait_for_steps(self, goal: int) -> None:
        """Wait until so many steps are complete, however long that takes."""
        run, count = self.status.run, self.statuses.count
        steps, since_s = self.steps, time.monotonic()      # that were complete, and since when

        def is_held() -> bool:
            nonlocal steps, since_s
            if self.state != RunState.OVERDUE or self.steps > steps:
                steps, since_s = self.steps, time.monotonic()
            # The first status may have been under way before the steps were asked for.
            return self.statuses.count > count + 1 and self.state != RunState.RUNNING and (
                self.state != RunState.OVERDUE or time.monotonic() - since_s > _OVERDUE_S)

        def over() -> bool:
            return (self.steps >= goal or is_held() or self.status.run != run
                    or self._is_silent())

        self.comes(over, math.inf)
        if self.steps < goal or self.status.run != run:
            raise ControlError('manager has fallen silent' if self._is_silent()
                               else self.summary())

    def _is_silent(self) -> bool:
        return time.monotonic() - self.statuses.received_s > _SILENT_S

    def stop(self, timeout_s: float) -> None:
        """Let the manager take the graph down, and wait until it is gone.

        :raises ControlError: it did not answer, or is still there
        """
        def is_gone() -> bool:
            return not self._clients['sim/stop'].service_is_ready()

        self.ask('stop', acted=is_gone)
        self.wait_for(is_gone, timeout_s, f'the graph has not ended within {timeout_s:g} s')

    def managed(self) -> list[str]:
        """Return the nodes that the manager subscribes to, as far as is known.

        So a node that hangs or has died is known as well. Those of a fleet have the namespace of
        their vehicle before their name.
        """
        before = f"{self.node.get_namespace().rstrip('/')}/"
        found = []
        for topic, _types in self.node.get_topic_names_and_types():
            name, _, last = topic.removeprefix(before).rpartition('/')
            if topic.startswith(before) and last == 'transition_event' and (
                    self.node.count_subscribers(topic)):
                found.append(name)
        return sorted(found, key=_place)

    def _check_vehicle(self, name: str) -> None:
        """Check that there is one, that of a graph of one vehicle alone without a name."""
        vehicles = self.status.there + self.status.away
        if name not in (vehicles or ('',)):
            raise ControlError(f"there is no vehicle {name or 'without a name'}; there are"
                               f' {", ".join(vehicles)}' if vehicles else
                               'this graph is of one vehicle alone')

    def _check_sensor(self, name: str) -> None:
        if not self.comes(lambda: name in self.managed(), _KNOWN_TIMEOUT_S):
            sensors = [other for other in self.managed()
                       if graph.spec_of(other.rpartition('/')[2]).model]
            raise ControlError(
                f'this graph has no {name}{did_you_mean(name, sensors)}; its sensors are'
                f' {", ".join(sensors) or "none"}')

    def sensor(self, name: str, verb: str) -> NodeStatus:
        """Start or stop a sensor, or just ask for its status, which is returned.

        :raises ControlError: the graph has no such sensor
        :raises TransitionError: it did not, and why
        """
        _ = self.status
        self._check_sensor(name)
        sensor = ManagedNode(self.node, name)
        statuses: list[NodeStatus] = []

        def sequence() -> Sequence[None]:
            yield from sensor.wait_until_there(
                time.monotonic() + _FOUND_TIMEOUT_S,
                f'{name} does not answer: its process hangs or has ended')
            if verb == 'start':
                yield from sensor.start()
            elif verb == 'stop':
                yield from sensor.stop()
            statuses.append((yield from sensor.status()))

        runner = SequenceRunner(sequence(), _CALL_TIMEOUT_S)
        while not runner.tick():
            rclpy.spin_once(self.node, timeout_sec=_SPIN_S)
        return statuses[0]
