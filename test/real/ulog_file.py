# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A ULog as PX4 writes it, with the topics that a test names (PX4 guide, ULog file format)."""
import struct

import numpy as np

_MAGIC = b'ULog\x01\x12\x35\x01'
_CODES = {'uint64_t': 'Q', 'float': 'f', 'int8_t': 'b', 'uint8_t': 'B'}


def message(kind, content):
    return struct.pack('<HB', len(content), ord(kind)) + content


def text(kind, name, value):
    """Return a message of a key and its value: information (I) or a parameter (P)."""
    if isinstance(value, str):
        key, data = f'char[{len(value)}] {name}', value.encode()
    elif isinstance(value, int):
        key, data = f'int32_t {name}', struct.pack('<i', value)
    else:
        key, data = f'float {name}', struct.pack('<f', value)
    return message(kind, struct.pack('<B', len(key)) + key.encode() + data)


def write(path, topics, parameters=(), information=()):
    """Write a log.

    :param topics: by name a table: times in us, then of each field its type, name and values
    """
    content = _MAGIC + struct.pack('<Q', 0) + message('B', bytes(40))
    content += b''.join(text('I', *item) for item in information)
    content += b''.join(text('P', *item) for item in parameters)
    for name, (_, fields) in topics.items():
        layout = ''.join(f'{kind} {field};' for kind, field, _ in fields)
        content += message('F', f'{name}:uint64_t timestamp;{layout}'.encode())
    for number, name in enumerate(topics):
        content += message('A', struct.pack('<BH', 0, number) + name.encode())
    rows = []
    for number, (times, fields) in enumerate(topics.values()):
        codes = '<HQ' + ''.join(_CODES[kind] for kind, _, _ in fields)
        columns = [[value.item() for value in np.asarray(values)] for _, _, values in fields]
        rows += [(int(time), message('D', struct.pack(codes, number, int(time), *row)))
                 for time, *row in zip(times, *columns)]
    path.write_bytes(content + b''.join(row for _, row in sorted(rows)))
