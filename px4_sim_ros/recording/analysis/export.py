# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The signals of a recording as tables: one for each topic, a row for each message."""
from __future__ import annotations

import pathlib
import typing

from px4_sim_ros.model.errors import ParameterError, check_installed, did_you_mean
from px4_sim_ros.recording.analysis import tables
from px4_sim_ros.recording.analysis.series import FIELDS, Series, read_series
from px4_sim_ros.recording.bag.reader import BagReader

CSV, PARQUET = FORMATS = ('csv', 'parquet')
_AXES = {3: 'xyz', 4: 'wxyz'}


def export(
    bag: BagReader, folder: pathlib.Path, form: str, topics: typing.Sequence[str] = (),
    every: int = 1,
) -> list[pathlib.Path]:
    """Write the tables of a recording; return their files.

    :param folder: where they go; it is made
    :param form: of FORMATS
    :param topics: which; all that have signals without any
    :param every: of how many messages one is written
    :raises ParameterError: there is no such topic, or pyarrow is not installed
    :raises BagError: the recording cannot be read
    :raises OSError: a table cannot be written
    """
    if form == PARQUET:
        check_installed('pyarrow')
    known = [name for name, topic in bag.run.graph.topics.items() if topic.kind in FIELDS]
    for topic in topics:
        if topic not in known:
            raise ParameterError(f'topics {topic!r}: the recording has no such signals'
                                 f"{did_you_mean(topic, known)}; it has {', '.join(known)}")
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for topic, fields in read_series(bag, topics or None).items():
        path = folder / f'{topic.replace("/", "_")}.{form}'
        write = tables.write_csv if form == CSV else tables.write_parquet
        write(path, _rows(fields, every))
        files.append(path)
    return files


def _rows(fields: typing.Mapping[str, Series], every: int) -> list[dict[str, float]]:
    columns = {'time_s': next(iter(fields.values())).time_s[::every].tolist()}
    for name, series in fields.items():
        count = series.values.shape[1]
        axes = _AXES.get(count, [str(i) for i in range(1, count + 1)])
        for i, axis in enumerate(axes):
            columns[name if count == 1 else f'{name}.{axis}'] = series.values[::every, i].tolist()
    return [dict(zip(columns, values)) for values in zip(*columns.values())]
