# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The figures of a flight: from the truth, the pilot and the link."""
from __future__ import annotations

import dataclasses
import math
import typing

from px4_sim_ros.flight.px4_log import LogLoss
from px4_sim_ros.flight.stay import Stay
from px4_sim_ros.link.hil.link_state import MAX_HEIGHT, MOVED, TROUBLES
from px4_sim_ros.link.pilot.events import Event
from px4_sim_ros.model.encounters import Encounter, Nearest
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.scenario.happening import Happening, Verdict, Verdicts
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.step.attendance import Change
from px4_sim_ros.step.clock import real_time_factor
from px4_sim_ros.step.repeatability import FINGERPRINT, first_gap, unrepeatable_because

_LANDED_HEIGHT_M = 0.1


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


class FlightRecord:
    """Collects the true positions and compares the pilot's events with them."""

    def __init__(self) -> None:
        self.status = WorldStatus()        # of the world, at the end
        self.recording = ''                # its folder, '' for none
        self.recording_problem = ''        # why it has ended too early, as a sentence
        self.failure = ''                  # why the flight has failed, as a sentence
        self.autopilot = 'none'
        self.shares_core = False           # the step and PX4
        self.log_loss: LogLoss | None = None           # of PX4's logs, None without one
        self.others: dict[str, FlightRecord] = {}      # of the further vehicles, by namespace
        self.joins_us: int | None = 0                  # as its vehicle was to
        self.reset()

    def reset(self) -> None:
        """Begin with nothing."""
        self._arrivals: list[dict[str, typing.Any]] = []
        self.mission_flown = self.was_stopped = False
        self._happenings: list[dict[str, typing.Any]] = []
        self.verdicts: Verdicts | None = None          # of a scenario that has come to its end
        self.new_begins = 0                            # with another autopilot, in a fleet
        self.stay = Stay(self.joins_us)                # in the world of a fleet
        self.met: list[Encounter] = []                 # near misses and collisions of a fleet
        self.nearest: list[Nearest] = []               # each two of it, the least distance first

    def attend(self, change: Change) -> None:
        """Take note that its vehicle joins the world, or has left it."""
        if change.joins and self.stay.has_begun:
            self.begin_again()
        self.stay.take(change)

    def begin_again(self) -> None:
        """Take note that its vehicle begins again while others fly on."""
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
        return self.landed or self.stay.has_ended or not self.stay.has_begun

    @property
    def failed(self) -> list[Verdict]:
        """The expectations of a scenario that have failed."""
        return [verdict for verdict in self.verdicts or () if not verdict.holds]

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the flight."""
        return self.status.fingerprint

    def summary(
        self, head: dict[str, typing.Any], failure: str | None = None,
    ) -> dict[str, typing.Any]:
        """Return the summary of the flight; `head` comes first.

        :param failure: why it has failed, if the record does not have that
        """
        status = self.status
        return head | {
            'recording_problem': self.recording_problem,
            'failure': self.failure if failure is None else failure,
            'mission_flown': self.mission_flown,
            'stopped': self.was_stopped,
            'sim_time_s': round(status.sim_time_s, 6),
            'wall_time_s': round(status.wall_time_s, 3),
            'real_time_factor': round(status.real_time_factor(), 2),
            **self.of_motion(),
            **self.of_scenario(),
            'steps': status.steps,
            **self.of_link(),
            'step_cost_us': status.step_cost_us(),
        }

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
            **({} if self.log_loss is None else {
                'log_dropouts': self.log_loss.dropouts, 'log_lost_s': self.log_loss.lost_s}),
        }

    @property
    def log_warning(self) -> str:
        """What PX4's logs lack, '' for nothing."""
        return self.log_loss.warning(self.shares_core) if self.log_loss else ''

    def of_scenario(self) -> dict[str, typing.Any]:
        """Return what a scenario has done, and what has become of what it expects."""
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
            self.autopilot, self.shares_core,
            (self.mission_flown or self.verdicts is not None or self.stay.has_ended)
            and not self.was_stopped,
            self.status.gap, self.status.fingerprint)


def _arrival(event: Event) -> dict[str, typing.Any]:
    """Return when the vehicle was how far from the target of an event."""
    assert event.target_enu is not None and event.place_enu is not None, 'it has both'
    return {
        'time_s': event.time_s, 'target_enu_m': list(event.target_enu),
        'position_error_m': round(math.dist(event.place_enu, event.target_enu), 3),
        'altitude_error_m': round(event.place_enu[2] - event.target_enu[2], 3),
    }
