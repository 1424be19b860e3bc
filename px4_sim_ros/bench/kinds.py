# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is flown: modes, autopilots, recorder off and on, and the ceilings."""
from __future__ import annotations

import fnmatch
import typing

from px4_sim_ros.autopilot.mavlink_interface import AUTOPILOT_PORT
from px4_sim_ros.mavlink.battery_link import PAYLOAD_PORT
from px4_sim_ros.mavlink.hil_server import port_of
from px4_sim_ros.mavlink.pilot_link import PILOT_PORT
from px4_sim_ros.mavlink.ports import LOCAL, check_port_is_free
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.run.flight_plan import MODES
from px4_sim_ros.run.px4 import ALL_CORES, ONE_CORE, PILOTED_INSTANCES

# `trivial` only answers: with it our own side is what limits.
AUTOPILOTS = ('trivial', 'embedded', 'px4')
CEILING = 'ceiling'
_INSTANCES = range(PILOTED_INSTANCES - 1, -1, -1)
_GROUND_STATION_PORT = 18570         # of PX4
_UDP_PORTS = PILOT_PORT, AUTOPILOT_PORT, PAYLOAD_PORT, _GROUND_STATION_PORT


class Kind(typing.NamedTuple):
    """A way to fly."""

    mode: str               # one of MODES, or CEILING
    autopilot: str
    recorder: bool = False
    all_cores: bool = False     # PX4 runs on all cores, whatever is asked for

    @property
    def name(self) -> str:
        """How it is called in options, tables and JSON."""
        if self.mode == CEILING:
            return f'{CEILING}/all-cores' if self.all_cores else CEILING
        return f'{self.mode}/{self.autopilot}' + ('/recorder' if self.recorder else '')


# The first has PX4 on the cores that it has in the flights, the second on all, as its own start
# script does; figures of other simulators are about the second.
CEILING_KIND = Kind(CEILING, 'px4')
CEILING_ON_ALL_CORES = Kind(CEILING, 'px4', all_cores=True)
CEILINGS = CEILING_KIND, CEILING_ON_ALL_CORES
FLIGHTS = tuple(
    Kind(mode, autopilot, recorder)
    for autopilot in AUTOPILOTS for recorder in (False, True) for mode in MODES)
ALL = (*CEILINGS, *FLIGHTS)


def selected(
    patterns: typing.Sequence[str], *, px4: bool, px4_schedule: str = ONE_CORE,
) -> list[Kind]:
    """Return the kinds whose names match one of some patterns, all when there is none.

    With a kind that flies PX4 come the ceilings, which it is compared with.

    :param px4: whether there is a PX4
    :param px4_schedule: how it runs in the flights; on all cores both ceilings are the same
    :raises ParameterError: a pattern matches nothing, or nothing that can be flown
    """
    ceilings = (CEILING_KIND,) if px4_schedule == ALL_CORES else CEILINGS
    possible = [kind for kind in (*ceilings, *FLIGHTS) if px4 or kind.autopilot != 'px4']
    for pattern in patterns:
        if _matching(pattern, possible):
            continue
        if not _matching(pattern, ALL):
            names = ', '.join(kind.name for kind in ALL)
            raise ParameterError(f'only = {pattern!r}: matches none of {names}')
        if not px4:
            raise ParameterError(f'only = {pattern!r}: needs a PX4; give its folder with --px4-dir')
        raise ParameterError(
            f'only = {pattern!r}: with --px4-schedule all-cores it is the same as'
            f' {CEILING_KIND.name}')
    found = {kind for pattern in patterns or ['*'] for kind in _matching(pattern, possible)}
    if any(kind in FLIGHTS and kind.autopilot == 'px4' for kind in found):
        found.update(ceilings)
    return [kind for kind in possible if kind in found]


def _matching(pattern: str, kinds: typing.Iterable[Kind]) -> list[Kind]:
    return [kind for kind in kinds if fnmatch.fnmatchcase(kind.name, pattern)]


def free_instance() -> int:
    """Return an instance whose ports are free.

    :raises ParameterError: there is none
    """
    for instance in _INSTANCES:
        if is_free(instance):
            return instance
    raise ParameterError('the ports of all PX4 instances from 0 to 9 are in use')


def is_free(instance: int) -> bool:
    """Return whether the ports of link, pilot, autopilot, battery and ground station are free."""
    try:
        check_port_is_free('TCP', LOCAL, port_of(instance))
        for port in _UDP_PORTS:
            check_port_is_free('UDP', LOCAL, port + instance)
    except OSError:
        return False
    return True
