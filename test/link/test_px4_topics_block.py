# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The block px4_topics: in which step a message is handed over, and what it waits for."""
import contextlib
import dataclasses

import pytest
import xrce_client as x

from px4_sim_ros.link.xrce.block import Px4TopicsBlock, TopicsParameters
from px4_sim_ros.link.xrce.inbox import Awaited, Delivery, Inbox
from px4_sim_ros.link.xrce.session import Refusal, Service, Topic
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.spec.blocks import block_configuration
from px4_sim_ros.spec.configuration import load_configuration

pytestmark = pytest.mark.unit
STEP_US, PERIOD_US = 4000, 20_000
MODE, SET_POINT, COMMAND = (
    '/fmu/in/offboard_control_mode', '/fmu/in/trajectory_setpoint', '/fmu/in/vehicle_command')


def message(stamp_us, content=b''):
    return stamp_us.to_bytes(8, 'little') + content


def awaiting(*names, period_us=PERIOD_US):
    return Inbox([Awaited(name) for name in names or (MODE, SET_POINT)], period_us, STEP_US)


def test_without_awaited_topics_all_is_handed_over_at_once_and_nothing_repeats():
    inbox = Inbox((), PERIOD_US, STEP_US)
    assert not inbox.is_due(PERIOD_US) and inbox.gap is None
    inbox.put(8000, COMMAND, message(5, b'a'))
    inbox.put(8000, SET_POINT, message(0, b'b'))
    assert [its.data[8:] for its in inbox.take(8000)] == [b'a', b'b']
    assert inbox.take(12000) == []
    assert inbox.gap.time_us == 8000
    assert inbox.gap.sentence == f'a ROS 2 node has sent {COMMAND}, which is not awaited'


def test_a_step_waits_for_a_message_of_its_time_on_each_awaited_topic():
    inbox = awaiting()
    assert inbox.awaited_us(16_000) == {}
    assert inbox.awaited_us(20_000) == {MODE: 20_000, SET_POINT: 20_000}
    inbox.put(20_000, SET_POINT, message(20_000))
    assert list(inbox.awaited_us(20_000)) == [MODE]
    inbox.put(20_000, MODE, message(20_000))
    assert inbox.awaited_us(20_000) == {}
    assert [its.name for its in inbox.take(20_000)] == [MODE, SET_POINT]
    assert list(inbox.awaited_us(40_000)) == [MODE, SET_POINT] and inbox.gap is None


def test_a_period_that_is_no_multiple_of_the_step_is_that_of_a_timer():
    inbox = awaiting(MODE, period_us=10_000)
    due = [t for t in range(STEP_US, 44_000, STEP_US) if inbox.is_due(t)]
    assert due == [12_000, 20_000, 32_000, 40_000]


def test_steps_that_wait_for_nothing_are_known_beforehand():
    for period_us in PERIOD_US, 10_000:
        inbox = awaiting(MODE, period_us=period_us)
        for due_us in range(STEP_US, 60_000, STEP_US):
            assert inbox.next_act_us(due_us) == next(
                t for t in range(due_us, 10**6, STEP_US) if inbox.is_due(t) or inbox.begins_at(t))
    later = Inbox([Awaited(MODE)], PERIOD_US, STEP_US, from_us=41_000)
    assert later.next_act_us(8000) == later.next_act_us(44_000) == 44_000
    assert later.next_act_us(48_000) == 60_000
    answering = Inbox([Awaited(SET_POINT, '/fmu/out/x')], PERIOD_US, STEP_US)
    assert answering.next_act_us(8000) > 10**12
    answering.ask('/fmu/out/x', message(17_000))
    assert answering.next_act_us(20_000) == 20_000


def test_who_answers_what_px4_has_said_has_the_time_of_the_step_before():
    inbox = awaiting(MODE, period_us=STEP_US)
    for time_us in range(8000, 40_000, STEP_US):
        inbox.put(time_us, MODE, message(time_us - STEP_US))
        assert inbox.awaited_us(time_us) == {}
        assert [its.stamp_us for its in inbox.take(time_us)] == [time_us - STEP_US]
        assert list(inbox.awaited_us(time_us)) == [MODE], 'a message counts once'


