# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Sequences of lifecycle calls: lost answers, refusals and silence, without any ROS node."""
import logging
import subprocess
import sys
import time
from unittest import mock

import pytest
import rclpy
from builtin_interfaces.msg import Time
from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.msg import Log
from std_srvs.srv import Trigger

from px4_sim_ros.model.timebase import untimed
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.framework.endpoints import NodeStatus
from px4_sim_ros.ros.framework.lifecycle_node import TimedLogger
from px4_sim_ros.ros.manager import lifecycle_client, sequences
from px4_sim_ros.ros.manager.lifecycle_client import (
    CONFIGURE,
    GoneError,
    ManagedNode,
    SequenceRunner,
    TransitionError,
)

LOST = None


class Answer:
    """A future that is done, or never will be."""

    def __init__(self, response):
        self._response = response

    def done(self):
        return self._response is not LOST

    def result(self):
        return self._response


class Services:
    """Answers the calls of one node from lists, one for each type of service."""

    def __init__(self, *, blinks=0, left=False, **answers):
        """Take the answers by type; seem to be gone the first `blinks` times."""
        self._answers = answers
        self._blinks, self._left = blinks, left
        self.asked = []

    def count_publishers(self, topic):
        assert topic == 'imu/transition_event'
        return not self._left

    def create_client(self, kind, name):
        services = self

        class Client:
            def service_is_ready(self):
                services._blinks -= 1
                return services._blinks < 0

            def call_async(self, request):
                services.asked.append(kind.__name__)
                return Answer(services._answers[kind.__name__].pop(0))

            def remove_pending_request(self, call):
                assert not call.done()

        return Client()


def state(number):
    response = GetState.Response()
    response.current_state.id = number
    return response


def run(sequence):
    """Advance to the end; a lost answer is given up at once."""
    runner = SequenceRunner(sequence, call_timeout_s=0.0)
    while not runner.tick():
        pass


CONFIGURED = state(State.PRIMARY_STATE_INACTIVE)
UNCONFIGURED = state(State.PRIMARY_STATE_UNCONFIGURED)


def test_a_transition_is_checked_by_the_state():
    services = Services(ChangeState=[ChangeState.Response(success=True)], GetState=[CONFIGURED])
    run(ManagedNode(services, 'imu').change(CONFIGURE))
    assert services.asked == ['ChangeState', 'GetState']


def test_a_lost_answer_to_a_transition_is_made_up_for_by_the_state():
    services = Services(ChangeState=[LOST], GetState=[LOST, LOST, CONFIGURED])
    run(ManagedNode(services, 'imu').change(CONFIGURE))
    assert services.asked == ['ChangeState', 'GetState', 'GetState', 'GetState']


@pytest.mark.parametrize('answer', [LOST, ChangeState.Response(success=False)])
def test_a_transition_that_failed_is_told_with_its_reason(answer):
    reason = NodeStatus(problem='no such file').to_json()
    services = Services(ChangeState=[answer], GetState=[UNCONFIGURED],
                        Trigger=[Trigger.Response(message=reason)])
    with pytest.raises(TransitionError, match=r'^imu did not configure: no such file$'):
        run(ManagedNode(services, 'imu').change(CONFIGURE))


def test_a_node_that_stays_silent_is_named():
    services = Services(ChangeState=[LOST], GetState=[LOST] * 5)
    with pytest.raises(TransitionError, match=r'^imu did not answer$'):
        run(ManagedNode(services, 'imu').change(CONFIGURE))
    assert services.asked == ['ChangeState'] + ['GetState'] * 5


def test_a_service_that_blinks_is_waited_for():
    services = Services(blinks=3, GetState=[CONFIGURED])
    run(ManagedNode(services, 'imu').state())
    assert services.asked == ['GetState']


def test_a_service_that_blinks_for_long_is_waited_for_while_the_node_is_there(monkeypatch):
    """On a busy machine it takes long: a manager that takes it for gone leaves it behind."""
    monkeypatch.setattr(lifecycle_client, '_BLINK_S', 0.0)
    services = Services(blinks=1000, GetState=[CONFIGURED])
    run(ManagedNode(services, 'imu').state())
    assert services.asked == ['GetState']
    assert ManagedNode(Services(blinks=10**9), 'imu').is_there
    assert not ManagedNode(Services(blinks=10**9, left=True), 'imu').is_there


@pytest.mark.parametrize('left', [True, False])
def test_a_node_whose_service_stays_away_has_gone(left, monkeypatch):
    monkeypatch.setattr(lifecycle_client, '_GONE_TIMEOUT_S', 10.0 if left else 0.3)
    services = Services(blinks=10**9, left=left)
    with pytest.raises(GoneError, match=r'^imu has gone: its process hangs or has ended$'):
        run(ManagedNode(services, 'imu').state())
    assert services.asked == []


@pytest.mark.parametrize('has_ended, errors', [(True, []), (False, ['imu does not answer'])])
def test_a_silent_node_that_has_said_that_it_ends_is_not_named(has_ended, errors, monkeypatch):
    """Its process may take seconds to leave DDS, as that of PX4's topics on a busy machine."""
    monkeypatch.setattr(sequences, '_LAST_ANSWER_TIMEOUT_S', 10.0 if has_ended else 0.0)
    monkeypatch.setattr(sequences, '_ANSWER_TIMEOUT_S', 0.0)
    node = ManagedNode(Services(Trigger=[LOST]), 'imu')
    node.has_ended = has_ended
    found, begun_s = [], time.monotonic()
    run(sequences.end([node], lambda error: found.append(str(error))))
    assert found == errors
    assert time.monotonic() - begun_s < 5.0


# Nodes leave nothing of ROS behind, for Fast DDS may hang where a process ends with it.

# All nodes are made, and destroyed again; then the threads of Fast DDS are listed.
MADE_AND_DESTROYED = '''
import pathlib, sys
from px4_sim_ros.ros import world
world._spin = lambda *arguments: None
world.main(['--ros-args', '--log-level', 'warn', '-p', 'recorder:=true', '-p', 'wind:=dryden'])
names = {(task / 'comm').read_text().strip() for task in pathlib.Path('/proc/self/task').iterdir()}
print(*sorted(name for name in names if name.startswith(('dds.ev', 'dds.udp'))))
'''


@pytest.mark.process
def test_no_participant_is_left_when_nodes_are_destroyed():
    done = subprocess.run([sys.executable, '-c', MADE_AND_DESTROYED],
                          capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, '\n', '')


# As rclpy warns of an answer that nothing takes any more, and another warning.
WARNED = '''
import warnings
from rclpy.impl.implementation_singleton import rclpy_implementation
from px4_sim_ros.ros.framework.session import ros_session
lost = 'failed to send response (timeout)'
assert lost.encode() in open(rclpy_implementation.__file__, 'rb').read()
with ros_session():
    for text in f'{lost}: client will not receive response', 'another':
        warnings.warn(text, RuntimeWarning)
'''


@pytest.mark.process
def test_an_answer_to_a_client_that_has_gone_is_no_warning():
    done = subprocess.run([sys.executable, '-c', WARNED], capture_output=True, text=True,
                          timeout=120, check=True)
    assert 'RuntimeWarning: another' in done.stderr and 'response' not in done.stderr


# What nodes log tells the simulated time, once, and not before there is any.


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
