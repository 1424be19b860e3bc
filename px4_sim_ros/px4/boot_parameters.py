# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Parameters that a PX4 begins with, under the names that it has.

The list of its parameters comes with a build. Releases have renamed some; PX4 translates them when
it reads a file of parameters (its `param_translation.cpp`), and not at `param set`.
"""
from __future__ import annotations

import functools
import json
import lzma
import pathlib
import re
import typing

from px4_sim_ros.model.errors import ParameterError, did_you_mean
from px4_sim_ros.model.truth import in_32_bits
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.px4.sitl import PARAMETER, Px4

if typing.TYPE_CHECKING:       # a flight without one does without all of its actions
    from px4_sim_ros.model.scenario.scenario import Scenario

_LISTS = 'etc/extras/parameters.json.xz', 'parameters.json.xz', 'parameters.json'
_WHOLE = re.compile(r'[-+]?\d+')
_INT32_BOUND = 2**31
# The same value under another name, in either direction.
_RENAMED = {
    'EKF2_GPS_DELAY': ('SENS_GPS0_DELAY', 'SENS_GPS1_DELAY'),
    'EKF2_GPS_POS_X': ('SENS_GPS0_OFFX',), 'EKF2_GPS_POS_Y': ('SENS_GPS0_OFFY',),
    'EKF2_GPS_POS_Z': ('SENS_GPS0_OFFZ',), 'EKF2_ENGINE_WRM': ('EKF2_POS_LOCK',),
    'ASPD_FALLBACK_GW': ('ASPD_FALLBACK',)}
_FORMER = {new[0]: (old,) for old, new in _RENAMED.items()}
# What others mean now; none at all for what is so by default.
_REWORKED: dict[str, typing.Callable[[float], dict[str, float]]] = {
    'COM_RC_OVERRIDE': lambda value: {} if value else {'MAN_OVERRIDE_SPD': -1.0},
    'MC_AIRMODE': lambda value: {
        'MC_AIRMODE_LIM': float(value > 0), 'MC_AIRMODE_YAW': float(value == 2)},
    'FW_ARSP_MODE': lambda value: {'FW_USE_AIRSPD': float(not value)},
    'MPC_LAND_RC_HELP': lambda value: {'MPC_AUTO_NUDGING': 2.0 * bool(value)},
    'SIM_BAT_ENABLE': lambda value: {} if value else {'SIM_BAT_DRAIN': 0.0},
    'MNT_RANGE_PITCH': lambda value: {
        'MNT_MAX_PITCH': 0.5 * value, 'MNT_MIN_PITCH': -0.5 * value}}
# Not in each release, nor in each build: that is said, or is no matter where nothing is to be on.
_GONE = {'COM_ARM_SDCARD', 'COM_FLT_PROFILE', 'COM_HLDL_REG_T', 'COM_IMB_PROP_ACT',
         'COM_KILL_DISARM', 'COM_LKDOWN_TKO', 'COM_MOT_TEST_EN', 'COM_OBC_LOSS_T',
         'COM_RC_STICK_OV', 'COM_TAKEOFF_ACT', 'EKF2_EN_BOOT', *_REWORKED}
_OFF_WITHOUT = {'SIM_GZ_EN'}


class Asked(typing.NamedTuple):
    """A parameter that is to be set."""

    owner: str                     # who asks for it, for an error sentence
    name: str
    text: str                      # of its value


def environment(
    px4: Px4, vehicle: Vehicle, scenario: Scenario | None,
) -> tuple[dict[str, str], list[str]]:
    """Return PX4's environment, and sentences for the user.

    What is set in our environment comes before a scenario, and that before the vehicle.
    """
    types = _types(px4.build)
    found: dict[str, str] = {}
    remarks: list[str] = []
    for asked in _asked(px4, vehicle, scenario):
        if types is None:
            found[asked.name] = asked.text
            continue
        fitted = _fitted(asked, types)
        if not fitted and asked.name not in _OFF_WITHOUT:
            remarks.append(f'{asked.owner}: {asked.name} = {asked.text}: this PX4 has it no longer;'
                           ' it is not set')
        found |= fitted
    return {**px4.environment(vehicle),
            **{f'{PARAMETER}{name}': text for name, text in found.items()}}, remarks


def _asked(px4: Px4, vehicle: Vehicle, scenario: Scenario | None) -> typing.Iterator[Asked]:
    for name, value in vehicle.px4_parameters.items():
        yield Asked(f'vehicle {vehicle.name}: px4_parameters', name, value_text(value))
    if vehicle.battery is not None:
        yield Asked(f'vehicle {vehicle.name}: battery', 'SIM_BAT_ENABLE', '0')    # it gets that
    if scenario is not None:
        for name, value in scenario.px4_parameters.items():
            yield Asked(f'scenario {scenario.name}: px4', name, value_text(value))
    for variable, text in px4.parameters.items():
        yield Asked(f'environment variable {variable}', variable.removeprefix(PARAMETER), text)


def value_text(value: float) -> str:
    """Return a value for `param set`: all its digits, and none that a whole number has not."""
    is_whole = float(value).is_integer() and abs(value) < 2**53
    return str(int(value)) if is_whole else repr(value)


def _fitted(asked: Asked, types: typing.Mapping[str, str]) -> dict[str, str]:
    """Return the setting of a parameter: under another name, or none if it is gone."""
    _check(asked, types.get(asked.name, ''))
    if asked.name in types:
        return {asked.name: asked.text}
    names = _RENAMED.get(asked.name) or _FORMER.get(asked.name) or ()
    values = dict.fromkeys(names, asked.text)
    if asked.name in _REWORKED:
        values = {name: value_text(value)
                  for name, value in _REWORKED[asked.name](float(asked.text)).items()}
    if values and values.keys() <= types.keys():
        for name, text in values.items():
            _check(asked._replace(name=name, text=text), types[name])
        return values
    if asked.name in _GONE or (asked.name in _OFF_WITHOUT and not float(asked.text)):
        return {}
    raise ParameterError(f'{asked.owner}: {asked.name}: PX4 has no such parameter'
                         f'{did_you_mean(asked.name, types)}')


def _check(asked: Asked, kind: str) -> None:
    """Check that a parameter can have a value: PX4 takes what a text begins with."""
    owner = f'{asked.owner}: {asked.name} = {asked.text}'
    if kind == 'Int32' and not (_WHOLE.fullmatch(asked.text)
                                and -_INT32_BOUND <= int(asked.text) < _INT32_BOUND):
        raise ParameterError(f'{owner}: must be a whole number of 32 bits: it is of type INT32')
    try:
        in_32_bits(float(asked.text))
    except (ValueError, OverflowError) as error:
        raise ParameterError(f'{owner}: must be a number of 32 bits') from error


@functools.cache
def _types(build: pathlib.Path) -> dict[str, str] | None:
    """Return the type of each parameter of a build, None if it has no list of them."""
    for name in _LISTS:
        path = build / name
        if path.is_file():
            try:
                data = path.read_bytes()
                listed = json.loads(lzma.decompress(data) if path.suffix == '.xz' else data)
                return {p['name']: p['type'] for p in listed['parameters']}
            except (OSError, lzma.LZMAError, ValueError, TypeError, LookupError) as error:
                raise ParameterError(
                    f'px4_dir = {build}: must have a whole {name}; build PX4 again') from error
    return None
