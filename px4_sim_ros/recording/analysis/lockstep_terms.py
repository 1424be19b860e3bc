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
import typing

import numpy as np
import numpy.typing as npt

from px4_sim_ros.link.hil.link_state import TROUBLES
from px4_sim_ros.messages.diagnostics import level_of, node_name, values_of
from px4_sim_ros.messages.stamps import stamp_us
from px4_sim_ros.model.timebase import US_PER_S

# The counters of nodes from `/diagnostics`: of a recorded flight.

_ADDED_UP = frozenset({'steps', *TROUBLES})


class CounterSample(typing.NamedTuple):
    """The counters of a node in one DiagnosticStatus."""

    time_s: float                       # simulated
    numbers: dict[str, float]


class Counters(typing.NamedTuple):
    """The counters of a node over time."""

    time_s: np.ndarray                  # simulated
    values: dict[str, np.ndarray]       # by name; NaN where a status has none

    def last(self, name: str) -> float:
        """Return the last number, NaN when there is none."""
        column = self.values.get(name, np.empty(0))
        finite = column[np.isfinite(column)]
        return float(finite[-1]) if len(finite) else float('nan')

    def column(self, name: str) -> np.ndarray:
        """Return a counter over time; NaN when there is none."""
        return self.values.get(name, np.full(len(self.time_s), np.nan))


def counters(
    namespace: str, nodes: typing.Iterable[str], messages: typing.Iterable[typing.Any],
) -> dict[str, Counters]:
    """Return the counters of each node that has published some, in the order of `nodes`."""
    found: dict[str, list[CounterSample]] = {}
    for message in messages:
        time_us = stamp_us(message.header.stamp)
        for status in message.status:
            sample = counter_sample(status, time_us)
            if sample:
                found.setdefault(node_name(namespace, status.name), []).append(sample)
    return {name: columns(found[name]) for name in nodes if name in found}


def from_zero(found: Counters) -> Counters:
    """Return the counters of a run with their beginning: all are 0 at time 0."""
    def begun(name: str, column: np.ndarray) -> np.ndarray:
        is_sum = name in _ADDED_UP or name.endswith('_s')
        return np.concatenate(([0.0 if is_sum else np.nan], column))

    return Counters(np.concatenate(([0.0], found.time_s)), {
        name: begun(name, column) for name, column in found.values.items()})


def counter_sample(status: typing.Any, time_us: int) -> CounterSample | None:
    """Return the counters in a DiagnosticStatus; None before the node's first step.

    Until then its time is that of an earlier run.
    """
    numbers = {k: v for k, v in map(_number, values_of(status).items()) if v is not None}
    if not numbers.get('steps'):
        return None
    return CounterSample(time_us / US_PER_S, numbers | {'level': level_of(status)})


def _number(item: tuple[str, str]) -> tuple[str, float | None]:
    try:
        return item[0], float(item[1])
    except ValueError:
        return item[0], None


def columns(samples: typing.Iterable[CounterSample]) -> Counters:
    """Return the samples of a node as columns, in the order of time."""
    ordered = sorted(samples, key=lambda sample: (sample.time_s, sample.numbers['steps']))
    names = dict.fromkeys(name for sample in ordered for name in sample.numbers)
    return Counters(
        np.array([sample.time_s for sample in ordered]),
        {name: np.array([sample.numbers.get(name, np.nan) for sample in ordered])
         for name in names})


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

# Of nodes.
NODE, STATE, WAITS_FOR = 'node', 'state', 'waits for'
SIM_RATE, WALL_RATE = 'Hz sim', 'Hz wall'      # own steps per second of simulated, of wall time
US_PER_OWN_STEP = 'µs/own step'                # busy time
BUSY_SHARE = '% wall'                          # busy time as a share of wall time

MISSES = 'misses'
UNANSWERED = 'steps without an answer'
TIME_RATIO = "simulated time over the autopilot's"
STATE_SECONDS = 'seconds_'                     # before the name of a state of the link

SILENT = 'silent'
NOT_KNOWN = '-'

Numbers = float | npt.NDArray[np.float64]


def title(term: str) -> str:
    return term[:1].upper() + term[1:]


def counter_name(key: str) -> str:
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
