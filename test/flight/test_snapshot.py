# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What follows from the messages of a graph, with messages made by hand."""
import pytest
from heard import Heard

from px4_sim_ros.cli.snapshot_collector import (
    FOUND_AFTER_S,
    SILENT_AFTER_S,
)
from px4_sim_ros.spec.resources import PACKAGE
from px4_sim_ros.step import graph


@pytest.fixture
def heard():
    heard = Heard()
    heard.manager()
    return heard


def test_rates_are_differences_of_the_last_two_messages(heard):
    heard.node('/imu', 9.0, time_us=3_000_000, steps=750, busy_s=5.0)
    heard.node('/imu', 10.0, time_us=4_000_000, steps=1000, busy_s=6.0, lifecycle='active')
    heard.node('/imu', 11.0, time_us=6_000_000, steps=1500, busy_s=6.05, lifecycle='active',
               waits_for='ground_truth/odom, ground_truth/accel')
    imu = heard.snapshot(11.5).nodes['imu']
    assert (imu.lifecycle, imu.steps, imu.silent) == ('active', 1500, False)
    assert imu.waits_for == ('ground_truth/odom', 'ground_truth/accel')
    assert imu.sim_rate_hz == pytest.approx(250.0)
    assert imu.wall_rate_hz == pytest.approx(500.0)
    assert imu.busy_us_per_step == pytest.approx(100.0)
    assert imu.busy_percent == pytest.approx(5.0)
    assert imu.heard_ago_s == pytest.approx(0.5)


def test_the_head(heard):
    heard.manager(state='OVERDUE', message='imu owes a message', run=3, sim_time_s='12.004000',
                  speed_factor='2', real_time_factor='1.500')
    heard.node('/manager', 10.0, time_us=10_000_000, steps=2500)
    heard.node('/manager', 10.8, time_us=12_000_000, steps=3000)
    snapshot = heard.snapshot(11.0)
    assert (snapshot.state, snapshot.sentence) == ('OVERDUE', 'imu owes a message')
    assert (snapshot.run, snapshot.sim_time_s, snapshot.speed_factor) == (3, 12.004, 2.0)
    assert snapshot.real_time_factor == pytest.approx(2.5)
    assert snapshot.real_time_factor_since_start == 1.5
    assert snapshot.nodes['manager'].lifecycle is None


def test_a_sentence_that_is_only_the_state_is_none(heard):
    assert heard.snapshot(0.0).sentence is None


def test_the_wait_for_the_autopilot_is_not_work_of_the_bridge(heard):
    heard.collector.link_state = 'LOCKED'
    counters = {'state': 'LOCKED', 'misses': 2, 'stale_replies': 0, 'refused_clients': 1}
    heard.node('/hil_bridge', 1.0, time_us=4000, steps=1, replies=1, busy_s=0.0, waited_s=0.0)
    heard.node('/hil_bridge', 2.0, time_us=1_004_000, steps=251, replies=250, **counters,
               busy_s='0.100000', waited_s='0.075000', seconds_LOCKED='1.000')
    snapshot = heard.snapshot(2.0)
    assert snapshot.nodes['hil_bridge'].busy_us_per_step == pytest.approx(100.0)
    assert snapshot.nodes['hil_bridge'].busy_percent == pytest.approx(2.5)
    link = snapshot.link
    assert link.wait_us_per_step == pytest.approx(300.0)
    assert link.wait_percent == pytest.approx(7.5)
    assert (link.state, link.replies, link.misses) == ('LOCKED', 250, 2)
    assert link.other_counters == {'refused_clients': 1}


def test_a_paused_world_has_rates_of_0(heard):
    for now_s in 1.0, 2.0:
        heard.node('/manager', now_s, time_us=8000, steps=2, busy_s=0.1)
        heard.node('/gps', now_s, time_us=0, steps=0, busy_s=0.1)
    snapshot = heard.snapshot(2.0)
    assert snapshot.real_time_factor == 0.0
    for name in 'manager', 'gps':
        node = snapshot.nodes[name]
        assert (node.sim_rate_hz, node.wall_rate_hz, node.busy_percent) == (0.0, 0.0, 0.0)
        assert node.busy_us_per_step is None


