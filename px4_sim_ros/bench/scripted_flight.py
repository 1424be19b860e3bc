# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A short flight with a command that does not change: what single parts are measured with."""
from __future__ import annotations

import typing

from px4_sim_ros.model.environment.environment import Environment
from px4_sim_ros.model.truth import Truth
from px4_sim_ros.model.vehicle.vehicle import References
from px4_sim_ros.spec.blocks import block_configuration, make_blocks
from px4_sim_ros.spec.configuration import Configuration
from px4_sim_ros.step.block import Block, BlockConfiguration, Inputs, Outputs
from px4_sim_ros.step.driven import DrivenRunner
from px4_sim_ros.step.graph import COMMAND
from px4_sim_ros.step.lane import Output
from px4_sim_ros.step.runner import EVERYBODY


class ScriptedFlight(typing.NamedTuple):
    """A short flight in which each sensor measures."""

    outputs: list[list[Output]]                           # of the blocks, step by step
    measured: list[tuple[int, Inputs]]                    # what an autopilot would get, and when

    @property
    def truths(self) -> list[Truth]:
        """The true motion after each step."""
        return [output.values['ground_truth/odom'] for outputs in self.outputs
                for output in outputs if output.block == 'dynamics' and output.values]


class _ConstantCommand(Block):
    """In the place of the bridge: lifts off, and keeps what it gets."""

    def __init__(self, configuration: BlockConfiguration[typing.Any]) -> None:
        super().__init__(configuration)
        vehicle, environment = configuration.vehicle, Environment.of(configuration.world)
        gravity, density = environment.gravity_m_s2(0.0), environment.density_kg_m3(0.0)
        speed = 1.05 * vehicle.hover_speed_rad_s(gravity, density) if vehicle.lift_rotors else 0.0
        self._references = References.of(
            (*(speed if rotor.lifts else 0.0 for rotor in vehicle.rotors),
             *(0.0 for _ in range(vehicle.reference_count - len(vehicle.rotors)))),
            len(vehicle.servos))
        self.measured: list[tuple[int, Inputs]] = []

    def step(self, time_us: int, inputs: Inputs) -> Outputs:
        self.measured.append((time_us, inputs))
        return {COMMAND: self._references}


class _Keeper:
    """A port that keeps what leaves by it."""

    heard = EVERYBODY

    def __init__(self) -> None:
        self.outputs: list[list[Output]] = []

    def send(self, outputs: typing.Sequence[Output]) -> None:
        self.outputs.append(list(outputs))


def fly(configuration: Configuration, steps: int) -> ScriptedFlight:
    """Lift off, fly so many steps, and return as many that follow."""
    bridge = _ConstantCommand(block_configuration(configuration, 'hil_bridge'))
    blocks = make_blocks(configuration, hil_bridge=bridge)
    port = _Keeper()
    runner = DrivenRunner(configuration.graph, configuration.world, blocks, port)
    for _ in range(2 * steps):
        runner.step({})
    return ScriptedFlight(port.outputs[steps:], bridge.measured[steps:])
