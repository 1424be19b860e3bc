"""A flight in any mode: a world, an autopilot and a pilot, started and ended in order."""
from __future__ import annotations

import contextlib
import os
import pathlib
import sys
import threading
import typing

from px4_sim_ros.config import node_overrides
from px4_sim_ros.config.configuration import Configuration, write_configuration
from px4_sim_ros.config.recording import RecorderParameters
from px4_sim_ros.config.ros_environment import ros_environment
from px4_sim_ros.mavlink.link_state import HilParameters
from px4_sim_ros.mavlink.mission import Mission
from px4_sim_ros.mavlink.pilot import Event, MissionError
from px4_sim_ros.mavlink.pilot_link import SetPoint
from px4_sim_ros.run.autopilots import start_autopilot
from px4_sim_ros.run.flight_record import FlightRecord, WorldStatus
from px4_sim_ros.run.pilot_process import PilotProcess
from px4_sim_ros.run.processes import Child
from px4_sim_ros.run.px4 import Px4

MODES = ('core', 'composed', 'separate')
AUTOPILOTS = ('embedded', 'px4')
_WATCH_S = 0.2


class FlightPlan(typing.NamedTuple):
    """What is flown, and how."""

    mode: str                                # of MODES
    autopilot: str                           # of AUTOPILOTS
    px4: Px4 | None                          # None: the embedded autopilot
    mission: Mission
    mission_text: str                        # of its file, for the description of a recording
    node_overrides: typing.Sequence[str]     # each `NAME=MODULE:CLASS`
    remaps: typing.Sequence[str]             # remapping rules of ROS
    viewer: str | None                       # as RerunTarget takes it


class World(typing.Protocol):
    """The simulated scene in one of the modes."""

    @property
    def recording(self) -> str:
        """The folder of the recording, '' for none."""

    def wait_until_seen(self) -> None:
        """Wait until nothing of a flight is missed."""

    def run(self, stop: threading.Event) -> None:
        """Step until `stop` is set, or until the run begins again."""

    def publish_event(self, text: str) -> None:
        """Publish what the pilot does, from any thread."""

    def publish_set_point(self, set_point: SetPoint) -> None:
        """Publish where the autopilot wants to be, from any thread."""

    def close(self) -> None:
        """End it; a second time nothing happens."""

    def check_end(self) -> None:
        """Check how it has ended."""

    def status(self) -> WorldStatus:
        """Return its counters."""


class PilotedAutopilot:
    """An autopilot and its pilot, from their start until the mission is flown or lost."""

    def __init__(
        self, plan: FlightPlan, configuration: Configuration, world: World,
        on_event: typing.Callable[[Event], None],
    ) -> None:
        self.over = threading.Event()
        instance = configuration.of_node('hil_bridge', HilParameters).instance
        with contextlib.ExitStack() as stack:
            self._autopilot = start_autopilot(
                plan.px4, configuration.world.vehicle, instance, log_in_folder=True)
            stack.callback(self._autopilot.stop)
            self._pilot = PilotProcess(
                instance, plan.mission, on_event, world.publish_set_point, self.over)
            stack.callback(self._pilot.stop)
            watch = threading.Thread(target=self._watch, name='watch')
            watch.start()
            stack.callback(watch.join)
            stack.callback(self.over.set)
            self._started = stack.pop_all()

    def end(self) -> None:
        """End the pilot, then the autopilot; a second time nothing happens."""
        self._started.close()

    def _watch(self) -> None:
        """End the flight when the autopilot ends: nothing would fly it any more."""
        while not self.over.wait(_WATCH_S):
            if self._autopilot.exit_code is not None:
                self.over.set()

    def check(self) -> None:
        """Check that the mission was flown.

        :raises MissionError: it was not, and why
        """
        if self._pilot.failure:
            raise MissionError(self._pilot.failure)
        if not self._pilot.flown:
            raise MissionError(
                f'{self._autopilot.name} has ended with exit code {self._autopilot.exit_code}')


