# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""By which names the nodes of several vehicles are known, and who shares a process."""
import pytest

from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.step import graph
from px4_sim_ros.step.members import Member, managed, own_name, process_groups

WORLD = load_configuration(None, {}).world


def member(vehicle, **counts):
    return Member(vehicle, graph.of_instances(counts), WORLD)


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
