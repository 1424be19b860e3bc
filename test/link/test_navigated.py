# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A mission that the autopilot's navigator has, with an autopilot that takes it and tells of it."""
from __future__ import annotations

import contextlib
import math

import pytest
from pymavlink.dialects.v20 import common as mavlink
from udp_autopilot import HOME, UdpAutopilot, metres_per_degree

from px4_sim_ros.link.pilot.events import MissionError
from px4_sim_ros.link.pilot.pilot import Pilot
from px4_sim_ros.model.mission import (
    GoTo,
    Hold,
    Land,
    Mission,
    Plan,
    PlanItem,
    ReturnHome,
    TakeOff,
)

SECONDS_EACH = 3.0              # that an item takes
NOTHING_NEW = 0xFFFF
LANDINGS = (mavlink.MAV_CMD_NAV_LAND, mavlink.MAV_CMD_NAV_VTOL_LAND,
            mavlink.MAV_CMD_NAV_RETURN_TO_LAUNCH)
HOLDS = 4, 3                    # AUTO_LOITER


class Navigator:
    """Takes a mission over MAVLink, and goes from item to item, one after `SECONDS_EACH`."""

    def __init__(self, autopilot, vehicle_type, result=mavlink.MAV_MISSION_ACCEPTED):
        self.autopilot, self.plans = autopilot, {}                 # by MAV_MISSION_TYPE
        self.coming, self.count = [], 0
        self.mav = mavlink.MAVLink(None, srcSystem=autopilot.system_id, srcComponent=1)
        self.current, self.told, self.since_s = 0, None, None
        self.times = []             # at which items were reached
        self.reported = []          # by the pilot
        self.result, autopilot.vehicle_type = result, vehicle_type
        autopilot.on_message, autopilot.on_tick = self.take, self.go_on

    def take(self, message):
        kind = message.get_type()
        if kind == 'MISSION_COUNT':
            self.coming, self.count = [], message.count
        elif kind == 'MISSION_ITEM_INT':
            if message.seq != len(self.coming):        # a busy machine's pilot has sent it twice
                return
            self.coming.append(message)
        else:
            return
        have, what = len(self.coming), message.mission_type
        if have < self.count:
            self.autopilot.say(self.mav.mission_request_int_encode(245, 191, have, what))
        else:
            self.plans[what] = self.coming       # as PX4, which keeps the one before until then
            self.autopilot.say(self.mav.mission_ack_encode(245, 191, self.result, what))

    @property
    def items(self):
        """Those of the mission."""
        return self.plans.get(mavlink.MAV_MISSION_TYPE_MISSION, [])

    def go_on(self):
        time_s = self.autopilot.time_s
        # A busy machine delays the pilot's request; an item that passes before it is not reported.
        is_asked = any(m.command == mavlink.MAV_CMD_SET_MESSAGE_INTERVAL
                       and m.param1 == mavlink.MAVLINK_MSG_ID_HIGH_LATENCY2
                       for m in self.autopilot.commands)
        if self.autopilot.armed and is_asked and self.since_s is None:
            self.since_s = time_s
        if self.since_s is not None and self.current < len(self.items) - 1 and (
                time_s - self.since_s > SECONDS_EACH):
            self.current, self.since_s = self.current + 1, time_s
            self.times.append(time_s)
            is_landing = self.items[self.current].command in LANDINGS
            self.autopilot.place[2] = self.autopilot.start[2] + (0.0 if is_landing else 4.0)
            self.autopilot.armed = not is_landing
        if is_asked:
            number = NOTHING_NEW if self.current == self.told else self.current
            self.told = self.current
            fields = dict.fromkeys(mavlink.MAVLink_high_latency2_message.fieldnames, 0)
            self.autopilot.say(self.mav.high_latency2_encode(
                **fields | {'timestamp': round(time_s * 1000), 'wp_num': number}))


@pytest.fixture
def fly(instance):
    """Return a function that flies items; it returns the navigator and what was reported."""
    with contextlib.ExitStack() as stack:
        def flown(vehicle_type, *items, result=mavlink.MAV_MISSION_ACCEPTED, heading_deg=0.0,
                  on_tick=None, tick_s=0.1, plan=None, on_message=None, **how):
            events = []
            autopilot = stack.enter_context(contextlib.closing(UdpAutopilot(instance)))
            pilot = stack.enter_context(contextlib.closing(Pilot(instance, events.append, **how)))
            navigator = Navigator(autopilot, vehicle_type, result)
            navigator.reported = events
            autopilot.heading_deg, autopilot.tick_s = heading_deg, tick_s
            if on_message is not None:
                autopilot.on_message = lambda m: (on_message(navigator, m), navigator.take(m))
            if on_tick is not None:
                autopilot.on_tick = lambda: (navigator.go_on(), on_tick(navigator))
            autopilot.begin()
            pilot.fly(Mission('test', items, plan))
            return navigator, events
        yield flown


