# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A flight as a log has it, flown by `Dynamics`, with noise of a motion capture."""
import dataclasses

import numpy as np

from px4_sim_ros.model import rotation
from px4_sim_ros.model.body.dynamics import Dynamics
from px4_sim_ros.model.body.integrators import DynamicsParameters
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.real.flight import RealFlight, standard_environment
from px4_sim_ros.real.open_loop import turned
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.spec.resources import named_file, read_yaml

STEP_US = 10_000
NOISE = 0.002, 0.01, 0.002, 0.01       # m, m/s, rad, rad/s
UP = 50.0                              # m, away from the ground


def iris():
    """Return the content of the Iris's file."""
    return read_yaml(named_file('vehicles', 'iris'), 'vehicle file')


def fly(content, seed=0, duration_s=60.0, wind=(0.0, 0.0, 0.0), noise=NOISE, shakes=0.02):
    """Return a flight through attitudes, climbs and turns at random, at nominal voltage.

    :param shakes: deviation of what each command gets on top, so that its motor is seen
    """
    random = np.random.default_rng(seed)
    vehicle = dataclasses.replace(Vehicle.from_mapping('vehicle', content), battery=None)
    parameters = load_configuration(None, {'dynamics': {'substeps': 2}}).of_node(
        'dynamics', DynamicsParameters)
    dynamics = Dynamics(parameters, vehicle, standard_environment(), STEP_US, ground=False)
    hover = vehicle.hover_speed_rad_s(9.80665)
    dynamics.state[2], dynamics.state[13:17] = UP, hover
    dynamics.state[6:10] = 1.0, 0.0, 0.0, 0.0
    count = round(duration_s * 1e6 / STEP_US)
    states, commands = np.empty((count, 13)), np.empty((count, 4))
    for i in range(count):
        states[i] = dynamics.state[:13]
        if i % 50 == 0:
            wanted = random.uniform((-0.3, -0.3, -1.0, -1.5), (0.3, 0.3, 1.0, 1.5))
        commands[i] = np.clip(
            _control(vehicle, states[i], wanted) + random.normal(0.0, shakes, 4), 0.0, 1.0)
        dynamics.step(vehicle.rotor_speed_references_rad_s(commands[i], True), wind)
    shapes = ((3, noise[0]), (3, noise[1]), (3, noise[2]), (3, noise[3]))
    position, velocity, turn, rate = (random.normal(0.0, 1.0, (count, n)) * s for n, s in shapes)
    by = np.concatenate((np.ones((count, 1)), 0.5 * turn), axis=1)
    attitude = turned(states[:, 6:10], by / np.linalg.norm(by, axis=1, keepdims=True))
    return RealFlight(
        'simulated', STEP_US / 1e6, states[:, :3] + position, states[:, 3:6] + velocity, attitude,
        states[:, 10:] + rate, np.ones(count, bool), commands=commands)


def _control(vehicle, state, wanted):
    """Return commands that bring tilt, yaw rate and climb to what is wanted, roughly."""
    up = np.array(rotation.to_body(rotation.matrix(tuple(state[6:10])), (0.0, 0.0, 1.0)))
    rate = state[10:]
    asked = 0.02 * np.array((
        8.0 * (wanted[0] - up[1]) - 1.5 * rate[0], 8.0 * (wanted[1] + up[0]) - 1.5 * rate[1],
        wanted[2] - rate[2]))
    levers = np.array([(r.position_m[1], -r.position_m[0], -r.spin) for r in vehicle.rotors])
    collective = vehicle.hover_command(9.80665) + 0.1 * (wanted[3] - state[5])
    return collective + levers / np.abs(levers).max(axis=0) @ asked
