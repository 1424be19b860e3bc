# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Arithmetic that compiled functions do in place of Python's `math`: the same bits."""
import math
import sys

import numpy as np
import pytest

from px4_sim_ros.jit.compiled import compiled
from px4_sim_ros.model import rotation

ODD = (0.0, -0.0, 1.0, -3.0, 1e-280, 1e308, 5e-324, math.inf, -math.inf, math.nan)


@pytest.mark.parametrize(('function', 'count'), [
    pytest.param(compiled(rotation.hypot), 1_000_000, marks=pytest.mark.slow, id='compiled'),
    pytest.param(rotation.hypot, 10_000, id='plain')])
def test_hypot(function, count):
    generator = np.random.default_rng(1)
    decades = generator.choice([3.0, 140.0], count, p=[0.95, 0.05])
    drawn = generator.normal(size=(2, count)) * 10.0 ** generator.uniform(
        -decades, decades, (2, count))
    x, y = np.hstack([drawn, np.array([(x, y) for x in ODD for y in ODD]).T]).tolist()
    found, known = np.array([[*map(function, x, y)], [*map(math.hypot, x, y)]])
    ulps = 0 if sys.version_info[:2] == (3, 11) else 1
    np.testing.assert_array_max_ulp(found[np.isfinite(known)], known[np.isfinite(known)], ulps)
    np.testing.assert_array_equal(found[~np.isfinite(known)], known[~np.isfinite(known)])


@pytest.mark.parametrize('function', [compiled(rotation.wrap_rad), rotation.wrap_rad],
                         ids=['compiled', 'plain'])
def test_wrapped_angles(function):
    generator = np.random.default_rng(1)
    angles = [*generator.uniform(-math.tau, math.tau, 100_000),
              *generator.normal(0.0, 1e4, 100_000), *(
                  sign * angle for sign in (1.0, -1.0) for angle in (
                      0.0, math.pi, math.nextafter(math.pi, 4.0), math.tau)), math.nan]
    assert all(str(function(angle)) == str(math.remainder(angle, math.tau))
               for angle in map(float, angles))
