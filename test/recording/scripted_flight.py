"""Flights of mode core with scripted commands: all blocks of the graph but the link."""
from px4_sim_ros.config.blocks import make_block, run_in_process
from px4_sim_ros.step.block import Block
from px4_sim_ros.step.clock import LockstepClock
from px4_sim_ros.step.graph import COMMAND


class ScriptedBridge(Block):
    """In the place of `hil_bridge`: its commands do not depend on what is measured."""

    def __init__(self, commands):
        self._commands = iter(commands)

    def step(self, time_us, inputs):
        return {COMMAND: next(self._commands)}


def fly_scripted(configuration, commands, send):
    """Run a step for each command, which ends it.

    :param commands: rotor speed references in rad/s
    :param send: called with the outputs of blocks, as a port's
    """
    commands = list(commands)

    class Port:
        def send(self, outputs):
            send(outputs)
    blocks = {name: ScriptedBridge(commands) if name == 'hil_bridge' else make_block(
        configuration, name) for name in configuration.graph.blocks}
    clock = LockstepClock(configuration.world.step_us, 0.0)
    runner = run_in_process(configuration, blocks, clock, Port())
    clock.step(len(commands))
    while runner.run():
        pass
    assert clock.steps == len(commands)