def assert_unknown(node):
    assert (node.sim_rate_hz, node.wall_rate_hz) == (None, None)
    assert (node.busy_us_per_step, node.busy_percent) == (None, None)


def test_one_message_tells_no_rate(heard):
    heard.node('/imu', 1.0, time_us=4000, steps=1, busy_s=0.1, lifecycle='active')
    assert_unknown(heard.snapshot(1.0).nodes['imu'])
    assert heard.snapshot(1.0).nodes['imu'].lifecycle == 'active'


@pytest.mark.parametrize('later', [
    {'time_us': 3_000_000, 'steps': 100, 'busy_s': 2.0},
    {'time_us': 1_000_000, 'steps': 800, 'busy_s': 2.0},
    {'time_us': 3_000_000, 'steps': 800, 'busy_s': 0.5},
])
def test_counters_that_go_back_tell_no_rate(heard, later):
    heard.node('/imu', 1.0, time_us=2_000_000, steps=500, busy_s=1.0)
    heard.node('/imu', 2.0, **later)
    assert_unknown(heard.snapshot(2.0).nodes['imu'])


def test_a_reset_tells_no_rate_even_when_the_counters_are_past_the_old_ones(heard):
    heard.node('/manager', 1.0, time_us=400_000, steps=100)
    heard.manager(run=2)
    heard.node('/manager', 2.0, time_us=2_000_000, steps=500)
    assert_unknown(heard.snapshot(2.0).nodes['manager'])
    assert heard.snapshot(2.0).real_time_factor is None
    heard.node('/manager', 3.0, time_us=3_000_000, steps=750)
    assert heard.snapshot(3.0).real_time_factor == pytest.approx(1.0)


def test_the_real_time_factor_is_that_of_the_wall_time_that_the_manager_counts(heard):
    heard.node('/manager', 1.0, time_us=1_000_000, steps=250, wall_time_s='0.500000')
    heard.node('/manager', 2.0, time_us=2_000_000, steps=500, wall_time_s='0.900000')
    snapshot = heard.snapshot(2.0)
    assert snapshot.real_time_factor == pytest.approx(2.5)      # it was paused for 0.6 s
    assert snapshot.nodes['manager'].wall_rate_hz == pytest.approx(250.0)
    heard.node('/manager', 3.0, time_us=2_000_000, steps=500, wall_time_s='0.900000')
    assert heard.snapshot(3.0).real_time_factor == 0.0


def test_a_graph_that_was_started_anew_is_a_new_begin(heard):
    heard.manager(steps=100)
    heard.node('/manager', 1.0, time_us=400_000, steps=100)
    heard.manager(steps=3)
    heard.node('/manager', 2.0, time_us=2_000_000, steps=500)
    assert_unknown(heard.snapshot(2.0).nodes['manager'])


def test_the_stamp_of_a_node_before_its_first_step_is_of_the_old_run(heard):
    heard.node('/imu', 1.0, time_us=900_000, steps=0, busy_s=0.0)
    heard.node('/imu', 2.0, time_us=1_000_000, steps=250, busy_s=0.1)
    assert heard.snapshot(2.0).nodes['imu'].sim_rate_hz == pytest.approx(250.0)


def test_a_node_that_is_not_heard_is_silent(heard):
    heard.node('/imu', 1.0, time_us=4000, steps=1, busy_s=0.1)
    heard.node('/imu', 2.0, time_us=1_004_000, steps=251, busy_s=0.2)
    assert not heard.snapshot(2.0 + SILENT_AFTER_S).nodes['imu'].silent
    imu = heard.snapshot(2.1 + SILENT_AFTER_S).nodes['imu']
    assert imu.silent
    assert imu.steps == 251
    assert_unknown(imu)


def test_a_node_that_was_never_heard_is_silent_after_a_while(heard):
    heard.collector.expect('imu_1')
    for name in 'imu', 'imu_1':
        assert not heard.snapshot(FOUND_AFTER_S).nodes[name].silent
        assert heard.snapshot(FOUND_AFTER_S + 0.1).nodes[name].silent
    assert heard.snapshot(FOUND_AFTER_S + 0.1).link.state is None


