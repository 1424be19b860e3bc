# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""From logs and a vehicle file to another vehicle file: all that `identify` does."""
from __future__ import annotations

import textwrap
import typing

import yaml

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.real import electric, statics
from px4_sim_ros.real.fit import CONFIDENCE, Estimate, Fit, fit
from px4_sim_ros.real.flight import RealFlight
from px4_sim_ros.real.held_out import HeldOut, held_out
from px4_sim_ros.real.named import NAMED, Content, changed, check_names, with_values
from px4_sim_ros.real.pages import Identified
from px4_sim_ros.spec.resources import LOADER

# The text of a vehicle file with other numbers, each with its source; all else stays as it is.

_PX4 = 'px4_parameters'


def rewritten(
    text: str, name: str, estimates: typing.Sequence[Estimate], source: str,
    px4_tuning: typing.Mapping[str, float] | None = None,
) -> str:
    """Return the text of a vehicle file with what was identified.

    A comment behind a number that has changed is replaced by its interval and its source.

    :param text: of the file as it came
    :param name: of the new vehicle
    :param source: of the numbers: names of the logs, comma separated
    :param px4_tuning: parameters of PX4 that the logs were flown with, by name
    """
    content = yaml.load(text, LOADER)
    values = {found.name: found.value for found in estimates}
    new = changed(content, values) | {'name': name}
    words = _words(estimates)
    lines = text.splitlines()
    edits = sorted(_edits(yaml.compose(text, LOADER), new, ()), key=lambda edit: edit[:2])
    for row, begin, end, value, path in reversed(edits):
        line = lines[row]
        comment = words.get(path, '')
        code = line[:begin] + value + line[end:]
        if comment:
            code = f'{code.split(" #")[0].rstrip()}  # {comment}'
        lines[row] = code
    lines = _with_tuning(lines, yaml.compose('\n'.join(lines), LOADER), px4_tuning or {})
    head = textwrap.wrap(
        f'Identified by `px4_sim_ros identify` from {source}. A number without an interval is that'
        ' of the file with which it began.', 97)
    # Behind what the file begins with, which may be its licence.
    first = next(i for i, line in enumerate(lines) if line and not line.startswith('#'))
    lines[first:first] = [f'# {line}' for line in (*head, *_of_log(estimates))]
    return '\n'.join(lines) + '\n'


def _with_tuning(
    lines: list[str], document: typing.Any, tuning: typing.Mapping[str, float],
) -> list[str]:
    """Return the lines of a file with further parameters of PX4, in place of those it has."""
    if not tuning:
        return lines
    said = '  # Of the logs: what is not PX4\'s default of the loops that turn the vehicle.'
    added = [said, *(f'  {name}: {_number(value)}' for name, value in tuning.items())]
    section = next((value for key, value in document.value if key.value == _PX4), None)
    if section is None or section.flow_style:
        # A section of its own at the end; what stood on one line stays on it, spread out.
        old = [] if section is None else [
            f'  {key.value}: {value.value}' for key, value in section.value
            if key.value not in tuning]
        kept = lines if section is None else (
            lines[:section.start_mark.line] + lines[section.end_mark.line + 1:])
        return [*kept, '', f'{_PX4}:', *old, *added]
    gone = {key.start_mark.line for key, _ in section.value if key.value in tuning}
    last = max(value.end_mark.line for _, value in section.value)
    return [*(line for i, line in enumerate(lines[:last + 1]) if i not in gone), *added,
            *lines[last + 1:]]


_Path = tuple[typing.Any, ...]


