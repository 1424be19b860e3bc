# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""One graph in a ROS domain of a machine: who comes second is refused before it disturbs the first.

All graphs have nodes of the same names, and one `/clock`. So a process that starts one, or
publishes the clock, locks a name, which reaches as far as DDS on this machine does.
"""
from __future__ import annotations

import contextlib
import os
import typing

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.process import machine_locks

# What can be held in a domain: the start of a graph with all that belongs to it, and its clock.
# A starter that was killed leaves a clock behind for as long as the graph takes to end.
STARTER, CLOCK = 'starter', 'clock'

# Whose ports are free for it on every system. An instance has the number of its domain: 0 is that
# of a process that has chosen none.
_DOMAINS = range(1, 102)
# The ports of those above it would be beyond the last one.
_LAST_DOMAIN = 232


def claim(*roles: str) -> contextlib.ExitStack:
    """Hold the roles in this process's domain until the result is closed."""
    domain = _domain()
    with contextlib.ExitStack() as stack:
        for role in roles:
            held = machine_locks.hold(_name(role, domain))
            if held is None:
                raise _taken(role, domain)
            stack.enter_context(held)
        return stack.pop_all()


def check_unclaimed(roles: typing.Sequence[str] = (STARTER, CLOCK)) -> None:
    """Check that a graph can be started in this process's domain."""
    domain = _domain()
    for role in roles:
        if machine_locks.is_held(_name(role, domain)):
            raise _taken(role, domain)


def _taken(role: str, domain: int) -> ParameterError:
    return ParameterError(
        f'ROS_DOMAIN_ID = {domain}: a graph runs in this domain already'
        f'{machine_locks.holder(_name(role, domain))}; {_free_domain()}')


def choose() -> contextlib.ExitStack:
    """Give this process a domain without a graph, for where its user has chosen none."""
    with contextlib.ExitStack() as stack:
        for domain in 0, *_DOMAINS:
            reserved = machine_locks.hold(_name('reserved', domain))
            if reserved is None:
                continue
            stack.enter_context(reserved)
            if _is_free(domain):
                if domain:
                    os.environ['ROS_DOMAIN_ID'] = str(domain)
                return stack.pop_all()
            stack.close()
    raise ParameterError(f'ROS_DOMAIN_ID: a graph runs in each domain from 0 to {_DOMAINS[-1]};'
                         ' end one')


def claim_start() -> contextlib.ExitStack:
    """Hold the right to start a graph; its clock is for one of its processes."""
    with claim(STARTER) as held:
        check_unclaimed([CLOCK])
        return held.pop_all()


def holder_of_graph() -> str:
    """Return who has a graph in this process's domain, such as ` (process 4711)`, or ''."""
    domain = _domain()
    return (machine_locks.holder(_name(CLOCK, domain))
            or machine_locks.holder(_name(STARTER, domain)))


def _domain() -> int:
    text = os.environ.get('ROS_DOMAIN_ID') or '0'
    with contextlib.suppress(ValueError):
        if 0 <= int(text) <= _LAST_DOMAIN:
            return int(text)
    raise ParameterError(
        f'ROS_DOMAIN_ID = {text!r}: must be a whole number, at least 0 and at most {_LAST_DOMAIN}')


def _name(role: str, domain: int) -> str:
    return f'{domain}/{role}'


def _free_domain() -> str:
    for domain in _DOMAINS:
        if _is_free(domain):
            return (f'end it, or give this one a domain of its own, such as ROS_DOMAIN_ID={domain},'
                    f' and instance {domain} if it has an autopilot')
    return 'end it: all others are taken as well'


def _is_free(domain: int) -> bool:
    return not any(machine_locks.is_held(_name(role, domain)) for role in (STARTER, CLOCK))
