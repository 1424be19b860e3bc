# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Managed nodes by themselves: what they refuse, what they give back, what the manager sees."""
import collections
import socket
import sys
import time
import types

import pytest
import rclpy
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from managed_nodes import activate
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from stand_in_autopilot import StandInAutopilot
from std_srvs.srv import Trigger

from px4_sim_ros.link.hil.block import HilBlock
from px4_sim_ros.link.hil.server import HilServer, port_of
from px4_sim_ros.link.ports import LOCAL, check_port_is_free
from px4_sim_ros.model.errors import RunError
from px4_sim_ros.model.sensors.imu import ImuMeasurement
from px4_sim_ros.model.truth import Truth
from px4_sim_ros.ros.framework import block_node, parameters
from px4_sim_ros.ros.framework.block_host import BlockHost
from px4_sim_ros.ros.framework.endpoints import NodeStatus
from px4_sim_ros.ros.framework.session import make_executor
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.step import graph
from px4_sim_ros.step.graph import COMMAND
from px4_sim_ros.step.repeatability import FINGERPRINT, FLOWN
from px4_sim_ros.step.runner import ALL_NODES

STEP_US = 4000
PATIENCE_S = 60.0
SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE


@pytest.mark.parametrize('name', graph.of_instances({}).managed)
def test_a_node_goes_through_its_states_twice(name, make_node, instance):
    node = make_node(name)
    for _ in range(2):
        assert node.trigger_configure() == SUCCESS
        assert node.trigger_activate() == SUCCESS
        assert node.active
        assert node.trigger_deactivate() == SUCCESS
        assert node.trigger_cleanup() == SUCCESS
    check_port_is_free('TCP', LOCAL, port_of(instance))


@pytest.mark.parametrize('name', graph.of_instances({}).managed)
def test_a_node_tells_its_status_in_every_state(name, make_node):
    node = make_node(name)

    def status():
        answer = node._on_status(Trigger.Request(), Trigger.Response())
        return NodeStatus.from_json(answer.message)

    assert (status().state, status().problem) == ('unconfigured', 'it is unconfigured')
    node.trigger_configure()
    assert (status().state, status().problem) == ('inactive', 'it is inactive')
    assert status().world['step_us'] == 4000
    node.trigger_activate()
    assert (status().state, status().problem) == ('active', '')
    assert status().waits_for


@pytest.mark.parametrize(('vehicle', 'name', 'overrides'), [
    (['vehicle:=rover_ackermann'], 'rover_ackermann', {}),
    (['vehicle:=tailsitter', 'instances.imu:=2'], 'tailsitter', {'instances.imu': 2}),
    (['vehicle:=rover_ackermann', 'step_us:=5000', 'periods_us.imu:=5000'], 'rover_ackermann',
     {'step_us': 5000, 'periods_us.imu': 5000})])
def test_nodes_started_by_hand_have_what_the_file_of_their_vehicle_sets(
        vehicle, name, overrides, make_process, instance):
    """As in a flight: its step, its sensors and how they are mounted, unless others are given."""
    expected = load_configuration(None, {
        '': {'vehicle': name, **overrides}, 'manager': {'startup_timeout_s': 20.0},
        'hil_bridge': {'instance': instance}})
    _, (manager,) = make_process('manager')
    assert set(manager.configured_graph().nodes) == set(expected.graph.nodes)
    _, nodes = make_process(*sorted(
        {'dynamics', 'imu', 'airspeed'} & expected.graph.nodes.keys()))
    for node in (manager, *nodes):
        its = parameters.read(node, node.get_name())
        assert its.world == expected.world
        assert its.own == expected.nodes[node.get_name()]


@pytest.mark.parametrize('name', ['imu', 'manager'])
def test_a_transition_that_does_not_fit_is_refused(name, make_node):
    """Rclpy would end the whole process."""
    node = make_node(name)
    for number in (Transition.TRANSITION_ACTIVATE, Transition.TRANSITION_CLEANUP):
        request = ChangeState.Request(transition=Transition(id=number))
        answer = node._service_change_state.callback(request, ChangeState.Response())
        assert not answer.success


def test_the_step_in_which_a_mission_was_over_may_come_after_the_word_of_that(make_node):
    """The pilot may be in another process."""
    node = make_node('dynamics')
    activate(node)
    node.block.past_fingerprints = collections.deque()
    node.freeze_fingerprint(8000)
    assert FLOWN not in node.status()[2]
    node.block.past_fingerprints += [(4000, 'one'), (8000, 'two'), (12_000, 'three')]
    values = node.status()[2]
    assert (values[FINGERPRINT], values[FLOWN]) == ('two', True)


def test_the_manager_brings_itself_up(make_node):
    assert make_node('manager').trigger_configure() == FAILURE


