"""A clock that goes no further than a recorder allows."""
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

from px4_sim_ros.ros.recorder_watch import WINDOW_STEPS, RecorderWatch
from px4_sim_ros.step.clock import LockstepClock

STEP_US = 4000
WINDOW_US = WINDOW_STEPS * STEP_US


class Node:
    """What a watch needs of a node: the listener that it leaves there."""

    def create_subscription(self, kind, topic, listener, profile):
        self.listener = listener


class World:
    """A clock that is driven and limited by a watch, as the manager does it."""

    def __init__(self):
        self.published_us, self.failures, node = [], [], Node()
        self.clock = LockstepClock(STEP_US, 0.0)
        self.watch = RecorderWatch(node, STEP_US, self.let_go_on, self.failures.append)
        self._listener = node.listener
        self.watch.reset()
        self.let_go_on()

    def let_go_on(self):
        self.clock.limit(self.watch.limit_us)
        self.go_on()

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

    def say(self, recorded_us, folder='bag', problem='', on_failure='continue'):
        """Let the recorder say how far it is, or why it has ended."""
        values = {'recorded_us': recorded_us, 'flushed_us': recorded_us // 2, 'folder': folder,
                  'on_failure': on_failure}
        self._listener(DiagnosticStatus(
            level=DiagnosticStatus.ERROR if problem else DiagnosticStatus.OK, message=problem,
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()]))

    def complete(self, count=10 * WINDOW_STEPS):
        """Complete so many steps, as far as time goes."""
        for _ in range(count):
            if self.clock.complete(self.clock.time_us):
                self.go_on()

    def begin_again(self):
        self.clock.reset()
        self.watch.reset()
        self.let_go_on()
        self.resume()
