# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the manager does about nodes that block a step, fall silent, or are stopped by others."""
from __future__ import annotations

import dataclasses
import functools
import time
import typing

from lifecycle_msgs.msg import State, TransitionEvent

from px4_sim_ros.messages.diagnostics import ERROR, OK, WARN
from px4_sim_ros.messages.run_status import RunState, RunStatus
from px4_sim_ros.model.timebase import seconds_text
from px4_sim_ros.ros.manager.bring_up import BringUp
from px4_sim_ros.ros.manager.clock_driver import ClockDriver
from px4_sim_ros.ros.manager.lifecycle_client import has_left
from px4_sim_ros.ros.manager.overdue_watch import Overdue, OverdueWatch
from px4_sim_ros.ros.manager.recorder_watch import RecorderWatch
from px4_sim_ros.ros.manager.run_control import RunControl
from px4_sim_ros.step.graph_vehicles import managed
from px4_sim_ros.step.pacing import PaceWatch
from px4_sim_ros.step.repeatability import NonRepeatability

if typing.TYPE_CHECKING:
    from px4_sim_ros.ros.manager.manager import ManagerNode

# How often to check whether another node publishes /clock.
_LOOK_S = 0.5
# Nodes are stopped by the manager itself in these.
_OWN_DOING = RunState.STARTING, RunState.RESETTING, RunState.STOPPING
# A world at full speed often reaches the recorder's window, and runs on at once.
_BEHIND_S = 0.2


