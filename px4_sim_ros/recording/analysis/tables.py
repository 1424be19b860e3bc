# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rows as tables: CSV, and Parquet where pyarrow is."""
from __future__ import annotations

import csv
import pathlib
import typing

from px4_sim_ros.process import atomic_write

NO_PARQUET = ('the Python package pyarrow is not installed, so there is no Parquet file;'
              ' `pip install pyarrow` installs it')
_FORMULA = '=', '+', '-', '@', '\t', '\r'      # the first character
Rows = typing.Sequence[typing.Mapping[str, typing.Any]]


def columns_of(rows: Rows) -> list[str]:
    """Return all columns in the order in which they come."""
    return list(dict.fromkeys(name for row in rows for name in row))


def write_csv(path: pathlib.Path, rows: Rows) -> None:
    """Write a table with a head; what is not known is empty.

    :raises OSError: it cannot be written
    """
    with atomic_write.replaced(path) as new, open(
            new, 'w', encoding='utf-8', newline='') as file:
        columns = columns_of(rows)
        writer = csv.writer(file)
        writer.writerow(map(_plain, columns))
        writer.writerows([_plain(row.get(name)) for name in columns] for row in rows)


def _plain(cell: typing.Any) -> typing.Any:
    """Return a cell in which no program for tables finds a formula: an apostrophe marks a text."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


def write_parquet(path: pathlib.Path, rows: Rows) -> bool:
    """Write a table with typed columns; return False where there is no pyarrow.

    :raises OSError: it cannot be written
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError:
        return False
    columns = {name: _of_one_type([row.get(name) for row in rows]) for name in columns_of(rows)}
    with atomic_write.replaced(path) as new:
        parquet.write_table(pyarrow.table(columns), new)
    return True


def _of_one_type(values: list[typing.Any]) -> list[typing.Any]:
    """Return a column that can be typed: numbers, or else texts."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) <= 1 and not kinds & {list, dict}:
        return values
    if kinds <= {int, float}:
        return [None if value is None else float(value) for value in values]
    return [None if value is None else str(value) for value in values]
