"""Numbers as messages with 32 bits carry them.

Core rounds to them as well, so that all modes have the same bits.
"""
from __future__ import annotations

import struct


def in_32_bits(*values: float) -> tuple[float, ...]:
    """Return each value rounded to 32 bits.

    :raises OverflowError: one is too large for them
    """
    layout = f'<{len(values)}f'
    return struct.unpack(layout, struct.pack(layout, *values))
