# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The sticks of a scenario and of a person: what PX4 is told of them, and when."""
from __future__ import annotations

import contextlib
import socket

import pytest
import yaml
from pymavlink.dialects.v20 import common as mavlink
from sensor_msgs.msg import Joy
from stand_in_autopilot import HOST

from px4_sim_ros.autopilot.mavlink_interface import MavlinkInterface
from px4_sim_ros.link.pilot.link import pilot_port
from px4_sim_ros.link.pilot.sticks import StickLine, joy_axes, manual_control
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.faults.action import Fault
from px4_sim_ros.model.faults.autopilot import LinkLost, Sticks
from px4_sim_ros.ros.nodes.pilot import sticks_of
from px4_sim_ros.spec.blocks import make_blocks
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.step.graph import FAULTS

MAV = mavlink.MAVLink(None, srcSystem=245)
CENTRED = Sticks(0.0, 0.0, 0.0, 0.5)
RIGHT = Sticks(0.2, -0.4, 1.0, 0.6)
STEP_US = 4000


def in_force(*sticks, since_us=0):
    return tuple(Fault(str(k), since_us, one) for k, one in enumerate(sticks))


def test_each_stick_has_its_axis_and_its_sign():
    """MANUAL_CONTROL: x is pitch, y roll, r yaw, from -1000 on; PX4 takes z from 0 on."""
    m = manual_control(MAV, 3, RIGHT)
    assert (m.target, m.y, m.x, m.r, m.z, m.buttons) == (3, 200, -400, 1000, 600, 0)
    m = manual_control(MAV, 3, Sticks(-1.0, 1.0, -1.0, 0.0))
    assert (m.y, m.x, m.r, m.z) == (-1000, 1000, -1000, 0)


def test_the_autopilot_is_told_at_once_and_then_every_40_ms():
    line = StickLine()
    first = in_force(CENTRED, since_us=6 * STEP_US)
    both = (*first, Fault('right', 17 * STEP_US, RIGHT))
    told = {}
    for k in range(40):
        faults = () if k < 6 else first if k < 17 or k >= 33 else both
        if (sticks := line.at(k * STEP_US, faults)) is not None:
            told[k] = sticks
    # The one that began last counts; one that ends gives the sticks back at once.
    assert told == {6: CENTRED, 10: CENTRED, 17: RIGHT, 20: RIGHT, 30: RIGHT, 33: CENTRED}


def test_what_a_person_does_counts_first_and_for_half_a_second():
    line = StickLine()
    faults = in_force(CENTRED)
    assert line.at(0, faults) == CENTRED
    line.take(RIGHT)
    told = {k: line.at(k * STEP_US, faults) for k in range(1, 200)}
    assert {k for k, sticks in told.items() if sticks == RIGHT} == {1, *range(10, 126, 10)}
    assert told[126] == CENTRED        # 125 steps later


@pytest.fixture
def pilot(instance, tmp_path):
    """Yield the block of the pilot of a flight with a scenario, and the socket of its autopilot."""
    file = tmp_path / 'scenario.yaml'
    file.write_text(yaml.dump({'mission': 'hover', 'end': {'at_s': 1}}), encoding='utf-8')
    configuration = load_configuration(None, {
        '': {'scenario': str(file)}, 'hil_bridge': {'instance': instance}})
    with contextlib.ExitStack() as stack:
        block = make_blocks(configuration)['pilot']
        block.reset()
        stack.callback(block.close)
        autopilot = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        autopilot.bind((HOST, 14580 + instance))
        autopilot.setblocking(False)
        autopilot.sendto(b'\0', (HOST, pilot_port(instance)))
        block.step(STEP_US, {FAULTS: ()})        # from now on it knows where to send
        yield block, autopilot