def test_an_answer_has_the_stamp_of_what_px4_has_said():
    inbox = Inbox([Awaited(SET_POINT, '/fmu/out/x')], PERIOD_US, STEP_US)
    assert inbox.answered == {'/fmu/out/x'} and not inbox.is_due(20_000)
    inbox.put(20_000, COMMAND, message(16_000))
    inbox.put(20_000, COMMAND, message(17_000))
    assert inbox.take(20_000) == []
    inbox.ask('/fmu/out/x', message(17_000))
    assert inbox.awaited_us(24_000) == {SET_POINT: 17_000}
    inbox.put(24_000, SET_POINT, message(16_000, b'earlier'))
    assert inbox.awaited_us(24_000) == {SET_POINT: 17_000}
    inbox.put(24_000, SET_POINT, message(17_000))
    assert inbox.awaited_us(24_000) == {}
    assert [(its.stamp_us, its.name) for its in inbox.take(24_000)] == [
        (16_000, SET_POINT), (16_000, COMMAND), (17_000, SET_POINT)]
    assert not inbox.is_due(28_000) and inbox.gap is None
    inbox.may_repeat = True
    inbox.put(28_000, SET_POINT, message(17_000))
    assert inbox.gap is None, 'it was asked for again'
    inbox.put(28_000, COMMAND, message(16_000))
    assert inbox.gap.sentence == f'{COMMAND} of t = 0.016000 s has come late'


def test_nothing_is_awaited_before_its_time_nor_handed_over():
    inbox = Inbox([Awaited(MODE)], PERIOD_US, STEP_US, from_us=40_000)
    inbox.put(20_000, COMMAND, message(18_000))
    assert not inbox.is_due(20_000) and inbox.take(20_000) == [] and inbox.gap is None
    assert [t for t in range(STEP_US, 60_000, STEP_US) if inbox.begins_at(t)] == [40_000]
    assert inbox.gap.sentence == 'a ROS 2 node has joined in flight'
    assert inbox.awaited_us(40_000) == {} and list(inbox.awaited_us(60_000)) == [MODE]
    assert [t for t in range(STEP_US, 60_000, STEP_US) if awaiting().begins_at(t)] == [STEP_US]


def test_a_node_that_has_left_is_awaited_no_longer():
    inbox = awaiting(MODE)
    inbox.put(20_000, MODE, message(20_000))
    inbox.put(20_000, COMMAND, message(20_000, b'land'))
    inbox.take(20_000)
    inbox.release(MODE)
    assert inbox.awaited_us(40_000) == {} and inbox.gap is None
    assert [its.data[8:] for its in inbox.take(40_000)] == [b'land']
    inbox.put(44_000, COMMAND, message(44_000))
    assert inbox.gap.sentence == f'{COMMAND} has come after the end of what was awaited'
    inbox.reset()
    assert list(inbox.awaited_us(20_000)) == [MODE]


def test_what_is_not_awaited_is_handed_over_in_the_next_awaited_step():
    inbox = awaiting(MODE)
    inbox.put(20_000, COMMAND, message(20_000, b'1'))
    inbox.put(20_000, MODE, message(20_000))
    assert [its.name for its in inbox.take(20_000)] == [MODE]
    inbox.put(32_000, COMMAND, message(32_000, b'2'))
    assert inbox.take(32_000) == [], 'in an awaited step only'
    inbox.put(36_000, COMMAND, message(36_000, b'4'))
    inbox.put(40_000, COMMAND, message(40_000, b'3'))
    inbox.put(40_000, MODE, message(40_000))
    assert inbox.take(40_000) == [
        Delivery(20_000, COMMAND, message(20_000, b'1')),
        Delivery(32_000, COMMAND, message(32_000, b'2')),
        Delivery(40_000, MODE, message(40_000))]
    assert inbox.gap is None


def test_the_order_follows_from_stamps_and_names_and_not_from_arrival():
    taken = []
    for order in (MODE, SET_POINT), (SET_POINT, MODE):
        inbox = awaiting()
        for name in order:
            inbox.put(20_000, name, message(18_000, name.encode()))
        for name in order:
            inbox.put(20_000, name, message(20_000))
        taken.append(inbox.take(20_000))
    assert taken[0] == taken[1] and len(taken[0]) == 4


