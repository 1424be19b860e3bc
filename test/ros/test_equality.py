# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The promise: the same commands give the same bits in every way of running the graph."""
import pytest
from graph_recording import (
    OVERRIDES,
    RECORDED,
    STEP_US,
    Recording,
    assert_same_messages,
    record_core,
    record_processes,
    record_shuffled,
    same_message,
)
from stand_in_autopilot import ARMED_FROM_US

from px4_sim_ros.messages.stamps import serialised_stamp_us
from px4_sim_ros.spec.configuration import load_configuration

pytestmark = pytest.mark.process

# What is compared with core by modes, and how else a graph may be cut and shuffled: over a take-off
# and some seconds of flight.
DURATION_US, SHORT_US = 6_000_000, 3_000_000
# A recorder in another process may be matched some steps late. The noise of those steps still
# counts: a stream that began otherwise would stay otherwise.
FIRST_US = ARMED_FROM_US


@pytest.fixture(scope='module')
def oracle():
    return record_core(DURATION_US)


def assert_same(recording, oracle, last_us=DURATION_US):
    assert_same_messages(*(r.between(FIRST_US, last_us) for r in (recording, oracle)))


def test_core_records_every_topic_at_its_period(oracle):
    counts = {topic: sum(t == topic for t, _ in oracle) for topic in RECORDED}
    steps = DURATION_US // STEP_US
    assert counts == {
        'ground_truth/odom': steps, 'ground_truth/accel': steps, 'imu/data_raw': steps,
        'actuators/command': steps, 'mag': steps // 5, 'baro': steps // 5,
        'gps/fix': steps // 25, 'gps/vel': steps // 25, 'wind': steps // 5,
        'battery_state': steps // 5, 'airspeed': steps // 5, 'range': steps // 10,
        'optical_flow': steps // 5, 'visual_odometry': steps // 10,
        'ground_truth/pose': steps // 10, 'joint_states': steps // 10}


def test_the_scripted_flight_moves(oracle):
    """An equality of things that stand still would prove nothing."""
    before = oracle['ground_truth/odom', ARMED_FROM_US]
    after = oracle['ground_truth/odom', DURATION_US]
    assert serialised_stamp_us(after) == DURATION_US
    assert before[12:] != after[12:]


def test_core_repeats_itself(oracle):
    assert_same(record_core(SHORT_US), oracle, SHORT_US)


def test_another_seed_gives_other_measurements(oracle):
    other = record_core(1_000_000, OVERRIDES | {'': OVERRIDES[''] | {'seed': 2}})
    key = 'imu/data_raw', 1_000_000
    assert not same_message(key[0], other[key], oracle[key])


WHOLE_GRAPH = load_configuration(None, OVERRIDES).graph
# Some values are handed over, others cross over to the other process and back within a step.
HERE = ['manager', 'dynamics', 'magnetometer', 'airspeed', 'optical_flow', 'hil_bridge']
THERE = [name for name in WHOLE_GRAPH.nodes if name not in HERE]


@pytest.mark.parametrize('groups, last_us', [
    pytest.param(WHOLE_GRAPH.process_groups('composed'), DURATION_US, id='composed'),
    # In a push some go through two processes, and in those that are shuffled all by messages.
    pytest.param(WHOLE_GRAPH.process_groups('separate'), SHORT_US, id='separate',
                 marks=pytest.mark.long),
    pytest.param([HERE, THERE], SHORT_US, id='half of it elsewhere')])
def test_the_graph_equals_core_bit_by_bit(groups, last_us, oracle, tmp_path):
    assert_same(record_processes(groups, last_us, tmp_path), oracle, last_us)


def test_the_order_of_arrival_does_not_matter(oracle, tmp_path, monkeypatch):
    recording = record_shuffled(SHORT_US, tmp_path, monkeypatch, 2)
    assert_same(of_the_step(recording), of_the_step(oracle), SHORT_US)


def test_nor_does_it_when_what_is_held_is_older_than_a_measurement(tmp_path, monkeypatch):
    overrides = OVERRIDES | {'': OVERRIDES[''] | {
        f'periods_us.{name}': period_us for name, period_us in {
            'wind': 40_000, 'battery': 60_000, 'magnetometer': 20_000, 'barometer': 8000,
            'airspeed': 80_000, 'gps': 44_000}.items()}}
    recording = record_shuffled(SHORT_US, tmp_path, monkeypatch, 1, overrides)
    assert_same(of_the_step(recording), of_the_step(record_core(SHORT_US, overrides)), SHORT_US)


def of_the_step(recording):
    """Leave out /clock, which is not in the oracle, and what no node of the step subscribes to."""
    return Recording({
        k: v for k, v in recording.items() if k[0] in RECORDED and WHOLE_GRAPH.subscribers(k[0])})
