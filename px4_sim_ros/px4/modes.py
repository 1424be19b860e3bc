# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Modes of PX4 in the custom_mode of a HEARTBEAT: its px4_custom_mode.h."""
from __future__ import annotations

_AUTO = 4
_MAIN = {1: 'MANUAL', 2: 'ALTCTL', 3: 'POSCTL', _AUTO: 'AUTO', 5: 'ACRO', 6: 'OFFBOARD',
         7: 'STABILIZED', 10: 'TERMINATION', 11: 'ALTITUDE_CRUISE'}
_SUB = {1: 'AUTO_READY', 2: 'AUTO_TAKEOFF', 3: 'AUTO_LOITER', 4: 'AUTO_MISSION', 5: 'AUTO_RTL',
        6: 'AUTO_LAND', 8: 'AUTO_FOLLOW_TARGET', 9: 'AUTO_PRECLAND', 10: 'AUTO_VTOL_TAKEOFF'}
_SUB_BY_NAME = {name: sub for sub, name in _SUB.items()}
_NUMBERS = {name: (main, 0) for main, name in _MAIN.items() if main != _AUTO} | {
    name: (_AUTO, sub) for name, sub in _SUB_BY_NAME.items()}

MODES = tuple(_NUMBERS)
"""The names of all modes."""


def mode_name(custom_mode: int) -> str:
    """Return the name of a mode, '' for one that is not known."""
    return mode_of(custom_mode >> 16 & 0xFF, custom_mode >> 24)


def mode_of(main: float, sub: float) -> str:
    """Return the name of a mode by main mode and sub-mode, '' for one that is not known."""
    return _SUB.get(int(sub), '') if main == _AUTO else _MAIN.get(int(main), '')


def custom_mode(name: str) -> int:
    """Return the custom_mode of a mode."""
    main, sub = _NUMBERS[name]
    return main << 16 | sub << 24


def mode_numbers(name: str) -> tuple[int, int]:
    """Return main mode and sub-mode of a mode, as MAV_CMD_DO_SET_MODE takes them for PX4."""
    return _NUMBERS[name]
