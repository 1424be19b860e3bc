# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The health of the lockstep: its pace and the wall time of each node, as tables and plots.

`lockstep_terms` defines the figures.
"""
from __future__ import annotations

import itertools
import math
import typing

import numpy as np

from px4_sim_ros.link.hil.link_state import TROUBLES
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.recording.analysis import lockstep_terms as terms
from px4_sim_ros.recording.analysis.lockstep_terms import Counters, figure, ratio, us_per_step
from px4_sim_ros.recording.report.plots import COLOURS, Line, Row
from px4_sim_ros.recording.report.report_page import heading, paragraph, table
from px4_sim_ros.step.clock import real_time_factor

# A node publishes its counters once a second, and once more when it stops: too soon for a rate.
_SHORTEST_S = 0.05
_MANAGER, _BRIDGE = 'manager', 'hil_bridge'


def _intervals(clock_s: np.ndarray) -> np.ndarray:
    """Return the indices of samples that are far enough apart for rates."""
    kept: list[int] = []
    last_s = -math.inf
    for i, at_s in enumerate(clock_s.tolist()):
        if math.isfinite(at_s) and at_s - last_s >= _SHORTEST_S:
            kept.append(i)
            last_s = at_s
    # Of a short run its whole is an interval.
    if len(kept) == 1 and clock_s[-1] > clock_s[0]:
        kept.append(len(clock_s) - 1)
    return np.array(kept, int)


# Plots


def lockstep_rows(found: typing.Mapping[str, Counters], step_us: int) -> list[Row]:
    rows = pace_rows(found[_MANAGER]) if _MANAGER in found else []
    rows.append(busy_row(found, step_us))
    if _BRIDGE in found:
        rows.append(trouble_row(found[_BRIDGE]))
    return rows


def pace_rows(manager: Counters) -> list[Row]:
    """Return the pace of simulated time."""
    kept = _intervals(manager.column('wall_time_s'))
    time_s = manager.time_s[kept][1:]
    wall_s, paced_s, sim_s, steps = (
        np.diff(manager.column(name)[kept])
        for name in ('wall_time_s', 'paced_s', 'sim_time_s', 'steps'))
    return [
        Row(terms.title(terms.REAL_TIME_FACTOR), 'simulated over wall time', [
            Line(terms.OF_THE_LAST_SECOND, time_s, ratio(sim_s, wall_s), COLOURS[2], spans=True),
            Line(terms.SINCE_THE_START, manager.time_s[kept],
                 manager.column('real_time_factor')[kept], COLOURS[0])]),
        Row(terms.title(terms.STEP_TIME), 'µs', [
            Line('all', time_s, us_per_step(wall_s, steps), COLOURS[2], spans=True),
            Line('without pacing', time_s, us_per_step(wall_s - paced_s, steps), COLOURS[1],
                 spans=True)])]


def busy_row(all_counters: typing.Mapping[str, Counters], step_us: int) -> Row:
    """Return the wall time that each node took for a step of the run."""
    lines: list[Line] = []
    for name, own in all_counters.items():
        kept = _intervals(own.time_s)
        steps = np.diff(own.time_s[kept]) * US_PER_S / step_us
        for part, spent_s in _busy_s(name, own).items():
            us = us_per_step(np.diff(spent_s[kept]), steps)
            if np.any(us > 0):
                us[us < 0] = np.nan     # counters begin at 0 when a node is started again
                lines.append(Line(part, own.time_s[kept][1:], us,
                                  COLOURS[len(lines) % len(COLOURS)], spans=True))
    return Row(terms.title(terms.BUSY_TIME), terms.US_PER_STEP, lines)


def trouble_row(bridge: Counters) -> Row:
    """Return the error counters of the link that are not 0."""
    shown = [name for name in TROUBLES if bridge.last(name) > 0]
    return Row(terms.title(terms.LINK_TROUBLES), 'so far', [
        Line(terms.counter_name(name), bridge.time_s, bridge.column(name), colour, steps=True)
        for name, colour in zip(shown, itertools.cycle(COLOURS))])


def _busy_s(name: str, own: Counters) -> dict[str, np.ndarray]:
    """Return the busy time of a node, and that of the autopilot if it has blocked on it."""
    waited_s = own.column('waited_s')
    # The first step waits for the boot of the autopilot as well.
    parts = {name: terms.own_busy_s(
        own.column('busy_s') - np.nan_to_num(own.column('boot_s')), waited_s)}
    if np.isfinite(waited_s).any():
        parts[terms.AUTOPILOT] = waited_s
    return parts


# Tables


def lockstep_table(all_counters: typing.Mapping[str, Counters]) -> str:
    """Return the figures of the whole run as HTML."""
    facts = lockstep_facts(all_counters)
    if not facts:
        return paragraph('No node has published counters.')
    busy = busy_totals_us(all_counters)
    total_us = sum(us for _, us in busy)
    content = table((), facts)
    if total_us > 0:
        content += heading(
            f'{terms.title(terms.BUSY_TIME)}, mean {terms.SINCE_THE_START}') + table(
                (terms.NODE, terms.US_PER_STEP, 'share of all'),
                [(name, f'{us:.1f}', f'{us / total_us:.1%}') for name, us in busy if us > 0], 1)
    return content


def lockstep_facts(all_counters: typing.Mapping[str, Counters]) -> list[tuple[str, str]]:
    """Return the figures of the whole run, as names and texts."""
    facts: list[tuple[str, str]] = []
    if _MANAGER in all_counters:
        manager = all_counters[_MANAGER]
        wall_s, paced_s, steps, sim_s = map(manager.last, (
            'wall_time_s', 'paced_s', 'steps', 'sim_time_s'))
        facts += [
            (terms.WALL_TIME, f"{figure(wall_s, '.3f')} s"),
            (terms.REAL_TIME_FACTOR, figure(real_time_factor(sim_s, steps, wall_s), '.2f')),
            (terms.STEP_TIME,
             f'{figure(float(us_per_step(wall_s, steps)))} µs, of which waiting for'
             f' the pace {figure(float(us_per_step(paced_s, steps)))} µs')]
    if _BRIDGE in all_counters:
        bridge = all_counters[_BRIDGE]
        facts += [(terms.LINK_STATES, ', '.join(
            f"{state} {figure(spent_s, '.2f')} s"
            for state, spent_s in state_seconds(bridge).items()))]
        facts += [(term, form.format(bridge.last(name))) for term, name, form in (
            (terms.UNANSWERED, 'unanswered', '{:.0f}'), (terms.TIME_RATIO, 'time_ratio', '{:.3f}')
        ) if name in bridge.values]
        facts += [(terms.counter_name(name), str(count))
                  for name, count in troubles(bridge).items()]
    return facts


def busy_totals_us(
    all_counters: typing.Mapping[str, Counters],
) -> list[tuple[str, float]]:
    """Return the mean wall time that each node took for a step of the run."""
    manager = all_counters.get(_MANAGER)
    steps = manager.last('steps') if manager else float('nan')
    totals = [(part, float(us_per_step(spent_s[-1], steps)))
              for name, own in all_counters.items()
              for part, spent_s in _busy_s(name, own).items() if len(spent_s)]
    return [(part, us) for part, us in totals if np.isfinite(us)]


def state_seconds(bridge: Counters) -> dict[str, float]:
    """Return the wall time in each state of the link."""
    return {name.removeprefix(terms.STATE_SECONDS): bridge.last(name)
            for name in bridge.values if name.startswith(terms.STATE_SECONDS)}


def troubles(bridge: Counters) -> dict[str, int]:
    """Return the counters of the link that are not 0, and the misses in any case.

    Steps without an answer have a place of their own.
    """
    return {name: int(bridge.last(name)) for name in TROUBLES
            if name in bridge.values and name != 'unanswered' and (
                name == terms.MISSES or bridge.last(name) > 0)}
