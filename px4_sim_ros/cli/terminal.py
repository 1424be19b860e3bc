# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where tables are printed."""
from __future__ import annotations

import sys
import typing

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from px4_sim_ros.model.errors import printable

# Where no edge of a terminal cuts lines, so that a file or a program gets each row whole.
_UNBOUNDED_COLUMNS = 1000


def console() -> Console:
    """Return stdout, as wide as its terminal; without one a table is as wide as it needs."""
    return _Terminal(file=typing.cast(typing.IO[str], _Drawn(sys.stdout)),
                     width=None if sys.stdout.isatty() else _UNBOUNDED_COLUMNS)


class _Terminal(Console):
    """Draws colours and moves the cursor; texts do neither."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None,
    ) -> typing.Iterator[Segment]:
        """Yield segments; those that are texts have no control characters."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text))


class _Drawn:
    """Standard output for what is drawn."""

    def __init__(self, stream: typing.TextIO) -> None:
        self._stream = stream
        self.write = getattr(stream, 'draw', stream.write)

    def __getattr__(self, name: str) -> typing.Any:
        """Return all else that a stream has."""
        return getattr(self._stream, name)
