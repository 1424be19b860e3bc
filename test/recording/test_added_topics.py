# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Topics that are none of the graph, as those of PX4: recorded, read, compared, as tables."""
import struct

import bags
import numpy as np
import pytest
from mcap.reader import make_reader

from px4_sim_ros.link.xrce.session import Topic
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.recording.analysis.comparison import compare_bags
from px4_sim_ros.recording.analysis.export import CSV, export, read_table
from px4_sim_ros.recording.analysis.flight_events import read_contents
from px4_sim_ros.recording.analysis.series import SeriesCollector
from px4_sim_ros.recording.bag.reader import BagReader, Message
from px4_sim_ros.recording.bag.run_description import BagError
from px4_sim_ros.recording.bag.step_bag import StepWriter
from px4_sim_ros.recording.playback import PlaybackBlock
from px4_sim_ros.recording.report.flight_report import px4_rows
from px4_sim_ros.spec.blocks import block_configuration
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.step import graph
from px4_sim_ros.step.graph import CLOCK, COMMAND
from px4_sim_ros.step.lane import Output

STEP_US, STEPS = bags.STEP_US, 50
TOPIC, TYPE = '/fmu/out/thing', 'px4_msgs/msg/Thing'
DEFINITION = ('uint64 timestamp\nuint8 kind\nfloat32[4] q\nPart part\nuint8 KIND_A = 1\n'
              + '=' * 80 + '\nMSG: px4_msgs/Part\nfloat64 x\n')
_FIELDS = struct.Struct('<QB3s4f4xd')          # with the bytes between them that mean nothing


def thing(time_us, kind=1, padding=b'\0\0\0'):
    return b'\0\1\0\0' + _FIELDS.pack(time_us, kind, padding, 1.0, 0.0, 0.0, 0.5, 2.5)


def write(folder, things, definition=DEFINITION, **values):
    """Write a bag of empty steps with messages in it; return its reader."""
    run = bags.description()
    writer = StepWriter(bags.begin_bag(folder, run, **values), run.graph, run.world, pytest.fail)
    for step in range(1, STEPS + 1):
        time_us = step * STEP_US
        for data in things(time_us):
            writer.add(Message(TOPIC, time_us, data), TYPE, definition)
        writer.send([Output(time_us, 'manager', {CLOCK: time_us}),
                     Output(time_us, 'hil_bridge', {COMMAND: (0.0,) * 4})])
    writer.close()
    return BagReader(folder)


def test_they_are_in_their_step_with_their_fields(tmp_path):
    bag = write(tmp_path / 'bag', lambda time_us: [thing(time_us)])
    messages = [m for m in bag.messages() if m.topic == 'fmu/out/thing']
    assert [m.time_us for m in messages] == [STEP_US * i for i in range(1, STEPS + 1)]
    found = bag.decode(messages[-1])
    assert (found.timestamp, found.kind, found.part.x) == (STEPS * STEP_US, 1, 2.5)
    table = read_table(bag, TOPIC)
    assert list(table) == ['time_s', 'timestamp', 'kind', 'q.0', 'q.1', 'q.2', 'q.3', 'part.x']
    assert table['timestamp'].tolist() == [m.time_us for m in messages]
    path, = export(bag, tmp_path / 'tables', CSV, [TOPIC])
    assert path.name == 'fmu_out_thing.csv'
    assert path.read_text().splitlines()[1] == '0.004,4000.0,1.0,1.0,0.0,0.0,0.5,2.5'


def test_a_sequence_has_gaps_where_it_is_shorter(tmp_path):
    def sequence(time_us):
        count = time_us // STEP_US % 3
        return [b'\0\1\0\0' + struct.pack(f'<QI{count}f', time_us, count, *range(count))]
    bag = write(tmp_path / 'bag', sequence, 'uint64 timestamp\nfloat32[] q\n')
    table = read_table(bag, TOPIC)
    nan = float('nan')
    for name, three in (('q.x', [0.0, 0.0, nan]), ('q.y', [nan, 1.0, nan])):
        np.testing.assert_array_equal(table[name][:3], three)


def test_a_topic_of_the_graph_that_a_run_lacks_is_none_of_them():
    """The description of a recording may be damaged, and its messages there."""
    collector = SeriesCollector(graph.of_instances({}))
    assert 'wind' not in collector and not collector.wants_added('wind')
    assert collector.wants_added('fmu/out/thing')


