# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What follows from a vehicle file: figures of hover, control, battery and drag; and all by kind.

Each figure has the range in which it is plausible for a multicopter.
All are found with the models that fly, or from closed forms named here.
"""
from __future__ import annotations

import dataclasses
import math
import typing

from px4_sim_ros.check.body import BodyFigures, body_figures, wheel_figures
from px4_sim_ros.check.wings import wing_figures
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.parameters import Parameters, parameter, range_text
from px4_sim_ros.model.vehicle.sections import LOW_CHARGE, Rotor
from px4_sim_ros.model.vehicle.steady_states import SteadyStates
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.model.world import Environment

# How a vehicle flies on its wing: rotors that tilt pull it on, and a tailsitter lies down.


def in_cruise(vehicle: Vehicle) -> Vehicle:
    """Return a vehicle with surfaces as it cruises, x along its path.

    Rotors that tilt point to where their servos turn them at control 1, and are fixed there.
    """
    rotors = tuple(_tilted(rotor, vehicle) for rotor in vehicle.rotors)
    found = dataclasses.replace(vehicle, rotors=rotors)
    return _lying(found) if found.stands_on_its_tail else found


def _tilted(rotor: Rotor, vehicle: Vehicle) -> Rotor:
    for servo in vehicle.servos:
        if servo.name == rotor.tilted_by:
            return dataclasses.replace(
                rotor, axis=rotor.direction_at(servo.reference_rad(1.0)), tilted_by='')
    return rotor


def _lying(vehicle: Vehicle) -> Vehicle:
    """Return a vehicle that stands on its tail after it has turned nose down by 90 degrees."""
    return dataclasses.replace(
        vehicle,
        rotors=tuple(dataclasses.replace(
            r, position_m=_turned(r.position_m), axis=_turned(r.axis)) for r in vehicle.rotors),
        surfaces=tuple(dataclasses.replace(
            s, position_m=_turned(s.position_m), chord=_turned(s.chord), normal=_turned(s.normal))
            for s in vehicle.surfaces))


def _turned(v: Vector) -> Vector:
    """Return the axes with up as ahead, and behind as up."""
    x, y, z = v
    return z, y, -x


@dataclasses.dataclass(frozen=True)
class Figures(BodyFigures):
    """The figures of a vehicle that hovers, each with its meaning, its unit and its range.

    They are for the air at home and a full, rested battery unless they say otherwise. None: the
    vehicle has no battery or no motor model.
    """

    roll_gyration: float = parameter(
        'radius of gyration / arm, about x', minimum=0.15, maximum=1)
    pitch_gyration: float = parameter('the same about y', minimum=0.15, maximum=1)
    yaw_gyration: float = parameter('the same about z', minimum=0.15, maximum=1)
    arm_m: float = parameter('longest distance of a rotor from body z', 'm', above=0)
    spin_imbalance: float = parameter(
        'rotors of one sense more than of the other, which yaws in hover', maximum=0)
    thrust_offset: float = parameter(
        'thrust centre from the centre of mass / arm, which takes trim in hover', maximum=0.02)
    disc_loading_n_m2: float = parameter('weight / area of the discs', 'N/m^2',
                                         minimum=5, maximum=600)
    figure_of_merit: float | None = parameter(
        'ideal power in hover / shaft power', minimum=0.25, maximum=0.85)
    tip_speed_m_s: float = parameter(
        'of a blade at the highest speed that is asked for', 'm/s', maximum=250)
    hover_speed_rad_s: float = parameter('speed of the rotors in hover', 'rad/s', above=0)
    hover_speed_sea_level_rad_s: float = parameter('the same at sea level', 'rad/s', above=0)
    hover_command: float = parameter('motor control 0..1 in hover', minimum=0.2, maximum=0.85)
    hover_command_sea_level: float = parameter(
        'the same at sea level', minimum=0.2, maximum=0.85)
    hover_command_low_charge: float = parameter(
        'motor control in hover with 20 % of the charge; above 1 it cannot', maximum=0.95)
    thrust_to_weight: float = parameter(
        'thrust at full control / weight', minimum=1.2, maximum=20)
    motor_voltage_share: float | None = parameter(
        'voltage that a motor takes at full control / that of the bus', maximum=1)
    roll_acceleration_rad_s2: float = parameter(
        'largest about x while the thrusts carry the weight', 'rad/s^2', minimum=10, maximum=5000)
    pitch_acceleration_rad_s2: float = parameter(
        'the same about y', 'rad/s^2', minimum=10, maximum=5000)
    yaw_acceleration_rad_s2: float = parameter(
        'the same about z', 'rad/s^2', minimum=0.5, maximum=500)
    time_constant_up_s: float = parameter('lag of a rising speed', 's', minimum=0.002, maximum=0.2)
    time_constant_down_s: float = parameter(
        'lag of a falling speed', 's', minimum=0.002, maximum=0.3)
    hover_power_w: float | None = parameter('power from the bus in hover', 'W', above=0)
    hover_current_a: float | None = parameter('current from the packs in hover', 'A', above=0)
    hover_c_rate: float | None = parameter(
        'the same / capacity', '1/h', maximum=25)
    endurance_low_charge_s: float | None = parameter(
        'hover until 20 % of the charge is left, or it cannot', 's', minimum=120)
    endurance_s: float | None = parameter(
        'hover until the charge is gone, or it cannot', 's', minimum=120)
    climb_speed_m_s: float = parameter('highest, straight up', 'm/s', minimum=1, maximum=60)
    tilted_speed_m_s: float = parameter(
        'level flight in which drag takes 30 deg of tilt', 'm/s', minimum=5, maximum=60)
    fall_speed_m_s: float = parameter(
        'terminal, upright, rotors still', 'm/s', minimum=5, maximum=100)
    rotor_clearance_m: float = parameter('lowest rotor above the lowest foot', 'm', above=0)


def figures(vehicle: Vehicle, environment: Environment, step_s: float) -> Figures:
    """Return the figures of a vehicle with rotors that lift: on these, whatever else it has."""
    density, gravity = environment.density_kg_m3(0.0), environment.gravity_m_s2(0.0)
    sea_level = environment.density_kg_m3(-environment.home_altitude_m)
    standing = body_figures(vehicle, gravity, step_s)
    vehicle = vehicle.on_rotors()
    body, rotor = vehicle.body, vehicle.rotor_model
    weight = body.mass_kg * gravity
    plant = SteadyStates(vehicle, density, gravity)
    full, low = plant.full_charge(), plant.low_charge()
    current = plant.hover_current_a(full)
    gyration = [
        math.sqrt(i / body.mass_kg) / (plant.arm_m or math.inf) for i in body.inertia_kg_m2]
    roll, pitch, yaw = plant.angular_accelerations()
    return Figures(
        **dataclasses.asdict(standing),
        roll_gyration=gyration[0], pitch_gyration=gyration[1], yaw_gyration=gyration[2],
        arm_m=plant.arm_m,
        spin_imbalance=abs(sum(r.spin for r in vehicle.rotors)),
        thrust_offset=math.hypot(
            *(sum(r.position_m[i] for r in vehicle.rotors) / len(vehicle.rotors)
              for i in (0, 1))) / (plant.arm_m or math.inf),
        disc_loading_n_m2=weight / (len(vehicle.rotors) * rotor.disc_area_m2),
        figure_of_merit=(
            rotor.hover_inflow_m / vehicle.motor_model.shaft_torque_coefficient_m
            if vehicle.motor_model else None),
        tip_speed_m_s=plant.full_speed * 0.5 * rotor.propeller_diameter_m,
        hover_speed_rad_s=plant.hover_speed,
        hover_speed_sea_level_rad_s=vehicle.hover_speed_rad_s(gravity, sea_level),
        hover_command=plant.hover_command(full),
        hover_command_sea_level=SteadyStates(vehicle, sea_level, gravity).hover_command(full),
        hover_command_low_charge=plant.hover_command(low),
        thrust_to_weight=plant.full_thrust_n(full) / weight,
        motor_voltage_share=plant.motor_voltage_share(full),
        roll_acceleration_rad_s2=roll, pitch_acceleration_rad_s2=pitch,
        yaw_acceleration_rad_s2=yaw,
        time_constant_up_s=rotor.time_constant_up_s,
        time_constant_down_s=rotor.time_constant_down_s,
        hover_power_w=plant.hover_power_w if vehicle.motor_model else None,
        hover_current_a=current,
        hover_c_rate=(current / vehicle.battery.capacity_ah
                      if current is not None and vehicle.battery else None),
        endurance_low_charge_s=plant.endurance_s(LOW_CHARGE),
        endurance_s=plant.endurance_s(0.0),
        climb_speed_m_s=plant.climb_speed_m_s(full),
        tilted_speed_m_s=plant.tilted_speed_m_s(),
        fall_speed_m_s=plant.fall_speed_m_s(),
        rotor_clearance_m=(
            min(r.position_m[2] for r in vehicle.rotors) + standing.standing_height_m))


def all_figures(
    vehicle: Vehicle, environment: Environment, step_s: float,
) -> list[Parameters]:
    """Return the figures of a vehicle: as a body, on rotors, on wheels, on the wing."""
    gravity = environment.gravity_m_s2(0.0)
    found: list[Parameters] = []
    if vehicle.lift_rotors:
        found.append(figures(vehicle, environment, step_s))
    elif vehicle.drives:
        found.append(wheel_figures(vehicle, gravity, step_s))
    else:
        found.append(body_figures(vehicle, gravity, step_s))
    cruising = in_cruise(vehicle)
    if vehicle.surfaces and len(cruising.lift_rotors) < len(vehicle.rotors) and vehicle.servos:
        found.append(wing_figures(cruising, environment))
    return found


def implausible(figures: Parameters) -> list[str]:
    """Return a sentence about each figure out of its range: name, value, what is expected."""
    sentences = []
    for name, info in figures.infos().items():
        value = getattr(figures, name)
        if value is not None and not _within(value, info):
            unit = f" {info['unit']}" if info['unit'] else ''
            sentences.append(
                f"{name} = {value:.4g}{unit}: expected {range_text(info)}; it is"
                f" {info['description']}")
    return sentences


def _within(value: float, info: typing.Mapping[str, typing.Any]) -> bool:
    """Return whether a value is in its range; rounding does not put it out."""
    slack = 1e-9
    return (
        (info['minimum'] is None or value >= info['minimum'] - slack)
        and (info['above'] is None or value > info['above'])
        and (info['maximum'] is None or value <= info['maximum'] + slack))


def as_json(figures: Parameters) -> dict[str, float | None]:
    """Return the figures by name; JSON has no infinity, so an infinite one is None."""
    return {name: None if value is None or value in (float('inf'), float('-inf')) else value
            for name, value in dataclasses.asdict(figures).items()}
