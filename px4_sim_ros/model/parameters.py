# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Described, validated parameters: one frozen dataclass a model.

The numbers live in `config/`; a dataclass gives each one its unit, its meaning and
its range. The same description is declared to ROS (see `ros/framework/parameters.py`).
"""
from __future__ import annotations

import array
import dataclasses
import functools
import math
import re
import typing

from px4_sim_ros.model.errors import ParameterError, did_you_mean, nearest, shown

_EXPONENTIAL = re.compile(r'[-+]?\d+(\.\d*)?[eE][-+]?\d+', re.ASCII)
# Beyond these, squares and quotients of what is given leave the range of a float.
_SMALLEST, _LARGEST = 1e-30, 1e30

Scalar = float | int | str | bool
Info = typing.Mapping[str, typing.Any]
"""What `parameter` was given, by name, and the type as a text."""


def parameter(
    description: str,
    unit: str = '',
    *,
    minimum: float | None = None,
    above: float | None = None,
    maximum: float | None = None,
    choices: tuple[str, ...] = (),
    default: typing.Any = dataclasses.MISSING,
) -> typing.Any:
    """Return a dataclass field with its description, unit and range.

    :param minimum: smallest value allowed
    :param above: the value must be strictly greater than this
    :param maximum: largest value allowed
    :param choices: the values allowed for a text
    :param default: of one that may be missing, which only files of vehicles and missions allow
    """
    return dataclasses.field(default=default, metadata={
        'description': description, 'unit': unit, 'minimum': minimum,
        'above': above, 'maximum': maximum, 'choices': choices,
    })


def range_text(info: Info) -> str:
    """Return in words what values are allowed."""
    if info['choices']:
        return 'one of ' + ', '.join(info['choices'])
    bounds = []
    for name, words in (('above', 'greater than'), ('minimum', 'at least'),
                        ('maximum', 'at most')):
        if info[name] is not None:
            bounds.append(f'{words} {_bound_text(info[name])}')
    unit = f" {info['unit']}" if info['unit'] else ''
    kind = info.get('type') or ''
    if kind.startswith('tuple'):
        count = kind.count(',') + 1
        return f'{count} numbers, each {" and ".join(bounds) or "finite"}{unit}'
    anything = {'str': 'a text', 'bool': 'true or false'}.get(kind, 'a finite number')
    return (' and '.join(bounds) or anything) + unit


def _bound_text(bound: float) -> str:
    # A whole number has all its digits, so that it can be typed.
    return str(bound) if isinstance(bound, int) else f'{bound:g}'


def _is_whole(value: typing.Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number_for_all_but_yaml(value: typing.Any) -> bool:
    """Return whether a value is a text such as 1e-5: without a dot YAML takes it for none."""
    return isinstance(value, str) and bool(_EXPONENTIAL.fullmatch(value))


def _convert(name: str, value: typing.Any, kind: type[Scalar], info: Info) -> Scalar:
    """Return `value` as `kind`, checked against its range."""
    if kind is float and (_is_whole(value) or _is_number_for_all_but_yaml(value)):
        try:
            value = float(value)
        except OverflowError:
            value = math.inf if value > 0 else -math.inf
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        words = {float: 'a number', int: 'a whole number', str: 'a text', bool: 'true or false'}
        raise ParameterError(f'{name} = {shown(value)}: must be {words[kind]}')
    if isinstance(value, str):
        allowed = not info['choices'] or value in info['choices']
    elif kind is bool:
        allowed = True
    else:
        allowed = (
            math.isfinite(value)
            and (info['minimum'] is None or value >= info['minimum'])
            and (info['above'] is None or value > info['above'])
            and (info['maximum'] is None or value <= info['maximum'])
        )
    if allowed and isinstance(value, float) and value and not (
            _SMALLEST <= abs(value) <= _LARGEST):
        raise ParameterError(f'{name} = {value!r}: must be 0, or in size at least {_SMALLEST:g} and'
                             f' at most {_LARGEST:g}')
    if not allowed:
        meant = did_you_mean(value, info['choices']) if isinstance(value, str) else ''
        raise ParameterError(f'{name} = {shown(value)}: must be {range_text(info)}{meant}')
    return value


def number(name: str, value: typing.Any) -> float:
    """Return a number from a file, of any size.

    :raises ParameterError: it is none, or not finite
    """
    return float(_convert(name, value, float, parameter('').metadata))


def list_of(name: str, value: typing.Any) -> list[typing.Any]:
    """Return a list.

    :raises ParameterError: it is none
    """
    if not isinstance(value, list):
        raise ParameterError(f'{name} = {shown(value)}: must be a list')
    return value


def dict_of(name: str, value: typing.Any, of: str = '') -> dict[typing.Any, typing.Any]:
    """Return a mapping.

    :param of: what is in it, as the end of the sentence
    :raises ParameterError: it is none
    """
    if not isinstance(value, typing.Mapping):
        raise ParameterError(f'{name} = {shown(value)}: must be a mapping{of}')
    return typing.cast('dict[typing.Any, typing.Any]', value)


def mapping_of(
    owner: str, what: str, content: typing.Any, known: typing.Iterable[str],
    beside: typing.Collection[str] = (),
) -> dict[str, typing.Any]:
    """Return the content of a file, a mapping with none but certain keys.

    :param owner: what to call the file in an error sentence
    :param what: the file describes; '' says no more than the owner
    :param beside: keys that are allowed as well, and are for no user
    :raises ParameterError: it is no mapping, or has another key
    """
    known = list(known)
    if not isinstance(content, dict):
        raise ParameterError(f'{owner}: must be a mapping of {", ".join(known)}')
    for key in content:
        if key not in known and key not in beside:
            raise unknown_key_error(f'{owner}: {what}' if what else owner, str(key), known)
    return content


def like(name: str, value: typing.Any, default: typing.Any) -> typing.Any:
    """Return a value of the kind of a default: a number, a text, a truth or a list of numbers.

    :raises ParameterError: it is of another kind
    """
    kind: typing.Any = type(default)
    if kind in (list, tuple):
        kind = tuple[(float,) * len(default)]      # type: ignore[misc]
    return Parameters._field(name, value, kind, parameter('').metadata)


def unknown_key_error(
    owner: str, key: str, known: typing.Iterable[str], page: str = '',
) -> ParameterError:
    """Return the error for an unknown key, with the closest known names, or all.

    :param page: that lists them, if they are too many for a sentence
    """
    known = sorted(known)
    close = nearest(str(key), known, most=3)
    if close:
        hint = f"did you mean {' or '.join(close)}?"
    elif page:
        hint = f'{page} lists all'
    else:
        hint = f"known are {', '.join(known)}" if known else 'there are none'
    return ParameterError(f'{_full_name(owner, key)}: unknown parameter; {hint}')


def _full_name(owner: str, key: str) -> str:
    """Return the name of a parameter for a sentence; '' owns those that all nodes share."""
    return f'{owner}.{key}' if owner else key


@dataclasses.dataclass(frozen=True)
class Parameters:
    """Base of all parameter dataclasses: build them with `from_mapping`."""

    @classmethod
    def infos(cls) -> dict[str, Info]:
        """Return the metadata of each field by name."""
        return {field.name: dict(field.metadata) | {'type': field.type}
                for field in dataclasses.fields(cls)}

    @classmethod
    @functools.cache
    def _kinds(cls) -> dict[str, typing.Any]:
        """Return the type of each field: anew each time that took half of a configuration."""
        return typing.get_type_hints(cls)

    @classmethod
    def from_mapping(cls, owner: str, values: typing.Mapping[str, typing.Any]) -> typing.Self:
        """Build and validate from a mapping that holds just this class's fields.

        A field of type `dict[str, int]` takes a mapping of names to numbers, and a tuple of
        floats any list of as many numbers; one of any length takes a number alone as well.

        :param owner: whose parameters these are, for the error sentence; '' for those that all
            nodes share
        :raises ParameterError: naming the parameter, the value and what is allowed
        """
        kinds = cls._kinds()
        infos = cls.infos()
        for key in dict_of(owner, values):
            if key not in infos:
                raise unknown_key_error(owner, key, infos)
        converted = {}
        may_be_missing = {field.name for field in dataclasses.fields(cls)
                          if field.default is not dataclasses.MISSING}
        for key, info in infos.items():
            if key not in values and key in may_be_missing:
                continue
            if key not in values:
                raise ParameterError(
                    f"{_full_name(owner, key)}: missing; it is {info['description']}")
            converted[key] = cls._field(_full_name(owner, key), values[key], kinds[key], info)
        return cls(**converted)

    def check_step(self, step_us: int) -> None:
        """Check what depends on the step of the run; most have nothing to check.

        :raises ParameterError: naming the parameter and what is allowed
        """

    @staticmethod
    def _field(name: str, value: typing.Any, kind: typing.Any, info: Info) -> typing.Any:
        origin, inner = typing.get_origin(kind), typing.get_args(kind)
        if origin is dict:
            return {k: _convert(f'{name}.{k}', v, inner[1], info)
                    for k, v in dict_of(name, value).items()}
        if origin is tuple:
            if inner[1:] == (...,):            # one number, or as many as there are
                value = value if isinstance(value, (list, tuple)) else (value,)
                inner = inner[:1] * len(value)
            # An array is what rclpy gives.
            if not isinstance(value, (list, tuple, array.array)) or len(value) != len(inner):
                raise ParameterError(f'{name} = {shown(value)}: must be {len(inner)} numbers')
            element = {**info, 'type': 'float'}
            return tuple(
                _convert(f'{name}[{i}]', v, k, element)
                for i, (v, k) in enumerate(zip(value, inner)))
        return _convert(name, value, kind, info)


def check_ascending(owner: str, parameters: Parameters, lower: str, upper: str) -> None:
    """Check that of two parameters with one unit the first is below the second.

    :raises ParameterError: naming both
    """
    low, high = getattr(parameters, lower), getattr(parameters, upper)
    if low >= high:
        unit = parameters.infos()[upper]['unit']
        raise ParameterError(
            f'{owner}.{lower} = {low:g}: must be less than {upper} = {high:g} {unit}')
