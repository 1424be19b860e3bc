# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is known of a flight at a time: all that a scenario can ask for."""
from __future__ import annotations

import math
import typing

from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.rotation import difference, matrix, to_world
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.model.truth import BatteryStatus, Truth


class Answer(typing.NamedTuple):
    """What has become of an event that asks something of the autopilot."""

    event: str
    refusal: str                       # why it was not taken, '' if it was


class AutopilotState(typing.NamedTuple):
    """What the autopilot has said last on its telemetry, and how far its mission is."""

    mode: str = ''                     # '' before it is known
    armed: bool = False
    landed: bool = True
    failsafe: bool = False
    items: int = 0                     # of the mission, that are flown
    is_over: bool = False              # the mission: flown or failed
    failure: str = ''                  # why it was not flown, '' if it was, or is not over
    texts: tuple[str, ...] = ()        # that have come since the state before
    moved_enu: Vector | None = None    # by its estimate, from the first one; None before that
    answers: tuple[Answer, ...] = ()   # that have come since the state before


class Situation(typing.NamedTuple):
    """The truth at a time, and what else is known then."""

    time_us: int
    truth: Truth
    start_enu: Vector                              # where the vehicle stood at first
    battery: BatteryStatus | None
    autopilot: AutopilotState
    begun_us: typing.Mapping[str, int]             # when events have begun, by name
    clear_m: typing.Callable[[Vector, int], float] | None = None
    """Returns how far the nearest object of the scene is from a vehicle at a place and a time."""
    is_touching: typing.Callable[[Truth], bool] = lambda truth: False
    """Returns whether the vehicle touches an object of the scene, or another vehicle."""

    @property
    def height_m(self) -> float:
        """Height over the place of the start."""
        return self.truth.position_enu[2] - self.start_enu[2]

    @property
    def velocity_enu(self) -> Vector:
        """Velocity over the ground."""
        return to_world(matrix(self.truth.attitude), self.truth.velocity_flu)

    @property
    def tilt_deg(self) -> float:
        """Angle between the body's z axis and the vertical."""
        _, x, y, _ = self.truth.attitude
        return math.degrees(2.0 * math.asin(min(1.0, math.hypot(x, y))))

    @property
    def distance_m(self) -> float:
        """Horizontal distance from the place of the start."""
        return math.hypot(self.truth.position_enu[0] - self.start_enu[0],
                          self.truth.position_enu[1] - self.start_enu[1])

    @property
    def moved_enu(self) -> Vector:
        """How far the vehicle is from the place of the start."""
        return difference(self.truth.position_enu, self.start_enu)


def _estimate(value: typing.Callable[[Situation, Vector], float]) -> typing.Callable[
        [Situation], float]:
    return lambda s: math.nan if s.autopilot.moved_enu is None else value(s, s.autopilot.moved_enu)


def _battery(value: typing.Callable[[BatteryStatus], float]) -> typing.Callable[[Situation], float]:
    return lambda s: math.nan if s.battery is None else value(s.battery)


class Quantity(typing.NamedTuple):
    """A number of a situation."""

    unit: str
    meaning: str
    of: typing.Callable[[Situation], float]


CLEARANCE = 'clearance_m'
NUMBERS: dict[str, Quantity] = {
    'time_s': Quantity('s', 'simulated time', lambda s: s.time_us / US_PER_S),
    'height_m': Quantity('m', 'true height over the place of the start', lambda s: s.height_m),
    'north_m': Quantity('m', 'true place, north of home', lambda s: s.truth.position_enu[1]),
    'east_m': Quantity('m', 'true place, east of home', lambda s: s.truth.position_enu[0]),
    'distance_m': Quantity('m', 'true horizontal distance from the place of the start',
                           lambda s: s.distance_m),
    'speed_m_s': Quantity('m/s', 'true speed over the ground',
                          lambda s: math.hypot(*s.truth.velocity_flu)),
    'climb_m_s': Quantity('m/s', 'true climb rate', lambda s: s.velocity_enu[2]),
    'tilt_deg': Quantity('deg', 'true angle between body z and the vertical',
                         lambda s: s.tilt_deg),
    'rate_deg_s': Quantity('deg/s', 'true magnitude of the angular rate',
                           lambda s: math.degrees(math.hypot(*s.truth.rate_flu))),
    'estimated_height_m': Quantity(
        'm', 'height over the place of the start, by the estimate of the autopilot',
        _estimate(lambda s, moved: moved[2])),
    'estimate_error_m': Quantity(
        'm', 'distance from the true place to the one by the estimate of the autopilot, both from'
        ' the start', _estimate(lambda s, moved: math.dist(moved, s.moved_enu))),
    CLEARANCE: Quantity(
        'm', 'how far the nearest object of the scene is from the sphere around the vehicle that'
        ' holds it; below 0 within that',
        lambda s: math.nan if s.clear_m is None else s.clear_m(
            s.truth.position_enu, s.time_us)),
    'charge': Quantity('', 'of the battery, 0 to 1', _battery(lambda b: b.state_of_charge)),
    'voltage_v': Quantity('V', 'of the battery', _battery(lambda b: b.voltage_v)),
    'items': Quantity('', 'items of the mission that are flown',
                      lambda s: float(s.autopilot.items)),
}

MOTION = ('height_m', 'north_m', 'east_m', 'distance_m', 'speed_m_s', 'climb_m_s', 'tilt_deg',
          'rate_deg_s')
"""Those of the true motion, which change in each step."""
MOST_AWAITED = 32
"""How many conditions compiled code looks at."""
ESTIMATED = 'estimated_height_m', 'estimate_error_m'
BATTERY = 'charge', 'voltage_v'

CONTACT = 'contact'
FLAGS: dict[str, tuple[str, typing.Callable[[Situation], bool]]] = {
    'armed': ('the autopilot is armed', lambda s: s.autopilot.armed),
    'landed': ('the autopilot takes the vehicle for landed', lambda s: s.autopilot.landed),
    'failsafe': ('the autopilot is in a failsafe', lambda s: s.autopilot.failsafe),
    'flown': ('the mission was flown to its end',
              lambda s: s.autopilot.is_over and not s.autopilot.failure),
    CONTACT: ('feet, wheels or hull are in an object of the scene, or another vehicle pushes'
              ' (`collisions`)', lambda s: s.is_touching(s.truth)),
}
