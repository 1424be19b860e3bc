# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is flown: one vehicle or several, as objects; made once, and checked where it is made."""
from __future__ import annotations

import dataclasses
import functools
import pathlib
import typing
import warnings

from px4_sim_ros.link.hil.line import AUTOPILOTS, STARTED, is_line, line_to
from px4_sim_ros.link.hil.link_state import HilParameters
from px4_sim_ros.link.hil.server import port_of
from px4_sim_ros.link.pilot.block import UPLOADED, PilotParameters
from px4_sim_ros.model.errors import InputWarning, ParameterError, within
from px4_sim_ros.model.faults.autopilot import AutopilotParameter, Mode, Px4Failure, Sticks
from px4_sim_ros.model.mission import Mission
from px4_sim_ros.model.vehicle.checks import check_is_multirotor
from px4_sim_ros.process.new_folder import new_folder
from px4_sim_ros.px4 import boot_parameters
from px4_sim_ros.px4.installed import check_airframe
from px4_sim_ros.px4.sitl import ONE_CORE, REPEATABLE, Px4, world_parameters
from px4_sim_ros.spec import node_overrides, remapping
from px4_sim_ros.spec.configuration import (
    Configuration,
    check_flown,
    load_configuration,
    profile_parameters,
)
from px4_sim_ros.spec.files import Files
from px4_sim_ros.spec.fleets import Fleet, check_presences, check_starts, configurations, laid_over
from px4_sim_ros.spec.parameter_files import Settings
from px4_sim_ros.spec.run_parameters import ManagerParameters, RecorderParameters
from px4_sim_ros.step.graph import TOPICS_OF_PX4
from px4_sim_ros.step.presence import ALWAYS, Presence

if typing.TYPE_CHECKING:       # a flight without one does without all of its actions
    from px4_sim_ros.model.scenario.scenario import Scenario

MODES = ('core', 'composed', 'separate')

LINE = 'line'
"""Stands for all that are at the end of one."""

AS_FAST_AS_POSSIBLE: Settings = {'manager': {'speed_factor': 0.0}}
"""Unless a parameter says otherwise."""

# The mission ends a flight, so that it ends with a step that is always the same.
OF_ONE_FLIGHT: Settings = {**AS_FAST_AS_POSSIBLE, 'pilot': {'at_end': 'hold'}}
"""The same, of a flight that ends with its mission."""

BY_HAND: Settings = {'': {'by_hand': True}}
"""Of a flight to which commands may come; mode `core` has services for none."""

# Wall time without controls until the link is STALLED.
_SILENT_S = 0.1

MISSION = 'square'
MISSIONS = dict.fromkeys((*STARTED, LINE), MISSION)
"""The mission by autopilot, where none is named."""


@dataclasses.dataclass(frozen=True)
class VehicleSpec:
    """What one vehicle flies."""

    configuration: Configuration
    autopilot: str                     # of AUTOPILOTS
    px4: Px4 | None = None             # None unless it is the autopilot
    name: str = ''                     # in a world of several: its namespace
    namespace: str = ''                # of its nodes
    presence: Presence = ALWAYS        # in a world of several

    @property
    def is_started(self) -> bool:
        """Whether its autopilot is started here, and does not come by itself."""
        return self.autopilot in STARTED

    @property
    def mission(self) -> Mission | None:
        """Its mission; None: it flies until the end is asked for."""
        return self.configuration.mission

    @property
    def scenario(self) -> Scenario | None:
        """Its scenario; None: the mission ends its flight."""
        return self.configuration.scenario

    @property
    def hil(self) -> HilParameters:
        """The parameters of the link to its autopilot."""
        return self.configuration.of_node('hil_bridge', HilParameters)

    def check(self) -> None:
        """Check that the autopilot can fly what is wanted, and that it can be recorded."""
        if self.autopilot not in AUTOPILOTS:
            raise ParameterError(f"autopilot {self.autopilot!r}: must be {', '.join(AUTOPILOTS)}")
        if self.autopilot == 'embedded':
            check_embedded(self.configuration)
        if self.hil.line:
            self._check_line()
        if 'recorder' in self.configuration.nodes:
            new_folder(self.configuration.of_node('recorder', RecorderParameters).folder)
        check_flown(self.configuration)
        if self.px4 is not None:
            with within(f'vehicle {self.configuration.vehicle.name}'):
                check_airframe(self.px4.build, self.configuration.vehicle.px4_airframe)
            if self.px4.agent and TOPICS_OF_PX4 in self.configuration.nodes:
                raise ParameterError('agent = True: px4_topics is the agent; take one of them')
            boot_parameters.environment(
                self.px4, self.configuration.vehicle, self.configuration.scenario)
        elif self.scenario is not None and self.scenario.px4_parameters:
            names = ', '.join(self.scenario.px4_parameters)
            warnings.warn(
                f'scenario {self.scenario.name}: px4: is for a PX4 that is started here; this'
                f' flight is without {names}', InputWarning, stacklevel=2)

    def _check_line(self) -> None:
        """Check that the world can keep step with a flight controller."""
        speed_factor = self.configuration.of_node('manager', ManagerParameters).speed_factor
        if speed_factor != 1.0:
            raise ParameterError(f'speed_factor = {speed_factor:g}: must be 1 with a flight'
                                 ' controller, which keeps its own time')
        line_to(self.hil.line, self.configuration.world.step_us)


