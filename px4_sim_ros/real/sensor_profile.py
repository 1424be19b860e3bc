# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A profile of sensors from real logs: noise of the IMU at rest, and what rotors shake it with."""
from __future__ import annotations

import math
import pathlib
import typing

import numpy as np
from scipy import optimize

from px4_sim_ros.model.errors import ParameterError, check_installed
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.real.imu_log import ImuLog, read_imu
from px4_sim_ros.real.readers import read_flight
from px4_sim_ros.real.vibration_fit import Vibration, VibrationEstimate, vibration_of

# Noise of an IMU at rest, by its Allan variance (IEEE Std 952-1997, annex C).
#
# White noise of density N has N^2 / t, a bias that walks with K has K^2 t / 3. Both are found by
# least squares of the overlapping Allan variance, weighted by how well each time is known.

_LEAST_S = 1.0
_WALK_TAKES_S = 300.0          # before it a walk hides under white noise, and under temperature
_TIMES = 5.0                   # a time is used if it fits so often into the log
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
    """Return the noise of samples at rest, (n, 3); None if they are too few."""
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
    # A time fits n = T / t times; the variance is known to a share of about sqrt(2 / n).
    weights = 1.0 / (variance * np.sqrt(2.0 * times / rest_s))
    found, _ = optimize.nnls(columns * weights[:, None], variance * weights)
    # White noise shows in independent differences of neighbours, on three axes.
    share = 1.96 * 0.5 * math.sqrt(2.0 / (3.0 * len(samples)))
    density = math.sqrt(found[0])
    return Noise(density, share * density, math.sqrt(found[1]) if tells_walk else None, rest_s,
                 times, np.sqrt(variance))


KINDS = {'gyro': 'rad/s', 'accel': 'm/s^2'}


class ImuEstimate(typing.NamedTuple):
    """What a log tells of its IMU."""

    log: ImuLog
    noise: dict[str, Noise]                # by kind; empty without rest
    vibration: Vibration | None
    missing: tuple[str, ...]                # a sentence each

    def shaken(self, kind: str) -> VibrationEstimate | None:
        """Return the vibration of a kind of sensor in flight."""
        return None if self.vibration is None else getattr(self.vibration, kind)


def sensed(path: pathlib.Path, vehicle: Vehicle) -> ImuEstimate:
    """Find what a log tells of its IMU."""
    log, missing = read_imu(path), []
    rest = log.at_rest()
    noise = {}
    for kind in KINDS:
        samples = getattr(log, kind)
        found = None if rest is None else noise_of(samples[rest], log.period_s)
        if found is not None:
            noise[kind] = found
    if not noise:
        missing.append('noise at rest: the log has no second on the ground in which nothing shakes')
    elif noise['gyro'].walk is None:
        missing.append(f"walk of the biases: takes 300 s at rest, and there are"
                      f" {noise['gyro'].rest_s:.1f} s")
    vibration = None
    try:
        vibration = vibration_of(log, read_flight(path), vehicle)
    except ParameterError as error:
        missing.append(f'vibration: {error}')
    if not noise and vibration is None:
        raise ParameterError(f'log {log.name}: has no figures of its IMU: {"; ".join(missing)}')
    return ImuEstimate(log, noise, vibration, tuple(missing))


def lines(found: ImuEstimate) -> typing.Iterator[str]:
    if found.log.repaired:
        yield found.log.repaired
    yield f'{found.log.name}: ' + ', '.join(f'{name}: {words}' for name, words in found.log.facts)
    for kind, unit in KINDS.items():
        noise, shaken = found.noise.get(kind), found.shaken(kind)
        if noise is not None:
            yield (f'{kind} at rest, {noise.rest_s:.1f} s: {noise.density:.3g} +-'
                   f' {noise.half_width:.2g} {unit}/sqrt(Hz)')
        if shaken is not None:
            amplitudes = ', '.join(f'{value:.3g} +- {width:.2g}' for value, width in zip(
                shaken.amplitudes, shaken.half_widths))
            yield (f'{kind} in flight: {amplitudes} {unit} of each rotor at 1, 2, 3 times its'
                   f' speed; above 15 Hz {shaken.deviation:.3g} {unit}, of the lines'
                   f' {shaken.of_lines:.3g}, between them {shaken.density:.3g} {unit}/sqrt(Hz)')
    if found.vibration is not None:
        yield (f'the lines are at {found.vibration.speed_factor:.2f} times the speeds of the'
               f' rotors, {found.vibration.at_rad_s:.0f} rad/s on average')
    for words in found.missing:
        yield f'not determined: {words}'


def profile_text(found: ImuEstimate) -> str:
    """Return the text of a profile, with what the log determines."""
    rows = []
    for kind, unit in KINDS.items():
        noise, shaken = found.noise.get(kind), found.shaken(kind)
        if noise is not None:
            rows.append((f'{kind}_noise_density', f'{noise.density:.4e}',
                         f'+- {noise.half_width:.1e} {unit}/sqrt(Hz) (95%)'))
            if noise.walk is not None:
                rows.append((f'{kind}_random_walk', f'{noise.walk:.4e}', f'{unit}/s/sqrt(Hz)'))
        elif shaken is not None:
            rows.append((f'{kind}_noise_density', f'{shaken.density:.4e}',
                         f'{unit}/sqrt(Hz), between the lines in flight'))
        if shaken is not None:
            # A line that may be nothing is none.
            certain = shaken.half_widths < shaken.amplitudes
            amplitudes = np.where(certain, shaken.amplitudes, 0.0)
            widths = ', '.join(f'{width:.1e}' for width in shaken.half_widths)
            values = ', '.join(f'{value:.4e}' for value in amplitudes)
            rows.append((f'{kind}_vibration', f'[{values}]',
                         f'+- {widths} {unit} (95%)'))
    if found.vibration is not None:
        rows.append(('vibration_speed_rad_s', f'{found.vibration.at_rad_s:.2f}', 'in the log'))
    head = [f'# The IMU of {found.log.name}, {dict(found.log.facts)["hardware"]}, identified by'
            ' `px4_sim_ros identify`.', *(f'# Not determined: {words}.' for words in found.missing)]
    return '\n'.join([*head, '/**/imu:', '  ros__parameters:', *(
        f'    {name}: {value}  # {words}' for name, value, words in rows)]) + '\n'
