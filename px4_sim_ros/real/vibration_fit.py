# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How rotors shake an IMU: amplitudes of the harmonics of their speeds, from a log in flight.

Phases of rotors are in no log, but their speeds are known, measured or by the vehicle file. So the
spectrum that a harmonic has over half a second follows from the speeds, aliases and smear included,
but for its power. Powers of all harmonics and of white noise are those with which the spectra of
the log come out best: least squares with weights by the spectrum itself, repeated (the likelihood
of Whittle 1953). Below 15 Hz the vehicle moves; that is left out.

Speeds by a vehicle file may all be wrong by some percent, and scatter: the factor and the scatter
with which the lines of the accelerometer fit best are sought as well.
"""
from __future__ import annotations

import typing

import numpy as np
from scipy import optimize

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.sensors.noise import ACCELERATION, HARMONICS, RATE
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.real.fit import BLOCK_S, half_widths
from px4_sim_ros.real.flight import RealFlight, between
from px4_sim_ros.real.imu_log import ImuLog
from px4_sim_ros.real.open_loop import drive

_WINDOW_S = 0.5
_LEAST_WINDOWS = 20
MOTION_HZ = 15.0
# Of all speeds: by steps, then between them.
_FACTORS, _BETWEEN = np.arange(0.90, 1.101, 0.02), 0.01
# Shares by which speeds scatter; the first is sought with.
_SCATTERS = 0.02, 0.0, 0.01, 0.03, 0.05
_SCATTERED = np.linspace(-1.0, 1.0, 5)
_ROUNDS = 6


class VibrationEstimate(typing.NamedTuple):
    """What one kind of sensor has in flight; amplitudes are roots of the mean square of axes."""

    amplitudes: np.ndarray         # (HARMONICS,), of one rotor at `at_rad_s`
    half_widths: np.ndarray        # (HARMONICS,), of their intervals, 95 %
    density: float                 # of the noise between the lines, unit / sqrt(Hz)
    deviation: float               # of the log above 15 Hz, and
    of_lines: float                # of what the rotors explain of it


class Vibration(typing.NamedTuple):
    """What rotors do to an IMU."""

    at_rad_s: float                # mean speed of the rotors in the log
    speed_factor: float            # of the lines / of the speeds that were known
    scatter: float                 # share by which speeds scatter about these
    accel: VibrationEstimate                  # m/s^2
    gyro: VibrationEstimate                   # rad/s
    windows: int


def vibration_of(log: ImuLog, flight: RealFlight, vehicle: Vehicle) -> Vibration:
    """Return how the rotors shake an IMU."""
    length = max(8, round(_WINDOW_S / log.period_s))
    in_flight = np.interp(log.time_s, flight.start_s + flight.time_s, flight.usable,
                          left=0.0, right=0.0) > 0.99
    pieces = log.pieces(in_flight, length)
    if len(pieces) < _LEAST_WINDOWS:
        raise ParameterError(f'log {log.name}: {len(pieces)} windows of {_WINDOW_S:g} s in flight;'
                             f' vibration takes {_LEAST_WINDOWS}')
    speeds = between(flight.start_s + flight.time_s, drive(flight, vehicle).speeds, log.time_s)
    at_rad_s = float(np.mean([speeds[piece].mean() for piece in pieces]))
    spectra = _Spectra(log, pieces, speeds, at_rad_s)

    def cost(factor: float, scatter: float = _SCATTERS[0]) -> float:
        return spectra.fitted(log.accel, ACCELERATION, factor, scatter).cost
    factor = float(min(_FACTORS, key=cost))
    factor = min((factor, factor - _BETWEEN, factor + _BETWEEN), key=cost)
    scatter = min(_SCATTERS, key=lambda scatter: cost(factor, scatter))
    accel, gyro = (spectra.fitted(samples, power, factor, scatter).shaken for samples, power in (
        (log.accel, ACCELERATION), (log.gyro, RATE)))
    return Vibration(at_rad_s * factor, factor, scatter, accel, gyro, len(pieces))


class _Fitted(typing.NamedTuple):
    shaken: VibrationEstimate
    cost: float                    # - log of the likelihood


class _Spectra:
    """The windows of a log, and what a rotor's harmonic looks like in them."""

    def __init__(
        self, log: ImuLog, pieces: list[slice], speeds: np.ndarray, at_rad_s: float,
    ) -> None:
        self._pieces, self._period_s, self._at_rad_s = pieces, log.period_s, at_rad_s
        self._window = np.hanning(pieces[0].stop - pieces[0].start)
        self._speeds = np.array([speeds[piece] for piece in pieces])   # (pieces, length, rotors)
        hz = np.fft.fftfreq(len(self._window), self._period_s)
        self._bins = np.flatnonzero(hz >= MOTION_HZ)
        times = log.time_s[[piece.start for piece in pieces]]
        self._blocks = np.unique((times / BLOCK_S).astype(int), return_inverse=True)[1]

    def fitted(
        self, samples: np.ndarray, power: int, factor: float, scatter: float,
    ) -> _Fitted:
        """Fit one kind of sensor."""
        pieces = np.array([samples[piece] for piece in self._pieces])
        pieces = pieces - pieces.mean(axis=1, keepdims=True)
        spectra = np.mean(np.abs(np.fft.fft(
            pieces * self._window[:, None], axis=1)[:, self._bins]) ** 2, axis=2)
        white = np.sum(self._window ** 2)
        lines = [self._line(n, power, factor, scatter) for n in range(1, HARMONICS + 1)]
        causes = np.stack([*lines, np.full(spectra.shape, white)], axis=-1)
        table, log = causes.reshape(-1, HARMONICS + 1), spectra.ravel()
        size = np.maximum(np.sqrt(np.mean(table ** 2, axis=0)), 1e-30)
        model = np.full(len(log), log.mean())
        for _ in range(_ROUNDS):
            powers = optimize.nnls(table / size / model[:, None], log / model)[0] / size
            model = np.maximum(table @ powers, 1e-6 * log.mean())
        blocks = np.repeat(self._blocks, len(self._bins))
        widths = half_widths(
            table / size / model[:, None], (log - model) / model, blocks) / size
        amplitudes = np.sqrt(powers[:HARMONICS])
        explained = table[:, :HARMONICS] @ powers[:HARMONICS]
        # Parseval, both signs of the frequency.
        variance = 2.0 / (len(self._window) * white) * np.array(
            [log.sum(), explained.sum()]) / len(pieces)
        return _Fitted(VibrationEstimate(
            amplitudes, widths[:HARMONICS] / (2.0 * np.maximum(amplitudes, 1e-30)),
            float(np.sqrt(powers[-1] * self._period_s)), *np.sqrt(variance).tolist()),
            float(np.sum(np.log(model) + log / model)))

    def _line(self, harmonic: int, power: int, factor: float, scatter: float) -> np.ndarray:
        """Return the spectrum of a harmonic of amplitude 1 of all rotors, (pieces, bins)."""
        found = np.zeros((len(self._pieces), len(self._bins)))
        shares = np.unique(scatter * _SCATTERED)
        for share in shares:
            speeds = factor * (1.0 + share) * self._speeds
            turned = harmonic * self._period_s * speeds
            size = (speeds / (factor * self._at_rad_s)) ** power * np.sinc(0.5 * turned / np.pi)
            waves = size * np.exp(1j * np.cumsum(turned, axis=1)) * self._window[:, None]
            powers = np.abs(np.fft.fft(waves, axis=1)) ** 2
            # A cosine is half a wave of each sign.
            found += 0.25 * (powers[:, self._bins] + powers[:, -self._bins]).sum(axis=2)
        averaged: np.ndarray = found / len(shares)
        return averaged
