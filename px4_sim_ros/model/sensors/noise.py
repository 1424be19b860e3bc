# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Errors that sensors have in common: white noise, Gauss-Markov bias, the converter's limits."""
from __future__ import annotations

import math
import typing

import numpy as np

from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.random_streams import NormalStream
from px4_sim_ros.model.truth import Truth

# What rotors shake a sensor with: harmonics of their speeds.
#
# An unbalanced rotor pulls with m e w^2, once a turn; its blades push as often as they pass, with
# their thrust, which grows with w^2 as well (Den Hartog 1956, Mechanical Vibrations, sections 2.4
# and 6.1). A body that gives way freely has accelerations of that amplitude, and rates, which are
# those over the frequency, of an amplitude that grows with w. Of the structure between rotor and
# sensor nothing is known: each axis has the same amplitude, and a phase of its own, drawn once.
#
# A sensor's sample is the mean since the one before. A harmonic n turns by x = n w h meanwhile;
# its mean is its value x/2 earlier, times sin(x/2) / (x/2).

# Eight seconds of steps of 4 ms: steps that compiled code takes at once are not cut by their end.
_ROWS_AHEAD = 2000
# Drawn at a time for steps of Python: a step that draws 2000 may be late in real time.
_ROWS_OF_PYTHON = 25

HARMONICS = 3
ACCELERATION, RATE = 2, 1
"""With which power of the rotor's speed an amplitude grows."""


def passed(angle_rad: float) -> float:
    """Return which share of a harmonic is left in the mean over a period.

    :param angle_rad: by which it turns in the period
    """
    half = 0.5 * angle_rad
    return math.sin(half) / half if half else 1.0


class RotorVibration:
    """What all rotors together add to the three axes of a sensor."""

    def __init__(
        self, amplitudes: typing.Sequence[float], at_rad_s: float, power: int, period_s: float,
        seed: int, name: str,
    ) -> None:
        """Draw nothing yet: how many rotors there are, the truth will tell.

        :param amplitudes: of one rotor on each axis, at 1, 2 and 3 times its speed
        :param at_rad_s: speed of the rotors at which these are the amplitudes
        :param power: ACCELERATION or RATE
        :param name: of the streams of random numbers
        """
        self._amplitudes = [(n, amplitude) for n, amplitude in enumerate(amplitudes, 1)
                            if amplitude]
        self._at_rad_s, self._power, self._period_s = at_rad_s, power, period_s
        self._stream = NormalStream(seed, name)
        self._phases: dict[tuple[int, int], Vector] = {}       # by rotor and harmonic

    def add_to(self, value: Vector, truth: Truth) -> Vector:
        """Return a value with what the rotors add at the truth's time."""
        x, y, z = value
        for rotor, (speed, angle) in enumerate(zip(
                truth.rotor_speeds_rad_s, truth.rotor_angles_rad)):
            share = abs(speed / self._at_rad_s) ** self._power
            for n, amplitude in self._amplitudes:
                turned = n * speed * self._period_s
                size = amplitude * share * passed(turned)
                a, b, c = self._phase(rotor, n)
                middle = n * angle - 0.5 * turned
                x += size * math.cos(middle + a)
                y += size * math.cos(middle + b)
                z += size * math.cos(middle + c)
        return x, y, z

    def _phase(self, rotor: int, harmonic: int) -> Vector:
        if (rotor, harmonic) not in self._phases:
            a, b, c = (math.tau * self._stream.uniform() for _ in range(3))
            self._phases[rotor, harmonic] = a, b, c
        return self._phases[rotor, harmonic]


def numbered(name: str, values: typing.Iterable[float]) -> dict[str, float]:
    """Return values as fields of a record: `name_0`, `name_1`, and so on."""
    return {f'{name}_{i}': value for i, value in enumerate(values)}


class NoiseRows:
    """Noise of samples to come: rows that are drawn many at a time, and used one after the other.

    Compiled code reads `rows` from `at` on, and `skip` says how many it has used.
    """

    def __init__(self, numbers: int, fill: typing.Callable[[np.ndarray], None]) -> None:
        """Draw nothing yet.

        :param numbers: of a row
        :param fill: sets the next rows
        """
        self.rows = np.empty((_ROWS_AHEAD, numbers))
        self._fill, self._numbers = fill, numbers
        # The same for Python, in one list: the collector of cycles counts lists, not numbers.
        self._drawn: list[float] = []
        self.at = self._end = 0
        """The row that is next; behind the last one none is drawn yet."""

    @property
    def left(self) -> int:
        """How many rows are drawn from `at` on: at least one."""
        if self.at == self._end:
            self._draw(_ROWS_AHEAD)
        return self._end - self.at

    def _draw(self, rows: int) -> None:
        self._fill(self.rows[:rows])
        self._drawn, self.at, self._end = [], 0, rows

    def next(self) -> list[float]:
        """Return the numbers of the next sample."""
        if self.at == self._end:
            self._draw(_ROWS_OF_PYTHON)
        if not self._drawn:
            self._drawn = self.rows[:self._end].ravel().tolist()
        begin = self.at * self._numbers
        self.at += 1
        return self._drawn[begin:begin + self._numbers]

    def skip(self, samples: int) -> None:
        """Let so many samples go by."""
        while samples:
            passed = min(samples, self.left)
            self.at += passed
            samples -= passed


def _recurrence(value: float, decay: float, drives: np.ndarray) -> list[float]:
    """Return the values that follow one: each the one before times `decay`, plus its drive."""
    return [value := decay * value + drive for drive in drives.tolist()]


