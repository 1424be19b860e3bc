"""A vehicle from its file: mass, drag, rotors, battery and the points that touch the ground."""
from __future__ import annotations

import dataclasses
import math
import typing

from px4_sim_ros.model.body.battery_model import BatteryModel, Pack
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.parameters import ParameterError, Parameters, parameter

# HIL_ACTUATOR_CONTROLS has no more controls.
MOST_ROTORS = 16


@dataclasses.dataclass(frozen=True)
class Body(Parameters):
    """The rigid body; its origin is the centre of mass, its axes are principal ones.

    Drag is that of the whole body in air of the rotor model's reference density.
    """

    mass_kg: float = parameter('mass of the whole vehicle', 'kg', above=0)
    inertia_kg_m2: tuple[float, float, float] = parameter(
        'principal moments of inertia', 'kg m^2', above=0)
    linear_drag_n_s_m: float = parameter('drag force per airspeed', 'N s/m', minimum=0)
    quadratic_drag_n_s2_m2: float = parameter(
        'drag force per airspeed squared', 'N s^2/m^2', minimum=0)


@dataclasses.dataclass(frozen=True)
class RotorModel(Parameters):
    """What all rotors of a vehicle have in common.

    Coefficients of forces hold in air of the reference density.
    """

    thrust_coefficient_n_s2: float = parameter(
        'hover thrust / speed^2', 'N/(rad/s)^2', above=0)
    moment_coefficient_m: float = parameter('reaction torque / thrust', 'm', minimum=0)
    time_constant_up_s: float = parameter('lag of a rising speed', 's', above=0)
    time_constant_down_s: float = parameter('lag of a falling speed', 's', above=0)
    max_speed_rad_s: float = parameter(
        'highest speed, at the nominal voltage of the bus', 'rad/s', above=0)
    drag_coefficient_n_s2_m: float = parameter(
        'drag force / (speed * edgewise airspeed)', 'N s^2/m', minimum=0)
    rolling_moment_coefficient_n_s2: float = parameter(
        'rolling moment / (speed * edgewise airspeed)', 'N s^2', minimum=0)
    inertia_kg_m2: float = parameter('moment of inertia about the shaft', 'kg m^2', minimum=0)
    propeller_diameter_m: float = parameter('of the disc', 'm', above=0)
    zero_thrust_advance_ratio: float = parameter(
        'J = airspeed / (revolutions per second * diameter) where the thrust is gone in climb',
        above=0)
    reference_density_kg_m3: float = parameter(
        'density of the air that the coefficients hold in', 'kg/m^3', above=0)
    command_gain_rad_s: float = parameter('speed per unit of command', 'rad/s', above=0)
    command_offset_rad_s: float = parameter('speed when armed at command 0', 'rad/s', minimum=0)

    @property
    def disc_area_m2(self) -> float:
        """The area that one propeller sweeps."""
        return math.pi * (0.5 * self.propeller_diameter_m) ** 2

    @property
    def hover_inflow_m(self) -> float:
        """Induced velocity in hover / rotor speed: T = 2 rho A v^2 with T = k w^2."""
        return math.sqrt(
            self.thrust_coefficient_n_s2 / (2.0 * self.reference_density_kg_m3 * self.disc_area_m2))

    @property
    def zero_thrust_inflow_m(self) -> float:
        """Axial airspeed at which the thrust is gone / rotor speed: J D / (2 pi)."""
        return self.zero_thrust_advance_ratio * self.propeller_diameter_m / math.tau

    def check(self, owner: str) -> None:
        """Check that the propeller can hover.

        :raises ParameterError: its thrust would be gone below the induced velocity in hover
        """
        least = self.hover_inflow_m * math.tau / self.propeller_diameter_m
        if self.zero_thrust_advance_ratio <= least:
            raise ParameterError(
                f'{owner}.zero_thrust_advance_ratio = {self.zero_thrust_advance_ratio}: must be'
                f' greater than {least:.3g}, the advance ratio of its own downwash in hover')


@dataclasses.dataclass(frozen=True)
class MotorModel(Parameters):
    """Motor, speed controller and propeller as a load of the battery; all motors are alike."""

    shaft_torque_coefficient_m: float = parameter(
        'shaft torque / thrust in hover, for the power only', 'm', above=0)
    motor_kv_rad_s_v: float = parameter('speed / back voltage', 'rad/s/V', above=0)
    winding_resistance_ohm: float = parameter('of one motor', 'ohm', minimum=0)
    no_load_current_a: float = parameter('of one motor when it turns', 'A', minimum=0)
    esc_efficiency: float = parameter('power to the motor / power from the bus', above=0, maximum=1)
    avionics_power_w: float = parameter('power that all else draws', 'W', minimum=0)

    def check(self, owner: str, rotor: RotorModel) -> None:
        """Check that the propeller draws at least the power of its own downwash.

        :raises ParameterError: it would be better than an ideal one
        """
        if self.shaft_torque_coefficient_m < rotor.hover_inflow_m:
            raise ParameterError(
                f'{owner}.shaft_torque_coefficient_m = {self.shaft_torque_coefficient_m}: must be'
                f' at least {rotor.hover_inflow_m:.3g} m, that of an ideal propeller')


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
    for key, number in value.items():
        if type(number) not in (int, float) or not math.isfinite(number):
            raise ParameterError(f'{name}.{key} = {number!r}: must be a number')
    return value


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
        """Cells of the battery in series, as PX4 is told; 1 without a battery."""
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

    def thrust_to_weight(
        self, gravity_m_s2: float, density_kg_m3: float | None = None,
        bus_voltage_v: float | None = None,
    ) -> float:
        """Return the thrust of all rotors at their highest speed over the weight.

        :param bus_voltage_v: under load; nominal if not given
        """
        speed = self.rotor_model.max_speed_rad_s * self._voltage_share(bus_voltage_v)
        return (speed / self.hover_speed_rad_s(gravity_m_s2, density_kg_m3)) ** 2

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
    """Refuse a file that lacks a section or has one that nobody reads."""
    fields = dataclasses.fields(vehicle)
    optional = {'motor_model', 'battery', 'px4_parameters'}
    required = {field.name for field in fields} - optional
    if not isinstance(content, dict):
        raise ParameterError(f'{owner}: must be a mapping of {", ".join(sorted(required))}')
    for key in sorted(required - set(content)):
        raise ParameterError(f'{owner}: missing section {key}')
    for key in sorted(set(content) - required - optional, key=str):
        raise ParameterError(f'{owner}: unknown section {key}')
