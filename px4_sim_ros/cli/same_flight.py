# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The words of a command that flies again what was flown."""
from __future__ import annotations

import argparse

# What is asked of a flight, and does not change it, is left out.
_ONCE = ('mode', 'autopilot', 'px4_dir', 'px4_schedule', 'scenario', 'mission', 'seed', 'vehicle',
         'wind', 'profile', 'params_file')
_REPEATED = 'set', 'node', 'remap'


def words(options: argparse.Namespace) -> list[str]:
    """Return the command `fly` with all that the flight depends on."""
    found = ['fly']
    for name in _ONCE:
        value = getattr(options, name)
        is_of_px4 = name.startswith('px4')
        if value not in (None, '') and (not is_of_px4 or options.autopilot == 'px4'):
            found += [_option(name), str(value)]
    for name in _REPEATED:
        for value in getattr(options, name) or ():
            found += [_option(name), str(value)]
    return found


def _option(name: str) -> str:
    return '--' + name.replace('_', '-')