@dataclasses.dataclass(frozen=True)
class FlightSpec:
    """What is flown, and how."""

    mode: str                                          # of MODES
    vehicles: tuple[VehicleSpec, ...]                  # the first has the parameters of the world
    fleet: str = ''                                    # its name; '': one vehicle, and no fleet
    near_miss_m: float = 0.0                           # for `Encounters`
    # `module:Class` by name, in place of the blocks of each vehicle.
    own_classes: typing.Mapping[str, str] = dataclasses.field(default_factory=dict)
    remaps: tuple[str, ...] = ()                       # remapping rules of ROS
    # The embedded autopilot answers as a call, without a process of its own: mode `core`.
    in_process: bool = False

    @property
    def first(self) -> VehicleSpec:
        """The first vehicle."""
        return self.vehicles[0]

    @property
    def configuration(self) -> Configuration:
        """The parameters of the first vehicle, with those of the world and the recorder."""
        return self.first.configuration

    @property
    def configurations(self) -> dict[str, Configuration]:
        """The parameters by vehicle; the first has the recorder."""
        return {vehicle.name: vehicle.configuration for vehicle in self.vehicles}

    @property
    def namespace(self) -> str:
        """The namespace of all nodes: vehicles of a fleet have their own."""
        return '' if self.fleet else self.first.namespace

    @property
    def events(self) -> int:
        """How many events the missions have."""
        return sum(vehicle.mission.events for vehicle in self.vehicles if vehicle.mission)

    @property
    def awaited_at(self) -> list[str]:
        """Where autopilots are waited for that are not started here."""
        return [vehicle.hil.line or f'TCP port {port_of(vehicle.hil.instance)}'
                for vehicle in self.vehicles if not vehicle.is_started]

    @property
    def repeats_px4(self) -> bool:
        """Whether a PX4 flies that repeats its flights."""
        return any(v.px4 is not None and v.px4.repeats for v in self.vehicles)

    @property
    def optional_nodes(self) -> tuple[str, ...]:
        """The nodes in processes of their own without which a run continues."""
        if 'recorder' not in self.configuration.nodes:
            return ()
        recorder = self.configuration.of_node('recorder', RecorderParameters)
        return ('recorder',) if recorder.on_failure == 'continue' else ()


@dataclasses.dataclass(frozen=True)
class Options:
    """What a user asks for, from which a `FlightSpec` is made."""

    mode: str = 'core'
    autopilot: str = 'embedded'                        # of vehicles of which a fleet says nothing
    px4_dir: str = ''
    px4_schedule: str | None = ONE_CORE                # None: repeatable, where the user may
    params_file: pathlib.Path | str | None = None
    overrides: Settings = dataclasses.field(default_factory=dict)       # laid over all
    base: Settings = dataclasses.field(default_factory=dict)            # under all else
    # The mission by autopilot, unless another is named.
    missions: typing.Mapping[str, str] = dataclasses.field(default_factory=dict)
    profile: str = ''
    namespace: str = ''
    node: typing.Sequence[str] = ()                    # NAME=MODULE:CLASS
    remap: typing.Sequence[str] = ()
    agent: bool = False                                # an XRCE agent beside each PX4
    files: Files = dataclasses.field(default_factory=Files)

    @functools.cached_property
    def px4(self) -> Px4:
        """The PX4 that flies where the autopilot is PX4."""
        if not self.agent:
            return Px4.find(self.px4_dir, self.px4_schedule)
        if self.px4_schedule == REPEATABLE:
            raise ParameterError(f'px4_schedule = {REPEATABLE}: an agent works by the wall clock;'
                                 f' fly without it, or with px4_schedule {ONE_CORE}')
        return Px4.find(self.px4_dir, self.px4_schedule or ONE_CORE).with_agent()

    def base_of(self, autopilot: str) -> Settings:
        """Return the parameters under all else of a vehicle with an autopilot."""
        mission = self.missions.get(LINE if is_line(autopilot) else autopilot)
        return laid_over(
            self.base, world_parameters(self.px4) if autopilot == 'px4' else {},
            _of_line(autopilot) if is_line(autopilot) else {},
            {} if mission is None else {'': {'mission': mission}},
            profile_parameters(self.profile))


