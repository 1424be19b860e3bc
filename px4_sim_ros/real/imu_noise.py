# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Noise of an IMU at rest, by its Allan variance (IEEE Std 952-1997, annex C).

White noise of density N has N^2 / t, a bias that walks with K has K^2 t / 3. Both are found by
least squares of the overlapping Allan variance, weighted by how well each time is told.
"""
from __future__ import annotations

import math
import typing

import numpy as np
from scipy import optimize

from px4_sim_ros.model.errors import check_installed

_LEAST_S = 1.0
_WALK_TAKES_S = 300.0          # before it a walk hides under white noise, and under temperature
_TIMES = 5.0                   # a time is told if it fits so often into the log
_PER_OCTAVE = 2


class Noise(typing.NamedTuple):
    """What a kind of sensor has at rest, mean of its axes."""

    density: float                 # unit / sqrt(Hz)
    half_width: float              # of its interval, 95 %
    walk: float | None             # unit / s / sqrt(Hz); None: the rest is too short to tell it
    rest_s: float
    times_s: np.ndarray            # (k,)
    deviations: np.ndarray         # (k,), root of the mean of the axes' Allan variances


def noise_of(samples: np.ndarray, period_s: float) -> Noise | None:
    """Return the noise of samples at rest, (n, 3); None if they are too few.

    :raises ParameterError: allantools is not installed
    """
    rest_s = len(samples) * period_s
    if rest_s < _LEAST_S:
        return None
    check_installed('allantools')
    import allantools
    octaves = math.log2(rest_s / _TIMES / period_s)
    asked = period_s * 2.0 ** (np.arange(int(octaves * _PER_OCTAVE) + 1) / _PER_OCTAVE)
    variances = []
    for axis in samples.T:
        times, deviations, _, _ = allantools.oadev(
            axis, rate=1.0 / period_s, data_type='freq', taus=asked)
        variances.append(deviations ** 2)
    variance = np.mean(variances, axis=0)
    tells_walk = rest_s >= _WALK_TAKES_S
    columns = np.stack((1.0 / times, times / 3.0), axis=1)[:, :2 if tells_walk else 1]
    # A time fits n = T / t times; the variance is told to a share of about sqrt(2 / n).
    weights = 1.0 / (variance * np.sqrt(2.0 * times / rest_s))
    found, _ = optimize.nnls(columns * weights[:, None], variance * weights)
    # White noise is told by independent differences of neighbours, on three axes.
    share = 1.96 * 0.5 * math.sqrt(2.0 / (3.0 * len(samples)))
    density = math.sqrt(found[0])
    return Noise(density, share * density, math.sqrt(found[1]) if tells_walk else None, rest_s,
                 times, np.sqrt(variance))
