# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""One stream of random numbers for each consumer, from the run's seed and its name."""
from __future__ import annotations

import hashlib
import itertools
import math
import typing

import numpy as np

_BLOCK = 256


def derived_seed(seed: int, name: str) -> int:
    """Return the seed of a part of the world that has streams of its own, by its name."""
    digest = hashlib.sha256(f'{seed}/{name}'.encode()).digest()
    return int.from_bytes(digest[:4], 'little') >> 1       # as all seeds, below 2^31


class NormalStream:
    """Standard normal numbers; a new consumer never shifts another's stream.

    Numbers are drawn in blocks, and handed out without a step of Python: one call of NumPy for
    each number would cost more than the sensor that uses it. How many are drawn at a time does not
    change them.
    """

    def __init__(self, seed: int, name: str) -> None:
        key = int.from_bytes(hashlib.sha256(name.encode()).digest()[:16], 'little')
        self._generator = np.random.Generator(np.random.PCG64([seed, key]))
        self._drawn: typing.Iterator[float] = iter(())     # of the block that is handed out
        numbers = self._numbers = itertools.chain.from_iterable(self._blocks())
        self.next = numbers.__next__
        """Returns the next number of the stream."""
        self.next3 = zip(numbers, numbers, numbers).__next__
        """Returns the next three numbers of the stream."""

    def _blocks(self) -> typing.Iterator[typing.Iterator[float]]:
        while True:
            self._drawn = iter(self._generator.standard_normal(_BLOCK).tolist())
            yield self._drawn

    def take(self, count: int) -> np.ndarray:
        """Return the next numbers of the stream."""
        if count < _BLOCK:
            return np.fromiter(self._numbers, float, count)
        drawn = list(self._drawn)
        return np.concatenate((drawn, self._generator.standard_normal(count - len(drawn))))

    def skip(self, count: int) -> None:
        """Let so many numbers go by."""
        self.take(count)

    def uniform(self) -> float:
        """Return a number within 0 and 1, evenly distributed, from the next of the stream."""
        return 0.5 * math.erfc(-self.next() * math.sqrt(0.5))
