# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A vehicle in its environment as the compiled equations of motion read it: tables of numbers."""
from __future__ import annotations

import math
import typing

import numpy as np

from px4_sim_ros.jit.compiled import compiled, record
from px4_sim_ros.model.body.alterations import UNALTERED, Alterations, loaded
from px4_sim_ros.model.body.battery import packs_on_a_bus
from px4_sim_ros.model.body.contact import contact_constants, foot_table, reach_m
from px4_sim_ros.model.body.rotors import RotorSet
from px4_sim_ros.model.body.scene_contact import contact_rows
from px4_sim_ros.model.body.surfaces import surface_table
from px4_sim_ros.model.environment.ground import Ground
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.scene.height_map import ROWS, relief_of
from px4_sim_ros.model.scene.moving import paths_of
from px4_sim_ros.model.scene.shapes import shapes_of
from px4_sim_ros.model.vehicle.elements import Motor, Servo
from px4_sim_ros.model.vehicle.sections import Body
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.model.world import Environment

# Servos and the motors of wheels: a lag of the first order, with a highest rate.
#
# What follows is an angle in rad for a servo, a speed in rad/s for a motor; it goes no further
# than that can.

# The columns of the table: time constant in s; highest rate in 1/s and ends of what follows.
LAG, RATE, LEAST, MOST = range(4)


def actuator_table(
    motors: typing.Sequence[Motor], servos: typing.Sequence[Servo],
) -> np.ndarray:
    """Return the constants of motors, then servos, for compiled functions, one entry each."""
    return np.array(
        [(motor.lag_s, math.inf, motor.least_rad_s, motor.max_speed_rad_s) for motor in motors]
        + [(servo.lag_s, servo.rate_rad_s, servo.center_rad - servo.travel_rad,
            servo.center_rad + servo.travel_rad) for servo in servos], float).reshape(-1, 4)


@compiled
def actuator_rate(actuators: np.ndarray, index: int, value: float, reference: float) -> float:
    """Return the rate of what follows a reference: rad/s, or rad/s^2 of a motor."""
    highest: float = actuators[index, RATE]
    goal = max(actuators[index, LEAST], min(reference, actuators[index, MOST]))
    rate: float = (goal - value) / actuators[index, LAG]
    return max(-highest, min(rate, highest))


_TENSOR = {'x': (0, 0), 'y': (1, 1), 'z': (2, 2), 'xy': (0, 1), 'xz': (0, 2), 'yz': (1, 2)}


