# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a replay takes from a recording: commands, what its scenario did, what others did."""
from __future__ import annotations

import typing

from px4_sim_ros.link.xrce.session import Topic
from px4_sim_ros.messages.texts import read_text
from px4_sim_ros.messages.truth import references_in
from px4_sim_ros.model.errors import within
from px4_sim_ros.model.faults.action import Faults
from px4_sim_ros.model.timebase import is_due, seconds_text
from px4_sim_ros.recording.bag.reader import BagReader, Message
from px4_sim_ros.spec.run_parameters import PlayerParameters
from px4_sim_ros.step.block import Block, BlockConfiguration, Inputs, Outputs
from px4_sim_ros.step.graph import COLLISION, COMMAND, FAULTS, WAKES


def commands(bag: BagReader) -> typing.Iterator[tuple[int, tuple[float, ...]]]:
    """Yield time and references of the commands in a recording."""
    for message in bag.messages():
        if message.topic == COMMAND:
            yield message.time_us, references_in(bag.decode(message))


def _with_px4(
    bag: BagReader,
) -> typing.Iterator[tuple[int, tuple[float, ...], list[Message]]]:
    """Yield time and references of the commands, and what PX4 has said in that step."""
    step: tuple[int, tuple[float, ...], list[Message]] | None = None
    for message in bag.messages():
        if message.topic == COMMAND:
            if step is not None:
                yield step
            step = message.time_us, references_in(bag.decode(message)), []
        elif step is not None and bag.is_added(message.topic):
            step[2].append(message)
    if step is not None:
        yield step


def faults(bag: BagReader) -> typing.Iterator[tuple[int, Faults]]:
    """Yield time and what was in force in a recording: the same object while it is the same."""
    text, found = '', ()
    for message in bag.messages():
        if message.topic == FAULTS:
            now = bag.decode(message).msg
            if now != text:
                text, found = now, read_text(FAULTS, now)
            yield message.time_us, found


def of_others(bag: BagReader, topic: str) -> typing.Iterator[tuple[typing.Any, ...]]:
    """Yield the wakes of the others of a recording, or the forces of collisions with them."""
    for message in bag.messages():
        if message.topic == topic:
            yield read_text(topic, bag.decode(message).msg)


class WakePlaybackBlock(Block):
    """Lets the others of a recording do again what they did: blow, and collide."""

    def __init__(self, configuration: BlockConfiguration[PlayerParameters]) -> None:
        super().__init__(configuration)
        self._bag, world = _opened(configuration), configuration.world
        self._periods_us = {name: topic.period_us(world.step_us, world.periods_us)
                            for name, topic in configuration.graph.topics.items()
                            if name in (WAKES, COLLISION)}

    def reset(self) -> None:
        """Begin with what was first."""
        self._found = {name: of_others(self._bag, name) for name in self._periods_us}

    def step(self, time_us: int, inputs: Inputs) -> Outputs:
        """Return that of this time, when it is due; nothing once the recording is over."""
        return {name: next(self._found[name], ())
                for name, period_us in self._periods_us.items() if is_due(time_us, period_us)}


class FaultPlaybackBlock(Block):
    """Does again what the scenario of a recording did."""

    def __init__(self, configuration: BlockConfiguration[PlayerParameters]) -> None:
        super().__init__(configuration)
        self._bag = _opened(configuration)

    def reset(self) -> None:
        """Begin with the first step."""
        self._faults = faults(self._bag)

    def step(self, time_us: int, inputs: Inputs) -> Outputs:
        """Return the actions in force at this time; none once the recording is over."""
        return {FAULTS: next(self._faults, (0, ()))[1]}


def _opened(configuration: BlockConfiguration[PlayerParameters]) -> BagReader:
    with within(f'{configuration.name}.bag'):
        return BagReader(configuration.parameters.bag)


class PlaybackBlock(Block):
    """Ends each step with the command that ended it in the recording.

    It has the same inputs as the bridge, so the lockstep is the same.
    """

    def __init__(self, configuration: BlockConfiguration[PlayerParameters]) -> None:
        super().__init__(configuration)
        self._bag = _opened(configuration)
        self._held_us = 0
        self.publish: typing.Callable[[Topic, bytes, str], None] | None = None
        """Is given PX4's own messages, before their step is over, with their definitions."""

    def reset(self) -> None:
        """Begin with the first command; the bag is read step by step, for it may be long."""
        self._commands = (_with_px4(self._bag) if self.publish is not None
                          else ((*command, []) for command in commands(self._bag)))
        self._held_us = 0

    def step(self, time_us: int, inputs: Inputs) -> Outputs | None:
        """Return the command of this time; at the end of the recording hold the step."""
        recorded_us, references_rad_s, of_px4 = next(self._commands, (0, (), []))
        if recorded_us != time_us:
            self._held_us = time_us
            return None
        for message in of_px4:
            assert self.publish is not None, 'otherwise there are none'
            kind, definition = self._bag.type_of_added(message.topic)
            self.publish(
                Topic(self._bag.run.full_name(message.topic), kind), message.data, definition)
        return {COMMAND: references_rad_s}

    def finish(self, time_us: int) -> Outputs | None:
        """Hold the step: the recording has no command for it."""
        return None

    def abort(self) -> None:
        """Release the step that is held."""
        self._held_us = 0

    def holds(self) -> str:
        """Return that the recording is over, once it is."""
        if not self._held_us:
            return ''
        return f'the recording has no command for t = {seconds_text(self._held_us)}'