def test_an_activation_that_fails_gives_back_what_it_took(make_node, monkeypatch, instance):
    bridge = make_node('hil_bridge')
    assert bridge.trigger_configure() == SUCCESS
    with monkeypatch.context() as broken:
        broken.setattr(HilBlock, '_report', lambda self, report: 1 / 0)     # when the link is open
        assert bridge.trigger_activate() == FAILURE
    assert 'ZeroDivisionError' in bridge.failure
    check_port_is_free('TCP', LOCAL, port_of(instance))
    assert bridge.trigger_activate() == SUCCESS
    assert set(bridge.step_publishers) == {COMMAND}


def test_a_port_that_is_taken_between_configure_and_activate(make_node, instance):
    bridge = make_node('hil_bridge')
    assert bridge.trigger_configure() == SUCCESS
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(('127.0.0.1', port_of(instance)))
        holder.listen()
        assert bridge.trigger_activate() == FAILURE
        assert f'TCP port {port_of(instance)} is taken by' in bridge.failure
    assert bridge.trigger_activate() == SUCCESS


@pytest.fixture
def begin_step(make_process, monkeypatch, instance):
    """Return a function that lets a bridge act at 4 ms.

    It returns the bridge, its runner, the times of its commands, and an autopilot.
    """
    autopilots = []

    def begin():
        host, (bridge,) = make_process('hil_bridge')
        sent_us = []
        activate(bridge)
        monkeypatch.setattr(BlockHost, 'heard', ALL_NODES)       # as with a subscriber
        monkeypatch.setattr(host, 'send', lambda outputs: sent_us.extend(
            output.time_us for output in outputs if COMMAND in output.values))
        autopilots.append(StandInAutopilot(port_of(instance)))
        imu = ImuMeasurement(STEP_US, (0.0, 0.0, 9.8), (0.0,) * 3, 0.0, 0.0)
        truth = Truth(STEP_US, (0.0,) * 3, (1.0, 0.0, 0.0, 0.0), *((0.0,) * 3,) * 4, (), ())
        put = bridge.slot.synchronizer.put
        put('ground_truth/odom', STEP_US, lambda: truth)
        put('ground_truth/accel', STEP_US, lambda: {'acceleration_flu': (0.0,) * 3})
        put('imu/data_raw', STEP_US, lambda: imu)
        assert host.runner.run()
        return bridge, host.runner, sent_us, autopilots[-1]

    yield begin
    for autopilot in autopilots:
        autopilot.close()


@pytest.mark.parametrize('is_looked_after', [False, True])
def test_a_bridge_sends_and_waits_when_others_had_their_turn(is_looked_after, begin_step):
    """To be looked after in between means nothing."""
    bridge, runner, sent_us, autopilot = begin_step()
    assert autopilot.messages()
    assert sent_us == []
    assert bridge.lockstep_status().holds == ''
    if is_looked_after:
        bridge._idle()
        assert sent_us == []
    assert runner.run()
    assert sent_us == [STEP_US]
    bridge._idle()
    assert not runner.run()
    assert sent_us == [STEP_US]


def test_diagnostics_tell_what_is_lacking_and_ask_for_no_connections(make_node, monkeypatch):
    imu, asked = make_node('imu'), []
    activate(imu)
    monkeypatch.setattr(block_node, 'connections_of', lambda *of: asked.append(of) or {})
    values = {value.key: value.value for value in diagnosed(imu, monkeypatch)}
    assert values['waits_for'] == 'ground_truth/accel, ground_truth/odom'
    assert asked == []
    assert set(imu.lockstep_status().waits_for) == {'ground_truth/accel', 'ground_truth/odom'}
    assert asked


def diagnosed(node, monkeypatch):
    """Return the values that a node reports."""
    published = []
    monkeypatch.setattr(node._diagnostics, '_publisher', types.SimpleNamespace(
        publish=published.append))
    node._diagnostics.publish()
    message, = published
    return message.status[0].values


@pytest.mark.parametrize('names', [('hil_bridge',), ('imu', 'hil_bridge')])
def test_a_bridge_alone_leaves_the_cores_to_others(names, make_process, monkeypatch):
    awake = []

    def server(host, port, *, stays_awake):
        awake.append(stays_awake)
        return HilServer(host, port, stays_awake=stays_awake)

    monkeypatch.setattr('px4_sim_ros.link.hil.block.HilServer', server)
    activate(*make_process(*names)[1])
    assert awake == [len(names) > 1]


@pytest.mark.parametrize('transitions', [
    ['deactivate'], ['deactivate', 'activate'], ['deactivate', 'cleanup'], ['shutdown']])
