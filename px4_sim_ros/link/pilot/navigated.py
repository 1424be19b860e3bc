# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Missions that are uploaded: PX4's navigator has them, the pilot follows.

Those of vehicles with wings or wheels always are, those of multirotors if that is wanted. What an
item means follows from the vehicle. A plane takes off along its heading and lands at the place of
take-off, coming from its last point; a VTOL takes off straight up, turns to its first point, makes
its way as a plane, and lands straight down where it took off. `hold` is a circle around the last
point. A rover drives from point to point and stands still where it holds and where its mission
ends. A multirotor takes off straight up and lands where it is, as it does by commands.

A plan of a ground station goes to PX4 as it is, with its fence and its rally points.

Which item is flown stands in HIGH_LATENCY2. PX4 sends that as a stream, at simulated times, but
MISSION_ITEM_REACHED and MISSION_CURRENT by the wall clock: flights that follow them do not repeat.
"""
from __future__ import annotations

import dataclasses
import itertools
import math
import typing

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.fields import enum_name
from px4_sim_ros.link.pilot.events import Course, Event, Home, MissionError, place_text
from px4_sim_ros.model.environment.geodesy import GeodeticPosition
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.mission import GoTo, Hold, Mission, Plan, PlanItem, ReturnHome, TakeOff

if typing.TYPE_CHECKING:
    from px4_sim_ros.link.pilot.pilot import Pilot

_VTOLS = frozenset(
    number for number, entry in mavlink.enums['MAV_TYPE'].items()
    if entry.name.startswith('MAV_TYPE_VTOL'))
ROVERS = frozenset({mavlink.MAV_TYPE_GROUND_ROVER})
NAVIGATED = _VTOLS | ROVERS | {mavlink.MAV_TYPE_FIXED_WING}
"""The types of vehicles, as their autopilots name them, whose missions are always flown so."""

ARRIVED_DISTANCE_M = 0.4
SETTLE_S = 1.0
"""How near a multirotor comes to a point, by its estimate, and how long it is there."""


class _Way(typing.NamedTuple):
    """How a kind of vehicle that flies begins and ends its mission."""

    take_off: int                  # the command
    land: int
    ahead_m: float                 # the point of take-off is before it,
    turns: bool                    # in the direction of its first point, not of its heading
    returns: bool                  # it lands at the place of take-off, not where it is
    radius_m: float                # of acceptance of a point; 0: the autopilot's own
    settle_s: float                # there; 0: it passes


# A plane runs and climbs towards a point before it. A VTOL climbs where it is, is turned by PX4
# towards its point, and flies there on the wing; the way is for gaining speed. If the point were
# straight above, the direction would follow from centimetres of drift.
_PLANE = _Way(
    mavlink.MAV_CMD_NAV_TAKEOFF, mavlink.MAV_CMD_NAV_LAND, 200.0, False, True, 0.0, 0.0)
_VTOL = _Way(
    mavlink.MAV_CMD_NAV_VTOL_TAKEOFF, mavlink.MAV_CMD_NAV_VTOL_LAND, 200.0, True, True, 0.0, 0.0)
_ROTORS = _Way(
    mavlink.MAV_CMD_NAV_TAKEOFF, mavlink.MAV_CMD_NAV_LAND, 0.0, False, False, ARRIVED_DISTANCE_M,
    SETTLE_S)
_UPLOAD_LIMIT_S = 20.0          # this and the others are simulated times
_UPLOAD_RETRY_S = 2.0
_ITEM_UPLOAD_S = 0.5
_MODE_LIMIT_S = 20.0
_ITEM_LIMIT_S = 300.0
# PX4's custom modes, and the sub-mode of automatic.
_MANUAL, _AUTO, _MISSION = 1, 4, 4
_MISSION_MODE, _HOLD_MODE = 'AUTO_MISSION', 'AUTO_LOITER'
_RETURN = mavlink.MAV_CMD_NAV_RETURN_TO_LAUNCH
_LANDINGS = mavlink.MAV_CMD_NAV_LAND, mavlink.MAV_CMD_NAV_VTOL_LAND, _RETURN
_KINDS = {mavlink.MAV_MISSION_TYPE_MISSION: 'mission', mavlink.MAV_MISSION_TYPE_FENCE: 'fence',
          mavlink.MAV_MISSION_TYPE_RALLY: 'rally points'}
_MANUAL_S = 2.0
_INTERVAL_US = 100_000
_AUTOPILOT = mavlink.MAV_COMP_ID_AUTOPILOT1


class _Sent(typing.NamedTuple):
    """An item of a mission as the autopilot gets it, and the event when it is flown."""

    item: PlanItem
    text: str = ''                 # none is reported
    target_enu: Vector | None = None       # where the vehicle has then arrived


def fly_navigated(pilot: Pilot, mission: Mission, home: Home) -> Course[None]:
    """Fly a mission to its end.

    :raises MissionError: an item did not succeed in its time
    """
    link = pilot.link
    way = _way_of(link.vehicle_type)
    items = _items(mission, way, home, _take_off_rad(mission, way, home, link.heading_deg))
    yield from _ask_for_progress(pilot)
    yield from _upload(pilot, [sent.item for sent in items])
    yield from _begin(pilot)
    # A landing has its own end, and the last of one that drives is of no time.
    for index, sent in enumerate(items[:-1]):
        if sent.text:
            yield from _reach(pilot, index, _ITEM_LIMIT_S + sent.item.params[0])
            pilot.report(Event(sent.text, link.time_s, sent.target_enu, True))
    yield from (pilot.stopping() if mission.drives else pilot.landing())


def fly_plan(pilot: Pilot, plan: Plan, home: Home) -> Course[None]:
    """Fly a plan to its end: PX4 has landed, or holds at its last item.

    :raises MissionError: PX4 refuses it, or an item did not succeed in its time
    """
    items = _placed(plan.items, home)
    yield from _ask_for_progress(pilot)
    for kind, its in ((mavlink.MAV_MISSION_TYPE_FENCE, plan.fence),
                      (mavlink.MAV_MISSION_TYPE_RALLY, plan.rally),
                      (mavlink.MAV_MISSION_TYPE_MISSION, items)):
        yield from _upload(pilot, its, kind)
    yield from _begin(pilot)
    yield from _follow(pilot, items, home)


def _ask_for_progress(pilot: Pilot) -> Course[None]:
    return pilot.command(
        mavlink.MAV_CMD_SET_MESSAGE_INTERVAL, mavlink.MAVLINK_MSG_ID_HIGH_LATENCY2,
        _INTERVAL_US, 0, 0, 0, 0, 0)


def _begin(pilot: Pilot) -> Course[None]:
    """Let the autopilot begin the mission that it has."""
    link = pilot.link
    link.item_current = None
    if link.vehicle_type in NAVIGATED - ROVERS:
        # Its height control of wings begins anew in a mode without it.
        yield from _set_mode(pilot, _MANUAL)
        end_s = link.time_s + _MANUAL_S
        yield from pilot.until(lambda: link.time_s >= end_s, _ITEM_LIMIT_S, 'time stands still')
    yield from _set_mode(pilot, _AUTO, _MISSION)
    yield from pilot.arming(_MODE_LIMIT_S)


def _follow(pilot: Pilot, items: typing.Sequence[PlanItem], home: Home) -> Course[None]:
    """Report each item of a plan when another one is current, up to its end."""
    link, count, at = pilot.link, len(items), 0
    end = next((i for i, item in enumerate(items) if item.command == _RETURN), count - 1)
    lands = items[end].command in _LANDINGS
    ways_m = [math.dist(a, b) for a, b in itertools.pairwise(_places_enu(items, home))]
    yield from pilot.until(lambda: link.mode == _MISSION_MODE, _MODE_LIMIT_S,
                           f'the autopilot is not in mode {_MISSION_MODE}')

    def has_news() -> bool:
        if link.mode == _MISSION_MODE:
            return link.item_current not in (None, at)
        # It holds behind its last item; for a return it leaves the mode.
        return link.mode == _HOLD_MODE if at == end else link.item_current == end and lands

    while at < end or (at == end and not lands):
        yield from pilot.until(has_news, _ITEM_LIMIT_S + ways_m[at] + _lasts_s(items[at]),
                               f'item {at + 1} of the mission was not reached')
        current = link.item_current
        if current is None or current == at:
            current = count
        for i in range(at, current) if current > at else (at,):        # but for a jump back
            name = enum_name('MAV_CMD', items[i].command).removeprefix('MAV_CMD_')
            pilot.report(Event(f'flew item {i + 1} of {count}: {name}', link.time_s, None, True))
        at = current
    if lands:
        yield from pilot.landing(_ITEM_LIMIT_S + sum(ways_m))
    elif link.vehicle_type in ROVERS:
        yield from pilot.stopping()


def _placed(items: typing.Iterable[PlanItem], home: Home) -> list[PlanItem]:
    """Return items of which each has a place: of one without it is that of the one before."""
    here = home.frame.origin
    place, found = (here.latitude_deg, here.longitude_deg), []
    for item in items:
        if item.frame != mavlink.MAV_FRAME_MISSION:
            *rest, latitude, longitude, height_m = item.params
            if math.isfinite(latitude + longitude):
                place = latitude, longitude
            item = dataclasses.replace(item, params=(*rest, *place, height_m))
        found.append(item)
    return found


def _places_enu(items: typing.Iterable[PlanItem], home: Home) -> typing.Iterator[Vector]:
    """Return the place of take-off, and for each item where it is, or the one before."""
    place = home.frame.origin
    yield home.frame.to_local(place)
    for item in items:
        if item.frame != mavlink.MAV_FRAME_MISSION:
            place = GeodeticPosition(item.params[4], item.params[5], place.ellipsoid_altitude_m)
        yield home.frame.to_local(place)


def _lasts_s(item: PlanItem) -> float:
    """Return how long an item may last, but for the way there."""
    if item.command in (mavlink.MAV_CMD_NAV_LOITER_TIME, mavlink.MAV_CMD_NAV_WAYPOINT,
                        mavlink.MAV_CMD_NAV_DELAY):
        return max(item.params[0], 0.0)
    if item.command == mavlink.MAV_CMD_NAV_LOITER_TURNS:       # at 1 m/s
        return abs(item.params[0] * item.params[2]) * math.tau
    return 0.0


def _way_of(vehicle_type: int) -> _Way:
    if vehicle_type in _VTOLS:
        return _VTOL
    # A rover passes its points as a plane does, and has neither take-off nor landing.
    return _PLANE if vehicle_type in NAVIGATED else _ROTORS


def _set_mode(pilot: Pilot, mode: int, sub_mode: int = 0) -> Course[None]:
    return pilot.command(
        mavlink.MAV_CMD_DO_SET_MODE, mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED, mode, sub_mode,
        0, 0, 0, 0, limit_s=_MODE_LIMIT_S)
def _reach(pilot: Pilot, index: int, limit_s: float) -> Course[bool]:
    def is_reached() -> bool:
        # Where it lands when it leaves its mission to return is the last item, and the current one.
        current = pilot.link.item_current
        return current is not None and current > index and pilot.link.mode == _MISSION_MODE
    return pilot.until(is_reached, limit_s, f'item {index + 1} of the mission was not reached')


def _take_off_rad(mission: Mission, way: _Way, home: Home, heading_deg: float) -> float:
    """Return in which direction the point of take-off is, clockwise from north.

    The heading of the vehicle is taken where no point of the mission is away from its start.
    """
    points = (item.place_enu(home.frame) for item in mission.items if isinstance(item, GoTo))
    east, north, _ = next((p for p in points if way.turns and (p[0] or p[1])), (0.0, 0.0, 0.0))
    return math.atan2(east, north) if east or north else math.radians(heading_deg)


def _items(mission: Mission, way: _Way, home: Home, take_off_rad: float) -> list[_Sent]:
    """Return the items of a mission for MAVLink.

    :param take_off_rad: the direction of the point of take-off, clockwise from north

    One that drives has another one behind them, that takes no time: that it is the current one
    tells that the last is reached.
    """
    place: Vector = (0.0, 0.0, 0.0)
    found = []

    def at_place(command: int, first: float = 0.0, radius_m: float = 0.0,
                 yaw_deg: float = math.nan) -> PlanItem:
        there = home.frame.to_geodetic(place)
        return PlanItem(command, mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT, (
            first, radius_m, 0.0, yaw_deg, there.latitude_deg, there.longitude_deg, place[2]))

    for item in mission.items:
        if isinstance(item, TakeOff):
            place = (way.ahead_m * math.sin(take_off_rad),
                     way.ahead_m * math.cos(take_off_rad), item.up_m)
            found.append(_Sent(at_place(way.take_off), f'climbed to {item.up_m:g} m'))
        elif isinstance(item, GoTo):
            place = item.place_enu(home.frame)
            if item.speed_m_s:
                found.append(_Sent(_without_place(
                    mavlink.MAV_CMD_DO_CHANGE_SPEED, 1.0, item.speed_m_s, -1.0)))
            found.append(_Sent(
                at_place(mavlink.MAV_CMD_NAV_WAYPOINT, 0.0 if item.radius_m else way.settle_s,
                         item.radius_m or way.radius_m, item.yaw_deg),
                f'arrived at {place_text(place)}', place))
        elif isinstance(item, Hold):
            found.append(_Sent(at_place(mavlink.MAV_CMD_NAV_LOITER_TIME, item.duration_s),
                               f'held for {item.duration_s:g} s'))
        elif isinstance(item, ReturnHome):
            found.append(_Sent(_without_place(_RETURN)))
        else:
            place = (0.0, 0.0, 0.0) if way.returns else (*place[:2], 0.0)
            found.append(_Sent(at_place(way.land)))
    if mission.drives:
        found.append(_Sent(_without_place(mavlink.MAV_CMD_NAV_DELAY)))
    return found


def _without_place(command: int, *params: float) -> PlanItem:
    return PlanItem(command, mavlink.MAV_FRAME_MISSION, (*params, *[0.0] * (7 - len(params))))


def _upload(
    pilot: Pilot, items: typing.Sequence[PlanItem], kind: int = mavlink.MAV_MISSION_TYPE_MISSION,
) -> Course[None]:
    """Give a mission, a fence or rally points to the autopilot, item by item as it asks."""
    link, mav, what = pilot.link, pilot.link.mav, _KINDS[kind]
    link.item_wanted = link.mission_result = None
    next_s = link.time_s

    def is_taken() -> bool:
        nonlocal next_s
        wanted, link.item_wanted = link.item_wanted, None
        if wanted is not None and wanted[0] == kind and wanted[1] < len(items):
            next_s = link.time_s + _UPLOAD_RETRY_S
            link.send(_message(pilot, wanted[1], items[wanted[1]], kind))
        elif not is_answered() and link.time_s >= next_s:
            next_s = link.time_s + _UPLOAD_RETRY_S
            link.send(mav.mission_count_encode(link.system_id, _AUTOPILOT, len(items), kind))
        return is_answered()

    def is_answered() -> bool:
        return link.mission_result is not None and link.mission_result[0] == kind

    yield from pilot.until(
        is_taken, _UPLOAD_LIMIT_S + _ITEM_UPLOAD_S * len(items),
        f'the autopilot has not taken the {what}')
    assert link.mission_result is not None, 'it was waited for'
    if link.mission_result[1] != mavlink.MAV_MISSION_ACCEPTED:
        result = enum_name('MAV_MISSION_RESULT', link.mission_result[1])
        raise MissionError(f'the autopilot refuses the {what}: {result}{pilot.last_words()}')


def _message(pilot: Pilot, index: int, item: PlanItem, kind: int) -> mavlink.MAVLink_message:
    *first, x, y, z = item.params
    if item.frame != mavlink.MAV_FRAME_MISSION:
        x, y = x * 1e7, y * 1e7
    return pilot.link.mav.mission_item_int_encode(
        pilot.link.system_id, _AUTOPILOT, index, item.frame, item.command, 0, 1, *first,
        *(round(value) if math.isfinite(value) else 0 for value in (x, y)), z, kind)
