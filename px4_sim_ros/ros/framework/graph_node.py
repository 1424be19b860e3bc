# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The base of all managed nodes of a graph: parameters, lifecycle, status, errors and clean-up.

Subclasses say what to do in `configure`, `activate`, `deactivate` and `release`; none of them
handles ROS states.
"""
from __future__ import annotations

import dataclasses
import functools
import traceback
import typing

from lifecycle_msgs.msg import State
from rcl_interfaces.msg import SetParametersResult
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from px4_sim_ros.messages.diagnostics import OK
from px4_sim_ros.model.errors import ParameterError, sentence
from px4_sim_ros.ros.framework import parameters
from px4_sim_ros.ros.framework.diagnostics import Diagnostics, Status
from px4_sim_ros.ros.framework.endpoints import NodeStatus, participant_of
from px4_sim_ros.ros.framework.lifecycle_node import StrictLifecycleNode, TimedLogger
from px4_sim_ros.spec.configuration import NodeConfiguration
from px4_sim_ros.step import graph

_Transition = typing.Callable[[typing.Any, LifecycleState], TransitionCallbackReturn]

# Errors with a sentence for the user; any other is a fault of the program and gets a traceback.
_EXPECTED_ERRORS = (ParameterError, OSError)


def _reported(transition: _Transition) -> _Transition:
    """Log what a transition raises: rclpy turns exceptions into ERROR without a word.

    Afterwards the node is in the state before, and has no more than it had there.
    """
    @functools.wraps(transition)
    def wrapped(self: GraphNode, state: LifecycleState) -> TransitionCallbackReturn:
        try:
            self.failure = ''
            return transition(self, state)
        except _EXPECTED_ERRORS as error:
            self.failure = sentence(error)
            self.get_logger().error(self.failure)
        except Exception as error:
            self.failure = f'{type(error).__name__}: {error}'
            self.get_logger().error(traceback.format_exc())
        self._go_inactive()
        if state.state_id == State.PRIMARY_STATE_UNCONFIGURED:
            self._release()
        return TransitionCallbackReturn.FAILURE
    return wrapped


class GraphNode(parameters.ParameterValidation, StrictLifecycleNode):
    def __init__(self, name: str, vehicle: str = '') -> None:
        super().__init__(name, namespace=vehicle or None,
                         automatically_declare_parameters_from_overrides=True)
        self.vehicle = vehicle
        self.spec = graph.spec_of(name)
        self.failure = ''              # why the last transition has failed
        self.active = False
        self.finished = False          # shut down for good
        self.exit_code = 0
        parameters.declare(self, name)
        self.configuration: NodeConfiguration | None = None      # None: it is not configured
        self._participant = participant_of(self)
        self._lifecycle_state = 'unconfigured'
        self._diagnostics = Diagnostics(self, self._status)
        self._status_services = [
            self.create_service(Trigger, f'~/{name}', handler) for name, handler in (
                ('status', self._on_status), ('forget', self._on_forget),
                ('repeat', self._on_repeat))]

    # What subclasses fill in.

    def configure(self, configuration: NodeConfiguration, nodes: graph.Graph) -> None:
        """Check everything that can be wrong before the run."""

    def activate(self) -> None:
        """Begin with a fresh state."""

    def deactivate(self) -> None:
        """Give back what `activate` took; it must not fail when there is nothing."""

    def release(self) -> None:
        """Give back what `configure` took; it must not fail when there is nothing."""

    def forget(self) -> None:
        """Begin at time 0 with the next activation."""

    def repeat(self) -> None:
        """Publish again what the last step has published: a node lacks it."""

    def get_logger(self) -> typing.Any:
        """Return a logger that tells the simulated time."""
        return TimedLogger(super().get_logger(), lambda: self.progress()[0], self.log_publisher)

    def progress(self) -> tuple[int, dict[str, object]]:
        """Return the time of the last step, and counters for `/diagnostics`."""
        return 0, {}

    def status(self) -> tuple[int, str, typing.Mapping[str, object]]:
        """Return level, sentence and values for `/diagnostics`."""
        return OK, self._lifecycle_state, {}

    def waits_for(self) -> tuple[int, dict[str, int]]:
        """Return the time of the next step, and what it lacks with the last stamp of each."""
        return 0, {}

    def lockstep_status(self) -> NodeStatus:
        """Return the inputs that the node waits for, and its peers, which asks ROS a lot."""
        return NodeStatus()

    # Transitions.

    @_reported
    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Read the parameters and make publishers and subscriptions."""
        configuration = parameters.read(self, self.spec.name)
        nodes = graph.of_world(configuration.world)
        self.spec = nodes.nodes[self.spec.name]
        self.configure(configuration, nodes)
        self.configuration = configuration
        self._lifecycle_state = 'inactive'
        return super().on_configure(state)

    @_reported
    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start with a fresh state and take part in the steps."""
        self.activate()
        self.active = True
        self._lifecycle_state = 'active'
        return super().on_activate(state)

    @_reported
    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        # While there is still all to report.
        self._diagnostics.publish()
        self._go_inactive()
        self._lifecycle_state = 'inactive'
        return super().on_deactivate(state)

    @_reported
    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Give everything back."""
        self._release()
        self._lifecycle_state = 'unconfigured'
        return super().on_cleanup(state)

    @_reported
    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Give everything back, from whatever state."""
        self.finished = True
        self._diagnostics.stop()
        self._go_inactive()
        self._release()
        self._lifecycle_state = 'finalized'
        return super().on_shutdown(state)

    @_reported
    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Give everything back; the node can be configured again."""
        self._go_inactive()
        self._release()
        self._lifecycle_state = 'unconfigured'
        return super().on_error(state)

    def _go_inactive(self) -> None:
        self.active = False
        self.deactivate()

    def _release(self) -> None:
        self.release()
        self.configuration = None

    # Questions and requests.

    def _on_status(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Report whether the node can take part in a step, and what it waits for."""
        problem = self.failure or ('' if self.active else f'it is {self._lifecycle_state}')
        response.success = not problem
        response.message = dataclasses.replace(
            self.lockstep_status(), state=self._lifecycle_state, problem=problem,
            participant=self._participant,
            world=dataclasses.asdict(self.configuration.world) if self.configuration else {},
        ).to_json()
        return response

    def _on_forget(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Forget the run: the next activation begins at time 0."""
        response.success = not self.active
        response.message = 'an active node cannot forget its run' if self.active else ''
        if response.success:
            self.forget()
        return response

    def _on_repeat(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self.repeat()
        response.success = True
        return response

    def _status(self) -> Status:
        level, text, values = self.status()
        time_us, counters = self.progress()
        _, lacking = self.waits_for()
        return Status(time_us, level, text, {
            **values, 'lifecycle': self._lifecycle_state, **counters,
            'waits_for': ', '.join(lacking)})

    def check_changes(self, changes: list[Parameter]) -> SetParametersResult:
        """Return whether parameters can be set: not while the node is configured."""
        configured = self.configuration is not None
        refused = [c.name for c in changes if c.name != 'use_sim_time'] if configured else ()
        return parameters.check_changes(
            self, self.spec.name, changes, refused, 'while the node is configured')
