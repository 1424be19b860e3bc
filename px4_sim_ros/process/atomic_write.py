# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Files that are whole at any time: there is the old one or the new one, whatever happens."""
from __future__ import annotations

import contextlib
import os
import pathlib
import typing


@contextlib.contextmanager
def replaced(path: pathlib.Path) -> typing.Iterator[pathlib.Path]:
    """Yield the name under which a file is to be written that then takes the place of `path`."""
    if path.exists() and not path.is_file():
        yield path
        return
    # Where a link leads to, in the same folder, so that it is on the same disk.
    path = pathlib.Path(os.path.realpath(path))        # also of links in a circle
    new = path.with_name(f'.{path.name}')
    try:
        yield new
        os.replace(new, path)
    except BaseException as error:
        new.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)         # a disk that is full does not say which file
        raise


def write(path: pathlib.Path, text: str) -> None:
    with replaced(path) as new:
        new.write_text(text, encoding='utf-8')
