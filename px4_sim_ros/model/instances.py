"""Names of further sensors of a kind: `imu`, `imu_1`, `imu_2`."""
from __future__ import annotations

import functools
import re

_FURTHER = re.compile(r'(.+)_([1-9])')


def instance_name(kind: str, index: int) -> str:
    """Return the name of an instance; the first has the name of its kind."""
    return f'{kind}_{index}' if index else kind


@functools.cache
def kind_and_index(name: str) -> tuple[str, int]:
    """Return the kind of an instance, and its number from 0 on."""
    match = _FURTHER.fullmatch(name)
    return (match[1], int(match[2])) if match else (name, 0)
