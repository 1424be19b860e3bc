# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Functions of the hot path are compiled to machine code by Numba when they are first called.

The bits are those of plain Python: no fast-math, no fused operations, and `math` of the same C
library. What differs is `math.hypot`, which Python computes in its own way; compiled functions do
without it. A division by zero gives infinity or NaN, which the motion is checked for, and raises
nothing. With NUMBA_DISABLE_JIT=1 in the environment all of them run as plain Python.

Numba itself is loaded when the first of them is called, which a flight does without: the one that
it needs is kept as `machine_code` has it.
"""
from __future__ import annotations

import functools
import sys
import typing

import numpy as np

from px4_sim_ros.jit.block_import import blocked_import
from px4_sim_ros.jit.code_cache import IS_PLAIN, cache_folder

Function = typing.TypeVar('Function', bound=typing.Callable[..., typing.Any])


class Compiled:
    """A function that is compiled for the types that it is first called with."""

    def __init__(self, function: typing.Callable[..., typing.Any], **options: typing.Any) -> None:
        functools.update_wrapper(self, function)
        self._function, self._options = function, options

    @functools.cached_property
    def dispatcher(self) -> typing.Any:
        """What Numba makes of the function."""
        numba, folder = load_compiler(), cache_folder()
        if folder is None:
            return numba.njit(self._function, **self._options)
        config: typing.Any = numba.config       # Numba makes its attributes at run time
        before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
        try:
            return numba.njit(self._function, cache=True, **self._options)
        finally:
            config.CACHE_DIR = before

    def __call__(self, *arguments: typing.Any) -> typing.Any:
        return self.dispatcher(*arguments)

    def __getattr__(self, name: str) -> typing.Any:
        """Return the attribute that Numba needs of a function that another one calls.

        Other readers of attributes, such as pytest for its marks, do not load Numba.
        """
        if name.startswith('__') or 'numba' not in sys.modules:
            raise AttributeError(name)
        return getattr(self.dispatcher, name)


def compiled(function: Function, *, inline: bool = False, allocates: bool = False) -> Function:
    """Return a function that is compiled for the types that it is first called with.

    It may call compiled functions only. Without a writable cache it is compiled in each process.

    :param inline: put its text into those that call it; needed of one that takes a function, for
        the machine code of its callers could not be kept otherwise
    :param allocates: it makes arrays. One that makes none counts no references to those that it
        is given, which took half the time of a step; Numba refuses it if it makes one. It must
        return none either.
    """
    if IS_PLAIN:
        return function
    return typing.cast(Function, Compiled(
        function, inline='always' if inline else 'never', error_model='numpy', _nrt=allocates))


@compiled
def put_integer(out: np.ndarray, at: int, value: int, size: int) -> int:
    """Write an integer as so many bytes, the lowest first; return where it ends."""
    for i in range(size):
        out[at + i] = (value >> (8 * i)) & 0xFF
    end: int = at + size
    return end


allocating = functools.partial(compiled, allocates=True)
"""Compiles a function that makes arrays."""

inlined = functools.partial(compiled, inline=True)
"""Compiles a function into those that call it."""


@functools.cache
def load_compiler() -> typing.Any:
    """Load Numba, with what its first function needs, and return it.

    Where SciPy is installed Numba would load it to look at its version, and its linear algebra for
    functions that are not used here: that takes as long as all the rest, and 16 MiB. No other
    thread may import it meanwhile.
    """
    with blocked_import('scipy'):
        import numba
    with blocked_import('scipy.linalg'):
        numba.njit(_nothing)()
    return numba


def record(**values: float) -> np.ndarray:
    """Return constants for compiled functions, which read them as attributes of element 0."""
    return records([tuple(values.values())], tuple(values))


def records(
    rows: typing.Sequence[tuple[float, ...]], names: typing.Sequence[str],
) -> np.ndarray:
    """Return rows of constants for compiled functions, which read them as attributes."""
    array = np.array(rows, dtype=_dtype(tuple(names)))
    # As a recarray plain Python could read them so as well, but passing it takes ten times as long.
    return array.view(np.recarray) if IS_PLAIN else array


@functools.cache
def _dtype(names: tuple[str, ...]) -> np.dtype[typing.Any]:
    """Return the same object for the same names: Numba knows it again much faster than an equal."""
    return np.dtype([(name, float) for name in names])


def _nothing() -> None:
    """No-op that triggers Numba's start-up."""
