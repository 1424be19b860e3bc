# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The sections of a vehicle file beyond a multirotor: surfaces, servos, wheels and their motors."""
from __future__ import annotations

import dataclasses
import math

from px4_sim_ros.model.errors import ParameterError, shown
from px4_sim_ros.model.parameters import Parameters, parameter

_LAST_CONTROL = 15
# Aspect ratio from which on the drag of a plate across the flow is that of an endless strip, 2.01.
_ENDLESS = 50.0
# Of the cosine between chord and normal.
_PERPENDICULAR = 1e-3


def actuator_reference(control: float, least: float, gain: float, center: float) -> float:
    """Return the reference of a motor or a servo for a control, limited to `least` to 1.

    NaN stays NaN, and no motion takes that.

    :param gain: speed (rad/s) or angle (rad) at control 1, from that at control 0
    :param center: that at control 0
    """
    value = gain * max(min(control, 1.0), least)
    return value + center if center else value


@dataclasses.dataclass(frozen=True)
class Actuator(Parameters):
    """What follows one control of the autopilot, with a lag of the first order."""

    name: str = parameter('by which surfaces and wheels name it')
    control: int = parameter('index in HIL_ACTUATOR_CONTROLS', minimum=0, maximum=_LAST_CONTROL)
    lag_s: float = parameter('time constant', 's', above=0)


@dataclasses.dataclass(frozen=True)
class Servo(Actuator):
    """What turns a surface, a wheel or a rotor: control -1..1 to an angle, at a limited rate."""

    rate_rad_s: float = parameter('highest rate', 'rad/s', above=0)
    travel_rad: float = parameter(
        'angle at control 1, from that at control 0', 'rad', above=0, maximum=math.pi)
    reverse: bool = parameter('control 1 is the negative angle', default=False)
    center_rad: float = parameter(
        'angle at control 0', 'rad', default=0.0, minimum=-math.pi, maximum=math.pi)

    def reference_rad(self, control: float) -> float:
        """Return the angle asked for by a control, which is limited to -1..1."""
        return actuator_reference(control, -1.0, self.gain_rad, self.center_rad)

    @property
    def gain_rad(self) -> float:
        """The angle at control 1, from that at control 0."""
        return -self.travel_rad if self.reverse else self.travel_rad


@dataclasses.dataclass(frozen=True)
class Motor(Actuator):
    """What drives wheels: control to a speed of the axle."""

    max_speed_rad_s: float = parameter('speed at control 1', 'rad/s', above=0)
    reversible: bool = parameter('control -1 is full speed backwards', default=True)

    @property
    def least_rad_s(self) -> float:
        """The speed at control -1."""
        return -self.max_speed_rad_s if self.reversible else 0.0

    def reference_rad_s(self, control: float) -> float:
        """Return the speed asked for by a control, which is limited to 0 or -1 to 1."""
        return actuator_reference(control, self.least_control, self.max_speed_rad_s, 0.0)

    @property
    def least_control(self) -> float:
        """The lowest control that it follows."""
        return -1.0 if self.reversible else 0.0


