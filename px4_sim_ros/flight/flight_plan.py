# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is flown, by whom, in which world."""
from __future__ import annotations

import threading
import typing

from px4_sim_ros.flight.flight_record import WorldStatus
from px4_sim_ros.flight.px4 import Px4
from px4_sim_ros.link.hil.link_state import HilParameters
from px4_sim_ros.model.mission import Mission
from px4_sim_ros.spec.configuration import Configuration
from px4_sim_ros.spec.run_parameters import RecorderParameters
from px4_sim_ros.step.attendance import ALWAYS, Presence

if typing.TYPE_CHECKING:       # a flight without one does without all of its actions
    from px4_sim_ros.model.scenario.scenario import Scenario

MODES = ('core', 'composed', 'separate')
AUTOPILOTS = ('embedded', 'px4', 'none')


class VehiclePlan(typing.NamedTuple):
    """What one vehicle of several flies."""

    namespace: str
    configuration: Configuration
    autopilot: str                           # of AUTOPILOTS
    px4: Px4 | None                          # None unless it is the autopilot
    mission: Mission | None                  # None: until the end is asked for
    scenario: Scenario | None = None         # None: the mission ends its flight
    presence: Presence = ALWAYS              # in the world of several

    @property
    def hil(self) -> HilParameters:
        """The parameters of the link to its autopilot."""
        return self.configuration.of_node('hil_bridge', HilParameters)


class FlightPlan(typing.NamedTuple):
    """What is flown, and how."""

    mode: str                                # of MODES
    autopilot: str                           # of AUTOPILOTS
    px4: Px4 | None                          # None unless it is the autopilot
    mission: Mission | None                  # None: until the end is asked for
    own_classes: typing.Mapping[str, str]    # `module:Class` by name, in place of the graph's
    remaps: typing.Sequence[str]             # remapping rules of ROS
    viewer: str | None                       # as RerunTarget takes it
    namespace: str = ''                      # of all nodes
    scenario: Scenario | None = None         # None: the mission ends the flight
    fleet: str = ''                          # its name; '': one vehicle, and no fleet
    others: tuple[VehiclePlan, ...] = ()     # the further vehicles of the world
    near_miss_m: float = 0.0                 # for `Encounters`
    presence: Presence = ALWAYS              # of the first vehicle of a fleet

    def vehicles(self, configuration: Configuration) -> tuple[VehiclePlan, ...]:
        """Return all vehicles of the world.

        :param configuration: of the first one
        """
        return (VehiclePlan(self.namespace, configuration, self.autopilot, self.px4, self.mission,
                             self.scenario, self.presence), *self.others)


class World(typing.Protocol):
    """The simulated scene in one of the modes."""

    @property
    def recording(self) -> str:
        """The folder of the recording, '' for none."""

    @property
    def recording_problem(self) -> str:
        """Why the recording has ended too early, '' when it has not."""

    def wait_until_seen(self) -> None:
        """Wait until nothing of a flight is missed."""

    @property
    def was_stopped(self) -> bool:
        """Whether somebody has asked for the end of the run."""

    def run(self, stop: threading.Event) -> bool:
        """Step until `stop` is set or the run ends; return whether it begins again."""

    def close(self) -> None:
        """End it; a second time nothing happens."""

    def check_end(self) -> None:
        """Check how it has ended."""

    def status(self, namespace: str | None = None) -> WorldStatus:
        """Return its counters, with those of a vehicle: the first one if not said."""


def optional_nodes(configuration: Configuration) -> tuple[str, ...]:
    """Return the nodes in processes of their own without which a run goes on."""
    if 'recorder' not in configuration.nodes:
        return ()
    recorder = configuration.of_node('recorder', RecorderParameters)
    return ('recorder',) if recorder.on_failure == 'continue' else ()