def conduct(
    plan: FlightPlan, configuration: Configuration, record: FlightRecord, folder: pathlib.Path,
    *, on_event: typing.Callable[[Event], None], on_restart: typing.Callable[[], None],
) -> tuple[WorldStatus, str]:
    """Fly; return the counters and the folder of the recording, '' for none.

    Everything that is started here is ended here, whatever happens.

    :param record: collects what the summary needs
    :param folder: for files that are needed on the way
    :param on_event: called with each event of the pilot, from a thread
    :param on_restart: called when the run was reset, and the flight begins again
    :raises RuntimeError: the mission was not flown, or a part of the world has failed
    :raises OSError: a port is taken, or nothing can be recorded
    """
    with contextlib.ExitStack() as stack:
        world = _make_world(plan, configuration, folder, record, stack)
        stack.callback(world.close)

        def report(event: Event) -> None:
            record.add_event(event)
            on_event(event)
            world.publish_event(event.text)

        world.wait_until_seen()
        while True:
            piloted = PilotedAutopilot(plan, configuration, world, report)
            stack.callback(piloted.end)
            world.run(piloted.over)
            if piloted.over.is_set():
                break
            piloted.end()
            record.reset()
            on_restart()
        # Before the autopilot is stopped, so that the world's counters end with the flight.
        world.close()
    # When a part of the world fails the autopilot ends, too: the first cause comes first.
    world.check_end()
    piloted.check()
    record.mission_flown = True
    return world.status(), world.recording


def _make_world(
    plan: FlightPlan, configuration: Configuration, folder: pathlib.Path, record: FlightRecord,
    stack: contextlib.ExitStack,
) -> World:
    """Return the world of a mode; it is recorded if the configuration has a recorder.

    :param stack: ends a viewer, if there is one, after the world
    """
    # Each mode loads what it needs: rclpy to record and to run a graph, Numba for `core`.
    own_classes = node_overrides.parse(plan.node_overrides, configuration.graph.nodes)
    run = None
    if 'recorder' in configuration.nodes:
        from px4_sim_ros.recording.bag.run_description import RunDescription, with_run_file
        run = RunDescription.of(
            configuration, mode=plan.mode, autopilot=plan.autopilot, mission=plan.mission_text,
            own_classes=own_classes)
        configuration = with_run_file(configuration, run, folder)
    if plan.mode == 'core':
        from px4_sim_ros.run.core_world import CoreWorld
        core_recorder = None
        if run is not None:
            from px4_sim_ros.run.core_recorder import CoreRecorder
            core_recorder = CoreRecorder(configuration, run)
        return CoreWorld(
            configuration, lambda time_us, values: record.add_truth(
                values['ground_truth/odom'].position_enu),
            core_recorder, own_classes)
    from px4_sim_ros.run.ros_world import RosWorld
    file = write_configuration(folder, configuration)
    viewer = None
    if plan.viewer is not None:
        viewer = _start_viewer(plan.viewer, file)
        stack.callback(viewer.stop)
    return RosWorld(
        plan.mode, configuration.graph, [file], record.add_truth,
        optional=optional_nodes(configuration), overrides=plan.node_overrides, remaps=plan.remaps,
        viewer=viewer)


def optional_nodes(configuration: Configuration) -> tuple[str, ...]:
    """Return the nodes in processes of their own without which a run goes on."""
    if 'recorder' not in configuration.nodes:
        return ()
    recorder = configuration.of_node('recorder', RecorderParameters)
    return ('recorder',) if recorder.on_failure == 'continue' else ()


def _start_viewer(viewer: str, params_file: pathlib.Path) -> Child:
    """Return a process that shows the graph with these parameters.

    :param viewer: as RerunTarget takes it
    """
    return Child('the viewer', [
        sys.executable, '-m', 'px4_sim_ros', 'view', '--viewer', viewer,
        '--params-file', params_file], environment=os.environ | ros_environment())
