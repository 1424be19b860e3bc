# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What flies is compiled before the first flight on a machine, when nothing waits for it."""
from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import importlib
import signal
import subprocess
import sys

from px4_sim_ros.jit.code_cache import (
    AUTOPILOT,
    BURST,
    COLOURS,
    IS_PLAIN,
    MOTION,
    ROWS,
    SCAN,
    cache_folder,
    is_kept,
)
from px4_sim_ros.process.children import die_with_parent, own_module

# Ctrl-C, and the end of the terminal, go to both processes.
_OF_THE_TERMINAL = -signal.SIGINT, -signal.SIGHUP


# The module and the function that make each machine code: of rooms above this one as well.
_MAKERS = {
    MOTION: (__name__, 'compile_motion'),
    BURST: ('px4_sim_ros.link.hil.burst_code', 'prepare'),
    AUTOPILOT: ('px4_sim_ros.autopilot.answer', 'address'),
    ROWS: ('px4_sim_ros.recording.bag.step_rows', 'address'),
    SCAN: ('px4_sim_ros.model.scene.rays', 'address'),
    COLOURS: ('px4_sim_ros.model.scene.colours', 'address')}
# Its rays are those of the other, which has compiled them by then.
_AFTER = {COLOURS: SCAN}

_SEEING = SCAN, COLOURS


def not_compiled() -> list[str]:
    """Return the names of the machine code that is not kept."""
    return [] if IS_PLAIN else [name for name in _MAKERS if not is_kept(name)]


def compile_ahead(*, sees: bool = True) -> None:
    """Compile what is not compiled on this machine yet, in processes that can be interrupted.

    It is not done in this one: the compiler looks at signals once in many seconds.

    :param sees: also that of what looks at a scene
    :raises KeyboardInterrupt: also when another process was interrupted
    """
    names = [name for name in not_compiled() if sees or name not in _SEEING]
    if not names:
        return
    print('the equations of motion are compiled for this machine; that is done once,'
          ' and takes half a minute', file=sys.stderr, flush=True)
    if cache_folder() is None:
        return                  # nothing can be kept: each process compiles for itself
    with contextlib.ExitStack() as stack:
        compilers = []
        for name in names:
            compiler = stack.enter_context(subprocess.Popen(
                [*die_with_parent(), *own_module(__name__, name)],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
            stack.callback(compiler.kill)
            compilers.append(compiler)
        for compiler in compilers:
            _, printed = compiler.communicate()
            if compiler.returncode in _OF_THE_TERMINAL:
                raise KeyboardInterrupt
            if compiler.returncode:
                last = (printed.splitlines() or [f'exit code {compiler.returncode}'])[-1]
                raise RuntimeError(f'the equations of motion cannot be compiled: {last}')


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


def _compile_once(name: str) -> None:
    """Compile what no other process of this machine has compiled meanwhile."""
    folder = cache_folder()
    if folder is None:
        return
    if name in _AFTER:
        _compile_once(_AFTER[name])
    with (folder / f'{name}.lock').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if name in not_compiled():
            module, function = _MAKERS[name]
            getattr(importlib.import_module(module), function)()


if __name__ == '__main__':
    # Ends at once: what is not finished is compiled by the next flight.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _compile_once(sys.argv[1])
