"""The exchange with the autopilot that ends each step, and the states of the link.

WAITING    nobody is connected: the step is held, or goes on disarmed, as configured.
FREEWHEEL  connected, no step answered yet: PX4 boots in simulated time, so steps go on, each
           after a short pause.
LOCKED     each step waits for its reply, with a bound.
STALLED    connected but silent: steps go on with the last command, at most at real-time
           pace, until the next reply (or are held, or the run fails, as configured).

Only controls with the time of a step that was sent, lately, and is not answered yet are a
reply. A late one locks, since PX4's first replies come late, but only a step's own reply ends
it, and only the first one. Controls with any other time are counted and change nothing, so an
autopilot that never gets the time right leaves FREEWHEEL as little as STALLED. That it answers
at all shows that it has booted, so from then on FREEWHEEL goes at most at real-time pace, too.

An autopilot that answers only now and then (a rover, a failed sensor) would stop the world
for the whole bound at each gap. So after a stall the bound is one step, and when a gap is
expected it is short, until enough steps in a row have been answered.

Time may start over, but not for an autopilot: it is retired, and the link is WAITING for the
next one.
"""
from __future__ import annotations

import collections
import dataclasses
import enum
import time

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.mavlink.hil_codec import (
    DISARMED,
    ActuatorControls,
    HilDecoder,
)
from px4_sim_ros.mavlink.hil_fields import packed, simulator_mavlink
from px4_sim_ros.mavlink.hil_server import Deadline, HilServer
from px4_sim_ros.model.errors import RunError
from px4_sim_ros.model.parameters import Parameters, parameter
from px4_sim_ros.model.timebase import US_PER_S, seconds_text

# Answers in a row after a stall until the link is trusted with the whole bound again.
_TRUSTED_REPLIES = 50
# Wall time that a step waits when the autopilot may have a reason not to answer.
_GAP_TIMEOUT_S = 0.25
# How many steps a reply may be late.
_STEPS_REMEMBERED = 250
# PX4 complains after a second of wall time in which no bytes come.
QUIET_S = 0.5
# Wall time that the owner of an autopilot has to restart it when time starts over.
RESTART_S = 3.0


@dataclasses.dataclass(frozen=True)
class HilParameters(Parameters):
    """Parameters of the link to the autopilot."""

    host: str = parameter('address to listen on')
    instance: int = parameter(
        'PX4 instance; the TCP port is 4560 + instance', minimum=0, maximum=99)
    reply_timeout_s: float = parameter(
        'wall time until a silent link is stalled', 's', above=0, maximum=60)
    freewheel_pause_s: float = parameter(
        'wall time a step while the autopilot boots', 's', minimum=0, maximum=1)
    on_waiting: str = parameter(
        'what to do while no autopilot is connected', choices=('hold', 'run'))
    on_stall: str = parameter(
        'what to do when the autopilot is silent', choices=('continue', 'pause', 'fail'))
    satellites: int = parameter('satellites that the GNSS receiver sees', minimum=0, maximum=254)


class LinkState(enum.Enum):
    """States of the link; see the module's text."""

    WAITING = 'WAITING'
    FREEWHEEL = 'FREEWHEEL'
    LOCKED = 'LOCKED'
    STALLED = 'STALLED'


class StallError(RunError):
    """The autopilot is silent and `on_stall` is `fail`."""


