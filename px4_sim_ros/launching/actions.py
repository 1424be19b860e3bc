# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The actions of the launch files, from their arguments."""
from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import pathlib
import shlex
import signal
import tempfile
import typing

from launch.actions import (
    EmitEvent,
    ExecuteProcess,
    RegisterEventHandler,
    SetEnvironmentVariable,
)
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.events.process import ProcessExited
from launch.launch_context import LaunchContext
from launch.launch_description_entity import LaunchDescriptionEntity
from launch.utilities import AsyncSafeSignalManager
from launch_ros.actions import Node

from px4_sim_ros.flight import autopilots
from px4_sim_ros.launching.arguments import ARGUMENTS, FLEET_ARGUMENTS
from px4_sim_ros.launching.viewers import (
    check_fleet_viewers,
    check_viewers,
    fleet_viewers,
    viewers,
)
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.process import domain_claim, signals
from px4_sim_ros.process.children import SIGNALS_WAIT, die_with_parent
from px4_sim_ros.process.new_folder import new_folder
from px4_sim_ros.recording.bag.fleet_description import describe, vehicles_of, write_run_files
from px4_sim_ros.spec import node_overrides
from px4_sim_ros.spec.compile_ahead import compile_ahead
from px4_sim_ros.spec.fleets import Fleet, laid_over
from px4_sim_ros.spec.flight_spec import BY_HAND, FlightSpec, Options, VehicleSpec, flight_of
from px4_sim_ros.spec.parameter_files import FlatParameters
from px4_sim_ros.spec.resources import PACKAGE
from px4_sim_ros.spec.ros_environment import ros_environment
from px4_sim_ros.step.graph import TOPICS_OF_PX4
from px4_sim_ros.step.graph_vehicles import GraphVehicle, process_groups
from px4_sim_ros.step.pacing import speed_factor

# Codes of a process that has ended as it was asked to; the last is that of a command.
_AS_ASKED = 0, -signal.SIGINT, -signal.SIGTERM, 128 + signal.SIGINT


def _given(
    arguments: typing.Mapping[str, str], name: str, kind: typing.Callable[[str], typing.Any],
) -> dict[str, typing.Any]:
    """Return an argument as a parameter, or nothing when it was not given."""
    text = arguments[name]
    if not text:
        return {}
    try:
        return {name: kind(text)}
    except ValueError:
        word = 'a whole number' if kind is int else 'a number or max'
        raise ParameterError(f'{name} = {text!r}: must be {word}') from None


def options_of(
    given: typing.Mapping[str, str], vehicle: str | None = None,
) -> Options:
    """Return the flight that a launch asks for."""
    overrides = overriding(given)
    overrides[''] |= _given(given, 'scenario', str) if 'scenario' in given else {}
    return Options(
        given['mode'], given['autopilot'], given['px4_dir'],
        given['px4_schedule'], given['params_file'] or None, overrides,
        BY_HAND if vehicle is None else laid_over(BY_HAND, {'': {'vehicle': vehicle}}),
        {'embedded': 'square'},
        given['profile'], given.get('namespace', ''),
        given['nodes'].split(',') if given['nodes'] else (),
        given['remap'].split(',') if given.get('remap') else (),
        agent=given['agent'] == 'true')


def overriding(given: typing.Mapping[str, str]) -> dict[str, FlatParameters]:
    """Return the arguments that are parameters, by node."""
    overrides = {
        '': (_given(given, 'seed', int) | _given(given, 'vehicle', str)
             | _given(given, 'wind', str) | _given(given, 'scene', str)),
        'manager': (_given(given, 'speed_factor', speed_factor)
                    | ({'paused': True} if given['paused'] == 'true' else {})),
        'hil_bridge': _given(given, 'instance', int),
    }
    if given['mission'] != 'auto':
        overrides[''] |= {'mission': given['mission']}
    if given['px4_topics'] != 'false':
        overrides[''] |= {'px4_topics': True}
        if given['px4_topics'] != 'true':
            overrides[TOPICS_OF_PX4] = {'awaited': given['px4_topics'].replace(',', ' ')}
    if given['record']:
        overrides[''] |= {'recorder': True}
        overrides['recorder'] = {'folder': str(new_folder(given['record']))}
    return overrides


def actions(context: LaunchContext, vehicle: str) -> list[LaunchDescriptionEntity]:
    given = {name: context.launch_configurations[name] for name in ARGUMENTS}
    check_viewers(given)
    return flight_actions(context, given, flight_of(options_of(given, vehicle)))


