# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Who owes a message: from what each node waits for to the one that could go on."""
import types
import unittest.mock

import pytest
from lifecycle_msgs.msg import State

from px4_sim_ros.messages.run_status import RunState
from px4_sim_ros.ros.framework.endpoints import NodeStatus, other_publishers
from px4_sim_ros.ros.manager.overdue_watch import Overdue, OverdueWatch, find_overdue, find_silent
from px4_sim_ros.ros.manager.supervision import Supervision
from px4_sim_ros.ros.nodes.dynamics import Silence
from px4_sim_ros.step import graph
from px4_sim_ros.step.clock import LockstepClock
from px4_sim_ros.step.graph_vehicles import GraphVehicle, managed

GRAPH = graph.of_instances({'imu': 2})
T, LAST = 12_004_000, 12_000_000


def waiting(*topics, time_us=T):
    return NodeStatus(state='active', waits_for_us=time_us, waits_for=dict.fromkeys(topics, LAST))


def find(**statuses):
    """Return who blocks when all others wait for the truth of the next step."""
    everyone = {name: waiting('ground_truth/odom', time_us=T + 4000) for name in GRAPH.managed}
    return find_overdue(GRAPH, everyone | statuses, 'actuators/command', T, LAST, 4000)


def test_a_sensor_that_does_not_answer():
    found = find(hil_bridge=waiting('imu/data_raw'), imu=None)
    assert found == Overdue(
        'imu', 'imu has not published imu/data_raw for t = 12.004000 s; its last was 12.000000 s;'
        ' it does not answer')


def test_a_further_instance():
    assert find(hil_bridge=waiting('imu_1/data_raw'), imu_1=None).blocker == 'imu_1'


def test_the_chain_is_followed_to_its_end():
    found = find(hil_bridge=waiting('mag'), magnetometer=waiting('ground_truth/odom'),
                 dynamics=None)
    assert found.blocker == 'dynamics'
    assert 'ground_truth/odom for t = 12.004000 s' in found.sentence


def test_a_node_that_is_not_active():
    stopped = NodeStatus(state='inactive', problem='it is inactive')
    found = find(hil_bridge=waiting('mag'), magnetometer=waiting('ground_truth/odom'),
                 dynamics=stopped)
    assert found.sentence.endswith('its last was 12.000000 s: it is inactive')


def test_a_sensor_that_is_stopped_is_part_of_the_chain():
    """It takes part in the steps all the same."""
    idle = NodeStatus('inactive', 'it is inactive', T, {'ground_truth/odom': LAST})
    assert find(hil_bridge=waiting('mag'), magnetometer=idle, dynamics=None).blocker == 'dynamics'


def test_a_step_that_is_held_knowingly():
    found = find(hil_bridge=NodeStatus('active', '', T + 4000, {'mag': LAST}, 'nobody is there'))
    assert found.holds
    assert found.sentence.endswith(': nobody is there')


def test_who_acts_before_the_bridge_may_be_what_waits():
    nodes = graph.of_instances({'px4_topics': 1})
    everyone = {name: waiting('ground_truth/odom', time_us=T + 4000) for name in nodes.managed}
    found = find_overdue(nodes, everyone | {
        'hil_bridge': waiting('imu/data_raw'), 'px4_topics': NodeStatus(
            state='active', holds='/mine has not published /fmu/in/x for t = 12.004000 s'),
    }, 'actuators/command', T, LAST, 4000)
    assert found == Overdue(
        'px4_topics', 'hil_bridge has not published actuators/command for t = 12.004000 s; its last'
        ' was 12.000000 s: /mine has not published /fmu/in/x for t = 12.004000 s',
        publisher='manager')


def test_none_was_published_yet():
    found = find_overdue(GRAPH, {'hil_bridge': None}, 'actuators/command', 4000, -1, 4000)
    assert found.sentence == ('hil_bridge has not published actuators/command for t = 0.004000 s;'
                              ' it has published none yet; it does not answer')


def test_a_message_that_was_lost():
    found = find(hil_bridge=waiting('imu/data_raw'),
                 imu=waiting('ground_truth/odom', time_us=T + 4000))
    assert found.blocker == 'hil_bridge'
    assert found.sentence == ('hil_bridge has not got imu/data_raw for t = 12.004000 s, which imu'
                              ' has published: it was lost and is repeated')
    assert found.publisher == 'imu'


def test_a_tick_of_the_clock_that_was_lost():
    found = find(hil_bridge=waiting('mag'), magnetometer=waiting('ground_truth/odom'),
                 dynamics=waiting('/clock'))
    assert (found.blocker, found.publisher) == ('dynamics', 'manager')


def test_a_node_that_has_begun_anew():
    found = find(hil_bridge=waiting('mag'), magnetometer=waiting('ground_truth/odom'),
                 dynamics=waiting('/clock', 'actuators/command', time_us=4000))
    assert found.blocker == 'dynamics'
    assert 'it has begun anew' in found.sentence


@pytest.mark.parametrize('topics', [(), ('imu/data_raw',), ('/clock',)])
@pytest.mark.parametrize('node', ['dynamics', 'hil_bridge'])
def test_a_node_that_has_missed_steps(node, topics):
    """Whatever it lacks: in a process with others nothing."""
    found = find(**{'hil_bridge': waiting('mag'), 'magnetometer': waiting('ground_truth/odom'),
                    node: waiting(*topics, time_us=4000)})
    assert found == Overdue(
        node, f'{node} still waits for t = 0.004000 s, which is past: it has begun anew;'
        ' reset the run')


