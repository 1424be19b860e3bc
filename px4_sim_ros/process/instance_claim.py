# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An instance is of one flight on a machine: who comes second is refused before anything starts.

Its ports alone do not tell: they are bound long after they were looked at.
"""
from __future__ import annotations

import contextlib
import typing

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.process import machine_locks


def claim(instances: typing.Iterable[int]) -> contextlib.ExitStack:
    """Hold the instances of a flight until the result is closed.

    :raises ParameterError: another flight has one of them
    """
    with contextlib.ExitStack() as stack:
        for instance in instances:
            held = machine_locks.hold(_name(instance))
            if held is None:
                raise ParameterError(
                    f'instance = {instance}: another flight has it'
                    f'{machine_locks.holder(_name(instance))}; end it or choose another instance')
            stack.enter_context(held)
        return stack.pop_all()


def is_claimed(instance: int) -> bool:
    """Return whether a flight has an instance."""
    return machine_locks.is_held(_name(instance))


def _name(instance: int) -> str:
    return f'instance/{instance}'
