# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The figures of a flight: from the truth, the pilot and the link."""
from __future__ import annotations

import dataclasses
import hashlib
import math
import pathlib
import typing

import numpy.typing

from px4_sim_ros.link.hil.line import FIGURES
from px4_sim_ros.link.hil.link_state import MAX_HEIGHT, MOVED, TROUBLES
from px4_sim_ros.link.pilot.events import Event
from px4_sim_ros.model.encounters import Encounter, Nearest
from px4_sim_ros.model.errors import ParameterError, sentence
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.scenario.happening import Happening, Verdict, Verdicts
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.px4.log import LogLoss
from px4_sim_ros.spec.flight_spec import FlightSpec, VehicleSpec
from px4_sim_ros.step.clock import real_time_factor
from px4_sim_ros.step.presence import Change
from px4_sim_ros.step.repeatability import (
    FINGERPRINT,
    first_gap,
    gap_of_strangers,
    unrepeatable_because,
)

_LANDED_HEIGHT_M = 0.1
# Pairs of vehicles whose least distance a summary has.
_MOST_PAIRS = 10


@dataclasses.dataclass
class WorldStatus:
    """The counters of a world, all of one moment."""

    sim_time_s: float = 0.0
    wall_time_s: float = 0.0
    steps: int = 0
    link: dict[str, str] = dataclasses.field(default_factory=dict)
    busy_s: dict[str, float] = dataclasses.field(default_factory=dict)   # by part
    paced_s: float = 0.0
    fingerprint: str = ''        # of the motion and all that it was given; '' if it is not known
    gap: str = ''                # what first kept the run from being repeatable

    def link_count(self, key: str) -> int:
        """Return a counter of the link; 0 when it has not reported."""
        return int(self.link.get(key, 0))

    @property
    def max_height_m(self) -> float:
        """The greatest true height over the place of the start, of all steps."""
        return float(self.link.get(MAX_HEIGHT, 0.0))

    @property
    def moved_enu(self) -> Vector:
        """Where the vehicle truly is, from the place of the start, m."""
        east, north, up = (float(self.link.get(key, 0.0)) for key in MOVED)
        return east, north, up

    @property
    def time_ratio(self) -> float | None:
        """Simulated time over the autopilot's own, 1 in lockstep; None before any has passed."""
        return float(self.link['time_ratio']) if 'time_ratio' in self.link else None

    def step_cost_us(self) -> dict[str, float]:
        """Return the wall time of a step by part, without pacing.

        `hil_bridge` is without the waiting for the autopilot; `rest` is what no part
        accounts for: the ways between them. Parts in processes of their own overlap, so
        that `rest` may be below 0. Up to the first step there is none: wall time begins at its end.
        """
        if self.steps < 2:
            return {}
        waited_s = float(self.link.get('waited_s', 0.0))
        parts_s = dict(self.busy_s)
        if 'hil_bridge' in parts_s:
            # The first step waits for the autopilot; its wall time does not count.
            parts_s['hil_bridge'] -= waited_s + float(self.link.get('boot_s', 0.0))
        parts_s['autopilot'] = waited_s
        total_s = self.wall_time_s - self.paced_s
        parts_s['rest'] = total_s - sum(parts_s.values())
        parts_s['total'] = total_s
        return {part: round(spent_s / self.steps * 1e6, 1) for part, spent_s in parts_s.items()}

    def real_time_factor(self) -> float:
        """Return simulated over wall time; 0 before there is any."""
        return real_time_factor(self.sim_time_s, self.steps, self.wall_time_s)

    def state_seconds(self) -> dict[str, float]:
        """Return the wall time in each state of the link."""
        prefix = 'seconds_'
        return {
            key.removeprefix(prefix): float(value)
            for key, value in self.link.items() if key.startswith(prefix)}


