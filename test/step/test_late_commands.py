# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Late commands: rotors follow them some steps later."""
import math

import pytest
import yaml

from px4_sim_ros.spec.blocks import make_blocks
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.spec.resources import named_files
from px4_sim_ros.step.block import Block
from px4_sim_ros.step.clock import LockstepClock
from px4_sim_ros.step.graph import COMMAND
from px4_sim_ros.step.runner import ALL_NODES, run_in_process

STEP_US = 4000
MEASURED = 'imu/data_raw', 'mag', 'baro', 'gps/fix'


class Bridge(Block):
    """In the place of the link: its command changes with each step."""

    def __init__(self):
        super().__init__(None)
        self.measured = []

    def step(self, time_us, inputs):
        self.measured.append({name: inputs[name] for name in MEASURED if name in inputs})
        return {COMMAND: command(time_us)}


def command(time_us):
    """Return four speeds that lift the vehicle, each another one."""
    return tuple(700.0 + 60.0 * math.sin(1e-5 * time_us + i) for i in range(4))


class World:
    """All blocks of a vehicle but the link."""

    heard = ALL_NODES         # as a port

    def __init__(self, delay_us, **world):
        configuration = load_configuration(
            None, {'': {'wind': 'dryden', **world}, 'wind': {'speed_m_s': 5.0},
                   'dynamics': {'command_delay_us': delay_us}})
        self.bridge = Bridge()
        self.blocks = make_blocks(configuration, hil_bridge=self.bridge)
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


def test_a_new_run_begins_as_the_first():
    world, other = World(STEP_US), World(STEP_US).step(50)
    world.step(23)
    world.reset()
    assert world.step(50).all == other.all
