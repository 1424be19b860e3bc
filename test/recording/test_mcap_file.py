# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An MCAP file has the bytes that the library's own writer gives it."""
import io
import random

import bags
import pytest
import yaml
from mcap.reader import make_reader
from mcap.writer import MCAP0_MAGIC, CompressionType, Writer

from px4_sim_ros.recording.bag import rosbag2_metadata
from px4_sim_ros.recording.bag.mcap_file import (
    MAGIC,
    McapFile,
    end_without_summary,
    message_record,
)
from px4_sim_ros.recording.bag.rosbag2_metadata import FileInfo, TopicInfo

LIBRARY = 'us 1.0'
VALUES = {'run': '1', 'where': 'zurich'}


def messages(count):
    """Return channel, time, sequence and data of messages; those of a time are in any order."""
    source = random.Random(7)
    return [(1 + source.randrange(3), 1000 * (i // 3) + source.randrange(500), i,
             source.randbytes(source.randrange(200))) for i in range(count)]


def ours(flushed, compression, chunk_bytes):
    """Return the file of some lists of messages with a flush after each."""
    stream = io.BytesIO()
    file = McapFile(stream, LIBRARY, compression, chunk_bytes)
    file.add_metadata('about', VALUES)
    file.add_attachment('run.yaml', 'application/yaml', b'seed: 1')
    schemas = [file.add_schema(f'pkg/msg/{name}', 'ros2msg', b'float64 x') for name in 'AB']
    for i in range(3):
        file.add_channel(f'/topic_{i}', 'cdr', schemas[i % 2], {'qos': 'reliable'})
    for its in flushed:
        for message in its:
            file.add_all(message[1], [message_record(*message)])
        file.flush()
    file.finish()
    return stream.getvalue()


def theirs(flushed, compression, chunk_bytes):
    stream = io.BytesIO()
    writer = Writer(stream, chunk_size=chunk_bytes,
                    compression=CompressionType[compression.upper()])
    writer.start('ros2', LIBRARY)
    writer.add_metadata('about', VALUES)
    writer.add_attachment(0, 0, 'run.yaml', 'application/yaml', b'seed: 1')
    schemas = [writer.register_schema(f'pkg/msg/{name}', 'ros2msg', b'float64 x') for name in 'AB']
    for i in range(3):
        writer.register_channel(f'/topic_{i}', 'cdr', schemas[i % 2], {'qos': 'reliable'})
    for its in flushed:
        for channel, time_ns, sequence, data in its:
            writer.add_message(channel, time_ns, data, time_ns, sequence)
        writer.flush()
    writer.finish()
    return stream.getvalue()


@pytest.mark.parametrize('compression', ['none', 'lz4', 'zstd'])
@pytest.mark.parametrize('counts', [(), (0,), (1,), (200,), (50, 0, 1, 300)])
@pytest.mark.parametrize('chunk_bytes', [1000, 10_000_000])
def test_it_has_the_bytes_of_the_library(compression, counts, chunk_bytes):
    """However it is flushed, and when chunks are full before."""
    all_of_them, flushed = iter(messages(sum(counts))), []
    for count in counts:
        flushed.append([next(all_of_them) for _ in range(count)])
    found = ours(flushed, compression, chunk_bytes)
    assert found == theirs(flushed, compression, chunk_bytes)
    assert len(list(make_reader(io.BytesIO(found), validate_crcs=True).iter_messages())) == sum(
        counts)


def test_a_file_that_was_cut_after_a_chunk_can_be_read():
    stream = io.BytesIO()
    file = McapFile(stream, LIBRARY, 'none', 1000)
    schema = file.add_schema('pkg/msg/A', 'ros2msg', b'float64 x')
    file.add_channel('/topic', 'cdr', schema, {})
    for i in range(100):
        file.add_all(i, [message_record(1, i, i, b'1234')])
    file.flush()
    stream.write(end_without_summary())
    reader = make_reader(io.BytesIO(stream.getvalue()))
    assert [message.log_time for _, _, message in reader.iter_messages()] == list(range(100))
    assert MAGIC == MCAP0_MAGIC


# The file metadata.yaml, as rosbag2 writes and reads it.

TOPICS = {TopicInfo('/imu', 'sensor_msgs/msg/Imu', 'RIHS01_00', False): 3,
          TopicInfo('/log', 'std_msgs/msg/String', 'RIHS01_01', True): 0}


def file_info(name, *times_us):
    return FileInfo(name, times_us[0], times_us[-1], len(times_us)) if times_us else FileInfo(name)


def written(folder, files, topics=TOPICS):
    unfinished, final = (
        rosbag2_metadata.text_of(files, topics, {'key': 'value'}, is_final=is_final)
        for is_final in (False, True))
    assert yaml.safe_load(final) == yaml.safe_load(unfinished)
    rosbag2_metadata.replace(folder, final)
    return yaml.safe_load((folder / 'metadata.yaml').read_text())['rosbag2_bagfile_information']


def test_times_and_counts_of_all_files(tmp_path):
    content = written(tmp_path, [
        file_info('a_0.mcap', 4000, 8000), file_info('a_1.mcap', 12_000)])
    assert content['starting_time'] == {'nanoseconds_since_epoch': 4_000_000}
    assert content['duration'] == {'nanoseconds': 8_000_000}
    assert content['message_count'] == 3
    assert [(f['path'], f['message_count'], f['duration']['nanoseconds'])
            for f in content['files']] == [('a_0.mcap', 2, 4_000_000), ('a_1.mcap', 1, 0)]
    assert content['custom_data'] == {'key': 'value'}
    assert rosbag2_metadata.files_and_data(tmp_path) == (
        ['a_0.mcap', 'a_1.mcap'], {'key': 'value'})
    rosbag2_metadata.add_custom_data(tmp_path, {'more': '1'})
    content['custom_data']['more'] = '1'
    assert yaml.safe_load((tmp_path / 'metadata.yaml').read_text()) == {
        'rosbag2_bagfile_information': content}


def test_a_file_without_messages_has_no_time(tmp_path):
    content = written(tmp_path, [file_info('a_0.mcap', 8000), file_info('a_1.mcap')])
    assert content['starting_time'] == {'nanoseconds_since_epoch': 8_000_000}
    assert content['duration'] == {'nanoseconds': 0}
    assert content['message_count'] == 1


def test_nothing_was_recorded(tmp_path):
    content = written(tmp_path, [file_info('a_0.mcap')], dict.fromkeys(TOPICS, 0))
    assert (content['message_count'], content['duration']) == (0, {'nanoseconds': 0})


def test_topics_with_their_types_and_quality_of_service(tmp_path):
    content = written(tmp_path, [file_info('a_0.mcap', 4000)])
    topics = {t['topic_metadata']['name']: t for t in content['topics_with_message_count']}
    assert {name: t['message_count'] for name, t in topics.items()} == {'/imu': 3, '/log': 0}
    imu, log = (topics[name]['topic_metadata'] for name in ('/imu', '/log'))
    assert (imu['type'], imu['serialization_format']) == ('sensor_msgs/msg/Imu', 'cdr')
    assert imu['type_description_hash'] == 'RIHS01_00'
    assert [q['durability'] for q in imu['offered_qos_profiles']] == ['volatile']
    assert [q['durability'] for q in log['offered_qos_profiles']] == ['transient_local']


@pytest.mark.parametrize('latched', [False, True])
def test_the_quality_of_service_is_the_same_as_that_of_a_channel(latched):
    text = rosbag2_metadata.qos_text(latched)
    assert yaml.safe_load(text) == rosbag2_metadata.qos_profiles(latched)
    assert '&' not in text      # an anchor, which not every reader knows


def test_it_is_whole_at_any_time(tmp_path):
    before = written(tmp_path, [file_info('a_0.mcap', 4000)])
    with bags.largest_file(100), pytest.raises(OSError, match='File too large'):
        written(tmp_path, [file_info('a_0.mcap', 4000, 8000)])
    assert [path.name for path in tmp_path.iterdir()] == ['metadata.yaml']
    assert written(tmp_path, [file_info('a_0.mcap', 4000)]) == before


def test_names_of_files_that_are_found_are_in_the_order_of_their_numbers(tmp_path):
    for name in ('run_10.mcap', 'run_9.mcap', 'run_0.mcap', 'notes.txt'):
        (tmp_path / name).touch()
    assert rosbag2_metadata.files_and_data(tmp_path) == (
        ['run_0.mcap', 'run_9.mcap', 'run_10.mcap'], {})