class GraphReports:
    """What the nodes of a graph have reported last on `/diagnostics`.

    Each node reports at its own moments, and the last report of a process that ends may be lost.
    """

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, dict[str, str]]] = {}

    def add(self, node: str, time_us: int, values: dict[str, str]) -> None:
        """Take in a report of a node at its simulated time."""
        if node == 'hil_bridge' and 'replies' not in values:
            return       # it has no link yet
        self._last[node] = time_us, values

    def status(self) -> WorldStatus:
        """Return the counters at the time of the bridge's report, which counts steps and replies.

        The manager's wall times grow with simulated time: they are scaled to that time. The scale
        is 1 unless one of the two reports is missing at the end.
        """
        if not {'manager', 'hil_bridge'} <= self._last.keys():
            return WorldStatus()
        end_us, link = self._last['hil_bridge']
        manager_us, manager = self._last['manager']
        scale = end_us / manager_us if manager_us else 1.0
        busy_s = {node: float(values['busy_s']) for node, (_, values) in self._last.items()}
        return WorldStatus(
            end_us / US_PER_S, float(manager['wall_time_s']) * scale, int(link['steps']), link,
            busy_s | {'manager': busy_s['manager'] * scale}, float(manager['paced_s']) * scale,
            self._fingerprint(end_us), first_gap(values for _, values in self._last.values()))

    def _fingerprint(self, end_us: int) -> str:
        """Return the fingerprint of the whole run, if the last word of the dynamics has come."""
        time_us, values = self._last.get('dynamics', (0, {}))
        return values.get(FINGERPRINT, '') if time_us >= end_us else ''


class Stay:
    """When a vehicle has first joined a world and last left it, and how long it was there."""

    def __init__(self, joins_us: int | None) -> None:
        """Begin at time 0.

        :param joins_us: when it is to join; None: on request
        """
        self.joined_us = 0 if joins_us == 0 else None      # None: not yet
        self.left_us: int | None = None                    # None: it is there to the end
        self._away_us = 0                                  # between leaving and joining again

    def take(self, change: Change) -> None:
        """Record that it joins, or has left."""
        if not change.joins:
            self.left_us = change.time_us
            return
        if self.joined_us is None:
            self.joined_us = change.time_us
        if self.left_us is not None:
            self._away_us += change.time_us - self.left_us
            self.left_us = None

    @property
    def has_begun(self) -> bool:
        """Whether it was ever there."""
        return self.joined_us is not None

    @property
    def has_ended(self) -> bool:
        """Whether it has left, and not joined again."""
        return self.left_us is not None

    def length_s(self, end_s: float) -> float:
        """Return for how long it was in a world that has ended at a simulated time."""
        if self.joined_us is None:
            return 0.0
        until_s = end_s if self.left_us is None else self.left_us / US_PER_S
        return until_s - (self.joined_us + self._away_us) / US_PER_S


