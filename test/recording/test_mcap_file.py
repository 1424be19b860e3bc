# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An MCAP file has the bytes that the library's own writer gives it."""
import io
import random

import pytest
from mcap.reader import make_reader
from mcap.writer import MCAP0_MAGIC, CompressionType, Writer

from px4_sim_ros.recording.bag.mcap_file import (
    MAGIC,
    McapFile,
    end_without_summary,
    message_record,
)

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
