# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Synthetic bags: messages without a flight."""
import contextlib
import functools
import resource
import struct

import numpy
from rosbags.typesys import Stores, get_typestore

from px4_sim_ros.process.new_folder import make_folder
from px4_sim_ros.recording.bag.reader import BagReader, Message
from px4_sim_ros.recording.bag.run_description import RunDescription
from px4_sim_ros.recording.bag.writer import BagWriter
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.step import side_topics

STEP_US = 4000
_STORE = get_typestore(Stores.ROS2_JAZZY)
_TIME = struct.Struct('<iI')


@functools.cache
def description(namespace=''):
    """Return a run without a flight."""
    return RunDescription.of(
        load_configuration(None, {}), mode='core', autopilot='scripted', namespace=namespace)


@functools.cache
def _recorder_defaults():
    return load_configuration(None, {'': {'recorder': True}}).nodes['recorder']


def recorder_parameters(**values):
    """Return how to record."""
    return type(_recorder_defaults())(**vars(_recorder_defaults()) | values)


@functools.cache
def serialised(type_name, time_us=0):
    """Return a message of a type; what begins with a stamp is of this time."""
    if time_us == 0:
        return bytes(_STORE.serialize_cdr(_filled(type_name), type_name))
    seconds, rest_us = divmod(time_us, 1_000_000)
    data = serialised(type_name)
    return data[:4] + _TIME.pack(seconds, rest_us * 1000) + data[12:]


def trimmed(data, type_name):
    """Return a message without the padding at its end.

    The middleware may pad a message that rclpy serialises; one from a topic is not padded.
    """
    definition = _STORE.get_msgdef(type_name)
    return data[:4 + definition.deserialize_cdr_le(data[4:], 0, definition.cls, _STORE)[1]]


def _filled(type_name):
    return _STORE.types[type_name](**{
        name: _value(*kind) for name, kind in _STORE.fielddefs[type_name][1]})


def _value(kind, about):
    """Return something for a field, by the kind of its type and what rosbags says about it."""
    if kind.name == 'NAME':
        return _filled(about)
    if kind.name == 'BASE':
        return {'string': 'text', 'float64': 0.5, 'float32': 0.5}.get(about[0], 0)
    (inner_kind, inner), length = about
    if inner_kind.name == 'BASE' and inner[0] != 'string':
        return numpy.full(length or 2, 0.5, inner[0])
    return [_value(inner_kind, inner) for _ in range(length or 2)]


def messages_of(run, end_us, start_us=0):
    """Return all messages of the step of a run, after one time and up to another."""
    return [
        Message(name, time_us, serialised(topic.type, time_us))
        for time_us in range(start_us + STEP_US, end_us + 1, STEP_US)
        for name, topic in run.graph.topics.items()
        if time_us % topic.period_us(STEP_US, run.world.periods_us) == 0]


def side_messages(time_us=0):
    return [Message(name, time_us, serialised(topic.type))
            for name, topic in side_topics.RECORDED.items()]


def begin_bag(folder, run=None, **values):
    """Return a writer of a bag that is open."""
    make_folder(folder)
    return BagWriter(folder, run or description(), recorder_parameters(**values))


def write_all(writer, messages):
    for message in messages:
        writer.write(*message)


def write_bag(folder, end_us, run=None, **values):
    """Write a whole bag; return its messages."""
    run = run or description()
    messages = side_messages() + messages_of(run, end_us)
    writer = begin_bag(folder, run, **values)
    write_all(writer, messages)
    writer.close()
    return messages


def read_all(folder):
    """Return the reader of a bag and all messages that it has found."""
    reader = BagReader(folder)
    return reader, list(reader.messages())


@contextlib.contextmanager
def largest_file(size):
    """Let no file of this process and its children become larger; Python ignores the signal."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
