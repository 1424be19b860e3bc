# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""From logs and a vehicle file to another vehicle file: all that `identify` does."""
from __future__ import annotations

import typing

import yaml

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.real import electric, statics
from px4_sim_ros.real.fit import Estimate, Fit, fit
from px4_sim_ros.real.flight import RealFlight
from px4_sim_ros.real.held_out import HeldOut, held_out
from px4_sim_ros.real.named import NAMED, Content, changed, check_names, with_values
from px4_sim_ros.real.pages import Identified
from px4_sim_ros.real.vehicle_text import rewritten
from px4_sim_ros.spec.resources import LOADER

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
