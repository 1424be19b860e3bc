# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Python's collector of cycles stays away while a program starts."""
import gc


def hold() -> None:
    """Let it wait until the program has been loaded."""
    gc.disable()


def release() -> None:
    """Let it begin, if it was held, and leave alone what has been made so far."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def keep() -> None:
    """Leave alone what has been made by now: to look through all of it takes up to 80 ms."""
    gc.collect()
    gc.freeze()
