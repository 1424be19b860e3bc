# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The fingerprint is told once, when all who know of it have reported since the end."""
import types

import pytest
from diagnostic_msgs.msg import DiagnosticArray

from px4_sim_ros.messages.diagnostic_status import diagnostic_status
from px4_sim_ros.messages.diagnostics import OK
from px4_sim_ros.messages.stamps import set_stamp
from px4_sim_ros.ros.tools.flown_watch import FlownWatch
from px4_sim_ros.step.repeatability import FINGERPRINT, FLOWN, OVER_US, Gap


def report(watch, name, time_us, **values):
    message = DiagnosticArray(status=[diagnostic_status(f'/{name}', OK, '', values)])
    set_stamp(message.header.stamp, time_us)
    watch._take(message)


FLOWN_SO = {FLOWN: 'True', FINGERPRINT: '0123456789abcdef'}


@pytest.fixture
def watch():
    node = types.SimpleNamespace(
        get_namespace=lambda: '/', create_subscription=lambda *arguments: None)
    return FlownWatch(node, 'embedded', shares_core=False)


def test_it_is_told_when_all_have_reported_since_the_end(watch):
    report(watch, 'dynamics', 8000, **FLOWN_SO)
    report(watch, 'hil_bridge', 8000)
    report(watch, 'manager', 8000)
    assert watch.news() == ''
    report(watch, 'pilot', 4000, **{FLOWN: 'True'})          # and not yet when
    assert watch.news() == ''
    report(watch, 'pilot', 12000, **{FLOWN: 'True', OVER_US: '12000'})
    assert watch.news() == ''                                # the others have not come so far
    report(watch, 'dynamics', 12000, **FLOWN_SO)
    report(watch, 'hil_bridge', 12000)
    assert watch.news() == ''
    report(watch, 'manager', 12000)
    assert watch.news() == ('the mission is flown: fingerprint 0123456789abcdef;'
                            ' another flight has the same')
    assert watch.news() == ''


def test_a_node_that_was_stopped_by_hand_is_told(watch):
    """The manager alone knows of it."""
    gap = Gap(4000, 'wind was stopped by hand')
    for name in 'dynamics', 'hil_bridge':
        report(watch, name, 12000, **FLOWN_SO)
    report(watch, 'pilot', 12000, **FLOWN_SO, **{OVER_US: '12000'})
    report(watch, 'manager', 12000, **gap.values())
    assert watch.news().endswith(
        'another flight may have another one: t = 0.004000 s: wind was stopped by hand')
