# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A node that was shut down is told from one that does not answer, if its last message is lost."""
import types
import unittest.mock

import pytest

from px4_sim_ros.ros.manager.overdue_watch import Overdue
from px4_sim_ros.ros.manager.supervision import Supervision
from px4_sim_ros.step import graph
from px4_sim_ros.step.clock import LockstepClock
from px4_sim_ros.step.members import Member


@pytest.fixture
def manager():
    """Return the node of a manager that remembers what is asked of it."""
    found = unittest.mock.Mock()
    found.get_parameter.return_value.value = 'warn'
    found.count_publishers.return_value = 1
    return found


@pytest.fixture
def supervision(manager):
    members = [Member('', graph.of_instances({}), None)]
    clock = LockstepClock(4000, 1.0)
    bring_up = types.SimpleNamespace(
        members=members, nodes=(), was_dropped=lambda node: False)
    return Supervision(manager, types.SimpleNamespace(clock=clock), bring_up)


SILENT = Overdue('barometer', 'barometer does not answer')


def test_who_has_left_was_shut_down(supervision, manager):
    manager.count_publishers.return_value = 0
    supervision._on_overdue(SILENT)
    manager.count_publishers.assert_called_with('barometer/transition_event')
    manager.stop.assert_called_once_with('barometer was shut down', asked=False)


def test_who_is_there_is_only_named(supervision, manager):
    supervision._on_overdue(SILENT)
    manager.get_logger().error.assert_called_once_with(SILENT.sentence)
    manager.stop.assert_not_called()


def test_the_manager_itself_is_never_missed(supervision, manager):
    """It is what has not got a message that was lost."""
    manager.count_publishers.return_value = 0
    supervision._on_overdue(Overdue('manager', 'it was lost', publisher='imu'))
    manager.stop.assert_not_called()
