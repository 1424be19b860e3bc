# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Missions that are uploaded: PX4's navigator has them, the pilot follows.

Those of vehicles with wings or wheels always are, those of multirotors if that is wanted. What an
item means follows from the vehicle. A plane takes off along its heading and lands at the place of
take-off, coming from its last point; a VTOL takes off straight up, turns to its first point, makes
its way as a plane, and lands straight down where it took off. `hold` is a circle around the last
point. A rover drives from point to point and stands still where it holds and where its mission
ends. A multirotor takes off straight up and lands where it is, as it does by commands.

Which item is flown stands in HIGH_LATENCY2. PX4 sends that as a stream, at simulated times, but
MISSION_ITEM_REACHED and MISSION_CURRENT by the wall clock: flights that follow them do not repeat.
"""
from __future__ import annotations

import math
import typing

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.fields import enum_name
from px4_sim_ros.link.pilot.events import Course, Event, Home, MissionError, place_text
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.mission import GoTo, Hold, Land, Mission, TakeOff

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
_ITEM_LIMIT_S = 300.0
# PX4's custom modes, and the sub-mode of automatic.
_MANUAL, _AUTO, _MISSION = 1, 4, 4
_MISSION_MODE = 'AUTO_MISSION'
_MANUAL_S = 2.0
_INTERVAL_US = 100_000
_AUTOPILOT = mavlink.MAV_COMP_ID_AUTOPILOT1


class _Item(typing.NamedTuple):
    """An item of a mission as MAVLink has it."""

    command: int
    place_enu: Vector
    duration_s: float = 0.0
    radius_m: float = 0.0


def fly_navigated(pilot: Pilot, mission: Mission, home: Home) -> Course[None]:
    """Fly a mission to its end.

    :raises MissionError: an item did not succeed in its time
    """
    link = pilot.link
    way = _way_of(link.vehicle_type)
    items = _items(mission, way, _take_off_rad(mission, way, link.heading_deg))
    yield from pilot.command(
        mavlink.MAV_CMD_SET_MESSAGE_INTERVAL, mavlink.MAVLINK_MSG_ID_HIGH_LATENCY2,
        _INTERVAL_US, 0, 0, 0, 0, 0)
    yield from _upload(pilot, items, home)
    link.item_current = None
    if mission.drives:
        yield from _drive(pilot, mission, items)
    else:
        yield from _fly(pilot, mission, items)


def _drive(pilot: Pilot, mission: Mission, items: typing.Sequence[_Item]) -> Course[None]:
    yield from _set_mode(pilot, _AUTO, _MISSION)
    yield from pilot.arming()
    yield from _follow(pilot, mission.items, items)
    yield from pilot.stopping()


def _fly(pilot: Pilot, mission: Mission, items: typing.Sequence[_Item]) -> Course[None]:
    if pilot.link.vehicle_type in NAVIGATED:
        yield from _begin_heights_anew(pilot)
    yield from _set_mode(pilot, _AUTO, _MISSION)
    yield from pilot.arming()
    yield from _follow(pilot, mission.items[:-1], items)
    yield from pilot.landing()


def _begin_heights_anew(pilot: Pilot) -> Course[None]:
    """Let PX4's height control of wings begin anew, in a mode without it."""
    link = pilot.link
    yield from _set_mode(pilot, _MANUAL)
    end_s = link.time_s + _MANUAL_S
    yield from pilot.until(lambda: link.time_s >= end_s, _ITEM_LIMIT_S, 'time stands still')


def _way_of(vehicle_type: int) -> _Way:
    if vehicle_type in _VTOLS:
        return _VTOL
    # A rover passes its points as a plane does, and has neither take-off nor landing.
    return _PLANE if vehicle_type in NAVIGATED else _ROTORS


def _follow(
    pilot: Pilot, items: typing.Sequence[object], sent: typing.Sequence[_Item],
) -> Course[None]:
    """Wait for each item to be reached, and report it."""
    for index, (item, message) in enumerate(zip(items, sent)):
        yield from _reach(pilot, index, _ITEM_LIMIT_S + message.duration_s)
        pilot.report(_event(item, message, pilot.link.time_s))


def _set_mode(pilot: Pilot, mode: int, sub_mode: int = 0) -> Course[None]:
    return pilot.command(
        mavlink.MAV_CMD_DO_SET_MODE, mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED, mode, sub_mode,
        0, 0, 0, 0)