@pytest.fixture
def driven(fly):
    """Return a navigator that has had a mission that drives, and what the pilot has reported."""
    return fly(mavlink.MAV_TYPE_GROUND_ROVER,
               GoTo(10.0, 0.0, 0.0), Hold(2.0), GoTo(10.0, 5.0, 0.0))


def test_a_rover_is_followed_by_the_item_that_is_current(driven):
    """An item is reached as soon as the next one is current; then it stands."""
    navigator, events = driven
    assert [event.text for event in events] == [
        'ready to fly', 'armed', 'arrived at 10 m north, 0 m east, 0 m up', 'held for 2 s',
        'arrived at 10 m north, 5 m east, 0 m up', 'stopped']
    reached = [event.time_s for event in events[2:5]]
    tick_s = navigator.autopilot.tick_s
    assert [a - b for a, b in zip(reached, navigator.times)] == pytest.approx(
        [0.0] * 3, abs=1.5 * tick_s)


def test_behind_the_last_item_is_one_that_takes_no_time(driven):
    items = driven[0].items
    way, circle = mavlink.MAV_CMD_NAV_WAYPOINT, mavlink.MAV_CMD_NAV_LOITER_TIME
    assert [(item.command, item.param1) for item in items] == [
        (way, 0.0), (circle, 2.0), (way, 0.0), (mavlink.MAV_CMD_NAV_DELAY, 0.0)]
    assert [item.seq for item in items] == [0, 1, 2, 3]
    assert items[-1].frame == mavlink.MAV_FRAME_MISSION


def places_of(navigator):
    """Return where the items of its mission are, north and east of home, m."""
    north, east = metres_per_degree()
    return [(north * (item.x * 1e-7 - HOME[0]), east * (item.y * 1e-7 - HOME[1]))
            for item in navigator.items]


CORNER = TakeOff(4.0), GoTo(10.0, -5.0, 4.0), Hold(2.0), Land()


def test_a_multirotor_takes_off_straight_up_and_lands_where_it_is(fly):
    """It passes each point as near as it would by commands, and is told of no single item."""
    navigator, events = fly(mavlink.MAV_TYPE_QUADROTOR, *CORNER, uploads=True)
    way, stay = navigator.items[1:3]
    assert [item.command for item in navigator.items] == [
        mavlink.MAV_CMD_NAV_TAKEOFF, mavlink.MAV_CMD_NAV_WAYPOINT, mavlink.MAV_CMD_NAV_LOITER_TIME,
        mavlink.MAV_CMD_NAV_LAND]
    assert [item.z for item in navigator.items] == [4.0, 4.0, 4.0, 0.0]     # above home
    assert (way.param1, way.param2, stay.param1) == (1.0, pytest.approx(0.4), 2.0)
    places = places_of(navigator)
    assert places[0] == pytest.approx((0.0, 0.0), abs=0.02)                 # 1e-7 deg are 11 mm
    assert places[1:] == [pytest.approx((10.0, -5.0), abs=0.02)] * 3
    assert {m.command for m in navigator.autopilot.commands} == {
        mavlink.MAV_CMD_SET_MESSAGE_INTERVAL, mavlink.MAV_CMD_DO_SET_MODE,
        mavlink.MAV_CMD_COMPONENT_ARM_DISARM}
    assert [event.text for event in events] == [
        'ready to fly', 'armed', 'climbed to 4 m', 'arrived at 10 m north, -5 m east, 4 m up',
        'held for 2 s', 'landed', 'disarmed']


@pytest.mark.parametrize(('ways', 'bearing_deg'), [
    # Towards the first point that is away from its start, however it stands;
    ((GoTo(300.0, 400.0, 40.0), GoTo(0.0, -90.0, 40.0)), math.degrees(math.atan2(4.0, 3.0))),
    ((GoTo(0.0, 0.0, 40.0), GoTo(0.0, -90.0, 40.0)), 270.0),
    # with no such point, where it points.
    ((Hold(2.0),), 30.0)])
