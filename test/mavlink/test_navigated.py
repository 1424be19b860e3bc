# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A mission that the autopilot's navigator has, with an autopilot that takes it and tells of it."""
from __future__ import annotations

import contextlib

import pytest
from pymavlink.dialects.v20 import common as mavlink
from udp_autopilot import UdpAutopilot

from px4_sim_ros.mavlink.pilot import Pilot
from px4_sim_ros.model.mission import GoTo, Hold, Mission

SECONDS_EACH = 3.0              # that an item takes
NOTHING_NEW = 0xFFFF


class Navigator:
    """Takes a mission over MAVLink, and goes from item to item, one after `SECONDS_EACH`."""

    def __init__(self, autopilot):
        self.autopilot, self.items, self.count = autopilot, [], 0
        self.mav = mavlink.MAVLink(None, srcSystem=autopilot.system_id, srcComponent=1)
        self.current, self.told, self.since_s = 0, None, None
        self.times = []             # at which items were reached
        autopilot.vehicle_type = mavlink.MAV_TYPE_GROUND_ROVER
        autopilot.on_message, autopilot.on_tick = self.take, self.go_on

    def take(self, message):
        kind = message.get_type()
        if kind == 'MISSION_COUNT':
            self.items, self.count = [], message.count
        elif kind == 'MISSION_ITEM_INT':
            self.items.append(message)
        else:
            return
        if len(self.items) < self.count:
            self.autopilot.say(self.mav.mission_request_int_encode(245, 191, len(self.items)))
        else:
            self.autopilot.say(self.mav.mission_ack_encode(245, 191, 0))

    def go_on(self):
        time_s = self.autopilot.time_s
        if self.autopilot.armed and self.since_s is None:
            self.since_s = time_s
        if self.since_s is not None and self.current < len(self.items) - 1 and (
                time_s - self.since_s > SECONDS_EACH):
            self.current, self.since_s = self.current + 1, time_s
            self.times.append(time_s)
        if any(m.command == mavlink.MAV_CMD_SET_MESSAGE_INTERVAL
               and m.param1 == mavlink.MAVLINK_MSG_ID_HIGH_LATENCY2
               for m in self.autopilot.commands):
            number = NOTHING_NEW if self.current == self.told else self.current
            self.told = self.current
            fields = dict.fromkeys(mavlink.MAVLink_high_latency2_message.fieldnames, 0)
            self.autopilot.say(self.mav.high_latency2_encode(
                **fields | {'timestamp': round(time_s * 1000), 'wp_num': number}))


@pytest.fixture
def driven(instance):
    """Return a navigator that has had its mission, and what the pilot has reported."""
    events = []
    mission = Mission('drive', (
        GoTo(10.0, 0.0, 0.0), Hold(2.0), GoTo(10.0, 5.0, 0.0)))
    with contextlib.ExitStack() as stack:
        autopilot = stack.enter_context(contextlib.closing(UdpAutopilot(instance)))
        pilot = stack.enter_context(contextlib.closing(Pilot(instance, events.append)))
        navigator = Navigator(autopilot)
        autopilot.begin()
        pilot.fly(mission)
    return navigator, events


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
