# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The node `manager`: brings the graph up, drives the clock, takes the graph down."""
from __future__ import annotations

import time
import traceback
import typing

from rcl_interfaces.msg import SetParametersResult
from rclpy.parameter import Parameter

from px4_sim_ros.messages.run_status import RunState, RunStatus
from px4_sim_ros.model.encounters import Encounters
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.ros.framework import parameters
from px4_sim_ros.ros.framework.block_host import BlockHost
from px4_sim_ros.ros.framework.lifecycle_node import FollowingLifecycle, TimedLogger
from px4_sim_ros.ros.framework.polling import PollingNode
from px4_sim_ros.ros.framework.session import create_wall_timer
from px4_sim_ros.ros.manager import sequences
from px4_sim_ros.ros.manager.bring_up import BringUp, NotAloneError
from px4_sim_ros.ros.manager.clock_driver import ClockDriver
from px4_sim_ros.ros.manager.encounter_watch import EncounterWatch
from px4_sim_ros.ros.manager.lifecycle_client import Sequence, SequenceRunner, TransitionError
from px4_sim_ros.ros.manager.run_control import RunControl, StatusPublisher
from px4_sim_ros.ros.manager.supervision import Supervision
from px4_sim_ros.ros.manager.vehicle_control import VehicleControl
from px4_sim_ros.step import graph
from px4_sim_ros.step.clock import LockstepClock
from px4_sim_ros.step.graph_vehicles import GraphVehicle

_LAST_WORD_S = 0.1


class RunSequences:
    """The sequences that take a run from one phase to the next."""

    def __init__(self, manager: ManagerNode, bring_up: BringUp, supervision: Supervision) -> None:
        self._manager, self._bring_up, self._supervision = manager, bring_up, supervision

    def come_up(self) -> Sequence[None]:
        """Configure and activate all nodes; then take the first step.

        :raises TransitionError: a node does not appear, refuses, or takes too long
        :raises NotAloneError: another node publishes /clock
        """
        manager = self._manager
        manager.publish_status()
        deadline_s = self._startup_deadline_s()
        yield from self._bring_up.begin(deadline_s)
        self._supervision.begin_run()
        manager.lifecycle_state = 'inactive'
        manager.trigger_configure()
        yield from self._start(deadline_s)
        manager.lifecycle_state = 'active'
        manager.trigger_activate()
        manager.get_logger().info('all nodes are active and matched')

    def begin_again(self) -> Sequence[None]:
        """Bring all nodes back to their seeded start; a run of which one refuses is stopped."""
        manager = self._manager
        try:
            yield from self._bring_up.finish_step(self._supervision.is_recorded)
            yield from self._bring_up.rewind()
            manager.control.run += 1
            manager.sim_clock.reset()
            self._supervision.begin_run()
            # The starter of an autopilot starts it again now.
            manager.publish_status()
            yield from self._start(self._startup_deadline_s())
        except TransitionError as error:
            manager.get_logger().error(f'the reset has failed: {error}')
            manager.enter(RunState.STOPPED, f'the reset has failed: {error}')
        else:
            manager.get_logger().info(f'run {manager.control.run} begins at t = 0')

    def take_down(self) -> Sequence[None]:
        """Stop all nodes, then end them; continue after a failure."""
        manager = self._manager
        yield from self._bring_up.finish_step(self._supervision.is_recorded)
        yield from self._bring_up.end(manager.log_failure)
        if manager.lifecycle_state != 'finalized':
            manager.trigger_shutdown()
        manager.publish_last_status()
        # A subscriber loses what it has not read yet when the publisher goes.
        yield from sequences.wait_until(lambda: False, _LAST_WORD_S)
        manager.finished = True

    def _startup_deadline_s(self) -> float:
        return time.monotonic() + self._manager.get_parameter('startup_timeout_s').value

    def _start(self, deadline_s: float) -> Sequence[None]:
        """Activate all nodes and begin at time 0."""
        yield from self._bring_up.start(deadline_s)
        if not self._manager.get_parameter('paused').value:
            self._manager.sim_clock.resume()
        self._manager.enter(RunState.RUNNING)


_TICK_S = 0.002
_WATCH_S = 0.05
_CALL_TIMEOUT_S = 1.0


