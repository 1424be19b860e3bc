# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Recordings are compared bit by bit."""
import argparse
import dataclasses
import functools
import json
import re
import struct
import subprocess
import sys

import bags
import pytest
from comparison_flight import record_flight
from printed import assert_fits
from rosbags.typesys import Stores, get_typestore

from px4_sim_ros.cli import compare as command
from px4_sim_ros.recording.analysis.comparison import Difference, compare_bags
from px4_sim_ros.recording.analysis.deviation import deviation
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.bag.run_description import RunDescription
from px4_sim_ros.recording.report.comparison_report import (
    comparison_json,
    comparison_table,
    deviation_table,
)
from px4_sim_ros.spec.configuration import load_configuration

END_US = 200_000
_STORE = get_typestore(Stores.ROS2_JAZZY)


def changed(messages, topic, time_us, change):
    """Return messages; `change` gets the bytes of one of them, and None takes it out."""
    assert any((m.topic, m.time_us) == (topic, time_us) for m in messages)
    found = [
        m._replace(data=change(m.data)) if (m.topic, m.time_us) == (topic, time_us) else m
        for m in messages]
    return [m for m in found if m.data is not None]


def with_fields(type_name, change):
    """Return a function that changes the fields of a serialised message."""
    def apply(data):
        message = _STORE.deserialize_cdr(data, type_name)
        change(message)
        return bytes(_STORE.serialize_cdr(message, type_name))
    return apply


@pytest.fixture
def pair(tmp_path):
    """Return a function that compares a bag with one of other messages or of another run."""
    def compared(change=lambda messages: messages, run=None, one_run=None, one_change=None):
        readers = []
        for name, about, alter in (('one', one_run, one_change), ('other', run, change)):
            about = about or bags.description()
            messages = bags.side_messages() + bags.messages_of(about, END_US)
            writer = bags.begin_bag(tmp_path / name, about)
            bags.write_all(writer, alter(messages) if alter else messages)
            writer.close()
            readers.append(BagReader(tmp_path / name))
        return compare_bags(*readers)
    return compared


def described(**shared):
    return RunDescription.of(load_configuration(None, {'': shared}), mode='core', autopilot='x')


def test_the_same_messages_are_identical(pair):
    found = pair()
    assert found.identical and found.agree and found.first is None
    assert found.topics['/clock'][:4] == (50, 0, 0, 0)
    assert found.messages == len(bags.messages_of(bags.description(), END_US))
    assert list(found.topics) == list(bags.description().graph.topics)
    assert found.sentence == f'all {found.messages} common messages are bit-identical'


def test_one_bit_of_one_field_is_found(pair):
    def flip(message):
        covariance = message.orientation_covariance.copy()
        covariance.view('u8')[3:4] ^= 1
        message.orientation_covariance = covariance

    found = pair(functools.partial(
        changed, topic='imu/data_raw', time_us=48_000,
        change=with_fields('sensor_msgs/msg/Imu', flip)))
    assert not found.identical and not found.agree
    assert found.first == Difference(
        'imu/data_raw', 48_000, 'orientation_covariance[3]', 0.5, 0.5000000000000001)
    assert found.topics['imu/data_raw'][:4] == (49, 1, 0, 0)
    assert found.differences == 1
    assert 'imu/data_raw at t = 0.048000 s, orientation_covariance[3]: 0.5 and' in found.sentence


def nan(payload):
    return struct.unpack('<d', struct.pack('<Q', 0x7ff8000000000000 | payload))[0]


@pytest.mark.parametrize('topic, field, one, other, is_same', [
    ('baro', 'fluid_pressure', 0.0, -0.0, False),
    ('baro', 'fluid_pressure', nan(0), nan(0), True),
    ('baro', 'fluid_pressure', nan(0), nan(1), False),
    ('battery_state', 'voltage', 0.0, -0.0, False),
    ('battery_state', 'voltage', nan(0), -nan(0), False),
    ('battery_state', 'present', True, False, False),
    ('battery_state', 'location', 'here', 'hers', False),
])
def test_values_are_compared_by_their_bits(pair, topic, field, one, other, is_same):
    kind = bags.description().graph.topics[topic].type
    def with_value(value):
        return functools.partial(changed, topic=topic, time_us=40_000, change=with_fields(
            kind, lambda message: setattr(message, field, value)))

    found = pair(with_value(other), one_change=with_value(one))
    assert found.identical == is_same
    if not is_same:
        assert found.first.field == field


def padding_of_battery_state(data):
    """Return a place in a battery_state that CDR leaves undefined: before the first number."""
    return data.index(b'text\0', 12) + 5


def test_padding_and_what_follows_the_end_do_not_count(pair):
    def garbage(data):
        at = padding_of_battery_state(data)
        assert at % 4 and data[at:at + 1] == b'\0'
        return data[:at] + b'\x55' + data[at + 1:] + b'\x01\x02'

    assert pair(functools.partial(
        changed, topic='battery_state', time_us=40_000, change=garbage)).identical


