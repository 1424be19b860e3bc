"""How the lockstep of a flight went: its pace and what each node took, from `/diagnostics`."""
from __future__ import annotations

import typing

import numpy as np

from px4_sim_ros.core.timebase import US_PER_S
from px4_sim_ros.recording.flight_events import Beside, level_of, node_name, values_of
from px4_sim_ros.recording.plots import COLOURS, Line, Row
from px4_sim_ros.recording.run_description import RunDescription

# A node speaks once a second, and once more when it stops; what is closer is no interval.
_SHORTEST_S = 0.05
_STATE_PREFIX = 'seconds_'
# Counters of the bridge that tell of trouble; `replies` and `steps` do not.
_TROUBLES = ('misses', 'stale_replies', 'bad_messages', 'unknown_messages', 'foreign_messages',
             'mavlink1_messages', 'limited_controls', 'dropped_sends', 'refused_clients')


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


def counters(run: RunDescription, messages: typing.Iterable[Beside]) -> dict[str, Counters]:
    """Return the counters of each node, in the order of the graph."""
    told: dict[str, list[tuple[float, dict[str, float]]]] = {}
    for _, message in messages:
        stamp = message.header.stamp
        for status in message.status:
            numbers = {k: v for k, v in map(_number, values_of(status).items()) if v is not None}
            # Before its first step a node tells an old time.
            if numbers.get('steps'):
                told.setdefault(node_name(run, status.name), []).append((
                    stamp.sec + stamp.nanosec * 1e-9, numbers | {'level': level_of(status)}))
    return {name: _columns(told[name]) for name in run.graph.nodes if name in told}


def _number(item: tuple[str, str]) -> tuple[str, float | None]:
    try:
        return item[0], float(item[1])
    except ValueError:
        return item[0], None


def _columns(told: list[tuple[float, dict[str, float]]]) -> Counters:
    told = sorted(told, key=lambda sample: (sample[0], sample[1]['steps']))
    names = dict.fromkeys(name for _, numbers in told for name in numbers)
    return Counters(
        np.array([time_s for time_s, _ in told]),
        {name: np.array([numbers.get(name, np.nan) for _, numbers in told]) for name in names})


def _intervals(clock_s: np.ndarray) -> np.ndarray:
    """Return which samples to take differences of, so that none is of nearly no time."""
    kept: list[int] = []
    for i, at_s in enumerate(clock_s):
        if np.isfinite(at_s) and (not kept or at_s - clock_s[kept[-1]] >= _SHORTEST_S):
            kept.append(i)
    return np.array(kept, int)


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    ratio = np.full(len(whole), np.nan)
    np.divide(part, whole, out=ratio, where=whole > 0)
    return ratio


def pace_rows(manager: Counters) -> list[Row]:
    """Return how fast simulated time went."""
    kept = _intervals(manager.column('wall_time_s'))
    time_s = manager.time_s[kept][1:]
    wall_s, paced_s, sim_s, steps = (
        np.diff(manager.column(name)[kept])
        for name in ('wall_time_s', 'paced_s', 'sim_time_s', 'steps'))
    return [
        Row('Real-time factor', 'simulated over wall time', [
            Line('of the last second', time_s, _ratio(sim_s, wall_s), COLOURS[2], steps=True),
            Line('since the start', manager.time_s[kept],
                 _ratio(manager.column('sim_time_s')[kept], manager.column('wall_time_s')[kept]),
                 COLOURS[0])]),
        Row('Wall time of a step', 'µs', [
            Line('all', time_s, _ratio(wall_s, steps) * US_PER_S, COLOURS[2], steps=True),
            Line('without pacing', time_s,
                 _ratio(wall_s - paced_s, steps) * US_PER_S, COLOURS[1], steps=True)])]


def busy_row(all_counters: typing.Mapping[str, Counters], step_us: int) -> Row:
    """Return the wall time that each node took for a step of the run."""
    lines = []
    for name, own in all_counters.items():
        kept = _intervals(own.time_s)
        steps = np.diff(own.time_s[kept]) * US_PER_S / step_us
        columns = _busy_s(name, own)
        for part, spent_s in columns.items():
            us = _ratio(np.diff(spent_s[kept]) * US_PER_S, steps)
            if np.any(us > 0):
                us[us < 0] = np.nan     # counters begin at 0 when a node is started again
                lines.append(Line(part, own.time_s[kept][1:], us,
                                  COLOURS[len(lines) % len(COLOURS)], steps=True))
    return Row('Busy time by node', 'µs a step', lines)


def _busy_s(name: str, own: Counters) -> dict[str, np.ndarray]:
    """Return the busy time of a node; that in which the bridge waits is the autopilot's."""
    busy_s = own.column('busy_s')
    if name != 'hil_bridge':
        return {name: busy_s}
    waited_s = own.column('waited_s')
    return {name: busy_s - np.nan_to_num(waited_s), 'autopilot': waited_s}


def busy_totals_us(
    all_counters: typing.Mapping[str, Counters],
) -> list[tuple[str, float]]:
    """Return the mean wall time that each node took for a step of the run."""
    manager = all_counters.get('manager')
    steps = manager.last('steps') if manager else float('nan')
    return [(part, float(spent_s[-1]) / steps * US_PER_S)
            for name, own in all_counters.items() for part, spent_s in _busy_s(name, own).items()
            if len(spent_s) and np.isfinite(spent_s[-1]) and steps > 0]


def trouble_row(bridge: Counters) -> Row:
    """Return what went wrong on the link, counted; without lines when nothing did."""
    shown = [name for name in _TROUBLES if bridge.last(name) > 0]
    return Row('Troubles of the link, counted', 'so far', [
        Line(name.replace('_', ' '), bridge.time_s, bridge.column(name), colour, steps=True)
        for name, colour in zip(shown, COLOURS)])


def state_seconds(bridge: Counters) -> dict[str, float]:
    """Return the wall time in each state of the link."""
    return {name.removeprefix(_STATE_PREFIX): bridge.last(name)
            for name in bridge.values if name.startswith(_STATE_PREFIX)}


def troubles(bridge: Counters) -> dict[str, int]:
    """Return the counters of the link that are not 0, and the misses in any case."""
    return {name: int(bridge.last(name)) for name in _TROUBLES
            if name in bridge.values and (name == 'misses' or bridge.last(name) > 0)}
