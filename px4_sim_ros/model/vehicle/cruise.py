# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How a vehicle flies on its wing: rotors that tilt pull it on, and a tailsitter lies down."""
from __future__ import annotations

import dataclasses

from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.vehicle.sections import Rotor
from px4_sim_ros.model.vehicle.vehicle import Vehicle


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
    """Return what is up as ahead, and what is behind as up."""
    x, y, z = v
    return z, y, -x