def test_a_node_that_was_stopped_has_not_begun_anew():
    stopped = NodeStatus('inactive', 'it is inactive', 4000)
    assert find(hil_bridge=stopped).sentence.endswith(': it is inactive')


def test_what_is_of_the_step_before():
    """A command is of the step before: the bridge, which is at this one, has published it."""
    found = find(hil_bridge=waiting('mag'), magnetometer=waiting('ground_truth/odom'),
                 dynamics=waiting('actuators/command'))
    assert (found.blocker, found.publisher) == ('dynamics', 'hil_bridge')
    assert 'actuators/command for t = 12.000000 s' in found.sentence


def test_nodes_that_wait_for_each_other_end_the_search():
    found = find(hil_bridge=waiting('mag'), magnetometer=waiting('ground_truth/odom'),
                 dynamics=waiting('mag'))
    assert found.blocker == 'magnetometer'


@pytest.mark.parametrize('silent', [(), ('imu',), ('gps', 'imu')])
def test_the_first_that_does_not_answer(silent):
    statuses = {name: None if name in silent else NodeStatus() for name in GRAPH.managed}
    found = find_silent(statuses)
    assert found == (Overdue('imu', 'imu does not answer') if silent else None)


class Pair:
    """Two vehicles in a step that is not complete for both of them."""

    def __init__(self):
        self.members = [GraphVehicle(vehicle, GRAPH, None) for vehicle in ('alpha', 'bravo')]
        clock = types.SimpleNamespace(time_us=T, complete_us=LAST, step_us=4000)
        driver = types.SimpleNamespace(
            clock=clock, awaited=['alpha', 'bravo'], awaits=lambda vehicle: graph.COMMAND)
        self.watch = OverdueWatch(self.members, [], driver, None, None, None)

    def find(self, **bridges):
        statuses = {name: waiting('ground_truth/odom', time_us=T + 4000)
                    for name in managed(self.members)}
        return self.watch._find_blocker(statuses | {
            f'{vehicle}/hil_bridge': status for vehicle, status in bridges.items()})


def test_of_several_vehicles_the_one_that_blocks_is_named():
    """Not one that only waits for its autopilot, if another one is at fault."""
    held = NodeStatus('active', '', T + 4000, {}, 'no autopilot is connected')
    found = Pair().find(alpha=held, bravo=None)
    assert found == Overdue(
        'bravo/hil_bridge', 'bravo: hil_bridge has not published actuators/command for'
        ' t = 12.004000 s; its last was 12.000000 s; it does not answer')
    found = Pair().find(alpha=held, bravo=held)
    assert (found.blocker, found.holds) == ('alpha/hil_bridge', True)


# A manager that is silent is missed; a machine that stood still is no silence.


def looks(silence, *moments_s):
    return [silence.is_long(moment_s) for moment_s in moments_s]


def test_silence_is_long_after_a_second_and_a_half():
    silence = Silence(10.0)
    assert looks(silence, 10.5, 11.0, 11.5, 11.75) == [False, False, False, True]
    silence.end(12.0)
    assert looks(silence, 12.5, 13.0, 13.5, 13.75) == [False, False, False, True]


def test_time_in_which_nobody_listened_does_not_count():
    """The machine stands for a minute; the status of the manager comes after the first look."""
    silence = Silence(10.0)
    assert looks(silence, 10.25, 70.0) == [False, False]
    silence.end(70.1)
    assert looks(silence, 70.25, 71.0, 130.0) == [False, False, False]


# A node that was shut down is distinguished from one that does not answer, if its last message
# is lost.


@pytest.fixture
def manager():
    """Return the node of a manager that remembers what is asked of it."""
    found = unittest.mock.Mock()
    found.get_parameter.return_value.value = 'warn'
    found.count_publishers.return_value = 1
    return found


@pytest.fixture
def supervision(manager):
    members = [GraphVehicle('', graph.of_instances({}), None)]
    clock = LockstepClock(4000, 1.0)
    bring_up = types.SimpleNamespace(
        members=members, nodes=(), was_dropped=lambda node: False, note_end=manager.note_end)
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


def test_the_end_of_a_node_is_noted_also_while_the_graph_is_taken_down(supervision, manager):
    finalized = types.SimpleNamespace(
        start_state=State(id=State.TRANSITION_STATE_SHUTTINGDOWN),
        goal_state=State(id=State.PRIMARY_STATE_FINALIZED))
    manager.phase = RunState.STOPPING
    supervision._on_transition('barometer', finalized)
    manager.note_end.assert_called_once_with('barometer')
    manager.stop.assert_not_called()


def test_the_manager_itself_is_never_missed(supervision, manager):
    """It is what has not got a message that was lost."""
    manager.count_publishers.return_value = 0
    supervision._on_overdue(Overdue('manager', 'it was lost', publisher='imu'))
    manager.stop.assert_not_called()


# Another publisher of a topic is reported by name, and not before that is known.

OWN, OTHER = bytes(16), bytes([7] * 16)


@pytest.mark.parametrize('name, gid, found', [
    ('manager', OWN, []), ('manager', OTHER, ['/uav/manager']), ('simulator', OTHER,
     ['/uav/simulator']), ('simulator', OWN, ['/uav/simulator']),
    ('_NODE_NAME_UNKNOWN_', OTHER, [])])
def test_others_are_named(name, gid, found):
    info = types.SimpleNamespace(endpoint_gid=gid, node_name=name, node_namespace='/uav/')
    node = types.SimpleNamespace(
        get_name=lambda: 'manager', get_publishers_info_by_topic=lambda topic: [info])
    assert other_publishers(node, '/clock', OWN[:12].hex()) == found
