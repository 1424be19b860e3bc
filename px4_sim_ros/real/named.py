# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The numbers that can be identified, by name, and a vehicle and a flight with other ones.

Most are numbers of the vehicle file and have the name that they have there. The others are of the
log: its wind, how its body axes are turned from those of the vehicle, where its centre of mass is.
"""
from __future__ import annotations

import copy
import dataclasses
import math
import re
import typing

import numpy as np

from px4_sim_ros.model import rotation
from px4_sim_ros.model.environment.atmosphere import STANDARD_GRAVITY_M_S2
from px4_sim_ros.model.errors import ParameterError, did_you_mean
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.real.flight import RealFlight
from px4_sim_ros.real.open_loop import turned

Values = typing.Mapping[str, float]
Content = typing.Mapping[str, typing.Any]
"""The content of a vehicle file."""

_DRAG_SHARE = 0.05             # of the weight at 5 m/s: what an unknown drag may be like
_DRAG_AT_M_S = 5.0


class Unknown(typing.NamedTuple):
    """A number that can be identified."""

    name: str
    unit: str
    meaning: str
    least: float               # -inf, 0, or the smallest number above 0
    by_default: bool = True    # otherwise only if it is asked for
    turns: str = ''            # the axes about which it turns the vehicle; '' for a force


_ABOVE_0 = 1e-12
# In the order in which they are kept when a log cannot tell two apart.
NAMED: dict[str, Unknown] = {found.name: found for found in (
    Unknown('rotor_model.thrust_coefficient_n_s2', 'N/(rad/s)^2', 'thrust of a rotor', _ABOVE_0),
    Unknown('rotor_model.drag_coefficient_n_s2_m', 'N s^2/m', 'drag of a rotor', 0.0),
    Unknown('body.inertia_kg_m2[0]', 'kg m^2', 'inertia about x', _ABOVE_0, turns='x'),
    Unknown('body.inertia_kg_m2[1]', 'kg m^2', 'inertia about y', _ABOVE_0, turns='y'),
    Unknown('body.inertia_kg_m2[2]', 'kg m^2', 'inertia about z', _ABOVE_0, turns='z'),
    Unknown('rotor_model.time_constant_up_s', 's', 'lag of a rising rotor', _ABOVE_0,
          turns='xy'),
    Unknown('rotor_model.time_constant_down_s', 's', 'lag of a falling rotor', _ABOVE_0,
          turns='xy'),
    Unknown('body.quadratic_drag_n_s2_m2', 'N s^2/m^2', 'drag of the body', 0.0),
    Unknown('center_of_mass_m[0]', 'm', 'centre of mass, forward of that of the file', -math.inf,
          turns='y'),
    Unknown('center_of_mass_m[1]', 'm', 'centre of mass, left of that of the file', -math.inf,
          turns='x'),
    Unknown('mounting_rad[0]', 'rad', "roll of the log's body axes", -math.inf),
    Unknown('mounting_rad[1]', 'rad', "pitch of the log's body axes", -math.inf),
    Unknown('wind_m_s[0]', 'm/s', 'wind to the east, all the time', -math.inf),
    Unknown('wind_m_s[1]', 'm/s', 'wind to the north, all the time', -math.inf),
    Unknown('rotor_model.moment_coefficient_m', 'm', 'torque / thrust of a rotor', _ABOVE_0, False,
          'z'),
    Unknown('rotor_model.zero_thrust_advance_ratio', '', 'where a climb takes the thrust', _ABOVE_0,
          False),
    Unknown('rotor_model.command_gain_rad_s', 'rad/s', 'speed per command', _ABOVE_0, False),
    Unknown('body.linear_drag_n_s_m', 'N s/m', 'drag of the body', 0.0, False),
    Unknown('body.mass_kg', 'kg', 'mass', _ABOVE_0, False),
    # By their own means, in `electric`.
    Unknown('motor_model.shaft_torque_coefficient_m', 'm', 'torque on a shaft / thrust', _ABOVE_0),
    Unknown('battery.packs[0].series_resistance_ohm', 'ohm', 'R0 of the pack', _ABOVE_0),
)}
_OF_LOG = 'wind_m_s', 'mounting_rad'
_CENTRE = 'center_of_mass_m'
_POINTS = 'contact_points_m', 'hull_points_m'


def check_names(names: typing.Iterable[str]) -> None:
    """Check that these can be identified."""
    for name in names:
        if name not in NAMED:
            raise ParameterError(f'fit {name!r}: there is no such number'
                                 f'{did_you_mean(name, NAMED)}; there are {", ".join(NAMED)}')


def value_of(content: Content, name: str) -> float:
    """Return a number as the vehicle file has it; 0 of what a file does not have."""
    first, *rest = _path(name)
    if first in (*_OF_LOG, _CENTRE):
        return 0.0
    found: typing.Any = content[str(first)]
    for key in rest:
        found = found[key]
    return float(found)


def scale_of(content: Content, name: str) -> float:
    """Return the scale of a number: its value, or a typical one."""
    value = abs(value_of(content, name))
    if value > 0.0:
        return value
    vehicle = Vehicle.from_mapping('vehicle', content)
    drag = _DRAG_SHARE * vehicle.body.mass_kg * STANDARD_GRAVITY_M_S2
    speed = vehicle.hover_speed_rad_s(STANDARD_GRAVITY_M_S2) * len(vehicle.rotors)
    arm = max(math.hypot(*rotor.position_m[:2]) for rotor in vehicle.rotors)
    return {'body.linear_drag_n_s_m': drag / _DRAG_AT_M_S,
            'body.quadratic_drag_n_s2_m2': drag / _DRAG_AT_M_S ** 2,
            'rotor_model.drag_coefficient_n_s2_m': drag / _DRAG_AT_M_S / speed,
            f'{_CENTRE}[0]': 0.05 * arm, f'{_CENTRE}[1]': 0.05 * arm}.get(
                name, 1.0 if name.startswith('wind') else 0.02)


def changed(content: Content, values: Values) -> dict[str, typing.Any]:
    """Return the content of a vehicle file with other numbers; those of a log are left out."""
    found = copy.deepcopy(dict(content))
    for name, value in values.items():
        first, *rest = _path(name)
        if first == _CENTRE:
            _shift(found, int(rest[0]), value)
        elif first not in _OF_LOG:
            place: typing.Any = found[str(first)]
            for key in rest[:-1]:
                place = place[key]
            place[rest[-1]] = value
    return found


def _shift(content: dict[str, typing.Any], axis: int, by_m: float) -> None:
    """Move the centre of mass, the origin of all places, along an axis."""
    rotors = [rotor['position_m'] for rotor in content['rotors']]
    points = [point for name in _POINTS for point in content.get(name, ())]
    for place in [*rotors, *points]:
        place[axis] = float(place[axis]) - by_m


def with_values(flight: RealFlight, values: Values) -> RealFlight:
    """Return a flight with the wind and the mounting of its log."""
    wind = [values.get(f'wind_m_s[{axis}]', 0.0) for axis in range(2)]
    angles = [values.get(f'mounting_rad[{axis}]', 0.0) for axis in range(2)]
    if any(wind):
        flight = dataclasses.replace(
            flight, wind_m_s=np.tile((*wind, 0.0), (flight.samples, 1)),
            unknown=(*(one for one in flight.unknown if not one.startswith('wind: ')),
                     f'wind: taken as {wind[0]:g} m/s to the east and {wind[1]:g} m/s to the'
                     ' north all the time; what came and went is an error of the model'))
    if any(angles):
        turn = rotation.from_rotation_vector((angles[0], angles[1], 0.0))
        r = np.array(rotation.matrix(turn)).reshape(3, 3)
        flight = dataclasses.replace(
            flight, attitude=turned(flight.attitude, np.array(turn)),
            rate_rad_s=flight.rate_rad_s @ r,
            specific_force_m_s2=None if flight.specific_force_m_s2 is None
            else flight.specific_force_m_s2 @ r)
    return flight


def _path(name: str) -> list[str | int]:
    """Return the keys and indices on the way to a number: `body.inertia_kg_m2[0]` has three."""
    return [int(word) if word.isdecimal() else word for word in re.findall(r'[^.\[\]]+', name)]
