# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""GNSS receiver: a late position with a slowly wandering error, noisy velocity, and outages.

With `gnss_sky` the errors grow as the geometry of the satellites that are left has it.
"""
from __future__ import annotations

import collections
import dataclasses
import enum
import math
import typing

from px4_sim_ros.model.environment.geodesy import GeodeticPosition
from px4_sim_ros.model.frames import Vector, vector
from px4_sim_ros.model.parameters import Parameters, parameter
from px4_sim_ros.model.random_streams import NormalStream
from px4_sim_ros.model.rotation import matrix, to_world
from px4_sim_ros.model.sensors.mounting import velocity_flu
from px4_sim_ros.model.sensors.noise import GaussMarkovVector
from px4_sim_ros.model.sensors.sky import LARGEST_DOP, NOT_MODELLED, OPEN, Sky
from px4_sim_ros.model.timebase import US_PER_S, exact_us
from px4_sim_ros.model.truth import STILL, SensorInputs, Truth
from px4_sim_ros.model.world import WorldParameters

if typing.TYPE_CHECKING:
    from px4_sim_ros.model.scene.scene import Scene


class FixType(enum.IntEnum):
    """What helps the receiver; the numbers are those of sensor_msgs/NavSatStatus."""

    NONE = -1
    FIX = 0         # nothing: three-dimensional, autonomous
    SBAS = 1        # corrections from satellites
    GBAS = 2        # corrections from the ground: RTK


# Those whose satellites a receiver uses, by its parameter.
_SYSTEMS: dict[str, tuple[str, ...]] = {
    'gps': ('gps',), 'galileo': ('galileo',), 'gps_galileo': ('gps', 'galileo')}


@dataclasses.dataclass(frozen=True)
class GnssParameters(Parameters):
    """Errors of the receiver, and what it reports."""

    horizontal_error_m: float = parameter('1-sigma position error on each axis', 'm', minimum=0)
    vertical_error_m: float = parameter('1-sigma height error', 'm', minimum=0)
    error_correlation_time_s: float = parameter('how slowly the errors wander', 's', above=0)
    velocity_noise_m_s: float = parameter('1-sigma velocity noise on each axis', 'm/s', minimum=0)
    position_m: tuple[float, float, float] = parameter(
        'place of the antenna relative to the centre of mass, FLU; PX4 takes it from'
        ' EKF2_GPS_POS_X, _Y and _Z, which are FRD', 'm', minimum=-100, maximum=100)
    delay_s: float = parameter(
        'age of position and velocity; PX4 takes it from EKF2_GPS_DELAY', 's',
        minimum=0, maximum=1)
    outage_rate_hz: float = parameter(
        'how often the fix is lost, at random; 0: never', 'Hz', minimum=0)
    outage_duration_s: float = parameter('mean time without a fix, at random', 's', above=0)
    fix_type: str = parameter(
        'outside of outages', choices=tuple(kind.name.lower() for kind in FixType))
    reported_horizontal_accuracy_m: float = parameter('accuracy that it reports', 'm', above=0)
    reported_vertical_accuracy_m: float = parameter('accuracy that it reports', 'm', above=0)
    systems: str = parameter('with gnss_sky: whose satellites it uses', choices=tuple(_SYSTEMS))
    sky_start_s: float = parameter(
        'with gnss_sky: the satellites begin where they are so long after the epoch of their table;'
        ' those of GPS come back each sidereal day, 86164.1 s', 's', minimum=0, maximum=1e9)
    elevation_mask_deg: float = parameter(
        'with gnss_sky: lower satellites are not used', 'deg', minimum=0, maximum=60)
    reacquisition_s: float = parameter(
        'with gnss_sky: how long one that was hidden must be seen before it is used', 's',
        minimum=0, maximum=60)
    largest_pdop: float = parameter(
        'with gnss_sky: a worse geometry is no fix', above=1, maximum=99)

    @classmethod
    def from_mapping(cls, owner: str, values: typing.Mapping[str, typing.Any]) -> typing.Self:
        """Build and validate.

        :raises ParameterError: one is wrong, or the delay is no whole number of microseconds
        """
        built = super().from_mapping(owner, values)
        exact_us(f'{owner}.delay_s', built.delay_s)
        return built


class GnssMeasurement(typing.NamedTuple):
    """One fix; accuracies are 1-sigma, as the receiver reports them.

    The velocity is east, north and up at the place of the fix, not on the axes of home.

    Without a fix position and velocity are those of the last one, if there was one.
    """

    time_us: int
    position: GeodeticPosition
    velocity_enu: Vector
    horizontal_accuracy_m: float
    vertical_accuracy_m: float
    fix_type: FixType = FixType.FIX
    satellites: int = NOT_MODELLED
    """That are used, and their dilution of precision, if `gnss_sky` is set."""
    hdop: float = 0.0
    vdop: float = 0.0

    def lost(self, time_us: int) -> GnssMeasurement:
        """Return it at a time at which the receiver has no fix, for none can be received."""
        held = self._replace(time_us=time_us, fix_type=FixType.NONE)
        if self.satellites == NOT_MODELLED:
            return held
        return held._replace(satellites=0, hdop=LARGEST_DOP, vdop=LARGEST_DOP)


class Gnss:
    """The sensor."""

    def __init__(self, name: str, parameters: GnssParameters, world: WorldParameters) -> None:
        p = parameters
        period_s = world.period_us(name) / US_PER_S
        self._parameters = p
        self._frame = world.local_frame()
        self._frame.square_at(0.0, 0.0)               # loads PROJ now, and not in the flight
        self._delay_us = exact_us(f'{name}.delay_s', p.delay_s)
        self._path = _Path(self._delay_us, p.position_m)
        self._sky = Sky(
            world, _SYSTEMS[p.systems], p.sky_start_s, p.elevation_mask_deg,
            p.reacquisition_s, p.largest_pdop,
        ) if world.gnss_sky else None
        self._velocity_stream = NormalStream(world.seed, f'{name}/velocity')
        # A unit process: its stationary standard deviation is 1 from the first sample on.
        stream = NormalStream(world.seed, f'{name}/position')
        start = vector(stream.next3())
        self._error = GaussMarkovVector(
            math.sqrt(2.0 / p.error_correlation_time_s), p.error_correlation_time_s, period_s,
            stream, start)
        self._outage = _Outage(
            p.outage_rate_hz, p.outage_duration_s, period_s,
            NormalStream(world.seed, f'{name}/outage'))
        self._fix_type = FixType[p.fix_type.upper()]
        self._last: GnssMeasurement | None = None

    def see(self, scene: Scene) -> None:
        """Let what stands in the world hide satellites."""
        if self._sky is not None:
            self._sky.see(scene)

    def measure(self, truth: Truth, inputs: SensorInputs = STILL) -> GnssMeasurement:
        """Return the fix at the truth's time."""
        p = self._parameters
        (east, north, up), velocity = self._path.delayed(truth)
        e, n, u = self._error.next()
        noise = self._velocity_stream.next3()
        lost = self._outage.next()
        sky = OPEN if self._sky is None else self._sky.reception(
            truth.time_us - self._delay_us, (east, north, up))
        has_fix = sky.has_fix and not lost
        wider, higher = sky.growth
        if has_fix or self._last is None:
            place, velocity = self._frame.fix_at((
                east + p.horizontal_error_m * wider * e,
                north + p.horizontal_error_m * wider * n,
                up + p.vertical_error_m * higher * u,
            ), velocity)
            self._last = GnssMeasurement(
                truth.time_us, place, vector(
                    v + p.velocity_noise_m_s * growth * k for v, growth, k in zip(
                        velocity, (wider, wider, higher), noise)),
                p.reported_horizontal_accuracy_m * wider,
                p.reported_vertical_accuracy_m * higher,
                self._fix_type if has_fix else FixType.NONE)
        found = self._last._replace(
            satellites=sky.satellites, hdop=sky.dilution.horizontal, vdop=sky.dilution.vertical)
        if has_fix:
            return found
        return found.lost(truth.time_us) if lost else found._replace(
            time_us=truth.time_us, fix_type=FixType.NONE)

    def skip(self, samples: int) -> None:
        """Skip samples: the noise advances as if they had been measured."""
        self._velocity_stream.skip(3 * samples)
        self._error.skip(samples)
        for _ in range(samples):
            self._outage.next()


