# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""From logs and a vehicle file to another vehicle file: all that `identify` does."""
from __future__ import annotations

import typing

import yaml

from px4_sim_ros.config.resources import LOADER
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.real import electric, statics
from px4_sim_ros.real.fit import Estimate, fit
from px4_sim_ros.real.flight import RealFlight
from px4_sim_ros.real.held_out import held_out
from px4_sim_ros.real.named import NAMED, Content, changed, check_names, with_values
from px4_sim_ros.real.pages import Identified
from px4_sim_ros.real.vehicle_text import rewritten

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
    found = fit(flights, content, [one for one in names if one not in _ELECTRIC], horizon_s, asked)
    estimates, refused = list(found.estimates), list(found.refused)
    if set(electric.CENTRE) <= {name for name, _ in refused}:
        trim = electric.centre_of_mass(flights, content)
        estimates += trim
        refused = [one for one in refused if not trim or one[0] not in electric.CENTRE]
    values = {one.name: one.value for one in estimates}
    moved, turned = changed(content, values), [with_values(flight, values) for flight in flights]
    for one, told in ((electric.SHAFT_TORQUE, electric.shaft_torque),
                      (electric.RESISTANCE, electric.resistance)):
        if one not in names:
            continue
        answer = told(turned, moved)
        if isinstance(answer, Estimate):
            estimates.append(answer)
        elif one in asked:
            raise ParameterError(f'fit {one}: the log cannot tell it: {answer}')
        else:
            refused.append((one, answer))
    new = rewritten(text, name, estimates, ', '.join(flight.name for flight in flights))
    before, after = (Vehicle.from_mapping('vehicle', one) for one in (
        content, yaml.load(new, LOADER)))
    pairs = [(flight.name, statics.pairs(flight, before, statics.sampled(flight, before)),
              statics.pairs(own, after, statics.sampled(own, after)))
             for flight, own in zip(flights, turned)]
    return Identified(
        f'{name}, from {len(flights)} log{"s" if len(flights) > 1 else ""}', tuple(estimates),
        tuple(refused), found, held_out(flights, content, found, horizon_s), pairs,
        [(flight.name, f'{fact}: {words}') for flight in flights for fact, words in flight.facts],
        sorted({sentence for flight in flights for sentence in flight.unknown})), new
