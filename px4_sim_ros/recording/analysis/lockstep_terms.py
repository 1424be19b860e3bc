# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The figures of the lockstep: their names and definitions.

`top` shows them of a running graph, the report of a recorded flight; both use this module.

The real-time factor is simulated time over wall time; the manager's wall time excludes pauses.

A node's busy time is the wall time in which it works. The bridge's step includes the time in
which it blocks on the autopilot: that is reported as the autopilot's.

A step is one of the run, in which time advances; a node's own steps are those in which it has
something to do, so that a sensor with a longer period has fewer of them.
"""
from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from px4_sim_ros.model.timebase import US_PER_S

SIMULATED_TIME = 'simulated time'
WALL_TIME = 'wall time'
REAL_TIME_FACTOR = 'real-time factor'
OF_THE_LAST_SECOND = 'of the last second'      # between two messages of a node
SINCE_THE_START = 'since the start'
STEP_TIME = 'wall time of a step'
BUSY_TIME = 'busy time by node'
US_PER_STEP = 'µs a step'
LINK_STATES = 'wall time in the states of the link'
LINK_TROUBLES = 'troubles of the link, counted'
# Whose time it is in which the bridge blocks.
AUTOPILOT = 'autopilot'

VEHICLE = 'vehicle'                            # of a fleet
# Of nodes.
NODE, STATE, WAITS_FOR = 'node', 'state', 'waits for'
SIM_RATE, WALL_RATE = 'Hz sim', 'Hz wall'      # own steps per second of simulated, of wall time
US_PER_OWN_STEP = 'µs/own step'                # busy time
BUSY_SHARE = '% wall'                          # busy time as a share of wall time

MISSES = 'misses'
UNANSWERED = 'steps without an answer'
TIME_RATIO = "simulated time over the autopilot's"
STATE_SECONDS = 'seconds_'                     # before the name of a state of the link

# What is shown in which colour: states of the manager, of the link and of nodes.
WELL, NOTABLE, TROUBLE, UNKNOWN = 'well', 'notable', 'trouble', 'unknown'
SILENT = 'silent'
_CONDITIONS = {None: UNKNOWN} | dict.fromkeys(('RUNNING', 'LOCKED', 'active'), WELL) | (
    dict.fromkeys(('OVERDUE', 'STOPPED', 'STALLED', 'TERMINATED', SILENT), TROUBLE))
NOT_KNOWN = '-'

Numbers = float | npt.NDArray[np.float64]


def condition(state: str | None) -> str:
    """Return which of the four conditions a state is."""
    return _CONDITIONS.get(state, NOTABLE)


def title(term: str) -> str:
    """Return a term as a title."""
    return term[:1].upper() + term[1:]


def counter_name(key: str) -> str:
    """Return the name of a counter for display."""
    return key.replace('_', ' ')


def figure(value: float | None, form: str = '.4g') -> str:
    """Return a number for display; None and NaN are unknown."""
    return NOT_KNOWN if value is None or not math.isfinite(value) else format(value, form)


def ratio(part: Numbers, whole: Numbers) -> np.ndarray:
    """Return part over whole, NaN where there is no whole; of numbers or of arrays."""
    part, whole = np.asarray(part, float), np.asarray(whole, float)
    quotient = np.full(whole.shape, np.nan)
    np.divide(part, whole, out=quotient, where=whole > 0)
    return quotient


def us_per_step(spent_s: Numbers, steps: Numbers) -> np.ndarray:
    """Return a time in microseconds per step, NaN where there is no step."""
    return ratio(np.asarray(spent_s) * US_PER_S, steps)


def own_busy_s(busy_s: Numbers, waited_s: Numbers) -> np.ndarray:
    """Return the busy time of a node without that in which it blocked on the autopilot.

    :param waited_s: within `busy_s`; NaN where it has no such counter
    """
    return np.asarray(busy_s - np.nan_to_num(waited_s))
