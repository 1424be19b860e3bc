# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command `top`: a running graph, node by node, on a terminal."""
from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import sys
import time
import typing

from diagnostic_msgs.msg import DiagnosticArray
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text
from std_msgs.msg import String

from px4_sim_ros.cli import output
from px4_sim_ros.cli.exit_codes import FAILED, INTERRUPTED
from px4_sim_ros.cli.snapshot_collector import (
    FOUND_AFTER_S,
    NODE_FIGURES,
    AutopilotSnapshot,
    LinkSnapshot,
    NodeSnapshot,
    Snapshot,
    SnapshotCollector,
    VehicleSnapshot,
)
from px4_sim_ros.cli.terminal import console
from px4_sim_ros.process.signals import Stop
from px4_sim_ros.recording.analysis import lockstep_terms as terms
from px4_sim_ros.recording.analysis.lockstep_terms import figure
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.framework.session import spin_once
from px4_sim_ros.ros.tools.control_client import Control, ControlError
from px4_sim_ros.step import side_topics

_REFRESH_S = 0.5
# Ctrl-C is noticed after this; each spin costs.
_SPIN_S = 0.1
# A node that has not reported by then is silent.
_TWO_ROUNDS_S = FOUND_AFTER_S + 0.1

_STYLES = {terms.WELL: 'green', terms.NOTABLE: 'yellow', terms.TROUBLE: 'bold red',
           terms.UNKNOWN: ''}


def top(options: argparse.Namespace) -> int:
    """Show the graph until Ctrl-C, or once; return the exit code."""
    live = not (options.once or options.json) and _can_redraw()
    control = Control(options.namespace)
    with contextlib.closing(control):
        try:
            collector = _listen(control)
            _ = control.status        # raises when there is no graph
            if live:
                _show_live(control, collector)
            else:
                _print_once(control, collector, options.json)
        except ControlError as error:
            return output.failed('top', error, FAILED)
        except KeyboardInterrupt:
            return 0 if live else INTERRUPTED
    return 0


def _can_redraw() -> bool:
    return sys.stdout.isatty() and not Console().is_dumb_terminal


def _listen(control: Control) -> SnapshotCollector:
    """Return a collector that takes in the graph's messages when the node of `control` is spun."""
    node = control.node
    collector = SnapshotCollector(node.get_namespace(), time.monotonic())

    def on_link(state: String) -> None:
        collector.link_state = state.data

    def on_diagnostics(message: DiagnosticArray, info: dict[str, int]) -> None:
        collector.on_diagnostics(message, info['source_timestamp'] * 1e-9, time.monotonic())

    control.statuses.on_status = collector.on_status
    node.create_subscription(String, side_topics.LINK_STATE.name, on_link, qos.LATCHED)
    # A callback with the message's info is allowed, whatever rclpy's annotations say.
    node.create_subscription(
        DiagnosticArray, side_topics.DIAGNOSTICS.name,
        typing.cast(typing.Callable[[DiagnosticArray], None], on_diagnostics), qos.DEEP)
    return collector


def _expect_managed(control: Control, collector: SnapshotCollector) -> None:
    """Expect the nodes that the manager knows: a dead one does not report itself."""
    for name in control.managed():
        collector.expect(name)


def _print_once(control: Control, collector: SnapshotCollector, as_json: bool) -> None:
    def is_complete() -> bool:
        _expect_managed(control, collector)
        return collector.has_two_rounds()

    control.comes(is_complete, _TWO_ROUNDS_S)      # if not, a node is silent, as the snapshot shows
    snapshot = collector.snapshot(time.monotonic())
    print(to_json(snapshot) if as_json else to_text(snapshot, console().width))


def _show_live(control: Control, collector: SnapshotCollector) -> None:
    """Show the graph on the terminal until Ctrl-C."""
    stop = Stop()
    with Live(console=console(), screen=True, auto_refresh=False) as display:
        while not stop.asked:
            _expect_managed(control, collector)
            now_s = time.monotonic()
            display.update(picture(collector.snapshot(now_s)), refresh=True)
            while not stop.asked and time.monotonic() < now_s + _REFRESH_S:
                spin_once(control.node, _SPIN_S)


# Its picture.

def to_json(snapshot: Snapshot) -> str:
    """Return a snapshot as a JSON object; null is what is not known."""
    return json.dumps(dataclasses.asdict(snapshot, dict_factory=lambda pairs: {
        key: round(value, 6) if isinstance(value, float) else value for key, value in pairs}))


def to_text(snapshot: Snapshot, columns: int) -> str:
    """Return a snapshot as plain lines."""
    with open(os.devnull, 'w', encoding='utf-8') as nowhere:
        console = Console(file=nowhere, width=max(columns, 1), color_system=None)
        with console.capture() as capture:
            console.print(picture(snapshot))
    return '\n'.join(line.rstrip() for line in capture.get().splitlines())