class Supervision:
    """Watches over the steps of a run."""

    def __init__(self, manager: ManagerNode, driver: ClockDriver, bring_up: BringUp) -> None:
        self._manager, self._driver, self._bring_up = manager, driver, bring_up
        self._clock = driver.clock
        self.unrecorded = ''                   # why the recorder has ended, if it has
        self._others = ''                      # who publishes /clock as well
        self._looked_s = 0.0
        self._deactivated: set[str] = set()    # nodes that others have stopped
        self._gap: NonRepeatability | None = None     # the first of them that acts in the step
        self._pace_watch = PaceWatch(self._clock.step_us)
        self._overdue_watch = OverdueWatch(
            bring_up.members, bring_up.nodes, driver, self._on_overdue, self._on_cleared,
            self._republish)
        self._recorder = RecorderWatch(
            manager, self._clock.step_us, self.go_on, self._on_recorder_failure
        ) if 'recorder' in managed(bring_up.members) else None
        self._subscriptions = [
            manager.create_subscription(
                TransitionEvent, f'{name}/transition_event',
                functools.partial(self._on_transition, name), 10)
            for name in managed(bring_up.members)]

    # The course of a run.

    def begin_run(self) -> None:
        """Expect a run from time 0 on, in which no node was stopped yet."""
        self._deactivated.clear()
        self._gap = None
        if self._recorder is not None:
            self._recorder.reset()
            self.unrecorded = ''

    def reset(self) -> None:
        """Forget who has blocked."""
        self._overdue_watch.reset()

    @property
    def overdue(self) -> Overdue | None:
        """Who blocks the step, if it is overdue."""
        return self._overdue_watch.overdue

    def clear(self) -> None:
        """Record that the step is complete."""
        self._overdue_watch.clear()

    def status(self, control: RunControl, lifecycle_state: str) -> RunStatus:
        """Return the run status: what the run is asked to do, and what keeps it from that."""
        overdue, unrecorded = self.overdue, self.unrecorded
        state = control.state
        if control.phase is RunState.RUNNING and overdue is not None:
            state = RunState.WAITING if overdue.holds else RunState.OVERDUE
        level = WARN if state is RunState.WAITING or unrecorded else OK
        if state in (RunState.OVERDUE, RunState.STOPPED):
            level = ERROR
        sentence = (overdue.sentence if overdue else control.reason) or unrecorded or state.value
        if state is RunState.RUNNING and self._clock.held_s > _BEHIND_S:
            sentence = 'the recorder is behind'
        status = control.status(state, level, sentence, lifecycle_state, self._clock.complete_us)
        vehicles = self._manager.vehicle_control
        return dataclasses.replace(
            status, unrecorded=unrecorded, unasked=control.unasked, gap=self._gap,
            there=tuple(vehicles.there()) if vehicles else (),
            away=tuple(vehicles.away()) if vehicles else (),
            changes=vehicles.changes if vehicles else 0)

    def watch(self) -> None:
        """Watch the steps; to be called some ten times a second while they run."""
        clock = self._clock
        goes_on = clock.steps > 0 and not (clock.paused or clock.at_limit or self.overdue)
        if sentence := self._pace_watch.remark(
                clock.speed_factor, clock.steps, clock.lost_s, goes_on):
            self._manager.get_logger().warning(sentence)
        self._overdue_watch.watch(self._manager.get_parameter('step_timeout_s').value)
        self._look_for_others()

    def _look_for_others(self) -> None:
        """Look for another clock: ROS finds out about one a while after this has begun."""
        now_s = time.monotonic()
        if now_s - self._looked_s < _LOOK_S:
            return
        self._looked_s = now_s
        sentence, may_end = self._bring_up.others()
        if sentence and not may_end and self._clock.steps == 0:
            self._manager.end_alone(sentence)
        elif sentence != self._others:
            self._others = sentence
            if sentence:
                self._manager.get_logger().warning(sentence)

    # Steps that are overdue.

    def _on_overdue(self, overdue: Overdue) -> None:
        """Report who blocks, and do what `on_overdue` says."""
        if self._has_left(overdue.blocker):
            self._on_shut_down(overdue.blocker)
            return
        if overdue.blocker == 'recorder':
            self._drop_recorder(overdue.sentence)
            return
        logger = self._manager.get_logger()
        if overdue.holds:
            logger.info(overdue.sentence)
        elif overdue.publisher:
            logger.warning(overdue.sentence)
        else:
            logger.error(overdue.sentence)
        self._manager.publish_status()
        if overdue.holds or overdue.publisher:
            return
        policy = self._manager.get_parameter('on_overdue').value
        if policy == 'pause':
            self._manager.control.set_paused(True)
        elif policy == 'fail':
            self._manager.fail(overdue.sentence)

    def _has_left(self, node: str) -> bool:
        return node in managed(self._bring_up.members) and has_left(self._manager, node)

    def _republish(self, name: str) -> None:
        if name == 'manager':
            self._driver.republish()
            return
        node, = (node for node in self._bring_up.nodes if node.name == name)
        node.call_republish()

    def _on_cleared(self, overdue: Overdue) -> None:
        back = '' if overdue.holds else f'{overdue.blocker} is back; '
        self._manager.get_logger().info(
            f'{back}t = {seconds_text(self._clock.complete_us)} is complete')
        self._manager.publish_status()

    # The recorder.

    def go_on(self) -> None:
        """Let time run as far as the recorder allows."""
        if self._recorder is not None:
            self._clock.limit(self._recorder.limit_us)

    def is_recorded(self) -> bool:
        recorder = self._recorder
        return recorder is None or not recorder.records or (
            recorder.recorded_us >= self._clock.complete_us)

    def _on_recorder_failure(self, sentence: str) -> None:
        """Continue without a recording, or end, as the recorder's parameter says."""
        self.unrecorded = sentence
        if self._recorder is not None and self._recorder.ends_run:
            self._manager.fail(sentence)
        self._manager.publish_status()

    def _drop_recorder(self, sentence: str) -> None:
        """Wait no longer for a recorder that is gone or has lost a message."""
        recorder = self._recorder
        assert recorder is not None
        sentence = f'{sentence}; on disk is all up to t = {seconds_text(recorder.flushed_us)}'
        if not recorder.ends_run:
            sentence += ', and the run continues without it'
        self._manager.get_logger().error(sentence)
        self._bring_up.drop_recorder()
        self._overdue_watch.reset()
        recorder.give_up()
        self._on_recorder_failure(sentence)
        self._recorder = None

    # What others than the manager do to a node.

    def _on_transition(self, node: str, event: TransitionEvent) -> None:
        start, goal = event.start_state, event.goal_state
        if goal.id == State.PRIMARY_STATE_FINALIZED:
            self._bring_up.note_end(node)
        if self._manager.phase in _OWN_DOING or self._bring_up.was_dropped(node):
            return
        logger = self._manager.get_logger()
        now = f't = {seconds_text(self._clock.complete_us)}'
        if goal.id == State.PRIMARY_STATE_FINALIZED:
            self._on_shut_down(node)
        elif start.id == State.TRANSITION_STATE_DEACTIVATING:
            self._deactivated.add(node)
            if self._gap is None and node != 'recorder':
                self._gap = NonRepeatability(self._clock.complete_us, f'{node} was stopped by hand')
            logger.info(f'{node} has stopped at {now}')
        elif goal.id == State.PRIMARY_STATE_ACTIVE and node in self._deactivated:
            self._deactivated.remove(node)
            logger.info(f'{node} continues from {now}')

    def _on_shut_down(self, node: str) -> None:
        """End without it; its last message may be lost, as its process ends right after it."""
        sentence = f'{node} was shut down'
        if self._is_optional(node):
            self._drop_recorder(sentence)
            return
        self._manager.get_logger().warning(f'{sentence}; the graph is taken down')
        self._manager.stop(sentence, asked=False)

    def _is_optional(self, node: str) -> bool:
        return (node == 'recorder' and self._recorder is not None
                and not self._recorder.ends_run)
