# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The modes as the benchmark sees them: worlds that keep a log of their time."""
from __future__ import annotations

import pathlib
import threading
import time
import typing

from px4_sim_ros.bench.worklog import WorkLog
from px4_sim_ros.flight.core_world import CoreWorld
from px4_sim_ros.spec.configuration import Configuration, write_configuration
from px4_sim_ros.step.members import Member

if typing.TYPE_CHECKING:
    from px4_sim_ros.recording.bag.run_description import RunDescription

# In mode core: how often the counters are read, in simulated time.
_READ_US = 200_000


def with_recording(
    configuration: Configuration, mode: str, autopilot: str, folder: pathlib.Path,
) -> tuple[Configuration, RunDescription]:
    """Return the configuration of a run that is recorded, and the description of the run."""
    from px4_sim_ros.recording.bag.run_description import RunDescription, with_run_file
    run = RunDescription.of(configuration, mode=mode, autopilot=autopilot)
    return with_run_file(configuration, run, folder), run


class CoreLog:
    """Mode `core`, in this process."""

    def __init__(self, configuration: Configuration, run: RunDescription | None) -> None:
        """Listen for the autopilot.

        :param run: the description for a recording, None for none
        """
        self.log = WorkLog()
        self.height_m = 0.0
        recorder = None
        if run is not None:
            from px4_sim_ros.flight.core_recorder import CoreRecorder
            recorder = CoreRecorder(configuration, run)
        self._world = CoreWorld(configuration, self._observe, recorder)
        self._next_us = 0

    def _observe(self, time_us: int, values: typing.Mapping[str, typing.Any]) -> None:
        if time_us < self._next_us:
            return
        self._next_us = time_us + _READ_US
        self.height_m = values['ground_truth/odom'].position_enu[2]
        status = self._world.status()
        self.log.add_wall(time_us, time.perf_counter() - status.paced_s)
        for part, busy_s in status.busy_s.items():
            self.log.add_busy(part, time_us, busy_s)
        self.log.add_busy('autopilot', time_us, float(status.link['waited_s']))

    @property
    def misses(self) -> int:
        """Steps without an answer."""
        return self._world.status().link_count('misses')

    def wait_until_seen(self) -> None:
        """Nothing."""

    def run(self, stop: threading.Event) -> None:
        """Step until `stop` is set."""
        self._world.run(stop)

    def close(self) -> None:
        """End it."""
        self._world.close()

    def check_end(self) -> None:
        """Nothing: a failure has ended the run."""


class GraphLog:
    """Modes `composed` and `separate`; what the nodes report on `/diagnostics` is the log."""

    def __init__(
        self, configuration: Configuration, mode: str, folder: pathlib.Path,
    ) -> None:
        """Start the processes.

        :param folder: for the parameter file
        """
        from px4_sim_ros.flight.ros_world import RosWorld
        from px4_sim_ros.ros.tools.flight_monitor import Listener

        self.log = WorkLog()
        self.height_m = 0.0
        self._world = RosWorld(
            mode, [Member('', configuration.graph, configuration.world)],
            write_configuration(folder, configuration), {'': Listener(self._on_position)},
            on_report=self._on_report)

    def _on_position(self, time_us: int, position_enu: tuple[float, float, float]) -> None:
        self.height_m = position_enu[2]

    def _on_report(self, part: str, time_us: int, values: dict[str, str]) -> None:
        self.log.add_busy(part, time_us, float(values['busy_s']))
        if part == 'manager':
            self.log.add_wall(time_us, float(values['wall_time_s']) - float(values['paced_s']))
        elif 'waited_s' in values:
            self.log.add_busy('autopilot', time_us, float(values['waited_s']))

    @property
    def misses(self) -> int:
        """Steps without an answer."""
        return self._world.status().link_count('misses')

    def wait_until_seen(self) -> None:
        """Wait until all that is watched is there."""
        self._world.wait_until_seen()

    def run(self, stop: threading.Event) -> None:
        """Watch until `stop` is set."""
        self._world.run(stop)

    def close(self) -> None:
        """End it."""
        self._world.close()

    def check_end(self) -> None:
        """Check how it has ended.

        :raises RuntimeError: a part of it has failed
        """
        self._world.check_end()
