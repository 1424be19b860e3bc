# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What nodes log tells the simulated time, once, and not before there is any."""
import logging
import time
from unittest import mock

import pytest
import rclpy
from builtin_interfaces.msg import Time
from rcl_interfaces.msg import Log

from px4_sim_ros.model.timebase import untimed
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.framework.lifecycle_node import TimedLogger


@pytest.mark.parametrize('method', ['info', 'warning', 'error'])
@pytest.mark.parametrize('time_us, sentence, logged', [
    (12_004_000, 'imu is back', 't = 12.004000 s: imu is back'),
    (12_004_000, 'WAITING at t = 12.000000 s', 'WAITING at t = 12.000000 s'),
    (0, 'all nodes are active', 'all nodes are active')])
def test_a_sentence_has_its_time(method, time_us, sentence, logged):
    logger = mock.Mock()
    getattr(TimedLogger(logger, lambda: time_us, None), method)(sentence)
    assert logger.mock_calls == [getattr(mock.call, method)(logged)]
    assert untimed(logged) == sentence


def test_all_else_is_that_of_the_logger():
    assert TimedLogger(logging.getLogger('uav1.imu'), lambda: 0, None).name == 'uav1.imu'


@pytest.mark.parametrize('level, is_enabled', [('WARN', True), ('WARN', False), ('INFO', True)])
def test_a_line_on_rosout_has_simulated_time(level, is_enabled):
    """That of the simulation, not of the wall clock, as far as the logger logs it."""
    logger, publisher = mock.Mock(), mock.Mock()
    logger.configure_mock(name='uav1.imu', **{'is_enabled_for.return_value': is_enabled})
    log = TimedLogger(logger, lambda: 12_004_000, publisher)
    (log.warning if level == 'WARN' else log.info)('imu\x1b is back')
    sent = [call.args[0] for call in publisher.publish.call_args_list]
    assert sent == is_enabled * [Log(
        stamp=Time(sec=12, nanosec=4_000_000), level=getattr(Log, level), name='uav1.imu',
        msg='t = 12.004000 s: imu\\x1b is back')]


@pytest.mark.parametrize('name', ['manager', 'barometer', 'hil_bridge'])
def test_nodes_log_so(name, make_process):
    _, (node,) = make_process(name)
    assert isinstance(node.get_logger(), TimedLogger)
    node.get_logger().warning('before the first step')
    lines = node.create_subscription(Log, '/rosout', (heard := []).append, qos.LATCHED_LOG)
    end_s = time.monotonic() + 20.0
    while not heard and time.monotonic() < end_s:
        rclpy.spin_once(node, timeout_sec=0.1)
    node.destroy_subscription(lines)
    heard = [m for m in heard if m.msg == 'before the first step']
    assert [(m.level, m.name, m.stamp.sec) for m in heard] == [(Log.WARN, name, 0)]
