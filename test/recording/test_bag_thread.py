# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The thread that writes: it reports its progress and every failure."""
import errno
import os
import random
import threading

import pytest

from px4_sim_ros.recording.bag.reader import Message
from px4_sim_ros.recording.bag.writer import BagWriter
from px4_sim_ros.recording.bag.writer_thread import BagThread, LostError, ReorderBuffer
from px4_sim_ros.step.presence import Presence

PATIENCE_S = 20.0


class Writer:
    """Keeps what is written; blocks or fails on demand."""

    def __init__(self):
        self.folder, self.flushed_us = '/tmp/bag', 3_000_000
        self.written, self.closed = [], False
        self.failure = self.failure_at_end = None
        self.may_write, self.begun = threading.Event(), threading.Event()
        self.may_write.set()

    def write(self, *message):
        self.begun.set()
        assert self.may_write.wait(PATIENCE_S)
        if self.failure:
            raise self.failure
        self.written.append(Message(*message))

    end_text = BagWriter.end_text

    def close(self):
        if self.failure_at_end:
            raise self.failure_at_end
        self.closed = True


class Rig:
    def __init__(self):
        self.writer, self.gathered, self.notified = Writer(), [], threading.Semaphore(0)
        self.bag = BagThread(self.writer, self._gather, self.notified.release)

    def _gather(self):
        gathered, self.gathered = self.gathered, []
        if isinstance(gathered, Exception):
            raise gathered
        return gathered

    def wake(self, gathered):
        self.gathered = gathered
        self.bag.wake()

    def wait_notified(self):
        assert self.notified.acquire(timeout=PATIENCE_S)


@pytest.fixture
def rig():
    made = Rig()
    yield made
    made.writer.may_write.set()
    made.bag.close()


MESSAGES = [Message('imu/data_raw', 4000, b'1'), Message('mag', 4000, b'2')]
FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_is_gathered_is_written_and_notified(rig):
    rig.wake(MESSAGES)
    rig.wait_notified()
    assert rig.writer.written == MESSAGES
    assert (rig.bag.problem, rig.bag.is_writing, rig.bag.flushed_us) == ('', False, 3_000_000)


def test_at_the_end_the_rest_is_written(rig):
    rig.gathered = MESSAGES
    rig.bag.close()
    assert (rig.writer.written, rig.writer.closed, rig.bag.problem) == (MESSAGES, True, '')


def test_while_the_disk_is_slow_it_says_that_it_writes(rig):
    rig.writer.may_write.clear()
    rig.wake(MESSAGES)
    assert rig.writer.begun.wait(PATIENCE_S)
    assert rig.bag.is_writing
    rig.writer.may_write.set()
    rig.wait_notified()
    assert not rig.bag.is_writing


@pytest.mark.parametrize('failure, reason', [
    (FULL, 'No space left on device'), (KeyError('a fault'), "KeyError: 'a fault'")])
def test_a_failure_is_told_with_where_the_recording_ends(failure, reason, rig):
    rig.writer.failure = failure
    rig.wake(MESSAGES)
    rig.wait_notified()
    assert rig.bag.problem == f'the recording in /tmp/bag ends at t = 3.000000 s: {reason}'
    assert not rig.bag.is_writing
    # Others may still wake and end it.
    rig.bag.wake()
    rig.bag.close()
    assert rig.writer.written == []


def test_after_a_message_was_lost_the_bag_is_finished(rig):
    rig.wake(LostError('mag for t = 3.020000 s was lost'))
    rig.wait_notified()
    rig.bag.close()
    assert rig.bag.problem.endswith('ends at t = 3.000000 s: mag for t = 3.020000 s was lost')
    assert rig.writer.closed


@pytest.mark.parametrize('failure', [LostError('mag was lost'), KeyError('a fault')])
def test_the_recording_ends_where_its_last_messages_were_flushed(failure, rig):
    def close():
        rig.writer.flushed_us = 3_500_000
    rig.writer.close = close
    rig.wake(failure)
    rig.wait_notified()
    assert 'ends at t = 3.500000 s: ' in rig.bag.problem


