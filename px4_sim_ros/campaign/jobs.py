# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is handed to a worker and what comes back, and the files and parameters of a run."""
from __future__ import annotations

import dataclasses
import pathlib
import typing

import yaml

from px4_sim_ros.campaign.plan import Run
from px4_sim_ros.model.errors import ParameterError, RunError
from px4_sim_ros.model.scenario.situation import Situation
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.process import atomic_write
from px4_sim_ros.spec.files import Files, Kind
from px4_sim_ros.spec.flight_spec import AS_FAST_AS_POSSIBLE, FlightSpec, Options, flight_of
from px4_sim_ros.spec.resources import DUMPER

ALWAYS, FAILED, NEVER = 'always', 'failed', 'never'
"""Which recordings are kept."""
PATH = 'path'
"""What a worker says beside the columns of a row."""
SCENARIO = 'scenario.yaml'
"""The name of the scenario of a run."""
Row = dict[str, typing.Any]
"""What is known of a run, by column; values are numbers, texts, true, false or None."""


class Job(typing.NamedTuple):
    """What a worker needs to fly a run, as plain values that can be sent."""

    number: int
    scenario: dict[str, typing.Any]              # content of the file
    vehicle: dict[str, typing.Any] | None        # content of its file; None: the one of that name
    px4: tuple[str, str] | None                  # build folder and schedule; None: embedded
    records: str                                 # ALWAYS, FAILED or NEVER
    keep: str                                    # new folder for what is recorded
    limit_s: float                               # wall time
    recorder: dict[str, typing.Any]              # its parameters, beside the folder

    @classmethod
    def of(
        cls, run: Run, px4: tuple[str, str] | None, limit_s: float, records: str = NEVER,
        keep: str = '', recorder: typing.Mapping[str, typing.Any] | None = None,
    ) -> Job:
        """Return the function that flies a run; by default it is not recorded."""
        return cls(run.number, run.scenario, run.own_vehicle, px4, records, keep, limit_s,
                   dict(recorder or {}))


def row_in(answer: typing.Mapping[str, typing.Any], what: str) -> Row:
    """Return the row of a run that was flown."""
    if 'refused' in answer:
        raise ParameterError(f'{what}: {answer["refused"]}')
    if 'lost' in answer:
        raise RunError(f'{what}: {answer["lost"]}')
    row: Row = answer['row']
    return row


def spec_of(
    scenario: typing.Mapping[str, typing.Any], vehicle: typing.Mapping[str, typing.Any] | None,
    px4: tuple[str, str] | None, instance: int, bag: pathlib.Path | None = None,
    recorder: typing.Mapping[str, typing.Any] | None = None,
) -> FlightSpec:
    """Return a flight, which is that of `fly --mode core --scenario FILE`.

    :param scenario: content of its file
    :param vehicle: content of its file; None: the one of that name
    :param px4: build folder and schedule; None: the embedded autopilot flies, in this process
    :param bag: what is recorded into, if it is
    :param recorder: its other parameters
    """
    texts: dict[tuple[Kind, str], str] = {('scenarios', SCENARIO): _dumped(scenario)}
    if vehicle is not None:
        texts['vehicles', str(scenario['vehicle'])] = _dumped(vehicle)
    recorded = {} if bag is None else {
        'recorder': {'folder': str(bag), 'on_failure': 'continue', **(recorder or {})}}
    options = Options(
        autopilot='embedded' if px4 is None else 'px4', base=AS_FAST_AS_POSSIBLE,
        overrides={'': {'scenario': SCENARIO, 'recorder': bag is not None},
                   'hil_bridge': {'instance': instance}, **recorded}, files=Files(texts))
    if px4 is not None:
        options = dataclasses.replace(options, px4_dir=px4[0], px4_schedule=px4[1])
    return dataclasses.replace(flight_of(options), in_process=px4 is None)


def write_files(
    folder: pathlib.Path, name: str, scenario: typing.Mapping[str, typing.Any],
    vehicle: typing.Mapping[str, typing.Any] | None,
) -> pathlib.Path:
    """Write the scenario of a run, and a vehicle of its own; return the file of the scenario."""
    content = dict(scenario)
    if vehicle is not None:
        path = folder / f'{name}.vehicle.yaml'
        atomic_write.write(path, _dumped(vehicle))
        content['vehicle'] = str(path.absolute())
    path = folder / f'{name}.yaml'
    atomic_write.write(path, _dumped(content))
    return path


def _dumped(content: typing.Mapping[str, typing.Any]) -> str:
    return yaml.dump(dict(content), Dumper=DUMPER, sort_keys=False, allow_unicode=True)


_FIRST_US = 100_000
_MOST = 200


class FlownPath(typing.NamedTuple):
    """Places at equal times, from the start."""

    run: int
    every_s: float
    points: list[list[float]]      # east, north and up of the start, m, to the centimetre


class PathTaker:
    """Takes a path while it is flown: when it has many points, every second one is enough."""

    def __init__(self) -> None:
        self._every_us, self._next_us = _FIRST_US, 0
        self._points: list[list[float]] = []

    def add(self, situation: Situation) -> None:
        if situation.time_us < self._next_us:
            return
        self._points.append([round(place - start, 2) for place, start in zip(
            situation.truth.position_enu, situation.start_enu)])
        if len(self._points) == _MOST:
            self._points = self._points[::2]
            self._every_us *= 2
        self._next_us = len(self._points) * self._every_us

    def path(self, run: int) -> FlownPath:
        return FlownPath(run, self._every_us / US_PER_S, self._points)