def test_what_comes_late_or_without_simulated_time_breaks_the_repetition_and_is_named():
    inbox = awaiting(MODE)
    inbox.put(20_000, MODE, message(20_000))
    inbox.take(20_000)
    inbox.put(24_000, COMMAND, message(12_000))
    assert inbox.gap.sentence == f'{COMMAND} of t = 0.012000 s has come late'
    wall_us = 1_700_000_000_000_000
    inbox = awaiting(MODE)
    inbox.put(20_000, COMMAND, message(wall_us))
    assert inbox.gap.sentence == (
        f'{COMMAND} has come with a stamp that is no simulated time: {wall_us} us')
    inbox.put(20_000, MODE, message(wall_us))
    assert list(inbox.awaited_us(20_000)) == [MODE]
    assert inbox.last_text(MODE, 20_000) == (
        f'its last has the stamp {wall_us} us, which is no simulated time: the node needs'
        ' use_sim_time')


class FakeRos:
    """What joins the block with ROS, as the test wants it."""

    def __init__(self):
        self.came, self.published, self.known, self.absent = [], [], [], False
        self.calls, self.answers, self.begun = [], [], []
        self.is_matched, self.is_spoken_to, self.listened_to = True, False, ()
        self.not_taken = ()

    def begin(self, time_us):
        self.begun.append(time_us)

    def refresh(self):
        pass

    def announce(self, topic):
        if topic.name in self.not_taken:
            raise Refusal('a topic that ROS does not take', detail=topic.name)
        self.known.append(topic)

    listen = offer = announce

    @property
    def heard(self):
        return self.listened_to

    def repeat(self, names):
        self.repeated = set(names)

    def publish(self, topic, data):
        self.published.append((topic.name, data))

    def take(self):
        came, self.came = self.came, []
        return came

    def missing(self, names):
        return list(names) if self.absent else []

    def publishers(self, name):
        return '/offboard'

    def requests(self):
        calls, self.calls = self.calls, []
        return calls

    def answer(self, *answer):
        self.answers.append(answer)


@pytest.fixture
def make(monkeypatch):
    """Yield a maker of blocks, given the awaited topics."""
    monkeypatch.setattr('px4_sim_ros.link.xrce.block._MATCHED_S', -1.0)
    with contextlib.ExitStack() as stack:
        def made(awaited=''):
            configuration = load_configuration(None, {
                '': {'px4_topics': True}, 'px4_topics': {
                    'awaited': awaited, 'awaited_period_us': PERIOD_US, 'instance': 88}})
            block = Px4TopicsBlock(block_configuration(configuration, 'px4_topics'))
            stack.callback(block.close)
            block.ros = FakeRos()
            block.said = []
            block.log = lambda is_warning, sentence: block.said.append(sentence)
            block.recorded = []
            block.record = lambda time_us, topic, data: block.recorded.append(
                (time_us, topic.name, data))
            block.reset()
            client = stack.enter_context(contextlib.closing(x.Client(8888 + 88, key=89)))
            return block, client
        yield made


def test_messages_of_a_step_have_its_time_and_px4_gets_what_was_sent(make):
    block, client = make()
    client.connect()
    client.create_writer(5, 'rt/px4_88/fmu/out/wind', 'px4_msgs::msg::dds_::Wind_')
    client.create_reader(0x800, 'rt/px4_88/fmu/in/vehicle_command',
                         'px4_msgs::msg::dds_::VehicleCommand_')
    assert block.step(4000, {}) == {}
    block.after_reply(4000)
    client.write(5, message(8000))
    client.received()
    assert block.step(8000, {}) == {}, 'it was said late, of the step before'
    client.write(5, message(8000))
    block.after_reply(8000)
    name = '/px4_88/fmu/in/vehicle_command'
    block.ros.came = [(name, b'\0\1\0\0' + message(8000, b'x'))]
    assert block.step(12_000, {}) == {}
    out = '/px4_88/fmu/out/wind', b'\0\1\0\0' + message(8000)
    assert block.ros.published == [out, out]
    assert block.recorded == [
        (4000, *out), (8000, *out), (12_000, name, b'\0\1\0\0' + message(8000, b'x'))]
    assert client.received()[-1][1][4:] == message(8000, b'x')
    assert block.ros.known == [Topic(out[0], 'px4_msgs/msg/Wind'),
                               Topic(name, 'px4_msgs/msg/VehicleCommand')]
    assert block.values()['from_px4'] == 2 and block.values()['to_px4'] == 1
    assert block.values()['gap_us'] == 12_000
    values = block.status().values
    assert (values['topics_from_px4'], values['topics_to_px4']) == (1, 1)


