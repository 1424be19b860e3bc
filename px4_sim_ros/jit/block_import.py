# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Imports without what a library would load and this package does not use."""
from __future__ import annotations

import contextlib
import sys
import types
import typing


@contextlib.contextmanager
def blocked_import(name: str) -> typing.Iterator[None]:
    """Let libraries be imported meanwhile as if a module that they can do without were missing.

    No other thread may import it meanwhile. Nothing happens if it is imported already.
    """
    if name in sys.modules:
        yield
        return
    modules = typing.cast('dict[str, types.ModuleType | None]', sys.modules)
    modules[name] = None        # so that an import of it fails
    try:
        yield
    finally:
        del modules[name]
