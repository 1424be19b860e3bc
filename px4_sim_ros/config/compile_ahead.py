"""The motion is compiled before the first flight on a machine, where nobody waits for an answer."""
from __future__ import annotations

import sys

from px4_sim_ros.config.configuration import load_configuration
from px4_sim_ros.model.body.dynamics import Dynamics
from px4_sim_ros.model.body.integrators import DynamicsParameters
from px4_sim_ros.model.body.motion import advance
from px4_sim_ros.model.compiled import is_kept, load_compiler
from px4_sim_ros.model.environment.environment import Environment


def prepare_compiler() -> None:
    """Load the compiler, and say that the first `Dynamics` will take a while, if it will."""
    load_compiler()
    if not is_kept(advance):
        print('the equations of motion are compiled for this machine; that is done once',
              file=sys.stderr, flush=True)


def compile_motion() -> None:
    """Compile all that any vehicle and integrator needs, or load what is kept from before."""
    prepare_compiler()
    configuration = load_configuration(None, {})
    world = configuration.world
    Dynamics(configuration.of_node('dynamics', DynamicsParameters), configuration.vehicle,
             Environment.of(world), world.step_us)