class VehicleRecord:
    """What has become of the flight of one vehicle."""

    def __init__(
        self, autopilot: str = 'none', *, shares_core: bool = False, joins_us: int | None = 0,
        lands: bool = True, nodes: typing.Container[str] = ('pilot',),
    ) -> None:
        self._autopilot, self._shares_core, self._joins_us = autopilot, shares_core, joins_us
        self._lands = lands                # its mission ends on the ground
        self._strangers = gap_of_strangers(autopilot, nodes)
        self.status = WorldStatus()        # of the world, at the end
        self.failure = ''                  # why the flight has failed, as a sentence
        self.log_loss: LogLoss | None = None           # of PX4's logs, None without one
        self.was_stopped = False                       # the end was asked for
        self.reset()

    def reset(self) -> None:
        """Begin with nothing: the run was reset."""
        self._arrivals: list[dict[str, typing.Any]] = []
        self.mission_flown = False
        self._happenings: list[dict[str, typing.Any]] = []
        self.verdicts: Verdicts | None = None          # of a scenario that has come to its end
        self.new_begins = 0                            # with another autopilot, in a fleet
        self.stay = Stay(self._joins_us)               # in the world of a fleet

    def attend(self, change: Change) -> None:
        """Record that the vehicle joins the world, or has left it."""
        if change.joins and self.stay.has_begun:
            self.begin_again()
        self.stay.take(change)

    def begin_again(self) -> None:
        """Record that the vehicle begins again while others fly on."""
        self.new_begins += 1
        self._arrivals.clear()

    def add_event(self, event: Event | Happening) -> None:
        """Take in an event of the pilot, or one of the scenario."""
        if isinstance(event, Happening):
            self._happenings.append({'time_s': event.time_s, 'event': event.text})
        elif event.target_enu is not None:
            self._arrivals.append(_arrival(event))

    @property
    def landed(self) -> bool:
        """Whether the mission was flown, and the vehicle is at rest where it began."""
        return self.mission_flown and abs(self.status.moved_enu[2]) < _LANDED_HEIGHT_M

    @property
    def has_succeeded(self) -> bool:
        """Whether all holds that its scenario expects, or without one whether it has landed."""
        if self.verdicts is not None:
            return not self.failed
        is_over = self.landed if self._lands else self.mission_flown
        return is_over or self.stay.has_ended or not self.stay.has_begun

    @property
    def failed(self) -> list[Verdict]:
        """The expectations of a scenario that have failed."""
        return [verdict for verdict in self.verdicts or () if not verdict.holds]

    def of_motion(self) -> dict[str, typing.Any]:
        """Return where the vehicle was."""
        east, north, _ = self.status.moved_enu
        return {
            'max_altitude_m': round(self.status.max_height_m, 3),
            'landed': self.landed,
            'position_error_at_landing_m': (
                round(math.hypot(east, north), 3) if self.landed else None),
            'arrivals': self._arrivals,
        }

    def of_link(self) -> dict[str, typing.Any]:
        """Return how the lockstep with the autopilot was, and whether the flight repeats."""
        return {
            'replies': self.status.link_count('replies'),
            **{trouble: self.status.link_count(trouble) for trouble in TROUBLES},
            'time_ratio': self.status.time_ratio,
            'fingerprint': self.status.fingerprint,
            'repeatable': not self.unrepeatable,
            'not_repeatable_because': self.unrepeatable,
            'states': self.status.state_seconds(),
            **{key: self.status.link[key] for key in FIGURES if key in self.status.link},
            **({} if self.log_loss is None else self.log_loss._asdict()),
        }

    @property
    def log_warning(self) -> str:
        """What PX4's logs lack, '' for nothing."""
        return self.log_loss.warning(self._shares_core) if self.log_loss else ''

    def of_scenario(self) -> dict[str, typing.Any]:
        """Return the scenario's events and verdicts."""
        if self.verdicts is None and not self._happenings:
            return {}
        return {'events': self._happenings, 'expectations': [
            {'text': v.text, 'holds': v.holds, 'margin': v.margin, 'unit': v.unit,
             'time_s': v.time_s, 'left_s': v.left_s,
             'extreme_time_s': None if v.extreme_us is None else v.extreme_us / US_PER_S}
            for v in self.verdicts or ()]}

    @property
    def unrepeatable(self) -> str:
        """Return why another flight may have another fingerprint, '' if none may."""
        return unrepeatable_because(
            self._autopilot, self._shares_core,
            (self.mission_flown or self.verdicts is not None or self.stay.has_ended)
            and not self.was_stopped,
            self.status.gap or self._strangers, self.status.fingerprint)


def _arrival(event: Event) -> dict[str, typing.Any]:
    """Return when the vehicle was how far from the target of an event."""
    assert event.target_enu is not None and event.place_enu is not None, 'it has both'
    return {
        'time_s': event.time_s, 'target_enu_m': list(event.target_enu),
        'position_error_m': round(math.dist(event.place_enu, event.target_enu), 3),
        'altitude_error_m': round(event.place_enu[2] - event.target_enu[2], 3),
    }


