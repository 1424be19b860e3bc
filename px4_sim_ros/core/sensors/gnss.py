"""GNSS receiver: position with a slowly wandering error, velocity with white noise."""
from __future__ import annotations

import dataclasses
import math
import typing

from px4_sim_ros.core.dynamics import Truth
from px4_sim_ros.core.frames import Vector
from px4_sim_ros.core.geodesy import GeodeticPosition
from px4_sim_ros.core.parameters import Parameters, parameter
from px4_sim_ros.core.random_streams import NormalStream
from px4_sim_ros.core.rotation import matrix, to_world
from px4_sim_ros.core.sensors.noise import DriftingBias
from px4_sim_ros.core.timebase import US_PER_S
from px4_sim_ros.core.world import WorldParameters


@dataclasses.dataclass(frozen=True)
class GnssParameters(Parameters):
    """Errors of the receiver, and the accuracy that it reports."""

    horizontal_error_m: float = parameter('1-sigma position error on each axis', 'm', minimum=0)
    vertical_error_m: float = parameter('1-sigma height error', 'm', minimum=0)
    error_correlation_time_s: float = parameter('how slowly the errors wander', 's', above=0)
    velocity_noise_m_s: float = parameter('1-sigma velocity noise on each axis', 'm/s', minimum=0)
    reported_horizontal_accuracy_m: float = parameter('accuracy told by the receiver', 'm', above=0)
    reported_vertical_accuracy_m: float = parameter('accuracy told by the receiver', 'm', above=0)


class GnssMeasurement(typing.NamedTuple):
    """One fix; accuracies are 1-sigma, as the receiver reports them."""

    time_us: int
    position: GeodeticPosition
    velocity_enu: Vector
    horizontal_accuracy_m: float
    vertical_accuracy_m: float


class Gnss:
    """The sensor."""

    def __init__(self, name: str, parameters: GnssParameters, world: WorldParameters) -> None:
        p = parameters
        self._parameters = p
        self._frame = world.local_frame()
        self._velocity_stream = NormalStream(world.seed, f'{name}/velocity')
        # A unit process: its stationary standard deviation is 1 from the first sample on.
        self._error = DriftingBias(
            math.sqrt(2.0 / p.error_correlation_time_s), p.error_correlation_time_s, 1.0,
            world.period_us(name) / US_PER_S, NormalStream(world.seed, f'{name}/position'))

    def measure(self, truth: Truth) -> GnssMeasurement:
        """Return the fix at the truth's time."""
        p = self._parameters
        east, north, up = truth.position_enu
        e, n, u = self._error.next()
        position = self._frame.to_geodetic((
            east + p.horizontal_error_m * e,
            north + p.horizontal_error_m * n,
            up + p.vertical_error_m * u,
        ))
        noise = self._velocity_stream.next3()
        velocity = to_world(matrix(truth.attitude), truth.velocity_flu)
        return GnssMeasurement(
            truth.time_us,
            position,
            tuple(v + p.velocity_noise_m_s * k for v, k in zip(velocity, noise)),
            p.reported_horizontal_accuracy_m,
            p.reported_vertical_accuracy_m,
        )
