# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans of QGroundControl: https://docs.qgroundcontrol.com/master/en/qgc-dev-guide/file_formats/plan.html.

An item has the number that QGroundControl and the MAVLink mission protocol count it by, with the
first as 1; a survey or a landing pattern counts as the items that it is uploaded as.
"""
from __future__ import annotations

import math
import typing

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.fields import enum_name
from px4_sim_ros.model.errors import ParameterError, shown
from px4_sim_ros.model.mission import (
    GoTo,
    Hold,
    Item,
    Land,
    Mission,
    Plan,
    PlanItem,
    ReturnHome,
    TakeOff,
)
from px4_sim_ros.model.parameters import dict_of, list_of, number

_Content = typing.Mapping[str, typing.Any]
_MISSION, _GLOBAL = mavlink.MAV_FRAME_MISSION, mavlink.MAV_FRAME_GLOBAL
_RELATIVE = mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT
_TRANSECTS = 'survey', 'CorridorScan'
_LANDINGS = {'fwLandingPattern': mavlink.MAV_CMD_NAV_LAND,
             'vtolLandingPattern': mavlink.MAV_CMD_NAV_VTOL_LAND}
# Of a multirotor, as PX4 has it (rc.mc_defaults).
_RADIUS_M = 2.0
_MOST_NUMBERS = 6                          # of items of one command, in a sentence
_LARGEST = {'command': 0xFFFF, 'frame': 0xFF}
# They move cameras, gimbals and the like, and not the vehicle.
_PAYLOAD = frozenset({
    mavlink.MAV_CMD_NAV_ROI, mavlink.MAV_CMD_DO_SET_ROI, mavlink.MAV_CMD_DO_SET_ROI_LOCATION,
    mavlink.MAV_CMD_DO_SET_ROI_WPNEXT_OFFSET, mavlink.MAV_CMD_DO_SET_ROI_NONE,
    mavlink.MAV_CMD_DO_DIGICAM_CONFIGURE, mavlink.MAV_CMD_DO_DIGICAM_CONTROL,
    mavlink.MAV_CMD_DO_MOUNT_CONFIGURE, mavlink.MAV_CMD_DO_MOUNT_CONTROL,
    mavlink.MAV_CMD_DO_SET_CAM_TRIGG_DIST, mavlink.MAV_CMD_DO_SET_CAM_TRIGG_INTERVAL,
    mavlink.MAV_CMD_DO_TRIGGER_CONTROL, mavlink.MAV_CMD_DO_CONTROL_VIDEO,
    mavlink.MAV_CMD_SET_CAMERA_MODE, mavlink.MAV_CMD_SET_CAMERA_ZOOM,
    mavlink.MAV_CMD_SET_CAMERA_FOCUS, mavlink.MAV_CMD_IMAGE_START_CAPTURE,
    mavlink.MAV_CMD_IMAGE_STOP_CAPTURE, mavlink.MAV_CMD_VIDEO_START_CAPTURE,
    mavlink.MAV_CMD_VIDEO_STOP_CAPTURE, mavlink.MAV_CMD_DO_GIMBAL_MANAGER_PITCHYAW,
    mavlink.MAV_CMD_DO_GIMBAL_MANAGER_CONFIGURE, mavlink.MAV_CMD_DO_GRIPPER,
    mavlink.MAV_CMD_DO_WINCH, mavlink.MAV_CMD_DO_SET_SERVO, mavlink.MAV_CMD_DO_SET_RELAY,
    mavlink.MAV_CMD_DO_SET_ACTUATOR})
_TAKE_OFFS = mavlink.MAV_CMD_NAV_TAKEOFF, mavlink.MAV_CMD_NAV_VTOL_TAKEOFF
# What a multirotor flies by commands, and whose altitude it knows.
_PLACES = (mavlink.MAV_CMD_NAV_TAKEOFF, mavlink.MAV_CMD_NAV_WAYPOINT,
           mavlink.MAV_CMD_NAV_LOITER_TIME, mavlink.MAV_CMD_NAV_LAND)
_OVER_HOME = _RELATIVE, mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT
# Marks that a mission may hold, and that a flight by commands does without.
_MARKS = frozenset({mavlink.MAV_CMD_DO_LAND_START})


def plan_mission(owner: str, name: str, content: typing.Any) -> Mission:
    """Build the mission of a plan.

    :param owner: what to call it in an error sentence
    :raises ParameterError: naming the place in the file and what is allowed
    """
    if dict_of(owner, content).get('fileType') != 'Plan':
        raise ParameterError(
            f"{owner}: fileType = {shown(content.get('fileType'))}: must be 'Plan'")
    items = _items(f'{owner}: mission', dict_of(f'{owner}: mission', content.get('mission')))
    fence = _fence(f'{owner}: geoFence', content.get('geoFence', {}))
    rally = _rally(f'{owner}: rallyPoints', content.get('rallyPoints', {}))
    flown = _by_commands(items)
    refused, left_out = flown.sentences()
    if fence:
        left_out.append('the fence')
    if rally:
        left_out.append('the rally points')
    return Mission(name, tuple(flown.items), Plan(
        items, fence, rally, ', '.join(refused), ', '.join(left_out), content))


def _items(owner: str, mission: _Content) -> tuple[PlanItem, ...]:
    found: list[PlanItem] = []
    numbers: dict[float, int] = {}         # of the protocol, by doJumpId
    for i, content in enumerate(list_of(f'{owner}.items', mission.get('items'))):
        its = f'{owner}.items[{i}]'
        kind = dict_of(its, content).get('type')
        if kind == 'SimpleItem':
            _add(its, content, found, numbers)
        elif kind == 'ComplexItem':
            _add_complex(its, content, found, numbers)
        else:
            raise ParameterError(f'{its}.type = {shown(kind)}: must be SimpleItem or ComplexItem')
    if not found:
        raise ParameterError(f'{owner}.items: there are none')
    return tuple(_jumping(f'{owner}: item {i}', item, numbers)
                 for i, item in enumerate(found, start=1))


def _add(
    owner: str, content: _Content, found: list[PlanItem], numbers: dict[float, int],
) -> None:
    params = content.get('params')
    if not isinstance(params, list) or len(params) != 7:
        raise ParameterError(f'{owner}.params = {shown(params)}: must be 7 numbers, or null')
    command, frame = (
        _whole(f'{owner}.{key}', content.get(key), most) for key, most in _LARGEST.items())
    values = tuple(math.nan if value is None else number(f'{owner}.params[{i}]', value)
                   for i, value in enumerate(params))
    if frame != _MISSION:
        _check_place(f'{owner}.params', values, 4)
    if 'doJumpId' in content:
        numbers[number(f'{owner}.doJumpId', content['doJumpId'])] = len(found)
    found.append(PlanItem(command, frame, values))


def _add_complex(
    owner: str, content: _Content, found: list[PlanItem], numbers: dict[float, int],
) -> None:
    kind = content.get('complexItemType')
    if kind in _TRANSECTS:
        its = f'{owner}.TransectStyleComplexItem'
        style = dict_of(its, content.get('TransectStyleComplexItem'))
        for i, item in enumerate(list_of(f'{its}.Items', style.get('Items'))):
            _add(f'{its}.Items[{i}]', dict_of(f'{its}.Items[{i}]', item), found, numbers)
    elif isinstance(kind, str) and kind in _LANDINGS:
        found += _landing(owner, content, _LANDINGS[kind])
    elif kind == 'StructureScan':
        raise ParameterError(f'{owner}: StructureScan: its items are not in the file; let'
                             ' QGroundControl upload it to a vehicle, download it, and save that')
    else:
        raise ParameterError(f'{owner}.complexItemType = {shown(kind)}: must be one of'
                             f" {', '.join((*_TRANSECTS, *_LANDINGS))}")


def _landing(owner: str, content: _Content, command: int) -> list[PlanItem]:
    """Return the items of a landing pattern, as QGroundControl uploads them."""
    name = 'landingApproachCoordinate'
    if name not in content:
        name = 'loiterCoordinate'                # as older files call it
    approach = _place(f'{owner}.{name}', content.get(name), 3)
    land = _place(f'{owner}.landCoordinate', content.get('landCoordinate'), 3)
    frame = _RELATIVE if content.get('altitudesAreRelative', True) else _GLOBAL
    found = [_mark(mavlink.MAV_CMD_DO_LAND_START)]
    if content.get('stopTakingPhotos'):
        found += [_mark(mavlink.MAV_CMD_DO_SET_CAM_TRIGG_DIST),
                  _mark(mavlink.MAV_CMD_IMAGE_STOP_CAPTURE)]
    if content.get('stopVideoPhotos'):
        found.append(_mark(mavlink.MAV_CMD_VIDEO_STOP_CAPTURE))
    if content.get('useLoiterToAlt', True):
        radius_m = number(f'{owner}.loiterRadius', content.get('loiterRadius'))
        found.append(PlanItem(mavlink.MAV_CMD_NAV_LOITER_TO_ALT, frame, (
            1.0, radius_m if content.get('loiterClockwise', True) else -radius_m, 0.0, 1.0,
            *approach)))
    else:
        found.append(PlanItem(
            mavlink.MAV_CMD_NAV_WAYPOINT, frame, (0.0, 0.0, 0.0, math.nan, *approach)))
    return [*found, PlanItem(command, frame, (0.0, 0.0, 0.0, math.nan, *land))]


def _mark(command: int) -> PlanItem:
    return PlanItem(command, _MISSION, (0.0,) * 7)


def _jumping(owner: str, item: PlanItem, numbers: typing.Mapping[float, int]) -> PlanItem:
    """Return an item that jumps to the number of another one, not to its doJumpId."""
    if item.command != mavlink.MAV_CMD_DO_JUMP:
        return item
    if item.params[0] not in numbers:
        raise ParameterError(f'{owner}: DO_JUMP to {item.params[0]:g}: must be the doJumpId of an'
                             ' item')
    return PlanItem(
        item.command, item.frame, (float(numbers[item.params[0]]), *item.params[1:]))


def _fence(owner: str, content: typing.Any) -> tuple[PlanItem, ...]:
    found: list[PlanItem] = []
    fence = dict_of(owner, content)
    for i, polygon in enumerate(list_of(f'{owner}.polygons', fence.get('polygons', []))):
        its = f'{owner}.polygons[{i}]'
        corners = list_of(f'{its}.polygon', dict_of(its, polygon).get('polygon'))
        if len(corners) < 3:
            raise ParameterError(f'{its}.polygon: must have at least 3 corners')
        command = (mavlink.MAV_CMD_NAV_FENCE_POLYGON_VERTEX_INCLUSION
                   if polygon.get('inclusion', True) else
                   mavlink.MAV_CMD_NAV_FENCE_POLYGON_VERTEX_EXCLUSION)
        found += [_corner(command, len(corners), _place(f'{its}.polygon[{j}]', corner, 2))
                  for j, corner in enumerate(corners)]
    for i, content_of in enumerate(list_of(f'{owner}.circles', fence.get('circles', []))):
        its = f'{owner}.circles[{i}]'
        circle = dict_of(f'{its}.circle', dict_of(its, content_of).get('circle'))
        command = (mavlink.MAV_CMD_NAV_FENCE_CIRCLE_INCLUSION
                   if content_of.get('inclusion', True) else
                   mavlink.MAV_CMD_NAV_FENCE_CIRCLE_EXCLUSION)
        radius_m = number(f'{its}.circle.radius', circle.get('radius'))
        if not radius_m > 0.0:
            raise ParameterError(f'{its}.circle.radius = {radius_m:g}: must be greater than 0 m')
        found.append(_corner(
            command, radius_m, _place(f'{its}.circle.center', circle.get('center'), 2)))
    if 'breachReturn' in fence:
        found.append(PlanItem(
            mavlink.MAV_CMD_NAV_FENCE_RETURN_POINT, _RELATIVE,
            (0.0,) * 4 + _place(f'{owner}.breachReturn', fence['breachReturn'], 3)))
    return tuple(found)


def _corner(command: int, first: float, place: tuple[float, ...]) -> PlanItem:
    return PlanItem(command, _GLOBAL, (float(first), 0.0, 0.0, 0.0, *place, 0.0))


def _rally(owner: str, content: typing.Any) -> tuple[PlanItem, ...]:
    points = list_of(f'{owner}.points', dict_of(owner, content).get('points', []))
    return tuple(PlanItem(
        mavlink.MAV_CMD_NAV_RALLY_POINT, _RELATIVE,
        (0.0,) * 4 + _place(f'{owner}.points[{i}]', point, 3)) for i, point in enumerate(points))


class _Commands:
    """What of a plan is flown by a command for each item, and what is not."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self._refused: dict[str, list[int]] = {}         # numbers of items by the sentence
        self._left_out: dict[str, list[int]] = {}
        self._speed_m_s = self._height_m = 0.0

    def take(self, index: int, item: PlanItem) -> None:
        """Take in the next item."""
        command, first = item.command, item.params[0]
        name = enum_name('MAV_CMD', command)
        if command in _PAYLOAD:
            self._left_out.setdefault(name, []).append(index)
        elif command == mavlink.MAV_CMD_DO_CHANGE_SPEED:
            self._speed_m_s = max(item.params[1], 0.0)
        elif command == mavlink.MAV_CMD_NAV_DELAY and first >= 0.0:
            self.items.append(Hold(first))
        elif command == mavlink.MAV_CMD_NAV_RETURN_TO_LAUNCH:
            self.items.append(ReturnHome())
        elif command not in _MARKS:
            self._go(command, item.params)
            if command not in _PLACES:
                self._refused.setdefault(name, []).append(index)
            elif item.frame not in _OVER_HOME:
                frame = enum_name('MAV_FRAME', item.frame)
                self._refused.setdefault(f'{name} in {frame}', []).append(index)

    def _go(self, command: int, params: typing.Sequence[float]) -> None:
        """Take in an item with a place."""
        hold_s, radius_m, _, yaw_deg, latitude, longitude, up_m = params
        is_way, is_landing = command == mavlink.MAV_CMD_NAV_WAYPOINT, command in _LANDINGS.values()
        if command in _TAKE_OFFS:
            self.items.append(TakeOff(up_m))
        self._height_m = self._height_m if is_landing else up_m
        if math.isfinite(latitude + longitude) and (latitude or longitude):
            self.items.append(GoTo(
                up_m=self._height_m, latitude_deg=latitude, longitude_deg=longitude,
                yaw_deg=yaw_deg if is_way else math.nan, speed_m_s=self._speed_m_s,
                radius_m=0.0 if is_landing or hold_s else radius_m or _RADIUS_M))
        if is_landing:
            self.items.append(Land())
        elif hold_s > 0.0 and (is_way or command == mavlink.MAV_CMD_NAV_LOITER_TIME):
            self.items.append(Hold(hold_s))

    def sentences(self) -> tuple[list[str], list[str]]:
        """Return the items that are refused, and those that are left out, by command."""
        refused, left_out = (
            [f'{_numbered(numbers)} ({name})' for name, numbers in found.items()]
            for found in (self._refused, self._left_out))
        if not self.items or not isinstance(self.items[0], TakeOff):
            refused.insert(0, 'a plan that does not begin with MAV_CMD_NAV_TAKEOFF')
        return refused, left_out


