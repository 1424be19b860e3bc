# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A manager that is silent is missed; a machine that stood still is no silence."""
from px4_sim_ros.ros.nodes.dynamics import Silence


def looks(silence, *moments_s):
    return [silence.is_long(moment_s) for moment_s in moments_s]


def test_silence_is_long_after_a_second_and_a_half():
    silence = Silence(10.0)
    assert looks(silence, 10.5, 11.0, 11.5, 11.75) == [False, False, False, True]
    silence.end(12.0)
    assert looks(silence, 12.5, 13.0, 13.5, 13.75) == [False, False, False, True]


def test_time_in_which_nobody_listened_does_not_count():
    """The machine stands for a minute; the status of the manager comes after the first look."""
    silence = Silence(10.0)
    assert looks(silence, 10.25, 70.0) == [False, False]
    silence.end(70.1)
    assert looks(silence, 70.25, 71.0, 130.0) == [False, False, False]