def fleet_actions(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return all actions of a launch of several vehicles."""
    given = {name: context.launch_configurations[name] for name in FLEET_ARGUMENTS}
    check_fleet_viewers(given)
    fleet = Fleet.load(given['fleet'])
    return flight_actions(context, given, flight_of(options_of(given), fleet))


def flight_actions(
    context: LaunchContext, given: typing.Mapping[str, str], spec: FlightSpec,
) -> list[LaunchDescriptionEntity]:
    begun = begin(context, spec.vehicles)
    if begun is None:
        return []
    folder, claim = pathlib.Path(begun[0].name), begun[1]
    description = describe(spec)
    parameters, run = write_run_files(description, spec.configurations, folder)
    shown = (fleet_viewers(given, spec.configurations, run, bounded(given))
             if spec.fleet else viewers(given, spec.configuration, parameters, bounded(given)))
    return [
        *surroundings(claim),
        *_world(given, vehicles_of(description), parameters, run,
                spec.optional_nodes, spec.own_classes, spec.remaps),
        *(action for vehicle in spec.vehicles if vehicle.is_started
          for action in _autopilot(given, vehicle, run)),
        *shown,
    ]


def begin(
    context: LaunchContext, vehicles: typing.Sequence[VehicleSpec],
) -> tuple[tempfile.TemporaryDirectory, contextlib.ExitStack] | None:
    """Return a folder for the files of a flight, and the right to start its graph and autopilots.

    :raises PortTakenError: naming the port and, where the system shows it, its holder
    """
    with domain_claim.claim_start() as held:
        held.enter_context(autopilots.claim(vehicles))
        try:
            compile_ahead(sees=any(its.configuration.world.sees for its in vehicles))
        except KeyboardInterrupt:
            return None
        return _own_folder(context), held.pop_all()


def _own_folder(context: LaunchContext) -> tempfile.TemporaryDirectory:
    """Return a folder that goes with the launch, which SIGTERM and SIGHUP end as Ctrl-C does."""
    loop = asyncio.get_running_loop()

    def end(number: int) -> None:
        loop.call_soon_threadsafe(context.emit_event_sync, Shutdown(
            reason=signal.Signals(number).name))

    signals.leave_to(loop, end)
    # Launch cancels itself at a SIGTERM, without an end of its processes, and offers no other way.
    manager = getattr(AsyncSafeSignalManager, '_AsyncSafeSignalManager__current', None)
    if manager is not None:
        manager.handle(signal.SIGTERM, None)
    folder = tempfile.TemporaryDirectory(prefix=f'{PACKAGE}_')
    # Not when the launch shuts down: a process that has just begun reads its parameters then.
    atexit.register(folder.cleanup)
    return folder


def surroundings(claim: contextlib.ExitStack) -> list[LaunchDescriptionEntity]:
    """Return the actions that set the environment of a launch."""
    atexit.register(claim.close)
    environment = ros_environment()
    return [
        *(SetEnvironmentVariable(name, environment[name])
          for name in sorted(set(environment) - set(os.environ)))]


def bounded(given: typing.Mapping[str, str]) -> dict[str, typing.Any]:
    """Return the arguments of every process: it ends with the launch if that is killed.

    :param given: the arguments, with the level of its log
    """
    return {'prefix': shlex.join(SIGNALS_WAIT + die_with_parent()),
            'ros_arguments': ['--log-level', given['log_level']]}


def essential(process: ExecuteProcess) -> list[LaunchDescriptionEntity]:
    """Return a process and what ends the launch together with it."""
    return [process, RegisterEventHandler(OnProcessExit(
        target_action=process, on_exit=_end_launch))]


def _end_launch(event: ProcessExited, context: LaunchContext) -> EmitEvent:
    """End the launch, with exit code 1 if the process has failed, also while the launch ends."""
    if event.returncode not in (_AS_ASKED if context.is_shutdown else (0,)):
        raise RuntimeError(f'{event.process_name} has ended with exit code {event.returncode}')
    return EmitEvent(event=Shutdown(reason='a process has ended'))


def _world(
    given: typing.Mapping[str, str], members: typing.Sequence[GraphVehicle],
    parameters: pathlib.Path, run: pathlib.Path, optional: typing.Container[str],
    own_classes: typing.Mapping[str, str], remaps: typing.Sequence[str],
) -> list[LaunchDescriptionEntity]:
    """Return the processes of the graph."""
    is_fleet = bool(members[0].vehicle)
    actions: list[LaunchDescriptionEntity] = []
    for names in process_groups(members, given['mode']):
        node = Node(
            # Of a fleet none: it would be that of all nodes, in place of their vehicles'.
            package=PACKAGE, executable='world', namespace=given.get('namespace'),
            arguments=[*names, '--run', str(run),
                       *node_overrides.arguments(
                           own_classes, own_classes if is_fleet else names)],
            exec_name=names[0] if len(names) == 1 else 'world',
            remappings=[tuple(rule.split(':=')) for rule in remaps],
            parameters=[str(parameters)], output='screen', **bounded(given))
        actions += [node] if names[0] in optional else essential(node)
    return actions


def _autopilot(
    given: typing.Mapping[str, str], vehicle: VehicleSpec, run: pathlib.Path,
) -> list[LaunchDescriptionEntity]:
    """Return the process of a vehicle's autopilot; it is restarted with the world."""
    px4, name = vehicle.px4, vehicle.name
    arguments = ['--run', str(run), *(['--member', name] if name else [])]
    if px4 is not None:
        arguments += ['--px4-build', str(px4.build), '--px4-schedule', px4.schedule]
        if px4.agent:
            arguments.append('--agent')
        if px4.core_instance is not None:
            arguments += ['--core-instance', str(px4.core_instance)]
    what = 'px4' if px4 else 'autopilot'
    node = Node(
        package=PACKAGE, executable='autopilot_supervisor', namespace=vehicle.namespace,
        arguments=arguments, exec_name=f'{what}_{name}' if name else what, output='screen',
        **bounded(given))
    # The others fly on without it, if its entry says so.
    return [node] if vehicle.hil.on_waiting == 'hold_first' else essential(node)
