# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is handed to a worker and what comes back, and the files and parameters of a run."""
from __future__ import annotations

import pathlib
import typing

import yaml

from px4_sim_ros.campaign.plan import Run
from px4_sim_ros.flight import px4_parameters
from px4_sim_ros.flight.embedded import check_embedded
from px4_sim_ros.flight.px4 import Px4, world_parameters
from px4_sim_ros.model.errors import ParameterError, RunError
from px4_sim_ros.process import atomic_write
from px4_sim_ros.spec.configuration import Configuration, checked_scenario, load_configuration
from px4_sim_ros.spec.resources import DUMPER
from px4_sim_ros.spec.vehicles_and_missions import flown_mission

ALWAYS, FAILED, NEVER = 'always', 'failed', 'never'
"""Which recordings are kept."""
PATH = 'path'
"""What a worker says beside the columns of a row."""
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
        """Return what flies a run; if nothing else is said it is not recorded."""
        return cls(run.number, run.scenario, run.own_vehicle, px4, records, keep, limit_s,
                   dict(recorder or {}))


def row_in(answer: typing.Mapping[str, typing.Any], what: str) -> Row:
    """Return the row of a run that was flown.

    :param answer: of a worker
    :param what: was flown, for an error sentence
    :raises ParameterError: a value of it is not allowed
    :raises RunError: it has not come to its end
    """
    if 'refused' in answer:
        raise ParameterError(f'{what}: {answer["refused"]}')
    if 'lost' in answer:
        raise RunError(f'{what}: {answer["lost"]}')
    row: Row = answer['row']
    return row


def configured(
    scenario: pathlib.Path, px4: tuple[str, str] | None, instance: int,
    bag: pathlib.Path | None = None, recorder: typing.Mapping[str, typing.Any] | None = None,
) -> Configuration:
    """Return the parameters of a flight, those of `fly --mode core --scenario FILE`.

    :param bag: what is recorded into, if it is
    :param recorder: its other parameters
    :raises ParameterError: the scenario, or something that it sets, is wrong
    """
    base: dict[str, dict[str, typing.Any]] = {'manager': {'speed_factor': 0.0}}
    if px4 is not None:
        base |= world_parameters(Px4.find(*px4))
    recorded = {} if bag is None else {
        'recorder': {'folder': str(bag), 'on_failure': 'continue', **(recorder or {})}}
    found = load_configuration(None, {
        '': {'scenario': str(scenario), 'recorder': bag is not None},
        'hil_bridge': {'instance': instance}, **recorded}, base=base)
    if px4 is None:
        check_embedded(found)
    else:
        px4_parameters.environment(
            Px4(pathlib.Path(px4[0])), found.world.vehicle, found.world.scenario)
    if (mission := flown_mission(found.world)) is not None:
        mission.check_fits(f'vehicle {found.vehicle.name}', found.vehicle.drives)
    checked_scenario(found)
    return found


def write_files(
    folder: pathlib.Path, name: str, scenario: typing.Mapping[str, typing.Any],
    vehicle: typing.Mapping[str, typing.Any] | None,
) -> pathlib.Path:
    """Write the scenario of a run, and its vehicle if it has one of its own; return the scenario.

    :raises OSError: they cannot be written
    """
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
