# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Turbulence: Dryden, and as a field in space."""
from __future__ import annotations

import dataclasses
import functools

import numpy as np

from px4_sim_ros.model.environment.wind import Wind, WindParameters
from px4_sim_ros.model.timebase import US_PER_S
from verification.checks import check
from verification.plants import world

MIL = 'MIL-F-8785C, 3.7.1.2 and 3.7.3.4'
FT = 0.3048
PARAMETERS = WindParameters(
    speed_m_s=8.0, from_deg=270.0, roughness_m=0.0, climb_m_s=0.0,
    gust_speed_m_s=6.0, gust_start_s=2.0, gust_duration_s=4.0, gust_interval_s=0.0,
    ou_intensity_m_s=1.5, ou_vertical_intensity_m_s=0.5, ou_correlation_time_s=0.5,
    dryden_medium_intensity_m_s=2.0,
    field_intensity_m_s=1.2, field_length_m=30.0, field_seed=-1)
SAMPLES, SEEDS = 60_000, range(1, 7)
# Height in m, airspeed across the wind in m/s, period in us. The first is too short for the rms.
LOW = (
    (6.0, 20.0, 4_000), (6.0, 20.0, 20_000), (6.0, 5.0, 48_000), (60.0, 20.0, 120_000),
    (60.0, 5.0, 480_000))
MEDIUM = (700.0, 25.0, 500_000)


def low_scales(height):
    """Return lengths in m and standard deviations in m/s on each axis: 3.7.3.4."""
    feet = height / FT
    length = height / (0.177 + 0.000823 * feet) ** 1.2
    sigma = 0.8 / (0.177 + 0.000823 * feet) ** 0.4
    return (length, length, height), (sigma, sigma, 0.8)


def scales(height):
    """Return the same at any height."""
    if height > 2000.0 * FT:
        sigma = PARAMETERS.dryden_medium_intensity_m_s
        return (1750.0 * FT,) * 3, (sigma,) * 3
    return low_scales(height)


@functools.cache
def gusts(run):
    """Return the gusts (seed, sample, axis) that a vehicle in steady flight meets."""
    height, airspeed, period_us = run
    altered = dataclasses.replace(
        world(), wind='dryden', periods_us=world().periods_us | {'wind': period_us})
    blown = []
    for seed in SEEDS:
        wind = Wind('wind', PARAMETERS, dataclasses.replace(altered, seed=seed))
        blown.append([
            wind.sample((i + 1) * period_us, (0.0, 0.0, height), (8.0, airspeed, 0.0)).velocity_enu
            for i in range(SAMPLES)])
    return np.array(blown) - (8.0, 0.0, 0.0)


def specified(axis, run, frequencies):
    """Return the one-sided spectrum in (m/s)^2/Hz: 3.7.1.2, over 2 pi f = V Omega."""
    height, airspeed, _ = run
    lengths, sigmas = scales(height)
    x = lengths[axis] * 2.0 * np.pi * frequencies / airspeed
    shape = 2.0 / (1.0 + x * x) if axis == 0 else (1.0 + 3.0 * x * x) / (1.0 + x * x) ** 2
    return sigmas[axis] ** 2 * lengths[axis] / np.pi * shape * 2.0 * np.pi / airspeed


def rms(run):
    """Return the largest difference of a standard deviation in percent."""
    got = np.sqrt((gusts(run) ** 2).mean(axis=(0, 1)))
    return 100.0 * np.abs(got / scales(run[0])[1] - 1.0).max()


def spectrum(run):
    """Return the largest difference of the spectra in percent, averaged over bands.

    The bands end at a twentieth of the sampling rate: above, folding adds more than 1 %.
    """
    from scipy.signal import welch  # takes a while to load
    frequencies, power = welch(
        gusts(run), fs=US_PER_S / run[2], nperseg=4096, axis=1, detrend=False)
    power = power.mean(axis=0)
    worst = 0.0
    for axis in range(3):
        exact = specified(axis, run, frequencies)
        for first, last in ((6, 24), (24, 56), (56, 120), (120, 204)):
            ratio = power[first:last, axis].sum() / exact[first:last].sum()
            worst = np.maximum(worst, 100.0 * abs(ratio - 1.0))
    return worst


def correlation(run):
    """Return the largest difference of a correlation over axes and distances x = V t / L.

    f(x) = exp(-x) along the flow and g(x) = exp(-x) (1 - x / 2) across it.
    """
    height, airspeed, period_us = run
    blown, (lengths, sigmas), worst = gusts(run), scales(height), 0.0
    for axis in range(3):
        for lag in (10, 40, 100):
            x = airspeed * lag * period_us / US_PER_S / lengths[axis]
            closed = np.exp(-x) * (1.0 if axis == 0 else 1.0 - x / 2.0)
            product = (blown[:, lag:, axis] * blown[:, :-lag, axis]).mean()
            worst = np.maximum(worst, abs(product / sigmas[axis] ** 2 - closed))
    return worst


LOW_FLIGHT = 'wind dryden, 6 and 60 m over ground at 5 and 20 m/s, 6 runs of 60000 samples each'
MEDIUM_FLIGHT = 'wind dryden, 700 m over ground at 25 m/s, 6 runs of 60000 samples'


