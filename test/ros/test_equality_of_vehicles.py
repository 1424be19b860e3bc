# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The same promise for vehicles with more than rotors: servos, surfaces, wheels, their motors.

Their replay is in test_replay.py.
"""
import pytest
from graph_recording import (
    OVERRIDES,
    assert_same_messages,
    record_core,
    record_processes,
    record_shuffled,
)
from stand_in_autopilot import ARMED_FROM_US

from px4_sim_ros.messages.stamps import serialised_stamp_us
from px4_sim_ros.spec.configuration import load_configuration

pytestmark = pytest.mark.process

INSTANCE = 79
DURATION_US = 2_400_000
VEHICLES = 'standard_vtol', 'rover_ackermann'
IN_A_PUSH = [VEHICLES[0], pytest.param(VEHICLES[1], marks=pytest.mark.long)]


def overrides_of(vehicle):
    return OVERRIDES | {'': OVERRIDES[''] | {'vehicle': vehicle},
                        'hil_bridge': OVERRIDES['hil_bridge'] | {'instance': INSTANCE}}


@pytest.fixture(scope='module', params=VEHICLES)
def flown(request):
    """Return a vehicle and its messages in mode core."""
    return request.param, record_core(DURATION_US, overrides_of(request.param))


def assert_same(recording, oracle):
    assert_same_messages(*({k: v for k, v in r.between(ARMED_FROM_US, DURATION_US).items()
                            if k in oracle} for r in (recording, oracle)))


def test_its_parts_move(flown):
    """An equality of things that stand still would prove nothing."""
    _, oracle = flown
    for topic in 'ground_truth/odom', 'joint_states', 'actuators/command':
        before, after = (oracle[topic, time_us] for time_us in (ARMED_FROM_US, DURATION_US))
        assert serialised_stamp_us(after) == DURATION_US
        assert before[12:] != after[12:], topic


@pytest.mark.parametrize('flown', IN_A_PUSH, indirect=True)
def test_composed_equals_core(flown, tmp_path):
    vehicle, oracle = flown
    groups = load_configuration(None, overrides_of(vehicle)).graph.process_groups('composed')
    assert_same(record_processes(groups, DURATION_US, tmp_path, overrides_of(vehicle)), oracle)


def test_nodes_that_hear_all_by_messages_equal_core(flown, tmp_path, monkeypatch):
    """As in separate, and in any order of arrival."""
    vehicle, oracle = flown
    shuffled = record_shuffled(DURATION_US, tmp_path, monkeypatch, 1, overrides_of(vehicle))
    heard = {k[0] for k in shuffled}
    assert {'ground_truth/odom', 'actuators/command', 'imu/data_raw'} <= heard
    assert_same(shuffled, type(oracle)({k: v for k, v in oracle.items() if k[0] in heard}))
