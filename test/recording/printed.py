# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Tables as a terminal of a width shows them."""
from rich.console import Console


def lines(table, columns):
    """Return the lines of a table, without the spaces at their ends."""
    console = Console(width=columns, color_system=None)
    with console.capture() as capture:
        console.print(table)
    return [line.rstrip() for line in capture.get().splitlines()]


def assert_fits(table, columns):
    """See that nothing is cut or folded: the lines are those of a terminal without an end."""
    assert lines(table, columns) == lines(table, 1000)
