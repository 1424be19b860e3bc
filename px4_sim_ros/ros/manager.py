"""The node `manager`: brings the graph up, drives the clock, takes the graph down."""
from __future__ import annotations

import dataclasses
import enum
import time
import traceback
import typing

from diagnostic_msgs.msg import DiagnosticStatus
from lifecycle_msgs.msg import State, TransitionEvent
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from px4_sim_ros.config.configuration import load_vehicle
from px4_sim_ros.messages import codecs
from px4_sim_ros.messages.stamps import serialised_stamp_us
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.timebase import US_PER_S, seconds_text
from px4_sim_ros.ros import diagnostics, parameters, qos, sequences
from px4_sim_ros.ros.endpoints import (
    find_unmatched,
    matched_participants,
    other_publishers,
    participant_of,
)
from px4_sim_ros.ros.lifecycle_client import (
    ManagedNode,
    Sequence,
    SequenceRunner,
    TransitionError,
)
from px4_sim_ros.ros.node_status import NodeStatus
from px4_sim_ros.ros.overdue import Debt
from px4_sim_ros.ros.polling import PollingNode
from px4_sim_ros.ros.recorder_watch import RecorderWatch
from px4_sim_ros.ros.supervision import Supervision
from px4_sim_ros.ros.transitions import refuse_misfits
from px4_sim_ros.ros.wall_timer import create_wall_timer
from px4_sim_ros.step import graph
from px4_sim_ros.step.clock import Stepper
from px4_sim_ros.step.pacing import PaceWatch

_TICK_S = 0.002
_WATCH_S = 0.05
_ANNOUNCED_EVERY_S = 0.5
_CALL_TIMEOUT_S = 1.0
# A step that is held for an autopilot never ends; the others take a few milliseconds.
_LAST_STEP_TIMEOUT_S = 0.5
_LAST_RECORD_TIMEOUT_S = 1.0
_LAST_WORD_S = 0.1
_LIVE_PARAMETERS = (
    'speed_factor', 'paused', 'step_count', 'step_timeout_s', 'on_overdue', 'use_sim_time')


class RunState(enum.Enum):
    """What the manager is about; `sim/status` tells it."""

    STARTING = 'STARTING'
    RUNNING = 'RUNNING'
    PAUSED = 'PAUSED'
    WAITING = 'WAITING'        # for an autopilot
    OVERDUE = 'OVERDUE'        # a node owes a message
    RESETTING = 'RESETTING'
    STOPPED = 'STOPPED'        # a reset has failed
    STOPPING = 'STOPPING'


