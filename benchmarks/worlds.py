# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Worlds of the modes that keep a log: wall time, busy time of parts, figures of a window of it."""
from __future__ import annotations

import pathlib
import threading
import time
import typing

from px4_sim_ros.flight.core_vehicle import VehicleSetup
from px4_sim_ros.flight.core_world import CoreWorld
from px4_sim_ros.flight.world import World
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.recording.bag.fleet_description import describe, vehicles_of, write_run_files
from px4_sim_ros.spec.flight_spec import FlightSpec

# In mode core: how often the counters are read, in simulated time.
_READ_US = 200_000


class CounterSample(typing.NamedTuple):
    """A counter of seconds, as it stood at a simulated time."""

    time_us: int
    spent_s: float


class Window(typing.NamedTuple):
    """What is measured: from a simulated time on, at least so long in both times."""

    from_us: int
    least_us: int
    least_wall_s: float
    most_us: int            # of simulated time, whatever the wall time


class WindowFigures(typing.NamedTuple):
    """A window in figures; times are wall times of a step."""

    real_time_factor: float
    simulated_s: float
    wall_s: float
    total_us: float
    parts_us: dict[str, float]     # `rest` is what no part accounts for


class WorkLog:
    """Counters over simulated time: the wall clock's, and those of the parts.

    Parts report at times of their own; threads may add while another reads.
    """

    def __init__(self) -> None:
        self._wall: list[CounterSample] = []
        self._parts: dict[str, list[CounterSample]] = {}

    def add_wall(self, time_us: int, wall_s: float) -> None:
        """Take in the wall time at the end of a step, without pacing."""
        self._wall.append(CounterSample(time_us, wall_s))

    def add_busy(self, part: str, time_us: int, busy_s: float) -> None:
        """Take in how long a part was busy so far."""
        self._parts.setdefault(part, []).append(CounterSample(time_us, busy_s))

    @property
    def latest_us(self) -> int:
        """The last time that is known; 0 at the start."""
        return self._wall[-1].time_us if self._wall else 0

    def covers(self, window: Window) -> bool:
        """Return whether there is enough of everything for the figures of a window."""
        simulated_us, wall_s = _passed(self._wall, window.from_us)
        return (
            simulated_us >= max(window.least_us, 1)
            and (wall_s >= window.least_wall_s or simulated_us >= window.most_us)
            and all(_passed(samples, window.from_us)[0] > 0
                    for samples in list(self._parts.values())))

    def figures(self, window: Window, step_us: int) -> WindowFigures:
        """Return the figures of a window that is covered.

        Each part is measured from its first to its last report in the window, so that it does not
        matter when it reports. Parts in processes of their own overlap: `rest` may be below 0.
        """
        simulated_us, wall_s = _passed(self._wall, window.from_us)
        total_us = wall_s / simulated_us * step_us * US_PER_S
        parts_us = {}
        for part, samples in self._parts.items():
            part_us, spent_s = _passed(samples, window.from_us)
            parts_us[part] = spent_s / part_us * step_us * US_PER_S
        # The bridge is busy while it waits.
        if 'hil_bridge' in parts_us:
            parts_us['hil_bridge'] -= parts_us['autopilot']
        parts_us['rest'] = total_us - sum(parts_us.values())
        return WindowFigures(
            simulated_us / US_PER_S / wall_s, simulated_us / US_PER_S, wall_s, total_us, parts_us)


def _passed(samples: typing.Sequence[CounterSample], from_us: int) -> tuple[int, float]:
    """Return how much simulated time and what of a counter passed within a window."""
    inside = [t for t in list(samples) if t.time_us >= from_us]
    if len(inside) < 2:
        return 0, 0.0
    return inside[-1].time_us - inside[0].time_us, inside[-1].spent_s - inside[0].spent_s


class _Log:
    """A world of this package, and its log."""

    def __init__(self) -> None:
        self.log = WorkLog()
        self.height_m = 0.0
        self._world: World

    @property
    def misses(self) -> int:
        """Steps without an answer."""
        return self._world.status().link_count('misses')

    def wait_until_seen(self) -> None:
        """Wait until all that is watched is there."""
        self._world.wait_until_seen()

    def run(self, stop: threading.Event) -> None:
        """Fly until `stop` is set."""
        self._world.run(stop)

    def close(self) -> None:
        """End it."""
        self._world.close()

    def check_end(self) -> None:
        """Check how it has ended.

        :raises RuntimeError: a part of it has failed
        """
        self._world.check_end()


class CoreLog(_Log):
    """Mode `core`, in this process."""

    def __init__(self, spec: FlightSpec) -> None:
        """Listen for the autopilot.

        :param spec: of one vehicle
        """
        super().__init__()
        recorder = None
        if 'recorder' in spec.configuration.nodes:
            from px4_sim_ros.flight.core_recorder import CoreRecorder
            recorder = CoreRecorder(spec.configuration, describe(spec))
        self._world = CoreWorld(
            [VehicleSetup(spec.configuration)], self._observe, recorder, observes_each_step=False)
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


class GraphLog(_Log):
    """Modes `composed` and `separate`; what the nodes report on `/diagnostics` is the log."""

    def __init__(self, spec: FlightSpec, folder: pathlib.Path) -> None:
        """Start the processes.

        :param spec: of one vehicle
        :param folder: for files of the run
        """
        from px4_sim_ros.flight.ros_world import RosWorld
        from px4_sim_ros.ros.tools.flight_monitor import Listener

        super().__init__()
        description = describe(spec)
        parameters, run = write_run_files(description, {'': spec.configuration}, folder)
        self._world = RosWorld(
            spec.mode, vehicles_of(description), parameters, {'': Listener(self._on_position)},
            run=run, on_report=self._on_report)

    def _on_position(self, time_us: int, position_enu: tuple[float, float, float]) -> None:
        self.height_m = position_enu[2]

    def _on_report(self, part: str, time_us: int, values: dict[str, str]) -> None:
        self.log.add_busy(part, time_us, float(values['busy_s']))
        if part == 'manager':
            self.log.add_wall(time_us, float(values['wall_time_s']) - float(values['paced_s']))
        elif 'waited_s' in values:
            self.log.add_busy('autopilot', time_us, float(values['waited_s']))
