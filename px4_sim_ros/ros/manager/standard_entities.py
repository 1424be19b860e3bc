# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Vehicles by the services of the package `simulation_interfaces`, where they are called entities.

To be imported where that package is installed. Nothing moves a vehicle but its dynamics, so
nothing here does; what joins and leaves has its home in `vehicle_control`.
"""
from __future__ import annotations

import re
import typing

from geometry_msgs.msg import Pose
from simulation_interfaces.msg import EntityState, Resource, Result, SimulatorFeatures, Spawnable
from simulation_interfaces.srv import (
    DeleteEntity,
    GetEntities,
    GetEntitiesStates,
    GetEntityState,
    GetSpawnables,
    SpawnEntity,
)

from px4_sim_ros.messages.run_status import RunState
from px4_sim_ros.messages.stamps import in_frame, set_stamp
from px4_sim_ros.messages.truth import WORLD_FRAME
from px4_sim_ros.model.rotation import matrix, to_world
from px4_sim_ros.model.truth import Truth
from px4_sim_ros.ros.framework.block_host import BlockHost
from px4_sim_ros.ros.framework.long_services import LongServices
from px4_sim_ros.ros.framework.polling import PollingNode
from px4_sim_ros.ros.manager.lifecycle_client import Sequence
from px4_sim_ros.ros.manager.standard_control import conclude
from px4_sim_ros.ros.manager.vehicle_control import VERBS, Owner, VehicleControl

_TRUTH = 'ground_truth/odom'


class StandardEntities:
    """Offers the services for vehicles; one alone is known by the name of its vehicle file."""

    def __init__(
        self, node: PollingNode, owner: Owner, host: BlockHost, vehicles: VehicleControl | None,
        name: str, services: LongServices,
    ) -> None:
        """Offer the services.

        :param host: of the blocks of this process
        :param vehicles: those of a fleet; without it there is one, which stays
        :param name: of that one
        """
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
        """Return what is offered, as numbers of `SimulatorFeatures`."""
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
