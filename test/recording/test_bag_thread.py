# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The thread that writes: it reports its progress and every failure."""
import errno
import os
import threading

import pytest

from px4_sim_ros.recording.bag.reader import Message
from px4_sim_ros.recording.bag.writer import BagWriter
from px4_sim_ros.recording.bag.writer_thread import BagThread, LostError

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
