# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The table of nodes and topics is consistent, and everything it names exists."""
import subprocess
import sys

import pytest

from px4_sim_ros.ros.framework.session import message_class
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.spec.parameter_files import default_parameters
from px4_sim_ros.step import graph
from px4_sim_ros.step.graph_vehicles import GraphVehicle, managed, own_name, process_groups


def test_every_input_is_published_by_a_node_of_the_table():
    for spec in graph.NODES.values():
        for name in spec.inputs:
            assert graph.TOPICS[name].publisher in graph.NODES


def test_every_name_in_the_table_can_be_imported():
    for spec in graph.NODES.values():
        for path in filter(None, (spec.node, spec.block, spec.parameters, spec.model)):
            assert isinstance(graph.load(path), type)
    for topic in graph.TOPICS.values():
        assert message_class(topic.type)


def test_every_period_has_a_value():
    periods = {k for k in default_parameters('manager') if k.startswith('periods_us.')}
    used = {f'periods_us.{t.period}' for t in graph.TOPICS.values()
            if t.period != graph.EVERY_STEP}
    assert used == periods


@pytest.mark.parametrize('name', [name for name, spec in graph.NODES.items() if spec.previous])
def test_what_a_node_uses_a_step_later_comes_after_it_in_each_step(name):
    """It would drop what comes before it has stepped, as of a time that is not its turn yet."""
    def waits_for(publisher, seen):
        spec = graph.NODES[publisher]
        return publisher == name or (publisher != 'manager' and any(     # begins the step
            waits_for(other, {*seen, publisher})
            for topic in set(spec.inputs) - set(spec.previous)
            for other in publishers(topic) if other not in seen))

    def publishers(topic):
        found = graph.TOPICS[topic]
        return {found.publisher, *filter(None, [found.instead])}

    for topic in graph.NODES[name].previous:
        for publisher in publishers(topic):
            assert waits_for(publisher, set()), (topic, publisher)


@pytest.mark.process
def test_a_launch_file_can_read_the_table_without_ros():
    code = ("import sys; sys.modules['rclpy'] = None\n"
            "from px4_sim_ros.step import graph\n"
            "from px4_sim_ros.spec import configuration\n"
            "configuration.load_configuration(None, {})\n")
    assert subprocess.run([sys.executable, '-c', code]).returncode == 0


def test_further_instances_are_copies_with_names_of_their_own():
    more = graph.of_instances({'imu': 3, 'magnetometer': 2, 'gps': 2})
    assert list(more.nodes) == [
        'manager', 'dynamics', 'imu', 'imu_1', 'imu_2', 'magnetometer', 'magnetometer_1',
        'barometer', 'gps', 'gps_1', 'hil_bridge']
    assert more.nodes['hil_bridge'].inputs == (
        'ground_truth/odom', 'ground_truth/accel', 'imu/data_raw', 'imu_1/data_raw',
        'imu_2/data_raw', 'mag', 'mag_1', 'baro', 'gps/fix', 'gps_1/fix',
        'gps/vel', 'gps_1/vel', 'battery_state')
    assert [t.name for t in more.outputs('gps_1')] == ['gps_1/fix', 'gps_1/vel']
    assert more.topics['gps_1/vel'].kind == 'gps/vel'
    assert more.subscribers('imu_2/data_raw') == ('hil_bridge',)
    assert more.nodes['imu_2'].inputs == more.nodes['imu'].inputs
    assert (more.nodes['imu_2'].kind, more.nodes['imu_2'].index) == ('imu', 2)


OPTIONAL = [kind for kind, spec in graph.NODES.items() if spec.optional]


def test_one_of_each_is_the_table():
    everything = graph.of_instances(
        dict.fromkeys((*OPTIONAL, 'downwash', 'collisions', 'gnss_sky'), 1) | {'imu': 1})
    assert everything.nodes == graph.NODES
    assert list(everything.topics) == list(graph.TOPICS)
    assert {name for name, topic in everything.topics.items() if topic != graph.TOPICS[name]} == {
        # Players publish them, if there are any.
        'actuators/command', 'scenario/faults', 'wakes', 'collision'}


def test_recorded_commands_take_the_place_of_the_bridge():
    replay = graph.of_instances({'player': 1, 'hil_bridge': 0, 'recorder': 1})
    assert 'hil_bridge' not in replay.nodes
    assert replay.topics['actuators/command'].publisher == 'player'
    of_bridge = graph.of_instances({}).nodes['hil_bridge'].inputs
    assert of_bridge == ('ground_truth/odom', 'ground_truth/accel', *replay.nodes['player'].inputs)
    assert replay.nodes['recorder'].inputs == tuple(replay.topics)
    assert replay.managed[-1] == 'recorder'       # the first to be brought up, the last to end


