# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The motion is compiled before the first flight on a machine, when nothing waits for it."""
from __future__ import annotations

import dataclasses
import fcntl
import signal
import subprocess
import sys

from px4_sim_ros.jit.code_cache import IS_PLAIN, MOTION, cache_folder, is_kept
from px4_sim_ros.process.children import die_with_parent, own_module

# Ctrl-C, and the end of the terminal, go to both processes.
_OF_THE_TERMINAL = -signal.SIGINT, -signal.SIGHUP


def is_compiled() -> bool:
    """Return whether there is nothing to compile."""
    return IS_PLAIN or is_kept(MOTION)


def compile_ahead() -> None:
    """Compile what is not compiled on this machine yet, in a process that can be interrupted.

    It is not done in this one: the compiler looks at signals once in many seconds.

    :raises KeyboardInterrupt: also when the other process was interrupted
    """
    if is_compiled():
        return
    print('the equations of motion are compiled for this machine; that is done once',
          file=sys.stderr, flush=True)
    if cache_folder() is None:
        return                  # nothing can be kept: each process compiles for itself
    done = subprocess.run(
        [*die_with_parent(), *own_module(__name__)], capture_output=True, text=True)
    if done.returncode in _OF_THE_TERMINAL:
        raise KeyboardInterrupt
    if done.returncode:
        raise RuntimeError('the equations of motion cannot be compiled: '
                           + (done.stderr.splitlines() or [f'exit code {done.returncode}'])[-1])


def compile_motion() -> None:
    """Compile all that any vehicle, wind and integrator needs, or load what is kept from before."""
    from px4_sim_ros.model.body.dynamics import Dynamics
    from px4_sim_ros.model.body.integrators import DynamicsParameters
    from px4_sim_ros.model.environment.turbulence import TurbulentField
    from px4_sim_ros.model.world import Environment
    from px4_sim_ros.spec.configuration import load_configuration
    configuration = load_configuration(None, {})
    world = configuration.world
    TurbulentField(1.0, 1.0, world.seed, 'compiled ahead')
    parameters = configuration.of_node('dynamics', DynamicsParameters)
    # With steps of its own choice it needs all that one with equal steps does, and more.
    Dynamics(dataclasses.replace(parameters, integrator='rk45'), configuration.vehicle,
             Environment.of(world), world.step_us)


def _compile_once() -> None:
    """Compile what no other process of this machine has compiled meanwhile."""
    folder = cache_folder()
    if folder is None:
        return
    with (folder / 'lock').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_compiled():
            compile_motion()


if __name__ == '__main__':
    # Ends at once: what is not finished is compiled by the next flight.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _compile_once()