def test_other_readers_find_them_in_each_file(tmp_path):
    write(tmp_path / 'bag', lambda time_us: [thing(time_us)], split_duration_s=0.1,
          flush_us=20_000)
    files = sorted((tmp_path / 'bag').glob('*.mcap'))
    assert len(files) == 2
    count = 0
    for file in files:
        with file.open('rb') as stream:
            for schema, channel, _ in make_reader(stream).iter_messages(topics=[TOPIC]):
                assert (schema.name, schema.data.decode()) == (TYPE, DEFINITION)
                assert 'transient_local' in channel.metadata['offered_qos_profiles']
                count += 1
    assert count == STEPS


def test_two_recordings_are_compared_field_by_field(tmp_path):
    def twice(time_us):
        return [thing(time_us), thing(time_us, 2)]

    def otherwise(time_us):
        return [thing(time_us, padding=b'abc'), thing(time_us, 3 if time_us == 40_000 else 2)]

    found = compare_bags(write(tmp_path / 'one', twice), write(tmp_path / 'other', otherwise))
    its = found.topics['fmu/out/thing']
    assert (its.equal, its.differ, its.only_one, its.only_other) == (2 * STEPS - 1, 1, 0, 0)
    assert (its.first.time_us, its.first.field, its.first.one, its.first.other) == (
        40_000, 'kind', 2, 3)
    none = write(tmp_path / 'none', lambda time_us: [])
    assert compare_bags(BagReader(tmp_path / 'one'), none).identical, 'a replay has none'


def test_without_a_definition_bytes_count_and_there_is_no_table(tmp_path):
    bags_ = [write(tmp_path / name, lambda time_us, byte=byte: [thing(time_us, padding=byte)], '')
             for name, byte in (('one', b'abc'), ('other', b'abd'))]
    its = compare_bags(*bags_).topics['fmu/out/thing']
    assert (its.equal, its.differ) == (0, STEPS)
    with pytest.raises(BagError, match='the definition of fmu/out/thing is missing: give the'):
        read_table(bags_[0], TOPIC)
    with pytest.raises(ParameterError, match='the recording has no message of it'):
        read_table(bags_[0], '/fmu/out/other')


def test_a_topic_that_is_not_wanted_is_left_out(tmp_path):
    bag = write(tmp_path / 'bag', lambda time_us: [thing(time_us)], topics=f'{CLOCK} {COMMAND}')
    assert {m.topic for m in bag.messages()} == {CLOCK, COMMAND}


def test_where_px4_is_and_is_to_be_is_on_the_page(tmp_path):
    run = bags.description()
    writer = StepWriter(
        bags.begin_bag(tmp_path / 'bag', run), run.graph, run.world, pytest.fail)
    for time_us in range(STEP_US, 10 * STEP_US, STEP_US):
        for name, values, definition in (
                ('/px4_1/fmu/out/vehicle_local_position_v1', (1.0, 2.0, -3.0),
                 'uint64 timestamp\nfloat32 x\nfloat32 y\nfloat32 z\n'),
                ('/px4_1/fmu/in/trajectory_setpoint', (4.0, 5.0, float('nan')),
                 'uint64 timestamp\nfloat32[3] position\n')):
            writer.add(Message(name, time_us, b'\0\1\0\0' + struct.pack('<Q3f', time_us, *values)),
                       f'px4_msgs/msg/{name[-5:]}', definition)
        writer.send([Output(time_us, 'manager', {CLOCK: time_us}),
                     Output(time_us, 'hil_bridge', {COMMAND: (0.0,) * 4})])
    writer.close()
    row, = px4_rows(read_contents(BagReader(tmp_path / 'bag')).series)
    # East, north, up.
    assert [(line.name, line.values[-1]) for line in row.lines[:3]] == [
        ('east estimate', 2.0), ('north estimate', 1.0), ('up estimate', 3.0)]
    assert [line.values[-1] for line in row.lines[3:5]] == [5.0, 4.0]
    assert np.isnan(row.lines[5].values).all()


def test_a_replay_has_them_in_the_step_that_they_are_of(tmp_path):
    bag = write(tmp_path / 'bag', lambda time_us: [thing(time_us)])
    configuration = load_configuration(None, {
        '': {'commands': 'recording'}, 'player': {'bag': str(bag.folder)}})
    block, found = PlaybackBlock(block_configuration(configuration, 'player')), []
    block.publish = lambda topic, data, text: found.append((topic, data, text))
    block.reset()
    for time_us in range(STEP_US, 4 * STEP_US, STEP_US):
        assert block.step(time_us, {}) == {COMMAND: (0.0,) * 4}
        assert found.pop() == (Topic(TOPIC, TYPE), thing(time_us), DEFINITION)
        assert not found
