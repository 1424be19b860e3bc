# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command `top`: a running graph, node by node, from two reports of each node."""
from __future__ import annotations

import argparse
import contextlib
import math
import time
import typing

from diagnostic_msgs.msg import DiagnosticArray
from rich.table import Table
from rich.text import Text

from px4_sim_ros.cli import output
from px4_sim_ros.cli.output import FAILED
from px4_sim_ros.cli.terminal import console
from px4_sim_ros.link.hil.link_state import TROUBLES
from px4_sim_ros.messages.diagnostics import node_name, values_of
from px4_sim_ros.messages.run_status import RunStatus
from px4_sim_ros.messages.stamps import stamp_us
from px4_sim_ros.recording.analysis import lockstep_terms as terms
from px4_sim_ros.recording.analysis.lockstep_terms import CounterSample, counter_sample
from px4_sim_ros.ros.framework import diagnostics, qos
from px4_sim_ros.ros.tools.control_client import Control, ControlError
from px4_sim_ros.spec.resources import PACKAGE
from px4_sim_ros.step import side_topics

# Discovery takes a while, and two rounds of reports.
_TWO_ROUNDS_S = 5.1
_SILENT_AFTER_S = 2.5
# Reports that come closer together than this count as one: a node also reports when it stops.
_SHORTEST_INTERVAL_S = diagnostics.PERIOD_S / 2

Row = dict[str, typing.Any]
_FIGURES = {'sim_rate_hz': terms.SIM_RATE, 'wall_rate_hz': terms.WALL_RATE,
            'busy_us_per_step': terms.US_PER_OWN_STEP, 'busy_percent': terms.BUSY_SHARE}