class Plant(typing.NamedTuple):
    """A vehicle in its environment, as compiled functions read it."""

    constants: np.ndarray          # a record
    rotors: np.ndarray             # of `RotorSet`
    surfaces: np.ndarray           # of `surface_table`
    actuators: np.ndarray          # of `actuator_table`
    packs: np.ndarray              # of `packs_on_a_bus`; none: the bus has its nominal voltage
    feet: np.ndarray               # of `foot_table`; none: there is no ground
    shapes: np.ndarray             # of `contact_rows`: what stands in the world
    relief: np.ndarray             # of `relief_of`; without a map the ground is a plane
    paths: np.ndarray              # of `paths_of`; empty where nothing moves

    @classmethod
    def of(cls, vehicle: Vehicle, environment: Environment, *, ground: bool) -> Plant:
        """Return a vehicle over the ground, or without any."""
        body, battery, air = vehicle.body, vehicle.battery, environment.atmosphere
        scene = environment.scene if ground else None
        relief = relief_of(scene)
        indices = vehicle.actuator_indices
        rotors = RotorSet(
            vehicle.rotor_model, vehicle.rotors, vehicle.motor_model if battery else None,
            vehicle.rotor_models, vehicle.motor_models if battery else None, indices)
        return cls(
            record(
                **rotors.constants, tilts=any(rotor.tilted_by for rotor in vehicle.rotors),
                **contact_constants(
                    vehicle.contact_model, vehicle.all_points_m if ground else (),
                    has_plane=not (scene and scene.ground)),
                **_load(body, UNALTERED), **_spin(()), **_slope(environment.ground),
                linear_drag_n_s_m=body.linear_drag_n_s_m,
                quadratic_drag_n_s2_m2=body.quadratic_drag_n_s2_m2,
                **{f'drag_ratio_{axis}': ratio for axis, ratio in zip('xyz', body.drag_ratios)},
                nominal_voltage_v=battery.nominal_voltage_v if battery else 1.0,
                home_altitude_m=environment.home_altitude_m,
                sea_level_pressure_pa=air.sea_level_pressure_pa,
                sea_level_temperature_k=air.sea_level_temperature_k,
                earth_rate_north=environment.earth_rate_enu[1],
                earth_rate_up=environment.earth_rate_enu[2],
                gravity_at_home=environment.gravity.at_home,
                gravity_per_m=environment.gravity.per_m,
                gravity_per_m2=environment.gravity.per_m2),
            rotors.table, surface_table(vehicle.surfaces, indices),
            actuator_table(vehicle.motors, vehicle.servos), packs_on_a_bus(battery),
            foot_table(vehicle.contact_model.friction_coefficient, *(
                (vehicle.contact_points_m, vehicle.wheels, indices, vehicle.hull_points_m)
                if ground else ((),))),
            contact_rows(shapes_of(scene) if scene else ()), relief, paths_of(scene))

    @property
    def has_scene(self) -> bool:
        """Whether there is more to touch than a plane."""
        return bool(len(self.shapes) or len(self.relief))

    @property
    def is_hilly(self) -> bool:
        """Whether its ground is a height map."""
        return bool(len(self.relief) and self.relief[ROWS])

    @property
    def bulk(self) -> tuple[float, tuple[float, ...]]:
        """Mass in kg, and the inverse inertia in 1/(kg m^2), FLU: x, y, z, xy, xz, yz."""
        c = self.constants[0]
        return float(c['mass_kg']), tuple(float(c[f'inverse_{name}']) for name in _TENSOR)

    def spin(self, torque_enu: typing.Sequence[float]) -> bool:
        """Set the torque from outside, N m; return whether there is any."""
        constants = _spin(torque_enu)
        for name, value in constants.items():
            self.constants[name] = value
        return bool(constants['is_spun'])

    def copy(self) -> Plant:
        """Return another one that is equal."""
        return Plant(*(array.copy() for array in self))

    def alter(self, made: Plant, body: Body, altered: Alterations) -> Vector:
        """Load a vehicle, always from how it was made; return its centre of mass, m, FLU.

        All places are from the centre of mass, so they move the other way. Drag of the body stays
        on it, and the geometry by which wheels are steered moves with them.

        :param made: the plant without any load
        :param body: of the vehicle, without any load
        """
        body, center = loaded(body, altered)
        for name, value in _load(body, altered).items():
            self.constants[name] = value
        for moved, table in ((self.rotors, made.rotors), (self.surfaces, made.surfaces),
                             (self.feet, made.feet)):
            if len(table):
                moved[:, :3] = table[:, :3] - center
        if len(self.feet):
            self.constants['size_m'] = reach_m(
                [(x, y, z) for x, y, z in self.feet[:, :3].tolist()])
            if not self.is_hilly:
                self.constants['reach_m'] = self.constants['size_m']
        return center


def _load(body: Body, altered: Alterations) -> dict[str, float | bool]:
    """Return the constants of a body that alterations change.

    :param body: with its loads
    """
    tensor = np.array(body.inertia_tensor)
    inverse = np.linalg.inv(tensor)
    found: dict[str, float | bool] = {
        f'inertia_{name}_kg_m2': tensor[place] for name, place in _TENSOR.items()}
    found |= {f'inverse_{name}': inverse[place] for name, place in _TENSOR.items()}
    torque_x, torque_y, torque_z = altered.torque_flu
    return found | {
        'is_principal': not any(body.inertia_products_kg_m2),
        'mass_kg': body.mass_kg, 'density_share': altered.density_share,
        'is_twisted': any(altered.torque_flu), 'torque_x_n_m': torque_x, 'torque_y_n_m': torque_y,
        'torque_z_n_m': torque_z}


def _spin(torque_enu: typing.Sequence[float]) -> dict[str, float | bool]:
    """Return the constants of a torque from outside; of an empty one there is none."""
    east, north, up = torque_enu or (0.0, 0.0, 0.0)
    return {'is_spun': any(torque_enu), 'spin_east_n_m': east, 'spin_north_n_m': north,
            'spin_up_n_m': up}


def _slope(ground: Ground) -> dict[str, float | bool]:
    """Return the constants of the ground: the rotation from its axes into those of the world."""
    return {'is_sloping': not ground.is_level,
            **{f'slope_{i}': value for i, value in enumerate(ground.matrix)}}
