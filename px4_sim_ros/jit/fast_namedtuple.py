# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Named tuples of the hot path, in a third of the time."""
from __future__ import annotations

import functools
import typing

_Named = typing.TypeVar('_Named')


def fast_namedtuple(kind: type[_Named]) -> typing.Callable[[tuple[typing.Any, ...]], _Named]:
    """Return a maker of named tuples from a tuple of all values, in the order of the fields.

    It is what the constructor itself does in the end, without a call of Python on the way.
    """
    return functools.partial(tuple.__new__, kind)  # type: ignore[type-var]
