# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A pilot that flies a mission over ordinary MAVLink, with PX4 or the embedded autopilot."""
from __future__ import annotations

import math
import typing

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.fields import enum_name
from px4_sim_ros.link.pilot.events import (
    Course,
    Event,
    Home,
    MissionError,
    Report,
    place_text,
)
from px4_sim_ros.link.pilot.link import PilotLink
from px4_sim_ros.link.pilot.navigated import (
    ARRIVED_DISTANCE_M,
    NAVIGATED,
    ROVERS,
    SETTLE_S,
    fly_navigated,
    fly_plan,
)
from px4_sim_ros.model.environment.geodesy import GeodeticPosition, LocalFrame, load_proj
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.mission import GoTo, Hold, Item, Mission, ReturnHome, TakeOff
from px4_sim_ros.model.telemetry import TelemetryListener
from px4_sim_ros.px4.console import Console

_SILENCE_LIMIT_S = 60.0          # wall time without any message
_READY_LIMIT_S = 120.0           # this and the others are simulated times
_REASON_S = 1.0                  # before it, in which PX4 says why it is not ready
_ITEM_LIMIT_S = 180.0
_COMMAND_RETRY_S = 1.0
_ARRIVED_SPEED_M_S = 0.3
_STANDING_M_S = 0.1
_HELD_SHARE = 0.5                # of the height at the beginning of a hold, at its end
_T = typing.TypeVar('_T')


def _never() -> float:
    return math.inf


_AUTOPILOT = mavlink.MAV_COMP_ID_AUTOPILOT1