def test_a_topic_that_ros_does_not_take_is_named_once_and_the_others_fly(make):
    block, client = make()
    block.ros.not_taken = ['/rosout']
    client.connect()
    client.create_writer(5, 'rt/rosout', 'px4_msgs::msg::dds_::Wind_')
    for number, name in (6, 'wind'), (7, 'home_position'):
        time_us = STEP_US * (number - 5)
        client.write(5, message(time_us))
        client.create_writer(number, f'rt/fmu/out/{name}', 'px4_msgs::msg::dds_::Wind_')
        assert block.step(time_us, {}) == {}
        block.after_reply(time_us)
    assert block.said == ['UDP port 8976: a topic that ROS does not take (/rosout): not taken']
    assert not block.recorded and not block.ros.published
    assert {topic.name for topic in block.ros.known} == {'/fmu/out/wind', '/fmu/out/home_position'}


def test_px4_is_asked_in_a_step_and_its_answer_goes_to_who_has_asked(make):
    block, client = make()
    client.connect()
    client.create_replier(0x800, 'px4_88/fmu/vehicle_command', 'VehicleCommand')
    assert block.step(4000, {}) == {}
    block.after_reply(4000)
    name = '/px4_88/fmu/vehicle_command'
    assert block.ros.known == [Service(name, 'px4_msgs/srv/VehicleCommand')]
    client.received()
    block.ros.calls = [(name, message(7000, b'arm'), 'me'), (name, message(7500), 'other')]
    assert block.step(8000, {}) == {}
    (_, first), (_, second) = client.received()
    assert first[28:] == message(7000, b'arm') and second[4:28] != first[4:28]
    client.answer(0x800, first[4:28], b'accepted')
    client.answer(0x800, first[4:28], b'again')
    block.after_reply(8000)
    assert block.ros.answers == [(name, 'me', b'accepted')]
    assert block.recorded[0] == (8000, name, b'\0\1\0\0' + message(7000, b'arm'))
    assert block.values()['to_px4'] == 2 and block.values()['gap_us'] == 8000


def test_the_first_step_waits_for_who_publishes_and_the_others_for_what(make):
    block, _ = make('offboard_control_mode')
    name = '/px4_88/fmu/in/offboard_control_mode'
    block.ros.absent = True
    assert block.step(4000, {}) is None and block.finish(4000) is None
    assert block.holds() == f'no node publishes {name}, which is awaited'
    block.ros.absent = False
    assert block.finish(4000) == {} and block.holds() == ''
    block.after_reply(4000)
    assert block.step(8000, {}) == {}
    block.after_reply(8000)
    assert block.step(20_000, {}) is None and block.finish(20_000) is None
    assert block.holds() == (f'/offboard has not published {name} for t = 0.020000 s, which is'
                             ' awaited; none has come yet')
    block.ros.came = [(name, b'\0\1\0\0' + message(20_000))]
    assert block.finish(20_000) == {} and block.holds() == ''
    block.after_reply(20_000)
    block.ros.absent = True
    assert block.step(40_000, {}) is None and block.finish(40_000) == {}
    assert block.said == [f'{name} is awaited no longer: the node that has published it has left']
    assert 'gap' not in block.values()


