# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A block: a part of the simulated world that acts once a period, on plain values."""
from __future__ import annotations

import dataclasses
import typing

from px4_sim_ros.model.errors import RunError
from px4_sim_ros.model.mission import Mission
from px4_sim_ros.model.parameters import Parameters
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.step.graph import Graph

if typing.TYPE_CHECKING:       # all blocks but one do without what scenarios are made of
    import numpy as np

    from px4_sim_ros.model.scenario.scenario import Scenario
    from px4_sim_ros.model.scene.scene import Scene
    from px4_sim_ros.step.slot import BlockSlot

# Values by topic, as the graph table names them.
Inputs = typing.Mapping[str, typing.Any]
Outputs = dict[str, typing.Any]
"""What a block has put out, which it never changes: a recorder looks at it some steps later."""

NO_OUTPUTS: Outputs = {}
"""What a sensor returns at a time at which it measures nothing, as one that is stopped."""

OwnParameters = typing.TypeVar('OwnParameters', bound=Parameters)


class BlockStatus(typing.NamedTuple):
    """What a block reports about itself; an empty sentence: nothing beyond being active."""

    is_warning: bool
    sentence: str
    values: typing.Mapping[str, object]


def _ignore(*arguments: object) -> None:
    """Stand for a host that does not want to know."""


@dataclasses.dataclass(frozen=True)
class BlockConfiguration(typing.Generic[OwnParameters]):
    """All that a block is configured with; it never changes."""

    name: str
    graph: Graph
    world: WorldParameters
    vehicle: Vehicle
    parameters: OwnParameters
    mission: Mission | None = None       # that of the pilot
    scenario: Scenario | None = None     # that of the block of that name
    scene: Scene | None = None           # what stands in the world; None: a plane


class Called(typing.NamedTuple):
    """What a block has put out that was called between two of several steps."""

    time_us: int
    slot: BlockSlot
    outputs: Outputs


class Ahead(typing.Protocol):
    """Steps that a block has taken with others; the last one is under way."""

    begun: int
    """How many steps have begun, the same of all vehicles; all but the last one are complete."""
    models_s: float
    """Wall time in models."""
    taken: list[BlockSlot]
    """The blocks that have acted in them when they were due, in their order."""
    acted: list[BlockSlot]
    """Those of them that have acted in the last step."""
    is_held: bool
    """Whether the last step continues with the blocks that have not acted."""
    beside: list[BlockSlot]
    """Otherwise: those that act in it before `end`,"""
    late: list[BlockSlot]
    """and after it; then the step waits for its reply."""
    holding: BlockSlot | None
    """What holds the last step, in which it has acted;"""
    said: Outputs
    """what the pilot has put out last."""
    called: list[Called]
    """What others have put out in them; the last one may be of the next step, in which it leads."""
    given: Outputs
    """A value of each topic of these, as far as there was one."""

    @property
    def rows(self) -> np.ndarray:
        """Numbers of each of the steps, (begun, n); a command is in the row of the step after."""

    @property
    def is_in_rows(self) -> bool:
        """Whether all that is put out follows from rows and from `called`."""

    def values_of(self, row: np.ndarray) -> Outputs:
        """Return all that those taken put out, and the command before, with numbers of a row.

        What is `given` is among them.
        """

    @property
    def places_enu(self) -> np.ndarray:
        """Where the vehicle was after each of the steps, (begun, 3), m."""

    def put_out(
        self, step: int, wants: typing.Callable[[BlockSlot], bool],
    ) -> typing.Iterable[tuple[BlockSlot, Outputs]]:
        """Return the outputs of those that were due in a step, in their order.

        :param wants: returns whether those of a block are wanted in this step
        """

    def values(self, name: str, steps: range) -> typing.Iterable[tuple[int, typing.Any]]:
        """Yield an output, by its name, in steps in which it is due, each since which step."""

    def columns(self, name: str, steps: range) -> typing.Any:
        """Return an output whose numbers are arrays, with one for each step, or None."""

    def last(self, slot: BlockSlot) -> Outputs:
        """Return its last outputs; none if it was not due."""

    def finished(self, step: int) -> Outputs:
        """Return the outputs that have finished the step before one."""

    def pass_reports(self, flush: typing.Callable[[], None]) -> None:
        """Let the pilot report what there was in them, if there was anything, after `flush`."""

    def end(self, *, is_held: bool) -> None:
        """Send what was held for those beside, unless the step is held, and take in the steps."""


