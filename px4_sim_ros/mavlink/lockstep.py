"""The exchange with the autopilot that ends each step, and the states of the link.

WAITING    nobody is connected; the step is held.
FREEWHEEL  connected, no reply yet: PX4 boots in simulated time, so steps go on, each after
           a short pause.
LOCKED     each step waits for its reply, with a bound.
STALLED    connected but silent: steps go on with the last command, at most at real-time
           pace, until the next reply (or are held, or the run fails, as configured).

An autopilot that answers only now and then (a rover, a failed sensor) would stop the world
for the whole bound at each gap. So after a stall the bound is one step, until enough steps
in a row have been answered.
"""
from __future__ import annotations

import dataclasses
import enum
import time

from px4_sim_ros.core.parameters import Parameters, parameter
from px4_sim_ros.core.timebase import US_PER_S, seconds_text
from px4_sim_ros.mavlink.hil_codec import DISARMED, ActuatorControls, HilDecoder
from px4_sim_ros.mavlink.hil_server import Deadline, HilServer

# Answers in a row after a stall until the link is trusted with the whole bound again.
_TRUSTED_REPLIES = 50


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
    on_stall: str = parameter(
        'what to do when the autopilot is silent', choices=('continue', 'pause', 'fail'))
    satellites: int = parameter('satellites that the GNSS receiver sees', minimum=0, maximum=254)


class LinkState(enum.Enum):
    """States of the link; see the module's text."""

    WAITING = 'WAITING'
    FREEWHEEL = 'FREEWHEEL'
    LOCKED = 'LOCKED'
    STALLED = 'STALLED'


class StallError(RuntimeError):
    """The autopilot is silent and `on_stall` is `fail`."""


class Lockstep:
    """Sends what is due at a time and returns the command that answers it."""

    def __init__(self, server: HilServer, parameters: HilParameters, step_us: int) -> None:
        self._server = server
        self._parameters = parameters
        self._step_s = step_us / US_PER_S
        self._decoder = HilDecoder()
        self._command = DISARMED
        self._sent_us = -1                 # time of the last frames sent to this client
        self._untrusted = 0                # replies that are still to come after a stall
        self._unanswered_us: int | None = None   # first step without a reply since the last one
        self._replied_s = 0.0                    # wall time of the last reply
        self._held_us = -1                       # step that is held because of a stall
        self._told: LinkState | None = None      # what the last event was about
        self.state = LinkState.WAITING
        self.steps = 0
        self.replies = 0
        self.misses = 0
        self.stale_replies = 0
        self.waited_s = 0.0                # wall time from sending to the parsed reply
        self._state_since_s = time.monotonic()
        self._state_s = dict.fromkeys(LinkState, 0.0)
        self._events: list[str] = []

    def exchange(self, time_us: int, frames: bytes) -> ActuatorControls | None:
        """Send `frames` and return the command that ends the step at `time_us`.

        Returns None while the step has to be held (nobody connected, or stalled and told to
        pause): call again with the same arguments, after `wait` or later.

        :raises StallError: the autopilot is silent and `on_stall` is `fail`
        """
        if not self._connect():
            return None
        # On few cores the kernel may run the autopilot before `send` returns.
        started_s = time.perf_counter()
        if self._sent_us != time_us:
            self._server.send(frames)
            self._sent_us = time_us
        reply = self._wait_for_reply(time_us)
        self.waited_s += time.perf_counter() - started_s
        if not self._server.connected:
            self._enter(LinkState.WAITING)
            self._tell('the autopilot has gone; waiting for the next one')
            return None
        if reply is not None:
            self._command = reply
        elif self._is_held(time_us):
            return None
        self.steps += 1
        return self._command

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
            'limited_controls': str(self._decoder.limited_controls),
            'waited_s': f'{self.waited_s:.6f}',
            'dropped_sends': str(self._server.dropped_sends),
        } | {f'seconds_{k}': f'{v:.3f}' for k, v in self.state_seconds().items()}

    def _connect(self) -> bool:
        if self.state is not LinkState.WAITING:
            return True
        if not self._server.accept():
            return False
        # Half a message of the last autopilot must not spoil the first of this one.
        counted = self._decoder
        self._decoder = HilDecoder()
        self._decoder.bad_messages = counted.bad_messages
        self._decoder.limited_controls = counted.limited_controls
        self._command = DISARMED
        self._sent_us = -1
        self._untrusted, self._unanswered_us, self._held_us = 0, None, -1
        self._enter(LinkState.FREEWHEEL)
        self._tell('an autopilot has connected')
        return True

    def _wait_for_reply(self, time_us: int) -> ActuatorControls | None:
        """Return the reply to `time_us`, or None when it does not come in time."""
        was_locked = self.state is LinkState.LOCKED
        deadline = Deadline({
            LinkState.FREEWHEEL: self._parameters.freewheel_pause_s,
            LinkState.LOCKED: self._step_s if self._untrusted else self._parameters.reply_timeout_s,
            LinkState.STALLED: self._step_s,
        }[self.state])
        while True:
            data = self._server.receive(deadline.remaining_s)
            reply = None
            for controls in self._decoder.controls(data):
                self.replies += 1
                if controls.time_us == time_us:
                    reply = controls
                    self._untrusted = max(0, self._untrusted - 1)
                else:
                    self.stale_replies += 1
                self._unanswered_us, self._replied_s = None, time.monotonic()
                self._enter(LinkState.LOCKED)
                self._tell(f'locked at t = {seconds_text(time_us)}')
            if reply is not None or not self._server.connected:
                return reply
            if deadline.remaining_s == 0.0:
                break
        if self._unanswered_us is None and self.state is not LinkState.FREEWHEEL:
            self._unanswered_us = time_us
        if was_locked:
            self._miss()
        self._tell_silence()
        return None

    def _is_held(self, time_us: int) -> bool:
        """Return whether `on_stall` holds a step; only its own reply frees it."""
        if self._parameters.on_stall != 'pause':
            return False
        if self.state is LinkState.STALLED:
            self._held_us = time_us
        return self._held_us == time_us

    def _miss(self) -> None:
        self.misses += 1
        self._untrusted = _TRUSTED_REPLIES
        self._enter(LinkState.STALLED)
        if self._parameters.on_stall == 'fail':
            raise StallError(self._silence())

    def _silence(self) -> str:
        return (f'the autopilot has not replied to t = {seconds_text(self._unanswered_us)} within'
                f' {self._parameters.reply_timeout_s:g} s')

    def _tell_silence(self) -> None:
        """Say that the link is stalled, but not at each short gap of an unsteady autopilot."""
        silent_s = time.monotonic() - self._replied_s
        if self.state is LinkState.STALLED and silent_s >= self._parameters.reply_timeout_s:
            self._tell(self._silence())

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