class ManagerNode(PollingNode, parameters.ParameterValidation, FollowingLifecycle):
    """Owns simulated time: step k ends at k * step_us, when its command has come.

    It brings itself up.
    """

    def __init__(
        self, name: str, host: BlockHost, vehicles: typing.Sequence[GraphVehicle] = (),
        encounters: Encounters | None = None,
    ) -> None:
        super().__init__(name, automatically_declare_parameters_from_overrides=True)
        parameters.declare(self, name)
        world = parameters.read(self, name).world
        self._host = host
        self.finished = False
        self.exit_code = 0
        self.sim_clock = LockstepClock(world.step_us, self.get_parameter('speed_factor').value)
        self.control = RunControl(self, self.sim_clock)
        self.driver = ClockDriver(self, host, self.sim_clock, self._on_complete)
        self._encounters = (
            None if encounters is None else EncounterWatch(
                self, host, encounters, self.publish_line))
        self._bring_up = BringUp(
            self, vehicles or [GraphVehicle('', graph.of_world(world), world)],
            self.driver, self._encounters)
        self.vehicle_control = None if not vehicles else VehicleControl(
            self, host.runner, self.driver, self._bring_up.nodes,
            [member.vehicle for member in vehicles])
        self._supervision = Supervision(self, self.driver, self._bring_up)
        self._status = StatusPublisher(self, self.run_status)
        self._ticker = create_wall_timer(self, _TICK_S, self._tick)
        self._watch_timer = create_wall_timer(self, _WATCH_S, self._watch)
        self._sequences = RunSequences(self, self._bring_up, self._supervision)
        self.begin(self._sequences.come_up())

    def get_logger(self) -> typing.Any:
        """Return a logger that tells the simulated time."""
        return TimedLogger(
            super().get_logger(), lambda: self.sim_clock.complete_us, self.log_publisher)

    def configured_graph(self) -> graph.Graph:
        """Return the graph that the parameters ask for."""
        self._host.files[''].vehicle(self.get_parameter('vehicle').value)
        return self._bring_up.members[0].graph

    # What is under way.

    def log_failure(self, error: object) -> None:
        """Log an error; the exit code says that the run has failed."""
        self.exit_code = 1
        self.get_logger().error(str(error))

    def begin(self, sequence: Sequence[None]) -> None:
        """Do something step by step, in place of what is under way."""
        self._sequence: SequenceRunner | None = SequenceRunner(sequence, _CALL_TIMEOUT_S)
        self._ticker.reset()

    @property
    def run(self) -> int:
        """How many times time has begun at 0."""
        return self.control.run

    @property
    def phase(self) -> RunState:
        return self.control.phase

    @property
    def is_busy(self) -> bool:
        """Whether it brings nodes up or down just now."""
        return self._sequence is not None

    def _tick(self) -> None:
        """Advance the sequence that is under way."""
        try:
            if self._sequence is not None and self._sequence.tick():
                self._sequence = None
                self._ticker.cancel()
        except NotAloneError as error:
            self.end_alone(str(error))
        except (TransitionError, ParameterError) as error:
            self.log_failure(f'{error}; the graph is taken down')
            self.stop(str(error), asked=False)
        except Exception as error:
            self.log_failure(traceback.format_exc())
            # Nothing is left to try if this was the taking down.
            self.finished = self.control.phase is RunState.STOPPING
            self.stop(f'{type(error).__name__}: {error}', asked=False)

    # Requests.

    def check_changes(self, changes: list[Parameter]) -> SetParametersResult:
        """Return whether parameters can be set: only those that are live."""
        return self.control.check_changes(changes)

    @property
    def time_us(self) -> int:
        """The time of the last step that has begun."""
        return self.sim_clock.time_us

    def reset(self) -> None:
        """Bring the graph back to time 0."""
        self.enter(RunState.RESETTING)
        self.begin(self._sequences.begin_again())

    def stop(self, reason: str, *, asked: bool = True) -> None:
        """Take the graph down at the end of this step; `finished` says when that is done."""
        if self.control.phase is not RunState.STOPPING:
            self.control.unasked = '' if asked else reason
            self.enter(RunState.STOPPING, reason)
            self.begin(self._sequences.take_down())

    def fail(self, reason: str) -> None:
        """Take the graph down, with an exit code that says that the run has failed."""
        self.exit_code = 1
        self.stop(reason, asked=False)

    # The step and the status.

    def _on_complete(self) -> None:
        if self._encounters is not None:
            self._encounters.look()
        if self._supervision.overdue is not None:
            self._supervision.clear()
        elif self.sim_clock.standing:
            self.publish_status()

    def _watch(self) -> None:
        self._status.publish_if_due()
        if self.control.phase is RunState.RUNNING and not self.is_busy:
            self._supervision.watch()

    def end_alone(self, sentence: str) -> None:
        """End without asking the other nodes: those of another graph may have the same names."""
        self.log_failure(sentence)
        self.finished = True

    def enter(self, phase: RunState, reason: str = '') -> None:
        """Change the phase of the run."""
        self.control.enter(phase, reason)
        self._supervision.reset()
        self.publish_status()

    def run_status(self) -> RunStatus:
        return self._supervision.status(self.control, self.lifecycle_state)

    def publish_status(self) -> None:
        """Publish the run status now."""
        self._status.publish()

    def publish_last_status(self) -> None:
        """Publish the run status on `/diagnostics` a last time."""
        self._status.stop()