class Pilot:
    """Commands one autopilot."""

    def __init__(
        self, instance: int, report: Report,
        listener: TelemetryListener | None = None,
        system_type: int = mavlink.MAV_TYPE_ONBOARD_CONTROLLER, *, uploads: bool = False,
    ) -> None:
        """Bind the port."""
        self.report, self._uploads = report, uploads
        self._failure = ''               # after which the mission continues, so that it lands
        self._has_to_be_armed = False
        self._failsafe_mode: str | None = None
        self._speed_m_s = 0.0            # over ground, that the mission asks for; 0: none
        self.link = PilotLink(instance, listener, system_type)
        self.console, self._printed = Console(self.link.autopilot_port), 0
        self._has_looked = False         # for the console
        self._asks_at_s = math.inf       # why the autopilot is not ready
        load_proj()

    def close(self) -> None:
        """Free the port."""
        self.link.close()

    def fly(self, mission: Mission) -> None:
        """Fly a mission to its end, in the time of the autopilot.

        :raises MissionError: an item did not succeed in its time, or the autopilot is silent
        """
        link = self.link
        for _ in self.course(mission):
            link.receive()
            if link.silent_s > _SILENCE_LIMIT_S:
                raise MissionError(
                    f'no MAVLink message on UDP port {link.port} for {link.silent_s:.0f} s'
                    f"{link.remark and '; '}{link.remark}")

    def course(self, mission: Mission) -> Course[None]:
        """Fly a mission to its end.

        :raises MissionError: an item did not succeed in its time
        """
        home = yield from self.ready()
        try:
            mission.check_fits('the vehicle', self.link.vehicle_type in ROVERS)
        except ParameterError as error:
            raise MissionError(str(error)) from error
        self.begin_item()
        plan = mission.plan
        if plan is not None and self.link.is_px4:
            yield from fly_plan(self, plan, home)
            return
        if plan is not None and plan.refused:
            raise MissionError(f'only PX4 flies {plan.refused} of the mission {mission.name}')
        if self._uploads or self.link.vehicle_type in NAVIGATED:
            yield from fly_navigated(self, mission, home)
            return
        for item in mission.items:
            self.begin_item()
            yield from self._fly_item(item, home)
        if self._failure:
            raise MissionError(self._failure)

    def ready(self) -> Course[Home]:
        """Wait until the autopilot is ready to arm; return where it stands."""
        self._asks_at_s = self.link.time_s + _READY_LIMIT_S - _REASON_S
        position_enu, geodetic = yield from self.until(
            self._place, _READY_LIMIT_S, 'the autopilot is not ready to arm',
            lambda: self._asks_at_s)
        self.link.begin_flight()
        self.report(Event('ready to fly', self.link.time_s))
        return Home(position_enu, LocalFrame(geodetic))

    def _place(self) -> tuple[Vector, GeodeticPosition] | None:
        """Return where the vehicle is, once it has said what it is and is ready to arm."""
        link = self.link
        if link.is_px4 and not self._has_looked:
            # It takes some milliseconds, in which the time of the autopilot advances.
            self._has_looked = True
            self.begin_item()
            return None
        if link.ready and link.vehicle_type and link.position_enu and link.geodetic:
            return link.position_enu, link.geodetic
        if link.is_px4 and link.time_s >= self._asks_at_s:
            self._asks_at_s = math.inf
            self.begin_item()
            # PX4 prints what keeps it from arming.
            link.send(link.mav.command_long_encode(
                link.system_id, _AUTOPILOT, mavlink.MAV_CMD_RUN_PREARM_CHECKS, 0,
                0, 0, 0, 0, 0, 0, 0))
        return None

    def _fly_item(self, item: Item, home: Home) -> Course[None]:
        if isinstance(item, TakeOff):
            return self._take_off(item, home)
        if isinstance(item, Hold):
            return self._hold(item, home)
        if isinstance(item, GoTo):
            return self._go_to(item, home)
        if isinstance(item, ReturnHome):
            return self._return(home)
        return self._land()

    def _take_off(self, item: TakeOff, home: Home) -> Course[None]:
        altitude = home.frame.origin.ellipsoid_altitude_m + item.up_m
        nan = math.nan
        # Where it is commanded to climb, and not where wind has taken it until it says armed.
        east, north, _ = self._offset(home)
        yield from self.command(mavlink.MAV_CMD_NAV_TAKEOFF, 0, 0, 0, nan, nan, nan, altitude)
        yield from self.arming()
        yield from self._arrive((east, north, item.up_m), home)

    def arming(self, limit_s: float = _ITEM_LIMIT_S) -> Course[None]:
        """Arm."""
        yield from self.command(
            mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 1, 0, 0, 0, 0, 0, 0, limit_s=limit_s)
        yield from self.until(
            lambda: self.link.armed, _ITEM_LIMIT_S, 'the autopilot has not armed', _never)
        self.report(Event('armed', self.link.time_s))
        self._has_to_be_armed = True

    def _hold(self, item: Hold, home: Home) -> Course[None]:
        end_s = self.link.time_s + item.duration_s
        *_, began_m = self._offset(home)
        yield from self.until(
            lambda: self.link.time_s >= end_s, item.duration_s + 1.0, 'time stands still',
            lambda: end_s)
        *_, up_m = self._offset(home)
        # Not every autopilot notices that it has fallen. By hand it may go anywhere in the air.
        if up_m >= began_m * _HELD_SHARE:
            text = f'held for {item.duration_s:g} s'
        else:
            text = self._failure = (
                f'the vehicle has not held for {item.duration_s:g} s: it is {up_m:.1f} m up, and'
                f' was {began_m:.1f} m{self.last_words()}')
        self.report(Event(text, self.link.time_s, None, True))

    def _go_to(self, item: GoTo, home: Home) -> Course[None]:
        target = item.place_enu(home.frame)
        there = home.frame.to_geodetic(target)
        self._speed_m_s = item.speed_m_s or self._speed_m_s
        yield from self._command_int(
            mavlink.MAV_CMD_DO_REPOSITION, self._speed_m_s or -1,
            mavlink.MAV_DO_REPOSITION_FLAGS_CHANGE_MODE, 0, math.radians(item.yaw_deg),
            round(there.latitude_deg * 1e7), round(there.longitude_deg * 1e7),
            there.ellipsoid_altitude_m)
        yield from self._arrive(target, home, item.radius_m)

    def _return(self, home: Home) -> Course[None]:
        *_, up_m = self._offset(home)
        yield from self._go_to(GoTo(0.0, 0.0, up_m), home)
        yield from self._land()

    def _land(self) -> Course[None]:
        yield from self.command(
            mavlink.MAV_CMD_NAV_LAND, 0, 0, 0, math.nan, math.nan, math.nan, 0)
        yield from self.landing()

    def landing(self, limit_s: float = _ITEM_LIMIT_S) -> Course[None]:
        """Wait until the vehicle stands on the ground and its autopilot has disarmed."""
        link = self.link
        self._has_to_be_armed = False
        yield from self.until(
            lambda: link.on_ground, limit_s, 'the vehicle has not landed', _never)
        self.report(Event('landed', link.time_s))
        yield from self.until(
            lambda: not link.armed, _ITEM_LIMIT_S, 'the autopilot has not disarmed', _never)
        self.report(Event('disarmed', link.time_s, None, True))

    def stopping(self) -> Course[None]:
        """Wait until the vehicle stands still."""
        link = self.link
        yield from self.until(
            lambda: math.hypot(*link.velocity_enu) < _STANDING_M_S, _ITEM_LIMIT_S,
            'the vehicle has not stopped')
        self.report(Event('stopped', link.time_s, None, True))

    def _offset(self, home: Home) -> Vector:
        """Return the position relative to the place of take-off, ENU."""
        position_enu = self.link.position_enu or home.position_enu
        x, y, z = (a - b for a, b in zip(position_enu, home.position_enu))
        return x, y, z

    def _arrive(self, target: Vector, home: Home, radius_m: float = 0.0) -> Course[None]:
        """Wait until the vehicle has been still at a target for a while, or is within a radius."""
        link = self.link
        arrived_s: float | None = None

        def settled() -> bool:
            nonlocal arrived_s
            off_m = math.dist(self._offset(home), target)
            if radius_m:
                return off_m < radius_m
            there = (
                off_m < ARRIVED_DISTANCE_M
                and math.hypot(*link.velocity_enu) < _ARRIVED_SPEED_M_S)
            if not there:
                arrived_s = None
            elif arrived_s is None:
                arrived_s = link.time_s
            return arrived_s is not None and link.time_s - arrived_s >= SETTLE_S

        place = place_text(target)
        yield from self.until(
            settled, _ITEM_LIMIT_S, f'the vehicle has not arrived at {place}',
            lambda: math.inf if arrived_s is None else arrived_s + SETTLE_S)
        self.report(Event(f'arrived at {place}', link.time_s, target, True))

    def command(
        self, command: int, *parameters: float, limit_s: float = _ITEM_LIMIT_S,
    ) -> Course[None]:
        """Send a command until it is accepted."""
        link = self.link
        return self._send_until_accepted(command, lambda: link.mav.command_long_encode(
            link.system_id, _AUTOPILOT, command, 0, *parameters), limit_s)

    def _command_int(self, command: int, *parameters: float) -> Course[None]:
        link = self.link
        return self._send_until_accepted(command, lambda: link.mav.command_int_encode(
            link.system_id, _AUTOPILOT, mavlink.MAV_FRAME_GLOBAL, command, 0, 0, *parameters))

    def _send_until_accepted(
        self, command: int, message: typing.Callable[[], mavlink.MAVLink_message],
        limit_s: float = _ITEM_LIMIT_S,
    ) -> Course[None]:
        link = self.link
        name = mavlink.enums['MAV_CMD'][command].name
        link.acknowledged = None
        next_s = link.time_s

        def accepted() -> bool:
            nonlocal next_s
            if link.acknowledged == (command, mavlink.MAV_RESULT_ACCEPTED):
                return True
            if link.time_s >= next_s:
                next_s = link.time_s + _COMMAND_RETRY_S
                link.send(message())
            return False

        yield from self.until(
            accepted, limit_s, f'{name} was not accepted', lambda: next_s)

    def until(
        self, condition: typing.Callable[[], _T | None], limit_s: float, failure: str,
        wakes_s: typing.Callable[[], float | None] = lambda: None,
    ) -> Course[_T]:
        """Wait until a condition holds, for at most `limit_s` of simulated time; return it.

        :param wakes_s: returns when it may hold although the autopilot has sent nothing; None: at
            any time
        :raises MissionError: it does not hold by then
        """
        link = self.link
        end_s = link.time_s + limit_s if link.time_s else None
        while not (value := condition()):
            self._look_after_flight()
            if end_s is None and link.time_s:
                end_s = link.time_s + limit_s
            # Time may jump from one message to the next: the condition is looked at first.
            if end_s is not None and link.time_s > end_s:
                raise MissionError(
                    f'{failure} after {limit_s:g} s of simulated time{self.last_words()}')
            wakes_at_s = wakes_s()
            yield None if wakes_at_s is None or end_s is None else min(wakes_at_s, end_s)
        return value

    def _look_after_flight(self) -> None:
        """Report each mode that a failsafe of the autopilot takes it to."""
        link = self.link
        mode = link.mode if link.failsafe else None
        if mode is not None and mode != self._failsafe_mode:
            self.report(Event(
                f'the autopilot is in a failsafe, mode {mode}{self._last_text()}', link.time_s))
        self._failsafe_mode = mode
        if self._has_to_be_armed and not link.armed:
            raise MissionError(
                f'the autopilot has disarmed before the end of the mission{self.last_words()}')

    def last_words(self) -> str:
        """Return the end of a sentence about what has failed: what the autopilot says of it."""
        link, said = self.link, []
        if link.refusal is not None:
            command, result = link.refusal
            said.append(f"it answers {enum_name('MAV_CMD', command)} with"
                        f" {enum_name('MAV_RESULT', result)}")
        if link.is_px4 and (words := self.console.words(self._printed)):
            said.append(f'the console of PX4 has: {words}')
        return self._last_text() + ''.join(f'; {words}' for words in said)

    def _last_text(self) -> str:
        return f'; its last words were "{self.link.text}"' if self.link.text else ''

    def begin_item(self) -> None:
        """Leave out what the autopilot has said by now."""
        self.link.refusal = None
        if self.link.is_px4:
            self._printed = self.console.size()
