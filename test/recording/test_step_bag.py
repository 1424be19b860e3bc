# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Steps are recorded whole, by value; what comes beside them has the time of the last one."""
import errno

import bags
import pytest

from px4_sim_ros.messages.publications import Publications
from px4_sim_ros.model.sensors.imu import ImuMeasurement
from px4_sim_ros.recording.bag.reader import Message
from px4_sim_ros.recording.bag.step_bag import StepBag, StepWriter
from px4_sim_ros.recording.bag.writer import Channel
from px4_sim_ros.step.graph import CLOCK, COMMAND
from px4_sim_ros.step.lane import Output

STEP_US = bags.STEP_US


class Writer:
    """Keeps what is written, as long as there is room."""

    flushed_us = 0

    def __init__(self, room=1000):
        self.written, self.room, self.closed = [], room, 0
        self.channels = {}
        for name in bags.description().graph.topics:
            self.channels[name] = Channel(1)
            self.channels[name].id = len(self.channels)

    def write(self, topic, time_us, data):
        if len(self.written) == self.room:
            raise OSError(errno.ENOSPC, 'No space left on device')
        self.written.append((topic, time_us))

    def write_all(self, time_us, records):
        names = {channel.id: name for name, channel in self.channels.items()}
        for channel, _ in records:
            self.write(names[channel], time_us, b'')

    def close(self):
        self.closed += 1

    def end_text(self, reason):
        return f'the recording ends: {reason}'


def bag_of(writer, beside=(), reports=None):
    run, waiting = bags.description(), list(beside)

    def gather(time_us):
        found = [Message('/rosout', time_us, data) for data in waiting]
        waiting.clear()
        return found

    return StepBag(writer, run.graph, run.world, gather,
                   lambda: reports.append(1) if reports is not None else None)


def step(index):
    time_us = index * STEP_US
    return [Output(time_us, 'manager', {CLOCK: time_us}),
            Output(time_us, 'hil_bridge', {COMMAND: (0.0,) * 4})]


def test_a_step_is_written_when_its_command_is_there():
    writer = Writer()
    bag = bag_of(writer)
    clock, command = step(1)
    bag.send([clock])
    assert (writer.written, bag.complete_us) == ([], 0)
    bag.send([command, step(2)[0]])
    assert writer.written == [(CLOCK, STEP_US), (COMMAND, STEP_US)]
    assert bag.complete_us == STEP_US
    bag.close()
    bag.close()
    assert (len(writer.written), writer.closed) == (2, 1)


def test_what_comes_beside_the_steps_has_the_time_of_the_last_one():
    writer = Writer()
    bag = bag_of(writer, beside=[b'landed'])
    bag.send(step(1))
    bag.send(step(2))
    assert writer.written[2] == ('/rosout', STEP_US)


def test_what_comes_beside_the_steps_stays_in_its_place_between_them():
    writer = Writer()
    bag = bag_of(writer)
    for index in range(1, 4):
        bag.send(step(index))
        bag.write([Message('/rosout', bag.complete_us, b'')])
        # Nothing waits for more to come.
        assert writer.written[-3:] == [
            (topic, index * STEP_US) for topic in (CLOCK, COMMAND, '/rosout')]
    assert len(writer.written) == 9


@pytest.mark.parametrize('values', [
    {}, {'every': 3}, {'topics': 'imu/data_raw sensors/absence'}])
def test_records_of_a_step_have_the_bytes_of_its_messages_one_by_one(values, tmp_path):
    """Numbers, texts, and a sensor that has measured nothing; all of each message or a part."""
    run, folders = bags.description(), []
    outputs = [output for index in range(1, 100) for output in (
        step(index)[0], Output(index * STEP_US, 'gps', None),
        Output(index * STEP_US, 'imu', {'imu/data_raw': ImuMeasurement(
            index * STEP_US, (0.1, 0.2, index), (0.3, 0.4, 0.5), 0.01, 0.02)}), step(index)[1])]

    def begin(name):
        folders.append(tmp_path / name / 'bag')
        return bags.begin_bag(folders[-1], run, flush_us=100_000, **values)

    steps = StepWriter(
        begin('steps'), run.graph, run.world, lambda error: pytest.fail(str(error)))
    for output in outputs:
        steps.send([output])
    steps.close()
    writer, publications = begin('messages'), Publications(run.graph, run.world)
    for output in outputs:
        for topic, data in publications.of(output):
            writer.write(topic, output.time_us, data)
    writer.close()
    found, expected = ({path.name: path.read_bytes() for path in folder.iterdir()}
                       for folder in folders)
    assert found == expected


@pytest.mark.parametrize('room', [0, 3])
def test_a_failure_is_reported_once_and_nothing_is_written_after_it(room):
    writer, reports = Writer(room), []
    bag = bag_of(writer, reports=reports)
    for index in range(1, 5):
        bag.send(step(index))
    bag.close()
    assert bag.problem == 'the recording ends: No space left on device'
    assert (len(writer.written), writer.closed, reports) == (room, 0, [1])
