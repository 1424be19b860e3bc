# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The registry of checks: what each compares with what, and how far it may be off."""
from __future__ import annotations

import dataclasses
import importlib
import pathlib
import typing

# In the unit of the check's tolerance. The largest of several comes from NumPy, which keeps NaN:
# max(0.0, nan) is 0.0.
Deviation = typing.Callable[[], float]


@dataclasses.dataclass(frozen=True)
class Check:
    """One comparison of a model with something that does not come from this package."""

    name: str
    model: str
    reference: str
    tolerance: float
    unit: str
    deviation: Deviation


_registry: dict[str, Check] = {}


def check(
    name: str, *, model: str, reference: str, tolerance: float, unit: str,
) -> typing.Callable[[Deviation], Deviation]:
    """Return a decorator that registers a function as a check.

    :param model: what is checked
    :param reference: what it is compared with, and where that comes from
    :param tolerance: the largest deviation that passes
    :param unit: of deviation and tolerance
    :raises ValueError: there is a check of this name
    """
    def register(function: Deviation) -> Deviation:
        if name in _registry:
            raise ValueError(f'two checks with the name {name}')
        _registry[name] = Check(name, model, reference, tolerance, unit, function)
        return function
    return register


def all_checks() -> list[Check]:
    """Return the checks of all modules of this folder."""
    for path in sorted(pathlib.Path(__file__).parent.glob('[a-z]*.py')):
        if not path.name.startswith('test_'):
            importlib.import_module(f'verification.{path.stem}')
    return list(_registry.values())
