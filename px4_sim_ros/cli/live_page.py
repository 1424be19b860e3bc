# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The page of `top`: what a running graph does, with the plots of a flight's report.

While the graph runs the page is written again and again, and the browser reads it again by
itself; no server is needed. Plotly is a file of its own meanwhile, as it is by far the largest
part. What is left at the end is one file.
"""
from __future__ import annotations

import math
import pathlib
import typing

import numpy as np

from px4_sim_ros.cli.graph_snapshot import NODE_FIGURES, LinkSnapshot, NodeSnapshot, Snapshot
from px4_sim_ros.model.errors import sentence
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.process import atomic_write
from px4_sim_ros.recording.analysis import lockstep_terms as terms
from px4_sim_ros.recording.analysis.counters import Counters
from px4_sim_ros.recording.analysis.lockstep_terms import figure
from px4_sim_ros.recording.report import report_page
from px4_sim_ros.recording.report.lockstep_health import lockstep_rows, lockstep_table
from px4_sim_ros.recording.report.plots import CONDITION_COLOURS
from px4_sim_ros.recording.report.report_page import Html, Live, Section, paragraph
from px4_sim_ros.ros.tools.control_client import ControlError

PERIOD_S = 2.0
# What is kept of each node: half an hour.
_ROUNDS = 1800

AllCounters = typing.Mapping[str, Counters]


class LivePage:
    """Writes the page; whoever reads it meanwhile gets the whole of the one before."""

    rounds = _ROUNDS           # of messages that it shows of each node
    period_s = PERIOD_S        # at which it is written

    def __init__(self, path: pathlib.Path) -> None:
        """Write nothing yet."""
        self.path = path
        self._plotly = path.with_name(f'{path.stem}_plotly.js')
        self._live = Live(self._plotly.name, PERIOD_S)
        self._due_s = -math.inf

    def is_due(self, now_s: float) -> bool:
        """Return whether it is time to write."""
        return now_s >= self._due_s

    def write(self, snapshot: Snapshot, counters: AllCounters, now_s: float) -> None:
        """Write the page of a graph that goes on.

        :raises ControlError: it cannot be written
        """
        self._due_s = now_s + PERIOD_S
        if not self._plotly.exists():
            _replace(self._plotly, report_page.plotly_script())
        _replace(self.path, to_html(snapshot, counters, self._live))

    def finish(self, snapshot: Snapshot, counters: AllCounters) -> None:
        """Write the page that stays, with all that it needs.

        :raises ControlError: it cannot be written
        """
        _replace(self.path, to_html(snapshot, counters))
        self._plotly.unlink(missing_ok=True)


def _replace(path: pathlib.Path, text: str) -> None:
    try:
        atomic_write.write(path, text)
    except OSError as error:
        raise ControlError(f'{path}: {sentence(error)}') from error


# What is on the page


def to_html(snapshot: Snapshot, counters: AllCounters, live: Live | None = None) -> str:
    """Return the page.

    :param live: None for one that does not change any more
    """
    # Numbers that are none, or too large for a plot, become gaps.
    with np.errstate(all='ignore'):
        sections = [Section('nodes', 'Nodes', _nodes(snapshot.nodes)),
                    Section('lockstep', 'Lockstep', _plots(counters) + lockstep_table(counters))]
        return report_page.page('The running graph', _head(snapshot), sections, live)


def _head(snapshot: Snapshot) -> str:
    manager, link = snapshot.nodes['manager'], snapshot.link
    state = terms.SILENT if manager.silent else snapshot.state
    warning = paragraph(snapshot.sentence, 'warning') if snapshot.sentence else ''
    return warning + report_page.tiles([
        (terms.STATE, _state(state)),
        (terms.SIMULATED_TIME, f'{figure(snapshot.sim_time_s, ".3f")} s'),
        (f'{terms.REAL_TIME_FACTOR} {terms.OF_THE_LAST_SECOND}',
         figure(snapshot.real_time_factor, '.2f')),
        (f'{terms.REAL_TIME_FACTOR} {terms.SINCE_THE_START}',
         figure(snapshot.real_time_factor_since_start, '.2f')),
        ('link', _state(link.state)),
        (terms.MISSES, _misses(link))])


def _state(state: str | None) -> Html:
    return report_page.dot(CONDITION_COLOURS[terms.condition(state)], state or terms.NOT_KNOWN)


def _misses(link: LinkSnapshot) -> object:
    text = figure(link.misses, 'd')
    return report_page.dot(CONDITION_COLOURS[terms.TROUBLE], text) if link.misses else text


def _nodes(nodes: typing.Mapping[str, NodeSnapshot]) -> str:
    head = (terms.NODE, terms.STATE, *NODE_FIGURES, terms.WAITS_FOR)
    rows = [(name, _state(node.state), *(text_of(node) for text_of in NODE_FIGURES.values()),
             ', '.join(node.waits_for)) for name, node in nodes.items()]
    return report_page.table(head, rows, 2, 2 + len(NODE_FIGURES))


def _plots(counters: AllCounters) -> str:
    """Return the plots of a flight's report, over the time that has been seen."""
    step_us = _step_us(counters)
    if step_us is None:
        return report_page.NOTHING_TO_PLOT
    start_s = min(own.time_s[0] for own in counters.values())
    end_s = max(own.time_s[-1] for own in counters.values())
    return report_page.time_plot(
        lockstep_rows(counters, step_us), [], (start_s, max(end_s, start_s + 1e-3)), _ROUNDS,
    ) or report_page.NOTHING_TO_PLOT


def _step_us(counters: AllCounters) -> int | None:
    """Return the step of the run, by what the manager has counted; None until it has."""
    manager = counters.get('manager')
    if manager is None:
        return None
    return round(manager.last('sim_time_s') / manager.last('steps') * US_PER_S)
