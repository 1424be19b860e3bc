# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Periods in whole steps, and what is said about others."""
from __future__ import annotations

import pytest

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.timebase import US_PER_S, check_period, exact_us, is_due, seconds_text


def test_due_at_each_multiple_of_the_period():
    """Every fifth step at 50 Hz, and still so after a day: integers do not drift."""
    day_us = 86_400_000_000
    assert is_due(0, 20_000)
    assert [t for t in range(4000, 84_000, 4000) if is_due(t, 20_000)] == [
        20_000, 40_000, 60_000, 80_000]
    assert is_due(day_us, 20_000)
    assert not is_due(day_us + 4000, 20_000)


@pytest.mark.parametrize(
    ('period_us', 'step_us'), [(4000, 4000), (20_000, 4000), (8_300_000, 1000)])
def test_whole_multiples_are_accepted(period_us, step_us):
    """Nothing is said."""
    check_period('periods_us.gps', period_us, step_us)


@pytest.mark.parametrize(('period_us', 'nearest'), [
    (10_000, 'values are 8000 and 12000 us'),
    (99_999, 'values are 96000 and 100000 us'),
    (4001, 'values are 4000 and 8000 us'),
    (3999, 'value is 4000 us'),
    (0, 'value is 4000 us'),
])
def test_other_periods_are_refused_with_the_nearest_valid_ones(period_us, nearest):
    """One sentence: name, value, rule, and what to write instead."""
    with pytest.raises(ParameterError) as error:
        check_period('periods_us.gps', period_us, 4000)
    assert str(error.value) == (
        f'periods_us.gps = {period_us}: must be a multiple of step_us = 4000;'
        f' the nearest valid {nearest}')


@pytest.mark.parametrize(('time_us', 'text'), [
    (0, '0.000000 s'), (12_004_000, '12.004000 s'), (86_400_000_001, '86400.000001 s')])
def test_time_is_written_exactly(time_us, text):
    """Six decimals, no rounding."""
    assert seconds_text(time_us) == text


def test_seconds_are_whole_microseconds():
    """However they are written: each decimal fraction with six digits is one."""
    for time_us in (0, 1, 999_999, 1_100_000, 123_456_789, 10**12 + 1):
        assert exact_us('it', float(f'{time_us / US_PER_S:.6f}')) == time_us


@pytest.mark.parametrize('time_s', [1e-7, 0.12345678, 1 / 3])
def test_what_is_none_is_refused(time_s):
    with pytest.raises(ParameterError, match='must be a whole number of microseconds, such as '):
        exact_us('wind.gust_start_s', time_s)
