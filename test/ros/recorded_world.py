# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A clock that goes no further than a recorder allows."""
from clock_owner import STEP_US, ClockOwner
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

from px4_sim_ros.ros.manager.recorder_watch import WINDOW_STEPS, RecorderWatch

WINDOW_US = WINDOW_STEPS * STEP_US


class Node:
    """What a watch needs of a node: the listener that it leaves there."""

    def create_subscription(self, kind, topic, listener, profile):
        self.listener = listener


class World(ClockOwner):
    """A clock that is driven and limited by a watch, as the manager does it."""

    def __init__(self):
        super().__init__()
        self.failures, node = [], Node()
        self.watch = RecorderWatch(node, STEP_US, self.let_go_on, self.failures.append)
        self._listener = node.listener
        self.watch.reset()
        self.let_go_on()

    def let_go_on(self):
        self.clock.limit(self.watch.limit_us)
        self.go_on()

    def say(self, recorded_us, folder='bag', problem='', on_failure='continue'):
        """Let the recorder say how far it is, or why it has ended."""
        values = {'recorded_us': recorded_us, 'flushed_us': recorded_us // 2, 'folder': folder,
                  'window_us': WINDOW_US, 'on_failure': on_failure}
        self._listener(DiagnosticStatus(
            level=DiagnosticStatus.ERROR if problem else DiagnosticStatus.OK, message=problem,
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()]))

    def complete(self, count=10 * WINDOW_STEPS):
        """Complete so many steps, as far as time goes."""
        super().complete(count)

    def begin_again(self):
        self.clock.reset()
        self.watch.reset()
        self.let_go_on()
        self.resume()
