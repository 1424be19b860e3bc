# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which of the controls that come in answer which step.

Only controls with the time of a step that was sent, lately, and is not answered yet are a
reply, and only the first ones. A late one says that the autopilot is in step; its command is not
used. Controls with any other time change nothing.
"""
from __future__ import annotations

import collections

from px4_sim_ros.link.hil.codec import ActuatorControls
from px4_sim_ros.link.hil.decoder import HilDecoder
from px4_sim_ros.link.hil.link_state import Count
from px4_sim_ros.model.timebase import seconds_text

# How many steps a reply may be late.
STEPS_REMEMBERED = 250
# Stands for no time of a step.
NONE_US = -1


class ReplyMatcher:
    """Finds the reply to a step in the bytes that the autopilot sends, and counts the rest."""

    def __init__(self, count: Count) -> None:
        self._count = count
        self.reset_counters()
        self.begin_connection()

    def reset_counters(self) -> None:
        """Count from 0."""
        self.decoder = HilDecoder(self._count)
        self.replies = 0                     # steps that were answered, in time or late

    def begin_connection(self) -> None:
        """Forget the steps and the autopilot of the last connection; the counters go on."""
        self.decoder.begin_connection()
        self._pending_us: collections.deque[int] = collections.deque(maxlen=STEPS_REMEMBERED)
        self.sent_us = NONE_US               # time of the last step sent
        self.answered_us = NONE_US           # newest step answered
        self.is_out_of_step = False          # controls came that were no reply
        # Of the first reply and of the last controls: the step, and the autopilot's own time.
        self._first_us = self._last_us = (NONE_US, NONE_US)

    @property
    def time_ratio(self) -> float | None:
        """Simulated time over the autopilot's own since its first reply, None if none passed."""
        sim_us, own_us = (last - first for first, last in zip(self._first_us, self._last_us))
        return sim_us / own_us if own_us else None

    def add_step(self, time_us: int) -> None:
        """Expect a reply to a step that has been sent."""
        self.sent_us = time_us
        self._pending_us.append(time_us)

    def reply_to(self, time_us: int, data: bytes) -> ActuatorControls | None:
        """Count the controls in `data` and return those that are the reply to `time_us`."""
        reply = None
        for controls in self.decoder.controls(data):
            if not self._is_reply(controls.time_us):
                self._count(
                    'stale_replies', f'controls for t = {seconds_text(controls.time_us)} answer no'
                    ' step that waits for an answer; such are counted as stale_replies')
            elif controls.time_us == time_us:
                reply = controls
                if self._first_us[0] == NONE_US:
                    self._first_us = time_us, controls.time_us
            elif self._first_us[0] != NONE_US:         # before that it boots
                self._count(
                    'late_replies', f'the answer to t = {seconds_text(controls.time_us)} came after'
                    ' its step was over; such are counted as late_replies')
            if time_us != NONE_US != self._first_us[0]:
                self._last_us = time_us, controls.time_us
        return reply

    def _is_reply(self, time_us: int) -> bool:
        """Return whether a step was pending; then it, and those before it, no longer are."""
        pending_us = self._pending_us
        if time_us in pending_us:
            while pending_us.popleft() != time_us:
                pass
            self.answered_us = time_us
            self.replies += 1
            return True
        self.is_out_of_step = True
        return False
