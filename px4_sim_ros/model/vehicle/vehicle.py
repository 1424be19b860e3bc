# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A vehicle from its file: mass, drag, rotors, battery and the points that touch the ground."""
from __future__ import annotations

import dataclasses
import math
import typing

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.parameters import Parameters, number, parameter
from px4_sim_ros.model.vehicle.sections import (
    BatteryModel,
    Body,
    ContactModel,
    ContactPoint,
    MotorModel,
    Pack,
    Rotor,
    RotorModel,
)

# HIL_ACTUATOR_CONTROLS has no more controls.
MOST_ROTORS = 16


def _filled_list(name: str, value: typing.Any) -> list[typing.Any]:
    if not isinstance(value, list) or not value:
        raise ParameterError(f'{name} = {value!r}: must be a list with at least one entry')
    return value


def _rotors(name: str, value: typing.Any) -> tuple[Rotor, ...]:
    entries = _filled_list(name, value)
    if len(entries) > MOST_ROTORS:
        raise ParameterError(
            f'{name}: {len(entries)} are too many; there may be {MOST_ROTORS}, because an'
            ' autopilot has no more controls')
    return tuple(Rotor.from_mapping(f'{name}[{i}]', rotor) for i, rotor in enumerate(entries))


def _whole_number(name: str, value: typing.Any) -> int:
    if type(value) is not int or value < 0:
        raise ParameterError(f'{name} = {value!r}: must be a whole number of at least 0')
    return value


def _numbers(name: str, value: typing.Any) -> dict[str, float]:
    if not isinstance(value, dict):
        raise ParameterError(f'{name} = {value!r}: must be a mapping of names to numbers')
    # PX4 has whole numbers as well, which must stay what they are.
    return {key: entry if type(entry) is int else number(f'{name}.{key}', entry)
            for key, entry in value.items()}


@dataclasses.dataclass(frozen=True)
class _Bus(Parameters):
    nominal_voltage_v: float = parameter(
        'bus voltage at which a rotor reaches the speed that is asked of it', 'V', above=0)


def _battery(owner: str, content: typing.Any) -> BatteryModel:
    if not isinstance(content, dict):
        raise ParameterError(f'{owner} = {content!r}: must be a mapping')
    rest = {key: value for key, value in content.items() if key != 'packs'}
    packs = tuple(
        Pack.from_mapping(f'{owner}: packs[{i}]', pack)
        for i, pack in enumerate(_filled_list(f'{owner}: packs', content.get('packs'))))
    for i, pack in enumerate(packs):
        if pack.empty_voltage_v > pack.full_voltage_v:
            raise ParameterError(
                f'{owner}: packs[{i}].empty_voltage_v = {pack.empty_voltage_v}: must be at most'
                f' full_voltage_v = {pack.full_voltage_v}')
    return BatteryModel(_Bus.from_mapping(owner, rest).nominal_voltage_v, packs)


