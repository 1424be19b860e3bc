# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The signals of a recording as tables: one for each topic, a row for each message."""
from __future__ import annotations

import pathlib
import typing

import numpy.typing

from px4_sim_ros.model.errors import ParameterError, check_installed, did_you_mean
from px4_sim_ros.recording.analysis import tables
from px4_sim_ros.recording.analysis.series import Series, SeriesCollector, read_series
from px4_sim_ros.recording.bag.reader import BagReader

CSV, PARQUET = FORMATS = ('csv', 'parquet')
_NAMED = {'geodetic_deg_m': ('latitude_deg', 'longitude_deg', 'altitude_m')}
# Of which a vehicle has any number: rotor_1 is the first of its file.
_NUMBERED = 'rotor_', 'servo_', 'wheel_'
_OF_PX4 = 'fmu/'           # in the names of PX4's own topics, which a recording may have
_ONE = frozenset({'voltage_v', 'current_a', 'charge_ah', 'capacity_ah', 'percentage', 'pressure_pa',
                  'range_m', 'status', 'satellites', 'hdop', 'vdop'})


def export(
    bag: BagReader, folder: pathlib.Path, form: str, topics: typing.Sequence[str] = (),
    every: int = 1,
) -> list[pathlib.Path]:
    """Write the tables of a recording; return their files."""
    if form == PARQUET:
        check_installed('pyarrow')
    topics = [topic.removeprefix('/') for topic in topics]
    _check_topics(bag, topics)
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for topic, fields in read_series(bag, topics or None).items():
        path = folder / f'{topic.replace("/", "_")}.{form}'
        write = tables.write_csv if form == CSV else tables.write_parquet
        write(path, _rows(fields, every))
        files.append(path)
    return files


def read_table(bag: BagReader, topic: str) -> dict[str, numpy.typing.NDArray[typing.Any]]:
    """Return the columns of a topic, as `export` writes them, by name.

    :raises BagError: the recording cannot be read
    """
    topic = topic.removeprefix('/')
    _check_topics(bag, [topic])
    found = read_series(bag, [topic])
    if topic not in found:
        raise ParameterError(f'topics {topic!r}: the recording has no message of it; name another')
    return _columns(found[topic], 1)


def _check_topics(bag: BagReader, topics: typing.Iterable[str]) -> None:
    """Check that a recording has the signals of topics."""
    known = SeriesCollector(bag.run.graph).topics
    for topic in topics:
        if topic not in known and _OF_PX4 not in topic:
            raise ParameterError(f'topics {topic!r}: the recording has no such signals'
                                 f"{did_you_mean(topic, known)}; it has {', '.join(known)}")


def columns_of(field: str, count: int) -> list[str]:
    """Return the names of the columns of a field, of as many parts."""
    if field in _NAMED:
        return list(_NAMED[field])
    if field.startswith(_NUMBERED):
        return [f'{field}.{i}' for i in range(1, count + 1)]
    if field in _ONE or count == 1:
        return [field]
    axes = 'wxyz' if field.endswith('_wxyz') else 'xyz'
    if count > len(axes):
        return [f'{field}.{i}' for i in range(count)]
    return [f'{field}.{axis}' for axis in axes[:count]]


def _columns(
    fields: typing.Mapping[str, Series], every: int,
) -> dict[str, numpy.typing.NDArray[typing.Any]]:
    columns = {'time_s': next(iter(fields.values())).time_s[::every]}
    for name, series in fields.items():
        for i, column in enumerate(columns_of(name, series.values.shape[1])):
            columns[column] = series.values[::every, i]
    return columns


def _rows(fields: typing.Mapping[str, Series], every: int) -> list[dict[str, float]]:
    columns = {name: values.tolist() for name, values in _columns(fields, every).items()}
    return [dict(zip(columns, values)) for values in zip(*columns.values())]
