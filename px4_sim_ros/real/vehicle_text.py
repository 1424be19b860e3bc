# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The text of a vehicle file with other numbers, each with its source; all else stays as it is."""
from __future__ import annotations

import textwrap
import typing

import yaml

from px4_sim_ros.real.fit import CONFIDENCE, Estimate
from px4_sim_ros.real.named import NAMED, changed
from px4_sim_ros.spec.resources import LOADER

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
