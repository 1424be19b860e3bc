# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where tables are printed."""
from __future__ import annotations

import sys

from rich.console import Console

# Where no edge of a terminal cuts lines, so that a file or a program gets each row whole.
_UNBOUNDED_COLUMNS = 1000


def console() -> Console:
    """Return stdout, as wide as its terminal; without one a table is as wide as it needs."""
    return Console(width=None if sys.stdout.isatty() else _UNBOUNDED_COLUMNS)
