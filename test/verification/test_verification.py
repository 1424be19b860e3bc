# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Every check of the report as a test, and the report itself."""
from __future__ import annotations

import dataclasses
import functools
import html
import importlib.util
import itertools
import math
import re

import pytest

if importlib.util.find_spec('allantools') is None:       # its import takes a while
    pytest.skip('allantools is not installed', allow_module_level=True)
from verification.checks import Check, Plot, Result, Series, all_checks, check

# Each is run once, for its test and for the report.
CHECKS = [dataclasses.replace(each, run=functools.cache(each.run)) for each in all_checks()]
METHODS = ('euler', 'rk23', 'rk4', 'rk45')
# What has to be checked, and by which checks it is.
ROWS = {
    'free fall': ('free fall',),
    'ballistic with drag': (
        'throw with linear drag', 'fall with quadratic drag', 'fall on each side'),
    'torque-free asymmetric top': (
        'free top: energy', 'free top: angular momentum', 'free top: quaternion norm',
        'free top: body rates'),
    'constant yaw rate': ('constant yaw rate',),
    'order of convergence': tuple(f'order of {method}' for method in METHODS),
    'order of convergence on the whole plant': (
        *(f'order of {method} on the plant' for method in METHODS), 'plant in flight',
        'plant in flight, quick rotors', 'plant with adaptive steps'),
    'integrators alone': tuple(
        f'{motion}: {what}' for motion in ('harmonic oscillator', 'pendulum', 'Kepler orbit')
        for what in ('state', 'energy')),
    'hover trim': ('hover trim', 'hover trim at home'),
    'rotors that change their speed, and shafts': (
        'torque of rotors that speed up', 'reaction of the shaft torque'),
    'an Earth that turns': ('Coriolis force', 'IMU on an Earth that turns'),
    'rotors that servos tilt': (
        'thrust of a rotor that is tilted', 'thrust follows the lag of the servo',
        'a tilted rotor is one that is mounted so', 'angular momentum while rotors tilt'),
    'motor step': ('rotor step up', 'rotor step down'),
    'signs of the rotors': ('signs of each rotor', 'torque of each rotor', 'geometry swap'),
    'gyroscopic rotor term': ('gyroscopic term',),
    'at rest on the ground': ('at rest: place', 'at rest: tilt'),
    'dropped from 1 m': (
        'drop from 1 m: place', 'drop from 1 m: tilt', 'drop from 1 m: energy'),
    'tilted by 20 deg': ('tilted by 20 deg',),
    'other attitudes on the ground': ('upside down', 'uneven feet'),
    'sliding': ('sliding distance',),
    'a slope': ('no creep on a slope within friction', 'sliding down a slope'),
    'accelerometer': tuple(
        f'accelerometer {where}'
        for where in ('at rest', 'in free fall', 'on a circle', 'on a lever')),
    'means of an IMU': tuple(f'mean of an IMU: {of}' for of in (
        'a vehicle that swings', 'a vehicle that spins', 'without coning and sculling',
        'a hard landing')),
    'vibration': ('vibration of a rotor',),
    'ISA': ('ISA temperature', 'ISA pressure', 'ISA density', 'pressure at 488 m'),
    'WGS-84': ('local to WGS-84 and back', 'local frame', 'barometer against GNSS'),
    'temperature': ('true airspeed on a hot day',),
    'gravity': (
        'normal gravity', 'normal gravity on the ellipsoid', 'gravity at pole and equator'),
    'magnetic field': (
        'magnetic field near the pole', 'magnetic field on the equator',
        'magnetic field at Zurich', 'magnetic field around home'),
    'Allan deviation': tuple(
        f'Allan deviation: {sensor}' for sensor in (
            'gyro', 'accelerometer', 'drifting gyro', 'drifting accelerometer', 'random walk',
            'slope of a random walk')),
    'Dryden turbulence': (
        *(f'Dryden at {altitude} altitude: {what}' for altitude in ('low', 'medium')
          for what in ('rms', 'spectrum')), 'Dryden at low altitude: correlation'),
    'shear': ('wind that grows with the height',),
    'turbulence as a field': (
        'turbulence as a field: rms', 'turbulence as a field: correlation in space'),
    'downwash': (
        'downwash: what a vehicle below feels', 'downwash: momentum is kept',
        'downwash: momentum against thrust', 'downwash: momentum of other shapes'),
    'GNSS': (
        'GNSS error: correlation time', 'GNSS error: size', 'GNSS antenna on a lever',
        'velocity away from home'),
    'Thevenin pack': ('Thevenin: charge', 'Thevenin: polarisation', 'Thevenin: voltage'),
    'unequal packs': (
        'unequal packs: voltage', 'unequal packs: currents', 'unequal packs: charge'),
    'energy of the battery': ('energy of the battery',),
    'what an autopilot takes for the time': (
        'stamp of GNSS, odometry and truth', 'delay of airspeed, range and flow',
        'delay of magnetometer and barometer'),
    'frames': (
        'axes of a vector', 'round trip of a vector', 'axes of an attitude',
        'round trip of an attitude', 'rotations'),
    'propulsion': (
        'thrust in climb and descent', 'thrust in level flight', 'thrust in oblique climb',
        'thrust in slow oblique descent', 'thrust in oblique descent', 'ground effect',
        'thrust of a windmill', 'shaking in a vortex ring'),
    'rotors on any axis, and a full inertia tensor': (
        'thrust along body x', 'a rotor that turns backwards',
        'free turn of a body with a full tensor'),
    'lifting surfaces': (
        'lift and drag of a surface', 'stall', 'drag of a plate across the flow',
        'torque of a surface', 'roll damping', 'wake of a rotor', 'glide slope'),
    'a published section': (
        'lift of a published section', 'a published section behind the stall'),
    'flight on the wing': (
        'trim', 'short period and phugoid', 'period of the phugoid',
        'short period of two degrees of freedom', 'climb by excess power',
        'a plane with frozen controls gains no energy'),
    'servos': ('servo step', 'rate of a servo'),
    'wheels': (
        'rolling resistance', 'no side slip of a wheel',
        'no creep on a slope within rolling resistance', 'turn radius',
        'turn radius of a car', 'turn on two motors', 'a caster rolls in every direction',
        'speed of a driven cart',
        'a driven cart stands when its motor stands',
        'a cart with frozen controls gains no energy while it rolls'),
}


