# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the commands to a graph say of a manager or a sensor that hangs, or that is not there."""
import os
import re
import threading

import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from lifecycle_msgs.msg import TransitionEvent
from rclpy.executors import SingleThreadedExecutor
from std_srvs.srv import Trigger

from px4_sim_ros.config import domain_claim
from px4_sim_ros.messages.run_status import RunStatus
from px4_sim_ros.ros import control_client, qos
from px4_sim_ros.step.side_topics import RUN_STATUS

MANAGED = 'dynamics', 'imu', 'magnetometer', 'hil_bridge'
SENTENCE = 'dynamics has not published ground_truth/odom for t = 1.004000 s; it does not answer'


@pytest.fixture(autouse=True)
def in_no_time(monkeypatch):
    """What hangs does so for good."""
    monkeypatch.setattr(control_client, '_FOUND_TIMEOUT_S', 1.5)


@pytest.fixture
def manager():
    """Return a function that runs a manager in a state, whose nodes are all dead."""
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node('manager', context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)

    def answer(request, response):
        response.success = True
        return response

    for verb in 'pause', 'resume':
        node.create_service(Trigger, f'sim/{verb}', answer)
    for name in MANAGED:
        node.create_subscription(
            TransitionEvent, f'{name}/transition_event', lambda message: None, 10)
    statuses = node.create_publisher(DiagnosticStatus, RUN_STATUS.name, qos.LATCHED)
    thread = threading.Thread(target=executor.spin)
    thread.start()

    def is_in(state, sentence):
        status = RunStatus(state, sentence, steps=250)
        statuses.publish(DiagnosticStatus(name='manager', message=sentence, values=[
            KeyValue(key=key, value=value) for key, value in status.values().items()]))

    is_in.end = lambda: node.destroy_publisher(statuses)
    yield is_in
    executor.shutdown()
    thread.join()
    node.destroy_node()
    rclpy.shutdown(context=context)


def test_a_manager_that_hangs_is_told_with_its_process(here):
    with domain_claim.claim(domain_claim.CLOCK):
        result = here('status')
    assert (result.returncode, result.stdout) == (1, '')
    assert result.stderr == (
        f'status: a graph runs in this ROS domain (process {os.getpid()}), and its manager does not'
        ' answer: it hangs, is just starting or ending, or has another namespace\n')


def test_a_graph_that_is_not_there(here):
    result = here('status')
    assert (result.returncode, result.stdout) == (1, '')
    assert result.stderr.startswith('status: no manager was found; does the graph run')


def test_a_sensor_that_the_graph_has_not(here, manager):
    manager('RUNNING', 'RUNNING')
    result = here('sensor', 'imu_1', 'stop')
    assert (result.returncode, result.stdout) == (1, '')
    assert result.stderr == 'sensor: this graph has no imu_1; its sensors are imu, magnetometer\n'


def test_a_sensor_that_hangs_has_not_failed_to_appear(here, manager):
    manager('RUNNING', 'RUNNING')
    result = here('sensor', 'imu', 'stop')
    assert (result.returncode, result.stdout) == (1, '')
    assert result.stderr == 'sensor: imu does not answer: its process hangs or has ended\n'


@pytest.mark.parametrize('verb', ['status', 'pause', 'resume'])
def test_a_step_that_is_overdue_is_no_success(verb, here, manager):
    manager('OVERDUE', SENTENCE)
    result = here(verb)
    assert SENTENCE in result.stdout
    assert (result.returncode, result.stderr) == (1, '')


def test_a_page_ends_with_the_graph(here, manager, tmp_path):
    path = tmp_path / 'live.html'
    manager('RUNNING', 'RUNNING')
    end = threading.Timer(1.0, manager.end)
    end.start()
    result = here('top', '--page', path)
    end.join()
    assert (result.returncode, result.stderr) == (0, '')
    first, last = result.stdout.splitlines()
    assert first == f'writes {path} every 2 s; Ctrl-C ends it'
    assert re.fullmatch(rf'the graph has gone; {path}: \d+\.\d MB', last)
    assert [file.name for file in tmp_path.iterdir()] == ['live.html']
