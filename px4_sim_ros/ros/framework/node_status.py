# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a managed node answers when it is asked for its status."""
from __future__ import annotations

import dataclasses
import json
import typing


@dataclasses.dataclass(frozen=True)
class NodeStatus:
    """Where a node stands; the text of its service `~/status` is this as JSON."""

    state: str = ''                # of its lifecycle
    problem: str = ''              # why it cannot take part in a step
    waits_for_us: int = 0          # the time of its next step
    waits_for: dict[str, int] = dataclasses.field(default_factory=dict)
    """The topics it waits for, each with the time of the last message, -1 for none."""
    holds: str = ''                # why it does not end a step although nothing is missing
    participant: str = ''          # of DDS, that the node belongs to
    matched: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    """The participants that its endpoints are matched with, by topic."""
    by_value: list[str] = dataclasses.field(default_factory=list)
    """The inputs that are handed over by value within its process."""
    remapped: dict[str, str] = dataclasses.field(default_factory=dict)
    """The names of those topics that are not called as in the graph."""
    sources: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    """The nodes that publish its inputs, as far as they are known."""
    world: dict[str, typing.Any] = dataclasses.field(default_factory=dict)
    """The parameters that all nodes share."""

    def to_json(self) -> str:
        """Return the text of the service's answer."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> NodeStatus:
        """Read what `to_json` has written."""
        return cls(**json.loads(text))
