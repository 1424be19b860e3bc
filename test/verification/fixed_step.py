"""A method in equal parts, as the motion takes it, for a motion in plain Python."""
from px4_sim_ros.model.timebase import US_PER_S


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
