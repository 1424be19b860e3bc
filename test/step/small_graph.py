# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A graph of five blocks that note what they are given, and processes that run some of them."""
import dataclasses
import types

from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.step.block import Block
from px4_sim_ros.step.clock import LockstepClock
from px4_sim_ros.step.graph import CLOCK, Graph, NodeSpec, Topic
from px4_sim_ros.step.runner import ALL_NODES, Runner
from px4_sim_ros.step.slot import BlockSlot, Input, StampSynchronizer

STEP_US = 4000
AIR_US = 8000
THERMOMETER_US = 16_000
WORLD = dataclasses.replace(
    load_configuration(None, {}).world, step_us=STEP_US,
    periods_us={'fan': AIR_US, 'compass': STEP_US, 'thermometer': THERMOMETER_US})


class SmallGraph(Graph):
    """Air that is moved, a body that moves in it, two sensors, and a pilot who commands it."""

    def __init__(self):
        self.topics = {topic.name: topic for topic in (
            Topic(CLOCK, '', 'manager'),
            Topic('air', '', 'fan', 'fan'),
            Topic('truth', '', 'body'),
            Topic('north', '', 'compass', 'compass'),
            Topic('warmth', '', 'thermometer', 'thermometer'),
            Topic('command', '', 'pilot'))}
        self.nodes = {spec.name: spec for spec in (
            NodeSpec('fan', 'Fan', '', (CLOCK, 'truth'), 'Fan', previous=('truth',)),
            NodeSpec('body', 'Body', '', (CLOCK, 'air', 'command'), previous=('command',),
                     held=('air',)),
            NodeSpec('compass', 'Compass', '', ('truth',), 'Compass'),
            NodeSpec('thermometer', 'Thermometer', '', ('truth', 'air'), 'Thermometer',
                     held=('air',)),
            NodeSpec('pilot', 'Pilot', '', ('north', 'warmth')))}
        self.blocks = tuple(self.nodes)


GRAPH = SmallGraph()
PUBLISHERS = {topic.name: topic.publisher for topic in GRAPH.topics.values()}


class Noted(Block):
    """Notes what it is given, and puts out a value for each topic that is due."""

    def __init__(self, name, notes):
        super().__init__(types.SimpleNamespace(name=name))
        self.topics = GRAPH.outputs(name)
        self.notes = notes
        self.has_reply = True              # False: it holds the step
        self.finishes = name == 'pilot'

    def reset(self):
        """A block has a history: with another one it puts out other values."""
        self.history = 0

    def step(self, time_us, inputs):
        name = self.configuration.name
        self.notes.append((time_us, name, dict(inputs)))
        self.history = hash((self.history, time_us, tuple(sorted(inputs.items()))))
        self.value = f'{name} at {time_us} after {self.history}'
        return None if self.finishes else self.outputs(time_us)

    def outputs(self, time_us):
        return {topic.name: self.value for topic in self.topics
                if time_us % topic.period_us(STEP_US, WORLD.periods_us) == 0}

    def finish(self, time_us):
        self.notes.append((time_us, 'reply', {}))
        return self.outputs(time_us) if self.has_reply else None


class Process:
    """A runner with some blocks of the graph, whose outputs are kept when they are sent."""

    def __init__(self, names=tuple(GRAPH.nodes), has_clock=True, speed_factor=0.0):
        self.notes, self.sent = [], []
        self.clock = LockstepClock(STEP_US, speed_factor) if has_clock else None
        self.command = None
        if has_clock and 'pilot' not in names:
            self.command = StampSynchronizer(
                [Input(GRAPH.topics['command'], STEP_US, 0, False)], STEP_US)
        self.blocks, self.slots = {}, {}
        for name in GRAPH.nodes:
            if name in names:
                here = [t for t in GRAPH.nodes[name].inputs
                        if PUBLISHERS[t] in names or (t == CLOCK and has_clock)]
                self.slots[name] = BlockSlot(
                    GRAPH.nodes[name], GRAPH, WORLD, set(GRAPH.nodes[name].inputs) - set(here))
                self.blocks[name] = Noted(name, self.notes)
        self.runner = Runner(self, self.clock)
        self.runner.place(self.slots.values(), self.command)
        self.activate(*self.blocks)

    def activate(self, *names):
        for name in names:
            self.blocks[name].reset()
            self.slots[name].block = self.blocks[name]

    heard = ALL_NODES

    def send(self, outputs):
        self.sent += outputs

    def run(self):
        """Go on as far as possible; return how often something was done."""
        count = 0
        while self.runner.run():
            count += 1
        return count

    def step(self, count=1):
        self.clock.step(count)
        self.run()

    def put(self, block, topic, stamp_us, value):
        """Let a message come."""
        self.slots[block].synchronizer.put(topic, stamp_us, lambda: value)

    def steps(self):
        """Return which block was stepped when."""
        return [(time_us, name) for time_us, name, _ in self.notes if name != 'reply']

    def given(self, block):
        """Return what a block was given at each time."""
        return {time_us: inputs for time_us, name, inputs in self.notes if name == block}

    def sent_by(self):
        return [(output.time_us, output.block) for output in self.sent]
