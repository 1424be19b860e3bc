# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is flown: modes, autopilots, who records or looks on, the peers, and the ceilings."""
from __future__ import annotations

import fnmatch
import typing

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.px4.sitl import ALL_CORES, ONE_CORE
from px4_sim_ros.spec.flight_spec import MODES

# `trivial` only answers: with it our own side is what limits.
AUTOPILOTS = ('trivial', 'embedded', 'px4')
CEILING, JMAVSIM, SIH = 'ceiling', 'jmavsim', 'sih'
PEERS = JMAVSIM, SIH
# It subscribes to every topic of the step, or to what viewers show, at its rates.
SUBSCRIBERS = EVERY_TOPIC, VIEWERS = 'subscriber', 'viewers'
# What is not ours, and flown by PX4 only.
OTHERS = *PEERS, CEILING


class Kind(typing.NamedTuple):
    """A way to fly."""

    mode: str               # one of MODES, or of OTHERS
    autopilot: str
    recorder: bool = False
    all_cores: bool = False     # PX4 runs on all cores, whatever is asked for
    subscriber: str = ''        # another process, one of SUBSCRIBERS

    @property
    def name(self) -> str:
        """How it is called in options, tables and JSON."""
        name = self.mode if self.mode in OTHERS else f'{self.mode}/{self.autopilot}'
        return (name + ('/recorder' if self.recorder else '')
                + ('/all-cores' if self.all_cores else '')
                + (f'/{self.subscriber}' if self.subscriber else ''))

    @property
    def as_it_comes(self) -> Kind:
        """The same with PX4 on all cores."""
        return self._replace(all_cores=True)


# A peer with PX4 is flown with it where it is in our flights, and on all cores, as its own start
# script leaves it: figures of other simulators are about the second.
CEILING_KIND = Kind(CEILING, 'px4')
CEILING_ON_ALL_CORES = CEILING_KIND.as_it_comes
CEILINGS = CEILING_KIND, CEILING_ON_ALL_CORES
# On one core a PX4 with SIH in it does not come to the end of its start script.
PEER_KINDS = (
    Kind(JMAVSIM, 'px4'), Kind(JMAVSIM, 'px4').as_it_comes, Kind(SIH, 'px4').as_it_comes)
FLIGHTS = tuple(
    Kind(mode, autopilot, recorder)
    for autopilot in AUTOPILOTS for recorder in (False, True) for mode in MODES)
FLIGHTS_ON_ALL_CORES = tuple(
    Kind(mode, 'px4').as_it_comes for mode in MODES if mode != 'separate')
FLIGHTS_WITH_SUBSCRIBER = tuple(
    Kind('composed', autopilot, subscriber=subscriber)
    for autopilot in ('trivial', 'px4') for subscriber in SUBSCRIBERS)
ALL = (*CEILINGS, *PEER_KINDS, *FLIGHTS, *FLIGHTS_ON_ALL_CORES, *FLIGHTS_WITH_SUBSCRIBER)


def selected(
    patterns: typing.Sequence[str], *, px4: bool, px4_schedule: str = ONE_CORE,
    peers: typing.Collection[str] = (),
) -> list[Kind]:
    """Return the kinds whose names match one of some patterns, all when there is none.

    With a kind that flies PX4 come the ceilings, which it is compared with.

    :param px4: whether there is a PX4
    :param px4_schedule: how it runs in the flights; on all cores both ceilings are the same, and so
        are all others
    :param peers: those of PEERS that are there
    :raises ParameterError: a pattern matches nothing, or nothing that can be flown
    """
    possible = [
        kind for kind in ALL
        if (px4 or kind.autopilot != 'px4')
        and not (kind.all_cores and px4_schedule == ALL_CORES and kind.mode != SIH)
        and (kind.mode in peers or kind.mode not in PEERS)]
    for pattern in patterns:
        if _matching(pattern, possible):
            continue
        if not _matching(pattern, ALL):
            names = ', '.join(kind.name for kind in ALL)
            raise ParameterError(f'only = {pattern!r}: matches none of {names}')
        if not px4:
            raise ParameterError(f'only = {pattern!r}: needs a PX4; give its folder with --px4-dir')
        if all(kind.mode in PEERS for kind in _matching(pattern, ALL)):
            raise ParameterError(f'only = {pattern!r}: is not there; --jmavsim-dir names a jMAVSim'
                                 ' that was built, and SIH is part of the PX4 of px4_sitl_default')
        raise ParameterError(
            f'only = {pattern!r}: with --px4-schedule all-cores it is the same as'
            f' {_matching(pattern, ALL)[0]._replace(all_cores=False).name}')
    found = {kind for pattern in patterns or ['*'] for kind in _matching(pattern, possible)}
    if any(kind.mode not in OTHERS and kind.autopilot == 'px4' for kind in found):
        found.update(kind for kind in possible if kind.mode == CEILING)
    return [kind for kind in possible if kind in found]


def _matching(pattern: str, kinds: typing.Iterable[Kind]) -> list[Kind]:
    return [kind for kind in kinds if fnmatch.fnmatchcase(kind.name, pattern)]
