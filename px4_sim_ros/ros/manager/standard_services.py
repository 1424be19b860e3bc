# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The services of the package `simulation_interfaces` on the manager, beside its own.

To be imported where that package is installed, version 2.0 or newer. It recommends no names:
these are those of other simulators, such as Isaac Sim and O3DE.
"""
from __future__ import annotations

import pathlib
import re
import time
import typing

from geometry_msgs.msg import Pose
from simulation_interfaces.msg import (
    EntityState,
    Resource,
    Result,
    SimulationState,
    SimulatorFeatures,
    Spawnable,
)
from simulation_interfaces.srv import (
    DeleteEntity,
    GetEntities,
    GetEntitiesStates,
    GetEntityState,
    GetSimulationState,
    GetSimulatorFeatures,
    GetSpawnables,
    ResetSimulation,
    SetSimulationState,
    SpawnEntity,
    StepSimulation,
)

from px4_sim_ros.messages.run_status import RunState, RunStatus
from px4_sim_ros.messages.stamps import in_frame, set_stamp
from px4_sim_ros.messages.truth import WORLD_FRAME
from px4_sim_ros.model.rotation import matrix, to_world
from px4_sim_ros.model.truth import Truth
from px4_sim_ros.ros.framework.block_host import BlockHost
from px4_sim_ros.ros.framework.polling import LongServices, PollingNode
from px4_sim_ros.ros.manager.lifecycle_client import Sequence
from px4_sim_ros.ros.manager.run_control import ClockOwner, RunControl
from px4_sim_ros.ros.manager.vehicle_control import VERBS, Owner, VehicleControl
from px4_sim_ros.step.clock import LockstepClock

if typing.TYPE_CHECKING:
    from px4_sim_ros.ros.manager.manager import ManagerNode

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
                     f'time can neither pause nor run while {status.state}')
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
        """Begin again at time 0; return why that has failed, '' if it has not."""
        refusal = self._control.begin_again()
        if refusal:
            return refusal
        if is_paused is not None:
            self._control.set_paused(is_paused)
        while self._control.phase is RunState.RESETTING:
            yield None
        return '' if self._control.phase is RunState.RUNNING else self._control.reason


# Vehicles by the services of the package `simulation_interfaces`, where they are called entities.
#
# To be imported where that package is installed. Nothing moves a vehicle but its dynamics, so
# nothing here does; what joins and leaves has its home in `vehicle_control`.

_TRUTH = 'ground_truth/odom'


class StandardEntities:
    """Offers the services for vehicles; one alone is known by the name of its vehicle file."""

    def __init__(
        self, node: PollingNode, owner: Owner, host: BlockHost, vehicles: VehicleControl | None,
        name: str, services: LongServices,
    ) -> None:
        self._owner, self._host, self._vehicles, self._name = owner, host, vehicles, name
        self._services = [
            node.create_service(GetEntities, 'get_entities', self._on_get_entities),
            node.create_service(GetEntityState, 'get_entity_state', self._on_get_state),
            node.create_service(GetEntitiesStates, 'get_entities_states', self._on_get_states)]
        if vehicles is not None:
            self._services.append(
                node.create_service(GetSpawnables, 'get_spawnables', self._on_get_spawnables))
            services.offer(SpawnEntity, 'spawn_entity', self._spawn)
            services.offer(DeleteEntity, 'delete_entity', self._delete)

    def features(self) -> list[int]:
        """Return the offered features, as numbers of `SimulatorFeatures`."""
        features = [SimulatorFeatures.ENTITY_STATE_GETTING] * self._has_truth
        if self._vehicles is not None:
            features += [SimulatorFeatures.SPAWNING, SimulatorFeatures.DELETING,
                         SimulatorFeatures.SPAWNABLES]
        return features

    @property
    def _there(self) -> list[str]:
        return [self._name] if self._vehicles is None else self._vehicles.there()

    @property
    def _away(self) -> list[str]:
        return [] if self._vehicles is None else self._vehicles.away()

    # Where they are.

    @property
    def _has_truth(self) -> bool:
        """Whether the true motion is in this process; to subscribe would cost something a step."""
        return any(name.rpartition('/')[2] == 'dynamics' for name in self._host.nodes)

    def _truth(self, vehicle: str) -> Truth | None:
        """Return the true motion at the end of the last step, if there was one."""
        lane = self._host.runner.lanes['' if self._vehicles is None else vehicle]
        return lane.values.get(_TRUTH)

    def _on_get_entities(self, request: typing.Any, response: typing.Any) -> typing.Any:
        response.entities = self._chosen(request.filters, response)
        return response

    def _chosen(self, filters: typing.Any, response: typing.Any) -> list[str]:
        """Return the vehicles in the world that pass filters; what cannot be done is said."""
        given = {'categories': filters.categories, 'tags': filters.tags.tags,
                 'bounds': filters.bounds.type}
        for name, value in given.items():
            if value:
                conclude(response, Result.RESULT_FEATURE_UNSUPPORTED,
                         f'filters.{name}: must be empty, since vehicles are chosen by name')
                return []
        try:
            pattern = re.compile(filters.filter or '.*')
        except re.error as error:
            conclude(response, Result.RESULT_OPERATION_FAILED,
                     f'filters.filter = {filters.filter!r}: must be a regular expression: {error}')
            return []
        conclude(response)
        return [name for name in self._there if pattern.fullmatch(name)]

    def _on_get_state(self, request: typing.Any, response: typing.Any) -> typing.Any:
        if self._is_known(request.entity, self._there, response):
            for state in self._states([request.entity], response):
                response.state = state
        return response

    def _on_get_states(self, request: typing.Any, response: typing.Any) -> typing.Any:
        names = self._chosen(request.filters, response)
        if response.result.result == Result.RESULT_OK:
            response.states = self._states(names, response)
            response.entities = names[:len(response.states)]
        return response

    def _states(self, names: typing.Sequence[str], response: typing.Any) -> list[typing.Any]:
        """Return the states of vehicles; none if one of them has none, which is said."""
        truths = [self._truth(name) for name in names] if self._has_truth else []
        if not self._has_truth:
            conclude(response, Result.RESULT_FEATURE_UNSUPPORTED,
                     'the manager has the true motion of vehicles in mode composed only')
        elif None in truths:
            conclude(response, Result.RESULT_OPERATION_FAILED,
                     f'{names[truths.index(None)]} has no complete step yet')
        else:
            conclude(response)
            return [state_message(truth) for truth in truths if truth is not None]
        return []

    # Who joins and who leaves.

    def _is_known(
        self, name: str, names: typing.Sequence[str], response: typing.Any,
    ) -> bool:
        if name not in names:
            conclude(response, Result.RESULT_NOT_FOUND,
                     f'there is no vehicle {name}; there are {", ".join(names)}')
        return name in names

    def _on_get_spawnables(self, request: typing.Any, response: typing.Any) -> typing.Any:
        conclude(response)
        if request.sources:
            response.result.error_message = f'unknown: {", ".join(request.sources)}'
        for name in self._away:
            response.spawnables.append(Spawnable(
                entity_resource=Resource(uri=name),
                description='a vehicle of the fleet that is not in the world'))
        return response

    def _spawn(self, request: typing.Any, response: typing.Any) -> Sequence[None]:
        vehicle = request.entity_resource.uri
        code, sentence = self._misfit(request)
        if sentence:
            conclude(response, code, sentence)
        else:
            yield from self._change(vehicle, 'add', response)
            response.entity_name = vehicle * (response.result.result == Result.RESULT_OK)

    def _misfit(self, request: typing.Any) -> tuple[int, str]:
        """Return why a vehicle cannot be added as it is asked for, with its code, or ''."""
        vehicle, codes = request.entity_resource.uri, SpawnEntity.Response
        known = self._there + self._away
        reason, code = '', Result.RESULT_OK
        if vehicle not in known:
            code = codes.UNSUPPORTED_FORMAT if vehicle else codes.NO_RESOURCE
            reason = (f'entity_resource.uri = {vehicle!r}: must be a vehicle of the fleet file:'
                      f' {", ".join(known)}')
        elif request.name not in ('', vehicle) and not request.allow_renaming:
            code = codes.NAME_INVALID
            reason = (f'name = {request.name!r}: must be that of the vehicle, {vehicle}, or'
                      ' renaming allowed')
        elif request.entity_namespace.strip('/') not in ('', vehicle):
            code = codes.NAMESPACE_INVALID
            reason = (f'entity_namespace = {request.entity_namespace!r}: must be that of the'
                      f' vehicle, {vehicle}')
        elif request.initial_pose.pose != Pose():
            code = codes.INVALID_POSE
            reason = 'initial_pose: must be left out: the fleet file says where a vehicle begins'
        elif vehicle in self._there:
            code, reason = codes.NAME_NOT_UNIQUE, f'{vehicle} is in the world already'
        return code, reason

    def _delete(self, request: typing.Any, response: typing.Any) -> Sequence[None]:
        if self._is_known(request.entity, self._there, response):
            yield from self._change(request.entity, 'remove', response)

    def _change(self, vehicle: str, verb: str, response: typing.Any) -> Sequence[None]:
        """Add or remove a vehicle; return when that is done."""
        vehicles = self._vehicles
        assert vehicles is not None
        before = vehicles.changes
        sentence = vehicles.change(vehicle, verb)
        while not sentence and self._owner.is_busy and self._owner.phase is RunState.RUNNING:
            yield None
        if not sentence and vehicles.changes == before:
            sentence = f'{vehicle} was not {VERBS[verb]}: the log of the manager says why'
        conclude(response, Result.RESULT_OPERATION_FAILED, sentence)


def state_message(truth: Truth) -> EntityState:
    """Return a motion, with all vectors in map."""
    message = in_frame(EntityState(), WORLD_FRAME)
    set_stamp(message.header.stamp, truth.time_us)
    r = matrix(truth.attitude)
    position, attitude = message.pose.position, message.pose.orientation
    position.x, position.y, position.z = truth.position_enu
    attitude.w, attitude.x, attitude.y, attitude.z = truth.attitude
    for field, vector in (
            (message.twist.linear, truth.velocity_flu),
            (message.twist.angular, truth.rate_flu),
            (message.acceleration.linear, truth.acceleration_flu),
            (message.acceleration.angular, truth.angular_acceleration_flu)):
        field.x, field.y, field.z = to_world(r, vector)
    return message


class StandardServices:
    """Joins `StandardControl` and `StandardEntities`."""

    def __init__(self, manager: ManagerNode, host: BlockHost, clock: LockstepClock) -> None:
        services = LongServices(manager)
        name = pathlib.PurePath(manager.get_parameter('vehicle').value).stem
        self._entities = StandardEntities(
            manager, manager, host, manager.vehicle_control, name, services)
        self._control = StandardControl(
            manager, manager, clock, manager.control, manager.run_status, services,
            self._entities.features)