class NodeReports:
    """The last two reports of a node."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self._heard_s = -math.inf
        self._samples: list[tuple[float, CounterSample | None]] = []

    def take(
        self, values: dict[str, str], sample: CounterSample | None, sent_s: float, now_s: float,
    ) -> None:
        """Take in a report, by the wall clocks of the sender and of the receiver."""
        self.values, self._heard_s = values, now_s
        if len(self._samples) > 1 and sent_s - self._samples[-1][0] < _SHORTEST_INTERVAL_S:
            del self._samples[-1]
        self._samples = [*self._samples[-1:], (sent_s, sample)]

    def forget(self) -> None:
        """Begin anew: the counters do."""
        self._samples.clear()

    @property
    def has_two(self) -> bool:
        return len(self._samples) > 1

    def rates(self) -> Row:
        """Return rates and times between the reports; {} if they are not known."""
        if not self.has_two:
            return {}
        (sent_s, earlier), (later_s, later) = self._samples
        if earlier is None or later is None:
            return {}

        def grown(name: str) -> float:
            return later.numbers.get(name, 0.0) - earlier.numbers.get(name, 0.0)

        wall_s, sim_s, steps = later_s - sent_s, later.time_s - earlier.time_s, grown('steps')
        if min(wall_s, sim_s, steps, grown('busy_s')) < 0.0 or not wall_s:
            return {}
        waited_s = grown('waited_s')
        busy_s = max(0.0, grown('busy_s') - waited_s)
        found = {
            'sim_rate_hz': float(terms.ratio(steps, sim_s)) if steps else 0.0,
            'wall_rate_hz': steps / wall_s,
            'busy_us_per_step': float(terms.us_per_step(busy_s, steps)),
            'busy_percent': 100.0 * busy_s / wall_s}
        if 'waited_s' in later.numbers:
            found['wait_us_per_step'] = float(terms.us_per_step(waited_s, steps))
        return {key: value for key, value in found.items() if math.isfinite(value)}

    def is_silent(self, now_s: float) -> bool:
        """Return whether nothing has come for long."""
        return now_s - self._heard_s > _SILENT_AFTER_S


class Reports:
    """What the nodes of a graph report on `/diagnostics`, where nodes of others report as well."""

    def __init__(self, namespace: str) -> None:
        self._namespace, self._run = namespace, 0
        self.nodes: dict[str, NodeReports] = {}

    def on_status(self, status: RunStatus) -> None:
        """Take in the run status: in another run all counters begin at 0."""
        if status.run != self._run:
            self._run = status.run
            for node in self.nodes.values():
                node.forget()

    def on_diagnostics(self, message: DiagnosticArray, sent_s: float, now_s: float) -> None:
        for status in message.status:
            name = node_name(self._namespace, status.name)
            if status.hardware_id == PACKAGE and name != status.name:
                self.nodes.setdefault(name, NodeReports()).take(
                    values_of(status), counter_sample(status, stamp_us(message.header.stamp)),
                    sent_s, now_s)

    def has_two_rounds(self, names: typing.Iterable[str]) -> bool:
        """Return whether there is a difference of each of these nodes."""
        return all(name in self.nodes and self.nodes[name].has_two for name in names)

    def rows(self, names: typing.Iterable[str], now_s: float) -> dict[str, Row]:
        """Return the figures of nodes, by name; a dead one is silent."""
        rows: dict[str, Row] = {}
        for name in names:
            node = self.nodes.get(name, NodeReports())
            if node.is_silent(now_s):
                rows[name] = {'state': terms.SILENT}
                continue
            rows[name] = {'state': node.values.get('lifecycle', terms.NOT_KNOWN), **node.rates(),
                          'waits_for': node.values.get('waits_for', '')}
            if name.rpartition('/')[2] == 'hil_bridge':
                rows[name]['link'] = {
                    'state': node.values.get('state', terms.NOT_KNOWN),
                    **{key: int(node.values.get(key, 0)) for key in ('replies', *TROUBLES)}}
        return rows


def top(options: argparse.Namespace) -> int:
    """Print what the graph does; return the exit code."""
    control = Control(options.namespace)
    with contextlib.closing(control):
        try:
            reports = _listen(control)
            _ = control.status        # raises when there is no graph

            def names() -> list[str]:
                return ['manager', *control.managed()]

            # If not, a node is silent, as its row shows.
            control.comes(lambda: reports.has_two_rounds(names()), _TWO_ROUNDS_S)
            rows = reports.rows(names(), time.monotonic())
            if options.json:
                output.write_json(options.json, control.status.values() | {
                    'sentence': control.status.sentence, 'nodes': rows}, indent=None)
            else:
                _print(control.summary(), rows)
        except ControlError as error:
            return output.failed('top', error, FAILED)
    return 0


def _listen(control: Control) -> Reports:
    """Return the reports, which come in when the node of `control` is spun."""
    reports = Reports(control.node.get_namespace())

    def on_diagnostics(message: DiagnosticArray, info: dict[str, int]) -> None:
        # By the sender's clock, which no delay on the way falsifies.
        reports.on_diagnostics(message, info['source_timestamp'] * 1e-9, time.monotonic())

    control.statuses.on_status = reports.on_status
    # A callback with the message's info is allowed, whatever rclpy's annotations say.
    control.node.create_subscription(
        DiagnosticArray, side_topics.DIAGNOSTICS.name,
        typing.cast(typing.Callable[[DiagnosticArray], None], on_diagnostics), qos.DEEP)
    return reports


def _print(summary: str, rows: typing.Mapping[str, Row]) -> None:
    """Print the run, the links, and a table of the nodes."""
    terminal = console()
    terminal.print(Text(summary))
    for name, row in rows.items():
        if 'link' in row:
            terminal.print(Text(_link(name.rpartition('/')[0], row)))
    terminal.print(_table(rows))


def _link(vehicle: str, row: Row) -> str:
    """Return the state of a link, its counters that are not 0, and how long a step waits."""
    counters = dict(row['link'])
    parts = [f'{vehicle} link'.strip(), counters.pop('state'),
             f"{counters.pop('replies')} replies", f'{counters.pop(terms.MISSES)} {terms.MISSES}']
    if 'wait_us_per_step' in row:
        parts.append(f"{terms.AUTOPILOT} {row['wait_us_per_step']:.0f} {terms.US_PER_STEP}")
    return '  '.join([*parts, *(f'{count} {terms.counter_name(key)}'
                                for key, count in counters.items() if count)])


def _table(rows: typing.Mapping[str, Row]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style='bold reverse', pad_edge=False)
    for title in terms.NODE, terms.STATE:
        table.add_column(title, no_wrap=True)
    for title in _FIGURES.values():
        table.add_column(title, justify='right', no_wrap=True)
    table.add_column(terms.WAITS_FOR, style='dim', no_wrap=True, overflow='ellipsis')
    for name, row in rows.items():
        table.add_row(
            name, row['state'], *(terms.figure(row.get(key), '.1f') for key in _FIGURES),
            row.get('waits_for', ''), style='red' if row['state'] == terms.SILENT else '')
    return table