def test_a_transition_ends_a_step_that_was_begun(begin_step, transitions):
    bridge, runner, sent_us, _ = begin_step()
    for transition in transitions:
        assert getattr(bridge, f'trigger_{transition}')() == SUCCESS
    assert not runner.run()
    assert sent_us == []
    assert bridge.lockstep_status().holds == ''


def test_a_command_for_other_rotors_is_refused_in_a_sentence(make_node):
    dynamics = make_node('dynamics')
    assert dynamics.trigger_configure() == dynamics.trigger_activate() == SUCCESS
    with pytest.raises(RunError, match=(
            r'^actuators/command: 3 velocities came, and the vehicle iris has 4 rotors$')):
        dynamics.block.step(STEP_US, {COMMAND: (1.0, 2.0, 3.0)})


def test_parameters_are_settable_until_the_node_is_configured(make_node):
    imu = make_node('imu')

    def set_density(value):
        return imu.set_parameters([Parameter('gyro_noise_density', value=value)])[0]

    assert set_density(0.5).successful
    assert set_density(-0.5).reason == (
        'imu.gyro_noise_density = -0.5: must be at least 0 rad/s/sqrt(Hz)')
    assert imu.trigger_configure() == SUCCESS
    assert imu.configuration.own.gyro_noise_density == 0.5
    assert set_density(0.1).reason == (
        'imu.gyro_noise_density: cannot be set while the node is configured')
    assert imu.trigger_cleanup() == SUCCESS
    assert set_density(0.1).successful


def test_every_parameter_is_described(make_node):
    for name in graph.of_instances({}).nodes:
        node = make_node(name)
        for key in node.get_parameters_by_prefix(''):
            if key not in ('use_sim_time', 'start_type_description_service'):
                descriptor = node.describe_parameter(key)
                assert descriptor.description, key
                assert descriptor.additional_constraints, key


@pytest.mark.parametrize(('name', 'key', 'field', 'limits'), [
    ('imu', 'gyro_noise_density', 'floating_point_range', (0.0, sys.float_info.max)),
    ('manager', 'speed_factor', 'floating_point_range', (0.0, 1000.0)),
    ('imu', 'periods_us.imu', 'integer_range', (0, 2 ** 63 - 1)),      # and greater than 0
    ('imu', 'instances.imu', 'integer_range', (0, 2 ** 63 - 1))])
def test_ranges_are_described_for_editors(name, key, field, limits, make_node):
    range_, = getattr(make_node(name).describe_parameter(key), field)
    assert (range_.from_value, range_.to_value, range_.step) == (*limits, 0)


@pytest.mark.parametrize(('name', 'key', 'value', 'reason'), [
    ('imu', 'gyro_noise_density', -1.0, 'must be at least 0 rad/s/sqrt(Hz)'),
    ('imu', 'periods_us.imu', 0, 'must be greater than 0 us'),
    ('imu', 'gyro_noise_density', 'much', 'must be a number'),
    ('manager', 'seed', 5, 'cannot be set while the graph runs'),
    ('manager', 'speed_factor', -1.0, 'must be')])
def test_what_is_refused_is_told_in_our_words(name, key, value, reason, make_node):
    """Not in those of rclpy, which checks ranges, types and what is read-only by itself."""
    result = make_node(name).set_parameters_atomically([Parameter(key, value=value)])
    assert not result.successful
    assert result.reason.startswith(f'{name}.{key}') and reason in result.reason


def test_what_cannot_be_set_is_read_only(make_node):
    manager, imu = make_node('manager'), make_node('imu')
    assert manager.describe_parameter('seed').read_only
    assert not manager.describe_parameter('speed_factor').read_only
    assert not imu.describe_parameter('gyro_noise_density').read_only


def test_a_second_clock_is_refused(make_node):
    """Two graphs in one ROS domain would drive each other."""
    other = rclpy.create_node('gazebo')
    clock = other.create_publisher(Clock, '/clock', 10)
    executor = make_executor()
    try:
        nodes = [make_node(name) for name in reversed(graph.of_instances({}).nodes)]
        for node in nodes:
            executor.add_node(node)
        manager = nodes[-1]
        deadline_s = time.monotonic() + PATIENCE_S
        while not manager.finished:
            executor.spin_once(timeout_sec=0.1)
            assert time.monotonic() < deadline_s
        assert manager.exit_code == 1
        assert manager.sim_clock.steps == 0
        # Nobody was asked for anything: it might be the other graph's.
        assert not any(node.finished for node in nodes[:-1])
        assert {node.configuration for node in nodes[:-1]} == {None}
    finally:
        executor.shutdown()
        # It would be found by the tests that follow in this process.
        other.destroy_publisher(clock)
        other.destroy_node()
