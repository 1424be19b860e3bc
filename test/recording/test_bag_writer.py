# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Bags: what is written is in them, split, compressed, interrupted or on a full disk."""
import collections
import errno
import os
import shutil
import subprocess

import pytest
import yaml
from bags import (
    STEP_US,
    begin_bag,
    description,
    largest_file,
    messages_of,
    read_all,
    recorder_parameters,
    side_messages,
    write_all,
    write_bag,
)
from mcap.reader import make_reader

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.recording.bag import rosbag2_metadata
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.bag.run_description import BagError
from px4_sim_ros.recording.bag.schema import definition
from px4_sim_ros.recording.bag.writer import BagWriter, topics_of
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.step import side_topics

S = 1_000_000
COMPRESSIONS = pytest.mark.parametrize('compression', ['none', 'lz4', 'zstd'])


def metadata(folder):
    return yaml.safe_load((folder / 'metadata.yaml').read_text())['rosbag2_bagfile_information']


def counts_in_metadata(folder):
    """Return the messages of each topic by its full name, those that have any."""
    return {topic['topic_metadata']['name']: topic['message_count']
            for topic in metadata(folder)['topics_with_message_count'] if topic['message_count']}


def counts_of(run, messages):
    return dict(collections.Counter(run.full_name(message.topic) for message in messages))


@COMPRESSIONS
@pytest.mark.parametrize('namespace', ['', 'north/two'])
def test_what_was_written_is_read(compression, namespace, tmp_path):
    run = description(namespace)
    messages = write_bag(tmp_path / 'bag', S + 500_000, run, compression=compression)
    reader, found = read_all(tmp_path / 'bag')
    assert found == messages
    assert reader.damage == ''
    assert reader.run == run
    assert counts_in_metadata(tmp_path / 'bag') == counts_of(run, messages)
    assert metadata(tmp_path / 'bag')['message_count'] == len(messages)


@pytest.mark.parametrize('compression, kind', [('none', ''), ('lz4', 'lz4'), ('zstd', 'zstd')])
def test_chunks_are_compressed_as_asked(compression, kind, tmp_path):
    write_bag(tmp_path / 'bag', S, compression=compression)
    with open(tmp_path / 'bag/bag_0.mcap', 'rb') as file:
        chunks = make_reader(file).get_summary().chunk_indexes
        assert {chunk.compression for chunk in chunks} == {kind}


