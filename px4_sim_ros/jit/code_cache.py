# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where the machine code of compiled functions is kept, known without the compiler.

It is in the cache of the user, in a folder for each state of the sources that are compiled: Numba
itself only looks at the path and the time of the file of a function, and not at the files of the
functions that it calls. Folders of states that are gone can be removed at any time.
"""
from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import pathlib
import sys

IS_PLAIN = os.environ.get('NUMBA_DISABLE_JIT', '0') != '0'
"""Whether nothing is compiled."""

MOTION, BURST, AUTOPILOT, ROWS, SCAN, COLOURS = (
    'advance', 'burst', 'answer', 'rows', 'scan', 'colours')
"""What is kept."""

_ROOMS = 'autopilot', 'jit', 'model'


def sources() -> list[pathlib.Path]:
    """Return the files that machine code is made of."""
    package = pathlib.Path(__file__).parent.parent
    return sorted([*(path for room in _ROOMS for path in (package / room).rglob('*.py')),
                   *package.glob('link/hil/burst_code.py'), *package.glob('link/hil/codec.py'),
                   *package.glob('recording/bag/step_rows.py')])


@functools.cache
def cache_folder() -> pathlib.Path | None:
    """Return the folder for the sources and the compiler as they are, None if it cannot be."""
    root = pathlib.Path(os.environ.get('XDG_CACHE_HOME') or pathlib.Path.home() / '.cache')
    digest = hashlib.sha256(sys.version.encode())
    # Of other packages the first file is as good as the version, and soon found.
    specs = map(importlib.util.find_spec, ('numba', 'numpy'))
    others = [pathlib.Path(spec.origin) for spec in specs if spec and spec.origin]
    for path in (*others, *sources()):
        digest.update(f'{path} {path.stat().st_mtime_ns}'.encode() + path.read_bytes())
    folder = root / 'px4_sim_ros' / digest.hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def is_kept(name: str) -> bool:
    """Return whether there is machine code of this name, see `machine_code`, of any processor."""
    folder = cache_folder()
    return folder is not None and any(folder.glob(f'{name}-*.o'))
