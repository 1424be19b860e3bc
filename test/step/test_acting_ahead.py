# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Late commands: the blocks of the next step act while the autopilot is about this one."""
import math

import pytest
import yaml

from px4_sim_ros.config.blocks import make_blocks
from px4_sim_ros.config.configuration import load_configuration
from px4_sim_ros.config.resources import named_files
from px4_sim_ros.step.block import Block
from px4_sim_ros.step.clock import LockstepClock
from px4_sim_ros.step.graph import COMMAND
from px4_sim_ros.step.runner import run_in_process

STEP_US = 4000
MEASURED = 'imu/data_raw', 'mag', 'baro', 'gps/fix'


class Bridge(Block):
    """In the place of the link: its command changes with each step."""

    def __init__(self, is_prompt):
        super().__init__(None)
        self.is_prompt = is_prompt        # it replies at once, so that nobody acts ahead
        self.dynamics = None
        self.measured, self.reached_us = [], []

    def step(self, time_us, inputs):
        self.measured.append({name: inputs[name] for name in MEASURED if name in inputs})
        return self.finish(time_us) if self.is_prompt else None

    def finish(self, time_us):
        self.reached_us.append(self.dynamics.dynamics.time_us)
        return {COMMAND: command(time_us)}


def command(time_us):
    """Return four speeds that lift the vehicle, each another one."""
    return tuple(700.0 + 60.0 * math.sin(1e-5 * time_us + i) for i in range(4))


class World:
    """All blocks of a vehicle but the link."""

    is_used = True         # as a port

    def __init__(self, delay_us, *, is_prompt=False, **world):
        configuration = load_configuration(
            None, {'': {'wind': 'dryden', **world}, 'wind': {'speed_m_s': 5.0},
                   'dynamics': {'command_delay_us': delay_us}})
        self.bridge = Bridge(is_prompt)
        self.blocks = make_blocks(configuration, hil_bridge=self.bridge)
        self.bridge.dynamics = self.blocks['dynamics']
        self.clock, self.sent = LockstepClock(STEP_US, 0.0), []
        self.runner = run_in_process(
            configuration.graph, configuration.world, self.blocks, self.clock, self)

    def send(self, outputs):
        self.sent += outputs

    def step(self, count=1):
        self.clock.step(count)
        while self.runner.run():
            pass
        self.runner.flush()
        return self

    def reset(self):
        for block in self.blocks.values():
            block.reset()
        self.runner.reset()
        self.clock.reset()
        self.sent.clear()
        self.bridge.measured.clear()

    @property
    def all(self):
        """What all blocks have put out, and what the autopilot has got."""
        return self.sent, self.bridge.measured, self.blocks['dynamics'].fingerprint


@pytest.mark.parametrize('delay_us', [STEP_US, 2 * STEP_US, 9000])
def test_the_bits_are_those_of_a_step_after_the_other(delay_us):
    ahead, after = World(delay_us).step(400), World(delay_us, is_prompt=True).step(400)
    assert ahead.all == after.all
    assert ahead.bridge.reached_us == [t + STEP_US for t in after.bridge.reached_us]


def test_nobody_acts_ahead_of_a_command_that_comes_at_once():
    world = World(0).step(10)
    assert world.bridge.reached_us == [STEP_US * (i + 1) for i in range(10)]


@pytest.mark.parametrize('delay_us, steps', [(0, 0), (1999, 0), (2000, 1), (4000, 1), (9000, 2)])
def test_rotors_follow_as_much_later(delay_us, steps, tmp_path):
    """Without a battery their speeds are those of no delay, later by whole steps, bit by bit."""
    file = tmp_path / 'iris.yaml'
    iris = yaml.safe_load(named_files('vehicles')['iris'].read_text())
    del iris['battery']
    file.write_text(yaml.dump(iris))

    def speeds(delay_us, steps):
        world = World(delay_us, vehicle=str(file))
        found = []
        for _ in range(steps):
            found.append(world.step().runner.values['ground_truth/odom'].rotor_speeds_rad_s)
        return found

    at_once, late = speeds(0, 100), speeds(delay_us, 100 + steps)
    assert at_once[1:] == late[1 + steps:]
    assert not any(any(now) for now in late[:1 + steps])      # the first command ends step 1
    assert any(late[1 + steps])


@pytest.mark.parametrize('away_steps', [0, 4])
def test_a_sensor_that_was_stopped_goes_on_as_if_nobody_acted_ahead(away_steps):
    def flown(is_prompt):
        world = World(STEP_US, is_prompt=is_prompt)
        slot = world.runner.slots['imu']
        block = world.step(7).blocks['imu']
        slot.stop()
        world.step(away_steps)
        block.resume(slot.last_us)
        slot.block = block
        return world.step(5).all

    assert flown(is_prompt=False) == flown(is_prompt=True)


def test_a_new_run_begins_as_the_first():
    world, other = World(STEP_US), World(STEP_US).step(50)
    world.step(23)
    world.reset()
    assert world.step(50).all == other.all


def test_a_block_that_hangs_ahead_is_the_one_that_is_named(monkeypatch):
    world, named = World(STEP_US), []
    act = world.blocks['imu'].act_ahead
    monkeypatch.setattr(world.blocks['imu'], 'act_ahead', lambda *given: (
        named.append(world.runner.under_way), act(*given))[1])
    world.step(3)
    assert named == [('imu', STEP_US * (i + 2)) for i in range(3)]
