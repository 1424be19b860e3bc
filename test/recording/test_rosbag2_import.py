# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`examples/import_bag.py`: bags like those of `ros2 bag record` become recordings."""
import random

import pytest
from bags import STEP_US, description, messages_of, recorder_parameters, serialised, side_messages
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from examples.import_bag import import_bag
from examples.import_bag import main as import_main
from px4_sim_ros.cli.command_line import main
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.bag.schema import topic_type
from px4_sim_ros.step import graph

END_US = 2_000_000
_STORE = get_typestore(Stores.ROS2_JAZZY)
MISSING = 'is missing; begin to record before the first step, which paused:=true holds'


@pytest.fixture
def write(tmp_path):
    """Return a function that writes messages of a run in the order of a network."""
    def written(messages, *, run=None, storage=StoragePlugin.MCAP, types=None):
        run, chance = run or description(), random.Random(5)
        # Each is on its way for up to 50 steps, but those of a topic do not overtake each other.
        arrival_us, last_us = [], {}
        for message in messages:
            due_us = message.time_us + chance.randrange(50 * STEP_US)
            last_us[message.topic] = due_us = max(due_us, last_us.get(message.topic, 0) + 1)
            arrival_us.append((due_us, message))
        with Writer(tmp_path / 'ros', version=9, storage_plugin=storage) as writer:
            channels = {
                name: writer.add_connection(
                    run.full_name(name), (types or {}).get(name, topic_type(run.graph, name)),
                    typestore=_STORE) for name in {m.topic: None for m in messages}}
            for due_us, message in sorted(arrival_us, key=lambda pair: pair[0]):
                writer.write(channels[message.topic], 10**18 + due_us * 1000, message.data)
        return tmp_path / 'ros'
    return written


@pytest.fixture
def imported(tmp_path):
    """Return a function that imports a bag; it returns what was found and the recording."""
    def read(bag, namespace=''):
        found = import_bag(
            bag, tmp_path / 'new', description(namespace), recorder_parameters())
        return found, BagReader(tmp_path / 'new')
    return read


def whole():
    return messages_of(description(), END_US)


@pytest.mark.parametrize('namespace', ['', 'uav1'])
@pytest.mark.parametrize('storage', StoragePlugin)
def test_the_messages_of_the_step_are_those_of_our_own_recording(
        storage, namespace, write, imported):
    bag = write(whole(), run=description(namespace), storage=storage)
    found, reader = imported(bag, namespace)
    assert found == (END_US, '')
    assert list(reader.messages()) == whole()
    assert (reader.damage, reader.run.namespace) == ('', namespace)