class _Outage:
    """Whether the fix is lost: two states that are left at random with constant rates.

    An outage lasts one period at least.
    """

    def __init__(
        self, rate_hz: float, duration_s: float, period_s: float, stream: NormalStream,
    ) -> None:
        self._stream = stream
        self._begins_below = _quantile(-math.expm1(-rate_hz * period_s))
        self._ends_below = _quantile(
            -math.expm1(-period_s / duration_s)) if rate_hz else math.inf
        self._lost = False

    def next(self) -> bool:
        """Return the state one period later."""
        bound = self._ends_below if self._lost else self._begins_below
        self._lost ^= self._stream.next() < bound
        return self._lost


def _quantile(probability: float) -> float:
    """Return the quantile of the standard normal distribution."""
    if 0.0 < probability < 1.0:
        import statistics  # most receivers have no outages
        return statistics.NormalDist().inv_cdf(probability)
    return math.inf if probability else -math.inf


class _Sample(typing.NamedTuple):
    time_us: int
    position_enu: Vector
    velocity_enu: Vector


class _Path:
    """Where the antenna has been: the samples back to `delay_us` ago."""

    def __init__(self, delay_us: int, antenna_m: Vector) -> None:
        """Take the place of the antenna on the body, FLU."""
        self._delay_us = delay_us
        self._antenna_m = antenna_m if any(antenna_m) else None
        self._samples: collections.deque[_Sample] = collections.deque()

    def delayed(self, truth: Truth) -> tuple[Vector, Vector]:
        """Return ENU position and velocity before the truth by the delay.

        Before the first sample they are those of the first.
        """
        samples, time_us = self._samples, truth.time_us - self._delay_us
        samples.append(self._sample(truth))
        while len(samples) > 1 and samples[1].time_us <= time_us:
            samples.popleft()
        if len(samples) == 1 or time_us <= samples[0].time_us:
            return samples[0].position_enu, samples[0].velocity_enu
        return _between(samples[0], samples[1], time_us)

    def _sample(self, truth: Truth) -> _Sample:
        """Return place and velocity of the antenna: p + R r and R (v + w x r)."""
        rotation, antenna_m = matrix(truth.attitude), self._antenna_m
        if antenna_m is None:
            return _Sample(
                truth.time_us, truth.position_enu, to_world(rotation, truth.velocity_flu))
        return _Sample(
            truth.time_us,
            vector(p + r for p, r in zip(truth.position_enu, to_world(rotation, antenna_m))),
            to_world(rotation, velocity_flu(truth, antenna_m)))


def _between(a: _Sample, b: _Sample, time_us: int) -> tuple[Vector, Vector]:
    """Return position and velocity on the cubic Hermite curve through two samples."""
    h = (b.time_us - a.time_us) / US_PER_S
    s = (time_us - a.time_us) / (b.time_us - a.time_us)
    # Weights of the step from a to b and of the velocities; then their derivatives by s.
    w, wa, wb = s * s * (3.0 - 2.0 * s), h * s * (1.0 - s) ** 2, h * s * s * (s - 1.0)
    d = 6.0 * s * (1.0 - s) / h
    da, db = (1.0 - s) * (1.0 - 3.0 * s), s * (3.0 * s - 2.0)
    rows = list(zip(a.position_enu, b.position_enu, a.velocity_enu, b.velocity_enu))
    return (
        vector(p + w * (q - p) + wa * u + wb * v for p, q, u, v in rows),
        vector(d * (q - p) + da * u + db * v for p, q, u, v in rows),
    )