def _reach(pilot: Pilot, index: int, limit_s: float) -> Course[bool]:
    def is_reached() -> bool:
        # Where it lands when it leaves its mission to return is the last item, and the current one.
        current = pilot.link.item_current
        return current is not None and current > index and pilot.link.mode == _MISSION_MODE
    return pilot.until(is_reached, limit_s, f'item {index + 1} of the mission was not reached')


def _event(item: object, sent: _Item, time_s: float) -> Event:
    if isinstance(item, TakeOff):
        return Event(f'climbed to {item.up_m:g} m', time_s, None, True)
    if isinstance(item, Hold):
        return Event(f'held for {item.duration_s:g} s', time_s, None, True)
    return Event(f'arrived at {place_text(sent.place_enu)}', time_s, sent.place_enu, True)


def _take_off_rad(mission: Mission, way: _Way, heading_deg: float) -> float:
    """Return in which direction the point of take-off is, clockwise from north.

    The heading of the vehicle is taken where no point of the mission is away from its start.
    """
    points = (item for item in mission.items
              if isinstance(item, GoTo) and (item.north_m or item.east_m))
    first = next(points, None) if way.turns else None
    return math.atan2(first.east_m, first.north_m) if first else math.radians(heading_deg)


def _items(mission: Mission, way: _Way, take_off_rad: float) -> list[_Item]:
    """Return the items of a mission for MAVLink, one for each.

    :param take_off_rad: the direction of the point of take-off, clockwise from north

    One that drives has another one behind them, that takes no time: that it is the current one
    tells that the last is reached.
    """
    place = 0.0, 0.0, 0.0
    found = []
    for item in mission.items:
        if isinstance(item, TakeOff):
            place = (way.ahead_m * math.sin(take_off_rad),
                     way.ahead_m * math.cos(take_off_rad), item.up_m)
            found.append(_Item(way.take_off, place))
        elif isinstance(item, GoTo):
            place = item.east_m, item.north_m, item.up_m
            found.append(_Item(
                mavlink.MAV_CMD_NAV_WAYPOINT, place, way.settle_s, way.radius_m))
        elif isinstance(item, Hold):
            found.append(_Item(mavlink.MAV_CMD_NAV_LOITER_TIME, place, item.duration_s))
        elif isinstance(item, Land):
            place = (0.0, 0.0, 0.0) if way.returns else (*place[:2], 0.0)
            found.append(_Item(way.land, place))
    if mission.drives:
        found.append(_Item(mavlink.MAV_CMD_NAV_DELAY, place))
    return found


def _upload(pilot: Pilot, items: typing.Sequence[_Item], home: Home) -> Course[None]:
    """Give a mission to the autopilot, item by item as it asks for them."""
    link, mav = pilot.link, pilot.link.mav
    link.item_wanted = link.mission_result = None
    next_s = link.time_s

    def is_taken() -> bool:
        nonlocal next_s
        wanted, link.item_wanted = link.item_wanted, None
        if wanted is not None and wanted < len(items):
            next_s = link.time_s + _UPLOAD_RETRY_S
            link.send(_message(pilot, wanted, items[wanted], home))
        elif link.mission_result is None and link.time_s >= next_s:
            next_s = link.time_s + _UPLOAD_RETRY_S
            link.send(mav.mission_count_encode(link.system_id, _AUTOPILOT, len(items)))
        return link.mission_result is not None

    yield from pilot.until(is_taken, _UPLOAD_LIMIT_S, 'the autopilot has not taken the mission')
    assert link.mission_result is not None, 'it was waited for'
    if link.mission_result != mavlink.MAV_MISSION_ACCEPTED:
        result = enum_name('MAV_MISSION_RESULT', link.mission_result)
        raise MissionError(f'the autopilot refuses the mission: {result}{pilot.last_words()}')


def _message(pilot: Pilot, index: int, item: _Item, home: Home) -> mavlink.MAVLink_message:
    place = home.frame.to_geodetic(item.place_enu)
    if item.command == mavlink.MAV_CMD_NAV_DELAY:
        return pilot.link.mav.mission_item_int_encode(
            pilot.link.system_id, _AUTOPILOT, index, mavlink.MAV_FRAME_MISSION, item.command, 0, 1,
            item.duration_s, 0.0, 0.0, 0.0, 0, 0, 0.0)
    return pilot.link.mav.mission_item_int_encode(
        pilot.link.system_id, _AUTOPILOT, index, mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT,
        item.command, 0, 1, item.duration_s, item.radius_m, 0.0, math.nan,
        round(place.latitude_deg * 1e7), round(place.longitude_deg * 1e7), item.place_enu[2])
