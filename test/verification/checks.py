# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The registry of checks: what each compares with what, and how far it may be off."""
from __future__ import annotations

import dataclasses
import importlib
import typing

MODULES = (
    'frames', 'motion', 'rotors', 'tilting', 'wings', 'wing_motion', 'ground', 'wheels',
    'propulsion', 'battery', 'environment', 'wind', 'downwash', 'sensors', 'imu_means', 'link',
    'integrators',
)


class Series(typing.NamedTuple):
    """One line of a plot."""

    name: str
    x: typing.Sequence[float]
    y: typing.Sequence[float]
    style: str = 'model'            # or reference, limit: dashed; dots


class Plot(typing.NamedTuple):
    """What explains a check; checks that return the same object share it."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    log: str = ''                   # axes with a logarithmic scale: x, y, xy


class Result(typing.NamedTuple):
    """How far a model is off, in the unit of the check's tolerance, and what shows it."""

    # The largest of several comes from NumPy, which keeps NaN: max(0.0, nan) is 0.0.
    deviation: float
    plot: Plot | None = None


@dataclasses.dataclass(frozen=True)
class Check:
    """One comparison of a model with something that does not come from this package."""

    group: str
    name: str
    model: str
    reference: str
    tolerance: float
    unit: str
    run: typing.Callable[[], Result]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What came of a check."""

    check: Check
    result: Result | None
    error: str = ''

    @property
    def passed(self) -> bool:
        """Whether the deviation is a number within the tolerance."""
        return self.result is not None and self.result.deviation <= self.check.tolerance


_registry: dict[str, Check] = {}


def check(
    name: str, *, model: str, reference: str, tolerance: float, unit: str,
) -> typing.Callable[[typing.Callable[[], Result]], typing.Callable[[], Result]]:
    """Return a decorator that registers a function as a check.

    :param model: what is checked
    :param reference: what it is compared with, and where that comes from
    :param tolerance: the largest deviation that passes
    :param unit: of deviation and tolerance
    :raises ValueError: there is a check of this name
    """
    def register(function: typing.Callable[[], Result]) -> typing.Callable[[], Result]:
        if name in _registry:
            raise ValueError(f'two checks with the name {name}')
        group = function.__module__.rpartition('.')[2].replace('_', ' ').capitalize()
        _registry[name] = Check(group, name, model, reference, tolerance, unit, function)
        return function
    return register


def all_checks() -> list[Check]:
    """Return all checks, group by group."""
    for module in MODULES:
        importlib.import_module(f'verification.{module}')
    return list(_registry.values())


def outcome(check: Check) -> Outcome:
    """Run a check; one that raises has failed."""
    try:
        return Outcome(check, check.run())
    except Exception as error:      # the report names it and goes on
        return Outcome(check, None, f'{type(error).__name__}: {error}')