class FlightResult:
    """What has become of a flight, of one vehicle or several."""

    def __init__(self, spec: FlightSpec) -> None:
        self.spec = spec
        self.vehicles = {
            vehicle.name: VehicleRecord(
                vehicle.autopilot, shares_core=vehicle.hil.shares_core,
                joins_us=vehicle.presence.joins_us,
                lands=vehicle.mission is None or vehicle.mission.lands,
                nodes=vehicle.configuration.nodes)
            for vehicle in spec.vehicles}
        self.recording = ''                # its folder, '' for none
        self.recording_problem = ''        # why it has ended too early, as a sentence
        self.failure = ''                  # why the flight has failed, as a sentence
        self.reset()

    def reset(self) -> None:
        """Begin with nothing: the run was reset."""
        self.was_stopped = False
        self.met: list[Encounter] = []                 # near misses and collisions
        self.nearest: list[Nearest] = []               # each two, the least distance first
        for record in self.vehicles.values():
            record.reset()

    @property
    def first(self) -> VehicleRecord:
        """The record of the first vehicle."""
        return self.vehicles[self.spec.first.name]

    @property
    def was_stopped(self) -> bool:
        """Whether the end was asked for."""
        return self._was_stopped

    @was_stopped.setter
    def was_stopped(self, was_stopped: bool) -> None:
        self._was_stopped = was_stopped
        for record in self.vehicles.values():
            record.was_stopped = was_stopped

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the whole, '' if it is not known."""
        if not self.spec.fleet:
            return self.first.status.fingerprint
        return whole_fingerprint({
            name: record.status.fingerprint for name, record in self._there().items()})

    def _there(self) -> dict[str, VehicleRecord]:
        """Return the records of those that were ever in the world."""
        return {name: record for name, record in self.vehicles.items() if record.stay.has_begun}

    @property
    def unrepeatable(self) -> str:
        """Why another flight may have another fingerprint, '' if none may."""
        if not self.spec.fleet:
            return self.first.unrepeatable
        return next((f'{name}: {record.unrepeatable}' for name, record in self._there().items()
                     if record.unrepeatable), '')

    @property
    def has_succeeded(self) -> bool:
        """Whether each has landed, or with a scenario all holds that it expects."""
        return not self.failure and all(
            record.has_succeeded for record in self.vehicles.values())

    def verdict(self, failure: str = '') -> str:
        """Return PASS, STOPPED, or FAIL with the first reason.

        :param failure: a reason that the result does not know
        """
        if self.was_stopped:
            return 'STOPPED'
        if self.has_succeeded and not failure:
            return 'PASS'
        missed = (f"{f'{name}: ' if name else ''}expected {verdict.text}"
                  for name, its in self.vehicles.items() for verdict in its.failed)
        return f"FAIL: {next(missed, failure or self.failure or 'not landed')}"

    @property
    def events(self) -> list[dict[str, typing.Any]]:
        """What scenarios have done, and which vehicles came near each other: `time_s`, `event`."""
        found = [{'time_s': e.time_s, 'event': e.text} for e in self.met]
        for record in self.vehicles.values():
            found += record.of_scenario().get('events', ())
        return sorted(found, key=lambda event: event['time_s'])

    def complete_recording(self) -> None:
        """Write into the recording what is known only after it was closed: what PX4's logs lack."""
        losses = {name: record.log_loss._asdict() for name, record in self.vehicles.items()
                  if record.log_loss is not None}
        if not self.recording or not losses:
            return
        from px4_sim_ros.recording.bag import rosbag2_metadata
        folder = pathlib.Path(self.recording)
        try:
            rosbag2_metadata.add_custom_data(folder, {
                rosbag2_metadata.key(name, figure): str(value)
                for name, figures in losses.items() for figure, value in figures.items()})
        except (OSError, ValueError) as error:
            self.recording_problem = self.recording_problem or (
                f"the recording in {folder} does not have what PX4's log lacks: {sentence(error)}")

    def table(
        self, topic: str = 'ground_truth/odom', vehicle: str | None = None,
    ) -> dict[str, numpy.typing.NDArray[typing.Any]]:
        """Return the columns of a topic by name, as `export` writes them.

        :param topic: `ground_truth/odom` is the truth, `autopilot/odometry` the estimate
        :param vehicle: of several; the first by default
        """
        from px4_sim_ros.recording.analysis.export import read_table
        from px4_sim_ros.recording.bag.reader import vehicles_of
        if not self.recording:
            raise ParameterError('record = False: tables are read from the recording')
        name = self.spec.first.name if vehicle is None else vehicle
        if name not in self.vehicles:
            raise ParameterError(f"vehicle {name!r}: there are {', '.join(self.vehicles)}")
        bags = vehicles_of(self.recording)
        return read_table(bags[list(self.vehicles).index(name)], topic)

    def summary(self, head: dict[str, typing.Any] | None = None) -> dict[str, typing.Any]:
        """Return the figures of the flight, as `fly --summary` writes them.

        :param head: comes first; what was flown, if it is not given
        """
        head = self.head() if head is None else head
        return head | (self._of_fleet() if self.spec.fleet else self._of_one())

    def head(self) -> dict[str, typing.Any]:
        """Return the head of a summary: mode, vehicles, mission, seed."""
        spec, world = self.spec, self.spec.configuration.world
        if spec.fleet:
            said = {'mode': spec.mode, 'wind': world.wind, 'seed': world.seed,
                    'name': spec.fleet, 'vehicles': len(spec.vehicles)}
        else:
            mission = spec.first.mission
            said = {'mode': spec.mode, 'autopilot': spec.first.autopilot,
                    'vehicle': spec.configuration.vehicle.name, 'wind': world.wind,
                    'seed': world.seed, 'mission': mission.name if mission else 'none'}
        if spec.first.scenario is not None:
            said['scenario'] = spec.first.scenario.name
        return said

    def _of_one(self) -> dict[str, typing.Any]:
        its, status = self.first, self.first.status
        return {
            'recording_problem': self.recording_problem,
            'failure': self.failure,
            'mission_flown': its.mission_flown,
            'stopped': self.was_stopped,
            'sim_time_s': round(status.sim_time_s, 6),
            'wall_time_s': round(status.wall_time_s, 3),
            'real_time_factor': round(status.real_time_factor(), 2),
            **its.of_motion(),
            **its.of_scenario(),
            'steps': status.steps,
            **its.of_link(),
            'step_cost_us': status.step_cost_us(),
        }

    def _of_fleet(self) -> dict[str, typing.Any]:
        # One that has left knows no more of the world.
        status = max((its.status for its in self.vehicles.values()), key=lambda s: s.sim_time_s)
        factor = status.real_time_factor()
        there_s = sum(its.stay.length_s(status.sim_time_s) for its in self.vehicles.values())
        collisions = sum(encounter.is_collision for encounter in self.met)
        return {
            'recording_problem': self.recording_problem,
            'failure': self.failure,
            'missions_flown': sum(r.mission_flown for r in self.vehicles.values()),
            'stopped': self.was_stopped,
            'sim_time_s': round(status.sim_time_s, 6),
            'wall_time_s': round(status.wall_time_s, 3),
            'real_time_factor': round(factor, 2),
            'vehicle_seconds_per_second': round(
                factor * there_s / (status.sim_time_s or 1.0), 2),
            'steps': round(status.sim_time_s * US_PER_S) // self.spec.configuration.world.step_us,
            'least_distance_m': round(self.nearest[0].distance_m, 3) if self.nearest else None,
            'near_misses': len(self.met) - collisions,
            'collisions': collisions,
            'distances': [
                {'vehicles': [pair.one, pair.other], 'distance_m': round(pair.distance_m, 3),
                 'time_s': pair.time_us / US_PER_S} for pair in self.nearest[:_MOST_PAIRS]],
            'events': [{'time_s': e.time_s, 'event': e.text} for e in self.met],
            'fingerprint': self.fingerprint,
            'repeatable': not self.unrepeatable,
            'not_repeatable_because': self.unrepeatable,
            'fleet': [self._of_vehicle(vehicle) for vehicle in self.spec.vehicles],
        }

    def _of_vehicle(self, vehicle: VehicleSpec) -> dict[str, typing.Any]:
        its, configuration = self.vehicles[vehicle.name], vehicle.configuration
        return {'namespace': vehicle.name, 'vehicle': configuration.vehicle.name,
                'autopilot': vehicle.autopilot,
                'mission': vehicle.mission.name if vehicle.mission else 'none',
                'instance': vehicle.hil.instance, 'seed': configuration.world.seed,
                'failure': its.failure,
                'mission_flown': its.mission_flown, 'new_begins': its.new_begins,
                'joined_s': _seconds(its.stay.joined_us),
                'left_s': _seconds(its.stay.left_us),
                **its.of_motion(), **its.of_scenario(), **its.of_link()}


def whole_fingerprint(fingerprints: typing.Mapping[str, str]) -> str:
    """Return the fingerprint of a fleet from those of its vehicles, '' if one is not known."""
    if not all(fingerprints.values()):
        return ''
    text = ''.join(f'{name} {its}\n' for name, its in fingerprints.items())
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _seconds(time_us: int | None) -> float | None:
    return None if time_us is None else time_us / US_PER_S