def test_what_is_optional_leaves_nothing_behind():
    least = graph.of_instances({})
    assert OPTIONAL == ['wake_player', 'wind', 'scenario', 'scenario_player', 'airspeed',
                        'range_finder', 'optical_flow', 'visual_odometry', 'pilot', 'px4_topics',
                        'player', 'recorder']
    assert not set(OPTIONAL) & set(least.nodes)
    for spec in least.nodes.values():
        assert all(least.topics[name].publisher in least.nodes for name in spec.inputs)
    assert least.nodes['dynamics'].inputs == ('/clock', 'actuators/command')


def test_what_goes_beside_a_node_shares_its_process_in_all_modes():
    flown = graph.of_instances({'pilot': 1})
    groups = flown.process_groups('separate')
    assert ['pilot', 'hil_bridge'] in groups
    assert sorted(name for group in groups for name in group) == sorted(flown.nodes)
    assert [len(group) for group in groups].count(1) == len(groups) - 1
    assert flown.process_groups('composed') == [list(flown.nodes)]
    alone = graph.of_instances({'pilot': 1, 'player': 1, 'hil_bridge': 0})
    assert ['pilot'] in alone.process_groups('separate')


def test_what_is_of_the_step_before_or_held_is_an_input():
    for spec in graph.NODES.values():
        assert {*spec.previous, *spec.held} <= set(spec.inputs)


def test_a_part_is_published_by_whoever_publishes_the_whole():
    """And whoever is given a part is given the whole, which it is joined with."""
    for topic in graph.TOPICS.values():
        assert graph.TOPICS[topic.value].publisher == topic.publisher
    for spec in graph.NODES.values():
        assert {graph.TOPICS[name].value for name in spec.inputs} <= set(spec.inputs)


@pytest.mark.parametrize('name', ['imu_3', 'magnetometer_2', 'barometer_1', 'nobody'])
def test_a_node_that_no_graph_has(name):
    assert not graph.is_node(name)
    assert graph.is_node('imu_2') and graph.is_node('gps_1')


# By which names the nodes of several vehicles are known, and who shares a process.

WORLD = load_configuration(None, {}).world


def member(vehicle, **counts):
    return GraphVehicle(vehicle, graph.of_instances(counts), WORLD)


@pytest.fixture
def pair():
    return [member('alpha', recorder=1), member('bravo', recorder=1, airspeed=1)]


def test_one_alone_has_the_names_of_the_table():
    alone = member('', recorder=1)
    assert managed([alone]) == list(alone.graph.managed)
    assert alone.full('imu') == 'imu'
    assert alone.full('actuators/command') == 'actuators/command'


def test_each_of_several_has_its_namespace_before_all_but_what_there_is_once(pair):
    alpha, bravo = pair
    assert alpha.full('imu/data_raw') == 'alpha/imu/data_raw'
    assert [bravo.full(name) for name in ('/clock', 'manager', 'recorder')] == [
        '/clock', 'manager', 'recorder']
    names = managed(pair)
    assert len(set(names)) == len(names)
    assert names[-1] == 'recorder'
    assert names.index('alpha/dynamics') < names.index('alpha/hil_bridge') < names.index(
        'bravo/dynamics')
    assert 'bravo/airspeed' in names and 'alpha/airspeed' not in names


def test_two_hundred_have_names_of_their_own():
    members = [member(f'v{i}', recorder=1) for i in range(200)]
    names = managed(members)
    assert len(set(names)) == len(names) == 200 * len(members[0].nodes) + 1
    assert len(process_groups(members, 'separate')) == 202


def test_what_is_known_of_all_is_told_apart(pair):
    known = {name: name for name in managed(pair)}
    its = pair[1].own(known)
    assert its['imu'] == 'bravo/imu'
    assert its['recorder'] == 'recorder'
    assert set(its) == set(pair[1].graph.managed)
    assert own_name('bravo', 'bravo/imu') == 'imu'
    assert own_name('bravo', 'alpha/imu') == ''
    assert own_name('', 'imu') == 'imu'


def test_a_vehicle_is_a_process(pair):
    assert process_groups(pair, 'composed') == [['manager', 'alpha', 'bravo', 'recorder']]
    assert process_groups(pair, 'separate') == [['manager'], ['alpha'], ['bravo'], ['recorder']]
    alone = member('')
    assert process_groups([alone], 'separate') == alone.graph.process_groups('separate')
