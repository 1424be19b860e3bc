# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Run control by the services of the package `simulation_interfaces`, as other simulators have it.

To be imported where that package is installed. What is done has its home in `run_control`.
"""
from __future__ import annotations

import time
import typing

from simulation_interfaces.msg import Result, SimulationState, SimulatorFeatures
from simulation_interfaces.srv import (
    GetSimulationState,
    GetSimulatorFeatures,
    ResetSimulation,
    SetSimulationState,
    StepSimulation,
)

from px4_sim_ros.messages.run_status import RunState, RunStatus
from px4_sim_ros.ros.framework.long_services import LongServices
from px4_sim_ros.ros.framework.polling import PollingNode
from px4_sim_ros.ros.manager.lifecycle_client import Sequence
from px4_sim_ros.ros.manager.run_control import ClockOwner, RunControl
from px4_sim_ros.step.clock import LockstepClock

FEATURES = (
    SimulatorFeatures.SIMULATION_RESET, SimulatorFeatures.SIMULATION_STATE_GETTING,
    SimulatorFeatures.SIMULATION_STATE_SETTING, SimulatorFeatures.SIMULATION_STATE_PAUSE,
    SimulatorFeatures.STEP_SIMULATION_SINGLE, SimulatorFeatures.STEP_SIMULATION_MULTIPLE)

# Of wall time. A step that is held for an autopilot never ends; the others take milliseconds.
_PAUSE_TIMEOUT_S = 1.0
# Time and state are reset together, and the vehicles of a fleet with them.
_WHOLE = (ResetSimulation.Request.SCOPE_TIME | ResetSimulation.Request.SCOPE_STATE
          | ResetSimulation.Request.SCOPE_SPAWNED)
_STATES = {
    RunState.STARTING: SimulationState.STATE_LOADING_WORLD,
    RunState.RUNNING: SimulationState.STATE_PLAYING,
    RunState.WAITING: SimulationState.STATE_PLAYING,
    RunState.OVERDUE: SimulationState.STATE_PLAYING,
    RunState.PAUSED: SimulationState.STATE_PAUSED,
    RunState.RESETTING: SimulationState.STATE_LOADING_WORLD,
    RunState.STOPPED: SimulationState.STATE_NO_WORLD,
    RunState.STOPPING: SimulationState.STATE_QUITTING,
}
_TARGETS = (SimulationState.STATE_STOPPED, SimulationState.STATE_PLAYING,
            SimulationState.STATE_PAUSED, SimulationState.STATE_QUITTING)


def conclude(response: typing.Any, code: int = Result.RESULT_OK, sentence: str = '') -> None:
    """Write a result: a code with the sentence that explains it; without one all is done."""
    response.result.result = code if sentence else Result.RESULT_OK
    response.result.error_message = sentence


class StandardControl:
    """Offers the services for time and state."""

    def __init__(
        self, node: PollingNode, owner: ClockOwner, clock: LockstepClock, control: RunControl,
        status: typing.Callable[[], RunStatus], services: LongServices,
        features: typing.Callable[[], typing.Iterable[int]],
    ) -> None:
        """Offer the services.

        :param features: numbers of `SimulatorFeatures` that others have beside those of this
        """
        self._owner, self._clock, self._control = owner, clock, control
        self._status, self._features = status, features
        self._stopped_run = 0        # the run that was asked to stand at its beginning
        self._services = [
            node.create_service(GetSimulatorFeatures, 'get_simulator_features', self._on_features),
            node.create_service(GetSimulationState, 'get_simulation_state', self._on_get_state)]
        services.offer(SetSimulationState, 'set_simulation_state', self._set_state)
        services.offer(StepSimulation, 'step_simulation', self._step)
        services.offer(ResetSimulation, 'reset_simulation', self._reset)

    def _on_features(self, request: typing.Any, response: typing.Any) -> typing.Any:
        response.features.features = sorted({*FEATURES, *self._features()})
        response.features.custom_info = 'px4_sim_ros: docs/run_control.md'
        return response

    # The state.

    def _state(self, status: RunStatus) -> int:
        """Return a number of `SimulationState`; stopped is a pause at time 0 that was asked for."""
        is_stopped = (status.state is RunState.PAUSED and status.steps == 0
                      and self._stopped_run == status.run)
        return SimulationState.STATE_STOPPED if is_stopped else _STATES[RunState(status.state)]

    def _on_get_state(self, request: typing.Any, response: typing.Any) -> typing.Any:
        status = self._status()
        response.state.state = self._state(status)
        response.result.result = Result.RESULT_OK
        if status.sentence != status.state:       # such as what the world waits for
            response.result.error_message = status.sentence
        return response

    def _set_state(self, request: typing.Any, response: typing.Any) -> Sequence[None]:
        target, status = request.state.state, self._status()
        if target not in _TARGETS:
            conclude(response, Result.RESULT_FEATURE_UNSUPPORTED,
                     f'state = {target}: must be 0 (stopped), 1 (playing), 2 (paused) or'
                     ' 3 (quitting)')
        elif self._is_in(target, status):
            conclude(response, SetSimulationState.Response.ALREADY_IN_TARGET_STATE,
                     'the simulation is in that state already')
        elif target == SimulationState.STATE_QUITTING:
            self._owner.stop('set_simulation_state')
            conclude(response)
        elif target != SimulationState.STATE_STOPPED and (
                self._control.phase is not RunState.RUNNING):
            conclude(response, SetSimulationState.Response.INCORRECT_TRANSITION,
                     f'time cannot be paused or go on while {status.state}')
        else:
            sentence = yield from self._move_to(target)
            conclude(response, SetSimulationState.Response.STATE_TRANSITION_ERROR, sentence)

    def _is_in(self, target: int, status: RunStatus) -> bool:
        """Return whether nothing is left to do: steps that were asked for end by themselves."""
        is_to_pause = target == SimulationState.STATE_PLAYING and self._clock.paused
        return self._state(status) == target and not is_to_pause

    def _move_to(self, target: int) -> Sequence[str]:
        """Change the state; return why it is not as it should be, '' if it is."""
        is_paused = target != SimulationState.STATE_PLAYING
        self._stopped_run = 0
        if target == SimulationState.STATE_STOPPED:
            refusal = yield from self._begin_again(is_paused=True)
            self._stopped_run = self._control.run
            return refusal
        refusal = self._control.set_paused(is_paused).reason
        until_s = time.monotonic() + _PAUSE_TIMEOUT_S
        while is_paused and not (refusal or self._clock.standing):
            if time.monotonic() > until_s:
                return f'time pauses at the end of the step under way: {self._status().sentence}'
            yield None
        return refusal

    # Steps and resets.

    def _step(self, request: typing.Any, response: typing.Any) -> Sequence[None]:
        count, clock = request.steps, self._clock
        before, run = clock.steps, self._control.run
        if count == 0:
            conclude(response, Result.RESULT_OPERATION_FAILED, 'steps = 0: must be at least 1')
            return
        sentence = self._control.take_steps(count)
        while not sentence and not clock.standing:
            status = self._status()
            if (run, clock.paused) != (status.run, True) or status.state not in (
                    RunState.RUNNING, RunState.WAITING):
                break
            yield None
        done = clock.steps - before if self._control.run == run else 0
        if not sentence and done < count:
            sentence = f'{done} of {count} steps are complete: {self._status().sentence}'
        conclude(response, Result.RESULT_OPERATION_FAILED, sentence)

    def _reset(self, request: typing.Any, response: typing.Any) -> Sequence[None]:
        if request.scope and request.scope & _WHOLE != _WHOLE:
            conclude(response, Result.RESULT_FEATURE_UNSUPPORTED,
                     f'scope = {request.scope}: must be 0 or 255, since time, state and vehicles'
                     ' are reset together')
            return
        sentence = yield from self._begin_again()
        conclude(response, Result.RESULT_OPERATION_FAILED, sentence)

    def _begin_again(self, *, is_paused: bool | None = None) -> Sequence[str]:
        """Begin again at time 0; return why that has failed, '' if it has not.

        :param is_paused: whether time is paused then; None: as before
        """
        refusal = self._control.begin_again()
        if refusal:
            return refusal
        if is_paused is not None:
            self._control.set_paused(is_paused)
        while self._control.phase is RunState.RESETTING:
            yield None
        return '' if self._control.phase is RunState.RUNNING else self._control.reason
