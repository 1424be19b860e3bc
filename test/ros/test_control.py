# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the commands to a graph say of a manager or a sensor that hangs, or that is not there."""
import os
import threading
import time

import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from lifecycle_msgs.msg import TransitionEvent
from rclpy.executors import SingleThreadedExecutor
from std_srvs.srv import Trigger

from px4_sim_ros.messages.run_status import RunStatus
from px4_sim_ros.process import domain_claim
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.tools import control_client
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

    node.declare_parameter('step_count', 1)
    services = {verb: node.create_service(Trigger, f'sim/{verb}', answer)
                for verb in ('pause', 'resume', 'step')}
    for name in MANAGED:
        node.create_subscription(
            TransitionEvent, f'{name}/transition_event', lambda message: None, 10)
    statuses = node.create_publisher(DiagnosticStatus, RUN_STATUS.name, qos.LATCHED)
    thread = threading.Thread(target=executor.spin)
    thread.start()

    def is_in(state, sentence, steps=250):
        status = RunStatus(state, sentence, steps=steps)
        statuses.publish(DiagnosticStatus(name='manager', message=sentence, values=[
            KeyValue(key=key, value=value) for key, value in status.values().items()]))

    is_in.end = lambda: node.destroy_publisher(statuses)
    is_in.services = services
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
    assert result.stderr == (
        'sensor: this graph has no imu_1; did you mean imu; its sensors are imu, magnetometer\n')


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


def loses(service, count, instead=lambda: None):
    """Let the first answers of a service not arrive, as if it did not know its client yet."""
    send, lost = service.send_response, []

    def send_response(response, header):
        if len(lost) < count:
            lost.append(header)
            instead()
        else:
            send(response, header)
    service.send_response = send_response
    return lost


def test_an_answer_that_is_lost_is_asked_for_again(here, manager):
    manager('PAUSED', 'PAUSED')
    lost = loses(manager.services['pause'], 1)
    result = here('pause')
    assert (result.returncode, result.stderr, len(lost)) == (0, '', 1)


def test_steps_are_asked_for_once_and_their_answer_may_be_lost(here, manager, monkeypatch):
    """That the steps are taken is seen."""
    monkeypatch.setattr(control_client, '_ANSWER_TIMEOUT_S', 1.0)
    manager('PAUSED', 'PAUSED')
    lost = loses(manager.services['step'], 9, lambda: manager('PAUSED', 'PAUSED', 275))
    result = here('step', 25)
    assert (result.returncode, result.stderr, len(lost)) == (0, '', 1)


@pytest.mark.parametrize('state', ['STARTING', 'RESETTING'])
def test_a_fault_waits_until_the_graph_is_up(state, here, manager, monkeypatch):
    monkeypatch.setattr(control_client, '_UP_TIMEOUT_S', 0.3)
    manager(state, state)
    result = here('fault', 'note', 'text=x')
    assert (result.returncode, result.stdout) == (1, '')
    assert result.stderr == f'fault: the graph is not up within 0.3 s: {state}\n'


@pytest.mark.parametrize('heals', [True, False])
def test_steps_that_are_overdue_may_still_be_taken(heals, here, manager, monkeypatch):
    """A message that was lost is repeated."""
    monkeypatch.setattr(control_client, '_OVERDUE_S', 2.0)

    def stick():
        for _ in range(4):       # more than count for a state that was under way
            manager('OVERDUE', SENTENCE)
            time.sleep(0.1)
        if heals:
            manager('PAUSED', 'PAUSED', 275)

    manager('PAUSED', 'PAUSED')
    call, sticks = manager.services['step'].callback, []
    manager.services['step'].callback = lambda *both: sticks.append(
        threading.Thread(target=stick)) or sticks[0].start() or call(*both)
    result = here('step', 25)
    sticks[0].join()
    assert result.returncode == (0 if heals else 1)
    assert (SENTENCE in result.stderr) != heals


def test_steps_that_nobody_takes_are_no_success(here, manager, monkeypatch):
    monkeypatch.setattr(control_client, '_ANSWER_TIMEOUT_S', 1.0)
    manager('PAUSED', 'PAUSED')
    lost = loses(manager.services['step'], 9)
    result = here('step', 25)
    assert (result.returncode, result.stderr, len(lost)) == (
        1, 'step: manager does not answer\n', 1)


