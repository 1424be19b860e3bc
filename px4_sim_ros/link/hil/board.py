# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What has to be set on a flight controller for HITL: read by MAVLink, compared, set on request.

PX4's control allocation has rotors in forward, right and down axes, and a moment coefficient that
is positive for one that turns counter-clockwise seen from above (its parameter reference,
CA_ROTOR0_PX and following; 0.05 is its default). Outputs of a board are HIL_ACT_FUNCn, those of a
SITL build PWM_MAIN_FUNCn: 101 is motor 1, 201 servo 1.
"""
from __future__ import annotations

import math
import typing

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.fields import packed_parameter, parameter_value
from px4_sim_ros.model.vehicle.sections import Rotor
from px4_sim_ros.model.vehicle.vehicle import Vehicle

_HITL, _RECEIVER, _SUPPLY, _ROTORS = 'SYS_HITL', 'GPS_1_CONFIG', 'CBRK_SUPPLY_CHK', 'CA_ROTOR_COUNT'
_SUPPLY_IS_NOT_CHECKED = 894281
_OUTPUTS = 'HIL_ACT_FUNC', 'PWM_MAIN_FUNC'
_FIRST_MOTOR, _FIRST_SERVO, _SERVOS = 101, 201, 8
_OF_GIMBAL = 420, 421, 422             # roll, pitch and yaw
# The parameter, its value, and why.
_OF_EACH_VEHICLE = (
    (_HITL, 1, 'then it takes simulated measurements from its next start on'),
    (_RECEIVER, 0, 'else a receiver at its port is in the place of the simulated one'),
    (_SUPPLY, _SUPPLY_IS_NOT_CHECKED, 'else it does not arm without a power module'))
# A frame of the airframe may be another one: only the direction of a rotor's place counts.
_SAME_WAY = math.cos(math.radians(45.0))
_KM = 0.05
# Of a number, by its rounding to 32 bits.
_ROUNDED = 1e-6
# Wall time between two requests, and how often each is made: a line may be slow, or busy.
_AGAIN_S, _TRIES = 1.0, 5

Values = typing.Mapping[str, float]


class Board:
    """Asks a controller for its parameters, says which are wrong, and sets them on request."""

    def __init__(self, vehicle: Vehicle, *, sets: bool = False) -> None:
        """Begin.

        :param sets: sets what is wrong, unless the controller is armed
        """
        self._vehicle, self._sets = vehicle, sets
        self.is_armed: bool | None = None
        """Whether the controller is armed; None until it has said so."""
        self.begin()

    def begin(self) -> None:
        """Ask again, as of one that was started anew."""
        self._values: dict[str, float] = {}
        self._missing: set[str] = set()
        self._fits: dict[str, float] = {}        # what is being set
        self._unlike: dict[str, float] = {}      # values that came while others were being set
        self._asked_s, self._asked = -math.inf, 0
        self.is_done = False
        """Whether all is said."""

    def requests(
        self, mav: mavlink.MAVLink, system: int, now_s: float,
    ) -> list[mavlink.MAVLink_message]:
        """Return the messages that are to be sent now.

        :param system: of the controller
        """
        if self.is_done or now_s - self._asked_s < _AGAIN_S or self._asked == _TRIES:
            return []
        self._asked_s, self._asked = now_s, self._asked + 1
        to = system, mavlink.MAV_COMP_ID_AUTOPILOT1
        return [mav.param_set_encode(*to, name.encode(), *packed_parameter(self._fits[name]))
                if self._fits else mav.param_request_read_encode(*to, name.encode(), -1)
                for name in self._awaited()]

    def _awaited(self) -> list[str]:
        return [name for name in self._fits or names(self._vehicle)
                if name not in self._values and name not in self._missing]

    def take(self, message: mavlink.MAVLink_message) -> None:
        """Take in a PARAM_VALUE, or that there is no such parameter, which not each PX4 says."""
        name = message.param_id
        if message.get_type() == 'PARAM_ERROR':
            self._missing.add(name)
            return
        value = parameter_value(message)
        # One that was asked for before it was set may come yet: it is no refusal.
        if name in self._fits and not math.isclose(value, self._fits[name], rel_tol=_ROUNDED):
            self._unlike[name] = value
        else:
            self._values[name] = value

    def sentences(self, now_s: float) -> list[str]:
        """Return sentences about what is wrong, then about what was set.

        Each is returned once: when all is known, or the last request has had its time.
        """
        is_waiting = self._asked < _TRIES or now_s - self._asked_s < _AGAIN_S
        if self.is_done or (is_waiting and self._awaited()) or (
                self._sets and self.is_armed is None):
            return []
        if self._fits:
            self.is_done = True
            return self._of_what_was_set()
        found = wrong(self._vehicle, self._values)
        fits = fitting(self._vehicle, self._values) if self._sets else {}
        left = wrong(self._vehicle, {**self._values, **fits}) if fits else []
        found = [f'{sentence}; it is not set from here' if sentence in left else sentence
                 for sentence in found]
        self.is_done = self.is_armed or not fits
        if not self.is_done:
            self._fits, self._unlike = fits, {name: self._values.pop(name) for name in fits}
            self._missing.clear()
            self._asked_s, self._asked = -math.inf, 0
        elif fits:
            found.append('the controller is armed: nothing is set on it')
        return found

    def _of_what_was_set(self) -> list[str]:
        found = []
        for name, value in self._fits.items():
            if name in self._values:
                found.append(f'set on the controller: {name} = {_shown(value)}')
            else:
                found.append(f'the controller has not taken {name} = {_shown(value)}: it has'
                             f' {_shown(self._unlike[name])}; set it there')
        if any(name in self._values for name in self._fits):
            found.append('start the controller again: what was set holds from its next start on')
        return found


def names(vehicle: Vehicle) -> list[str]:
    """Return the parameters that matter for a vehicle."""
    outputs = sorted(_outputs(vehicle))
    return [_HITL, _RECEIVER, _SUPPLY, *(
        f'{kind}{output}' for kind in _OUTPUTS for output in outputs), *(
        [_ROTORS, *(f'CA_ROTOR{i}_{key}' for i in range(len(vehicle.rotors))
                    for key in ('PX', 'PY', 'KM'))] if vehicle.rotors else ())]


def _outputs(vehicle: Vehicle) -> dict[int, str]:
    """Return the part that each output of the controller drives, from 1 on."""
    found = {_output(i, rotor): f'rotor {i + 1}' for i, rotor in enumerate(vehicle.rotors)}
    return found | {servo.control + 1: f'the servo {servo.name}' for servo in vehicle.servos}


def wrong(vehicle: Vehicle, values: Values) -> list[str]:
    """Return a sentence about each parameter of a board that does not fit HITL with a vehicle."""
    if _HITL not in values:
        return [f'the controller does not answer a PARAM_REQUEST_READ of {_HITL};'
                ' look yourself at what it has set: see docs/px4_and_ports.md']
    found = [_sentence(name, values[name], f'must be {value}: {why}')
             for name, value, why in _OF_EACH_VEHICLE if values.get(name, value) != value]
    return found + _of_outputs(vehicle, values) + _of_rotors(vehicle, values)


def fitting(vehicle: Vehicle, values: Values) -> dict[str, float]:
    """Return the right value of each parameter that is wrong, by its name.

    If one of motors is, all get the order of the vehicle file: its rotor n is motor n. Servos are
    left out: which one of PX4's is at an output follows from its airframe.
    """
    found: dict[str, float] = {name: value for name, value, _ in _OF_EACH_VEHICLE}
    outputs = {f'{_kind(values)}{_output(i, rotor)}': _FIRST_MOTOR + i
               for i, rotor in enumerate(vehicle.rotors)}
    if _of_outputs(vehicle, values, of_servos=False) or _of_rotors(vehicle, values):
        found |= {_ROTORS: len(vehicle.rotors), **outputs}
        for i, rotor in enumerate(vehicle.rotors):
            if not _is_there(rotor, *(place := _place(i, values))):
                forward, left, _ = rotor.position_m
                found |= {f'CA_ROTOR{i}_PX': float(forward), f'CA_ROTOR{i}_PY': -float(left),
                          f'CA_ROTOR{i}_KM': math.copysign(place[2] or _KM, rotor.spin)}
    return {name: value for name, value in found.items()
            if name in values and not math.isclose(values[name], value, rel_tol=_ROUNDED)}


def _sentence(name: str, value: float, rest: str) -> str:
    return f'on the controller {name} = {_shown(value)}: {rest}'


def _shown(value: float) -> str:
    return f'{value:.7g}' if abs(value) < 1e7 else f'{value:.0f}'


def _kind(values: Values) -> str:
    """Return which parameters say what the outputs are."""
    return next((kind for kind in _OUTPUTS if any(name.startswith(kind) for name in values)), '')


def _output(index: int, rotor: Rotor) -> int:
    """Return the number of the output that drives a rotor, from 1 on."""
    return (index if rotor.control < 0 else rotor.control) + 1


def _of_outputs(vehicle: Vehicle, values: Values, *, of_servos: bool = True) -> list[str]:
    kind, found = _kind(values), []
    first_servo = range(_FIRST_SERVO, _FIRST_SERVO + _SERVOS)
    for output, what in sorted(_outputs(vehicle).items()):
        name = f'{kind}{output}'
        value = values.get(name)
        is_servo = what.startswith('the servo')
        allowed = first_servo if is_servo else range(
            _FIRST_MOTOR, _FIRST_MOTOR + len(vehicle.rotors))
        if is_servo and value in _OF_GIMBAL:
            continue
        if value is not None and value not in allowed and (of_servos or not is_servo):
            found.append(_sentence(name, value, f'must be {allowed[0]} to {allowed[-1]}: it drives'
                                   f' {what} of {vehicle.name}'))
    return found


def _place(motor: int, values: Values) -> tuple[float, float, float]:
    """Return where PX4 has a rotor, forward and right in m, and its KM; NaN if it is not known."""
    px, py, km = (values.get(f'CA_ROTOR{motor}_{key}', math.nan) for key in ('PX', 'PY', 'KM'))
    return px, py, km


def _is_there(rotor: Rotor, px: float, py: float, km: float) -> bool:
    """Return whether PX4 has a rotor where it is, as far as is known.

    The place of one that does not lift is not compared.
    """
    forward, right = rotor.position_m[0], -rotor.position_m[1]
    distances = math.hypot(forward, right) * math.hypot(px, py)
    along = forward * px + right * py
    is_elsewhere = along < _SAME_WAY * distances or (distances == 0.0 and bool(forward or right))
    return not rotor.lifts or not (is_elsewhere or km * rotor.spin < 0.0)


def _of_rotors(vehicle: Vehicle, values: Values) -> list[str]:
    """Return a sentence about each rotor that is elsewhere, or turns the other way, for PX4."""
    count = values.get(_ROTORS)
    if count is None:
        return []
    if count != len(vehicle.rotors):
        return [_sentence(_ROTORS, count, f'must be {len(vehicle.rotors)}, as many as'
                          f' {vehicle.name} has')]
    kind, found = _kind(values), []
    for i, rotor in enumerate(vehicle.rotors):
        motor = int(values.get(f'{kind}{_output(i, rotor)}', 0)) - _FIRST_MOTOR
        px, py, km = _place(motor, values)
        if not _is_there(rotor, px, py, km):
            forward, right = rotor.position_m[0], -rotor.position_m[1]
            found.append(
                f'on the controller CA_ROTOR{motor}_PX = {px:g}, CA_ROTOR{motor}_PY = {py:g},'
                f' CA_ROTOR{motor}_KM = {km:g}: {vehicle.name} has the rotor of motor {motor + 1}'
                f' at {forward:g} m forward and {right:g} m to the right, and it turns'
                f' {rotor.turns}')
    return found