def _by_commands(items: typing.Iterable[PlanItem]) -> _Commands:
    found = _Commands()
    for index, item in enumerate(items, start=1):
        found.take(index, item)
    return found


def _numbered(numbers: typing.Sequence[int]) -> str:
    """Return numbers of items in words, of many the first."""
    shown_ones = ', '.join(map(str, numbers[:_MOST_NUMBERS]))
    more = len(numbers) - _MOST_NUMBERS
    return (f"item{'s' * (len(numbers) > 1)} {shown_ones}"
            f"{f' and {more} more' if more > 0 else ''}")


def _place(owner: str, value: typing.Any, count: int) -> tuple[float, ...]:
    """Return latitude and longitude, and of three numbers the altitude."""
    if not isinstance(value, list) or len(value) < count:
        raise ParameterError(f"{owner} = {shown(value)}: must be a list of latitude, longitude"
                             f"{' and altitude' * (count > 2)}")
    found = tuple(number(f'{owner}[{i}]', value[i]) for i in range(count))
    _check_place(owner, found)
    return found


def _check_place(owner: str, values: typing.Sequence[float], first: int = 0) -> None:
    """Check latitude and longitude among numbers."""
    for i, limit in enumerate((90.0, 180.0), first):
        if abs(values[i]) > limit:
            raise ParameterError(f'{owner}[{i}] = {values[i]:g}: must be at least {-limit:g} and at'
                                 f' most {limit:g} deg')


def _whole(name: str, value: typing.Any, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise ParameterError(f'{name} = {shown(value)}: must be a whole number of at most {most}')
    return value
