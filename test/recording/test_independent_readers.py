# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A recording in mode `core`, seen by libraries that others have written."""
import collections
import threading

import pytest
import yaml
from graph_recording import WHOLE
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from stand_in_autopilot import connect

from px4_sim_ros.flight.core_recorder import CoreRecorder
from px4_sim_ros.flight.core_vehicle import VehicleSetup
from px4_sim_ros.flight.core_world import CoreWorld
from px4_sim_ros.messages.stamps import serialised_stamp_us, stamp_us
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.bag.run_description import RunDescription
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.step import graph, side_topics

INSTANCE = 86
END_US = 1_200_000


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    """Return the folder of a short flight with all that is optional, in files of 0.4 s."""
    folder = tmp_path_factory.mktemp('recorded') / 'bag'
    configuration = load_configuration(None, WHOLE | {
        '': WHOLE[''] | {'recorder': True},
        'manager': {'speed_factor': 0.0}, 'hil_bridge': {'instance': INSTANCE},
        'recorder': {'folder': str(folder), 'flush_us': 200_000, 'split_duration_s': 0.4}})
    run = RunDescription.of(configuration, mode='core', autopilot='scripted')
    stop = threading.Event()
    recorder = CoreRecorder(configuration, run)
    world = CoreWorld(
        [VehicleSetup(configuration)],
        lambda time_us, _: time_us >= END_US and stop.set(), recorder)
    recorder.add_event(4000, 'a word')
    autopilot = connect(INSTANCE)
    try:
        world.run(stop)
    finally:
        recorder.add_event(8000, 'the last word')
        world.close()
        autopilot.close()
    return folder


@pytest.fixture(scope='module')
def expected(bag):
    """Return the messages by full name, as our own reader finds them; all are there."""
    reader = BagReader(bag)
    found = collections.defaultdict(list)
    for message in reader.messages():
        found[reader.run.full_name(message.topic)].append(message)
    world = reader.run.world
    for name, topic in reader.run.graph.topics.items():
        period_us = topic.period_us(world.step_us, world.periods_us)
        assert [m.time_us for m in found[reader.run.full_name(name)]] == list(
            range(period_us, END_US + 1, period_us)), name
    assert reader.damage == ''
    lines = [(reader.decode(m).msg, stamp_us(reader.decode(m).stamp)) for m in found['/rosout']]
    assert [line for line in lines if not line[0].startswith('link ')] == [
        ('a word', 4000), ('the last word', 8000)]
    return found


def type_of(name):
    relative = name if name in {*graph.TOPICS, *side_topics.RECORDED} else name[1:]
    return graph.TOPICS[relative].type if relative in graph.TOPICS else side_topics.RECORDED[
        relative].type


def stamp_ns(message):
    """Return the stamp of a decoded message of the step."""
    stamp = message.clock if hasattr(message, 'clock') else message.header.stamp
    return stamp.sec * 1_000_000_000 + stamp.nanosec


def test_rosbags_reads_types_counts_and_stamps(bag, expected):
    counts = collections.Counter()
    with Reader(bag) as reader:
        assert reader.start_time == min(m[0].time_us for m in expected.values() if m) * 1000
        assert reader.message_count == sum(map(len, expected.values()))
        assert reader.end_time - 1 == END_US * 1000
        types = {connection.topic: connection.msgtype for connection in reader.connections}
        assert types == {name: type_of(name) for name in types}
        assert expected.keys() <= types.keys()
        for connection, time_ns, data in reader.messages():
            message = expected[connection.topic][counts[connection.topic]]
            assert (time_ns, bytes(data)) == (message.time_us * 1000, message.data)
            counts[connection.topic] += 1
    assert counts == {name: len(messages) for name, messages in expected.items() if messages}


