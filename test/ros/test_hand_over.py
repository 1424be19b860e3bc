# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which inputs of a node are handed over by value, and which come as messages."""
import pytest
from managed_nodes import activate

from px4_sim_ros.step import graph
from px4_sim_ros.step.graph import COMMAND


def test_blocks_of_a_process_hand_values_over(make_process):
    """Only what comes from elsewhere has a subscription."""
    _, (dynamics, imu, gps, bridge) = make_process('dynamics', 'imu', 'gps', 'hil_bridge')
    activate(dynamics, imu, gps, bridge)
    assert set(dynamics._step_subscriptions) == {'/clock'}
    assert set(imu._step_subscriptions) == set(gps._step_subscriptions) == set()
    assert set(bridge._step_subscriptions) == {'mag', 'baro', graph.ABSENCE}
    status = bridge.lockstep_status()
    assert status.by_value == ['ground_truth/odom', 'ground_truth/accel', 'imu/data_raw',
                               'gps/fix', 'gps/vel', 'battery_state']
    assert status.waits_for == {
        'ground_truth/odom': -1, 'ground_truth/accel': -1, 'imu/data_raw': -1}


def test_beside_the_manager_the_clock_is_handed_over(make_process):
    _, (dynamics, manager) = make_process('dynamics', 'manager')
    activate(dynamics)
    assert set(dynamics._step_subscriptions) == {COMMAND}
    assert dynamics.lockstep_status().by_value == ['/clock']
    manager.finished = True


@pytest.mark.parametrize('remappings, by_message', [
    (['hil_bridge:imu/data_raw:=filtered'], {'imu/data_raw'}),
    (['imu:imu/data_raw:=unfiltered'], {'imu/data_raw'}),
    (['imu/data_raw:=elsewhere'], set()),        # by both
    # All parts of a value come the same way.
    (['hil_bridge:gps/vel:=filtered'], {'gps/fix', 'gps/vel'}),
    (['hil_bridge:gps/fix:=filtered'], {'gps/fix', 'gps/vel'})])
def test_a_topic_is_not_handed_over_past_a_node_between(remappings, by_message, make_process):
    nodes = make_process(*graph.of_instances({}).blocks)[1]
    activate(*nodes)
    for node in nodes[:-1]:
        assert set(node._step_subscriptions) <= {'/clock'}
    assert set(nodes[-1]._step_subscriptions) - {graph.ABSENCE} == by_message
    assert set(nodes[-1].lockstep_status().by_value) == {*nodes[-1].spec.inputs} - by_message