def heard(autopilot):
    """Return the MANUAL_CONTROLs that have come."""
    mav, found = mavlink.MAVLink(None), []
    mav.robust_parsing = True          # of the byte by which the autopilot finds the pilot
    with contextlib.suppress(BlockingIOError):
        while True:
            found += mav.parse_buffer(autopilot.recv(65536)) or []
    return [m.y for m in found if m.get_type() == 'MANUAL_CONTROL']


def test_the_pilot_sends_them_with_the_step_unless_the_link_is_lost(pilot):
    block, autopilot = pilot
    right = in_force(RIGHT, since_us=11 * STEP_US)
    for k, faults, expected in (
            (10, (), []), (11, right, [200]), (12, right, []), (20, right, [200]),
            (30, (*right, Fault('lost', 30 * STEP_US, LinkLost())), []), (40, (), [])):
        block.step(k * STEP_US, {FAULTS: faults})
        assert heard(autopilot) == expected, k
    assert 'unrepeatable' not in str(block.values())


def test_a_flight_by_hand_is_one_that_does_not_repeat(pilot):
    block, autopilot = pilot
    before = block.values()
    block.take_sticks(RIGHT)
    block.step(11 * STEP_US, {FAULTS: ()})
    assert heard(autopilot) == [200]
    told = {key: value for key, value in block.values().items() if key not in before}
    assert 'the sticks were moved by hand' in told.values() and 44000 in told.values()


def test_axes_of_a_gamepad_are_up_and_left():
    """As the joy package has them: all to the left and up is to the left, forward and up."""
    axes = [1.0, 1.0, 0.25, 0.5, 0.0]
    assert sticks_of(Joy(axes=axes), joy_axes('pilot.joy_axes', '2 3 0 1')) == Sticks(
        -0.25, 0.5, -1.0, 1.0)
    assert sticks_of(Joy(axes=[0.0] * 4), (2, 3, 0, 1)) == CENTRED
    assert sticks_of(Joy(axes=[1.5, -1.5, 0.0, 0.0]), (2, 3, 0, 1)) == Sticks(0.0, 0.0, -1.0, 0.0)


@pytest.mark.parametrize(('axes', 'sentence'), [
    ([0.0] * 3, 'joy: a message has 3 axes, and pilot.joy_axes asks for axis 3'),
    ([0.0, 0.0, float('nan'), 0.0], 'joy: an axis is no number')])
def test_a_message_that_is_wrong_is_refused_in_a_sentence(axes, sentence):
    with pytest.raises(ParameterError) as error:
        sticks_of(Joy(axes=axes), (2, 3, 0, 1))
    assert str(error.value) == sentence


@pytest.mark.parametrize('text', ['1 2 3', '0 1 2 2', '0 1 2 x', '0 1 2 -3', ''])
def test_joy_axes_are_four_different_numbers(text):
    with pytest.raises(ParameterError, match='four different whole numbers'):
        load_configuration(None, {'pilot': {'joy_axes': text}, '': {'mission': 'hover'}})


class Silent:
    """A commander and an estimator that nobody asks."""

    frame = None


def test_the_embedded_autopilot_refuses_sticks_once_and_missions(instance):
    with contextlib.ExitStack() as stack:
        interface = MavlinkInterface(instance, Silent(), Silent())
        stack.callback(interface.close)
        pilot = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        pilot.bind((HOST, pilot_port(instance)))
        pilot.setblocking(False)
        for message in [manual_control(MAV, 1, RIGHT)] * 3 + [MAV.mission_count_encode(1, 1, 4)]:
            pilot.sendto(message.pack(MAV), (HOST, 14580 + instance))
        interface.receive()
        mav, said = mavlink.MAVLink(None), []
        with contextlib.suppress(BlockingIOError):
            while True:
                said += mav.parse_buffer(pilot.recv(65536))
    assert [getattr(m, 'text', m.get_type()) for m in said] == [
        'refused: there is no mode that is flown by sticks',
        'refused: there is no navigator to upload to', 'MISSION_ACK']
    assert said[-1].type == mavlink.MAV_MISSION_UNSUPPORTED
