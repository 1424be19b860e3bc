# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A running graph at a time: its nodes, its link, its clock."""
from __future__ import annotations

import dataclasses
import typing

from px4_sim_ros.recording.analysis import lockstep_terms as terms
from px4_sim_ros.recording.analysis.lockstep_terms import figure


@dataclasses.dataclass(frozen=True)
class NodeSnapshot:
    """A node; None is what is not known."""

    lifecycle: str | None = None
    silent: bool = False
    heard_ago_s: float | None = None
    steps: int | None = None
    sim_rate_hz: float | None = None        # own steps per simulated second
    wall_rate_hz: float | None = None       # own steps per wall second
    busy_us_per_step: float | None = None   # of its own; without the wait for the autopilot
    busy_percent: float | None = None       # of wall time
    waits_for: tuple[str, ...] = ()

    @property
    def state(self) -> str | None:
        """What is shown as its state."""
        return terms.SILENT if self.silent else self.lifecycle


# The columns of the table of nodes, after name and state.
NODE_FIGURES: dict[str, typing.Callable[[NodeSnapshot], str]] = {
    terms.SIM_RATE: lambda node: figure(node.sim_rate_hz, '.1f'),
    terms.WALL_RATE: lambda node: figure(node.wall_rate_hz, '.1f'),
    terms.US_PER_OWN_STEP: lambda node: figure(node.busy_us_per_step, '.0f'),
    terms.BUSY_SHARE: lambda node: figure(node.busy_percent, '.1f')}


@dataclasses.dataclass(frozen=True)
class LinkSnapshot:
    """The link to the autopilot; None is what is not known."""

    state: str | None = None
    replies: int | None = None
    misses: int | None = None
    other_counters: dict[str, int] = dataclasses.field(default_factory=dict)   # that are not 0
    wait_us_per_step: float | None = None   # sending, and waiting for the autopilot
    wait_percent: float | None = None       # of wall time


@dataclasses.dataclass(frozen=True)
class AutopilotSnapshot:
    """What the autopilot says of itself; None is what is not known."""

    status: str | None = None               # mode and flags
    sim_rates_hz: dict[str, float | None] = dataclasses.field(default_factory=dict)
    """How often it says something else, per simulated second, by topic."""


@dataclasses.dataclass(frozen=True)
class VehicleSnapshot:
    """A vehicle of a fleet; None is what is not known."""

    link: LinkSnapshot
    busy_us_per_step: float | None          # of all its nodes; without the wait for the autopilot
    troubled: tuple[str, ...] = ()          # its nodes that are silent or not active
    is_there: bool = True                   # in the world, as far as is known


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """A graph at a time; None is what is not known."""

    state: str | None
    sentence: str | None
    run: int | None
    sim_time_s: float | None
    speed_factor: float | None              # that was asked for; 0 is as fast as possible
    real_time_factor: float | None          # over the last interval
    real_time_factor_since_start: float | None
    link: LinkSnapshot                      # of a vehicle alone
    nodes: dict[str, NodeSnapshot]
    autopilot: AutopilotSnapshot = AutopilotSnapshot()     # of a vehicle alone
    vehicles: dict[str, VehicleSnapshot] = dataclasses.field(default_factory=dict)
    """Those of a fleet, by namespace; their nodes have it before their names."""