def _edits(
    node: typing.Any, new: typing.Any, path: _Path,
) -> typing.Iterator[tuple[int, int, int, str, str]]:
    """Yield row, columns, text and name of each scalar of a document whose value is another."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _edits(value, new[key.value], (*path, key.value))
    elif isinstance(node, yaml.SequenceNode):
        for i, value in enumerate(node.value):
            yield from _edits(value, new[i], (*path, i))
    else:
        try:
            same = float(node.value) == float(new)
        except (TypeError, ValueError):
            same = str(node.value) == str(new) or not isinstance(new, str)
        if not same:
            start, end = node.start_mark, node.end_mark
            yield (start.line, start.column, end.column,
                   new if isinstance(new, str) else _number(new), _name(path))


def _number(value: float) -> str:
    """Return a number as YAML reads it: with a dot, also before an exponent."""
    text = f'{value:.5g}'
    if '.' in text:
        return text
    mantissa, exponent, rest = text.partition('e')
    return f'{mantissa}.0{exponent}{rest}'


def _name(path: _Path) -> str:
    """Return the name in `NAMED` of a path; all places have that of the centre of mass."""
    if path[0] in ('rotors', 'contact_points_m'):
        return f'{path[0]}[{path[1]}]'
    return ''.join(f'[{key}]' if isinstance(key, int) else f'.{key}' for key in path).lstrip('.')


def _words(estimates: typing.Sequence[Estimate]) -> dict[str, str]:
    """Return the comment of each number by its name."""
    found = {}
    for one in estimates:
        base = one.name.partition('[')[0] if one.name.endswith(']') else one.name
        # Several numbers of a list stand on one line.
        widths = [other.half_width for other in estimates
                  if other.name == one.name or other.name.startswith(f'{base}[')]
        found[one.name] = (f"identified, +- {', '.join(f'{width:.2g}' for width in widths)}"
                           f' ({CONFIDENCE:.0%})')
    return found


def _of_log(estimates: typing.Sequence[Estimate]) -> typing.Iterator[str]:
    """Yield a line for each number that the file has no place for."""
    for one in estimates:
        if one.name.startswith(('center', 'wind', 'mounting')):
            yield (f'{NAMED[one.name].meaning}: {one.value:.3g} +- {one.half_width:.2g}'
                   f' {NAMED[one.name].unit}')


_ELECTRIC = electric.SHAFT_TORQUE, electric.RESISTANCE


def identified(
    flights: typing.Sequence[RealFlight], vehicle: str, text: str, name: str,
    asked: typing.Sequence[str] = (), horizon_s: float = 0.5,
) -> tuple[Identified, str]:
    """Identify numbers, try them on held-out parts, and return the text of a new vehicle file.

    :param vehicle: what to call the vehicle file in a sentence
    :param text: of the vehicle file
    :param name: of the new vehicle
    :param asked: names of numbers; none: all that logs usually tell
    :raises ParameterError: a number is unknown or not told, or a log does not fit
    """
    check_names(asked)
    content: Content = yaml.load(text, LOADER)
    Vehicle.from_mapping(f'vehicle {vehicle}', content)
    names = list(asked) or [one.name for one in NAMED.values() if one.by_default]
    motion = [one for one in names if one not in _ELECTRIC]
    if not motion:
        raise ParameterError(f'fit {names[0]}: must stand with a number about the motion, such as'
                             f' {next(iter(NAMED))}')
    found = fit(flights, content, motion, horizon_s,
                [one for one in asked if one not in electric.CENTRE])
    estimates, untold = list(found.estimates), dict(found.refused)

    def take(name_of: str, answer: Estimate | str) -> None:
        if isinstance(answer, Estimate):
            estimates.append(answer)
            untold.pop(name_of, None)
        elif name_of in asked:
            raise ParameterError(f'fit {name_of}: the log does not determine it: {answer}')
        else:
            untold[name_of] = answer

    turned = [with_values(flight, found.values) for flight in flights]
    moved = changed(content, found.values)
    if set(electric.CENTRE) & set(untold):         # no torques, but trim
        for name_of, trim in zip(electric.CENTRE, electric.centre_of_mass(turned, moved)):
            if name_of in untold:
                take(name_of, trim)
    if electric.SHAFT_TORQUE in names:
        thrust = next((one.half_width / one.value for one in found.estimates
                       if one.name == next(iter(NAMED))), 0.0)
        take(electric.SHAFT_TORQUE, electric.shaft_torque(turned, moved, thrust))
    if electric.RESISTANCE in names:
        take(electric.RESISTANCE, electric.resistance(flights, content))
    tunings = [dict(flight.px4_tuning) for flight in flights]
    new = rewritten(text, name, estimates, ', '.join(flight.name for flight in flights),
                    {key: value for key, value in tunings[0].items()
                     if all(other.get(key) == value for other in tunings)})
    before, after = (Vehicle.from_mapping('vehicle', one) for one in (
        content, yaml.load(new, LOADER)))
    pairs = [(flight.name, statics.pairs(flight, before, statics.sampled(flight, before)),
              statics.pairs(own, after, statics.sampled(own, after)))
             for flight, own in zip(flights, turned)]
    return Identified(
        f'{name}, from {len(flights)} log{"s" if len(flights) > 1 else ""}', tuple(estimates),
        tuple(untold.items()), found, _held_out(flights, content, found, horizon_s), pairs,
        [(flight.name, f'{fact}: {words}') for flight in flights for fact, words in flight.facts],
        sorted({one for flight in flights for one in flight.unknown}),
        [flight.repaired for flight in flights if flight.repaired]), new


def _held_out(
    flights: typing.Sequence[RealFlight], content: Content, found: Fit, horizon_s: float,
) -> HeldOut | str:
    """Return errors over held-out parts, or why there are none: that spoils no numbers."""
    try:
        return held_out(flights, content, found, horizon_s)
    except ParameterError as error:
        return str(error)
