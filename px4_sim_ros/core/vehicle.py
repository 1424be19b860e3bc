"""A vehicle from its file: mass, drag, rotors and the points that touch the ground."""
from __future__ import annotations

import dataclasses
import math
import typing

from px4_sim_ros.core.frames import Vector
from px4_sim_ros.core.parameters import ParameterError, Parameters, parameter


@dataclasses.dataclass(frozen=True)
class Body(Parameters):
    """The rigid body; its origin is the centre of mass, its axes are principal ones."""

    mass_kg: float = parameter('mass of the whole vehicle', 'kg', above=0)
    inertia_kg_m2: tuple[float, float, float] = parameter(
        'principal moments of inertia', 'kg m^2', above=0)
    linear_drag_n_s_m: float = parameter('drag force per airspeed', 'N s/m', minimum=0)
    quadratic_drag_n_s2_m2: float = parameter(
        'drag force per airspeed squared', 'N s^2/m^2', minimum=0)


@dataclasses.dataclass(frozen=True)
class RotorModel(Parameters):
    """What all rotors of a vehicle have in common."""

    thrust_coefficient_n_s2: float = parameter('thrust / speed^2', 'N/(rad/s)^2', above=0)
    moment_coefficient_m: float = parameter('reaction torque / thrust', 'm', minimum=0)
    time_constant_up_s: float = parameter('lag of a rising speed', 's', above=0)
    time_constant_down_s: float = parameter('lag of a falling speed', 's', above=0)
    max_speed_rad_s: float = parameter('highest speed', 'rad/s', above=0)
    drag_coefficient_n_s2_m: float = parameter(
        'drag force / (speed * edgewise airspeed)', 'N s^2/m', minimum=0)
    rolling_moment_coefficient_n_s2: float = parameter(
        'rolling moment / (speed * edgewise airspeed)', 'N s^2', minimum=0)
    inertia_kg_m2: float = parameter('moment of inertia about the shaft', 'kg m^2', minimum=0)
    zero_thrust_climb_m_s: float = parameter(
        'axial airspeed at which the thrust is gone', 'm/s', above=0)
    command_gain_rad_s: float = parameter('speed per unit of command', 'rad/s', above=0)
    command_offset_rad_s: float = parameter('speed when armed at command 0', 'rad/s', minimum=0)


@dataclasses.dataclass(frozen=True)
class Rotor(Parameters):
    """Where one rotor is and how it turns, seen from above."""

    position_m: tuple[float, float, float] = parameter('hub, FLU', 'm')
    turns: str = parameter('sense seen from above', choices=('ccw', 'cw'))

    @property
    def spin(self) -> float:
        """+1 when it turns about body z (counter-clockwise), -1 otherwise."""
        return 1.0 if self.turns == 'ccw' else -1.0


@dataclasses.dataclass(frozen=True)
class ContactModel(Parameters):
    """Spring, damper and Coulomb friction of each point that touches the ground."""

    stiffness_n_m: float = parameter('normal and tangential spring', 'N/m', above=0)
    damping_n_s_m: float = parameter('normal and tangential damper', 'N s/m', minimum=0)
    friction_coefficient: float = parameter('Coulomb friction', minimum=0)


@dataclasses.dataclass(frozen=True)
class ContactPoint(Parameters):
    """A point of the body that can touch the ground."""

    position_m: tuple[float, float, float] = parameter('point, FLU', 'm')


def _filled_list(name: str, value: typing.Any) -> list[typing.Any]:
    if not isinstance(value, list) or not value:
        raise ParameterError(f'{name} = {value!r}: must be a list with at least one entry')
    return value


def _whole_number(name: str, value: typing.Any) -> int:
    if type(value) is not int or value < 0:
        raise ParameterError(f'{name} = {value!r}: must be a whole number of at least 0')
    return value


@dataclasses.dataclass(frozen=True)
class Vehicle:
    """All that a vehicle file says."""

    name: str
    px4_airframe: int
    body: Body
    rotor_model: RotorModel
    rotors: tuple[Rotor, ...]
    contact_model: ContactModel
    contact_points_m: tuple[Vector, ...]

    @classmethod
    def from_mapping(cls, owner: str, content: typing.Any) -> Vehicle:
        """Build a vehicle from the content of its file.

        :param owner: what to call it in an error sentence
        :raises ParameterError: a section is missing or unknown, or a value in it is wrong
        """
        sections = {field.name for field in dataclasses.fields(cls)}
        if not isinstance(content, dict):
            raise ParameterError(f'{owner}: must be a mapping of {", ".join(sorted(sections))}')
        for key in sorted(sections.symmetric_difference(content)):
            word = 'missing' if key in sections else 'unknown'
            raise ParameterError(f'{owner}: {word} section {key}')
        return cls(
            name=str(content['name']),
            px4_airframe=_whole_number(f'{owner}: px4_airframe', content['px4_airframe']),
            body=Body.from_mapping(f'{owner}: body', content['body']),
            rotor_model=RotorModel.from_mapping(f'{owner}: rotor_model', content['rotor_model']),
            rotors=tuple(
                Rotor.from_mapping(f'{owner}: rotors[{i}]', rotor)
                for i, rotor in enumerate(_filled_list(f'{owner}: rotors', content['rotors']))),
            contact_model=ContactModel.from_mapping(
                f'{owner}: contact_model', content['contact_model']),
            contact_points_m=tuple(
                ContactPoint.from_mapping(
                    f'{owner}: contact_points_m[{i}]', {'position_m': point}).position_m
                for i, point in enumerate(_filled_list(
                    f'{owner}: contact_points_m', content['contact_points_m']))),
        )

    def hover_speed_rad_s(self, gravity_m_s2: float) -> float:
        """Return the rotor speed at which all thrusts together carry the weight."""
        return math.sqrt(
            self.body.mass_kg * gravity_m_s2
            / (len(self.rotors) * self.rotor_model.thrust_coefficient_n_s2))

    def rotor_speed_references_rad_s(
        self, controls: typing.Sequence[float], armed: bool,
    ) -> tuple[float, ...]:
        """Return the speed asked of each rotor by motor controls 0..1."""
        model = self.rotor_model
        if not armed:
            return (0.0,) * len(self.rotors)
        return tuple(
            max(0.0, min(
                model.command_gain_rad_s * u + model.command_offset_rad_s, model.max_speed_rad_s))
            for u in controls[:len(self.rotors)])
