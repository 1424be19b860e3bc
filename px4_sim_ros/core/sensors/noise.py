"""Noise of inertial and magnetic sensors: white noise and a drifting bias, on three axes."""
from __future__ import annotations

import math

from px4_sim_ros.core.frames import Vector
from px4_sim_ros.core.random_streams import NormalStream


class DriftingBias:
    """A first-order Gauss-Markov process on three axes, sampled exactly.

    b' = -b / tau + w, with w white of density `random_walk`: over a period h it is
    b <- b exp(-h/tau) + n, where n has variance random_walk^2 tau (1 - exp(-2h/tau)) / 2.
    """

    def __init__(
        self, random_walk: float, correlation_time_s: float, turn_on: float, period_s: float,
        stream: NormalStream,
    ) -> None:
        self._stream = stream
        self._decay = math.exp(-period_s / correlation_time_s)
        self._sigma = random_walk * math.sqrt(
            -0.5 * correlation_time_s * math.expm1(-2.0 * period_s / correlation_time_s))
        self._value = tuple(turn_on * n for n in stream.next3())

    def next(self) -> Vector:
        """Return the bias one period later."""
        decay, sigma = self._decay, self._sigma
        a, b, c = self._value
        n, m, k = self._stream.next3()
        self._value = (decay * a + sigma * n, decay * b + sigma * m, decay * c + sigma * k)
        return self._value


class VectorNoise:
    """White noise of a given density plus a drifting bias."""

    def __init__(
        self, noise_density: float, random_walk: float, correlation_time_s: float, turn_on: float,
        period_s: float, stream: NormalStream,
    ) -> None:
        """Start with a fresh turn-on bias.

        :param noise_density: of the white noise, unit per sqrt(Hz)
        :param random_walk: density of the noise that drives the bias, unit/s per sqrt(Hz)
        :param turn_on: standard deviation of the bias at the start, unit
        """
        self._stream = stream
        self._sigma = noise_density / math.sqrt(period_s)
        self._bias = DriftingBias(random_walk, correlation_time_s, turn_on, period_s, stream)

    @property
    def variance(self) -> float:
        """Variance of the white part of one sample."""
        return self._sigma * self._sigma

    def add_to(self, value: Vector) -> Vector:
        """Return `value` with the noise of the next sample."""
        bias, sigma = self._bias.next(), self._sigma
        n, m, k = self._stream.next3()
        return (
            value[0] + bias[0] + sigma * n,
            value[1] + bias[1] + sigma * m,
            value[2] + bias[2] + sigma * k,
        )