def test_messages_of_a_topic_are_numbered_through_all_files(tmp_path):
    write_bag(tmp_path / 'bag', 2 * S, split_duration_s=1.0)
    numbers = []
    for index in (0, 1):
        with open(tmp_path / f'bag/bag_{index}.mcap', 'rb') as file:
            numbers += [message.sequence for _, _, message in
                        make_reader(file).iter_messages(topics=['/imu/data_raw'])]
    assert numbers == list(range(2 * S // STEP_US))


# Splitting.

def assert_files_stand_alone(folder, messages, run):
    """See that each file can be read without the others, and that the counts are right."""
    files = metadata(folder)['files']
    rest = list(messages)
    for info in files:
        alone = folder.parent / info['path'].removesuffix('.mcap')
        alone.mkdir()
        shutil.copy(folder / info['path'], alone)
        reader, found = read_all(alone)
        assert reader.run == run
        assert found == rest[:len(found)]
        rest = rest[len(found):]
        times_us = [message.time_us for message in found]
        assert info['message_count'] == len(found) > 0
        assert info['starting_time']['nanoseconds_since_epoch'] == times_us[0] * 1000
        assert info['duration']['nanoseconds'] == (times_us[-1] - times_us[0]) * 1000
        with open(folder / info['path'], 'rb') as file:
            assert make_reader(file).get_summary().statistics.message_count == len(found)
    assert rest == []
    assert [info['path'] for info in files] == metadata(folder)['relative_file_paths']
    return files


def test_a_new_file_after_so_much_time(tmp_path):
    messages = write_bag(tmp_path / 'bag', 5 * S, split_duration_s=2.0)
    files = assert_files_stand_alone(tmp_path / 'bag', messages, description())
    assert [file['path'] for file in files] == ['bag_0.mcap', 'bag_1.mcap', 'bag_2.mcap']
    starts_s = [file['starting_time']['nanoseconds_since_epoch'] * 1e-9 for file in files]
    assert starts_s == pytest.approx([0.0, 2.004, 4.004])
    assert read_all(tmp_path / 'bag')[1] == messages


@pytest.mark.parametrize('compression', ['none', 'zstd'])
def test_a_new_file_after_so_many_bytes(compression, tmp_path):
    messages = write_bag(
        tmp_path / 'bag', 4 * S, split_size_mb=0.1, flush_us=100_000, compression=compression)
    files = assert_files_stand_alone(tmp_path / 'bag', messages, description())
    sizes = [(tmp_path / 'bag' / file['path']).stat().st_size for file in files]
    assert len(sizes) > 1
    # One flush more than was asked for, and the index.
    assert all(100_000 <= size < 200_000 for size in sizes[:-1]), sizes


def test_a_file_that_is_still_empty_begins_where_the_one_before_ends(tmp_path, monkeypatch):
    noted, replace = [], rosbag2_metadata.replace

    def note(folder, text):
        replace(folder, text)
        noted.append(metadata(folder)['files'])

    monkeypatch.setattr(rosbag2_metadata, 'replace', note)
    write_bag(tmp_path / 'bag', 3 * S, split_duration_s=1.0)
    empty = [files for files in noted if len(files) > 1 and not files[-1]['message_count']]
    assert len(empty) == 2
    for *_, before, last in empty:
        assert last['duration']['nanoseconds'] == 0
        assert last['starting_time']['nanoseconds_since_epoch'] == (
            before['starting_time']['nanoseconds_since_epoch'] + before['duration']['nanoseconds'])


def test_more_than_ten_files_keep_their_order_without_metadata(tmp_path):
    messages = write_bag(tmp_path / 'bag', 1_200_000, split_duration_s=0.1, flush_us=100_000)
    assert len(metadata(tmp_path / 'bag')['files']) == 12
    (tmp_path / 'bag/metadata.yaml').unlink()
    assert read_all(tmp_path / 'bag')[1] == messages


# Flushing.

@pytest.mark.parametrize('compression', ['none', 'lz4'])
def test_nothing_that_was_flushed_is_lost(compression, tmp_path):
    """The folder is copied while the bag is open, as if the process were killed."""
    run, folder = description(), tmp_path / 'bag'
    writer = begin_bag(folder, run, compression=compression)
    messages = side_messages() + messages_of(run, S // 2)
    write_all(writer, messages)
    writer.flush()
    shutil.copytree(folder, tmp_path / 'copy/bag')
    write_all(writer, messages_of(run, S // 2 + 8000, S // 2))
    reader, found = read_all(tmp_path / 'copy/bag')
    assert found == messages
    assert reader.damage == (f"bag {tmp_path / 'copy/bag'}: bag_0.mcap ends too early; it was read"
                             ' up to t = 0.500000 s')
    assert counts_in_metadata(tmp_path / 'copy/bag') == {}        # not of a file that is open
    writer.close()
    assert counts_in_metadata(folder) == counts_of(run, read_all(folder)[1])


@pytest.mark.parametrize('flush_us', [20_000, 100_000])
def test_at_no_time_more_than_the_bound_is_lost(flush_us, tmp_path):
    run, folder = description(), tmp_path / 'bag'
    writer = begin_bag(folder, run, flush_us=flush_us, split_duration_s=0.1)
    last_us = 0
    for time_us in range(STEP_US, 300_001, STEP_US):
        write_all(writer, messages_of(run, time_us, time_us - STEP_US))
        if time_us % 28_000:       # reading takes a while
            continue
        copy = tmp_path / f'{time_us}/bag'
        shutil.copytree(folder, copy)
        _, found = read_all(copy)
        last_us = found[-1].time_us if found else 0
        assert time_us - last_us <= flush_us
        # All of a time or nothing of it.
        assert found == messages_of(run, last_us)
        # The file that is open begins where the one before ends, and is not counted yet.
        told = metadata(copy)
        assert told['relative_file_paths'] == [f'bag_{i}.mcap' for i in range(len(told['files']))]
        begins_ns = told['files'][-1]['starting_time']['nanoseconds_since_epoch']
        assert told['message_count'] == sum(1000 * m.time_us <= begins_ns for m in found)
        assert writer.flushed_us == last_us
    writer.close()
    assert last_us > 0


def test_the_first_step_in_a_file_is_flushed_at_once(tmp_path):
    """Some readers refuse a file in which there is none."""
    run, folder = description(), tmp_path / 'bag'
    writer = begin_bag(folder, run, split_duration_s=0.1, flush_us=100_000)
    for index, start_us in enumerate((0, 100_000, 200_000)):
        write_all(writer, messages_of(run, start_us + 2 * STEP_US, start_us))
        copy = tmp_path / str(index) / f'bag_{index}'
        copy.mkdir(parents=True)
        shutil.copy(folder / f'bag_{index}.mcap', copy)
        assert read_all(copy)[1] == messages_of(run, start_us + STEP_US, start_us)
        write_all(writer, messages_of(run, start_us + 100_000, start_us + 2 * STEP_US))
    writer.close()


def test_a_bag_that_is_killed_before_anything_was_flushed_is_empty(tmp_path):
    writer = begin_bag(tmp_path / 'bag')
    shutil.copytree(tmp_path / 'bag', tmp_path / 'copy/bag')
    reader, found = read_all(tmp_path / 'copy/bag')
    assert found == []
    assert 'bag_0.mcap ends too early; it was read up to t = 0.000000 s' in reader.damage
    writer.close()
    reader, found = read_all(tmp_path / 'bag')
    assert (found, reader.damage) == ([], '')


# Where nothing can be written any more.

def no_room(writer, room):
    """Let there be room for so many bytes more in the file that is open."""
    return largest_file(writer._stream.tell() + room)


def assert_cut(folder, messages):
    """See that a bag holds these messages and has an end; return its reader."""
    reader, found = read_all(folder)
    assert found == messages
    assert reader.damage == ''
    assert counts_in_metadata(folder) == counts_of(reader.run, messages)
    assert {path.name for path in folder.iterdir()} == {
        'metadata.yaml', *metadata(folder)['relative_file_paths']}
    return reader


@pytest.mark.parametrize('compression', ['none', 'zstd'])
@pytest.mark.parametrize('room', [100, 5000])
def test_on_a_full_disk_a_bag_ends_with_the_last_flush(room, compression, tmp_path):
    run, folder = description(), tmp_path / 'bag'
    writer = begin_bag(folder, run, compression=compression)
    messages = messages_of(run, S)
    write_all(writer, messages)
    writer.flush()
    with no_room(writer, room), pytest.raises(OSError, match='File too large'):
        write_all(writer, messages_of(run, 3 * S, S))
    assert writer.flushed_us == S
    assert_cut(folder, messages)


def test_on_a_full_disk_a_chunk_that_is_long_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr('px4_sim_ros.recording.bag.writer._CHUNK_BYTES', 50_000)
    run, folder = description(), tmp_path / 'bag'
    writer = begin_bag(folder, run)
    messages = messages_of(run, S)
    write_all(writer, messages)
    writer.flush()
    with no_room(writer, 120_000), pytest.raises(OSError, match='File too large'):
        write_all(writer, messages_of(run, S + 900_000, S))
    assert_cut(folder, messages)


@pytest.mark.parametrize('lacking', [5, 30, 10_000])
def test_on_a_full_disk_the_end_of_a_bag_is_cut(lacking, tmp_path):
    run, folder = description(), tmp_path / 'bag'
    messages = messages_of(run, S)
    sizes = []
    for path in tmp_path / 'whole/bag', folder:
        writer = begin_bag(path, run)
        write_all(writer, messages)
        writer.flush()
        sizes.append(writer._stream.tell())
        if path is not folder:
            writer.close()
            sizes.append((path / 'bag_0.mcap').stat().st_size)
    flushed, finished, _ = sizes
    with (no_room(writer, finished - flushed - lacking),
          pytest.raises(OSError, match='File too large')):
        writer.close()
    assert_cut(folder, messages)


def test_a_bag_whose_metadata_cannot_be_written_is_whole_without(tmp_path, monkeypatch):
    """There may be room for the messages and none for `metadata.yaml`."""
    run, folder = description(), tmp_path / 'bag'
    writer = begin_bag(folder, run)
    messages = messages_of(run, S)
    write_all(writer, messages)
    with monkeypatch.context() as patch:
        patch.setattr(rosbag2_metadata, 'replace', raise_full)
        with pytest.raises(OSError, match='No space left on device'):
            writer.close()
    reader, found = read_all(folder)
    assert (found, reader.damage, writer.flushed_us) == (messages, '', S)


def raise_full(*arguments, **keywords):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize('what', ['open', 'add_attachment', 'write'])
def test_a_file_that_cannot_be_begun_leaves_those_before_whole(what, tmp_path, monkeypatch):
    run, folder = description(), tmp_path / 'bag'
    writer = begin_bag(folder, run, split_duration_s=1.0)
    messages = messages_of(run, S)
    write_all(writer, messages)
    with monkeypatch.context() as patch:
        if what == 'open':
            (folder / 'bag_1.mcap').mkdir()
        elif what == 'write':
            count, real = [], rosbag2_metadata.replace

            def replace(folder, text):
                """Fail for the file that begins, not at the end of the one before."""
                count.append(1)
                return raise_full() if len(count) == 2 else real(folder, text)

            patch.setattr(rosbag2_metadata, 'replace', replace)
        else:
            patch.setattr(f'px4_sim_ros.recording.bag.mcap_file.McapFile.{what}', raise_full)
        with pytest.raises(OSError):
            write_all(writer, messages_of(run, S + STEP_US, S))
    if what == 'open':
        (folder / 'bag_1.mcap').rmdir()
    assert_cut(folder, messages)
    with open(folder / 'bag_0.mcap', 'rb') as file:
        assert make_reader(file).get_summary().statistics.message_count == len(messages)


@pytest.mark.parametrize('compression, size', [
    ('none', 120_000), ('none', 400_001), ('lz4', 120_000), ('zstd', 120_000)])
def test_a_file_that_may_not_grow_any_more_ends_with_the_last_flush(size, compression, tmp_path):
    run, folder = description(), tmp_path / 'bag'
    messages = messages_of(run, 20 * S)
    writer = begin_bag(folder, run, flush_us=100_000, compression=compression)
    with largest_file(size), pytest.raises(OSError, match='File too large'):
        write_all(writer, messages)
    # The end is written where there is room for it.
    kept = [message for message in messages if message.time_us <= writer.flushed_us]
    assert 0 < len(kept) < len(messages)
    assert_cut(folder, kept)


def test_a_bag_that_cannot_be_begun_for_want_of_room_leaves_no_trace(tmp_path):
    with largest_file(1000), pytest.raises(OSError, match='File too large'):
        begin_bag(tmp_path / 'bag')
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def small_disk(tmp_path):
    """Return a file system with a single megabyte."""
    place = tmp_path / 'disk'
    place.mkdir()
    mount = subprocess.run(
        ['mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', place], capture_output=True,
        check=False) if shutil.which('mount') else None
    if mount is None or mount.returncode:
        pytest.skip('only root can mount a small disk')
    yield place
    subprocess.run(['umount', '-l', place], check=True)


@pytest.mark.process
@pytest.mark.parametrize('split', [0.0, 0.2])
def test_a_disk_that_is_really_full(split, small_disk):
    run, folder = description(), small_disk / 'bag'
    messages = messages_of(run, 20 * S)
    writer = begin_bag(folder, run, flush_us=100_000, split_duration_s=split)
    with pytest.raises(OSError, match='No space left on device'):
        write_all(writer, messages)
    kept = [message for message in messages if message.time_us <= writer.flushed_us]
    assert len(kept) > 1000
    assert_cut(folder, kept)


def test_a_file_that_is_there_is_not_overwritten(tmp_path):
    (tmp_path / 'bag').mkdir()
    (tmp_path / 'bag/bag_0.mcap').write_text('precious')
    with pytest.raises(FileExistsError):
        BagWriter(tmp_path / 'bag', description(), recorder_parameters())
    assert (tmp_path / 'bag/bag_0.mcap').read_text() == 'precious'
    with pytest.raises(BagError):
        BagReader(tmp_path / 'bag')


# What readers are told.

def test_every_definition_begins_with_a_field_and_is_complete():
    for topic in topics_of(description()).values():
        parts = definition(topic.type).split('=' * 80 + '\n')
        assert '=' not in parts[0].splitlines()[0], topic.type
        known = {part.splitlines()[0].removeprefix('MSG: ') for part in parts[1:]}
        for part in parts:
            lines = [line for line in part.splitlines() if line and not line.startswith('MSG: ')]
            constants = ['=' in line for line in lines]
            assert constants == sorted(constants), topic.type
            for line in lines:
                name = line.split()[0].partition('[')[0]
                assert '/' not in name or name in known, (topic.type, line)
    assert definition('sensor_msgs/msg/BatteryState').startswith('std_msgs/Header header\n')


# What is recorded.

def test_of_so_many_messages_of_the_step_one_is_recorded(tmp_path):
    """The first of each topic, then each tenth; what is beside the step is all there."""
    messages = write_bag(tmp_path / 'bag', S, every=10)
    expected, seen = [], collections.Counter()
    for message in messages:
        if seen[message.topic] % 10 == 0 or message.topic in side_topics.RECORDED:
            expected.append(message)
        seen[message.topic] += 1
    found = read_all(tmp_path / 'bag')[1]
    assert found == expected and len(messages) > 8 * len(found)


def test_topics_that_are_not_named_are_not_recorded(tmp_path):
    wanted = 'ground_truth/odom', '/rosout'
    messages = write_bag(tmp_path / 'bag', S, topics=' '.join(wanted))
    found = read_all(tmp_path / 'bag')[1]
    assert found == [message for message in messages if message.topic in wanted] and found


def test_a_topic_that_is_none_is_refused_before_anything_flies():
    with pytest.raises(ParameterError, match=(
            r"recorder\.topics = 'odom': there is no such topic.*ground_truth/odom")):
        load_configuration(None, {'': {'recorder': True}, 'recorder': {'topics': 'odom'}})
    # Without a recorder nobody asks.
    load_configuration(None, {})
