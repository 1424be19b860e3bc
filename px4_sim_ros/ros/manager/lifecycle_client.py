# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Asks managed nodes for their transitions and states, without ever blocking.

The steps of a sequence are written as a generator that yields futures; a timer looks at
the current one. So a manager can live in the same process and thread as the nodes that
it manages, and every wait has a bound.
"""
from __future__ import annotations

import time
import typing

from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.client import Client
from rclpy.node import Node
from rclpy.task import Future
from std_srvs.srv import Trigger

from px4_sim_ros.ros.framework.endpoints import NodeStatus

_Result = typing.TypeVar('_Result')
# What yields futures, is sent their results, and returns a result of its own.
Sequence = typing.Generator['Future | None', typing.Any, _Result]


class TransitionError(RuntimeError):
    """A node did not do what it was asked; the text names the node and its reason."""


class GoneError(TransitionError):
    """A node has gone away."""


# What a node is asked for, and the state that it has to be in afterwards.
CONFIGURE = Transition.TRANSITION_CONFIGURE, State.PRIMARY_STATE_INACTIVE, 'configure'
ACTIVATE = Transition.TRANSITION_ACTIVATE, State.PRIMARY_STATE_ACTIVE, 'activate'
DEACTIVATE = Transition.TRANSITION_DEACTIVATE, State.PRIMARY_STATE_INACTIVE, 'deactivate'
_SHUTDOWN_FROM = {
    State.PRIMARY_STATE_UNCONFIGURED: Transition.TRANSITION_UNCONFIGURED_SHUTDOWN,
    State.PRIMARY_STATE_INACTIVE: Transition.TRANSITION_INACTIVE_SHUTDOWN,
    State.PRIMARY_STATE_ACTIVE: Transition.TRANSITION_ACTIVE_SHUTDOWN,
}
_GONE_TIMEOUT_S = 5.0
_BLINK_S = 0.2
_TRIES = 5


def has_left(node: Node, name: str) -> bool:
    """Return whether a managed node has left ROS in order: one that was killed is missed later."""
    return not node.count_publishers(f'{name}/transition_event')


class ManagedNode:
    """The services of one managed node; every method is part of a sequence."""

    def __init__(self, node: Node, name: str) -> None:
        self.name = name
        self.has_ended = False
        """Whether it has said so: its process answers no more, and may take seconds to leave."""
        self._node = node
        self._change = node.create_client(ChangeState, f'{name}/change_state')
        self._state = node.create_client(GetState, f'{name}/get_state')
        self._status = node.create_client(Trigger, f'{name}/status')
        self._forget = node.create_client(Trigger, f'{name}/forget')
        self._repeat = node.create_client(Trigger, f'{name}/repeat')

    @property
    def is_there(self) -> bool:
        """Whether the node can be asked, as far as is known, now or after a moment."""
        return not self.has_ended and (
            self._state.service_is_ready() or not has_left(self._node, self.name))

    def wait_until_there(self, deadline_s: float, otherwise: str = '') -> Sequence[None]:
        """Wait until all services are there.

        :raises TransitionError: they are not; `otherwise`, if that says more
        """
        services = self._change, self._state, self._status, self._forget, self._repeat
        while not all(client.service_is_ready() for client in services):
            if time.monotonic() > deadline_s:
                raise TransitionError(otherwise or f'{self.name} has not appeared')
            yield None

    def _wait_until_ready(self, client: Client) -> Sequence[None]:
        """Wait until a service is there.

        It seems to be gone for a moment while another one of its name goes, such as that of a
        process that was killed a while ago; on a busy machine for longer.
        """
        begun_s = time.monotonic()
        while not client.service_is_ready():
            waited_s = time.monotonic() - begun_s
            if waited_s > _GONE_TIMEOUT_S or (
                    waited_s > _BLINK_S and has_left(self._node, self.name)):
                raise GoneError(f'{self.name} has gone: its process hangs or has ended')
            yield None

    def _ask(self, client: Client, request: object) -> Sequence[typing.Any]:
        """Return the answer to a question, which is asked again when none comes.

        A service that is there to its client may not know the client yet: then it acts, and
        its answer is lost.
        """
        for _ in range(_TRIES):
            yield from self._wait_until_ready(client)
            call = client.call_async(request)
            try:
                return (yield call)
            except TimeoutError:
                client.remove_pending_request(call)
        raise TransitionError(f'{self.name} did not answer')

    def state(self) -> Sequence[int]:
        response = yield from self._ask(self._state, GetState.Request())
        return response.current_state.id

    def change(self, transition: tuple[int, int, str]) -> Sequence[None]:
        """Ask for a transition and check the state afterwards."""
        number, goal, verb = transition
        request = ChangeState.Request(transition=Transition(id=number))
        refused = False
        # Not asked twice: when the answer is lost, the state shows what came of it.
        call = self._change.call_async(request)
        try:
            refused = not (yield call).success
        except TimeoutError:
            self._change.remove_pending_request(call)
        state = yield from self.state()
        if refused or state != goal:
            status = yield from self.status()
            reason = status.problem or 'it gave no reason'
            raise TransitionError(f'{self.name} did not {verb}: {reason}')

    def wait_until_able(self, deadline_s: float) -> Sequence[NodeStatus]:
        """Wait until the node can take part in a step; return its status."""
        while True:
            status = yield from self.status()
            if not status.problem:
                return status
            if time.monotonic() > deadline_s:
                raise TransitionError(f'{self.name} is not ready: {status.problem}')
            yield None

    def status(self) -> Sequence[NodeStatus]:
        answer = yield from self._ask(self._status, Trigger.Request())
        return NodeStatus.from_json(answer.message)

    def call_status(self) -> Future | None:
        """Ask for the status without waiting; None when the node has gone."""
        if not self._status.service_is_ready():
            return None
        return self._status.call_async(Trigger.Request())

    def status_of(self, call: Future | None) -> NodeStatus | None:
        """Return the answer to `call_status`; None when there is none."""
        if call is None:
            return None
        if not call.done():
            self._status.remove_pending_request(call)
            return None
        return NodeStatus.from_json(call.result().message)

    def configure(self) -> Sequence[None]:
        """Configure the node, unless it is."""
        if (yield from self.state()) == State.PRIMARY_STATE_UNCONFIGURED:
            yield from self.change(CONFIGURE)

    def start(self) -> Sequence[None]:
        """Bring the node to act, from whatever state."""
        state = yield from self.state()
        if state == State.PRIMARY_STATE_UNCONFIGURED:
            yield from self.change(CONFIGURE)
        if state != State.PRIMARY_STATE_ACTIVE:
            yield from self.change(ACTIVATE)

    def stop(self) -> Sequence[None]:
        """Bring the node, if it acts, to rest."""
        state = yield from self.state()
        if state == State.PRIMARY_STATE_ACTIVE:
            yield from self.change(DEACTIVATE)

    def call_republish(self) -> None:
        """Let the node publish again what its last step has published; without waiting."""
        self._repeat.call_async(Trigger.Request())

    def forget(self) -> Sequence[None]:
        """Let the node, which is at rest, begin at time 0 when it is started again."""
        answer = yield from self._ask(self._forget, Trigger.Request())
        if not answer.success:
            raise TransitionError(f'{self.name} did not forget its run: {answer.message}')

    def end(self) -> Sequence[None]:
        """Bring the node to its final state."""
        state = yield from self.state()
        if state == State.PRIMARY_STATE_FINALIZED:
            return
        # The node's process may end with this transition, before its answer is out.
        number = _SHUTDOWN_FROM[state]
        answer = self._change.call_async(ChangeState.Request(transition=Transition(id=number)))
        deadline_s = time.monotonic() + _GONE_TIMEOUT_S
        while not answer.done() and self._state.service_is_ready():
            if time.monotonic() > deadline_s:
                raise TransitionError(f'{self.name} did not shut down')
            yield None


class SequenceRunner:
    """Advances a sequence whenever `tick` is called."""

    def __init__(self, sequence: Sequence[None], call_timeout_s: float) -> None:
        self._sequence = sequence
        self._call_timeout_s = call_timeout_s
        self._future: Future | None = None
        self._deadline_s = 0.0

    def tick(self) -> bool:
        """Advance as far as possible; return whether the sequence has ended.

        :raises TransitionError: what the sequence raised, or a call got no answer
        """
        try:
            while True:
                if self._future is None:
                    self._wait_for(next(self._sequence))
                elif self._future.done():
                    self._wait_for(self._sequence.send(self._future.result()))
                elif time.monotonic() > self._deadline_s:
                    self._wait_for(self._sequence.throw(TimeoutError()))
                else:
                    return False
                if self._future is None:
                    return False     # the sequence wants to be called again later
        except StopIteration:
            return True

    def _wait_for(self, future: Future | None) -> None:
        self._future = future
        self._deadline_s = time.monotonic() + self._call_timeout_s
