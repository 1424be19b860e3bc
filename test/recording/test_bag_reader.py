# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Bags that are damaged, cut off or not ours: what is whole is read, and one sentence says why."""
import re
import shutil
import sqlite3
import struct

import pytest
import yaml
from bags import description, messages_of, read_all, write_bag
from mcap.reader import make_reader
from mcap.stream_reader import StreamReader
from mcap.writer import CompressionType, Writer

from px4_sim_ros import __version__
from px4_sim_ros.messages.stamps import serialised_stamp_us
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.recording.bag import schema
from px4_sim_ros.recording.bag.fleet_description import read_run_file
from px4_sim_ros.recording.bag.reader import BagReader, Message
from px4_sim_ros.recording.bag.run_description import BagError, RunDescription
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.step import graph, side_topics

S = 1_000_000
END_US = 300_000


@pytest.fixture(scope='module')
def whole(tmp_path_factory):
    """Return folders of whole bags with four chunks each, by compression, and what is in them."""
    folder = tmp_path_factory.mktemp('whole')
    messages = {kind: write_bag(folder / kind, END_US, flush_us=100_000, compression=kind)
                for kind in ('none', 'lz4', 'zstd')}
    return folder, messages['none']


def bag_of(folder, data, like):
    """Make a bag of one file with other bytes."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    shutil.copy(like / 'metadata.yaml', folder)
    (folder / f'{like.name}_0.mcap').write_bytes(data)
    return folder


@pytest.mark.parametrize('name', ['metadata.yaml', 'run.yaml', 'zstd_0.mcap'])
def test_a_file_without_an_end_is_not_read(name, whole, tmp_path, here):
    folder = shutil.copytree(whole[0] / 'zstd', tmp_path / 'zstd')
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to('/dev/zero')
    told = here('export', folder, '-o', tmp_path / 'out')
    assert (told.returncode, told.stdout) == (2, '')
    assert len(told.stderr.splitlines()) == 1


def boundaries(path):
    """Return where records of a file begin: its parts, and after each chunk."""
    with open(path, 'rb') as file:
        summary = make_reader(file).get_summary()
        attachment, = summary.attachment_indexes
        data_end = max(c.chunk_start_offset + c.chunk_length + c.message_index_length
                       for c in summary.chunk_indexes)
        return {
            'header': 8,
            'metadata': summary.metadata_indexes[0].offset,
            'attachment': attachment.offset,
            'chunks': [(c.chunk_start_offset, c.chunk_start_offset + c.chunk_length,
                        c.message_end_time // 1000) for c in summary.chunk_indexes],
            'data end': data_end,
            'size': path.stat().st_size}


@pytest.mark.slow
@pytest.mark.parametrize('kind', ['none', pytest.param('lz4', marks=pytest.mark.long), 'zstd'])
def test_a_file_that_is_cut_off_anywhere_is_read_as_far_as_it_goes(kind, whole, tmp_path):
    folder, messages = whole
    path = folder / kind / f'{kind}_0.mcap'
    data, at = path.read_bytes(), boundaries(path)
    described = at['chunks'][0][0]
    corners = {0, at['header'], at['metadata'], at['attachment'], described, at['data end'],
               at['size'], *(offset for chunk in at['chunks'] for offset in chunk[:2])}
    cuts = {corner + beside for corner in corners for beside in (-1, 0, 1)}
    cuts |= set(range(0, len(data), 9973))
    for size in sorted(cut for cut in cuts if 0 <= cut < len(data)):
        bag = bag_of(tmp_path / 'bag', data[:size], folder / kind)
        if size < described:
            with pytest.raises(BagError, match=(
                    rf'^bag {bag}: {kind}_0\.mcap ends too early, before anything was recorded$')):
                BagReader(bag)
            continue
        reader, found = read_all(bag)
        until_us = max((end_us for _, end, end_us in at['chunks'] if end <= size), default=-1)
        assert found == [m for m in messages if m.time_us <= until_us], size
        assert reader.damage == (f'bag {bag}: {kind}_0.mcap ends too early; it was read up to'
                                 f' t = {max(until_us, 0) * 1e-6:.6f} s'), size


@pytest.mark.parametrize('kind', ['none', 'lz4', 'zstd'])
def test_wrong_bytes_are_noticed_wherever_they_are(kind, whole, tmp_path):
    """What was read before them is right, and there is one sentence."""
    folder, messages = whole
    path = folder / kind / f'{kind}_0.mcap'
    data, at = path.read_bytes(), boundaries(path)
    until_us = -1
    for start, end, end_us in at['chunks']:
        for offset in range(start + 60, end, (end - start) // 4):
            wrong = bytearray(data)
            wrong[offset] ^= 0x55
            reader, found = read_all(bag_of(tmp_path / 'bag', wrong, folder / kind))
            assert found == [m for m in messages if m.time_us <= until_us], offset
            assert re.fullmatch(r'bag .*_0\.mcap is damaged; it was read up to t = \S+ s',
                                reader.damage), offset
        until_us = end_us


def test_wrong_bytes_between_the_chunks_never_raise_anything_else(whole, tmp_path):
    folder, messages = whole
    path = folder / 'none/none_0.mcap'
    data, at = path.read_bytes(), boundaries(path)
    described = at['chunks'][0][0]
    places = {0, 7, *range(at['header'], at['metadata'] + 20, 11),
              *range(at['attachment'], at['attachment'] + 50, 7),
              *range(at['attachment'], described, 1501),
              *(at['chunks'][1][0] + i for i in range(0, 60, 3)),
              *range(at['data end'], at['data end'] + 30, 3),
              *range(at['data end'], len(data), 1501)}
    for offset in sorted(places):
        wrong = bytearray(data)
        wrong[offset] = (wrong[offset] + 128) % 256
        try:
            _, found = read_all(bag_of(tmp_path / 'bag', wrong, folder / 'none'))
        except BagError as error:
            assert str(error).startswith('bag ')
            continue
        assert found == messages[:len(found)]


@pytest.mark.parametrize('beyond', [0, -5, -9 - 21])
def test_a_chunk_whose_records_do_not_fill_it(beyond, whole, tmp_path):
    """One that has no checksum: a record ends behind it, or leaves too little for another one."""
    folder, messages = whole
    path = folder / 'none/none_0.mcap'
    data, (first, second, *_) = bytearray(path.read_bytes()), boundaries(path)['chunks']
    size_at, crc_at, records_at = (second[0] + n for n in (9 + 16, 9 + 24, 9 + 40))
    size, = struct.unpack_from('<Q', data, size_at)
    struct.pack_into('<I', data, crc_at, 0)
    struct.pack_into('<Q', data, records_at + 1, size - 9 + beyond if beyond else size)
    if beyond < -9:
        struct.pack_into('<BQ', data, records_at + size + beyond, 5, 21)      # a message has 22
    reader, found = read_all(bag_of(tmp_path / 'bag', data, folder / 'none'))
    assert found == [m for m in messages if m.time_us <= first[2]] and reader.damage


@pytest.mark.parametrize('data', [
    b'SQLite format 3\0' + bytes(100), b'text', bytes(8), b'\x89MCAP1\r\n' + bytes(100)])
def test_a_file_that_is_no_mcap_file(data, whole, tmp_path):
    bag = bag_of(tmp_path / 'bag', data, whole[0] / 'none')
    with pytest.raises(BagError, match=rf'^bag {bag}: none_0\.mcap is no MCAP file$'):
        BagReader(bag)


def test_garbage_after_the_beginning(whole, tmp_path):
    folder, _ = whole
    head = (folder / 'none/none_0.mcap').read_bytes()[:8]
    for garbage in bytes(range(256)) * 50, b'\xff' * 5000, bytes(5000):
        bag = bag_of(tmp_path / 'bag', head + garbage, folder / 'none')
        with pytest.raises(BagError, match=rf'^bag {bag}: '):
            read_all(bag)


@pytest.mark.parametrize('chunk', [0, 1, 2])
def test_messages_that_are_missing_in_between_are_noticed(chunk, whole, tmp_path):
    """A chunk whose first byte is wrong is none to the library, which then goes on after it."""
    folder, messages = whole
    path = folder / 'none/none_0.mcap'
    wrong = bytearray(path.read_bytes())
    chunks = boundaries(path)['chunks']
    wrong[chunks[chunk][0]] = 0x86
    reader, found = read_all(bag_of(tmp_path / 'bag', wrong, folder / 'none'))
    until_us = chunks[chunk - 1][2] if chunk else -1
    assert found == [message for message in messages if message.time_us <= until_us]
    assert 'none_0.mcap is damaged; it was read up to t = ' in reader.damage


# Bags of several files.

@pytest.fixture
def split(tmp_path):
    """Return the folder of a bag of three files, and what is in it."""
    return tmp_path / 'bag', write_bag(
        tmp_path / 'bag', END_US, flush_us=100_000, split_duration_s=0.1)


def test_a_file_that_is_missing_is_named(split):
    folder, _ = split
    (folder / 'bag_1.mcap').unlink()
    with pytest.raises(BagError, match=rf'^bag {folder}: bag_1\.mcap is missing$'):
        BagReader(folder)


@pytest.mark.parametrize('left', [0, 5, 5000, 30_000])
def test_a_later_file_that_is_cut_off_ends_the_bag(left, split):
    """Process and disk may go at any time, also just after a file was begun."""
    folder, messages = split
    path = folder / 'bag_1.mcap'
    path.write_bytes(path.read_bytes()[:left])
    reader, found = read_all(folder)
    assert found == [message for message in messages if message.time_us <= 100_000]
    assert reader.damage == (f'bag {folder}: bag_1.mcap ends too early; it was read up to'
                             ' t = 0.100000 s')


def test_a_bag_is_read_as_often_as_wanted(split):
    folder, messages = split
    reader = BagReader(folder)
    first, second = reader.messages(), reader.messages()
    assert [next(first), next(second)] == [messages[0]] * 2
    assert list(first) == list(second) == messages[1:]
    assert list(reader.messages()) == messages


def test_damage_is_told_for_the_last_reading_only(split):
    folder, messages = split
    path = folder / 'bag_2.mcap'
    data = path.read_bytes()
    path.write_bytes(data[:-8] + bytes(8))
    reader, found = read_all(folder)
    assert found == messages
    assert 'bag_2.mcap is damaged; it was read up to t = 0.300000 s' in reader.damage
    path.write_bytes(data)
    assert list(reader.messages()) == messages
    assert reader.damage == ''


# Metadata.

def test_without_metadata_the_files_found_are_read(split):
    folder, messages = split
    (folder / 'metadata.yaml').unlink()
    assert read_all(folder)[1] == messages


@pytest.mark.parametrize('text', [
    '', 'nothing', '[]', '[1, 2]', '{', 'rosbag2_bagfile_information: {}', '\x00',
    'rosbag2_bagfile_information: [1]', 'rosbag2_bagfile_information: {relative_file_paths: 5}',
    'rosbag2_bagfile_information:\n', '2024-99-99: {}', b'\xff\xfe\xfd'])
def test_metadata_that_is_broken_is_named(text, split):
    folder, _ = split
    (folder / 'metadata.yaml').write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(BagError, match=rf'^bag {folder}: metadata\.yaml is no metadata of'
                       ' rosbag2$'):
        BagReader(folder)


@pytest.mark.parametrize('names, problem', [
    ([], 'there is no .mcap file in it'), (['other.mcap'], 'other.mcap is missing'),
    (['.'], ' is missing')])
def test_metadata_that_names_other_files(names, problem, split):
    folder, _ = split
    content = yaml.safe_load((folder / 'metadata.yaml').read_text())
    content['rosbag2_bagfile_information']['relative_file_paths'] = names
    (folder / 'metadata.yaml').write_text(yaml.safe_dump(content))
    with pytest.raises(BagError) as refusal:
        BagReader(folder)
    assert str(refusal.value).startswith(f'bag {folder}: ')
    assert str(refusal.value).endswith(problem)


def test_a_bag_that_grows_has_what_it_had_at_first(whole, tmp_path):
    """It is still being recorded: whoever reads it twice has to get the same."""
    folder, _ = whole
    data = (folder / 'none' / 'none_0.mcap').read_bytes()
    bag = bag_of(tmp_path / 'bag', data[:len(data) * 6 // 10], folder / 'none')
    reader = BagReader(bag)
    at_first = list(reader.messages())
    assert 'ends too early' in reader.damage
    (bag / 'none_0.mcap').write_bytes(data)
    assert list(reader.messages()) == at_first
    assert reader.damage == (f'bag {bag}: none_0.mcap is still being recorded; it was read up to'
                             f' t = {at_first[-1].time_us / S:.6f} s')
    assert len(list(BagReader(bag).messages())) > len(at_first) > 100


# What is no bag of ours.

def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(BagError, match=rf'^bag {tmp_path}/no: there is no such folder$'):
        BagReader(tmp_path / 'no')
    (tmp_path / 'file').touch()
    with pytest.raises(BagError, match=(
            rf'^bag {tmp_path}/file: is a file; name the folder that --record has made$')):
        BagReader(tmp_path / 'file')


def test_an_empty_folder(tmp_path):
    with pytest.raises(BagError, match=rf'^bag {tmp_path}: there is no \.mcap file in it$'):
        BagReader(tmp_path)


def test_a_bag_in_sqlite(split):
    folder, _ = split
    sqlite3.connect(folder / 'bag_0.db3').close()
    content = yaml.safe_load((folder / 'metadata.yaml').read_text())
    content['rosbag2_bagfile_information'] |= {
        'storage_identifier': 'sqlite3', 'relative_file_paths': ['bag_0.db3']}
    (folder / 'metadata.yaml').write_text(yaml.safe_dump(content))
    with pytest.raises(BagError, match=rf'^bag {folder}: its storage is sqlite3, not mcap$'):
        BagReader(folder)


def rewritten(source, target, *, drop=(), rename=None, types=None, run=lambda text: text):
    """Write a file again, with some things changed."""
    channels, schemas = {}, {}
    with open(source, 'rb') as old, open(target, 'wb') as new:
        writer = Writer(new, compression=CompressionType.NONE)
        writer.start('ros2', 'another')
        for record in StreamReader(old).records:
            kind = type(record).__name__
            if kind == 'Attachment' and run is not None:
                writer.add_attachment(0, 0, record.name, record.media_type,
                                      run(record.data.decode()).encode())
            elif kind == 'Schema':
                name = (types or {}).get(record.name, record.name)
                schemas[record.id] = writer.register_schema(name, record.encoding, record.data)
            elif kind == 'Channel' and record.topic not in drop:
                channels[record.id] = writer.register_channel(
                    (rename or {}).get(record.topic, record.topic), record.message_encoding,
                    schemas[record.schema_id], record.metadata)
            elif kind == 'Message' and record.channel_id in channels:
                writer.add_message(channels[record.channel_id], record.log_time, record.data,
                                   record.publish_time, record.sequence)
            elif kind == 'DataEnd':
                break
        writer.finish()


def bag_rewritten(folder, whole, **changes):
    folder.mkdir()
    rewritten(whole[0] / 'none/none_0.mcap', folder / 'changed_0.mcap', **changes)
    return folder


def test_a_bag_that_others_have_recorded(whole, tmp_path):
    bag = bag_rewritten(tmp_path / 'bag', whole, run=None)
    with pytest.raises(BagError, match=rf'^bag {bag}: px4_sim_ros has not recorded it: it does'
                       ' not say how the run was set up$'):
        BagReader(bag)


@pytest.mark.parametrize('topic', ['/imu/data_raw', '/diagnostics', '/clock', '/hil/state'])
def test_a_topic_that_is_missing(topic, whole, tmp_path):
    bag = bag_rewritten(tmp_path / 'bag', whole, drop=[topic])
    name = topic if topic in {*graph.TOPICS, *side_topics.RECORDED} else topic[1:]
    with pytest.raises(BagError, match=rf'^bag {bag}: the topic {name} is missing$'):
        BagReader(bag)


def test_a_topic_of_another_type(whole, tmp_path):
    bag = bag_rewritten(
        tmp_path / 'bag', whole, types={'sensor_msgs/msg/Imu': 'sensor_msgs/msg/Range'})
    with pytest.raises(BagError, match=rf'^bag {bag}: imu/data_raw has the type'
                       ' sensor_msgs/msg/Range, not sensor_msgs/msg/Imu$'):
        BagReader(bag)


@pytest.mark.parametrize('package, writer', [
    ('9.8.7', r'px4_sim_ros 9\.8\.7'),
    (__version__, f'another state of px4_sim_ros {re.escape(__version__)}')])
@pytest.mark.parametrize('lacking', ['', 'mission', 'parameters'])
def test_a_bag_of_another_version(lacking, package, writer, whole, tmp_path):
    """Of another version anything may be different."""
    def other(text):
        content = yaml.safe_load(text) | {
            'schema_version': schema.VERSION + 1, 'versions': {'px4_sim_ros': package}}
        content.pop(lacking, None)
        return yaml.safe_dump(content)

    bag = bag_rewritten(tmp_path / 'bag', whole, run=other)
    with pytest.raises(BagError, match=(
            rf'^bag {bag}: its schema has version {schema.VERSION + 1} and this is for version'
            rf' {schema.VERSION};'
            rf' {writer} has written it and can read it$')):
        BagReader(bag)


def test_a_bag_of_the_version_before_is_read(whole, tmp_path):
    bag = bag_rewritten(tmp_path / 'bag', whole, run=lambda text: text.replace(
        f'schema_version: {schema.VERSION}', 'schema_version: 1'))
    assert BagReader(bag).run.schema_version == 1


def test_a_version_has_not_what_is_new_since(whole, tmp_path):
    new = [side_topics.ESTIMATE, side_topics.SET_POINT, side_topics.AUTOPILOT_STATUS]
    bag = bag_rewritten(
        tmp_path / 'bag', whole, drop=[f'/{topic.name}' for topic in new],
        run=lambda text: text.replace(f'schema_version: {schema.VERSION}', 'schema_version: 3'))
    assert not {topic.name for topic in new} & {m.topic for m in BagReader(bag).messages()}


@pytest.mark.parametrize('change', [
    lambda text: '', lambda text: '{', lambda text: 'just a text', lambda text: '[1, 2]',
    lambda text: text.replace('namespace:', 'namespaces:'),
    lambda text: text.replace('\nparameters:', '\nparameters: 5\nother:', 1),
    lambda text: text.replace('step_us: 4000', 'step_us: a word'),
    lambda text: text.replace('step_us: 4000', 'step_us: -1'),
    lambda text: f'schema_version: {schema.VERSION}\n',
    lambda text: 'schema_version: 9\n'])
def test_a_description_that_is_broken(change, whole, tmp_path):
    bag = bag_rewritten(tmp_path / 'bag', whole, run=change)
    with pytest.raises(BagError, match=rf'^bag {bag}: .+') as refusal:
        BagReader(bag)
    assert '\n' not in str(refusal.value)


@pytest.mark.parametrize('data', [b'', b'\0\1\0\0', bytes(40), b'\0\1\0\0' + b'\xff' * 60])
def test_a_message_that_is_damaged_within_is_one_sentence(data, whole):
    folder = whole[0] / 'none'
    bag = BagReader(folder)
    with pytest.raises(BagError) as refusal:
        bag.decode(Message('ground_truth/odom', 0, data))
    assert str(refusal.value) == (
        f'bag {folder}: a message of nav_msgs/msg/Odometry: is damaged')


# Names.

@pytest.mark.parametrize(('damage', 'sentence'), [
    (b'\xff', 'run file .*run.yaml: must be text in UTF-8; line '),
    (b'\0', 'its description of the run cannot be read: '),
    (b'{', 'its description of the run cannot be read: ')])
def test_a_run_file_that_is_broken(damage, sentence, tmp_path):
    path = tmp_path / 'run.yaml'
    path.write_bytes(description().to_yaml().encode())
    assert read_run_file(path) == description()
    path.write_bytes(path.read_bytes() + damage)
    with pytest.raises(ParameterError, match=sentence):
        read_run_file(path)


def test_names_below_a_namespace(tmp_path):
    """/clock, /diagnostics and /rosout are the same for all."""
    run = description('north/two')
    messages = write_bag(tmp_path / 'bag', END_US, run)
    with open(tmp_path / 'bag/bag_0.mcap', 'rb') as file:
        names = {channel.topic for channel in make_reader(file).get_summary().channels.values()}
    assert {'/clock', '/diagnostics', '/rosout', '/north/two/imu/data_raw',
            '/north/two/sim/status', '/north/two/sensors/absence'} <= names
    assert all(name in ('/clock', '/diagnostics', '/rosout') or name.startswith('/north/two/')
               for name in names)
    reader, found = read_all(tmp_path / 'bag')
    assert reader.run.namespace == 'north/two'
    assert found == messages


def test_a_bag_with_more_sensors_has_their_topics(tmp_path):
    run = RunDescription.of(
        load_configuration(None, {'': {'instances.imu': 3, 'instances.gps': 2,
                                       'instances.range_finder': 1, 'wind': 'dryden'}}),
        mode='core', autopilot='scripted')
    messages = write_bag(tmp_path / 'bag', END_US, run)
    reader, found = read_all(tmp_path / 'bag')
    assert {'imu_2/data_raw', 'gps_1/fix', 'range', 'wind'} <= {m.topic for m in found}
    assert found == messages
    assert reader.run.graph.topics.keys() == run.graph.topics.keys()


def test_messages_are_decoded_with_their_fields(whole):
    reader, found = read_all(whole[0] / 'zstd')
    for message in found:
        decoded = reader.decode(message)
        if message.topic in reader.run.graph.topics:
            stamp = decoded.clock if message.topic == '/clock' else decoded.header.stamp
            assert stamp.sec * S + stamp.nanosec // 1000 == message.time_us
            assert serialised_stamp_us(message.data) == message.time_us
    assert len(found) == len(messages_of(reader.run, END_US)) + len(side_topics.RECORDED)