def test_a_difference_next_to_garbage_in_the_padding_is_found(pair):
    def garbage(data):
        at = padding_of_battery_state(data)
        voltage = at + 3
        return (data[:at] + b'\x55' + data[at + 1:voltage] + bytes([data[voltage] ^ 1])
                + data[voltage + 1:])

    def change(messages):
        for time_us in (20_000, 40_000):
            messages = changed(messages, 'battery_state', time_us, garbage)
        return messages

    found = pair(change)
    assert found.topics['battery_state'][:4] == (8, 2, 0, 0)


def test_arrays_of_other_lengths_differ(pair):
    def shorten(message):
        message.velocity = message.velocity[:1]

    found = pair(functools.partial(
        changed, topic='actuators/command', time_us=4_000,
        change=with_fields('sensor_msgs/msg/JointState', shorten)))
    assert found.first[2:] == ('the length of velocity', 2, 1)


def test_a_missing_message_is_a_difference(pair):
    found = pair(functools.partial(changed, topic='mag', time_us=60_000, change=lambda data: None))
    assert found.topics['mag'][:4] == (9, 0, 1, 0)
    assert found.first[:3] == ('mag', 60_000, '') and found.first.other is None
    assert 'mag at t = 0.060000 s, which only' in found.sentence and not found.agree


def test_a_step_that_one_run_lacks_is_counted(pair):
    found = pair(one_change=lambda messages: [m for m in messages if m.time_us != 8_000])
    assert found.topics['/clock'][:4] == (49, 0, 0, 1)
    assert found.first[:3] == ('/clock', 8_000, '') and found.first.one is None


def test_the_first_difference_is_the_earliest_then_the_first_of_the_graph(pair):
    def change(messages):
        for topic, time_us in (('baro', 60_000), ('gps/vel', 100_000), ('mag', 60_000)):
            messages = changed(messages, topic, time_us, lambda data: None)
        return messages

    found = pair(change)
    assert found.first[:2] == ('mag', 60_000)
    assert {name: topic.first.time_us for name, topic in found.topics.items() if topic.first} == {
        'mag': 60_000, 'baro': 60_000, 'gps/vel': 100_000}


def test_side_topics_do_not_count(pair):
    assert pair(lambda messages: [
        m for m in messages if m.topic in bags.description().graph.topics]).identical


def test_a_shorter_run_agrees_but_is_not_identical(pair):
    found = pair(lambda messages: [m for m in messages if m.time_us <= 100_000])
    assert found.agree and not found.identical
    assert found.ends_us == (200_000, 100_000)
    assert 'one ends at t = 0.200000 s and' in found.sentence
    assert found.topics['/clock'][:4] == (25, 0, 0, 0)


def test_the_command_says_where_each_ends(here, tmp_path):
    for name, end_us in (('long', 300_000), ('short', 200_000)):
        bags.write_bag(tmp_path / name, end_us)
    for first, other in (('long', 'short'), ('short', 'long')):
        found = here('compare', tmp_path / first, tmp_path / other)
        assert found.returncode == 1
        assert re.search(r'^all \d+ common messages are bit-identical; ', found.stdout, re.M)
        for name, end_s in (('long', '0.300000'), ('short', '0.200000')):
            assert f'{tmp_path / name} ends at t = {end_s} s' in found.stdout
    assert here('compare', tmp_path / 'long', tmp_path / 'long').returncode == 0


def test_runs_without_messages_do_not_agree(pair):
    found = pair(lambda messages: [], one_change=lambda messages: [])
    assert not found.agree and not found.identical
    assert found.sentence.startswith('there is nothing to compare')


def test_topics_of_one_run_are_named(pair):
    found = pair(run=described(wind='gust'))
    assert found.topics_of_one_run == ((), ('wind',))
    assert found.agree and not found.identical
    assert found.sentence.endswith('other has wind')
    assert 'wind' not in found.topics


def test_further_instances_are_named(pair):
    found = pair(one_run=described(**{'instances.imu': 2}))
    assert found.topics_of_one_run == (('imu_1/data_raw',), ())


def test_other_versions_are_told_only_of_runs_that_differ(pair):
    run = bags.description()
    other = dataclasses.replace(run, versions=run.versions | {'numpy': '0.1'})
    found = pair(functools.partial(
        changed, topic='mag', time_us=60_000, change=lambda data: None), run=other)
    assert found.versions == {'numpy': (run.versions['numpy'], '0.1')}
    assert f"numpy {run.versions['numpy']} and 0.1" in found.sentence
    assert 'numpy' not in dataclasses.replace(found, topics={'mag': found.topics['mag']._replace(
        only_one=0, first=None)}).sentence


def test_topics_that_versions_differ_in_are_left_out_and_named(pair):
    run = dataclasses.replace(bags.description(), schema_version=1)
    found = pair(functools.partial(
        changed, topic='joint_states', time_us=40_000, change=lambda data: None), run=run)
    assert 'joint_states' not in found.topics and found.identical
    assert found.sentence.endswith(
        '; not compared are joint_states, battery_state, gps/fix, gps/vel, which versions of the'
        ' recordings differ in')
    assert comparison_json(found)['topics_left_out'] == [
        'joint_states', 'battery_state', 'gps/fix', 'gps/vel']