def test_what_px4_says_within_steps_taken_at_once_ends_them_if_a_node_hears_it(make):
    block, client = make()
    assert block.step(4000, {}) == {}
    client.connect()
    for number, name in (5, 'wind'), (6, 'home_position'):
        client.create_writer(number, f'rt/px4_88/fmu/out/{name}', 'px4_msgs::msg::dds_::Wind_')
    assert block.hear_ahead(4000), 'ROS has to know of the topics'
    block.after_reply(4000)
    assert block.next_act_us(8000) > 10**12
    block.ros.listened_to = ['/px4_88/fmu/out/home_position']
    client.write(5, message(8000))
    assert not block.hear_ahead(8000)
    client.write(5, message(12_000))
    client.write(6, message(12_000))
    assert block.hear_ahead(12_000)
    assert [time_us for time_us, *_ in block.recorded] == [8000], 'the rest is reported afterwards'
    block.ros.begun.clear()
    block.took_steps(12_000)
    assert block.ros.begun == [8000, 12_000]
    block.after_reply(12_000)
    assert [(time_us, name[-4:]) for time_us, name, _ in block.recorded] == [
        (8000, 'wind'), (12_000, 'wind'), (12_000, 'tion')]
    assert [data for _, data in block.ros.published] == [its for *_, its in block.recorded]
    assert block.next_act_us(16_000) > 10**12, 'no node that has heard it may say anything'
    block.ros.is_spoken_to = True
    assert block.next_act_us(16_000) == 16_000, 'what is free comes with the next step'


def test_steps_are_taken_at_once_until_a_node_acts_that_has_heard_nothing(make):
    block, client = make('offboard_control_mode')
    name = '/px4_88/fmu/in/offboard_control_mode'
    client.connect()
    client.create_writer(5, 'rt/px4_88/fmu/out/wind', 'px4_msgs::msg::dds_::Wind_')
    for time_us in range(4000, 24_000, STEP_US):
        if time_us == 20_000:
            block.ros.came = [(name, b'\0\1\0\0' + message(20_000))]
        assert block.step(time_us, {}) == {}
        block.after_reply(time_us)
        assert block.next_act_us(time_us + STEP_US) == (
            20_000 if time_us < 20_000 else 40_000)
    client.write(5, message(24_000))
    assert not block.hear_ahead(24_000) and block.next_act_us(28_000) == 40_000
    block.ros.listened_to = ['/px4_88/fmu/out/wind']
    client.write(5, message(28_000))
    assert block.hear_ahead(28_000)
    block.after_reply(28_000)
    assert block.next_act_us(32_000) == 32_000
    block.ros.came = [(name, b'\0\1\0\0' + message(40_000))]
    assert block.step(40_000, {}) == {} and block.next_act_us(44_000) == 60_000


def test_a_wait_is_told_after_a_second(make, monkeypatch):
    from px4_sim_ros.link.xrce import block as module
    block, _ = make('offboard_control_mode')
    monkeypatch.setattr(module, '_SAID_AFTER_S', 0.0)
    block.step(20_000, {})
    block.finish(20_000)
    block.finish(20_000)
    assert block.said == [block.holds()] and block.holds()
    assert block.ros.repeated == set(), 'with the time'


def test_topics_are_awaited_under_the_names_of_px4():
    parameters = TopicsParameters(
        0, 0, 'vehicle_command /other/fmu/in/x y:vehicle_odometry', 4000, 0, '')
    assert parameters.awaited_topics == [
        Awaited('/fmu/in/vehicle_command'), Awaited('/other/fmu/in/x'),
        Awaited('/fmu/in/y', '/fmu/out/vehicle_odometry')]
    assert parameters.its_port == 8888
    assert dataclasses.replace(parameters, instance=2, port=9000).its_port == 9000
    assert dataclasses.replace(parameters, instance=2).awaited_topics[2] == (
        '/px4_2/fmu/in/y', '/px4_2/fmu/out/vehicle_odometry')


def test_a_period_below_the_step_is_refused():
    with pytest.raises(ParameterError, match=r'px4_topics\.awaited_period_us = 1000: must be at'
                       ' least step_us = 4000'):
        load_configuration(None, {'': {'px4_topics': True},
                                  'px4_topics': {'awaited_period_us': 1000}})
