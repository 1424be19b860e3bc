# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""One random stream for each consumer."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from px4_sim_ros.model.random_streams import NormalStream

ROOT = pathlib.Path(__file__).resolve().parents[2]
COUNT = 20_000


def draw(seed, name, count=COUNT):
    """Return the first numbers of a stream."""
    stream = NormalStream(seed, name)
    return np.array([stream.next() for _ in range(count)])


def largest_correlation(a, b, lags=20):
    """Return the largest correlation of two sequences over small shifts."""
    return max(
        abs(np.corrcoef(a[max(0, k):len(a) + min(0, k)], b[max(0, -k):len(b) - max(0, k)])[0, 1])
        for k in range(-lags, lags + 1))


def test_same_seed_and_name_give_the_same_numbers():
    """Bit for bit, over several blocks."""
    assert (draw(7, 'imu/gyro') == draw(7, 'imu/gyro')).all()


def test_other_consumers_do_not_shift_a_stream():
    """Drawing from another stream in between changes nothing."""
    mine, other = NormalStream(7, 'imu/gyro'), NormalStream(7, 'gps/position')
    values = []
    for _ in range(3000):
        other.next3()
        values.append(mine.next())
    assert values == draw(7, 'imu/gyro', 3000).tolist()


def test_next3_takes_three_numbers():
    """In the order of `next`, also across the end of a block."""
    stream = NormalStream(7, 'imu')
    assert [v for _ in range(700) for v in stream.next3()] == draw(7, 'imu', 2100).tolist()


@pytest.mark.parametrize('count', [0, 1, 1023, 1024, 5000])
def test_numbers_that_are_skipped_are_those_that_would_have_come(count):
    stream = NormalStream(7, 'imu')
    first = [stream.next() for _ in range(10)]
    stream.skip(count)
    assert first == draw(7, 'imu', 10).tolist()
    assert [*stream.next3(), stream.next()] == draw(7, 'imu', count + 14)[-4:].tolist()


@pytest.mark.parametrize('other', [(2, 'imu'), (0, 'imu'), (1, 'imu/gyro'), (1, 'gps')])
def test_neighbouring_seeds_and_names_are_uncorrelated(other):
    """Below 4.5 / sqrt(n) at all of 41 shifts, for seed 1 and name imu."""
    assert largest_correlation(draw(1, 'imu'), draw(*other)) < 4.5 / np.sqrt(COUNT)


def test_numbers_are_standard_normal():
    """Mean 0, variance 1, kurtosis 3, within four standard errors."""
    x = draw(1, 'imu')
    assert x.mean() == pytest.approx(0.0, abs=4.0 / np.sqrt(COUNT))
    assert x.var() == pytest.approx(1.0, abs=4.0 * np.sqrt(2.0 / COUNT))
    assert (x ** 4).mean() == pytest.approx(3.0, abs=4.0 * np.sqrt(96.0 / COUNT))


@pytest.mark.slow
def test_another_process_draws_the_same_numbers():
    """The key comes from a stable hash, not from Python's own, which is salted."""
    code = ('from px4_sim_ros.model.random_streams import NormalStream;'
            'print(NormalStream(1, "imu").next())')
    outputs = {
        subprocess.run(
            [sys.executable, '-c', code], env={**os.environ, 'PYTHONHASHSEED': salt},
            cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
        for salt in ('1', '2')}
    assert outputs == {repr(NormalStream(1, 'imu').next())}
