# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The truth of vehicles in other processes: late, out of turn, and of a new run."""
import contextlib
import types

import pytest
from nav_msgs.msg import Odometry

from px4_sim_ros.messages.stamps import set_stamp
from px4_sim_ros.model.encounters import Encounters
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.framework.block_host import BlockHost
from px4_sim_ros.ros.framework.polling import PollingNode
from px4_sim_ros.ros.framework.session import ros_session
from px4_sim_ros.ros.manager.encounter_watch import EncounterWatch
from px4_sim_ros.step.members import Member

NAMES = 'alpha', 'bravo'


@pytest.fixture
def watched():
    """Return a watch, a list of what it tells, and what publishes where a vehicle is."""
    with ros_session():
        node = PollingNode('manager')
        with contextlib.closing(types.SimpleNamespace(close=node.destroy_node)):
            watch = EncounterWatch(
                node, BlockHost(), Encounters(dict.fromkeys(NAMES, 0.2), 1.0),
                lambda time_us, text, who: None)
            told = []
            watch._tell = told.append
            watch.open([Member(name, None, None) for name in NAMES])
            publishers = {name: node.create_publisher(
                Odometry, f'{name}/ground_truth/odom', qos.LOOP) for name in NAMES}

            def publish(name, time_us, east_m):
                message = Odometry()
                set_stamp(message.header.stamp, time_us)
                message.pose.pose.position.x = east_m
                publishers[name].publish(message)

            while not all(p.get_subscription_count() for p in publishers.values()):
                pass
            yield watch, told, publish


def test_places_of_one_time_belong_together(watched):
    watch, told, publish = watched
    for time_us in 4_000, 8_000, 12_000:
        publish('alpha', time_us, 0.0)
    publish('bravo', 4_000, 3.0)
    while not watch._encounters.nearest():
        watch.look(12_000)
    assert told == []
    # Those of the later steps come late.
    publish('bravo', 8_000, 1.2)
    publish('bravo', 12_000, 0.3)
    while len(told) < 2:
        watch.look(16_000)
    assert [(e.time_us, e.is_collision, e.distance_m) for e in told] == [
        (8_000, False, 1.2), (12_000, True, 0.3)]
    pair, = watch._encounters.nearest()
    assert (pair.distance_m, pair.time_us) == (0.3, 12_000)


def test_a_run_that_begins_again_knows_nothing_of_the_one_before(watched):
    watch, told, publish = watched
    publish('alpha', 4_000, 0.0)
    while not watch._places:
        watch.look(4_000)
    watch.reset()
    publish('bravo', 4_000, 0.3)
    while not watch._places:
        watch.look(4_000)
    assert told == []
    publish('alpha', 4_000, 5.0)
    while not watch._encounters.nearest():
        watch.look(4_000)
    assert watch._encounters.nearest()[0].distance_m == pytest.approx(4.7)
    assert told == []
