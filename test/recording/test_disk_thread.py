# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The thread that waits for the disk: steps go on meanwhile, one flush ahead of it at most."""
import errno
import threading

import bags
import pytest

from px4_sim_ros.recording.bag import writer as bag_writer
from px4_sim_ros.recording.bag.disk_thread import AtOnce, DiskThread, ThreadIfLong

S = 1_000_000
PATIENCE_S = 20.0


class SlowDisk(DiskThread):
    """A thread that does nothing until it may."""

    def __init__(self):
        self.may_work, self.begun = threading.Event(), []
        self.may_work.set()
        super().__init__()

    def begin(self, work):
        def do():
            assert self.may_work.wait(PATIENCE_S)
            work()

        super().begin(do)
        self.begun.append(work)


@pytest.fixture
def disk(monkeypatch):
    disk = SlowDisk()
    monkeypatch.setattr('bags.new_disk', lambda: disk)
    yield disk
    disk.may_work.set()
    disk.close()


def test_steps_go_on_while_the_disk_is_slow_up_to_the_next_flush(disk, tmp_path):
    run = bags.description()
    writer = bags.begin_bag(tmp_path / 'bag', run, flush_us=100_000)
    bags.write_all(writer, bags.messages_of(run, 48_000))
    disk.wait()
    disk.may_work.clear()
    # The flush of 100 ms is under way. That of 200 ms has to wait for it: with t = 204 ms.
    bags.write_all(writer, bags.messages_of(run, 200_000, 48_000))
    assert (writer.flushed_us, len(disk.begun)) == (4000, 2)
    later = threading.Thread(
        target=bags.write_all, args=(writer, bags.messages_of(run, 204_000, 200_000)))
    later.start()
    later.join(0.1)
    assert later.is_alive()
    disk.may_work.set()
    later.join(PATIENCE_S)
    assert not later.is_alive()
    writer.close()
    assert writer.flushed_us == 204_000
    assert bags.read_all(tmp_path / 'bag')[1] == bags.messages_of(run, 204_000)
    assert not disk._thread.is_alive()


@pytest.mark.parametrize('values', [
    {}, {'compression': 'zstd'}, {'split_duration_s': 0.3}, {'split_size_mb': 0.1}, {'every': 3}])
@pytest.mark.parametrize('chunk_bytes', [20_000, 16 * 1024 * 1024])
def test_a_bag_has_the_same_bytes_without_it(chunk_bytes, values, tmp_path, monkeypatch):
    """Also when chunks are full before they are flushed."""
    monkeypatch.setattr(bag_writer, '_CHUNK_BYTES', chunk_bytes)
    written = []
    for new_disk in AtOnce, DiskThread, ThreadIfLong:
        monkeypatch.setattr('bags.new_disk', new_disk)
        folder = tmp_path / new_disk.__name__ / 'bag'
        bags.write_bag(folder, S, flush_us=100_000, **values)
        written.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert written[0] == written[1] == written[2]


def test_what_fails_is_raised_once_and_then_it_goes_on():
    disk, done = DiskThread(), []

    def fail():
        raise OSError(errno.ENOSPC, 'No space left on device')

    disk.begin(fail)
    with pytest.raises(OSError, match='No space left on device'):
        disk.begin(lambda: done.append(1))
    disk.begin(lambda: done.append(2))
    disk.wait()
    disk.wait()
    disk.close()
    disk.close()
    assert done == [2]


def test_only_what_takes_long_is_done_in_the_thread(monkeypatch):
    """As long as it does."""
    now_s, threads = [0.0], []
    monkeypatch.setattr('time.perf_counter', lambda: now_s[0])
    disk = ThreadIfLong()

    def work(duration_s):
        now_s[0] += duration_s
        threads.append(threading.current_thread() is threading.main_thread())

    for duration_s in 1e-4, 6e-3, 7e-3, 1e-4, 1e-4:
        disk.begin(lambda duration_s=duration_s: work(duration_s))
    disk.close()
    assert threads == [True, True, False, False, True]


def test_what_fails_at_once_is_raised_at_once():
    disk = ThreadIfLong()
    with pytest.raises(ZeroDivisionError):
        disk.begin(lambda: 1 // 0)
    disk.wait()
    disk.close()


@pytest.mark.parametrize('ends', ['close', 'begin'])
def test_a_failure_leaves_no_thread(ends, disk, tmp_path, monkeypatch):
    """Whether it is found by the next flush, or only at the end."""
    run = bags.description()
    writer = bags.begin_bag(tmp_path / 'bag', run, flush_us=100_000)
    bags.write_all(writer, bags.messages_of(run, 100_000))
    disk.wait()

    def fail():
        raise OSError(errno.ENOSPC, 'No space left on device')

    monkeypatch.setattr(writer._file, 'take_chunk', lambda: fail)
    bags.write_all(writer, bags.messages_of(run, 200_000, 100_000))
    with pytest.raises(OSError, match='No space left on device'):
        if ends == 'begin':
            bags.write_all(writer, bags.messages_of(run, 204_000, 200_000))
        else:
            writer.close()
    assert not disk._thread.is_alive()
    reader, found = bags.read_all(tmp_path / 'bag')
    assert (found, reader.damage) == (bags.messages_of(run, writer.flushed_us), '')
