# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The counters of nodes from `/diagnostics`: of a recorded flight or of a running graph."""
from __future__ import annotations

import typing

import numpy as np

from px4_sim_ros.link.hil.link_state import TROUBLES
from px4_sim_ros.messages.diagnostics import level_of, node_name, values_of
from px4_sim_ros.messages.stamps import stamp_us
from px4_sim_ros.model.timebase import US_PER_S

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
    """Return the counters of each node that has published some, in the order of `nodes`.

    :param messages: of `/diagnostics`
    """
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
