# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What nodes log tells the simulated time, once, and not before there is any."""
import logging
from unittest import mock

import pytest

from px4_sim_ros.model.timebase import untimed
from px4_sim_ros.ros.timed_logger import TimedLogger


@pytest.mark.parametrize('method', ['info', 'warning', 'error'])
@pytest.mark.parametrize('time_us, sentence, logged', [
    (12_004_000, 'imu is back', 't = 12.004000 s: imu is back'),
    (12_004_000, 'WAITING at t = 12.000000 s', 'WAITING at t = 12.000000 s'),
    (0, 'all nodes are active', 'all nodes are active')])
def test_a_sentence_has_its_time(method, time_us, sentence, logged):
    logger = mock.Mock()
    getattr(TimedLogger(logger, lambda: time_us), method)(sentence)
    assert logger.mock_calls == [getattr(mock.call, method)(logged)]
    assert untimed(logged) == sentence


def test_all_else_is_that_of_the_logger():
    assert TimedLogger(logging.getLogger('uav1.imu'), lambda: 0).name == 'uav1.imu'


@pytest.mark.parametrize('name', ['manager', 'barometer', 'hil_bridge'])
def test_nodes_log_so(name, make_process):
    _, (node,) = make_process(name)
    assert isinstance(node.get_logger(), TimedLogger)
    node.get_logger().warning('before the first step')
