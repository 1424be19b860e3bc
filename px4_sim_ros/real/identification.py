# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""From logs and a vehicle file to another vehicle file: all that `identify` does."""
from __future__ import annotations

import math
import textwrap
import typing

import numpy as np
import yaml
from scipy import optimize

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.real import open_loop, statics
from px4_sim_ros.real.fit import (
    BLOCK_S,
    CONFIDENCE,
    SELDOM,
    Estimate,
    Fit,
    fit,
    lasting_half_widths,
)
from px4_sim_ros.real.flight import RealFlight
from px4_sim_ros.real.held_out import HeldOut, held_out
from px4_sim_ros.real.named import NAMED, Content, changed, check_names, value_of, with_values
from px4_sim_ros.real.pages import Identified
from px4_sim_ros.spec.resources import LOADER

# What a log tells beside its motion: battery, motors' power, trim.
#
# Each is a least-squares problem of its own; intervals are those of `fit`.

SHAFT_TORQUE = 'motor_model.shaft_torque_coefficient_m'
RESISTANCE = 'battery.packs[0].series_resistance_ohm'
CENTRE = 'center_of_mass_m[0]', 'center_of_mass_m[1]'
_LEAST_BLOCKS = 5
_TRIM_EVERY_S = 0.05
_S_PER_H = 3600.0


def shaft_torque(
    flights: typing.Sequence[RealFlight], content: Content, thrust_share: float = 0.0,
) -> Estimate | str:
    """Return the torque of the shafts with which the model draws the logged current, or why not."""
    with_current = [flight for flight in flights if flight.bus_current_a is not None]
    if not with_current:
        return 'the log has no current'
    if 'motor_model' not in content:
        return 'the vehicle file has no motor_model'

    def errors(
        values: np.ndarray, with_current: typing.Sequence[RealFlight] = with_current,
    ) -> tuple[np.ndarray, np.ndarray]:
        vehicle = Vehicle.from_mapping('vehicle', changed(content, {SHAFT_TORQUE: values[0]}))
        found, blocks, before = [], [], 0
        for flight in with_current:
            at = statics.sampled(flight, vehicle)
            found.append(at.model_power_w / at.voltage_v - at.current_a)
            numbers = np.unique((at.time_s / BLOCK_S).astype(int), return_inverse=True)[1]
            blocks.append(numbers + before)
            before += numbers.max() + 1
        return np.concatenate(found), np.concatenate(blocks)

    begin = value_of(content, SHAFT_TORQUE)
    solution = optimize.least_squares(
        lambda values: errors(values)[0], [begin], x_scale=[begin], bounds=(1e-6, np.inf),
        diff_step=1e-4)
    width = lasting_half_widths(solution.jac, solution.fun, errors(solution.x)[1])[0]
    seldom = max(abs(float(np.linalg.lstsq(solution.jac, errors(
        solution.x, flights_of)[0] - solution.fun, rcond=None)[0][0]))
        for flights_of in zip(*(flight.perturbed()[0] for flight in with_current)))
    return _estimate(content, SHAFT_TORQUE, float(solution.x[0]), float(np.linalg.norm((
        width, SELDOM * seldom, thrust_share * solution.x[0]))))


def resistance(flights: typing.Sequence[RealFlight], content: Content) -> Estimate | str:
    """Return how far the voltage of a pack falls with its current, or why the log cannot tell.

    Least squares of V = E + s Q - R I with the charge Q that is taken, E and s of each log.
    """
    with_current = [flight for flight in flights if flight.bus_current_a is not None]
    if not with_current:
        return 'the log has no current'
    if len(content.get('battery', {}).get('packs', ())) != 1:
        return 'the vehicle file has not one pack'
    rows, volts, blocks, before = [], [], [], 0
    for i, flight in enumerate(with_current):
        assert flight.bus_current_a is not None and flight.bus_voltage_v is not None
        at = np.flatnonzero(flight.usable)
        charge = np.cumsum(flight.bus_current_a) * flight.period_s / _S_PER_H
        columns = np.zeros((len(at), 1 + 2 * len(with_current)))
        columns[:, 0] = -flight.bus_current_a[at]
        columns[:, 1 + 2 * i], columns[:, 2 + 2 * i] = 1.0, charge[at]
        numbers = np.unique((at * flight.period_s / BLOCK_S).astype(int), return_inverse=True)[1]
        rows.append(columns)
        volts.append(flight.bus_voltage_v[at])
        blocks.append(numbers + before)
        before += int(numbers.max()) + 1
    table, voltage = np.concatenate(rows), np.concatenate(volts)
    values = np.linalg.lstsq(table, voltage, rcond=None)[0]
    return _estimate(content, RESISTANCE, float(values[0]), lasting_half_widths(
        table, voltage - table @ values, np.concatenate(blocks))[0])