@check('Dryden at low altitude: rms', model=LOW_FLIGHT, reference=MIL, tolerance=10.0, unit='%')
def rms_at_low_altitude():
    """Return the largest difference over flights and axes."""
    return np.max([rms(run) for run in LOW[1:]])


@check('Dryden at low altitude: spectrum', model=LOW_FLIGHT,
       reference=f'{MIL}; scipy.signal.welch', tolerance=10.0, unit='%')
def spectrum_at_low_altitude():
    """Return the largest difference over flights, axes and bands."""
    return np.max([spectrum(run) for run in LOW])


@check('Dryden at low altitude: correlation', model=LOW_FLIGHT,
       reference='exp(-x) along the flow, exp(-x) (1 - x / 2) across it, x = V t / L',
       tolerance=0.1, unit='of the variance')
def correlation_at_low_altitude():
    """Return the largest difference over flights, axes and distances."""
    return np.max([correlation(run) for run in LOW[1:]])


@check('Dryden at medium altitude: rms', model=MEDIUM_FLIGHT,
       reference='MIL-F-8785C, 3.7.2.1', tolerance=10.0, unit='%')
def rms_at_medium_altitude():
    """Return the largest difference over the axes."""
    return rms(MEDIUM)


@check('Dryden at medium altitude: spectrum', model=MEDIUM_FLIGHT,
       reference='MIL-F-8785C, 3.7.1.2 and 3.7.2.1; scipy.signal.welch', tolerance=10.0, unit='%')
def spectrum_at_medium_altitude():
    """Return the largest difference over axes and bands."""
    return spectrum(MEDIUM)


FIELD = 'wind field, 80 seeds, 30 places each'
FIELD_DISTANCES = 0.1, 0.3, 1.0, 2.0, 4.0


@functools.cache
def field_pairs():
    """Return velocities (seed, place, axis) of the field, and those at distances along and across.

    Both are by distance in scale lengths.
    """
    p, rng = PARAMETERS, np.random.default_rng(5)
    base = dataclasses.replace(world(), wind='field')
    here, along, across = [], {x: [] for x in FIELD_DISTANCES}, {x: [] for x in FIELD_DISTANCES}
    for seed in range(80):
        wind = Wind('wind', p, dataclasses.replace(base, seed=seed))

        def at(place, wind=wind):
            return np.subtract(wind.sample(20_000, place, (0.0, 0.0, 0.0)).velocity_enu,
                               (8.0, 0.0, 0.0))
        places = rng.uniform(-1000.0, 1000.0, (30, 3))
        here.append([at(place) for place in places])
        for x in FIELD_DISTANCES:
            r = x * p.field_length_m
            along[x].append([at(place + (r, 0.0, 0.0))[0] for place in places])
            across[x].append([at(place + (0.0, r, 0.0))[0] for place in places])
    return (np.array(here), {x: np.array(v) for x, v in along.items()},
            {x: np.array(v) for x, v in across.items()})


@check('turbulence as a field: rms', model=FIELD, reference='the intensity that was asked for',
       tolerance=3.0, unit='%')
def rms_of_the_field():
    """Return the largest difference over the axes."""
    here, _, _ = field_pairs()
    rms_ = np.sqrt((here ** 2).mean(axis=(0, 1)))
    return 100.0 * np.abs(rms_ / PARAMETERS.field_intensity_m_s - 1.0).max()


@check('turbulence as a field: correlation in space', model=FIELD,
       reference='isotropic and without divergence: exp(-x) along, exp(-x) (1 - x / 2) across',
       tolerance=0.05, unit='of the variance')
def correlation_of_the_field():
    """Return the largest difference over distances x in scale lengths, along and across."""
    here, along, across = field_pairs()
    variance, off = PARAMETERS.field_intensity_m_s ** 2, []
    for x in FIELD_DISTANCES:
        for there, closed in (along, np.exp(-x)), (across, np.exp(-x) * (1.0 - x / 2.0)):
            off.append(abs((here[..., 0] * there[x]).mean() / variance - closed))
    return np.max(off)


@check('wind that grows with the height',
       model='8 m/s over a roughness of 0.15 and 2 ft, at 1 to 3000 ft',
       reference='MIL-F-8785C, 3.7.3.2: W20 ln(h / z0) / ln(20 / z0) from 3 to 1000 ft',
       tolerance=1e-12, unit='m/s')
def shear():
    """Return the largest difference."""
    worst, heights = 0.0, np.geomspace(1.0, 3000.0, 60)
    for roughness in (0.15, 2.0):
        wind = Wind('wind', dataclasses.replace(PARAMETERS, roughness_m=roughness * FT),
                    dataclasses.replace(world(), wind='constant'))
        blown = np.array([wind.sample(20_000, (0.0, 0.0, h * FT), (0.0, 0.0, 0.0)).velocity_enu
                          for h in heights.tolist()])
        exact = 8.0 * np.log(np.clip(heights, 3.0, 1000.0) / roughness) / np.log(20.0 / roughness)
        worst = np.max([worst, np.abs(blown[:, 0] - exact).max(), np.abs(blown[:, 1:]).max()])
    return worst