def picture(snapshot: Snapshot) -> Group:
    """Return a snapshot as rich shows it."""
    if not snapshot.vehicles:
        return Group(_head(snapshot), '', _table(snapshot.nodes))
    # All nodes of many vehicles would fill several screens.
    shown = {name: node for name, node in snapshot.nodes.items() if '/' not in name or any(
        name in vehicle.troubled for vehicle in snapshot.vehicles.values())}
    return Group(_head(snapshot), '', _vehicles(snapshot.vehicles), '', _table(shown))


def _head(snapshot: Snapshot) -> Table:
    head = Table.grid(padding=(0, 2))
    head.add_column(style='dim', no_wrap=True)
    head.add_column()
    head.add_row('world', _world(snapshot))
    head.add_row('speed', _speed(snapshot))
    if not snapshot.vehicles:
        head.add_row('link', _link(snapshot.link))
        if snapshot.autopilot.status is not None:
            head.add_row('autopilot', _autopilot(snapshot.autopilot))
    return head


def _world(snapshot: Snapshot) -> Text:
    manager = snapshot.nodes['manager']
    if manager.silent:
        silent = ('manager is silent' if manager.heard_ago_s is None
                  else f'manager is silent for {manager.heard_ago_s:.0f} s')
        return Text(f'{silent}; it was {snapshot.state}', 'bold red')
    text = _state(snapshot.state)
    text.append(f'  run {figure(snapshot.run, "d")}'
                f'  t = {figure(snapshot.sim_time_s, ".3f")} s')
    if snapshot.sentence:
        text.append(f'\n{snapshot.sentence}', _style(snapshot.state))
    return text


def _speed(snapshot: Snapshot) -> str:
    asked = 'max' if snapshot.speed_factor == 0.0 else figure(snapshot.speed_factor, 'g')
    return (f'{terms.REAL_TIME_FACTOR} {figure(snapshot.real_time_factor, ".2f")}'
            f' {terms.OF_THE_LAST_SECOND},'
            f' {figure(snapshot.real_time_factor_since_start, ".2f")} {terms.SINCE_THE_START},'
            f' {asked} asked')


def _link(link: LinkSnapshot) -> Text:
    text = _state(link.state)
    text.append(f'  {figure(link.replies, "d")} replies')
    text.append(f'  {figure(link.misses, "d")} {terms.MISSES}',
                _STYLES[terms.TROUBLE] if link.misses else '')
    if link.wait_us_per_step is not None:
        text.append(f'  {terms.AUTOPILOT} {link.wait_us_per_step:.0f} {terms.US_PER_STEP}'
                    f' ({link.wait_percent:.0f} %)')
    if link.other_counters:
        counters = '  '.join(f'{count} {terms.counter_name(key)}'
                             for key, count in link.other_counters.items())
        text.append(f'\n{counters}', _STYLES[terms.NOTABLE])
    return text


def _autopilot(autopilot: AutopilotSnapshot) -> str:
    rates = [f'{topic} {figure(rate_hz, ".1f")} Hz'
             for topic, rate_hz in autopilot.sim_rates_hz.items()]
    return '  '.join([autopilot.status or terms.NOT_KNOWN, *rates])


def _vehicles(vehicles: typing.Mapping[str, VehicleSnapshot]) -> Table:
    """Return a row for each vehicle of a fleet."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style='bold reverse', pad_edge=False)
    for title in terms.VEHICLE, 'link':
        table.add_column(title, no_wrap=True)
    for title in ('replies', terms.MISSES, f'{terms.AUTOPILOT} {terms.US_PER_STEP}',
                  f'nodes {terms.US_PER_STEP}'):
        table.add_column(title, justify='right', no_wrap=True)
    for name, vehicle in vehicles.items():
        link = vehicle.link
        table.add_row(
            name, _state(link.state) if vehicle.is_there else Text('not there'),
            figure(link.replies, 'd'), figure(link.misses, 'd'),
            figure(link.wait_us_per_step, '.0f'), figure(vehicle.busy_us_per_step, '.0f'),
            style='red' if link.misses or vehicle.troubled else '')
    return table


def _state(state: str | None) -> Text:
    text = Text()
    text.append(state or terms.NOT_KNOWN, _style(state))
    return text


def _style(state: str | None) -> str:
    return _STYLES[terms.condition(state)]


def _table(nodes: typing.Mapping[str, NodeSnapshot]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style='bold reverse', pad_edge=False)
    table.add_column(terms.NODE, no_wrap=True)
    table.add_column(terms.STATE, no_wrap=True, min_width=len('inactive'))
    for title in NODE_FIGURES:
        table.add_column(title, justify='right', no_wrap=True)
    table.add_column(_cut(terms.WAITS_FOR), style='dim')     # the one that gives way
    for name, node in nodes.items():
        table.add_row(
            name, _state(node.state), *(text_of(node) for text_of in NODE_FIGURES.values()),
            _cut(', '.join(node.waits_for)), style='red' if node.silent else '')
    return table


def _cut(text: str) -> Text:
    return Text(text, no_wrap=True, overflow='ellipsis')
