# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where the machine code of compiled functions is kept, known without the compiler.

It is in the user's cache, in a folder for each state of the sources of `model` and `jit`: Numba
itself only looks at the path and the time of the file of a function, and not at the files of the
functions that it calls. Folders of states that are gone can be removed at any time.
"""
from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import os
import pathlib
import sys

IS_PLAIN = os.environ.get('NUMBA_DISABLE_JIT', '0') != '0'
"""Whether nothing is compiled."""

MOTION = 'advance'
"""What is kept last: with this one all that a flight needs is there."""


def sources() -> list[pathlib.Path]:
    """Return the files that machine code is made of."""
    package = pathlib.Path(__file__).parent.parent
    return sorted(path for room in ('jit', 'model') for path in (package / room).rglob('*.py'))


@functools.cache
def cache_folder() -> pathlib.Path | None:
    """Return the folder for the sources and the compiler as they are, None if it cannot be."""
    root = pathlib.Path(os.environ.get('XDG_CACHE_HOME') or pathlib.Path.home() / '.cache')
    versions = [importlib.metadata.version(package) for package in ('numba', 'numpy')]
    digest = hashlib.sha256(' '.join([sys.version, *versions]).encode())
    for path in sources():
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
