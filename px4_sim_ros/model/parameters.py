"""Described, validated parameters: one frozen dataclass a model.

The numbers live in `config/`; a dataclass gives each one its unit, its meaning and
its range. The same description is declared to ROS (see `ros/parameters.py`).
"""
from __future__ import annotations

import array
import dataclasses
import difflib
import math
import typing

from px4_sim_ros.model.errors import ParameterError

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
) -> typing.Any:
    """Return a dataclass field with its description, unit and range.

    :param minimum: smallest value allowed
    :param above: the value must be strictly greater than this
    :param maximum: largest value allowed
    :param choices: the values allowed for a text
    """
    return dataclasses.field(metadata={
        'description': description, 'unit': unit, 'minimum': minimum,
        'above': above, 'maximum': maximum, 'choices': choices,
    })


def range_text(info: Info) -> str:
    """Return in words what values are allowed."""
    if info['choices']:
        return 'one of ' + ', '.join(info['choices'])
    bounds = []
    if info['above'] is not None:
        bounds.append(f"greater than {info['above']:g}")
    if info['minimum'] is not None:
        bounds.append(f"at least {info['minimum']:g}")
    if info['maximum'] is not None:
        bounds.append(f"at most {info['maximum']:g}")
    unit = f" {info['unit']}" if info['unit'] else ''
    kind = info.get('type') or ''
    if kind.startswith('tuple'):
        count = kind.count(',') + 1
        return f'{count} numbers, each {" and ".join(bounds) or "finite"}{unit}'
    anything = {'str': 'a text', 'bool': 'true or false'}.get(kind, 'a finite number')
    return (' and '.join(bounds) or anything) + unit


def _convert(name: str, value: typing.Any, kind: type[Scalar], info: Info) -> Scalar:
    """Return `value` as `kind`, checked against its range."""
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        words = {float: 'a number', int: 'a whole number', str: 'a text', bool: 'true or false'}
        raise ParameterError(f'{name} = {value!r}: must be {words[kind]}')
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
    if not allowed:
        raise ParameterError(f'{name} = {value!r}: must be {range_text(info)}')
    return value


def unknown_key_error(owner: str, key: str, known: typing.Iterable[str]) -> ParameterError:
    """Return the error for an unknown key, with the closest known names."""
    known = sorted(known)
    if not known:
        return ParameterError(f'{owner}.{key}: unknown parameter; there are none')
    close = difflib.get_close_matches(str(key), known, n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else f"known are {', '.join(known)}"
    return ParameterError(f'{owner}.{key}: unknown parameter; {hint}')


@dataclasses.dataclass(frozen=True)
class Parameters:
    """Base of all parameter dataclasses: build them with `from_mapping`."""

    @classmethod
    def infos(cls) -> dict[str, Info]:
        """Return the metadata of each field by name."""
        return {field.name: dict(field.metadata) | {'type': field.type}
                for field in dataclasses.fields(cls)}

    @classmethod
    def from_mapping(cls, owner: str, values: typing.Mapping[str, typing.Any]) -> typing.Self:
        """Build and validate from a mapping that holds just this class's fields.

        A field of type `dict[str, int]` takes a mapping of names to numbers, and a tuple of
        floats any list of as many numbers.

        :param owner: whose parameters these are, for the error sentence
        :raises ParameterError: naming the parameter, the value and what is allowed
        """
        if not isinstance(values, typing.Mapping):
            raise ParameterError(f'{owner} = {values!r}: must be a mapping')
        kinds = typing.get_type_hints(cls)
        infos = cls.infos()
        for key in values:
            if key not in infos:
                raise unknown_key_error(owner, key, infos)
        converted = {}
        for key, info in infos.items():
            if key not in values:
                raise ParameterError(f"{owner}.{key}: missing; it is {info['description']}")
            converted[key] = cls._field(f'{owner}.{key}', values[key], kinds[key], info)
        return cls(**converted)

    def check_step(self, step_us: int) -> None:
        """Check what depends on the step of the run; most have nothing to check.

        :raises ParameterError: naming the parameter and what is allowed
        """

    @staticmethod
    def _field(name: str, value: typing.Any, kind: typing.Any, info: Info) -> typing.Any:
        origin, inner = typing.get_origin(kind), typing.get_args(kind)
        if origin is dict:
            if not isinstance(value, typing.Mapping):
                raise ParameterError(f'{name} = {value!r}: must be a mapping')
            return {k: _convert(f'{name}.{k}', v, inner[1], info) for k, v in value.items()}
        if origin is tuple:
            # An array is what rclpy gives.
            if not isinstance(value, (list, tuple, array.array)) or len(value) != len(inner):
                raise ParameterError(f'{name} = {value!r}: must be {len(inner)} numbers')
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
