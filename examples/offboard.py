# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Offboard control of PX4 by a node that takes part in the step, so that the flight repeats."""
import math

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.pilot.block import PilotBlock
from px4_sim_ros.link.pilot.events import Event

RADIUS_M, UP_M, TURN_S = 2.0, 2.0, 12.0
OFFBOARD = 6                       # PX4_CUSTOM_MAIN_MODE_OFFBOARD
ONLY_POSITION = 0b1101_1111_1000   # of POSITION_TARGET_TYPEMASK: ignore all else


class OffboardCircle(PilotBlock):
    """Flies a circle by set points, 50 in a simulated second, in place of the mission."""

    def course(self, pilot):
        """Continue 20 ms later at each yield."""
        link = pilot.link
        home = yield from pilot.ready()

        def ask_for(east_m, north_m, up_m):
            east, north, up = (a + b for a, b in zip(home.position_enu, (east_m, north_m, up_m)))
            link.send(link.mav.set_position_target_local_ned_encode(
                round(1e3 * link.time_s), link.system_id, mavlink.MAV_COMP_ID_AUTOPILOT1,
                mavlink.MAV_FRAME_LOCAL_NED, ONLY_POSITION, north, east, -up,
                *[0.0] * 8))

        def beside(course):
            """PX4 stays in the mode only while set points come."""
            for _ in course:
                ask_for(0.0, 0.0, UP_M)
                yield

        def wait(duration_s):
            end_s = link.time_s + duration_s
            while link.time_s < end_s:
                yield

        yield from beside(wait(1.0))
        yield from beside(pilot.command(
            mavlink.MAV_CMD_DO_SET_MODE, mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED, OFFBOARD,
            0, 0, 0, 0, 0))
        yield from beside(pilot.arming())
        yield from beside(wait(6.0))
        begun_s = link.time_s
        while (angle := math.tau * (link.time_s - begun_s) / TURN_S) < math.tau:
            ask_for(RADIUS_M * (1.0 - math.cos(angle)), RADIUS_M * math.sin(angle), UP_M)
            yield
        pilot.report(Event('flew a circle', link.time_s))
        yield from pilot.command(
            mavlink.MAV_CMD_NAV_LAND, 0, 0, 0, math.nan, math.nan, math.nan, 0)
        yield from pilot.landing()
