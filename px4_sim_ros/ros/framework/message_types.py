# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Message classes from their ROS names."""
from __future__ import annotations

import functools
import importlib


@functools.cache
def message_class(name: str) -> type:
    """Return the class of `package/msg/Name`."""
    package, kind, cls = name.split('/')
    return getattr(importlib.import_module(f'{package}.{kind}'), cls)
