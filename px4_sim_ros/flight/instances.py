# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Free instances for flights whose user has named none."""
from __future__ import annotations

import contextlib
import typing

from px4_sim_ros.link.hil.battery_link import PAYLOAD_PORT
from px4_sim_ros.link.hil.server import port_of
from px4_sim_ros.link.pilot.link import (
    AUTOPILOT_PORT,
    INSTANCES_WITH_PILOT_PORT,
    pilot_port,
)
from px4_sim_ros.link.ports import LOCAL, check_port_is_free
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.process import machine_locks

# PX4 has a port for the pilot of its first instances only. Flights of tests, campaigns and the
# benchmark take the highest of them, so that the lowest are left to `fly`.
_FLY = range(INSTANCES_WITH_PILOT_PORT)
_PX4 = _FLY[:0:-1]
_EMBEDDED = range(40, 60)
_GROUND_STATION_PORT = 18570         # of PX4
PAYLOAD_REMOTE_PORT = 14030          # to which PX4 sends what is for a camera
_OTHER_UDP_PORTS = PAYLOAD_PORT, PAYLOAD_REMOTE_PORT, _GROUND_STATION_PORT


def most_at_once(*, of_px4: bool) -> int:
    """Return how many instances flights of tests and campaigns have."""
    return len(_PX4 if of_px4 else _EMBEDDED)


def own_instance(
    *, of_px4: bool, flies_here: bool = True,
) -> contextlib.AbstractContextManager[int]:
    """Reserve an instance for a flight of a test or a campaign.

    :param flies_here: claim it as well; False if the flight that gets it claims it
    """
    return _reserved(_PX4 if of_px4 else _EMBEDDED, has_free_ports, flies_here=flies_here)


def first_free() -> contextlib.AbstractContextManager[int]:
    """Reserve the lowest instance without an autopilot for a flight that claims it.

    The user's companion program may have the other ports already.
    """
    return _reserved(_FLY, _has_no_autopilot, flies_here=False)


@contextlib.contextmanager
def _reserved(
    candidates: typing.Sequence[int], is_usable: typing.Callable[[int], bool], *,
    flies_here: bool,
) -> typing.Iterator[int]:
    for instance in candidates:
        with contextlib.ExitStack() as stack:
            # Others that look for a free one skip it before its flight has claimed it.
            reserved = machine_locks.hold(f'instance/{instance}/reserved')
            if reserved is None:
                continue
            stack.enter_context(reserved)
            try:
                claim = stack.enter_context(machine_locks.claim_instances([instance]))
            except ParameterError:
                continue
            if is_usable(instance):
                if not flies_here:
                    claim.close()
                yield instance
                return
    raise ParameterError(
        f'instance: all from {min(candidates)} to {max(candidates)} are in use; end a flight')


def is_free(instance: int) -> bool:
    """Return whether no flight has claimed an instance and all its ports are free."""
    return not machine_locks.is_claimed(instance) and has_free_ports(instance)


def has_free_ports(instance: int) -> bool:
    """Return whether the ports of link, pilot, autopilot, battery and ground station are free."""
    return _has_no_autopilot(instance) and _are_free(
        pilot_port(instance), *(port + instance for port in _OTHER_UDP_PORTS))


def _has_no_autopilot(instance: int) -> bool:
    with contextlib.suppress(OSError):
        check_port_is_free('TCP', LOCAL, port_of(instance))
        return _are_free(AUTOPILOT_PORT + instance)
    return False


def _are_free(*udp_ports: int) -> bool:
    with contextlib.suppress(OSError):
        for port in udp_ports:
            check_port_is_free('UDP', LOCAL, port)
        return True
    return False