class Block:
    """Base of all blocks.

    Inputs, outputs and period stand in the graph table. A block knows neither ROS nor who else
    is there; the same object runs in every mode.
    """

    leads = False
    """Whether it acts first in a step, with outputs of the step before: the wind."""
    is_judge = False
    """Whether it may judge steps afterwards, in which it has done nothing: the scenario."""
    is_pilot = False
    """Whether it may act between two of several steps, and report afterwards: the pilot."""

    def __init__(self, configuration: BlockConfiguration[typing.Any]) -> None:
        """Check all that can be wrong before the run; `reset` comes before the first step."""
        self.configuration = configuration
        # What the host of the block sets, before `reset`.
        self.shares_process = True       # with other blocks of the step
        self.log: typing.Callable[[bool, str], None] = _ignore
        """Is given whether it is a warning, and a sentence for the user."""
        self.wants_new_begin = False
        """Set by the block that finishes a step if its vehicle is to begin again with the next."""

    def reset(self) -> None:
        """Begin with the state of time 0."""

    def begin_again(self, time_us: int) -> None:
        """Begin with the state of time 0 at another one: that of the last step so far."""
        self.reset()

    def resume(self, time_us: int) -> None:
        """Take part again in a run in which it was stopped.

        :param time_us: when it would have acted last; by default that does not matter
        """
        self.reset()

    def step(self, time_us: int, inputs: Inputs) -> Outputs | None:
        """Act at a time and return the outputs.

        :param inputs: those that are due, and the last of those that are held. A sensor that is
            stopped has none
        :return: None if they are to be had from `finish`, once the outputs of others were sent;
            NO_OUTPUTS from a sensor without a measurement
        """
        raise NotImplementedError

    def finish(self, time_us: int) -> Outputs | None:
        """Return the outputs that `step` left out; None while the step is held.

        It may block, for a bounded time.

        :raises RunError: by default, because a block whose `step` returns outputs has none left
        """
        raise RunError(f'{self.configuration.name}: step has returned no outputs')

    def next_act_us(self, due_us: int) -> int:
        """Return when it does the next thing that others may notice.

        :param due_us: when it is due next
        """
        return due_us

    @property
    def runs_ahead(self) -> bool:
        """Whether `run_ahead` may take a step, as far as can be said without the others."""
        return False

    def prepare_ahead(
        self, time_us: int, slots: typing.Sequence[BlockSlot], until_us: int, values: Inputs,
    ) -> int:
        """Return how many steps `run_ahead` can take that follow the one that waits for its reply.

        Only a block that has outputs to come from `finish` is asked, before that is called.

        :param time_us: of the step that waits
        :param slots: all blocks of the vehicle, in their order
        :param until_us: the time of the last step there may be
        :param values: the last ones, by topic
        """
        return 0

    def run_ahead(self, steps: int, blocks: typing.Sequence[typing.Any]) -> typing.Sequence[Ahead]:
        """Take at most so many steps, of the vehicles of blocks in turn; none are no `Ahead`.

        :param blocks: that are prepared; this is the first of them
        """
        return ()

    def after_sent(self, time_us: int, inputs: Inputs) -> None:
        """Do what else belongs to the last step of `run_ahead`, which waits for its reply."""

    def leave(self) -> None:
        """Close the connection: its vehicle has left the world, and may join it again."""

    def record_nondeterminism(self, sentence: str) -> None:
        """Record a source of non-repeatability; the vehicle's first one is reported."""

    def abort(self) -> None:
        """Give up a step that is held; it must not fail when there is none."""

    def close(self) -> None:
        """Give back what was taken; it must not fail when there is nothing."""

    def idle(self) -> None:
        """Look after what is connected, while no step is under way."""

    def holds(self) -> str:
        """Return why a step is held, '' if none is."""
        return ''

    def status(self) -> BlockStatus | None:
        """Return the status beyond being active, if there is any."""
        return None
