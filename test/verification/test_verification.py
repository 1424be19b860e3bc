# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Every check as a test, and the command that prints them all."""
from __future__ import annotations

import importlib.util
import math

import pytest

if importlib.util.find_spec('allantools') is None:       # its import takes a while
    pytest.skip('allantools is not installed', allow_module_level=True)
from verification.__main__ import main
from verification.checks import Check, all_checks, check

# They blow for hours of simulated time. In a push test_wind compares their scales, and their filter
# at each distance.
LONGEST = 'Dryden at low altitude'


@pytest.mark.parametrize('check', [
    pytest.param(check, id=check.name, marks=[pytest.mark.slow] * check.name.startswith('Dryden')
                 + [pytest.mark.long] * check.name.startswith(LONGEST))
    for check in all_checks()])
def test_model_is_within_tolerance(check):
    """The same functions that the command runs."""
    deviation = check.deviation()
    assert deviation <= check.tolerance, (
        f'{deviation:.3g}, tolerance {check.tolerance:g} {check.unit}; {check.reference}')


def a_check(name, exact):
    """Return a check that is exact to so many of its tolerances; with 0 it raises."""
    return Check(name, 'a model', 'a reference', 1.0, 'm', lambda: 1.0 / exact)


def test_what_is_off_is_told(capsys):
    """Also what is no number, or raises; the others are run all the same."""
    assert main([a_check('good', 1.0)]) == 0
    assert capsys.readouterr().out == (
        'pass  good: 1 (tolerance 1 m)\n      model: a model\n      reference: a reference\n'
        '1 checks, all passed\n')
    assert main([a_check('far', 0.5), a_check('none', math.nan), a_check('broken', 0.0),
                 a_check('good', 2.0)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith('FAIL')] == [
        'FAIL  far: 2 (tolerance 1 m)', 'FAIL  none: nan (tolerance 1 m)',
        'FAIL  broken: ZeroDivisionError: float division by zero (tolerance 1 m)']
    assert lines[-1] == '4 checks, 3 failed: far, none, broken'


def test_two_checks_cannot_have_the_same_name():
    """One would hide the other."""
    with pytest.raises(ValueError, match='two checks with the name free fall'):
        check('free fall', model='', reference='', tolerance=0, unit='')(lambda: 0)