class ManagerNode(PollingNode, LifecycleNode):
    """Owns simulated time: step k ends at k * step_us, when its command has come.

    It brings itself up. Of its own transitions only `shutdown` is for others: it takes the
    whole graph down, as the service `sim/stop` does.
    """

    def __init__(self, name: str) -> None:
        """Declare parameters and start to bring up the graph."""
        super().__init__(name, automatically_declare_parameters_from_overrides=True)
        refuse_misfits(self)
        parameters.declare(self, name)
        self.add_on_set_parameters_callback(self._on_set_parameters)
        self.finished = False
        self.exit_code = 0
        self._lifecycle_state = 'unconfigured'
        self._resting: set[str] = set()      # nodes that others have stopped
        self.run = 1                         # how many times time has begun at 0
        self.resets = 0                      # how many were asked for
        self._phase = RunState.STARTING
        self._reason = ''                    # the sentence for the phase, if there is one
        self._unrecorded = ''                # why the recorder has ended, if it has
        self.stepper: Stepper | None = None
        self._supervision: Supervision | None = None
        self._nodes: list[ManagedNode] = []
        self._lost: list[ManagedNode] = []   # a recorder that is waited for no longer
        self._recorder: RecorderWatch | None = None
        self._listeners: list[typing.Any] = []
        self._encode_clock = codecs.encoder(graph.TOPICS['/clock'])
        self._status_publisher = self.create_publisher(DiagnosticStatus, 'sim/status', qos.LATCHED)
        self._diagnostics = diagnostics.Diagnostics(self, self._status)
        self._requests = [
            self.create_service(Trigger, f'sim/{verb}', handler) for verb, handler in (
                ('pause', self._on_pause), ('resume', self._on_resume), ('step', self._on_step),
                ('reset', self._on_reset), ('stop', self._on_stop))]
        self._sequence: SequenceRunner | None = None
        self._ticker = create_wall_timer(self, _TICK_S, self._tick)
        self._watch_timer = create_wall_timer(self, _WATCH_S, self._watch)
        self._announced_s = 0.0
        self._begin(self._bring_up())

    def configured_graph(self) -> graph.Graph:
        """Return the graph that the parameters ask for.

        :raises ParameterError: a parameter is wrong, or the vehicle
        """
        world = parameters.read(self, self.get_name()).world
        load_vehicle(world.vehicle)
        return graph.of_instances(world.node_counts)

    # Up, again, and down.

    def _bring_up(self) -> Sequence:
        """Configure and activate, consumers before producers; then take the first step."""
        self._announce()
        configuration = parameters.read(self, self.get_name())
        self._graph = graph.of_instances(configuration.world.node_counts)
        self._world = dataclasses.asdict(configuration.world)
        self.stepper = Stepper(
            configuration.world.step_us, configuration.own.speed_factor, self._publish_clock)
        self._pace_watch = PaceWatch(configuration.world.step_us)
        deadline_s = time.monotonic() + configuration.own.startup_timeout_s
        self._clock_publisher = self.create_publisher(ClockMessage, '/clock', qos.LOOP)
        self._publish_clock_bytes = self._clock_publisher.handle.publish_raw
        self._participant = participant_of(self)
        self._command_subscription = self.hear(
            JointState, graph.COMMAND, self._graph.topics[graph.COMMAND].publisher,
            self._on_command, qos.LOOP)
        self._nodes = [ManagedNode(self, managed) for managed in self._graph.managed]
        for managed in self._graph.managed:
            self._listeners.append(self.create_subscription(
                TransitionEvent, f'{managed}/transition_event',
                lambda event, managed=managed: self._on_transition(managed, event), 10))
        if 'recorder' in self._graph.nodes:
            self._recorder = RecorderWatch(
                self, configuration.world.step_us, self._let_go_on, self._on_recorder_failure)
        self._supervision = Supervision(
            self._graph, self._nodes, self.stepper, graph.COMMAND, self._on_debt, self._on_settled,
            self._repeat)
        yield from sequences.appear(self._nodes, deadline_s)
        yield from self._be_alone(deadline_s)
        yield from sequences.rewind(self._nodes)
        if self._recorder is not None:
            self._recorder.begin_again()
        self._lifecycle_state = 'inactive'
        self.trigger_configure()
        yield from self._start(deadline_s)
        self._lifecycle_state = 'active'
        self.trigger_activate()
        self.get_logger().info('all nodes are active and matched')

    def _start(self, deadline_s: float) -> Sequence:
        """Activate all nodes and begin at time 0."""
        yield from sequences.start(self._nodes, deadline_s, self._find_unmatched)
        yield from self._be_alone(deadline_s)
        self._let_go_on()
        self.stepper.set_speed_factor(self.get_parameter('speed_factor').value)
        if not self.get_parameter('paused').value:
            self.stepper.resume()
        self._enter(RunState.RUNNING)

    def _be_alone(self, deadline_s: float) -> Sequence:
        """Wait until nobody else publishes /clock: one that was killed is known for a while."""
        while True:
            others = other_publishers(self, '/clock', self._participant)
            if not others:
                return
            if time.monotonic() > deadline_s or self.get_fully_qualified_name() not in others:
                raise TransitionError(
                    f'/clock is published by {others[0]} as well; give this graph a'
                    ' ROS_DOMAIN_ID of its own')
            yield None

    def _find_unmatched(self, statuses: dict[str, NodeStatus]) -> str:
        for name, status in statuses.items():
            for key, value in self._world.items():
                if status.world[key] != value:
                    raise TransitionError(
                        f'{name}.{key} = {status.world[key]!r}: all nodes share this parameter and'
                        f' manager has {value!r}')
        matched = {name: status.matched for name, status in statuses.items()}
        matched['manager'] = matched_participants(
            self, {'/clock': self._clock_publisher}, {graph.COMMAND: self._command_subscription})
        participants = {name: status.participant for name, status in statuses.items()}
        return find_unmatched(
            self._graph, participants | {'manager': self._participant}, matched)

    def _reset(self) -> Sequence:
        """Bring all nodes back to their seeded start."""
        try:
            yield from self._last_step()
            yield from sequences.rewind(self._nodes)
            self.run += 1
            self.stepper.restart()
            if self._recorder is not None:
                self._recorder.begin_again()
                self._unrecorded = ''
            # Whoever has started an autopilot starts it again now.
            self._announce()
            timeout_s = self.get_parameter('startup_timeout_s').value
            yield from self._start(time.monotonic() + timeout_s)
            self._resting.clear()
        except TransitionError as error:
            self.get_logger().error(f'the reset has failed: {error}')
            self._enter(RunState.STOPPED, f'the reset has failed: {error}')
        else:
            self.get_logger().info(f'run {self.run} begins at t = 0')

    def _take_down(self) -> Sequence:
        """Stop all nodes, producers before consumers, then end them; go on after a failure."""
        yield from self._last_step()
        yield from sequences.end(self._nodes, self._failed)
        yield from sequences.end(self._lost, lambda error: None)
        if self._lifecycle_state != 'finalized':
            self.trigger_shutdown()
        self._diagnostics.stop()
        # Who listens forgets what it has not read yet when we go.
        deadline_s = time.monotonic() + _LAST_WORD_S
        while time.monotonic() < deadline_s:
            yield None
        self.finished = True

    def _last_step(self) -> Sequence:
        """Let the step that is under way come to its end, if it does."""
        if self.stepper is None:
            return
        self.stepper.pause()
        deadline_s = time.monotonic() + _LAST_STEP_TIMEOUT_S
        while self.stepper.under_way and time.monotonic() < deadline_s:
            yield None
        deadline_s = time.monotonic() + _LAST_RECORD_TIMEOUT_S
        while (self._recorder is not None and self._recorder.records
               and self._recorder.recorded_us < self.stepper.complete_us
               and time.monotonic() < deadline_s):
            yield None

    def _failed(self, error: object) -> None:
        self.exit_code = 1
        self.get_logger().error(str(error))

    def stop(self, reason: str) -> None:
        """Take the graph down at the end of this step; `finished` says when that is done."""
        if self._phase is not RunState.STOPPING:
            self._enter(RunState.STOPPING, reason)
            self._begin(self._take_down())

    def _begin(self, sequence: Sequence) -> None:
        self._sequence = SequenceRunner(sequence, _CALL_TIMEOUT_S)
        self._ticker.reset()

    def _tick(self) -> None:
        """Advance what is going on."""
        try:
            if self._sequence is not None and self._sequence.tick():
                self._sequence = None
                self._ticker.cancel()
        except (TransitionError, ParameterError) as error:
            self._failed(f'{error}; the graph is taken down')
            self.stop(str(error))
        except Exception as error:
            self._failed(traceback.format_exc())
            # Nothing is left to try if this was the taking down.
            self.finished = self._phase is RunState.STOPPING
            self.stop(f'{type(error).__name__}: {error}')

    # Its own lifecycle follows the graph's.

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Tell that all nodes are about to be configured; nobody else decides that."""
        return self._if_by_itself('inactive')

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Tell that all nodes are active; nobody else decides that."""
        return self._if_by_itself('active')

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Refuse: it is never at rest."""
        return self._if_by_itself('unconfigured')

    def _if_by_itself(self, goal: str) -> TransitionCallbackReturn:
        if self._lifecycle_state == goal:
            return TransitionCallbackReturn.SUCCESS
        self.get_logger().error('manager brings itself up; only its shutdown is for others')
        return TransitionCallbackReturn.FAILURE

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Refuse: time stands still with sim/pause."""
        self.get_logger().error('manager cannot be deactivated; use sim/pause or sim/stop')
        return TransitionCallbackReturn.FAILURE

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Take the graph down."""
        self._lifecycle_state = 'finalized'
        self.stop('the manager was shut down')
        return TransitionCallbackReturn.SUCCESS

    def _on_transition(self, node: str, event: TransitionEvent) -> None:
        """Notice what others than the manager do to a node."""
        if self._sequence is not None or any(lost.name == node for lost in self._lost):
            return
        start, goal = event.start_state, event.goal_state
        now = f't = {seconds_text(self.stepper.complete_us)}'
        if goal.id == State.PRIMARY_STATE_FINALIZED and node == 'recorder' and (
                not self._recorder.ends_run):
            self._lose_recorder(f'{node} was shut down')
        elif goal.id == State.PRIMARY_STATE_FINALIZED:
            self.get_logger().warning(f'{node} was shut down; the graph is taken down')
            self.stop(f'{node} was shut down')
        elif start.id == State.TRANSITION_STATE_DEACTIVATING:
            self._resting.add(node)
            self.get_logger().info(f'{node} has stopped at {now}')
        elif goal.id == State.PRIMARY_STATE_ACTIVE and node in self._resting:
            self._resting.remove(node)
            self.get_logger().info(f'{node} goes on from {now}')

    # The step.

    def _publish_clock(self, time_us: int) -> None:
        self._publish_clock_bytes(self._encode_clock(time_us, None))

    def _on_command(self, data: bytes) -> None:
        """The step is done when its command has come."""
        if not self.stepper.complete(serialised_stamp_us(data)):
            return
        if self._supervision.debt is not None:
            self._supervision.settle()
        elif not self.stepper.under_way:
            self._announce()

    # The recorder.

    def _let_go_on(self) -> None:
        """Let time go as far as the recorder allows."""
        if self._recorder is not None:
            self.stepper.limit(self._recorder.limit_us)

    def _on_recorder_failure(self, sentence: str) -> None:
        """Go on without a recording, or end, as the recorder's parameter says."""
        if self._recorder.ends_run:
            self.exit_code = 1
            self.stop(sentence)
        else:
            self._unrecorded = sentence
            self._announce()

    def _lose_recorder(self, sentence: str) -> None:
        """Wait no longer for a recorder that is gone or has lost a message."""
        sentence = (f'{sentence}; on disk is all up to'
                    f' t = {seconds_text(self._recorder.flushed_us)}')
        if not self._recorder.ends_run:
            sentence += ', and the run goes on without it'
        self.get_logger().error(sentence)
        # From now on it is none of the graph, but it is ended with it if it still lives.
        self._lost = [node for node in self._nodes if node.name == 'recorder']
        self._nodes[:] = [node for node in self._nodes if node.name != 'recorder']
        counts = parameters.read(self, self.get_name()).world.node_counts
        self._graph = graph.of_instances(counts | {'recorder': 0})
        self._supervision.begin_again()
        self._recorder.give_up()
        self._on_recorder_failure(sentence)
        self._recorder = None

    # Steps that are not complete.

    def _watch(self) -> None:
        """Tell the status now and then, and look after the steps."""
        if time.monotonic() - self._announced_s > _ANNOUNCED_EVERY_S:
            self._announce()
        if self._phase is RunState.RUNNING and self._sequence is None:
            self._watch_pace()
            self._supervision.watch(self.get_parameter('step_timeout_s').value)

    def _watch_pace(self) -> None:
        """Tell when the machine cannot keep the speed that is asked for."""
        stepper = self.stepper
        goes_on = stepper.steps > 0 and not (
            stepper.paused or stepper.held or self._supervision.debt)
        if sentence := self._pace_watch.remark(
                stepper.speed_factor, stepper.steps, stepper.lost_s, goes_on):
            self.get_logger().warning(sentence)

    def _on_debt(self, debt: Debt) -> None:
        """Tell who owes a message, and do what `on_overdue` says."""
        if debt.node == 'recorder':
            self._lose_recorder(debt.sentence)
            return
        if debt.holds:
            self.get_logger().info(debt.sentence)
        elif debt.repeater:
            self.get_logger().warning(debt.sentence)
        else:
            self.get_logger().error(debt.sentence)
        self._announce()
        if debt.holds or debt.repeater:
            return
        policy = self.get_parameter('on_overdue').value
        if policy == 'pause':
            self.set_parameters([Parameter('paused', value=True)])
        elif policy == 'fail':
            self.exit_code = 1
            self.stop(debt.sentence)

    def _repeat(self, name: str) -> None:
        if name == 'manager':
            self._publish_clock(self.stepper.time_us)
            return
        node, = (node for node in self._nodes if node.name == name)
        node.call_repeat()

    def _on_settled(self, debt: Debt) -> None:
        """Say that all is well again."""
        back = '' if debt.holds else f'{debt.node} is back; '
        self.get_logger().info(f'{back}t = {seconds_text(self.stepper.complete_us)} is complete')
        self._announce()

    # Requests.

    def _on_pause(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Hold time at the end of this step."""
        return self._set_paused(True, response)

    def _on_resume(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Let time go on."""
        return self._set_paused(False, response)

    def _set_paused(self, paused: bool, response: Trigger.Response) -> Trigger.Response:
        result = self.set_parameters([Parameter('paused', value=paused)])[0]
        response.success, response.message = result.successful, result.reason
        if result.successful and self.stepper is not None:
            verb = 'pauses' if paused else 'goes on'
            response.message = f'time {verb} at t = {seconds_text(self.stepper.time_us)}'
        return response

    def _on_step(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Take `step_count` steps, then pause again."""
        response.success = self._phase is RunState.RUNNING and self.stepper.paused
        if response.success:
            count = self.get_parameter('step_count').value
            self.stepper.go_on(count)
            response.message = f'{count} {"step" if count == 1 else "steps"} more'
        else:
            response.message = 'time is not paused'
        return response

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Begin again at time 0."""
        response.success = self._phase in (RunState.RUNNING, RunState.STOPPED)
        if response.success:
            response.message = f'resetting from t = {seconds_text(self.stepper.time_us)}'
            self.resets += 1
            self._enter(RunState.RESETTING)
            self._begin(self._reset())
        else:
            response.message = f'cannot reset while {self._phase.value}'
        return response

    def _on_stop(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Take the graph down and end."""
        response.success = not self.finished
        response.message = 'stopping'
        self.stop('sim/stop')
        return response

    def _on_set_parameters(self, changes: list[Parameter]) -> typing.Any:
        refused = [c.name for c in changes if c.name not in _LIVE_PARAMETERS]
        result = parameters.check_changes(
            self, self.get_name(), changes, refused, 'while the graph runs')
        if result.successful and self._phase is RunState.RUNNING:
            for change in changes:
                if change.name == 'speed_factor':
                    self.stepper.set_speed_factor(float(change.value))
                elif change.name == 'paused':
                    (self.stepper.pause if change.value else self.stepper.resume)()
        return result

    # What is told.

    def _enter(self, phase: RunState, reason: str = '') -> None:
        self._phase, self._reason = phase, reason
        if self._supervision is not None:
            self._supervision.begin_again()
        self._announce()

    @property
    def state(self) -> RunState:
        """What the manager is about."""
        if self._phase is not RunState.RUNNING:
            return self._phase
        debt = self._supervision.debt
        if debt is not None:
            return RunState.WAITING if debt.holds else RunState.OVERDUE
        return RunState.PAUSED if self.stepper.standing else RunState.RUNNING

    def _announce(self) -> None:
        """Publish the latched status."""
        self._announced_s = time.monotonic()
        self._status_publisher.publish(diagnostics.status_message(self, self._status()))

    def _status(self) -> diagnostics.Status:
        state, stepper = self.state, self.stepper
        level = {
            RunState.OVERDUE: diagnostics.ERROR, RunState.STOPPED: diagnostics.ERROR,
            RunState.WAITING: diagnostics.WARN}.get(
                state, diagnostics.WARN if self._unrecorded else diagnostics.OK)
        debt = self._supervision.debt if self._supervision else None
        sentence = (debt.sentence if debt else self._reason) or self._unrecorded or state.value
        if state is RunState.RUNNING and stepper.held and not stepper.under_way:
            sentence = 'the recorder is behind'
        values = {'state': state.value, 'run': self.run, 'resets': self.resets,
                  'lifecycle': self._lifecycle_state}
        if stepper is None:
            return diagnostics.Status(0, level, sentence, values)
        return diagnostics.Status(stepper.complete_us, level, sentence, values | {
            'steps': stepper.steps,
            'sim_time_s': f'{stepper.complete_us / US_PER_S:.6f}',
            'wall_time_s': f'{stepper.wall_s:.6f}',
            'real_time_factor': f'{stepper.real_time_factor():.3f}',
            'speed_factor': f"{self.get_parameter('speed_factor').value:g}",
            'paced_s': f'{stepper.paced_s:.6f}',
            'busy_s': f'{stepper.busy_s:.6f}',
        })
