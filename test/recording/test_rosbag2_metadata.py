# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The file metadata.yaml, as rosbag2 writes and reads it."""
import bags
import pytest
import yaml

from px4_sim_ros.recording.bag import rosbag2_metadata
from px4_sim_ros.recording.bag.rosbag2_metadata import FileInfo, TopicInfo

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
    assert rosbag2_metadata.file_names(tmp_path) == ['a_0.mcap', 'a_1.mcap']


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
    assert rosbag2_metadata.file_names(tmp_path) == ['run_0.mcap', 'run_9.mcap', 'run_10.mcap']
