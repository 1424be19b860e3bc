# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Python's collector of cycles stays away while a program starts.

Imports make some hundred thousand objects that stay to the end. The collector would look at all of
them again and again meanwhile, and once more at the end: a fifth of what a process takes to start.
This imports nothing that takes time: it is for the first lines of a program.
"""
import gc


def hold() -> None:
    """Let it wait until the program has been loaded."""
    gc.disable()


def release() -> None:
    """Let it begin, if it was held, and leave alone what has been made so far."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