class Lockstep:
    """Sends what is due at a time and returns the command that answers it."""

    def __init__(self, server: HilServer, parameters: HilParameters, step_us: int) -> None:
        self._server = server
        self._server.on_refusal = self._on_refusal
        self._parameters = parameters
        self._step_s = step_us / US_PER_S
        self._mav = simulator_mavlink()
        self._spoke_s = 0.0                      # wall time of the last bytes sent
        self._retired_s = 0.0                    # wall time when time started over
        self._told: LinkState | None = None      # what the last event of a state was about
        self._events: list[str] = []
        self.state = LinkState.WAITING
        self._start_counting()
        self._forget_autopilot()

    def _start_counting(self) -> None:
        self.steps = 0
        self.replies = 0
        self.misses = 0
        self.stale_replies = 0
        self.waited_s = 0.0                      # wall time in `send` and in waits for replies
        self._decoder = HilDecoder(self._remark)
        self._server.dropped_sends = self._server.refused_clients = 0
        self._state_since_s = time.monotonic()
        self._state_s = dict.fromkeys(LinkState, 0.0)

    def _forget_autopilot(self) -> None:
        self._decoder.begin_connection()
        self._remarked: set[str] = set()         # kinds of remarks made about this connection
        self._command = DISARMED
        self._sent_us = -1                       # time of the last frames sent
        # Times of the steps that were sent and may still be answered.
        self._open_us: collections.deque[int] = collections.deque(maxlen=_STEPS_REMEMBERED)
        self._answered_us = -1                   # newest step answered
        self._is_out_of_step = False             # controls came that were no reply
        self._untrusted = 0                      # replies that are still to come after a stall
        self._gap_expected = 0                   # replies that are still to come then
        self._unanswered_us: int | None = None   # first step without a reply since the last one
        self._replied_s = 0.0                    # wall time of the last reply
        self._held_us = -1                       # step that is held because of a stall
        self._held_reply: ActuatorControls | None = None   # what came for it meanwhile

    def begin(self, time_us: int, frames: bytes) -> None:
        """Send `frames` if somebody is connected, once for a time, and do not wait.

        What is done until `exchange` costs no time of a step: the autopilot works meanwhile.
        """
        if not self._connect() or self._sent_us == time_us:
            return
        # On few cores the kernel may run the autopilot before `send` returns.
        started_s = time.perf_counter()
        self._server.send(frames)
        self._sent_us, self._spoke_s = time_us, started_s
        self._open_us.append(time_us)
        self.waited_s += time.perf_counter() - started_s

    def exchange(self, time_us: int, frames: bytes) -> ActuatorControls | None:
        """Return the command that ends the step at `time_us`; send `frames` if that is to be done.

        Returns None while the step has to be held (nobody connected, or stalled and told to
        pause): call again with the same arguments, after `wait` or later.

        :raises StallError: the autopilot is silent and `on_stall` is `fail`
        """
        self.begin(time_us, frames)
        if self.state is LinkState.WAITING:
            return self._without_autopilot()
        started_s = time.perf_counter()
        reply = self._wait_for_reply(time_us)
        self.waited_s += time.perf_counter() - started_s
        if self._has_gone():
            return self._without_autopilot()
        if reply is not None:
            self._command = reply
            self._untrusted = max(0, self._untrusted - 1)
            self._gap_expected = max(0, self._gap_expected - 1)
        elif self._is_held(time_us):
            self._keep_quiet()
            return None
        self.steps += 1
        return self._command

    def attend(self) -> None:
        """Look after the link while no step is under way: call it some 50 times a second.

        Without it nobody would notice that the autopilot goes, and PX4 would complain of the
        silence. A reply that comes now is late; it does not change the state.
        """
        if self._connect():
            reply = self._take_in(self._server.receive(0.0), self._held_us)
            self._held_reply = reply or self._held_reply
            self._has_gone()
            self._keep_quiet()

    def expect_gap(self) -> None:
        """Be told that the autopilot may now leave some steps without an answer.

        PX4 does while it changes from one IMU to another; it would do so for ever if its time
        stood still meanwhile.
        """
        self._gap_expected = _TRUSTED_REPLIES

    def begin_again(self) -> None:
        """Start over with time and counters; the autopilot of the last run is retired.

        One that has got no frame yet has not begun a run; it is the next one.
        """
        if self.state is not LinkState.WAITING and self._sent_us != -1:
            self._server.retire_client()
            self._retired_s = time.monotonic()
        self._start_counting()
        self._told = None
        self.state = LinkState.WAITING

    def wait(self, timeout_s: float) -> None:
        """While a step is held: wait for an autopilot, at most `timeout_s`."""
        self._server.accept(timeout_s)

    def state_seconds(self) -> dict[str, float]:
        """Return the wall time spent in each state so far."""
        now = time.monotonic()
        return {
            state.value: spent + (now - self._state_since_s if state is self.state else 0.0)
            for state, spent in self._state_s.items()
        }

    def take_events(self) -> list[str]:
        """Return the sentences about the link since the last call."""
        events, self._events = self._events, []
        return events

    def status(self) -> dict[str, str]:
        """Return the counters as texts."""
        return {
            'state': self.state.value,
            'steps': str(self.steps),
            'replies': str(self.replies),
            'misses': str(self.misses),
            'stale_replies': str(self.stale_replies),
            'bad_messages': str(self._decoder.bad_messages),
            'unknown_messages': str(self._decoder.unknown_messages),
            'foreign_messages': str(self._decoder.foreign_messages),
            'mavlink1_messages': str(self._decoder.mavlink1_messages),
            'limited_controls': str(self._decoder.limited_controls),
            'waited_s': f'{self.waited_s:.6f}',
            'dropped_sends': str(self._server.dropped_sends),
            'refused_clients': str(self._server.refused_clients),
        } | {f'seconds_{k}': f'{v:.3f}' for k, v in self.state_seconds().items()}

    # Who is connected

    def _connect(self) -> bool:
        if self.state is not LinkState.WAITING:
            return True
        if not self._server.accept():
            self._look_after_retired()
            return False
        self._forget_autopilot()
        self._spoke_s = time.perf_counter()
        self._enter(LinkState.FREEWHEEL)
        self._tell('an autopilot has connected')
        return True

    def _without_autopilot(self) -> ActuatorControls | None:
        if self._parameters.on_waiting == 'hold':
            return None
        self.steps += 1
        return DISARMED

    def _has_gone(self) -> bool:
        if self._server.connected:
            return False
        self._enter(LinkState.WAITING)
        self._tell('the autopilot has gone; waiting for the next one')
        return True

    def _look_after_retired(self) -> None:
        if not self._server.retired:
            return
        self._keep_quiet()
        if time.monotonic() - self._retired_s >= RESTART_S:
            self._tell('the autopilot of the last run is still connected and its time cannot go'
                       ' back: restart it')

    def _keep_quiet(self) -> None:
        """Say something, so that PX4 does not complain of the silence."""
        now_s = time.perf_counter()
        if now_s - self._spoke_s >= QUIET_S:
            self._spoke_s = now_s
            self._server.send(packed(self._mav, self._mav.heartbeat_encode(
                mavlink.MAV_TYPE_GENERIC, mavlink.MAV_AUTOPILOT_INVALID, 0, 0,
                mavlink.MAV_STATE_ACTIVE)))

    def _on_refusal(self, address: str) -> None:
        self._remark('refusal', f'a second autopilot from {address} was refused; one is connected'
                     ' already')

    # What it replies

    def _wait_for_reply(self, time_us: int) -> ActuatorControls | None:
        """Return the reply to `time_us`, or None when it does not come in time."""
        if self._held_reply is not None:
            reply, self._held_reply = self._held_reply, None
            self._lock(time_us)
            return reply
        was_locked = self.state is LinkState.LOCKED
        deadline = Deadline(self._patience_s())
        while True:
            answered_us = self._answered_us
            data = self._server.receive(min(deadline.remaining_s, QUIET_S))
            if not data:
                self._keep_quiet()
            reply = self._take_in(data, time_us)
            if self._answered_us != answered_us:
                self._lock(time_us)
            if reply is not None or not self._server.connected:
                return reply
            if deadline.remaining_s == 0.0:
                break
        if self._unanswered_us is None and self.state is not LinkState.FREEWHEEL:
            self._unanswered_us = time_us
        if was_locked:
            self.misses += 1
            self._untrusted = _TRUSTED_REPLIES
            self._enter(LinkState.STALLED)
        if self._is_silent():
            if self._parameters.on_stall == 'fail':
                raise StallError(self._silence())
            self._tell(self._silence())
        return None

    def _patience_s(self) -> float:
        """Return how long a step waits for its reply."""
        if self.state is LinkState.LOCKED and not self._untrusted:
            timeout_s = self._parameters.reply_timeout_s
            return min(timeout_s, _GAP_TIMEOUT_S) if self._gap_expected else timeout_s
        if self.state is LinkState.FREEWHEEL and not self._is_out_of_step:
            return self._parameters.freewheel_pause_s
        return self._step_s

    def _take_in(self, data: bytes, time_us: int) -> ActuatorControls | None:
        """Count the controls in `data` and return those that are the reply to `time_us`."""
        reply = None
        for controls in self._decoder.controls(data):
            self.replies += 1
            if self._is_reply(controls.time_us) and controls.time_us == time_us:
                reply = controls
            else:
                self.stale_replies += 1
        return reply

    def _is_reply(self, time_us: int) -> bool:
        """Return whether a step was open; then it, and those before it, are so no longer."""
        if time_us in self._open_us:
            while self._open_us.popleft() != time_us:
                pass
            self._answered_us = time_us
            return True
        self._is_out_of_step = True
        self._remark('time', f'controls for t = {seconds_text(time_us)} answer no step that waits'
                     ' for an answer; such are counted as stale_replies')
        return False

    def _lock(self, time_us: int) -> None:
        self._unanswered_us, self._replied_s = None, time.monotonic()
        if self.state is not LinkState.LOCKED:
            self._enter(LinkState.LOCKED)
            self._tell(f'locked at t = {seconds_text(time_us)}')

    # When it does not reply

    def _is_held(self, time_us: int) -> bool:
        """Return whether `on_stall` holds a step; only its own reply frees it."""
        if self._parameters.on_stall != 'pause':
            return False
        if self._is_silent():
            self._held_us = time_us
        return self._held_us == time_us

    def _silence(self) -> str:
        return (f'the autopilot has not replied to t = {seconds_text(self._unanswered_us)} within'
                f' {self._parameters.reply_timeout_s:g} s')

    def _is_silent(self) -> bool:
        """Return whether the link is stalled for good, not just for a short gap."""
        silent_s = time.monotonic() - self._replied_s
        return self.state is LinkState.STALLED and silent_s >= self._parameters.reply_timeout_s

    # What is told

    def _enter(self, state: LinkState) -> None:
        if state is self.state:
            return
        now = time.monotonic()
        self._state_s[self.state] += now - self._state_since_s
        self._state_since_s = now
        self.state = state

    def _tell(self, sentence: str) -> None:
        """Make an event of the state, unless it was the last one told."""
        if self.state is not self._told:
            self._told = self.state
            self._events.append(f'{self.state.value}: {sentence}')

    def _remark(self, kind: str, sentence: str) -> None:
        """Make an event of something odd, once a connection and kind."""
        if kind not in self._remarked:
            self._remarked.add(kind)
            self._events.append(f'{self.state.value}: {sentence}')
