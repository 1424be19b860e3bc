# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The blocks of mode core with scripted commands in the place of the link."""
import dataclasses
import typing

from px4_sim_ros.model.vehicle.vehicle import References
from px4_sim_ros.spec.blocks import make_blocks
from px4_sim_ros.step.block import Block
from px4_sim_ros.step.clock import LockstepClock
from px4_sim_ros.step.graph import COMMAND
from px4_sim_ros.step.runner import ALL_NODES, run_in_process


class DrivenRunner:
    """Runs some blocks of a graph; what the others would put out is given."""

    def __init__(self, graph, world, blocks, port=None):
        """Begin with the state of time 0.

        :param blocks: by name; those that are not there put out nothing
        """
        self._clock = LockstepClock(world.step_us, 0.0)
        self._runner = run_in_process(graph, world, blocks, self._clock, port)

    @property
    def time_us(self):
        """The time of the last step."""
        return self._clock.complete_us

    def step(self, given):
        """Take a step and return the last value of each topic.

        :param given: outputs of blocks that are not there, by topic; they hold until the next
        """
        self._runner.values.update(given)
        self._clock.step(1)
        while self._runner.run():
            pass
        self._runner.flush()
        return self._runner.values

    @property
    def slots(self):
        """The places of the blocks, to stop and start them between steps."""
        return self._runner.slots


class _Bridge(Block):
    """In the place of `hil_bridge`: its command does not depend on what is measured."""

    def step(self, time_us, inputs):
        self.measured = inputs
        return {COMMAND: self.command}


@dataclasses.dataclass(frozen=True)
class Step:
    """What came of a step."""

    time_us: int
    truth: typing.Any
    measured: typing.Mapping[str, typing.Any]      # what an autopilot would get, by topic


class ScriptedWorld:
    """All blocks of a graph but the link, stepped one by one."""

    heard = ALL_NODES         # as a port

    def __init__(self, configuration, send=lambda outputs: None):
        """Stand on the ground at time 0.

        :param send: called with the outputs of blocks, as a port's
        """
        self._bridge = _Bridge(None)
        blocks = make_blocks(configuration, hil_bridge=self._bridge)
        self.send = send
        self._runner = DrivenRunner(configuration.graph, configuration.world, blocks, self)
        self.slots = self._runner.slots

    def step(self, references_rad_s, command=None):
        """Advance by one step with these references held; return what came of it.

        :param command: the references that end the step; the same by default
        """
        self._bridge.command = references_rad_s if command is None else command
        values = self._runner.step({COMMAND: references_rad_s})
        return Step(self._runner.time_us, values['ground_truth/odom'], self._bridge.measured)


def standing(vehicle):
    """Return the references of a vehicle whose actuators rest."""
    return References.of((0.0,) * vehicle.reference_count, len(vehicle.servos))


def fly_scripted(configuration, commands, send, before_step=lambda slots, steps: None):
    """Run a step for each command, which ends it.

    :param commands: rotor speed references in rad/s
    :param send: called with the outputs of blocks, as a port's
    :param before_step: called with the places of the blocks and how many steps are complete
    """
    world = ScriptedWorld(configuration, send)
    references = standing(configuration.vehicle)
    for steps, command in enumerate(commands):
        before_step(world.slots, steps)
        world.step(references, command)
        references = command