@pytest.fixture(scope='module')
def report():
    """What makes the page; it loads matplotlib."""
    from verification import report
    return report


# It blows for hours of simulated time. Each push has the spectrum, whose integral it is.
LONGEST = 'Dryden at low altitude: rms'


@pytest.mark.parametrize('check', [
    pytest.param(check, id=check.name, marks=[pytest.mark.slow] * check.name.startswith('Dryden')
                 + [pytest.mark.long] * (check.name == LONGEST))
    for check in CHECKS])
def test_model_is_within_tolerance(check):
    """The same functions that the report runs."""
    deviation = check.run().deviation
    assert deviation <= check.tolerance, (
        f'{deviation:.3g}, tolerance {check.tolerance:g} {check.unit}; {check.reference}')


def test_every_row_is_checked():
    """No check is missing, and none belongs nowhere."""
    assert sorted(itertools.chain(*ROWS.values())) == sorted(check.name for check in CHECKS)


def a_check(name, deviation, tolerance=1.0):
    """Return a check whose deviation is known, with a plot."""
    def run():
        if deviation is None:
            raise ZeroDivisionError('<broken> & "quoted"')
        return Result(deviation, Plot(name, 'x', 'y', (Series(name, (0, 1), (0, 1)),)))
    return Check('Group', name, 'a model', 'a <reference>', tolerance, 'm', run)


@pytest.mark.slow
@pytest.mark.parametrize('checks', [
    CHECKS[::8], pytest.param(CHECKS, marks=pytest.mark.long)], ids=['some', 'all'])
def test_report_of_checks(checks, report, tmp_path, capsys, monkeypatch):
    """One page with every check, a line for each on the console, and exit code 0."""
    path = tmp_path / 'page.html'
    monkeypatch.setattr(report, 'all_checks', lambda: checks)
    assert report.main(['-o', str(path)]) == 0
    text, lines = path.read_text(encoding='utf-8'), capsys.readouterr().out.splitlines()
    assert len(lines) == len(checks) + 1
    assert lines[-1] == f'{len(checks)} checks, all passed; see {path}'
    for name in (each.name for each in checks):
        assert f'<td>{html.escape(name)}</td>' in text
        assert any(line.startswith(f'pass  {name}: ') for line in lines)
    assert text.count('class="pass">pass<') == len(checks)
    assert text.count('<svg') == text.count('</svg>') > len(checks) / 10


def test_page_needs_no_other_file(report, tmp_path):
    """Neither scripts nor styles nor images from elsewhere; links lead into the page."""
    text = report.page([report.outcome(a_check(name, 0.5)) for name in ('one', 'two')])
    assert '<script' not in text and '<link' not in text and '<img' not in text
    assert 'http' not in text and '@import' not in text
    identifiers = re.findall(r'\bid="([^"]*)"', text)
    assert len(identifiers) == len(set(identifiers))
    references = re.findall(r'href="#([^"]*)"|url\(#([^)]*)\)', text)
    assert {a or b for a, b in references} <= set(identifiers)
    assert len(re.findall(r'href=', text)) + text.count('url(') == len(references)


def test_page_is_the_same_each_time(report):
    """No date, no random names."""
    outcomes = [report.outcome(a_check('one', 0.5))]
    assert report.page(outcomes) == report.page(outcomes)


@pytest.mark.parametrize('deviation', [1.5, math.nan, math.inf])
def test_failed_check_is_shown(report, tmp_path, capsys, deviation):
    """In the table, in the summary, on the console, and in the exit code."""
    path = tmp_path / 'page.html'
    assert report.main(['-o', str(path)], [a_check('good', 1.0), a_check('bad', deviation)]) == 1
    text = path.read_text(encoding='utf-8')
    assert '<p class="fail">2 checks, 1 failed: bad</p>' in text
    assert text.count('class="pass">pass<') == text.count('class="fail">fail<') == 1
    assert f'FAIL  bad: {deviation:.3g} (tolerance 1 m)' in capsys.readouterr().out


def test_check_that_raises_has_failed(report, tmp_path):
    """The page says why, as text."""
    path = tmp_path / 'page.html'
    assert report.main(['-o', str(path)], [a_check('broken', None)]) == 1
    text = path.read_text(encoding='utf-8')
    assert 'ZeroDivisionError: &lt;broken&gt; &amp; &quot;quoted&quot;' in text
    assert 'a &lt;reference&gt;' in text


def test_two_checks_cannot_have_the_same_name():
    """One would hide the other."""
    with pytest.raises(ValueError, match='two checks with the name free fall'):
        check('free fall', model='', reference='', tolerance=0, unit='')(lambda: Result(0))
