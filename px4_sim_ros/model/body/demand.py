# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What an autopilot's controls ask of all actuators, compiled: `Vehicle.references`, to the bit."""
from __future__ import annotations

import numpy as np

from px4_sim_ros.jit.compiled import compiled
from px4_sim_ros.model.vehicle import elements, sections
from px4_sim_ros.model.vehicle.vehicle import Vehicle

# Columns of the table: which control, and the numbers of the two laws. A rotor has a largest
# speed, motors and servos a least control.
CONTROL, GAIN, OFFSET, MOST, LEAST, IS_ROTOR, IS_REVERSIBLE, STOPS, IS_ARMED_ONLY = range(9)
_COLUMNS = 9

_actuator_reference = compiled(elements.actuator_reference)
_rotor_reference_rad_s = compiled(sections.rotor_reference_rad_s)


def demand_table(vehicle: Vehicle) -> np.ndarray:
    """Return the table of a vehicle: rotors, motors, servos, (n, 9)."""
    rows: list[tuple[float, ...]] = []
    for i, rotor in enumerate(vehicle.rotors):
        model = vehicle.model_of(rotor)
        rows.append((
            i if rotor.control < 0 else rotor.control, model.command_gain_rad_s,
            model.command_offset_rad_s, model.max_speed_rad_s, 0.0, 1.0, model.reversible,
            rotor.stops, 1.0))
    rows += [(motor.control, motor.max_speed_rad_s, 0.0, 0.0, motor.least_control, 0.0, 0.0, 0.0,
              1.0) for motor in vehicle.motors]
    rows += [(servo.control, servo.gain_rad, servo.center_rad, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0)
             for servo in vehicle.servos]
    return np.array(rows, float).reshape(-1, _COLUMNS)


@compiled
def set_references(
    references: np.ndarray, table: np.ndarray, controls: np.ndarray, is_armed: bool,
) -> None:
    """Set the references of all actuators.

    :param references: (n,), speeds in rad/s, then angles in rad
    :param controls: (16,), -1..1
    """
    for i in range(len(table)):
        control = controls[int(table[i, CONTROL])]
        if table[i, IS_ARMED_ONLY] != 0.0 and not is_armed:
            references[i] = 0.0
        elif table[i, IS_ROTOR] == 0.0:
            references[i] = _actuator_reference(
                control, table[i, LEAST], table[i, GAIN], table[i, OFFSET])
        elif table[i, STOPS] != 0.0 and control == 0.0:
            references[i] = 0.0
        else:
            references[i] = _rotor_reference_rad_s(
                control, table[i, GAIN], table[i, OFFSET], table[i, MOST],
                table[i, IS_REVERSIBLE] != 0.0)