def test_a_vtol_takes_off_towards_its_first_point(fly, ways, bearing_deg):
    navigator, _ = fly(mavlink.MAV_TYPE_VTOL_TILTROTOR,
                       TakeOff(30.0), *ways, Land(), heading_deg=30.0)
    first, last = navigator.items[0], navigator.items[-1]
    assert (first.command, first.z) == (mavlink.MAV_CMD_NAV_VTOL_TAKEOFF, 30.0)
    assert last.command == mavlink.MAV_CMD_NAV_VTOL_LAND
    bearing = math.radians(bearing_deg)
    places = places_of(navigator)
    assert places[0] == pytest.approx(
        (200.0 * math.cos(bearing), 200.0 * math.sin(bearing)), abs=0.02)
    assert places[-1] == pytest.approx((0.0, 0.0), abs=0.02)


def test_a_plane_takes_off_where_it_points(fly):
    navigator, _ = fly(mavlink.MAV_TYPE_FIXED_WING, TakeOff(30.0), GoTo(300.0, 400.0, 40.0), Land(),
                       heading_deg=30.0)
    assert places_of(navigator)[0] == pytest.approx((100.0 * math.sqrt(3.0), 100.0), abs=0.02)


def test_a_multirotor_is_commanded_unless_it_is_wanted_otherwise(fly):
    navigator, _ = fly(mavlink.MAV_TYPE_QUADROTOR, TakeOff(4.0), Land())
    assert not navigator.count
    assert mavlink.MAV_CMD_NAV_TAKEOFF in [m.command for m in navigator.autopilot.commands]


def test_an_autopilot_that_refuses_a_mission_is_quoted(fly):
    with pytest.raises(MissionError, match='refuses the mission: MAV_MISSION_UNSUPPORTED'):
        fly(mavlink.MAV_TYPE_QUADROTOR, *CORNER, uploads=True,
            result=mavlink.MAV_MISSION_UNSUPPORTED)


def test_an_item_is_not_reached_by_returning(fly):
    """PX4 makes its landing the current item when it returns for it."""
    def returns(navigator):
        if navigator.current != 1:
            return
        # A busy machine delays the pilot: it has to have seen that the first one was reached.
        navigator.since_s = navigator.autopilot.time_s
        if any(event.ends_item for event in navigator.reported):
            navigator.current = len(navigator.items) - 1
            navigator.autopilot.mode = 4, 5                 # AUTO_RTL
            navigator.autopilot.in_failsafe = True

    with pytest.raises(MissionError) as error:
        fly(mavlink.MAV_TYPE_FIXED_WING, TakeOff(30.0), GoTo(300.0, 0.0, 30.0), Land(),
            on_tick=returns, tick_s=1.0)
    assert str(error.value).startswith('item 2 of the mission was not reached after 300 s')


def test_yaw_speed_and_radius_are_uploaded(fly):
    """The speed by an item of its own, of which nothing is reported."""
    navigator, events = fly(
        mavlink.MAV_TYPE_QUADROTOR, TakeOff(4.0),
        GoTo(10.0, 0.0, 4.0, yaw_deg=90.0, speed_m_s=2.5, radius_m=1.5), GoTo(
            latitude_deg=HOME[0], longitude_deg=HOME[1], up_m=4.0), ReturnHome(), uploads=True)
    _, speed, way, back, end = navigator.items
    assert (speed.command, speed.frame, speed.param1, speed.param2) == (
        mavlink.MAV_CMD_DO_CHANGE_SPEED, mavlink.MAV_FRAME_MISSION, 1.0, 2.5)
    assert (way.param1, way.param2, way.param4) == (0.0, 1.5, 90.0)
    assert (back.x, back.y) == pytest.approx((HOME[0] * 1e7, HOME[1] * 1e7), abs=2)
    assert (end.command, end.frame) == (
        mavlink.MAV_CMD_NAV_RETURN_TO_LAUNCH, mavlink.MAV_FRAME_MISSION)
    assert [event.text for event in events] == [
        'ready to fly', 'armed', 'climbed to 4 m', 'arrived at 10 m north, 0 m east, 4 m up',
        'arrived at 0 m north, 0 m east, 4 m up', 'landed', 'disarmed']