class GaussMarkov:
    """A stationary first-order Gauss-Markov process, sampled exactly.

    Its standard deviation is `sigma` from the first sample on, and the correlation of two
    samples that are t apart is exp(-t / tau).
    """

    def __init__(
        self, sigma: float, correlation_time_s: float, period_s: float, stream: NormalStream,
    ) -> None:
        self._stream = stream
        self._decay = math.exp(-period_s / correlation_time_s)
        self._sigma = sigma * math.sqrt(-math.expm1(-2.0 * period_s / correlation_time_s))
        self._value = sigma * stream.next()

    def next(self) -> float:
        """Return the value one period later."""
        self._value = self._decay * self._value + self._sigma * self._stream.next()
        return self._value

    def take(self, periods: int) -> list[float]:
        """Return the values of the next periods."""
        values = _recurrence(self._value, self._decay, self._sigma * self._stream.take(periods))
        if periods:
            self._value = values[-1]
        return values

    def skip(self, periods: int) -> None:
        """Let so many periods go by."""
        self.take(periods)


class GaussMarkovVector:
    """A first-order Gauss-Markov process on three axes, given by its drive, sampled exactly.

    b' = -b / tau + w, with w white of density `random_walk`: over a period h it is
    b <- b exp(-h/tau) + n, where n has variance random_walk^2 tau (1 - exp(-2h/tau)) / 2.
    """

    def __init__(
        self, random_walk: float, correlation_time_s: float, period_s: float,
        stream: NormalStream, start: Vector = (0.0, 0.0, 0.0),
    ) -> None:
        self._stream = stream
        self._decay = math.exp(-period_s / correlation_time_s)
        self._sigma = random_walk * math.sqrt(
            -0.5 * correlation_time_s * math.expm1(-2.0 * period_s / correlation_time_s))
        self._value = start

    def next(self) -> Vector:
        """Return the bias one period later."""
        x, y, z = self._value
        a, b, c = self._stream.next3()
        decay, sigma = self._decay, self._sigma
        self._value = decay * x + sigma * a, decay * y + sigma * b, decay * z + sigma * c
        return self._value

    def take(self, periods: int) -> np.ndarray:
        """Return the biases of the next periods: shape (periods, 3)."""
        drives = self._sigma * self._stream.take(3 * periods).reshape(-1, 3)
        axes = [_recurrence(value, self._decay, drives[:, i])
                for i, value in enumerate(self._value)]
        a, b, c = axes
        if periods:
            self._value = a[-1], b[-1], c[-1]
        return np.transpose(axes)

    def skip(self, periods: int) -> None:
        """Let so many periods go by."""
        self.take(periods)


class VectorNoise:
    """White noise of a given density, a constant turn-on bias and one that drifts, on three axes.

    As in RotorS (Furrer et al. 2016): the turn-on bias stays, the drift beside it begins at 0.
    """

    def __init__(
        self, noise_density: float, random_walk: float, correlation_time_s: float, turn_on: float,
        period_s: float, seed: int, name: str,
    ) -> None:
        """Start with a fresh turn-on bias.

        :param noise_density: of the white noise, unit per sqrt(Hz)
        :param random_walk: density of the noise that drives the bias, unit/s per sqrt(Hz)
        :param turn_on: standard deviation of the turn-on bias, unit
        :param name: of the streams of random numbers
        """
        self._stream = NormalStream(seed, name)
        self._sigma = noise_density / math.sqrt(period_s)
        self.variance = self._sigma * self._sigma      # of the white part of one sample
        # The bias has a stream of its own, so that the white noise is the same without it.
        bias_stream = NormalStream(seed, f'{name}/bias')
        x, y, z = (turn_on * n for n in bias_stream.next3())
        self._drift = GaussMarkovVector(
            random_walk, correlation_time_s, period_s, bias_stream) if random_walk else None
        # Without one nothing is to change, not even the sign of a zero.
        self._turn_on = (x, y, z) if turn_on or random_walk else (-0.0, -0.0, -0.0)
        self.ahead = NoiseRows(6, self._fill)

    def _fill(self, rows: np.ndarray) -> None:
        """Set the bias and the white noise of the next samples."""
        rows[:, :3] = self._turn_on
        if self._drift is not None:
            rows[:, :3] += self._drift.take(len(rows))
        rows[:, 3:] = self._sigma * self._stream.take(3 * len(rows)).reshape(-1, 3)

    def add_to(self, value: Vector) -> Vector:
        """Return `value` with the noise of the next sample."""
        x, y, z = value
        a, b, c, n, m, k = self.ahead.next()
        return x + a + n, y + b + m, z + c + k

    def skip(self, samples: int) -> None:
        """Let so many samples go by."""
        self.ahead.skip(samples)


def within(value: Vector, limit: float) -> Vector:
    """Return a value with each axis within a limit."""
    x, y, z = value
    # NaN is passed on: so the order of the comparison.
    if x * x + y * y + z * z <= limit * limit:
        return value
    return (max(min(x, limit), -limit), max(min(y, limit), -limit), max(min(z, limit), -limit))


class Converter:
    """The analogue-digital converter behind three axes."""

    def __init__(self, limit: float, resolution: float) -> None:
        """Take the largest magnitude and the smallest difference of an axis.

        :param resolution: 0 for an infinitely fine one
        """
        # The last step within the limit.
        self.limit = math.floor(limit / resolution) * resolution if resolution else limit
        self.resolution = resolution

    def read(self, value: Vector) -> Vector:
        """Return `value` within the limit and rounded to the nearest step."""
        x, y, z = within(value, self.limit)
        step = self.resolution
        if step:
            remainder = math.remainder         # passes NaN on, which round() does not
            x, y, z = x - remainder(x, step), y - remainder(y, step), z - remainder(z, step)
        return x, y, z
