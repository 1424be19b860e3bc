# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What every part of the world has to agree on: time, place, vehicle and seed."""
from __future__ import annotations

import dataclasses
import math
import typing

from px4_sim_ros.model.environment.atmosphere import Atmosphere
from px4_sim_ros.model.environment.geodesy import GeodeticPosition, LocalFrame
from px4_sim_ros.model.environment.gravity import GRAVITY_MODELS, Gravity
from px4_sim_ros.model.environment.ground import LEVEL, Ground
from px4_sim_ros.model.environment.wind import WIND_CHOICES
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.own_blocks import OwnBlockRow, from_text
from px4_sim_ros.model.parameters import Parameters, parameter
from px4_sim_ros.model.timebase import check_period, kind_and_index

if typing.TYPE_CHECKING:
    from px4_sim_ros.model.scene.scene import Scene

OF_VEHICLE = frozenset({
    'vehicle', 'seed', 'instances', 'mission', 'scenario', 'px4_topics', 'blocks'})
"""Those of the parameters below that each vehicle of a world has for itself."""


@dataclasses.dataclass(frozen=True)
class WorldParameters(Parameters):
    """Parameters that all nodes share: those of the world, and those of the vehicle."""

    step_us: int = parameter('one lockstep exchange', 'us', minimum=100, maximum=1_000_000)
    seed: int = parameter('seed of all random streams', minimum=0, maximum=2**31 - 1)
    vehicle: str = parameter('name of a file in config/vehicles, or a path')
    home_latitude_deg: float = parameter('WGS-84 latitude', 'deg', minimum=-90, maximum=90)
    home_longitude_deg: float = parameter('WGS-84 longitude', 'deg', minimum=-180, maximum=180)
    home_altitude_m: float = parameter(
        'height above mean sea level', 'm', minimum=-500, maximum=9000)
    geoid_height_m: float = parameter(
        'height of mean sea level above the ellipsoid', 'm', minimum=-120, maximum=120)
    gravity_model: str = parameter(
        'the same everywhere, or normal gravity at home and the height above it',
        choices=GRAVITY_MODELS)
    gravity_m_s2: float = parameter(
        'acceleration of uniform gravity', 'm/s^2', minimum=0, maximum=20)
    earth_rate_rad_s: float = parameter(
        'how fast the Earth turns, which IMUs feel and EKF2 takes off', 'rad/s',
        minimum=0, maximum=1e-3)
    sea_level_pressure_pa: float = parameter(
        'of the atmosphere', 'Pa', minimum=80_000, maximum=120_000)
    sea_level_temperature_k: float = parameter(
        'of the atmosphere', 'K', minimum=220, maximum=330)
    ground_slope_deg: float = parameter(
        'angle of the ground, a plane through home, with the horizontal', 'deg', minimum=0,
        maximum=45)
    ground_uphill_deg: float = parameter(
        'where the ground rises to, clockwise from north', 'deg', minimum=0, maximum=360)
    wind: str = parameter('what the node wind blows; none: it is calm, and without by_hand there is'
                          ' no such node', choices=WIND_CHOICES)
    downwash: bool = parameter(
        'whether the air below the rotors of each vehicle blows at the others')
    collisions: bool = parameter('whether vehicles that collide push each other away')
    restitution: float = parameter(
        'of two vehicles that collide: speed at which they part / speed at which they met',
        minimum=0, maximum=1)
    gnss_sky: bool = parameter(
        'whether GNSS receivers use single satellites, which what stands in the world hides')
    magnetic_field_year: float = parameter(
        'date of the magnetic field', 'decimal year', minimum=2025, maximum=2030)
    periods_us: dict[str, int] = parameter('how often each node publishes', 'us', above=0)
    delays_us: dict[str, int] = parameter(
        'how late a measurement arrives at the autopilot, to the nearest step', 'us',
        minimum=0, maximum=1_000_000)
    instances: dict[str, int] = parameter('how many of this sensor there are', minimum=0)
    commands: str = parameter(
        'where the actuator commands come from: the node hil_bridge, or the node player',
        choices=('autopilot', 'recording'))
    recorder: bool = parameter('whether there is a node recorder')
    mission: str = parameter(
        'what the node pilot flies: name of a file in config/missions, or a path (.yaml, .plan);'
        ' none: there is no such node')
    scenario: str = parameter(
        'what the node scenario runs: name of a file in config/scenarios, or a path; none: nothing,'
        ' and without by_hand there is no such node')
    by_hand: bool = parameter(
        'whether there are the nodes scenario and wind also where none is named: for faults and'
        ' wind by hand')
    scene: str = parameter(
        'what stands in the world: name of a file in config/scenes, or a path; none: a plane')
    px4_topics: bool = parameter(
        "whether there is a node px4_topics, the agent of PX4's own ROS 2 topics")
    blocks: str = parameter(
        'blocks of yours that are added to the step, as JSON; the section blocks of the vehicle'
        ' file sets it')

    def check_periods(self) -> None:
        """Check that each period is a multiple of the step.

        :raises ParameterError: naming the nearest valid values
        """
        for name, period_us in self.periods_us.items():
            check_period(f'periods_us.{name}', period_us, self.step_us)
        for row in self.own_blocks:
            check_period(f'block {row.name}: period_us', row.period_us, self.step_us)

    @property
    def own_blocks(self) -> tuple[OwnBlockRow, ...]:
        """The blocks of the user's that are added to the step."""
        return from_text(self.blocks)

    @property
    def sees(self) -> bool:
        """Whether something in it may look at what stands there."""
        return self.scene != 'none' or bool(self.own_blocks)

    @property
    def has_scenario(self) -> bool:
        """Whether a scenario is named, which then ends the flight."""
        return self.scenario != 'none'

    @property
    def node_counts(self) -> dict[str, int]:
        """How many there are of each kind of node that is not always there once."""
        recorded, has_faults = self.commands == 'recording', self.has_scenario or self.by_hand
        return self.instances | {
            'wind': int(self.wind != 'none' or self.downwash or self.by_hand),
            'downwash': int(self.downwash), 'collisions': int(self.collisions),
            'gnss_sky': int(self.gnss_sky),
            'wake_player': int((self.downwash or self.collisions) and recorded),
            'hil_bridge': int(not recorded),
            'player': int(recorded), 'recorder': int(self.recorder),
            'pilot': int(self.mission != 'none' and not recorded),
            'px4_topics': int(self.px4_topics and not recorded),
            'scenario': int(has_faults and not recorded),
            'scenario_player': int(has_faults and recorded)}

    def period_us(self, sensor: str) -> int:
        """Return how often a sensor measures; all of one kind have the same period."""
        own = (row.period_us for row in self.own_blocks if row.name == sensor)
        return next(own, 0) or self.periods_us[kind_and_index(sensor)[0]]

    def local_frame(self) -> LocalFrame:
        """Return the ENU frame at home."""
        return LocalFrame(GeodeticPosition(
            self.home_latitude_deg, self.home_longitude_deg,
            self.home_altitude_m + self.geoid_height_m))

    def atmosphere(self) -> Atmosphere:
        """Return the air around the vehicle."""
        return Atmosphere(self.sea_level_pressure_pa, self.sea_level_temperature_k)

    def ground(self) -> Ground:
        """Return the ground through home."""
        return Ground.sloping(self.ground_slope_deg, self.ground_uphill_deg)

    def earth_rate_enu(self) -> Vector:
        """Return the angular velocity of the Earth at home, rad/s."""
        latitude = math.radians(self.home_latitude_deg)
        return (0.0, self.earth_rate_rad_s * math.cos(latitude),
                self.earth_rate_rad_s * math.sin(latitude))

    def gravity(self) -> Gravity:
        """Return gravity by the height above home."""
        if self.gravity_model == 'uniform':
            return Gravity.uniform(self.gravity_m_s2)
        return Gravity.wgs84(
            self.home_latitude_deg, self.home_altitude_m + self.geoid_height_m)


# What surrounds the vehicle: gravity and air by height, and the rotation of the Earth.


@dataclasses.dataclass(frozen=True)
class Environment:
    """Gravity, air and the Earth's rotation at home; heights are in metres above home."""

    gravity: Gravity
    atmosphere: Atmosphere
    home_altitude_m: float
    earth_rate_enu: Vector = (0.0, 0.0, 0.0)
    """In rad/s; its first component is 0."""
    ground: Ground = LEVEL
    scene: Scene | None = None
    """What stands in it, and its ground if that is not the plane."""

    @classmethod
    def of(cls, world: WorldParameters, scene: Scene | None = None) -> Environment:
        """Return the environment that the parameters of the world describe."""
        return cls(world.gravity(), world.atmosphere(), world.home_altitude_m,
                    world.earth_rate_enu(), world.ground(), scene)

    def gravity_m_s2(self, height_m: float) -> float:
        """Return the acceleration of gravity, downwards."""
        return self.gravity.at(height_m)

    def density_kg_m3(self, height_m: float) -> float:
        """Return the density of the air."""
        return self.atmosphere.density_kg_m3(self.home_altitude_m + height_m)