@dataclasses.dataclass(frozen=True)
class Vehicle:
    """All that a vehicle file says; sections with a default may be missing there."""

    name: str
    px4_airframe: int
    body: Body
    rotor_model: RotorModel
    rotors: tuple[Rotor, ...]
    contact_model: ContactModel
    contact_points_m: tuple[Vector, ...]
    motor_model: MotorModel | None = None
    battery: BatteryModel | None = None
    px4_parameters: dict[str, float] = dataclasses.field(default_factory=dict)

    @classmethod
    def from_mapping(cls, owner: str, content: typing.Any) -> Vehicle:
        """Build a vehicle from the content of its file.

        :param owner: what to call it in an error sentence
        :raises ParameterError: a section is missing or unknown, or a value in it is wrong
        """
        _check_sections(cls, owner, content)
        vehicle = cls(
            name=str(content['name']),
            px4_airframe=_whole_number(f'{owner}: px4_airframe', content['px4_airframe']),
            body=Body.from_mapping(f'{owner}: body', content['body']),
            rotor_model=RotorModel.from_mapping(f'{owner}: rotor_model', content['rotor_model']),
            rotors=_rotors(f'{owner}: rotors', content['rotors']),
            contact_model=ContactModel.from_mapping(
                f'{owner}: contact_model', content['contact_model']),
            contact_points_m=tuple(
                ContactPoint.from_mapping(
                    f'{owner}: contact_points_m[{i}]', {'position_m': point}).position_m
                for i, point in enumerate(_filled_list(
                    f'{owner}: contact_points_m', content['contact_points_m']))),
            motor_model=(
                MotorModel.from_mapping(f'{owner}: motor_model', content['motor_model'])
                if 'motor_model' in content else None),
            battery=(
                _battery(f'{owner}: battery', content['battery'])
                if 'battery' in content else None),
            px4_parameters=_numbers(
                f'{owner}: px4_parameters', content.get('px4_parameters', {})),
        )
        vehicle.rotor_model.check(f'{owner}: rotor_model')
        if vehicle.motor_model is not None:
            vehicle.motor_model.check(f'{owner}: motor_model', vehicle.rotor_model)
        elif vehicle.battery is not None:
            raise ParameterError(f'{owner}: missing section motor_model, what the battery feeds')
        return vehicle

    @property
    def cells(self) -> int:
        """Cells of the battery in series, as PX4 gets them; 1 without a battery."""
        return self.battery.packs[0].cells if self.battery else 1

    def hover_speed_rad_s(
        self, gravity_m_s2: float, density_kg_m3: float | None = None,
    ) -> float:
        """Return the rotor speed at which all thrusts together carry the weight.

        :param density_kg_m3: of the air; the reference density if not given
        """
        return math.sqrt(self.body.mass_kg * gravity_m_s2 / self._lift_n_s2(density_kg_m3))

    def hover_command(
        self, gravity_m_s2: float, density_kg_m3: float | None = None,
        bus_voltage_v: float | None = None,
    ) -> float:
        """Return the motor control 0..1 that hovers; above 1 it cannot.

        :param bus_voltage_v: under load; nominal if not given
        """
        model = self.rotor_model
        speed = self.hover_speed_rad_s(gravity_m_s2, density_kg_m3)
        reference = speed / self._voltage_share(bus_voltage_v)
        return (reference - model.command_offset_rad_s) / model.command_gain_rad_s

    def _lift_n_s2(self, density_kg_m3: float | None) -> float:
        model = self.rotor_model
        lift = len(self.rotors) * model.thrust_coefficient_n_s2
        if density_kg_m3 is None:
            return lift
        return lift * density_kg_m3 / model.reference_density_kg_m3

    def _voltage_share(self, bus_voltage_v: float | None) -> float:
        if self.battery is None or bus_voltage_v is None:
            return 1.0
        return bus_voltage_v / self.battery.nominal_voltage_v

    def rotor_speed_references_rad_s(
        self, controls: typing.Sequence[float], armed: bool,
    ) -> tuple[float, ...]:
        """Return the speed asked of each rotor by motor controls 0..1."""
        model = self.rotor_model
        if not armed:
            return (0.0,) * len(self.rotors)
        gain, offset, most = (
            model.command_gain_rad_s, model.command_offset_rad_s, model.max_speed_rad_s)
        return tuple([max(0.0, min(gain * u + offset, most)) for u in controls[:len(self.rotors)]])


def _check_sections(vehicle: type[Vehicle], owner: str, content: typing.Any) -> None:
    """Refuse a file that lacks a section or has an unknown one."""
    fields = dataclasses.fields(vehicle)
    optional = {'motor_model', 'battery', 'px4_parameters'}
    required = {field.name for field in fields} - optional
    if not isinstance(content, dict):
        raise ParameterError(f'{owner}: must be a mapping of {", ".join(sorted(required))}')
    for key in sorted(required - set(content)):
        raise ParameterError(f'{owner}: missing section {key}')
    for key in sorted(set(content) - required - optional, key=str):
        raise ParameterError(f'{owner}: unknown section {key}')
