# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Run control: the services `sim/pause`, `resume`, `step`, `reset`, `stop` and live parameters.

It changes what the clock allows; the owner of the clock takes the steps.
"""
from __future__ import annotations

import time
import typing

from diagnostic_msgs.msg import DiagnosticStatus
from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from px4_sim_ros.messages.run_status import RunState, RunStatus
from px4_sim_ros.model.timebase import seconds_text
from px4_sim_ros.ros.framework import parameters, qos
from px4_sim_ros.ros.framework.diagnostics import Diagnostics, Status, status_message
from px4_sim_ros.step.clock import LockstepClock
from px4_sim_ros.step.side_topics import RUN_STATUS

if typing.TYPE_CHECKING:
    from px4_sim_ros.ros.manager.manager import ManagerNode

# Clients take a manager that publishes more rarely for dead.
_PERIOD_S = 0.5


class StatusPublisher:
    """Publishes at each change, and twice a second of wall time."""

    def __init__(self, node: Node, status: typing.Callable[[], RunStatus]) -> None:
        self._node, self._status = node, status
        self._published_s = 0.0
        self._state = ''
        self._published: object = None       # what makes a change
        self._publisher = node.create_publisher(DiagnosticStatus, RUN_STATUS.name, qos.LATCHED)
        self._diagnostics = Diagnostics(node, lambda: self._diagnostic(self._status()))

    def publish(self) -> None:
        """Publish now on `sim/status`."""
        self._publish(self._status())

    def publish_if_due(self) -> bool:
        """Publish if the state has changed or it is time to; return whether."""
        status = self._status()
        if (_state_of(status) == self._published
                and time.monotonic() - self._published_s <= _PERIOD_S):
            return False
        self._publish(status)
        return True

    def stop(self) -> None:
        """Publish a last time on `/diagnostics`."""
        self._diagnostics.stop()

    def _publish(self, status: RunStatus) -> None:
        if status.state == RunState.STOPPING != self._state:
            # A recorder, which ends before this node, has the last counters of the run.
            self._diagnostics.publish()
        self._state = status.state
        self._published, self._published_s = _state_of(status), time.monotonic()
        self._publisher.publish(status_message(self._node, self._diagnostic(status)))

    @staticmethod
    def _diagnostic(status: RunStatus) -> Status:
        return Status(status.sim_time_us or 0, status.level, status.sentence,
                      dict(status.values()))


def _state_of(status: RunStatus) -> object:
    """Return the status without what changes as time runs."""
    return status.state, status.run, status.state == RunState.PAUSED and status.steps


_LIVE_PARAMETERS = {'speed_factor', 'paused', 'step_count', 'use_sim_time', 'step_timeout_s',
                    'on_overdue'}
_RESETTABLE = RunState.RUNNING, RunState.STOPPED


class RunControl:
    """The state of a run, and the requests that change it."""

    def __init__(self, manager: ManagerNode, clock: LockstepClock) -> None:
        self.phase = RunState.STARTING
        self.reason = ''                     # the sentence for the phase, if there is one
        self.unasked = ''                    # why the run ends, if that was not asked for
        self.run = 1                         # how many times time has begun at 0
        self.resets = 0                      # how many were asked for
        self._manager, self._clock = manager, clock
        parameters.make_read_only(manager, _LIVE_PARAMETERS)
        manager.add_post_set_parameters_callback(self._on_parameters_set)
        self._services = [
            manager.create_service(Trigger, f'sim/{verb}', handler) for verb, handler in (
                ('pause', self._on_pause), ('resume', self._on_resume), ('step', self._on_step),
                ('reset', self._on_reset), ('stop', self._on_stop))]

    # The state.

    def enter(self, phase: RunState, reason: str = '') -> None:
        self.phase, self.reason = phase, reason

    @property
    def state(self) -> RunState:
        """The run state: the phase, or that time is paused."""
        is_paused = self.phase is RunState.RUNNING and self._clock.standing
        return RunState.PAUSED if is_paused else self.phase

    def status(
        self, state: RunState, level: int, sentence: str, lifecycle: str, sim_time_us: int,
    ) -> RunStatus:
        """Return the run status, with the counters of the clock."""
        clock = self._clock
        return RunStatus(
            state, sentence, level, self.run, self.resets, lifecycle,
            sim_time_us // clock.step_us, sim_time_us, clock.wall_s, clock.real_time_factor(),
            clock.speed_factor, clock.paced_s, clock.busy_s)

    # Requests.

    def set_paused(self, paused: bool) -> SetParametersResult:
        """Hold time at the end of this step, or release it."""
        return self._manager.set_parameters([Parameter('paused', value=paused)])[0]

    def _on_pause(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return self._answer(True, 'pauses', response)

    def _on_resume(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return self._answer(False, 'runs', response)

    def _answer(
        self, paused: bool, verb: str, response: Trigger.Response,
    ) -> Trigger.Response:
        result = self.set_paused(paused)
        response.success = result.successful
        response.message = (
            result.reason or f'time {verb} at t = {seconds_text(self._manager.time_us)}')
        return response

    def _on_step(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        count = self._manager.get_parameter('step_count').value
        response.success = self.phase is RunState.RUNNING and self._clock.paused
        response.message = 'time is not paused'
        if response.success:
            self._clock.step(count)
            response.message = f'{count} {"step" if count == 1 else "steps"} more'
        return response

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        time_us = self._manager.time_us
        response.success = self.phase in _RESETTABLE
        response.message = f'cannot reset while {self.phase.value}'
        if response.success:
            self.resets += 1
            self._manager.reset()
            response.message = f'resetting from t = {seconds_text(time_us)}'
        return response

    def _on_stop(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success = not self._manager.finished
        response.message = 'stopping'
        self._manager.stop('sim/stop')
        return response

    # Parameters.

    def check_changes(self, changes: list[Parameter]) -> SetParametersResult:
        """Return whether parameters can be set: only those that are live."""
        refused = [c.name for c in changes if c.name not in _LIVE_PARAMETERS]
        return parameters.check_changes(
            self._manager, self._manager.get_name(), changes, refused, 'while the graph runs')

    def _on_parameters_set(self, changes: list[Parameter]) -> None:
        for change in changes:
            if change.name == 'speed_factor':
                self._clock.set_speed_factor(float(change.value))
            elif change.name == 'paused' and self.phase is RunState.RUNNING:
                self._set_paused(bool(change.value))

    def _set_paused(self, paused: bool) -> None:
        if paused:
            self._clock.pause()
        else:
            self._clock.resume()
