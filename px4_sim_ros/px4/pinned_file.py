# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A file that stays in memory, also if the system would give its place to others."""
from __future__ import annotations

import ctypes
import mmap
import pathlib

import numpy as np

_LIBC = ctypes.CDLL(None, use_errno=True)


class PinnedFile:
    """Keeps a file in memory as long as it lives, so that who has mapped it never waits for it."""

    def __init__(self, path: pathlib.Path) -> None:
        """Read it; pin it if the limit of this user (`ulimit -l`) permits it.

        :raises OSError: it cannot be read
        :raises ValueError: it is empty
        """
        with path.open('rb') as file:
            mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
            file.read()
        self._bytes = np.frombuffer(mapped, np.uint8)
        # The map ends with the last who uses it, and the pin with the map.
        self.is_pinned = not _LIBC.mlock(
            ctypes.c_void_p(self._bytes.ctypes.data), ctypes.c_size_t(self._bytes.size))