@pytest.mark.filterwarnings('ignore::pytest.PytestUnhandledThreadExceptionWarning')
@pytest.mark.parametrize('failure', [LostError('mag was lost'), KeyError('a fault')])
def test_a_failure_is_told_also_when_the_bag_cannot_be_finished(failure, rig):
    rig.writer.failure_at_end = TypeError('another fault')
    rig.wake(failure)
    rig.wait_notified()
    assert 'a fault' in rig.bag.problem or 'mag was lost' in rig.bag.problem


def test_a_failure_at_the_end_is_reported(rig):
    rig.writer.failure_at_end = FULL
    rig.bag.close()
    assert rig.bag.problem.endswith('ends at t = 3.000000 s: No space left on device')


# The reorder buffer: complete steps in the order of time, whatever the order of arrival.

STEP_US = 4
WINDOW_US = 80
PERIODS_US = {'clock': 4, 'imu': 4, 'gps': 20}


def collector(periods_us=None):
    return ReorderBuffer(periods_us or PERIODS_US, STEP_US, WINDOW_US)


def messages(end_us, start_us=0):
    """Return all (name, time, data), in the order in which they are given out."""
    return [(name, time_us, f'{name} {time_us}'.encode())
            for time_us in range(start_us + STEP_US, end_us + 1, STEP_US)
            for name, period_us in PERIODS_US.items() if time_us % period_us == 0]


@pytest.mark.parametrize('seed', range(20))
def test_whatever_the_order_of_arrival_whole_steps_are_given_out_in_order(seed):
    order, found, taking = random.Random(seed), [], collector()
    # No topic is ahead by more than the window, and a topic's messages come in their order.
    queues = {name: [m for m in messages(400) if m[0] == name] for name in PERIODS_US}
    while any(queues.values()):
        name = order.choice([n for n, queue in queues.items() if queue])
        if queues[name][0][1] <= taking.complete_us + WINDOW_US:
            taking.add(*queues[name].pop(0))
        if order.random() < 0.3:
            found += taking.take()
            assert found == [m for m in messages(400) if m[1] <= taking.complete_us]
    found += taking.take()
    assert found == messages(400)
    assert (taking.complete_us, taking.next_us) == (400, 404)


def test_a_step_that_is_not_whole_is_kept_back():
    taking = collector()
    for message in messages(20):
        if message[:2] != ('gps', 20):
            taking.add(*message)
    assert taking.take() == messages(16)
    assert taking.waits_for() == {'gps': -1}
    taking.add('gps', 20, b'gps 20')
    assert taking.take() == messages(20)[-3:]
    assert taking.waits_for() == {'clock': 20, 'imu': 20}


def test_nobody_waits_for_what_is_absent():
    taking = collector()
    for name, time_us, data in messages(24):
        taking.add(name, time_us, None if name == 'imu' and 8 <= time_us <= 16 else data)
    assert taking.take() == [m for m in messages(24) if m[0] != 'imu' or not 8 <= m[1] <= 16]


def test_a_missing_measurement_is_given_out_with_its_step_and_once():
    taking = collector(PERIODS_US | {'gps/vel': 20})
    for time_us in 20, 40:
        for _ in range(2):
            taking.add_no_measurement('no measurement', time_us, b'no gps', ['gps', 'gps/vel'])
    for message in messages(36):
        if message[0] != 'gps':
            taking.add(*message)
    found = taking.take()
    assert [m for m in found if m.topic == 'no measurement'] == [('no measurement', 20, b'no gps')]
    assert [m.topic for m in found if m.time_us == 20] == ['clock', 'imu', 'no measurement']
    for message in messages(40, 36):
        if message[0] != 'gps':
            taking.add(*message)
    assert taking.take()[-1] == ('no measurement', 40, b'no gps')
    taking.add_no_measurement('no measurement', 40, b'no gps', ['gps', 'gps/vel'])
    assert taking.take() == []


