# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The link to the autopilot: its parameters, its states, and what is reported of it.

WAITING    no autopilot is connected: the step is held, or runs disarmed, as configured; one
           may be held for the first autopilot only.
FREEWHEEL  connected, no step answered yet: PX4 boots in simulated time, so steps continue, each
           after a short pause.
LOCKED     each step waits for its reply, with a bound.
STALLED    connected but silent: steps continue with the last command, at most at real-time
           pace, until the next reply (or are held, or the run fails, as configured).
TERMINATED silent, and a PX4 that says that it has terminated the flight, or was killed: steps go
           on with the outputs of a flight controller, the disarmed ones, each after a short
           pause.
"""
from __future__ import annotations

import dataclasses
import datetime
import enum
import time
import typing

from px4_sim_ros.link.hil.line import AUTOPILOTS_ON_LINES, is_line
from px4_sim_ros.model.errors import ParameterError, shown
from px4_sim_ros.model.parameters import Parameters, parameter
from px4_sim_ros.model.timebase import seconds_text

MAX_HEIGHT = 'max_height_m'
"""The key of the greatest true height over the place of the start, among what the bridge reports:
it gets the truth of each step in each mode, whatever block has made it."""
MOVED = 'east_m', 'north_m', 'up_m'
"""The keys of where the vehicle truly is, from the place of the start."""
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_A_MICROSECOND = datetime.timedelta(microseconds=1)


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
        'what to do while no autopilot is connected; hold_first: hold for the first one, and run on'
        ' when it has gone; begin_again: hold for each, and when it has gone let the vehicle begin'
        ' where it stood at first', choices=('hold', 'run', 'hold_first', 'begin_again'))
    on_stall: str = parameter(
        'what to do when the autopilot is silent', choices=('continue', 'pause', 'fail'))
    shares_core: bool = parameter(
        'run the step on the core of an autopilot that goes before all else there, so that its'
        ' flights repeat bit for bit')
    satellites: int = parameter('satellites that the GNSS receiver uses, without gnss_sky',
                                minimum=0, maximum=254)
    start_utc: str = parameter(
        "UTC of the GNSS receiver at time 0, as 2026-06-01T12:00:00Z, which dates PX4's logs;"
        ' empty: the receiver does not know it', default='')
    line: str = parameter(
        'to a flight controller in HITL: udp:HOST:PORT or serial:DEVICE:BAUD; empty: an autopilot'
        ' connects', default='')
    set_board: bool = parameter(
        'sets parameters of that flight controller that do not fit HITL with the vehicle',
        default=False)

    @classmethod
    def from_mapping(cls, owner: str, values: typing.Mapping[str, typing.Any]) -> typing.Self:
        """Build and validate.

        :raises ParameterError: one is wrong, or the time is none
        """
        built = super().from_mapping(owner, values)
        if built.line and not is_line(built.line):
            raise ParameterError(f'{owner}.line = {shown(built.line)}: must be'
                                 f" {' or '.join(AUTOPILOTS_ON_LINES)}, or empty")
        if built.set_board and not built.line:
            raise ParameterError(f'{owner}.set_board = True: must be False, unless a flight'
                                 ' controller is at the end of a line')
        try:
            if (built.start_utc_us or 1) <= 0:
                raise ValueError
        except ValueError as error:
            raise ParameterError(
                f'{owner}.start_utc = {shown(built.start_utc)}: must be a time of UTC after 1970,'
                ' as 2026-06-01T12:00:00Z, or empty') from error
        return built

    @property
    def start_utc_us(self) -> int | None:
        """UTC of time 0 in us since 1970; None if it is not known."""
        if not self.start_utc:
            return None
        given = datetime.datetime.fromisoformat(self.start_utc)
        return (given.replace(tzinfo=given.tzinfo or datetime.UTC) - _EPOCH) // _A_MICROSECOND


class LinkState(enum.Enum):
    """States of the link; see the module's text."""

    WAITING = 'WAITING'
    FREEWHEEL = 'FREEWHEEL'
    LOCKED = 'LOCKED'
    STALLED = 'STALLED'
    TERMINATED = 'TERMINATED'


