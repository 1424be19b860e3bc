# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Mode `core`: all blocks in one runner of this process, without ROS."""
from __future__ import annotations

import contextlib
import sys
import threading
import typing

from px4_sim_ros.flight.core_vehicle import CoreVehicle, VehicleSetup
from px4_sim_ros.flight.record import WorldStatus
from px4_sim_ros.model.timebase import US_PER_S, next_due_us, timed
from px4_sim_ros.process import signals
from px4_sim_ros.spec.run_parameters import ManagerParameters, RecorderParameters
from px4_sim_ros.step.clock import LockstepClock
from px4_sim_ros.step.graph import TOPICS_OF_PX4
from px4_sim_ros.step.hang_watch import HangWatch
from px4_sim_ros.step.pacing import PaceWatch
from px4_sim_ros.step.presence import PresenceSchedule
from px4_sim_ros.step.runner import OnPlaces, run_groups

if typing.TYPE_CHECKING:       # a run without them does without the messages, and all actions
    from px4_sim_ros.flight.core_recorder import CoreRecorder
    from px4_sim_ros.step.scenario_block import ScenarioBlock

_HELD_STEP_WAIT_S = 0.05

# Is given the time of a step that is complete, and the last value of each topic.
Observer = typing.Callable[[int, typing.Mapping[str, typing.Any]], None]


class CoreWorld:
    """Runs the world, with one vehicle or several, until it is stopped."""

    def __init__(
        self, vehicles: typing.Sequence[VehicleSetup], observer: Observer | None = None,
        recorder: CoreRecorder | None = None, *, observes_each_step: bool = True,
        on_places: OnPlaces | None = None,
    ) -> None:
        """Listen for the autopilots.

        :param observes_each_step: False: it is called after steps that were taken at once
        :param on_places: is called with where the vehicles were in each step
        """
        configuration = vehicles[0].configuration
        self._configuration = configuration
        self._observer = observer
        self._recorder = recorder
        manager = configuration.of_node('manager', ManagerParameters)
        self._clock = LockstepClock(configuration.world.step_us, manager.speed_factor)
        with contextlib.ExitStack() as stack:
            if recorder is not None:
                stack.callback(recorder.close)
            self._vehicles: dict[str, CoreVehicle] = {}
            ros = None
            if any(TOPICS_OF_PX4 in setup.configuration.nodes for setup in vehicles):
                from px4_sim_ros.ros.tools.core_ros import CoreRos
                ros = CoreRos()
                stack.callback(ros.close)
            for setup in vehicles:
                self._vehicles[setup.name] = CoreVehicle(
                    setup, recorder, stack, is_alone=len(vehicles) == 1, ros=ros)
            self._first = self._vehicles[vehicles[0].name]
            for vehicle in self._vehicles.values():       # a thread keeps to one core only
                vehicle.bridge.shared_core = self._first.bridge.shared_core
            self._runner = run_groups(
                [vehicle.group for vehicle in self._vehicles.values()], self._clock, recorder,
                PresenceSchedule({setup.name: setup.presence for setup in vehicles}))
            self._runner.takes_steps_at_once = observer is None or not observes_each_step
            self._runner.on_places, self._runner.rows = on_places, recorder
            self._runner.on_change = lambda change: self._vehicles[change.vehicle].change(change)
            if recorder is not None:
                stack.callback(self._record_status, recorder)
            stack.callback(self._runner.flush)
            self._begun = stack.pop_all()

    def scenario(self, vehicle: str = '') -> ScenarioBlock:
        """Return the scenario of a vehicle that has one."""
        return self._vehicles[vehicle].scenario

    def status(self, name: str | None = None) -> WorldStatus:
        """Return the counters of the run, with those of a vehicle: the first one if not said."""
        vehicle = self._first if name is None else self._vehicles[name]
        clock = self._clock
        busy_s = {name: slot.busy_s
                  for name, slot in self._runner.lanes[vehicle.name].slots.items()}
        bridge_s = busy_s.pop('hil_bridge') + busy_s.pop('pilot', 0.0)
        return WorldStatus(
            clock.complete_us / US_PER_S, clock.wall_s, clock.steps,
            vehicle.bridge.counters(),
            {'models': sum(busy_s.values()), 'hil_bridge': bridge_s}, clock.paced_s,
            vehicle.fingerprint, vehicle.gap())

    def _record_status(self, recorder: CoreRecorder) -> None:
        for vehicle in self._vehicles.values():
            recorder.add_status(
                self.status(vehicle.name), vehicle.reports(), vehicle.name)

    @property
    def was_stopped(self) -> bool:
        """False: a run of this mode takes no such request."""
        return False

    def wait_until_seen(self) -> None:
        """Nothing: this world is seen from the first step on."""

    def close(self) -> None:
        """Free the port, and finish the recording; a second time nothing happens."""
        self._begun.close()

    @property
    def recording(self) -> str:
        """The folder of the recording, '' for none."""
        if self._recorder is None:
            return ''
        return self._configuration.of_node('recorder', RecorderParameters).folder

    @property
    def recording_problem(self) -> str:
        """Why the recording has ended too early, '' when it has not."""
        return self._recorder.problem if self._recorder is not None else ''

    def check_end(self) -> None:
        """Nothing: a failure at the end was raised by `close`."""

    def run(self, stop: threading.Event) -> bool:
        """Step until `stop` is set; return False: this run is never reset."""
        self._clock.resume()
        # Not in the midst of a step: it would be recorded without its end.
        with signals.held_back() as signal:
            def on_hang(block: str, hangs: bool, sentence: str) -> None:
                signal.note_hang(sentence if hangs else '')
                print(sentence, file=sys.stderr, flush=True)

            try:
                with contextlib.closing(HangWatch(self._runner, on_hang)):
                    self._run(stop, signal)
            finally:
                for vehicle in self._vehicles.values():
                    vehicle.bridge.abort()
        return False

    def _run(self, stop: threading.Event, signal: signals.Stop) -> None:
        runner, clock = self._runner, self._clock
        pace_watch = PaceWatch(clock.step_us)
        steps, status_us = clock.steps, US_PER_S
        while not (stop.is_set() or signal.asked):
            while clock.steps == steps and runner.run():
                pass
            if clock.steps == steps:
                if not stop.is_set():
                    self._wait()
                continue
            if stop.is_set() or signal.asked:      # of steps that were taken at once
                runner.complete_step()
            steps = clock.steps
            if self._observer is not None:
                self._observer(clock.complete_us, runner.values)
            if self._recorder is not None and clock.complete_us >= status_us:
                self._record_status(self._recorder)
                status_us = next_due_us(clock.complete_us, US_PER_S)
            if clock.speed_factor and (sentence := pace_watch.remark(
                    clock.speed_factor, steps, clock.lost_s, True)):
                print(timed(sentence, clock.complete_us), file=sys.stderr, flush=True)

    def _wait(self) -> None:
        """Wait for the autopilots that hold the step."""
        for vehicle in self._vehicles.values():
            vehicle.wait(_HELD_STEP_WAIT_S / len(self._vehicles))

    def values(self, name: str) -> typing.Mapping[str, typing.Any] | None:
        """Return the last value of each topic of a vehicle, None if it is not there."""
        if not self._runner.presences.has(name, self._clock.complete_us):
            return None
        return self._runner.lanes[name].values

    def note(self, time_us: int, text: str) -> None:
        """Record an encounter of the step that is complete."""
        if self._recorder is not None:
            self._recorder.add_event(time_us, text, 'encounters', self._first.name)
