# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Drives a clock, as the manager does."""
from px4_sim_ros.step.clock import LockstepClock

STEP_US = 4000


class ClockOwner:
    """Begins a step whenever something may allow one."""

    def __init__(self, speed_factor=0.0):
        self.clock = LockstepClock(STEP_US, speed_factor)
        self.published_us = []

    def go_on(self):
        time_us = self.clock.begin()
        if time_us is not None:
            self.published_us.append(time_us)

    def resume(self):
        self.clock.resume()
        self.go_on()

    def step(self, count):
        self.clock.step(count)
        self.go_on()

    def complete(self, count):
        """Complete so many steps, as long as one is under way."""
        for _ in range(count):
            if self.clock.complete(self.clock.time_us):
                self.go_on()