def test_what_comes_twice_is_given_out_once():
    """A message may be repeated, before it was given out and after."""
    taking, found = collector(), []
    for message in messages(40):
        taking.add(*message)
        taking.add(*message)
        if message[1] % 8 == 0:
            found += taking.take()
            taking.add(*message)
    found += taking.take()
    assert found == messages(40)
    assert not any(taking._waiting.values())


def test_a_side_message_gets_the_time_of_the_last_whole_step():
    taking = collector()
    taking.add_side_message('log', b'first')
    for message in messages(8):
        taking.add(*message)
    taking.add_side_message('log', b'second')
    assert taking.take() == [('log', 0, b'first'), ('log', 0, b'second'), *messages(8)]
    taking.add_side_message('log', b'third')
    for message in messages(12, 8):
        taking.add(*message)
    assert taking.take() == [('log', 8, b'third'), *messages(12, 8)]


def test_times_never_go_back():
    taking, found, order = collector(), [], random.Random(5)
    for message in messages(400):
        taking.add(*message)
        if order.random() < 0.4:
            taking.add_side_message('log', b'')
        if order.random() < 0.2:
            found += taking.take()
    times_us = [message.time_us for message in found]
    assert times_us == sorted(times_us)


def test_a_message_that_cannot_come_any_more_is_named_when_all_else_was_given_out():
    taking = collector()
    for message in messages(200):
        if message[:2] != ('imu', 100):
            taking.add(*message)
    assert taking.take() == messages(96)
    with pytest.raises(LostError, match=r'imu for t = 0\.000100 s was lost'):
        taking.take()


def test_within_the_window_a_message_may_be_late():
    taking = collector()
    for message in messages(100 + WINDOW_US):
        if message[:2] != ('imu', 100):
            taking.add(*message)
    assert taking.take() == messages(96)
    assert taking.take() == []
    taking.add('imu', 100, b'imu 100')
    assert taking.take() == messages(100 + WINDOW_US, 100 - STEP_US)


def test_what_the_run_before_has_left_under_way_is_left_out():
    """It is further ahead than anybody is allowed to be."""
    taking = collector()
    for message in messages(1000, 960):
        taking.add(*message)
    for message in messages(40):
        taking.add(*message)
    assert taking.take() == messages(40)
    assert taking.take() == []


def test_nobody_waits_for_a_vehicle_that_is_not_there():
    there = {'imu': Presence(20, 40), 'gps': Presence(20, 40)}
    taking = ReorderBuffer(PERIODS_US, STEP_US, WINDOW_US, there)
    expected = [m for m in messages(400) if m[0] == 'clock' or 20 < m[1] <= 40]
    for message in expected:
        taking.add(*message)
    assert taking.take() == expected
    assert taking.complete_us == 400


def test_what_comes_of_a_vehicle_before_it_is_known_to_join_is_kept():
    taking = ReorderBuffer(
        {'clock': 4, 'imu': 4}, STEP_US, WINDOW_US, {'imu': Presence(None)})
    clock = [m for m in messages(400) if m[0] == 'clock']
    imu = [m for m in messages(208) if m[0] == 'imu' and m[1] > 200]
    for message in [*clock[:50], *imu]:
        taking.add(*message)
    assert taking.take() == clock[:50]
    taking.change('imu', Presence(200))
    for message in clock[50:]:
        taking.add(*message)
    assert taking.take() == sorted(
        [*clock[50:52], *imu], key=lambda m: (m[1], list(PERIODS_US).index(m[0])))
    assert taking.waits_for() == {'imu': 208}
    taking.change('imu', Presence(208))       # it begins again, and goes on
    assert taking.waits_for() == {'imu': 208}
    taking.change('imu', Presence(0, 208))
    assert taking.take() == clock[52:]
