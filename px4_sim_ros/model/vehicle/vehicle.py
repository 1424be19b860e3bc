# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A vehicle from its file: a body and what acts on it."""
from __future__ import annotations

import dataclasses
import functools
import math
import re
import typing

from px4_sim_ros.model.errors import ParameterError, shown
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.own_blocks import Entry, read_entries
from px4_sim_ros.model.parameters import Parameters, dict_of, mapping_of, number, parameter
from px4_sim_ros.model.vehicle.checks import check_parts
from px4_sim_ros.model.vehicle.elements import Motor, Servo, Stepping, Surface, Wheel
from px4_sim_ros.model.vehicle.sections import (
    NO_ROTOR,
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

_Part = typing.TypeVar('_Part', bound=Parameters)


class References(tuple[float, ...]):
    """What the actuators are asked for: speeds in rad/s, then angles in rad.

    In the order of the state: rotors, motors, servos.
    """

    angles = 0
    """How many at the end are angles."""

    @classmethod
    def of(cls, values: typing.Iterable[float], angles: int) -> References:
        """Return values whose last ones are angles."""
        references = cls(values)
        references.angles = angles
        return references


def _filled_list(name: str, value: typing.Any) -> list[typing.Any]:
    if not isinstance(value, list) or not value:
        raise ParameterError(f'{name} = {shown(value)}: must be a list with at least one entry')
    return value


def _rotors(name: str, value: typing.Any) -> tuple[Rotor, ...]:
    entries = _filled_list(name, value)
    if len(entries) > MOST_ROTORS:
        raise ParameterError(
            f'{name}: {len(entries)} are too many; there may be {MOST_ROTORS}, because an'
            ' autopilot has no more controls')
    return _parts(Rotor, name, entries)


def _parts(kind: type[_Part], name: str, value: typing.Any) -> tuple[_Part, ...]:
    return tuple(
        kind.from_mapping(f'{name}[{i}]', entry)
        for i, entry in enumerate(_filled_list(name, value)))


def _named(kind: type[_Part], name: str, value: typing.Any) -> dict[str, _Part]:
    return {key: kind.from_mapping(f'{name}.{key}', entry)
            for key, entry in dict_of(name, value, ' of names to models').items()}


def _whole_number(name: str, value: typing.Any) -> int:
    if type(value) is not int or value < 0:
        raise ParameterError(f'{name} = {shown(value)}: must be a whole number of at least 0')
    return value


def _numbers(name: str, value: typing.Any) -> dict[str, float]:
    for key in dict_of(name, value, ' of names to numbers'):
        if not isinstance(key, str) or not re.fullmatch('[A-Z][A-Z0-9_]*', key):
            raise ParameterError(f'{name}.{key}: is no name of a parameter of PX4')
    # PX4 has whole numbers as well, which must stay what they are.
    return {key: entry if type(entry) is int else number(f'{name}.{key}', entry)
            for key, entry in value.items()}


def _counts(name: str, value: typing.Any) -> dict[str, int]:
    return {key: _whole_number(f'{name}.{key}', entry)
            for key, entry in dict_of(name, value, ' of sensors to numbers').items()}


@dataclasses.dataclass(frozen=True)
class _Bus(Parameters):
    nominal_voltage_v: float = parameter(
        'bus voltage at which a rotor reaches the speed that is asked of it', 'V', above=0)


def _battery(owner: str, content: typing.Any) -> BatteryModel:
    rest = {key: value for key, value in dict_of(owner, content).items() if key != 'packs'}
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
    contact_model: ContactModel
    rotor_model: RotorModel = NO_ROTOR
    rotors: tuple[Rotor, ...] = ()
    contact_points_m: tuple[Vector, ...] = ()
    hull_points_m: tuple[Vector, ...] = ()
    motor_model: MotorModel | None = None
    battery: BatteryModel | None = None
    px4_parameters: dict[str, float] = dataclasses.field(default_factory=dict)
    sensors: dict[str, int] = dataclasses.field(default_factory=dict)
    rotor_models: dict[str, RotorModel] = dataclasses.field(default_factory=dict)
    motor_models: dict[str, MotorModel] = dataclasses.field(default_factory=dict)
    surfaces: tuple[Surface, ...] = ()
    servos: tuple[Servo, ...] = ()
    wheels: tuple[Wheel, ...] = ()
    motors: tuple[Motor, ...] = ()
    stepping: Stepping | None = None
    blocks: tuple[Entry, ...] = ()
    """Those of the user's that are added to the step."""

    @classmethod
    def from_mapping(cls, owner: str, content: typing.Any) -> Vehicle:
        """Build a vehicle from the content of its file.

        :param owner: what to call it in an error sentence
        :raises ParameterError: a section is missing or unknown, or a value in it is wrong
        """
        _check_sections(cls, owner, content)

        def section(name: str, read: typing.Callable[[str, typing.Any], typing.Any]) -> typing.Any:
            return read(f'{owner}: {name}', content[name])

        readers: dict[str, typing.Callable[[str, typing.Any], typing.Any]] = {
            'name': lambda name, value: str(value),
            'px4_airframe': _whole_number,
            'body': Body.from_mapping,
            'rotor_model': RotorModel.from_mapping,
            'rotor_models': functools.partial(_named, RotorModel),
            'rotors': _rotors,
            'contact_model': ContactModel.from_mapping,
            'contact_points_m': _points,
            'hull_points_m': _points,
            'motor_model': MotorModel.from_mapping,
            'motor_models': functools.partial(_named, MotorModel),
            'battery': lambda name, value: _battery(f'{owner}: battery', value),
            'px4_parameters': _numbers,
            'sensors': _counts,
            'surfaces': functools.partial(_parts, Surface),
            'servos': functools.partial(_parts, Servo),
            'wheels': functools.partial(_parts, Wheel),
            'motors': functools.partial(_parts, Motor),
            'stepping': Stepping.from_mapping,
            'blocks': read_entries,
        }
        vehicle = cls(**{
            name: section(name, read) for name, read in readers.items() if name in content})
        check_parts(owner, vehicle)
        return vehicle

    @functools.cached_property
    def ground_points_m(self) -> tuple[Vector, ...]:
        """All points that touch level ground: feet, then wheels."""
        return (*self.contact_points_m, *(wheel.contact_m for wheel in self.wheels))

    @functools.cached_property
    def all_points_m(self) -> tuple[Vector, ...]:
        """All points that touch the ground in any attitude: feet, wheels, then the hull."""
        return (*self.ground_points_m, *self.hull_points_m)

    @functools.cached_property
    def actuator_indices(self) -> dict[str, int]:
        """The place of each motor and servo behind the rotors in the state, by name."""
        names = [*(motor.name for motor in self.motors), *(servo.name for servo in self.servos)]
        return {name: i for i, name in enumerate(names)}

    @property
    def reference_count(self) -> int:
        """How many references there are: one of each rotor, motor and servo."""
        return len(self.rotors) + len(self.motors) + len(self.servos)

    @functools.cached_property
    def rest(self) -> tuple[float, ...]:
        """The references without a command: no speeds, servos at control 0."""
        return (*(0.0 for _ in (*self.rotors, *self.motors)),
                *(servo.center_rad for servo in self.servos))

    @property
    def is_multirotor(self) -> bool:
        """Whether rotors that lift are all that moves it, or any part of it."""
        return not self.servos and self.flies_on_rotors

    @property
    def flies_on_rotors(self) -> bool:
        """Whether rotors that lift and are not tilted are all that moves it.

        It may have servos, that turn a camera.
        """
        return not (self.surfaces or self.motors) and all(
            rotor.lifts and not rotor.tilted_by for rotor in self.rotors)

    @property
    def drives(self) -> bool:
        """Whether it stays on the ground: it has no rotors."""
        return not self.rotors

    @property
    def stands_on_its_tail(self) -> bool:
        """Whether its wing lies in the plane of its vertical: the largest surface's chord is up."""
        if not self.surfaces:
            return False
        chord = max(self.surfaces, key=lambda s: s.area_m2).chord
        return chord[2] > math.hypot(*chord[:2])

    @functools.cached_property
    def lift_rotors(self) -> tuple[Rotor, ...]:
        """The rotors that lift it."""
        return tuple(rotor for rotor in self.rotors if rotor.lifts)

    def on_rotors(self) -> Vehicle:
        """Return it as a multirotor, with only what it hovers with; itself if that is all."""
        if self.is_multirotor:
            return self
        return dataclasses.replace(
            self, rotors=self.lift_rotors, surfaces=(), servos=(), wheels=(), motors=(),
            contact_points_m=self.ground_points_m)

    def model_of(self, rotor: Rotor) -> RotorModel:
        """Return the model of one of its rotors."""
        return self.rotor_models.get(rotor.model, self.rotor_model)

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
        lift = len(self.lift_rotors) * model.thrust_coefficient_n_s2
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
        if not armed:
            return (0.0,) * len(self.rotors)
        return tuple([
            0.0 if stops and controls[i] == 0.0 else model.reference_rad_s(controls[i])
            for i, model, stops in self._rotor_controls])

    def references(self, controls: typing.Sequence[float], armed: bool) -> tuple[float, ...]:
        """Return the references of rotors, motors and servos for an autopilot's controls, -1..1."""
        speeds = self.rotor_speed_references_rad_s(controls, armed)
        if not self.actuator_indices:
            return speeds
        motors = [motor.reference_rad_s(controls[motor.control]) if armed else 0.0
                  for motor in self.motors]
        angles = [servo.reference_rad(controls[servo.control]) for servo in self.servos]
        return References.of((*speeds, *motors, *angles), len(angles))

    def as_references(self, values: typing.Sequence[float]) -> tuple[float, ...]:
        """Return the references of all actuators, given as numbers, as `references` does."""
        if not self.actuator_indices:
            return tuple(values)
        return References.of(values, len(self.servos))

    @functools.cached_property
    def _rotor_controls(self) -> tuple[tuple[int, RotorModel, bool], ...]:
        """Of each rotor: the index of its control, its model, whether it stops at 0."""
        return tuple(
            (i if rotor.control < 0 else rotor.control, self.model_of(rotor), rotor.stops)
            for i, rotor in enumerate(self.rotors))


def _points(name: str, value: typing.Any) -> tuple[Vector, ...]:
    return tuple(
        ContactPoint.from_mapping(f'{name}[{i}]', {'position_m': point}).position_m
        for i, point in enumerate(_filled_list(name, value)))


def _check_sections(vehicle: type[Vehicle], owner: str, content: typing.Any) -> None:
    """Refuse a file that lacks a section or has an unknown one."""
    fields = dataclasses.fields(vehicle)
    missing = dataclasses.MISSING
    optional = {field.name for field in fields
                if field.default is not missing or field.default_factory is not missing}
    required = {field.name for field in fields} - optional
    is_mapping = isinstance(content, dict)
    if not is_mapping or 'wheels' not in content:
        required.add('contact_points_m')
    if not is_mapping or 'motors' not in content:
        required |= {'rotor_model', 'rotors'}
    if not is_mapping:
        raise ParameterError(f'{owner}: must be a mapping of {", ".join(sorted(required))}')
    mapping_of(owner, 'vehicle', content, required | optional)
    for key in sorted(required - set(content)):
        raise ParameterError(f'{owner}: missing section {key}')
