"""What nodes have counted, from `/diagnostics`: of a recorded flight or of a graph that runs."""
from __future__ import annotations

import typing

import numpy as np

from px4_sim_ros.messages.diagnostics import level_of, node_name, values_of
from px4_sim_ros.messages.stamps import stamp_us
from px4_sim_ros.model.timebase import US_PER_S


class Told(typing.NamedTuple):
    """What a node has told once."""

    time_s: float                       # simulated
    numbers: dict[str, float]


class Counters(typing.NamedTuple):
    """What a node has counted up to each of its times."""

    time_s: np.ndarray                  # simulated
    values: dict[str, np.ndarray]       # those that are numbers; NaN where there was none

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
    """Return the counters of each node that has told some, in the order of `nodes`.

    :param messages: of `/diagnostics`
    """
    found: dict[str, list[Told]] = {}
    for message in messages:
        time_us = stamp_us(message.header.stamp)
        for status in message.status:
            told = told_by(status, time_us)
            if told:
                found.setdefault(node_name(namespace, status.name), []).append(told)
    return {name: columns(found[name]) for name in nodes if name in found}


def told_by(status: typing.Any, time_us: int) -> Told | None:
    """Return what a DiagnosticStatus tells; None before the node's first step.

    Until then it tells an old time.
    """
    numbers = {k: v for k, v in map(_number, values_of(status).items()) if v is not None}
    if not numbers.get('steps'):
        return None
    return Told(time_us / US_PER_S, numbers | {'level': level_of(status)})


def _number(item: tuple[str, str]) -> tuple[str, float | None]:
    try:
        return item[0], float(item[1])
    except ValueError:
        return item[0], None


def columns(told: typing.Iterable[Told]) -> Counters:
    """Return all that a node has told, in the order of time."""
    told = sorted(told, key=lambda one: (one.time_s, one.numbers['steps']))
    names = dict.fromkeys(name for one in told for name in one.numbers)
    return Counters(
        np.array([one.time_s for one in told]),
        {name: np.array([one.numbers.get(name, np.nan) for one in told]) for name in names})
