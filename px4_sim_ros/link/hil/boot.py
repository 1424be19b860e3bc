# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An autopilot is given the time that it needs to boot.

One whose core is shared gets each step of its boot when it has come to rest, so that its flight
repeats itself; `boot_watch` tells when. Any other gets steps that last for a while until its start
script has ended.
"""
from __future__ import annotations

import enum
import time
import typing

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.hil.link_state import HilParameters
from px4_sim_ros.link.hil.server import Deadline, HilServer
from px4_sim_ros.model.timebase import US_PER_S, is_due
from px4_sim_ros.px4.boot_watch import LONGEST_S, BootWatch, StartScript, process_at, rests
from px4_sim_ros.step.hang_watch import waits

# What the outputs of PX4 are while it answers no step.
#
# PX4 in lockstep sends motor commands when its rate controller has run, and then only. In
# TERMINATION, or without a gyro, none runs. On a flight controller the output drivers run by
# themselves, every 50 ms (`MixingOutput::update` in PX4's src/lib/mixer_module): they hold the
# last values, until PX4 is terminated, killed or disarmed. Then they put out the disarmed ones.
#
# Whether it is, PX4 says in its HEARTBEAT, which it sends at once when it is asked for.

# Simulated time from one update of a flight controller's outputs to the next one.
_OUTPUT_PERIOD_US = 50_000

Ask = typing.Callable[[], mavlink.MAVLink_heartbeat_message | None]
"""Returns a new HEARTBEAT of PX4, None if there is no PX4 that answers."""


class Outputs(enum.Enum):
    HELD = 'held'
    DISARMED = 'disarmed'
    TERMINATED = 'terminated'      # disarmed, and that for good


class Silence:
    """Finds out whether PX4 will answer a step, and what its outputs are if not."""

    def __init__(self, server: HilServer, ask: Ask) -> None:
        self._server, self._ask = server, ask
        self.begin_connection()

    def begin_connection(self) -> None:
        """Know nothing of the autopilot."""
        self._process: int | None = None
        self._is_local = True                    # as far as is known
        self._asked_us: int | None = None        # simulated time
        self._outputs: Outputs | None = None     # None: it does not tell

    def rests(self) -> bool:
        """Return whether a PX4 has done all it does in this step.

        One that does not tell its outputs may be no PX4.
        """
        if self._asked_us is not None and self._outputs is None:
            return False
        if self._process is None and self._is_local:
            peer = self._server.peer
            self._process = process_at(peer) if peer is not None else None
            self._is_local = self._process is not None
        return self._process is not None and self._server.is_delivered and rests(self._process)

    def outputs(self, time_us: int) -> Outputs | None:
        """Return the outputs in a step without an answer; None if they are not known."""
        if self._asked_us is None or (
                self._outputs is not None and time_us - self._asked_us >= _OUTPUT_PERIOD_US):
            self._asked_us, self._outputs = time_us, _outputs_of(self._ask())
        return self._outputs


def _outputs_of(heartbeat: mavlink.MAVLink_heartbeat_message | None) -> Outputs | None:
    if heartbeat is None:
        return None
    if heartbeat.system_status == mavlink.MAV_STATE_FLIGHT_TERMINATION:
        return Outputs.TERMINATED
    is_armed = heartbeat.base_mode & mavlink.MAV_MODE_FLAG_SAFETY_ARMED
    return Outputs.HELD if is_armed else Outputs.DISARMED


# Wall time of a look whether an autopilot that boots has come to rest; others have a turn between.
_REST_WAIT_S = 0.05
_DELIVERY_WAIT_S = 0.0002
_RESTLESS = 'the autopilot boots, and did not come to rest'
_AGENT = 'a Micro XRCE-DDS agent has connected PX4 to ROS 2'
LOOK_PERIOD_US = US_PER_S
"""Simulated time between looks at whether it runs as at the end of its boot."""
# The same for how its threads are scheduled, some 0.2 ms a look. Who changes that for less than
# this time is not seen.
_SCHEDULE_PERIOD_US = 10 * US_PER_S


class Boot:
    """Waits for an autopilot that boots, and notes what keeps its flight from being repeated."""

    def __init__(self, server: HilServer, parameters: HilParameters,
                 record_nondeterminism: typing.Callable[[str], None]) -> None:
        """Begin without an autopilot.

        :param record_nondeterminism: called with what may be otherwise if the run is repeated
        """
        self._server, self._parameters = server, parameters
        self._record_nondeterminism = record_nondeterminism
        self._watch: BootWatch | None = None        # of an autopilot whose core is shared
        self._script: StartScript | None = None     # of another one, while it runs
        self._looked_s = 0.0        # at one that has not come to rest since; others have had turns
        self.has_own_agent = False
        """Whether an XRCE-DDS agent is part of the step, as `px4_topics` is."""
        self.spent_s = 0.0
        """Wall time of steps that was given to a boot."""

    @property
    def is_watched(self) -> bool:
        """Whether the autopilot shares our core: nothing is to reach it by the wall clock."""
        return self._watch is not None

    @property
    def is_over(self) -> bool:
        """Whether the autopilot is given no more time for it."""
        return self._script is None and not self.is_under_way

    @property
    def is_under_way(self) -> bool:
        """Whether an autopilot is connected whose boot is waited for."""
        return self._server.connected and self._watch is not None and self._watch.is_booting

    @waits
    def may_begin(self) -> bool:
        """Wait for a while; return whether the one that has connected may get its first step."""
        peer = self._server.peer
        if not self._parameters.shares_core or peer is None:
            return True      # or it has just gone, which the exchange will notice
        if self._watch is None or self._watch.address != peer:
            self._watch = BootWatch(peer)
            self._watch.load_files()
            self._looked_s = 0.0
        rests = self._count(self._watch.settle)
        if not rests and self._looked_s > LONGEST_S:
            self._record_nondeterminism(_RESTLESS)
            return True
        return rests

    def _count(self, settle: typing.Callable[[float], bool]) -> bool:
        """Look for a while, and count the time; return whether it has come to rest."""
        started_s = time.perf_counter()
        rests = settle(_REST_WAIT_S)
        spent_s = time.perf_counter() - started_s
        self.spent_s += spent_s
        self._looked_s = 0.0 if rests else self._looked_s + spent_s
        return rests

    def begin(self) -> None:
        """Begin with the autopilot that was taken."""
        if self._watch is None and self._server.peer is not None:
            self._script = StartScript(self._server.peer)

    def begin_first_step(self) -> None:
        """Prepare for the first step, which is sent next."""
        if self._watch is not None:
            self._watch.stop_script()

    def has_settled(self) -> bool:
        """Wait a while until a booting autopilot rests; return whether the step may continue.

        A reply that will come has come then. At the end of the boot it is seen how it runs.
        """
        watch = self._watch
        if watch is None or not watch.is_booting:
            return True
        if not self._count(lambda longest_s: (
                self._is_delivered(longest_s) and watch.settle(longest_s))):
            if self._looked_s < LONGEST_S:
                return False
            self._looked_s = 0.0
            watch.let_script_go_on()
            self._record_nondeterminism(_RESTLESS)
        elif not watch.is_booting and (sentence := watch.wrong_schedule()):
            self._record_nondeterminism(sentence)
        return True

    def _is_delivered(self, longest_s: float) -> bool:
        """Wait for a while; return whether the frames of the step have come to the autopilot."""
        deadline = Deadline(longest_s)
        while not self._server.is_delivered:
            if deadline.remaining_s == 0.0:
                return False
            time.sleep(_DELIVERY_WAIT_S)
        return True

    def lengthen_step(self, sent_s: float) -> None:
        """Give it time for its start script, also when it answers already.

        :param sent_s: wall time when the frames of the step were sent
        """
        if self._script is None:
            return
        started_s = time.perf_counter()
        if self._script.runs():
            time.sleep(max(0.0, sent_s + self._parameters.freewheel_pause_s - started_s))
        else:
            self._script = None
        self.spent_s += time.perf_counter() - started_s

    def look_for_gaps(self, time_us: int) -> None:
        """See once a simulated second whether it still runs as it did at the end of its boot."""
        if self._watch is None or not is_due(time_us, LOOK_PERIOD_US) or self._watch.is_booting:
            return
        self._look(self._watch, 0 if is_due(time_us, _SCHEDULE_PERIOD_US) else None)

    def look_last(self, step: int | None) -> None:
        """See at the end of the flight whether it has run so all the time.

        :param step: the thread of the step; None: it has ceased to share a core
        """
        if self._watch is not None and not self._watch.is_booting:
            self._look(self._watch, step)

    def _look(self, watch: BootWatch, step: int | None) -> None:
        """Note an XRCE-DDS agent, use of the disk, or, given a step, a wrong schedule."""
        if not self.has_own_agent and watch.agent.has_come():
            self._record_nondeterminism(_AGENT)
        elif used := watch.disk_used():
            self._record_nondeterminism(f'the autopilot has used the disk: {used}')
        elif step is not None and (sentence := watch.wrong_schedule(step)):
            self._record_nondeterminism(sentence)
