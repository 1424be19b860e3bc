# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the parts of a vehicle have to agree on."""
from __future__ import annotations

import typing

from px4_sim_ros.model.errors import ParameterError, did_you_mean, shown
from px4_sim_ros.model.vehicle.sections import NO_ROTOR

if typing.TYPE_CHECKING:
    from px4_sim_ros.model.vehicle.vehicle import Vehicle


def check_parts(owner: str, vehicle: Vehicle) -> None:
    """Check each part, and that all that is named is there.

    :param owner: what to call the vehicle in an error sentence
    :raises ParameterError: naming the part, the value and what is allowed
    """
    vehicle.body.check(f'{owner}: body')
    _check_models(owner, vehicle)
    _check_names(owner, vehicle)
    servos = [servo.name for servo in vehicle.servos]
    for i, rotor in enumerate(vehicle.rotors):
        rotor.check(f'{owner}: rotors[{i}]')
        _check_known(f'{owner}: rotors[{i}].model', rotor.model, vehicle.rotor_models)
        _check_known(f'{owner}: rotors[{i}].tilted_by', rotor.tilted_by, servos)
    for i, surface in enumerate(vehicle.surfaces):
        name = f'{owner}: surfaces[{i}]'
        surface.check(name)
        _check_known(f'{name}.servo', surface.servo, servos)
        if surface.in_wake_of > len(vehicle.rotors):
            raise ParameterError(
                f'{name}.in_wake_of = {surface.in_wake_of}: must be at most'
                f' {len(vehicle.rotors)}, the number of rotors')
    for i, wheel in enumerate(vehicle.wheels):
        wheel.check(f'{owner}: wheels[{i}]')
        _check_known(f'{owner}: wheels[{i}].steered_by', wheel.steered_by, servos)
        _check_known(f'{owner}: wheels[{i}].driven_by', wheel.driven_by,
                     [motor.name for motor in vehicle.motors])
    if vehicle.drives and not any(wheel.driven_by for wheel in vehicle.wheels):
        raise ParameterError(f'{owner}: wheels: one must be driven_by a motor, without rotors')


def check_is_multirotor(vehicle: Vehicle) -> None:
    """Check that the embedded autopilot can fly a vehicle.

    :raises ParameterError: it has wings or wheels, which need control
    """
    if not vehicle.flies_on_rotors:
        raise ParameterError(
            f'vehicle {vehicle.name}: the embedded autopilot controls multirotors only; the'
            ' autopilot px4 controls all')


def _check_models(owner: str, vehicle: Vehicle) -> None:
    """Check the models of the rotors and of their motors."""
    models = {'': vehicle.rotor_model, **vehicle.rotor_models}
    if vehicle.rotors and vehicle.rotor_model is NO_ROTOR:
        raise ParameterError(f'{owner}: missing section rotor_model, what its rotors are')
    for name, model in models.items():
        model.check(_section(owner, 'rotor_model', name))
        own = vehicle.motor_models.get(name)
        motor = own or vehicle.motor_model
        if motor is not None:
            motor.check(_section(owner, 'motor_model', name if own else ''), model)
    for name in vehicle.motor_models:
        _check_known(f'{owner}: motor_models.{name}', name, vehicle.rotor_models)
    if vehicle.battery is not None and vehicle.motor_model is None:
        raise ParameterError(f'{owner}: missing section motor_model, what the battery feeds')


def _section(owner: str, section: str, name: str) -> str:
    return f'{owner}: {section}s.{name}' if name else f'{owner}: {section}'


def _check_names(owner: str, vehicle: Vehicle) -> None:
    """Check that motors and servos have names of their own."""
    seen: set[str] = set()
    for section in 'motors', 'servos':
        for i, part in enumerate(getattr(vehicle, section)):
            if not part.name or part.name in seen:
                raise ParameterError(
                    f'{owner}: {section}[{i}].name = {shown(part.name)}: must be a name that no'
                    ' other motor or servo has')
            seen.add(part.name)


def _check_known(name: str, value: str, known: typing.Iterable[str]) -> None:
    """Check that a part that is named is there; '' names none."""
    names = sorted(known)
    if value and value not in names:
        there = f"there are {', '.join(names)}" if names else 'there is none'
        raise ParameterError(
            f'{name} = {shown(value)}: there is no such part{did_you_mean(value, names)}; {there}')