def test_a_damaged_bag_is_compared_as_far_as_it_goes(tmp_path):
    for name in ('one', 'other'):
        bags.write_bag(tmp_path / name, 3_000_000, flush_us=100_000)
    path = tmp_path / 'other' / 'other_0.mcap'
    path.write_bytes(path.read_bytes()[:path.stat().st_size // 2])
    found = compare_bags(BagReader(tmp_path / 'one'), BagReader(tmp_path / 'other'))
    assert found.agree and not found.identical
    assert found.damages[0] == '' and 'other_0.mcap' in found.damages[1]
    assert 0 < found.ends_us[1] < found.ends_us[0] == 3_000_000


def test_the_last_step_of_a_damaged_bag_may_be_incomplete(tmp_path):
    """And only that one: what is missing before it is a difference."""
    run = bags.description()
    messages = [m for m in bags.messages_of(run, END_US)
                if (m.topic, m.time_us) != ('imu/data_raw', END_US - bags.STEP_US)]
    bags.write_bag(tmp_path / 'one', END_US)
    writer = bags.begin_bag(tmp_path / 'other')
    bags.write_all(writer, messages[:-3])
    writer.close()
    whole = compare_bags(BagReader(tmp_path / 'one'), BagReader(tmp_path / 'other'))
    assert whole.differences == 4
    path = tmp_path / 'other' / 'other_0.mcap'
    # Where the chunk of messages has ended comes the end of the data: without it, it is cut.
    path.write_bytes(cut_after_last_chunk(path.read_bytes()))
    cut = compare_bags(BagReader(tmp_path / 'one'), BagReader(tmp_path / 'other'))
    assert cut.damages[1] and cut.differences == 1
    assert cut.first.topic == 'imu/data_raw'


def cut_after_last_chunk(data):
    """Return an MCAP file up to the end of its last chunk and one byte more."""
    at, end = 8, 0
    while at < len(data) - 8:
        kind, size = struct.unpack_from('<BQ', data, at)
        at += 9 + size
        if kind == 6:
            end = at
    return data[:end + 1]


# Flights and the command.

@pytest.fixture(scope='module')
def flights(tmp_path_factory):
    """Return folders of flights of half a second: twice the same, and another seed."""
    folder = tmp_path_factory.mktemp('flights')
    for name, seed in (('a', 1), ('again', 1), ('seed', 2)):
        record_flight(folder / name, 125, {'': {'seed': seed}})
    return folder


def run_command(*arguments):
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.compare(parser.parse_args([str(a) for a in arguments]))


def test_flights_of_one_seed_are_identical(flights, capsys):
    assert run_command(flights / 'a', flights / 'again') == 0
    assert 'common messages are bit-identical' in capsys.readouterr().out


def test_flights_of_two_seeds_differ(flights, tmp_path, capsys):
    file, page = tmp_path / 'x.json', tmp_path / 'x.html'
    assert run_command(
        flights / 'a', flights / 'seed', '--json', file, '--plot', page) == 1
    printed = capsys.readouterr().out
    assert 'deviation' in printed and 'rotor speed' in printed
    assert printed.splitlines()[-2:] == [f'the figures are in {file}', f'look at {page}']
    content = json.loads(file.read_text())
    assert content['comparison']['identical'] is False
    assert content['comparison']['first']['time_us'] == 4000
    assert content['deviation']['position']['maximum'] > 0.0
    text = page.read_text(encoding='utf-8')
    assert len(text) > 1_000_000 and '<script src=' not in text      # all in one file


def test_the_tables_fit_into_80_columns(flights):
    one, other = (BagReader(flights / name) for name in ('a', 'seed'))
    _, _, *tables = comparison_table(compare_bags(one, other)).renderables
    assert len(tables) == 2
    for table in (*tables, deviation_table(deviation(one, other))):
        assert_fits(table, 80)


def test_without_a_terminal_a_table_is_as_wide_as_it_needs(flights, capsys, monkeypatch):
    monkeypatch.setenv('COLUMNS', '30')
    assert run_command(flights / 'a', flights / 'seed') == 1
    rows = [' '.join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert 'topic equal differ only 1st only 2nd' in rows


@pytest.mark.parametrize('arguments, sentence', [
    (['{0}/a', '{0}/none'], 'bag {0}/none: there is no such folder'),
    (['{0}/a', '{0}/again', '--json', '{0}/none/x'],
     'json {0}/none/x: its folder is missing or cannot be written'),
])
def test_bad_input_is_one_sentence(flights, here, arguments, sentence):
    refused = here('compare', *(a.format(flights) for a in arguments))
    assert (refused.returncode, refused.stderr) == (2, f'compare: {sentence.format(flights)}\n')


@pytest.mark.process
def test_comparing_needs_no_ros(flights):
    """The libraries for comparing do not load rclpy."""
    code = ('import sys; from px4_sim_ros.recording.report import comparison_report;'
            ' assert "rclpy" not in sys.modules')
    subprocess.run([sys.executable, '-c', code], check=True)
