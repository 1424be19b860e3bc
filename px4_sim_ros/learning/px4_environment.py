# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Set points for a real PX4, in offboard mode: each episode is a PX4 of its own."""
from __future__ import annotations

import contextlib
import os
import pathlib
import tempfile
import typing

import numpy as np
from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.flight.autopilots import start_autopilot
from px4_sim_ros.learning.environments import SetPointEnv, share, turned
from px4_sim_ros.link.hil.block import HilBlock
from px4_sim_ros.link.pilot.block import PilotBlock
from px4_sim_ros.link.pilot.events import Course
from px4_sim_ros.link.pilot.link import PilotLink
from px4_sim_ros.link.pilot.pilot import Pilot
from px4_sim_ros.model.errors import RunError
from px4_sim_ros.model.frames import (
    Quaternion,
    Vector,
    enu_to_ned,
    flu_to_frd,
    quaternion_enu_flu_to_ned_frd,
)
from px4_sim_ros.model.rotation import difference, matrix, to_body, total
from px4_sim_ros.model.telemetry import AutopilotStatus, Estimate, SetPoint
from px4_sim_ros.px4.sitl import Px4, world_parameters
from px4_sim_ros.spec.blocks import block_configuration
from px4_sim_ros.spec.configuration import Configuration
from px4_sim_ros.spec.flight_spec import VehicleSpec
from px4_sim_ros.spec.parameter_files import Settings
from px4_sim_ros.step.block import Block

_BEFORE_S = 1.0                        # of set points, without which PX4 refuses the mode
_OFFBOARD = 6                          # PX4_CUSTOM_MAIN_MODE_OFFBOARD
# Of POSITION_TARGET_TYPEMASK and ATTITUDE_TARGET_TYPEMASK: ignore all else.
_ONLY_POSITION, _ONLY_VELOCITY = 0b1101_1111_1000, 0b1101_1100_0111
_ONLY_ATTITUDE, _ONLY_RATES = 0b0000_0111, 0b1000_0000
_HELD_STEP_WAIT_S = 0.05


class _Offboard(PilotBlock):
    """Sends PX4 the set points of an environment, in the place of a mission."""

    set_point: Vector = (0.0, 0.0, 0.0)
    kind, thrust = 'position', 0.0
    flies = False
    home_enu: Vector = (0.0, 0.0, 0.0)

    def course(self, pilot: Pilot) -> Course[None]:
        """Continue 20 ms later at each yield; PX4 is in the mode only while set points come."""
        link = pilot.link
        self.home_enu = (yield from pilot.ready()).position_enu
        end_s = link.time_s + _BEFORE_S
        while link.time_s < end_s:
            self._send(link)
            yield None
        for course in (pilot.command(
                mavlink.MAV_CMD_DO_SET_MODE, mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED, _OFFBOARD,
                0, 0, 0, 0, 0), pilot.arming()):
            for _ in course:
                self._send(link)
                yield None
        self.flies = True
        while True:
            self._send(link)
            yield None

    def _send(self, link: PilotLink) -> None:
        to = (round(1e3 * link.time_s), link.system_id, mavlink.MAV_COMP_ID_AUTOPILOT1)
        nothing = [0.0] * 3
        if self.kind == 'attitude':
            link.send(link.mav.set_attitude_target_encode(
                *to, _ONLY_ATTITUDE, quaternion_enu_flu_to_ned_frd(turned(self.set_point)),
                *nothing, self.thrust))
            return
        if self.kind == 'rates':
            link.send(link.mav.set_attitude_target_encode(
                *to, _ONLY_RATES, [1.0, *nothing], *flu_to_frd(self.set_point), self.thrust))
            return
        is_velocity = self.kind == 'velocity'
        ned = enu_to_ned(self.set_point if is_velocity else total(self.home_enu, self.set_point))
        link.send(link.mav.set_position_target_local_ned_encode(
            *to, mavlink.MAV_FRAME_LOCAL_NED, _ONLY_VELOCITY if is_velocity else _ONLY_POSITION,
            *(nothing if is_velocity else ned), *(ned if is_velocity else nothing),
            *nothing, 0.0, 0.0))

    # Of its telemetry.

    last: Estimate | None = None

    def on_estimate(self, estimate: Estimate) -> None:
        """Keep the last estimate."""
        self.last = estimate

    def on_set_point(self, set_point: SetPoint) -> None:
        """Pass over it."""

    def on_status(self, status: AutopilotStatus) -> None:
        """Pass over it."""

    def on_text(self, time_us: int, text: str) -> None:
        """Pass over it."""


class Px4Env(SetPointEnv):
    """The same with a real PX4 in offboard mode; each episode starts one, which takes seconds."""

    mission = 'hover'

    def __init__(
        self, *, px4_dir: str | os.PathLike[str] = '', px4_schedule: str | None = None,
        **how: typing.Any,
    ) -> None:
        """Check what is flown.

        :param px4_dir: a PX4, as of `Flight`, as is `px4_schedule`
        :param how: all of `SetPointEnv`
        """
        self._px4 = Px4.find(px4_dir, px4_schedule)
        super().__init__(**how)

    def base(self) -> Settings:
        """Return the parameters of its world."""
        return world_parameters(self._px4)

    def check(self) -> None:
        """Check that the build has the airframe."""
        VehicleSpec(self._configuration, 'px4', self._px4).check()

    def own_blocks(self, configuration: Configuration) -> dict[str, Block]:
        """Return the pilot."""
        own: typing.Any = block_configuration(configuration, 'pilot')
        self._pilot = _Offboard(own)
        self._pilot.telemetry = self._pilot
        return {'pilot': self._pilot}

    def start(self, configuration: Configuration, stack: contextlib.ExitStack) -> None:
        """Start PX4, and take off."""
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        with contextlib.redirect_stdout(None):
            self._process = start_autopilot(
                VehicleSpec(configuration, 'px4', self._px4), folder, ros_home=folder)
        stack.callback(self._process.stop)
        self._pilot.set_point = self.target_enu
        self._climb(lambda: self._pilot.flies)
        self.hold()

    def wait(self) -> None:
        """Wait for PX4, which holds the step."""
        bridge = typing.cast(HilBlock, self._blocks['hil_bridge'])
        if self._process.exit_code is not None:
            raise RunError(self._process.end_sentence)
        if bridge.holds():
            bridge.wait(_HELD_STEP_WAIT_S)
        else:
            bridge.idle()

    def act(self, action: np.ndarray) -> None:
        """Change the set point."""
        reached = tuple((action[:3] * self._reach).tolist())
        self._pilot.kind = self._action
        if self.action_size > 3:
            self._pilot.thrust = share(action[3])
        self._pilot.set_point = (
            total(self.target_enu, reached) if self._action == 'position' else reached)

    def estimate(self) -> tuple[Vector, Quaternion, Vector, Vector]:
        """Return place, attitude, velocity and rate, as PX4 has sent them last."""
        last = self._pilot.last
        assert last is not None, 'it has taken off'
        return (difference(last.position_enu, self._pilot.home_enu), last.attitude,
                to_body(matrix(last.attitude), last.velocity_enu), last.rate_flu)