NAN = math.nan
PLACE = HOME[0] + 1e-4, HOME[1]
UP = PlanItem(mavlink.MAV_CMD_NAV_TAKEOFF, 3, (0.0, 0.0, 0.0, NAN, NAN, NAN, 4.0))
WAY = PlanItem(mavlink.MAV_CMD_NAV_WAYPOINT, 3, (0.0, 1.0, 0.0, NAN, *PLACE, 4.0))
TRIGGER = PlanItem(mavlink.MAV_CMD_DO_SET_CAM_TRIGG_DIST, 2, (5.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0))
DOWN = PlanItem(mavlink.MAV_CMD_NAV_LAND, 3, (0.0, 0.0, 0.0, NAN, NAN, NAN, 0.0))
RETURN = PlanItem(mavlink.MAV_CMD_NAV_RETURN_TO_LAUNCH, 2, (0.0,) * 7)
CIRCLE = PlanItem(mavlink.MAV_CMD_NAV_FENCE_CIRCLE_INCLUSION, 0, (90.0, 0, 0, 0, *HOME[:2], 0.0))
RALLY = PlanItem(mavlink.MAV_CMD_NAV_RALLY_POINT, 3, (0.0, 0.0, 0.0, 0.0, *PLACE, 9.0))


def plan_of(*items, fence=(), rally=(), refused=''):
    return Plan(items, tuple(fence), tuple(rally), refused, '', {})


def test_a_plan_goes_to_the_autopilot_as_it_is(fly):
    """What has no place has that of the one before, or of the take-off; a rest is cleared."""
    navigator, events = fly(mavlink.MAV_TYPE_QUADROTOR, plan=plan_of(
        UP, WAY, TRIGGER, DOWN, fence=[CIRCLE]))
    up, way, trigger, down = navigator.items
    assert (up.x, up.y) == pytest.approx((HOME[0] * 1e7, HOME[1] * 1e7), abs=1)
    assert (way.x, way.y, way.z, way.param2) == (
        round(PLACE[0] * 1e7), round(PLACE[1] * 1e7), 4.0, 1.0)
    assert (trigger.param1, trigger.x, trigger.y) == (5.0, 0, 0)
    assert (down.x, down.y) == (way.x, way.y)
    circle, = navigator.plans[mavlink.MAV_MISSION_TYPE_FENCE]
    assert (circle.command, circle.param1, circle.x) == (
        mavlink.MAV_CMD_NAV_FENCE_CIRCLE_INCLUSION, 90.0, round(HOME[0] * 1e7))
    assert navigator.plans[mavlink.MAV_MISSION_TYPE_RALLY] == []
    assert [event.text for event in events] == [
        'ready to fly', 'armed', 'flew item 1 of 4: NAV_TAKEOFF', 'flew item 2 of 4: NAV_WAYPOINT',
        'flew item 3 of 4: DO_SET_CAM_TRIGG_DIST', 'landed', 'disarmed']
    assert sum(event.ends_item for event in events) == 4


def test_a_plan_ends_with_a_return(fly):
    """What comes behind it is never flown."""
    navigator, events = fly(mavlink.MAV_TYPE_QUADROTOR, plan=plan_of(
        UP, WAY, RETURN, WAY, rally=[RALLY]))
    assert [event.text for event in events][-3:] == [
        'flew item 2 of 4: NAV_WAYPOINT', 'landed', 'disarmed']
    rally, = navigator.plans[mavlink.MAV_MISSION_TYPE_RALLY]
    assert (rally.x, rally.z) == (round(PLACE[0] * 1e7), 9.0)


def test_a_plan_without_a_landing_ends_where_the_autopilot_holds(fly):
    def holds(navigator):
        if navigator.current == 1 and navigator.autopilot.time_s - navigator.since_s > 2.0:
            navigator.autopilot.mode = HOLDS

    _, events = fly(mavlink.MAV_TYPE_QUADROTOR, plan=plan_of(UP, WAY), on_tick=holds)
    assert events[-1].text == 'flew item 2 of 2: NAV_WAYPOINT'


@pytest.mark.parametrize(('kind', 'what'), [(0, 'mission'), (1, 'fence'), (2, 'rally points')])
def test_what_of_a_plan_is_refused_is_named(fly, kind, what):
    def refuses(navigator, message):
        is_it = message.get_type().startswith('MISSION_') and message.mission_type == kind
        navigator.result = (
            mavlink.MAV_MISSION_DENIED if is_it else mavlink.MAV_MISSION_ACCEPTED)

    with pytest.raises(MissionError, match=f'refuses the {what}: MAV_MISSION_DENIED'):
        fly(mavlink.MAV_TYPE_QUADROTOR, plan=plan_of(UP, DOWN, fence=[CIRCLE], rally=[RALLY]),
            on_message=refuses)