def test_a_last_word_counts_with_the_message_before_it(heard):
    heard.node('/imu', 1.0, time_us=1_000_000, steps=250)
    heard.node('/imu', 2.0, time_us=2_000_000, steps=500)
    heard.node('/imu', 2.01, time_us=2_040_000, steps=510)
    imu = heard.snapshot(2.1).nodes['imu']
    assert imu.wall_rate_hz == pytest.approx(260 / 1.01)
    assert imu.steps == 510


def test_rows_are_in_the_order_of_the_graph(heard):
    assert list(heard.snapshot(0.0).nodes) == list(graph.of_instances({}).nodes)
    for name in 'gps_1', 'imu_2', 'imu_1':
        heard.node(f'/{name}', 1.0)
    assert list(heard.snapshot(1.0).nodes) == [
        'manager', 'dynamics', 'imu', 'imu_1', 'imu_2', 'magnetometer', 'barometer', 'gps',
        'gps_1', 'hil_bridge']


@pytest.mark.parametrize('name, owner', [
    ('/imu', PACKAGE), ('/uav2/imu', PACKAGE), ('/uav1/sub/imu', PACKAGE), ('imu', PACKAGE),
    ('/uav1/camera', PACKAGE), ('/uav1/imu', 'another')])
def test_others_are_left_out(name, owner):
    heard = Heard('/uav1')
    heard.node(name, 1.0, owner=owner, steps=5)
    assert all(node.steps is None for node in heard.snapshot(1.0).nodes.values())
    heard.node('/uav1/imu', 1.0, steps=5)
    assert heard.snapshot(1.0).nodes['imu'].steps == 5


def test_two_rounds(heard):
    for now_s in 1.0, 2.0:
        assert not heard.collector.has_two_rounds()
        for name in graph.of_instances({}).nodes:
            heard.node(f'/{name}', now_s)
    assert heard.collector.has_two_rounds()
    heard.node('/imu_1', 2.0)
    assert not heard.collector.has_two_rounds()


def test_a_manager_that_starts_has_no_figures_yet():
    heard = Heard()
    assert heard.snapshot(0.0).state is None
    heard.manager(state='STARTING', message='STARTING')
    snapshot = heard.snapshot(0.0)
    assert (snapshot.state, snapshot.run, snapshot.sim_time_s) == ('STARTING', 1, None)


def test_a_fleet_has_vehicles_in_place_of_one_link(heard):
    for name in 'manager', 'alpha/imu', 'alpha/hil_bridge', 'bravo/imu', 'bravo/hil_bridge':
        heard.collector.expect(name)
    for now_s, steps in (1.0, 250), (2.0, 500):
        heard.node('/manager', now_s, time_us=4000 * steps, steps=steps)
        for vehicle, misses in ('alpha', 0), ('bravo', 3):
            heard.node(f'/{vehicle}/imu', now_s, time_us=4000 * steps, steps=steps,
                       busy_s=0.01 * now_s, lifecycle='active')
            heard.node(f'/{vehicle}/hil_bridge', now_s, time_us=4000 * steps, steps=steps,
                       busy_s=0.1 * now_s, waited_s=0.08 * now_s, state='LOCKED', replies=steps,
                       misses=misses, lifecycle='active')
        heard.node('/charlie/imu', now_s, time_us=0, steps=0)      # of another graph
    snapshot = heard.snapshot(2.0)
    assert list(snapshot.vehicles) == ['alpha', 'bravo']
    alpha, bravo = snapshot.vehicles.values()
    assert (alpha.link.state, alpha.link.replies, alpha.link.misses) == ('LOCKED', 500, 0)
    assert alpha.link.wait_us_per_step == pytest.approx(320.0)
    assert alpha.busy_us_per_step == pytest.approx(120.0)      # 40 of the IMU, 80 of the bridge
    assert bravo.link.misses == 3
    assert snapshot.link.state is None
    # None of the nodes that one alone would have, and that nobody has heard of.
    assert set(snapshot.nodes) == {
        'manager', 'alpha/imu', 'alpha/hil_bridge', 'bravo/imu', 'bravo/hil_bridge'}
    later = heard.snapshot(2.0 + SILENT_AFTER_S + 0.1)
    assert later.vehicles['alpha'].troubled == ('alpha/imu', 'alpha/hil_bridge')