@dataclasses.dataclass(frozen=True)
class Surface(Parameters):
    """A wing, half a wing, or a fin: lifts in the plane of its chord and its normal.

    Drag and moment coefficients hold for its own area and chord.
    """

    name: str = parameter('of the surface')
    position_m: tuple[float, float, float] = parameter('quarter chord, FLU', 'm')
    area_m2: float = parameter('planform', 'm^2', above=0)
    chord_m: float = parameter('mean chord', 'm', above=0)
    aspect_ratio: float = parameter('span^2 / area of the whole wing', above=0)
    stall_rad: float = parameter(
        'angle of attack from zero lift at which it stalls', 'rad', above=0.05, maximum=0.8)
    drag_0: float = parameter('drag coefficient without lift', minimum=0)
    zero_lift_rad: float = parameter('angle of attack without lift', 'rad', default=0.0,
                                     minimum=-0.5, maximum=0.5)
    moment_0: float = parameter('pitching moment coefficient about it, nose up', default=0.0)
    efficiency: float = parameter('Oswald factor of the induced drag', default=0.85, above=0,
                                  maximum=1)
    chord: tuple[float, float, float] = parameter(
        'direction of the leading edge, FLU', default=(1.0, 0.0, 0.0))
    normal: tuple[float, float, float] = parameter(
        'direction of the lift, FLU, across the chord', default=(0.0, 0.0, 1.0))
    servo: str = parameter('that deflects it; empty: fixed', default='')
    effect: float = parameter(
        'angle of attack that it gains / angle of the servo', default=0.0, minimum=-1, maximum=1)
    in_wake_of: int = parameter('number of the rotor that blows over it, from 1; 0: none',
                                default=0, minimum=0)

    @property
    def lift_slope(self) -> float:
        """Lift coefficient / rad: pi A / (1 + sqrt(1 + (A / 2)^2)), Beard & McLain 4.13."""
        ratio = self.aspect_ratio
        return math.pi * ratio / (1.0 + math.sqrt(1.0 + 0.25 * ratio * ratio))

    @property
    def broadside_drag(self) -> float:
        """Drag coefficient across the flow, by the aspect ratio: Viterna & Corrigan 1982."""
        return 1.11 + 0.018 * min(self.aspect_ratio, _ENDLESS)

    def check(self, owner: str) -> None:
        """Check that chord and normal span a plane at a right angle.

        :raises ParameterError: one of them has no direction, or they are not at a right angle
        """
        lengths = math.hypot(*self.chord), math.hypot(*self.normal)
        if 0.0 in lengths:
            name = 'chord' if lengths[0] == 0.0 else 'normal'
            raise ParameterError(f'{owner}.{name} = {getattr(self, name)}: must have a direction')
        cosine = sum(a * b for a, b in zip(self.chord, self.normal)) / (lengths[0] * lengths[1])
        if abs(cosine) > _PERPENDICULAR:
            raise ParameterError(
                f'{owner}.normal = {self.normal}: must be at a right angle to chord = {self.chord}')


def heading_flu(angle_rad: float, base_m: float, y_m: float) -> tuple[float, float]:
    """Return the direction of a wheel that is steered: forward and left, of any length.

    :param angle_rad: of a bicycle's wheel, to the left
    :param base_m: to the axle that is not steered (Ackermann); 0: it turns just by the angle
    :param y_m: how far left it is
    """
    ahead, left = math.cos(angle_rad), math.sin(angle_rad)
    if base_m:
        ahead, left = base_m * ahead - y_m * left, base_m * left
    return ahead, left


@dataclasses.dataclass(frozen=True)
class Wheel(Parameters):
    """A wheel: holds the ground across its heading, and rolls along it."""

    position_m: tuple[float, float, float] = parameter('hub, FLU', 'm')
    radius_m: float = parameter('of the wheel', 'm', above=0)
    rolling_resistance: float = parameter('force against rolling / load', minimum=0, maximum=1)
    steered_by: str = parameter('servo; empty: straight ahead', default='')
    steering: float = parameter(
        'angle of the wheel about body z / angle of the servo', default=1.0)
    driven_by: str = parameter('motor; empty: rolls freely', default='')
    steering_base_m: float = parameter(
        'distance from the axle that is not steered, around whose line it turns (Ackermann);'
        ' 0: turns just by the angle of the servo', 'm', default=0.0, minimum=0)
    differential: bool = parameter(
        'the motor drives it through a differential: with equal force on both sides, at the speed'
        ' of the middle of its axle', default=False)
    swivels: bool = parameter(
        'a caster: rolls in every direction, and has no other friction', default=False)

    @property
    def has_steering(self) -> bool:
        """Whether it turns about body z."""
        return bool(self.steered_by) or self.swivels

    def heading_rad(self, servo_rad: float) -> float:
        """Return how far to the left it heads by an angle of its servo."""
        ahead, left = heading_flu(
            self.steering * servo_rad, self.steering_base_m, self.position_m[1])
        return math.atan2(left, ahead)

    @property
    def contact_m(self) -> tuple[float, float, float]:
        """Where it touches level ground, FLU."""
        x, y, z = self.position_m
        return x, y, z - self.radius_m

    def check(self, owner: str) -> None:
        """Check that it is not both a caster and something else.

        :raises ParameterError: it swivels, and is steered or driven
        """
        for name in 'steered_by', 'driven_by':
            if self.swivels and getattr(self, name):
                raise ParameterError(
                    f'{owner}.{name} = {shown(getattr(self, name))}: must be empty for a wheel that'
                    ' swivels')


@dataclasses.dataclass(frozen=True)
class Stepping(Parameters):
    """The step that a vehicle's autopilot answers, unless the parameters of a run say otherwise."""

    step_us: int = parameter('simulated time, also of the first IMU', 'us', minimum=1)
    substeps: int = parameter('integration steps in it', minimum=1, maximum=1000)
