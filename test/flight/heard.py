# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A collector of what a graph says, and nodes that say it by hand."""
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from px4_sim_ros.cli.snapshot_collector import SnapshotCollector
from px4_sim_ros.messages.run_status import RunStatus
from px4_sim_ros.messages.stamps import set_stamp
from px4_sim_ros.spec.resources import PACKAGE

# Senders' clock against ours: only differences of it may count.
AHEAD_S = 1e9


def said(values, name, message='', owner=PACKAGE):
    return DiagnosticStatus(
        name=name, hardware_id=owner, message=message,
        values=[KeyValue(key=key, value=str(value)) for key, value in values.items()])


class Heard:
    """A collector, and the nodes that it hears."""

    def __init__(self, namespace='/'):
        self.collector = SnapshotCollector(namespace, 0.0)

    def node(self, name, now_s, *, time_us=0, owner=PACKAGE, **values):
        message = DiagnosticArray(status=[said(values, name, owner=owner)])
        set_stamp(message.header.stamp, time_us)
        self.collector.on_diagnostics(message, now_s + AHEAD_S, now_s)

    def manager(self, message='RUNNING', **values):
        values = {'state': 'RUNNING', 'run': 1} | values
        self.collector.on_status(RunStatus.of(said(values, '/manager', message)))

    def snapshot(self, now_s):
        return self.collector.snapshot(now_s)
