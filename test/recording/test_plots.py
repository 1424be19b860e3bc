# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plots show few points of many, and lose no extreme."""
import numpy as np
import pytest

from px4_sim_ros.recording.report import plots


def test_decimation_keeps_the_extremes():
    rng = np.random.default_rng(1)
    time_s, values = np.arange(100_000) * 0.004, rng.normal(size=100_000)
    values[[12_345, 80_000]] = 50.0, -60.0
    line = plots.Line('noise', time_s, values, '#000')
    shown_s, shown = plots.drawn(line, (0.0, 400.0), 1000)
    assert 990 <= len(shown) <= 1000
    assert shown.max() == 50.0 and shown.min() == -60.0
    assert shown_s[shown.argmax()] == pytest.approx(12_345 * 0.004)
    assert (np.diff(shown_s) > 0).all()
    # Each interval of time shows its own lowest and highest.
    for values_of, shown_of in ((values[:200], shown[:2]), (values[-200:], shown[-2:])):
        assert sorted(shown_of) == pytest.approx([values_of.min(), values_of.max()])


def test_line_is_broken_in_gaps_and_where_there_is_no_number():
    time_s = np.concatenate([np.arange(0.0, 1.0, 0.01), np.arange(3.0, 4.0, 0.01)])
    values = np.ones(len(time_s))
    values[20:30] = np.inf
    _, shown = plots.drawn(plots.Line('gaps', time_s, values, '#000'), (0.0, 4.0), 1000)
    assert np.isnan(shown).sum() == 2
    assert np.isfinite(shown).sum() == 190
    _, shown = plots.drawn(plots.Line('none', time_s, values * np.nan, '#000'), (0.0, 4.0), 1000)
    assert len(shown) == 0
