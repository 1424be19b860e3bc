# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The exchange with the autopilot that ends each step; `link_state` lists the states of the link.

A late reply locks, since PX4's first replies come late, but only a step's own reply ends it.
Controls that are no reply (see `replies`) change nothing, so an autopilot that never gets the
time right leaves FREEWHEEL as little as STALLED. That it answers at all shows that it has
booted, so from then on FREEWHEEL goes at most at real-time pace, too.

An autopilot that answers only now and then (a rover, a failed sensor) would stop the world
for the whole bound at each gap. So after a stall the bound is one step, and when a gap is
expected it is short, until enough steps in a row have been answered.

Time may start over, but not for an autopilot: it is retired, and the link is WAITING for the
next one.
"""
from __future__ import annotations

import time

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.fields import heartbeat, simulator_mavlink
from px4_sim_ros.link.hil.boot import Ask, Boot, Outputs, Silence
from px4_sim_ros.link.hil.codec import DISARMED, ActuatorControls
from px4_sim_ros.link.hil.link_state import HilParameters, LinkReport, LinkState
from px4_sim_ros.link.hil.replies import NONE_US, ReplyMatcher
from px4_sim_ros.link.hil.server import Deadline, HilServer
from px4_sim_ros.model.errors import RunError
from px4_sim_ros.model.timebase import US_PER_S, seconds_text
from px4_sim_ros.step.repeatability import NonRepeatability

# Answers in a row after a stall until the link is trusted with the whole bound again.
_TRUSTED_REPLIES = 50
# Wall time that a step waits when the autopilot may have a reason not to answer.
_GAP_TIMEOUT_S = 0.25
# Wall time without a reply after which is looked whether the autopilot rests: a reply takes it
# 0.2 ms, on a busy machine longer. One that rested lately without a reply is looked at sooner.
_LOOK_AFTER_S, _LOOK_SOON_S = 0.02, 0.001
# Wall time without frames until a HEARTBEAT is sent; PX4 complains after a second without bytes.
HEARTBEAT_PERIOD_S = 0.5
# As plain names: an attribute of an enumeration takes as long as three calls, in each step.
_WAITING, _FREEWHEEL, _LOCKED, _STALLED, _TERMINATED = LinkState
# Simulated time after which an autopilot that has answered no step is reported; PX4 needs 0.3 s.
_LONGEST_BOOT_US = 10 * US_PER_S
# Wall time that the owner of an autopilot has to restart it when time starts over.
RESTART_S = 3.0

class StallError(RunError):
    """The autopilot is silent and `on_stall` is `fail`."""


class Lockstep:
    """Sends what is due at a time and returns the command that answers it."""

    def __init__(
        self, server: HilServer, parameters: HilParameters, step_us: int,
        ask: Ask = lambda: None, *, has_own_agent: bool = False,
    ) -> None:
        """Wait for an autopilot.

        :param ask: asks PX4 for a HEARTBEAT
        :param has_own_agent: PX4's client of ROS 2 talks to an agent in the step
        """
        self._server = server
        self._parameters = parameters
        self._step_s = step_us / US_PER_S
        self._mav = simulator_mavlink()
        self.report = LinkReport()
        self._matcher = ReplyMatcher(self.report.count)
        self._server.count, self._server.remark = self.report.count, self.report.add_remark
        self._boot = Boot(server, parameters, self.record_nondeterminism)
        self._boot.has_own_agent = has_own_agent
        self._silence = Silence(server, ask)
        self._sent_s = 0.0                       # wall time of the last bytes sent
        self._retired_s = 0.0                    # wall time when time started over
        self._reset_counters()
        self._begin_connection()

    def _reset_counters(self) -> None:
        self._has_begun = False                  # an autopilot was there
        self._is_off = False                     # it has no power
        self.steps = 0
        self.waited_s = 0.0                      # wall time in `send` and in waits for replies
        self._boot.spent_s = 0.0
        self._gap: NonRepeatability | None = None             # the first one
        self._matcher.reset_counters()

    def _begin_connection(self) -> None:
        self._matcher.begin_connection()
        self.report.begin_connection()
        self._command = DISARMED
        self._silence.begin_connection()
        self._looked_at = 0                      # replies that are still to come after a look
        self._connected_us = self.report.time_us
        self._untrusted = 0                      # replies that are still to come after a stall
        self._gap_expected = 0                   # replies that are still to come then
        self._unanswered_us = NONE_US           # first step without a reply since the last one
        self._held_us = NONE_US                 # step that is held because of a stall
        self._held_reply: ActuatorControls | None = None   # what came for it meanwhile

    @property
    def state(self) -> LinkState:
        """The state of the link."""
        return self.report.state

    @property
    def replies(self) -> int:
        """How many steps were answered, in time or late."""
        return self._matcher.replies

    @property
    def wants_truth(self) -> bool:
        """Whether the autopilot has asked for HIL_STATE_QUATERNION."""
        return self._matcher.decoder.wants_truth

    def begin(self, time_us: int, frames: bytes) -> bool:
        """Send `frames` if an autopilot is connected, once for a time, and do not wait.

        What is done until `exchange` costs no time of a step: the autopilot works meanwhile.
        Returns whether an autopilot is connected that has got an earlier step.
        """
        self.report.time_us, self._is_off = time_us, False
        if not self._connect():
            return False
        if self._matcher.sent_us == time_us:
            return False
        is_first = self._matcher.sent_us == NONE_US
        if is_first:
            self._boot.begin_first_step()
        self._send(time_us, frames)
        self.waited_s += time.perf_counter() - self._sent_s
        return not is_first

    def _send(self, time_us: int, frames: bytes) -> None:
        # On few cores the kernel may run the autopilot before `send` returns.
        self._sent_s = time.perf_counter()
        self._server.send(frames)
        self._matcher.add_step(time_us)

    @property
    def is_trusted(self) -> bool:
        """Whether each step is answered, as far as is known."""
        return self.report.state is _LOCKED and self._boot.is_over and not (
            self._untrusted or self._gap_expected or self._looked_at or self._held_reply)

    @property
    def system(self) -> int:
        """The system id of the autopilot; 0 before it has said something."""
        return self._matcher.decoder.system or 0

    def take_steps(
        self, begun: int, time_us: int, command: ActuatorControls, sent_s: float, waited_s: float,
        *, is_sent: bool,
    ) -> None:
        """Take in that compiled code has exchanged steps.

        :param begun: how many were begun; those before each were answered
        :param time_us: of the last one
        :param command: the last reply
        :param sent_s: wall time when the last frames were sent
        :param waited_s: wall time in waits for replies
        :param is_sent: whether the frames of the last one were sent
        """
        self._matcher.take_replies(begun, command.time_us)
        if is_sent:
            self._matcher.add_step(time_us)
        self._command, self._sent_s = command, sent_s
        self.steps += begun
        self.waited_s += waited_s
        self.report.time_us, self.report.replied_s = time_us, time.monotonic()
        self._unanswered_us = NONE_US

    def exchange(self, time_us: int, frames: bytes) -> ActuatorControls | None:
        """Return the command that ends the step at `time_us`; send `frames` if not sent yet.

        Returns None while the step has to be held (no autopilot connected, one that boots and
        does not rest, or stalled with `on_stall` `pause`): call again with the same arguments,
        after `wait` or later.

        :raises StallError: the autopilot is silent and `on_stall` is `fail`
        """
        if self._matcher.sent_us != time_us or self.report.state is _WAITING:
            self.begin(time_us, frames)
        if self.report.state is _WAITING:
            return self._without_autopilot()
        if not self._boot.has_settled():
            return None
        started_s = time.perf_counter()
        # The first reply may be to a step before; it comes while this one does not wait for it.
        is_wanted = self._matcher.answered_us != NONE_US
        reply = self._wait_for_reply(time_us)
        self.waited_s += time.perf_counter() - started_s
        if self.report.state is not _FREEWHEEL:       # there it has waited long enough
            self._boot.lengthen_step(self._sent_s)
        elif time_us - self._connected_us >= _LONGEST_BOOT_US:
            self.report.add_silence('the autopilot is connected, and has answered no step since'
                                    f' t = {seconds_text(self._connected_us)}')
        if self._has_gone():
            self.record_nondeterminism('the autopilot has gone')
            return self._without_autopilot()
        self._boot.look_for_gaps(time_us)
        if reply is not None:
            self._command = reply
            if self._looked_at:
                self._looked_at -= 1
            if self._untrusted:
                self._untrusted -= 1
            if self._gap_expected:
                self._gap_expected -= 1
        elif self._is_held(time_us):
            self._send_heartbeat_if_due()
            return None
        self.steps += 1
        if reply is None and is_wanted and self.state is not _TERMINATED:
            self.report.count('unanswered', 'the autopilot has not answered this step; counted'
                              ' as unanswered')
        return self._command

    def skip(self, time_us: int, *, is_off: bool) -> ActuatorControls:
        """Let a step go by without the autopilot; return the command that holds meanwhile.

        :param is_off: it has lost its power: the next one is waited for in the first step that is
            not skipped
        """
        self.report.time_us = time_us
        self._is_off = is_off
        if not is_off:
            self._send_heartbeat_if_due()
        elif self.state is not _WAITING:
            self._command = DISARMED
            self.let_go()
        self.steps += 1
        return self._command

    def service_idle_link(self) -> None:
        """Service the link while no step is under way: call it some 50 times a second.

        Without it the end of the connection would not be noticed, and PX4 would complain of the
        silence. A reply that comes now is late; it does not change the state. One that connects
        while there is no power has to wait until there is.
        """
        if self._is_off:
            return
        boot_s = self._boot.spent_s
        is_connected = self._connect()
        self._boot.spent_s = boot_s   # what is waited here is no time of a step
        if is_connected:
            reply = self._matcher.reply_to(self._held_us, self._server.receive(0.0))
            self._held_reply = reply or self._held_reply
            self._has_gone()
            self._send_heartbeat_if_due()

    def expect_gap(self) -> None:
        """Expect that the autopilot leaves some steps without a reply.

        PX4 does while it changes from one IMU to another; it would do so for ever if its time
        stood still meanwhile.
        """
        self._gap_expected = _TRUSTED_REPLIES

    def reset(self) -> None:
        """Start over with time and counters; the autopilot of the last run is retired.

        One that has got no frame yet has not begun a run; it is the next one.
        """
        if self.state is not _WAITING and self._matcher.sent_us != NONE_US:
            self._retire()
        self._reset_counters()
        self.report.reset()

    def begin_again(self, time_us: int) -> None:
        """Hold for the next autopilot as for the first one; the counters stay."""
        self.report.time_us = time_us
        self._has_begun = False

    def let_go(self) -> None:
        """Serve the autopilot no longer: it has no power, or its vehicle has left the world."""
        if self.state is not _WAITING:
            self._retire()
            self.report.enter(_WAITING)

    def _retire(self) -> None:
        self._server.retire_client()
        self._retired_s = time.monotonic()

    def wait(self, timeout_s: float) -> None:
        """While a step is held: wait for an autopilot, at most `timeout_s`."""
        self._server.accept(timeout_s)

    def status(self) -> dict[str, str]:
        """Return the counters as texts."""
        time_ratio = self._matcher.time_ratio
        return {
            'state': self.state.value,
            'steps': str(self.steps),
            'replies': str(self.replies),
            **{name: str(count) for name, count in self.report.counts.items()},
            **({} if time_ratio is None else {'time_ratio': f'{time_ratio:.6f}'}),
            'waited_s': f'{self.waited_s:.6f}',
            'boot_s': f'{self._boot.spent_s:.6f}',
            **({key: str(value) for key, value in self._gap.values().items()} if self._gap else {}),
        } | {f'seconds_{k}': f'{v:.3f}' for k, v in self.report.state_seconds().items()}

    # The connection

    def _connect(self) -> bool:
        """Return whether an autopilot is connected; take one that waits to be."""
        if self.report.state is not _WAITING:
            return True
        if not self._server.accept():
            if self._server.retired:
                self._service_retired()
            return False
        if not self._boot.may_begin():
            return False
        self._begin_connection()
        self._has_begun = True
        self._sent_s = time.perf_counter()
        self.report.enter(_FREEWHEEL)
        self.report.add_event('an autopilot has connected')
        self._boot.begin()
        return True

    @property
    def is_booting(self) -> bool:
        """Whether an autopilot is connected whose boot is waited for."""
        return self._boot.is_under_way

    def record_nondeterminism(self, sentence: str) -> None:
        """Record a source of non-repeatability; the first one is kept."""
        self._gap = self._gap or NonRepeatability(self.report.time_us, sentence)

    def look_last(self, step: int | None) -> None:
        """See at the end of the flight whether the autopilot has run all the time as it has to.

        :param step: the thread of the step; None: it has ceased to share a core
        """
        if self.state is not _WAITING:
            self._boot.look_last(step)

    def _without_autopilot(self) -> ActuatorControls | None:
        if self._parameters.on_waiting == 'hold' or (
                self._parameters.on_waiting != 'run' and not self._has_begun):
            return None
        self.steps += 1
        return DISARMED

    def _has_gone(self) -> bool:
        if self._server.connected:
            return False
        self.report.enter(_WAITING)
        self.report.add_event('the autopilot has gone; waiting for the next one')
        return True

    def _service_retired(self) -> None:
        self._send_heartbeat_if_due()
        if time.monotonic() - self._retired_s >= RESTART_S:
            self.report.add_event('the autopilot of the last run is still connected and its time'
                                   ' cannot go back: restart it')

    def _send_heartbeat_if_due(self) -> None:
        if self._boot.is_watched:
            return       # it is to get nothing by the wall clock
        now_s = time.perf_counter()
        if now_s - self._sent_s >= HEARTBEAT_PERIOD_S:
            self._sent_s = now_s
            self._server.send(heartbeat(self._mav, mavlink.MAV_TYPE_GENERIC))

    # Replies

    def _wait_for_reply(self, time_us: int) -> ActuatorControls | None:
        """Return the reply to `time_us`, or None when it does not come in time."""
        reply, self._held_reply = self._held_reply, None
        if reply is not None:
            self._lock(time_us)
            return reply
        was_locked = self.report.state is _LOCKED
        server, matcher = self._server, self._matcher
        timeout_s = self._reply_timeout_s()
        deadline = Deadline(timeout_s)
        look_after_s = HEARTBEAT_PERIOD_S if self.report.state is not _LOCKED else (
            _LOOK_SOON_S if self._looked_at else _LOOK_AFTER_S)
        rests = False                    # then what is not there now will not come
        while True:
            answered_us = matcher.answered_us
            data = server.receive(0.0 if rests else min(timeout_s, look_after_s))
            if not data and rests:
                if self._silence.outputs(time_us) is not None:
                    self._looked_at = _TRUSTED_REPLIES
                    self._take_outputs(time_us)
                    return None
                rests, data = False, server.receive(0.0)      # to ask may have taken a second
            elif not data:
                self._send_heartbeat_if_due()
                rests = self.report.state is _LOCKED and self._silence.rests()
            reply = matcher.reply_to(time_us, data)
            if matcher.answered_us != answered_us:
                self._lock(time_us)
            if reply is not None or not server.connected:
                return reply
            timeout_s = deadline.remaining_s
            if timeout_s == 0.0 and not rests:
                if self.report.state is not _TERMINATED:
                    self._count_timeout(time_us, was_locked)
                return None

    def _take_outputs(self, time_us: int) -> None:
        """Command what the outputs are in a step without an answer, as far as that is known."""
        outputs = self._silence.outputs(time_us)
        if outputs in (Outputs.DISARMED, Outputs.TERMINATED):
            self._command = DISARMED
        if outputs is Outputs.TERMINATED:
            self.report.enter(_TERMINATED)
            self.report.add_event('the autopilot has terminated the flight, or was killed, and'
                                  ' answers no step; its outputs are the disarmed ones')

    def _reply_timeout_s(self) -> float:
        """Return how long a step waits for its reply, in seconds of wall time."""
        if self.report.state is _LOCKED and not self._untrusted:
            timeout_s = self._parameters.reply_timeout_s
            return min(timeout_s, _GAP_TIMEOUT_S) if self._gap_expected else timeout_s
        if self.report.state is _TERMINATED or (
                self.report.state is _FREEWHEEL and not self._matcher.is_out_of_step):
            return 0.0 if self._boot.is_watched else self._parameters.freewheel_pause_s
        return self._step_s

    def _lock(self, time_us: int) -> None:
        self._unanswered_us, self.report.replied_s = NONE_US, time.monotonic()
        if self.report.state is not _LOCKED:
            again = (f" again; steps without an answer so far: {self.report.counts['unanswered']}"
                     if self.report.state in (_STALLED, _TERMINATED) else '')
            self.report.enter(_LOCKED)
            self.report.add_event(f'the autopilot replies{again}')
            system, expected = self._matcher.decoder.system, self._parameters.instance + 1
            if system != expected:
                self.report.add_remark('system', f'the autopilot is system {system}; that of'
                                       f' instance {expected - 1} has to be system {expected}:'
                                       ' pilot and battery speak to no other')

    # Stalls

    def _count_timeout(self, time_us: int, was_locked: bool) -> None:
        """Stall, or stay stalled, since no reply to `time_us` came in time.

        :raises StallError: the autopilot is silent and `on_stall` is `fail`
        """
        if self._unanswered_us == NONE_US and self.state is not _FREEWHEEL:
            self._unanswered_us = time_us
        if was_locked:
            self.record_nondeterminism('the step was not answered in time')
            self.report.stall(self._silence_text(self._reply_timeout_s()))
            self._untrusted = _TRUSTED_REPLIES
        if self._is_silent():
            sentence = self._silence_text(self._parameters.reply_timeout_s)
            if self._parameters.on_stall == 'fail':
                raise StallError(sentence)
            self.report.add_event(sentence)
        if self.state is _STALLED:
            self._take_outputs(time_us)

    def _silence_text(self, bound_s: float) -> str:
        return (f'the autopilot has not replied to t = {seconds_text(self._unanswered_us)}'
                f' within {bound_s:g} s')

    def _is_held(self, time_us: int) -> bool:
        """Return whether `on_stall` holds a step; only its own reply frees it."""
        if self._parameters.on_stall != 'pause':
            return False
        if self._is_silent():
            self._held_us = time_us
        return self._held_us == time_us

    def _is_silent(self) -> bool:
        """Return whether the link is stalled for good, not just for a short gap."""
        silent_s = time.monotonic() - self.report.replied_s
        return self.state is _STALLED and silent_s >= self._parameters.reply_timeout_s
