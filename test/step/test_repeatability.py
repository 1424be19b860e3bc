# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Why another flight may have another fingerprint."""
import pytest

from px4_sim_ros.step.repeatability import (
    FINGERPRINT,
    OVER_US,
    Gap,
    first_gap,
    unrepeatable_because,
)


def test_the_first_gap_of_all_is_told_with_its_time():
    late, early = Gap(2_000_000, 'the autopilot has gone'), Gap(1_004_000, 'it was late')
    assert first_gap([{'steps': '3'}]) == ''
    assert first_gap([late.values(), {}, early.values()]) == 't = 1.004000 s: it was late'
    as_texts = {key: str(value) for key, value in late.values().items()}
    assert first_gap([as_texts]) == 't = 2.000000 s: the autopilot has gone'


def test_what_comes_after_the_flight_of_the_fingerprint_is_no_gap():
    """Under ros2 launch time goes on; what the pilot alone says of its mission ends no flight."""
    gap = Gap(2_000_000, 'the autopilot has gone').values()
    assert first_gap([gap, {FINGERPRINT: '0123', OVER_US: '1996000'}]) == ''
    for other in {FINGERPRINT: '0123', OVER_US: '2000000'}, {FINGERPRINT: '0123'}, {OVER_US: 4000}:
        assert first_gap([gap, other]).endswith('the autopilot has gone')


@pytest.mark.parametrize('changed, reason', [
    ({}, ''),
    ({'autopilot': 'embedded', 'shares_core': False}, ''),
    ({'is_flown': False}, 'no mission was flown to its end'),
    ({'autopilot': 'none'}, 'the autopilot is not ours'),
    ({'shares_core': False}, 'PX4 does not run with the schedule repeatable'),
    ({'gap': 't = 3 s: it was late'}, 't = 3 s: it was late'),
    ({'fingerprint': ''}, 'the fingerprint was lost'),
])
def test_what_forbids_it(changed, reason):
    all_is_well = {'autopilot': 'px4', 'shares_core': True, 'is_flown': True, 'gap': '',
                   'fingerprint': '0123456789abcdef'}
    assert unrepeatable_because(**(all_is_well | changed)) == reason