WORTH_A_WARNING = frozenset((LinkState.WAITING, LinkState.STALLED, LinkState.TERMINATED))


TROUBLES = ('misses', 'unanswered', 'late_replies', 'stale_replies', 'bad_messages',
            'unknown_messages', 'foreign_messages', 'mavlink1_messages', 'limited_controls',
            'dropped_sends', 'refused_clients')
"""What the link counts that should not happen: each has a sentence and a number in the summary."""

Count = typing.Callable[[str, str], None]
"""Counts one of `TROUBLES`, and reports a sentence about the first of a connection."""


class LinkEvent(typing.NamedTuple):
    """Something that the link reports."""

    is_warning: bool
    sentence: str


class LinkReport:
    """The state of the link, the wall time spent in each state, its counters and events."""

    def __init__(self) -> None:
        self.events: list[LinkEvent] = []    # not yet taken
        self.reset()
        self.begin_connection()

    def reset(self) -> None:
        """Be WAITING, with no time spent in any state; events not yet taken are kept."""
        self.state = LinkState.WAITING
        self._reported: LinkState | None = None      # by the last `add_event`
        self._since_s = time.monotonic()
        self._spent_s = dict.fromkeys(LinkState, 0.0)
        self._counts = dict.fromkeys(TROUBLES, 0)
        self._is_troubled = False            # an event of trouble was reported, and not its end
        self.time_us = 0                     # of the step that was begun last
        self.replied_s = 0.0                 # wall time of the last reply

    def begin_connection(self) -> None:
        """Report each kind of oddity again, as of a new connection."""
        self._remarked: set[str] = set()

    def enter(self, state: LinkState) -> None:
        if state is self.state:
            return
        now = time.monotonic()
        self._spent_s[self.state] += now - self._since_s
        self._since_s = now
        self.state = state

    @property
    def counts(self) -> typing.Mapping[str, int]:
        """How many there were of each of `TROUBLES`."""
        return self._counts

    def count(self, trouble: str, sentence: str) -> None:
        """Count a trouble, and report the first of a connection."""
        self._counts[trouble] += 1
        self.add_remark(trouble, sentence)

    def stall(self, sentence: str) -> None:
        """Count a miss, and be STALLED; report the first of a connection."""
        self._counts['misses'] += 1
        self.enter(LinkState.STALLED)
        if 'misses' not in self._remarked:
            self._remarked |= {'misses', 'unanswered'}      # the sentence says both
            self.add_event(sentence)

    def add_event(self, sentence: str) -> None:
        """Report the state, unless it was the last one reported; a warning, if it is trouble.

        So are the states that end the trouble, up to LOCKED.
        """
        if self.state is self._reported:
            return
        self._reported = self.state
        self._is_troubled |= self.state in WORTH_A_WARNING
        self._add(self._is_troubled, sentence)
        self._is_troubled &= self.state is not LinkState.LOCKED

    def add_remark(self, kind: str, sentence: str) -> None:
        """Report something odd, once a connection and kind."""
        if kind not in self._remarked:
            self._remarked.add(kind)
            self._add(True, sentence)

    def add_silence(self, sentence: str) -> None:
        """Report once a connection that an autopilot does not answer; its answer ends that."""
        if 'silence' not in self._remarked:
            self._is_troubled = True
            self.add_remark('silence', sentence)

    def _add(self, is_warning: bool, sentence: str) -> None:
        self.events.append(LinkEvent(
            is_warning, f'{self.state.value} at t = {seconds_text(self.time_us)}: {sentence}'))

    def take_events(self) -> list[LinkEvent]:
        """Return the events of the link since the last call."""
        events, self.events = self.events, []
        return events

    def state_seconds(self) -> dict[str, float]:
        """Return the wall time spent in each state so far; LOCKED lasts to the last reply."""
        now = time.monotonic()
        if self.state is LinkState.LOCKED:
            now = max(self._since_s, self.replied_s)
        return {
            state.value: spent + (now - self._since_s if state is self.state else 0.0)
            for state, spent in self._spent_s.items()
        }
