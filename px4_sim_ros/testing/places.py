# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What each kind of test needs: a place for what a failure leaves, and a PX4."""
from __future__ import annotations

import pathlib
import shutil
import typing

import pytest


def folder_of(item: pytest.Item) -> pathlib.Path:
    """Return an empty place for what a failure leaves; that of the run before is removed."""
    name = ''.join(c if c.isalnum() or c in '._-' else '_' for c in item.nodeid)
    folder = pathlib.Path(item.config.getoption('flights')) / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    return folder


def repeatable_px4(px4_dir: str) -> typing.Any:
    """Return a PX4 that repeats itself, or one on a core of its own where that is not permitted."""
    from px4_sim_ros.model.errors import ParameterError
    from px4_sim_ros.run.px4 import ONE_CORE, REPEATABLE, Px4
    try:
        return Px4.find(px4_dir, REPEATABLE)
    except ParameterError:
        return Px4.find(px4_dir, ONE_CORE)