def _of_line(line: str) -> Settings:
    """Return the parameters of a flight with a flight controller, which keeps its own time."""
    return {'manager': {'speed_factor': 1.0},
            'hil_bridge': {'line': line, 'reply_timeout_s': _SILENT_S}}


def flight_of(options: Options, fleet: Fleet | None = None) -> FlightSpec:
    """Return the flight that is asked for."""
    if options.agent and options.autopilot != 'px4':
        raise ParameterError('agent = True: it is for a PX4 that is started here; fly with the'
                             ' autopilot px4')
    if fleet is not None:
        return _of_fleet(options, fleet)
    configuration = load_configuration(
        options.params_file, options.overrides, options.namespace,
        base=options.base_of(options.autopilot), files=options.files)
    vehicle = VehicleSpec(
        configuration, options.autopilot, options.px4 if options.autopilot == 'px4' else None,
        namespace=options.namespace)
    vehicle.check()
    own_classes = node_overrides.parse(options.node, configuration.graph.nodes)
    if options.mode == 'core':
        for name, value in (('remap', ''.join(options.remap[:1])),
                            ('namespace', options.namespace)):
            if value:
                raise ParameterError(f'{name} {value!r}: mode core has no topics; fly in mode'
                                     ' composed or separate')
    remapping.check(options.remap, configuration.graph)
    return FlightSpec(options.mode, (vehicle,), own_classes=own_classes,
                      remaps=tuple(options.remap))


def _of_fleet(options: Options, fleet: Fleet) -> FlightSpec:
    members = configurations(
        fleet, options.autopilot, options.params_file, options.overrides, options.base_of,
        options.files)
    step_us = members[0][1].world.step_us
    presences = {vehicle.namespace: vehicle.presence(step_us) for vehicle, _ in members}
    check_presences(f'fleet {fleet.name}', presences)
    check_starts({vehicle.namespace: its for vehicle, its in members
                  if presences[vehicle.namespace].has(step_us)})
    built = options.px4 if any(vehicle.autopilot == 'px4' for vehicle, _ in members) else None
    if built is not None and built.repeats:
        # All are on the core that the step is on.
        first = members[0][1].of_node('hil_bridge', HilParameters).instance
        built = dataclasses.replace(built, core_instance=first)
    vehicles = tuple(
        VehicleSpec(its, vehicle.autopilot, built if vehicle.autopilot == 'px4' else None,
                    vehicle.namespace, vehicle.namespace, presences[vehicle.namespace])
        for vehicle, its in members)
    for vehicle in vehicles:
        with within(f'fleet {fleet.name}: {vehicle.name}'):
            vehicle.check()
    return FlightSpec(
        options.mode, vehicles, fleet.name, fleet.near_miss_m,
        node_overrides.parse(options.node, members[0][1].graph.nodes))


_BY_HAND = 'the embedded autopilot has no modes to fly by hand'
_CANNOT = {
    Sticks: f'sticks: {_BY_HAND}', Mode: f'mode: {_BY_HAND}',
    AutopilotParameter: 'parameter: the embedded autopilot has none',
    Px4Failure: 'px4_failure: the embedded autopilot has none'}


def check_embedded(configuration: Configuration) -> None:
    """Check that the embedded autopilot can fly what is wanted."""
    check_is_multirotor(configuration.vehicle)
    if 'pilot' in configuration.nodes and (
            configuration.of_node('pilot', PilotParameters).missions == UPLOADED):
        raise ParameterError(
            f'pilot.missions = {UPLOADED!r}: the embedded autopilot has no navigator; fly with the'
            ' autopilot px4')
    mission = configuration.mission
    if mission is not None and mission.plan is not None and mission.plan.refused:
        raise ParameterError(f'mission {mission.name}: the embedded autopilot does not fly'
                             f' {mission.plan.refused}; fly with the autopilot px4')
    if TOPICS_OF_PX4 in configuration.nodes:
        raise ParameterError('px4_topics = True: the embedded autopilot has no topics of its own;'
                             ' fly with the autopilot px4')
    for event in configuration.scenario.events if configuration.scenario else ():
        if (reason := _CANNOT.get(type(event.action))) and not event.refused:
            raise ParameterError(f'scenario {configuration.world.scenario}: event {event.name}:'
                                 f' {reason}; fly with the autopilot px4')
