"""Mode `core`: all blocks in one runner of this process, without ROS."""
from __future__ import annotations

import sys
import threading
import typing

from px4_sim_ros.config.blocks import make_block, run_in_process
from px4_sim_ros.config.compile_ahead import prepare_compiler
from px4_sim_ros.config.configuration import Configuration
from px4_sim_ros.config.recording import RecorderParameters
from px4_sim_ros.config.run_control import ManagerParameters
from px4_sim_ros.mavlink.hil_block import HilBlock
from px4_sim_ros.mavlink.pilot_link import SetPoint
from px4_sim_ros.model.timebase import US_PER_S, is_due
from px4_sim_ros.run.flight_record import WorldStatus
from px4_sim_ros.step.clock import LockstepClock
from px4_sim_ros.step.pacing import PaceWatch

if typing.TYPE_CHECKING:       # a run without a recording does without the messages
    from px4_sim_ros.run.core_recorder import CoreRecorder

_HELD_STEP_WAIT_S = 0.05

# Is given the time of a step that is complete, and the last value of each topic.
Observer = typing.Callable[[int, typing.Mapping[str, typing.Any]], None]


class CoreWorld:
    """Runs the world until it is stopped."""

    def __init__(
        self, configuration: Configuration, observer: Observer | None = None,
        recorder: CoreRecorder | None = None, own_classes: typing.Mapping[str, str] | None = None,
    ) -> None:
        """Listen for the autopilot.

        :param observer: called after each step
        :param recorder: records the run; it is closed with the world
        :param own_classes: `module:Class` by name of the blocks that they run in place of
        :raises PortTakenError: the port of the link is in use
        """
        prepare_compiler()
        self._configuration = configuration
        self._observer = observer
        self._recorder = recorder
        manager = configuration.of_node('manager', ManagerParameters)
        self._clock = LockstepClock(configuration.world.step_us, manager.speed_factor)
        self._blocks = {
            name: make_block(configuration, name, (own_classes or {}).get(name, ''))
            for name in configuration.graph.blocks}
        self._bridge = typing.cast(HilBlock, self._blocks['hil_bridge'])
        self._bridge.log = _print_warning
        if recorder is not None:
            self._bridge.publish_side = recorder.add_side
        self._runner = run_in_process(configuration, self._blocks, self._clock, recorder)

    def status(self) -> WorldStatus:
        """Return the counters of the run."""
        clock, busy_s = self._clock, self._runner.busy_s()
        bridge_s = busy_s.pop('hil_bridge')
        return WorldStatus(
            clock.complete_us / US_PER_S, clock.wall_s, clock.steps,
            self._bridge.counters(),
            {'models': sum(busy_s.values()), 'hil_bridge': bridge_s}, clock.paced_s)

    def wait_until_seen(self) -> None:
        """Nothing: this world is seen from the first step on."""

    def close(self) -> None:
        """Free the port, and finish the recording."""
        self._runner.flush()
        for block in self._blocks.values():
            block.close()
        if self._recorder:
            self._recorder.close()

    @property
    def recording(self) -> str:
        """The folder of the recording, '' for none."""
        if self._recorder is None:
            return ''
        return self._configuration.of_node('recorder', RecorderParameters).folder

    def check_end(self) -> None:
        """Nothing: a failure at the end was raised by `close`."""

    def publish_event(self, text: str) -> None:
        """Record an event of the pilot."""
        if self._recorder:
            self._recorder.add_event(text)

    def publish_set_point(self, set_point: SetPoint) -> None:
        """Nothing: this mode has no topics."""

    def run(self, stop: threading.Event) -> None:
        """Step until `stop` is set."""
        runner, clock = self._runner, self._clock
        pace_watch = PaceWatch(clock.step_us)
        clock.resume()
        steps = clock.steps
        while not stop.is_set():
            while clock.steps == steps and runner.run():
                pass
            if clock.steps == steps:
                self._bridge.wait(_HELD_STEP_WAIT_S)
                continue
            steps = clock.steps
            if self._observer is not None:
                self._observer(clock.complete_us, runner.values)
            if self._recorder is not None and is_due(clock.complete_us, US_PER_S):
                self._recorder.add_status(self.status())
            if clock.speed_factor and (sentence := pace_watch.remark(
                    clock.speed_factor, steps, clock.lost_s, True)):
                print(sentence, file=sys.stderr, flush=True)


def _print_warning(is_warning: bool, sentence: str) -> None:
    if is_warning:
        print(sentence, file=sys.stderr, flush=True)