def test_what_comes_beside_the_steps_is_there(write, imported):
    beside = side_messages(END_US // 2)
    _, reader = imported(write(whole() + beside))
    found = [(m.topic, m.data) for m in reader.messages()]
    # One without a stamp has the time of the last step that was whole.
    assert {(m.topic, m.data) for m in beside if m.topic != graph.ABSENCE} <= set(found)
    assert [m.time_us for m in reader.messages()] == sorted(m.time_us for m in reader.messages())


@pytest.mark.process
def test_a_flight_is_replayed_bit_by_bit(write, instance, capsys, tmp_path):
    """With what the bag lacks, and with a sensor that was stopped for a while."""
    (tmp_path / 'scenario.yaml').write_text(
        'mission: none\nend: {at_s: 2.0}\n'
        'events: [{at_s: 0.5, for_s: 0.5, sensor_off: {sensor: barometer}}]\n')
    given = ['--wind', 'dryden', '--set', f'scenario={tmp_path / "scenario.yaml"}']
    assert main(['fly', '--mode', 'core', '--instance', str(instance), *given[:2], '--scenario',
                 given[3].partition('=')[2], '--record', str(tmp_path / 'own')]) == 0
    own = BagReader(tmp_path / 'own')
    bag = write(list(own.messages()), run=own.run)
    assert import_main([str(bag), '-o', str(tmp_path / 'new'), *given]) == 0
    assert main(['compare', str(tmp_path / 'own'), str(tmp_path / 'new')]) == 0
    assert main(['replay', str(tmp_path / 'new')]) == 0
    assert capsys.readouterr().out.count('common messages are bit-identical') == 2


def test_what_was_lost_is_named_and_what_came_before_is_kept(write, imported):
    kept = [m for m in whole() if (m.topic, m.time_us) != ('imu/data_raw', 1_000_000)]
    bag = write(kept)
    found, reader = imported(bag)
    assert found == (996_000, f'bag {bag}: /imu/data_raw for t = 1.000000 s is missing')
    assert list(reader.messages()) == [m for m in whole() if m.time_us <= 996_000]


def test_a_step_under_way_at_the_end_is_left_out(write, imported):
    under_way = [m for m in messages_of(description(), END_US + STEP_US, END_US)
                 if m.topic in ('/clock', 'ground_truth/odom')]
    found, reader = imported(write(whole() + under_way))
    assert found == (END_US, '')
    assert list(reader.messages()) == whole()


@pytest.mark.parametrize(('messages', 'sentence'), [
    (lambda: [m for m in whole() if m.topic != 'baro'],
     'the topic /baro is missing; ros2 bag record has to record all topics'),
    (lambda: [m for m in whole() if m.time_us > STEP_US], f' for t = 0.004000 s {MISSING}')])
def test_what_cannot_become_a_recording_is_told(messages, sentence, write, capsys, tmp_path):
    bag = write(messages())
    assert import_main([str(bag), '-o', str(tmp_path / 'new')]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f'import_bag: bag {bag}: ') and said.endswith(sentence + '\n')
    assert said.count('\n') == 1


def test_of_several_runs_it_is_the_first(write, capsys, tmp_path):
    run = description()
    bag = write(whole() + [m._replace(data=serialised(topic_type(run.graph, m.topic), STEP_US))
                           for m in messages_of(run, END_US + STEP_US, END_US)])
    assert import_main([str(bag), '-o', str(tmp_path / 'new')]) == 1
    assert capsys.readouterr().err == (
        f'import_bag: bag {bag}: time goes back from t = 2.000000 s to 0.004000 s; there is more'
        ' than one run in it\n')
    assert list(BagReader(tmp_path / 'new').messages()) == whole()


def test_another_type_is_told(write, capsys, tmp_path):
    bag = write(whole(), types={'baro': 'sensor_msgs/msg/Temperature'})
    assert import_main([str(bag), '-o', str(tmp_path / 'new')]) == 2
    assert capsys.readouterr().err == (
        f'import_bag: bag {bag}: /baro has the type sensor_msgs/msg/Temperature, not'
        ' sensor_msgs/msg/FluidPressure\n')


@pytest.mark.parametrize('seed', range(20))
def test_a_damaged_bag_is_read_as_far_as_possible_or_refused(
        seed, write, capsys, tmp_path):
    """One sentence, never a traceback."""
    bag = write(whole())
    file, = bag.glob('*.mcap')
    data, chance = bytearray(file.read_bytes()), random.Random(seed)
    if seed % 2:
        del data[chance.randrange(len(data)):]
    else:
        for _ in range(50):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    file.write_bytes(data)
    code = import_main([str(bag), '-o', str(tmp_path / 'new')])
    assert (code, capsys.readouterr().err.count('\n')) in ((0, 0), (1, 1), (2, 1))


@pytest.mark.parametrize(('words', 'sentence'), [
    (('nowhere', '-o', 'new'), "bag nowhere: "),
    (('nowhere', '-o', 'new', '--vehicle', 'irs'), 'vehicle'),
    (('nowhere', '-o', '.'), 'record .: ')])
def test_what_is_asked_for_wrongly(words, sentence, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert import_main([*words]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f'import_bag: {sentence}') and said.count('\n') == 1
