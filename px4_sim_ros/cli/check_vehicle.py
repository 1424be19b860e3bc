# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command `check-vehicle`: what follows from a vehicle file, and what is implausible."""
from __future__ import annotations

import argparse

from px4_sim_ros.check.figures import Figures, all_figures, as_json, figures, implausible
from px4_sim_ros.check.px4 import contradictions
from px4_sim_ros.cli import output
from px4_sim_ros.model.body.integrators import DynamicsParameters
from px4_sim_ros.model.parameters import Parameters
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.model.world import Environment
from px4_sim_ros.spec.configuration import Configuration, load_configuration
from px4_sim_ros.spec.files import load_vehicle

_EXIT_IMPLAUSIBLE = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.add_argument('vehicle', metavar='VEHICLE', help='name in config/vehicles, or a path')
    output.add_json(parser)


def check_vehicle(options: argparse.Namespace) -> int:
    """Print the figures of a vehicle at the default home; return the exit code."""
    vehicle = load_vehicle(options.vehicle)
    found, problems = examined(load_configuration(None, {}, vehicle=vehicle))
    if options.json:
        values = {name: value for some in found for name, value in as_json(some).items()}
        output.write_json(options.json, {
            'vehicle': vehicle.name, 'figures': values, 'implausible': problems})
    else:
        _print(vehicle.name, found, problems)
    return _EXIT_IMPLAUSIBLE if problems else 0


def examined(configuration: Configuration) -> tuple[list[Parameters], list[str]]:
    """Return the figures of a vehicle in its world, and sentences on what is implausible."""
    found = all_figures(*_in_its_world(configuration))
    problems = [sentence for some in found for sentence in implausible(some)]
    return found, problems + contradictions(configuration.vehicle, found)


def hover_figures(configuration: Configuration) -> Figures:
    """Return the figures of a vehicle with rotors that lift, in its world."""
    return figures(*_in_its_world(configuration))


def _in_its_world(configuration: Configuration) -> tuple[Vehicle, Environment, float]:
    world = configuration.world
    substeps = configuration.of_node('dynamics', DynamicsParameters).substeps
    return configuration.vehicle, Environment.of(world), world.step_us / substeps / US_PER_S


def _print(name: str, found: list[Parameters], problems: list[str]) -> None:
    print(f'vehicle {name}')
    for some in found:
        for key, info in some.infos().items():
            value = getattr(some, key)
            if value is not None:
                print(f"  {key:28} {value:10.4g} {info['unit']:8} {info['description']}")
    for problem in problems:
        print(f'implausible: {problem}')
    if not problems:
        print('plausible')
