# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""All actions by name, and actions as plain values."""
from __future__ import annotations

import dataclasses
import importlib
import os
import typing

from px4_sim_ros.model.errors import (
    ParameterError,
    did_you_mean,
    shown,
    why_not_imported,
)
from px4_sim_ros.model.faults import air, autopilot, motion, sensors
from px4_sim_ros.model.faults.action import Action, Fault, Faults

ACTIONS: dict[str, type[Action]] = {
    'motor_thrust': motion.MotorThrust,
    'motor_off': motion.MotorOff,
    'motor_stuck': motion.MotorStuck,
    'motor_slow': motion.MotorSlow,
    'servo_stuck': motion.ServoStuck,
    'servo_hard_over': motion.ServoHardOver,
    'servo_slack': motion.ServoSlack,
    'sensor_off': sensors.SensorOff,
    'sensor_frozen': sensors.SensorFrozen,
    'sensor_bias': sensors.SensorBias,
    'sensor_drift': sensors.SensorDrift,
    'sensor_scale': sensors.SensorScale,
    'sensor_noise': sensors.SensorNoise,
    'sensor_spikes': sensors.SensorSpikes,
    'sensor_delay': sensors.SensorDelay,
    'sensor_axes': sensors.SensorAxes,
    'gnss_denied': sensors.GnssDenied,
    'gnss_jammed': sensors.GnssJammed,
    'gnss_spoofed': sensors.GnssSpoofed,
    'wind': air.MoreWind,
    'gust': air.Gust,
    'turbulence': air.Turbulence,
    'air_density': air.AirDensity,
    'push': motion.Push,
    'torque': motion.Torque,
    'payload': motion.Payload,
    'battery_cells': motion.BatteryCells,
    'battery_resistance': motion.BatteryResistance,
    'battery_capacity': motion.BatteryCapacity,
    'replies_late': autopilot.RepliesLate,
    'replies_lost': autopilot.RepliesLost,
    'link_lost': autopilot.LinkLost,
    'autopilot_paused': autopilot.AutopilotPaused,
    'autopilot_off': autopilot.AutopilotOff,
    'sticks': autopilot.Sticks,
    'mode': autopilot.Mode,
    'command': autopilot.Command,
    'parameter': autopilot.AutopilotParameter,
    'px4_failure': autopilot.Px4Failure,
    'note': autopilot.Note,
    'clear': autopilot.Clear,
}
ALLOWED = 'PX4_SIM_ROS_ALLOWED'
"""The environment variable with the classes that data may import, each `module:Class`."""
WHERE_LISTED = '`python -m px4_sim_ros list actions` names all'
_NAMES = {action: name for name, action in ACTIONS.items()}


def check_allowed(owner: str, path: str) -> None:
    """Check that a class of the user's may be imported.

    To fly a file of their own is to allow what it names. A recording and the folder of a campaign
    are data: commands that read these put what the user has allowed into the environment, where
    their processes have it as well.

    :raises ParameterError: it may not
    """
    allowed = os.environ.get(ALLOWED)
    if allowed is not None and path not in allowed.split(','):
        raise ParameterError(f'{owner} = {shown(path)}: data may not import a class that you have'
                             f' not allowed; --allow {path} allows it')


def own_action(owner: str, path: typing.Any) -> type[Action]:
    """Return the class of a user's action from `module:Class`.

    :param owner: what to call it in an error sentence
    :raises ParameterError: there is none
    """
    module, colon, name = path.partition(':') if isinstance(path, str) else ('', '', '')
    if not (module and colon and name):
        raise ParameterError(f'{owner} = {shown(path)}: must be module:Class')
    check_allowed(owner, path)
    try:
        found = getattr(importlib.import_module(module), name)
    except Exception as error:         # whatever its code does
        raise ParameterError(f'{owner} = {shown(path)}: cannot be imported:'
                             f' {why_not_imported(error)}') from error
    if not (isinstance(found, type) and issubclass(found, Action)):
        raise ParameterError(f'{owner} = {shown(path)}: must be derived from'
                             f' {Action.__module__}:Action')
    return found


def no_action(name: str, known: typing.Iterable[str]) -> str:
    """Return the sentence about a name that no action has: the nearest, and where all are."""
    return f'{name!r} is no action{did_you_mean(name, known)}; {WHERE_LISTED}'


def read_action(
    owner: str, name: typing.Any, values: typing.Any, own: typing.Mapping[str, type[Action]],
) -> Action:
    """Return an action from its name and its parameters.

    :param own: those of the user by name
    :raises ParameterError: there is no such action, or a parameter is wrong
    """
    known = {**ACTIONS, **own}
    if name not in known:
        raise ParameterError(f'{owner}: {no_action(str(name), known)}')
    return known[name].read(f'{owner}.{name}', values)


def meaning(action: type[Action]) -> str:
    """Return the effect of an action, in a line."""
    return (action.__doc__ or '').partition('\n')[0]


def name_of(action: Action) -> str:
    """Return the name of an action, that of its class for one of the user's."""
    return _NAMES.get(type(action), type(action).__name__)


def is_own(action: Action) -> bool:
    """Return whether an action is one of the user's, as opposed to one of `ACTIONS`."""
    return type(action) not in _NAMES


def action_text(action: Action) -> str:
    """Return an action for the user, such as `motor_off: motor 2`, without its defaults."""
    name = name_of(action)
    values = ', '.join(f'{key} {_text(value)}' for key, value in vars(action).items()
                       if value not in ('', (), action.DEFAULTS.get(key))
                       and key not in action.INNER)
    return f'{name}: {values}' if values else name


def _text(value: typing.Any) -> str:
    if isinstance(value, tuple):
        return ' '.join(map(_text, value)) if len(value) != 1 else _text(value[0])
    if isinstance(value, float):
        short = f'{value:g}'
        return short if float(short) == value else repr(value)
    return str(value)


def faults_to_plain(faults: Faults) -> list[dict[str, typing.Any]]:
    """Return the input of `faults_from_plain`: only texts, numbers, lists and mappings."""
    return [{'name': fault.name, 'since_us': fault.since_us,
             'action': _NAMES.get(type(fault.action)) or fault.action.kind,
             'with': dataclasses.asdict(fault.action)} for fault in faults]


def faults_from_plain(plain: typing.Iterable[typing.Mapping[str, typing.Any]]) -> Faults:
    """Return the actions in force from plain values.

    :raises ParameterError: a class of the user's is not there
    """
    return tuple(Fault(
        p['name'], p['since_us'],
        (ACTIONS.get(p['action']) or own_action('action', p['action'])).read(
            p['action'], p['with'])) for p in plain)
