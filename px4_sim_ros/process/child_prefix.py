# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Programs that start others in a state that Python cannot give them, and what they start."""
import os
import pathlib
import sys

from px4_sim_ros.process.signal_mask import ENDING

# Signals wait until the process has its handlers and unblocks them: while Python imports, Ctrl-C
# would print where it has got to. (`env` is part of coreutils.)
SIGNALS_WAIT = ('env', f"--block-signal={','.join(map(str, ENDING))}", '--')


def die_with_parent(signal: str = 'TERM') -> tuple[str, ...]:
    """Return what starts a program to which the kernel sends a signal when this process is gone.

    Also if this process was killed, and before the kernel was asked. (`setpriv` is part of
    util-linux; Python's preexec_fn is not safe in a process with threads.)
    """
    still_there = 'test "$PPID" = "$0" && exec "$@"'
    return ('setpriv', '--pdeathsig', signal, '--', 'sh', '-c', still_there, str(os.getpid()))


def own_module(name: str, *arguments: str) -> list[str]:
    """Return what runs a module of this package.

    And not of one that is where the user happens to be, as `python -m` would by itself.
    """
    places = [str(pathlib.Path(__file__).parents[2]), os.environ.get('PYTHONPATH', '')]
    return ['env', f'PYTHONPATH={os.pathsep.join(filter(None, places))}',
            sys.executable, '-P', '-m', name, *arguments]