def test_rosbags_decodes_by_the_definitions_of_the_bag(bag, expected):
    """It has no types of its own here: what a definition refers to has to be in the bag."""
    with AnyReader([bag], default_typestore=get_typestore(Stores.EMPTY)) as reader:
        seen = set()
        for connection, time_ns, data in reader.messages():
            seen.add(connection.topic)
            message = reader.deserialize(data, connection.msgtype)
            if connection.topic[1:] in graph.TOPICS or connection.topic == '/clock':
                assert stamp_ns(message) == time_ns
        assert seen == {name for name, messages in expected.items() if messages}


def test_mcap_decodes_every_message_of_every_file(bag, expected):
    counts = collections.Counter()
    for path in sorted(bag.glob('*.mcap')):
        with open(path, 'rb') as file:
            reader = make_reader(file, decoder_factories=[DecoderFactory()])
            for kind, channel, message, decoded in reader.iter_decoded_messages(
                    log_time_order=False):
                known = expected[channel.topic][counts[channel.topic]]
                assert kind.name == type_of(channel.topic)
                assert message.log_time == message.publish_time == known.time_us * 1000
                if channel.topic[1:] in graph.TOPICS or channel.topic == '/clock':
                    assert stamp_ns(decoded) == message.log_time
                    assert serialised_stamp_us(message.data) == known.time_us
                counts[channel.topic] += 1
    assert counts == {name: len(messages) for name, messages in expected.items() if messages}


def test_values_are_the_same_for_all_libraries(bag, expected):
    reader = BagReader(bag)
    ours = [reader.decode(m) for m in expected['/ground_truth/odom']]
    with AnyReader([bag]) as other:
        connections = [c for c in other.connections if c.topic == '/ground_truth/odom']
        theirs = [other.deserialize(data, c.msgtype) for c, _, data in other.messages(connections)]
    for one, two in zip(ours, theirs, strict=True):
        assert one.pose.pose.position.z == two.pose.pose.position.z
        assert one.child_frame_id == two.child_frame_id == 'base_link'
    # It has flown.
    assert len({message.pose.pose.position.z for message in ours}) > 100


@pytest.fixture(scope='module')
def summaries(bag):
    found = []
    for path in sorted(bag.glob('*.mcap')):
        with open(path, 'rb') as file:
            found.append(make_reader(file).get_summary())
    return found


def test_each_file_has_all_channels_and_an_index(summaries, bag):
    information = yaml.safe_load((bag / 'metadata.yaml').read_text())[
        'rosbag2_bagfile_information']
    names = {t['topic_metadata']['name'] for t in information['topics_with_message_count']}
    assert len(summaries) == 3
    for summary, file in zip(summaries, information['files'], strict=True):
        assert {channel.topic for channel in summary.channels.values()} == names
        assert summary.statistics.message_count == file['message_count']
        assert summary.chunk_indexes
        attachment, = summary.attachment_indexes
        assert (attachment.name, attachment.media_type) == ('run.yaml', 'application/yaml')


def test_definitions_are_complete(summaries):
    """Parsed alone, each yields its type with all that it refers to."""
    for kind in summaries[0].schemas.values():
        assert kind.encoding == 'ros2msg'
        store = get_typestore(Stores.EMPTY)
        store.register(get_types_from_msg(kind.data.decode(), kind.name))
        again = get_typestore(Stores.ROS2_JAZZY)
        assert store.hash_rihs01(kind.name) == again.hash_rihs01(kind.name)


def test_metadata_and_channels_say_the_same(summaries, bag):
    information = yaml.safe_load((bag / 'metadata.yaml').read_text())[
        'rosbag2_bagfile_information']
    described = {t['topic_metadata']['name']: t['topic_metadata']
            for t in information['topics_with_message_count']}
    for summary in summaries:
        for channel in summary.channels.values():
            topic = described[channel.topic]
            assert channel.message_encoding == topic['serialization_format'] == 'cdr'
            assert summary.schemas[channel.schema_id].name == topic['type']
            assert yaml.safe_load(
                channel.metadata['offered_qos_profiles']) == topic['offered_qos_profiles']
            assert channel.metadata['topic_type_hash'] == topic['type_description_hash']