def centre_of_mass(
    flights: typing.Sequence[RealFlight], content: Content,
) -> list[Estimate | str]:
    """Return where the rotors have no torque on average, as it is over a flight, or why not.

    Of each axis. One whose interval has the centre of the file in it stays where it is. Without
    angular acceleration no moment of inertia is needed; a shift c of the centre changes the
    torque of a force F by -c x F.

    :param content: of the vehicle file, with the forces that are identified already
    """
    vehicle = Vehicle.from_mapping('vehicle', content)
    found = _centres(flights, vehicle)
    if len(found) < _LEAST_BLOCKS:
        return ['the log is too short'] * 2
    means = found.mean(axis=0)
    seldom = np.max([np.abs(_centres(flights_of, vehicle).mean(axis=0) - means)
                     for flights_of in zip(*(flight.perturbed()[0] for flight in flights))], axis=0)
    widths = [math.hypot(float(lasting_half_widths(
        np.ones((len(found), 1)), column, np.arange(len(found)))[0]), SELDOM * moved)
        for column, moved in zip((found - means).T, seldom.tolist())]
    return [Estimate(name, 0.0, float(mean), width) if abs(mean) > width else (
        f'that of the file is within {mean:.2g} +- {width:.2g} m')
        for name, mean, width in zip(CENTRE, means, widths)]


def _centres(flights: typing.Sequence[RealFlight], vehicle: Vehicle) -> np.ndarray:
    """Return where the rotors have no torque over each block, m forward and left, (blocks, 2)."""
    centres = []
    for flight in flights:
        motors = open_loop.drive(flight, vehicle)
        length, every = (round(s / flight.period_s) for s in (BLOCK_S, _TRIM_EVERY_S))
        for start in flight.starts(length, length):
            _, _, lift, roll, pitch, _, _ = statics.wrenches(
                flight, vehicle, motors, np.arange(start, start + length, every)).mean(axis=0)
            centres.append((-pitch / lift, roll / lift))
    return np.array(centres)


def _estimate(content: Content, name: str, value: float, half_width: float) -> Estimate | str:
    """Return an estimate, or why it says nothing."""
    if value <= 0.0 or half_width > value:
        return f'its interval would be {value:.3g} +- {half_width:.2g}'
    return Estimate(name, value_of(content, name), value, float(half_width))


# The text of a vehicle file with other numbers, each with its source; all else stays as it is.

_PX4 = 'px4_parameters'


def rewritten(
    text: str, name: str, estimates: typing.Sequence[Estimate], source: str,
    px4_tuning: typing.Mapping[str, float] | None = None,
) -> str:
    """Return the text of a vehicle file with what was identified."""
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


_ELECTRIC = SHAFT_TORQUE, RESISTANCE


def identified(
    flights: typing.Sequence[RealFlight], vehicle: str, text: str, name: str,
    asked: typing.Sequence[str] = (), horizon_s: float = 0.5,
) -> tuple[Identified, str]:
    """Identify numbers, try them on held-out parts, and return the text of a new vehicle file."""
    check_names(asked)
    content: Content = yaml.load(text, LOADER)
    Vehicle.from_mapping(f'vehicle {vehicle}', content)
    names = list(asked) or [one.name for one in NAMED.values() if one.by_default]
    motion = [one for one in names if one not in _ELECTRIC]
    if not motion:
        raise ParameterError(f'fit {names[0]}: must stand with a number about the motion, such as'
                             f' {next(iter(NAMED))}')
    found = fit(flights, content, motion, horizon_s,
                [one for one in asked if one not in CENTRE])
    estimates, refused = list(found.estimates), dict(found.refused)

    def take(name_of: str, answer: Estimate | str) -> None:
        if isinstance(answer, Estimate):
            estimates.append(answer)
            refused.pop(name_of, None)
        elif name_of in asked:
            raise ParameterError(f'fit {name_of}: the log does not determine it: {answer}')
        else:
            refused[name_of] = answer

    turned = [with_values(flight, found.values) for flight in flights]
    moved = changed(content, found.values)
    if set(CENTRE) & set(refused):         # no torques, but trim
        for name_of, trim in zip(CENTRE, centre_of_mass(turned, moved)):
            if name_of in refused:
                take(name_of, trim)
    if SHAFT_TORQUE in names:
        thrust = next((one.half_width / one.value for one in found.estimates
                       if one.name == next(iter(NAMED))), 0.0)
        take(SHAFT_TORQUE, shaft_torque(turned, moved, thrust))
    if RESISTANCE in names:
        take(RESISTANCE, resistance(flights, content))
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
        tuple(refused.items()), found, _held_out(flights, content, found, horizon_s), pairs,
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
