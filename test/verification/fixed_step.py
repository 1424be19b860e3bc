# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A method in equal parts, as the motion takes it, for a motion in plain Python."""
from px4_sim_ros.model.body.integrators import ADAPTIVE, FIXED
from px4_sim_ros.model.timebase import US_PER_S


def _without_control(method):
    """Return a method with an error estimate as one that does not look at it."""
    return lambda f, x, h: method.trial(f, x, h, f(x))[0]


INTEGRATORS = FIXED | {name: _without_control(method) for name, method in ADAPTIVE.items()}


class FixedStep:
    """Has the same call as the adaptive integrators."""

    def __init__(self, method, substeps):
        self._method = method
        self._substeps = substeps

    def advance(self, f, x, duration_us):
        """Return the state after `duration_us`."""
        h = duration_us / self._substeps / US_PER_S
        for _ in range(self._substeps):
            x = self._method(f, x, h)
        return x
