# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Flights from Python, as `from px4_sim_ros import Flight`: in a script, a notebook or a test."""
from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import shutil
import tempfile
import typing
import weakref

import yaml

from px4_sim_ros.flight import autopilots, instances
from px4_sim_ros.flight.flight import Flight as _Flight
from px4_sim_ros.flight.flight import Listener
from px4_sim_ros.link.hil.line import AUTOPILOTS
from px4_sim_ros.link.pilot.scenario_mavlink import check_event
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.process import domain_claim
from px4_sim_ros.process.new_folder import new_folder
from px4_sim_ros.spec.files import Files
from px4_sim_ros.spec.fleets import Fleet
from px4_sim_ros.spec.flight_spec import (
    MISSIONS,
    MODES,
    OF_ONE_FLIGHT,
    Options,
    flight_of,
)
from px4_sim_ros.spec.parameter_files import Settings, node_and_key
from px4_sim_ros.spec.resources import DUMPER

_SCENARIO = 'scenario.yaml'


class Flight(_Flight):
    """A flight of one vehicle or several; `fly` flies it, `begin`, `run` and `end` step by step."""

    def __init__(
        self, *, vehicle: str | None = None, mission: str | None = None,
        scenario: str | typing.Mapping[str, typing.Any] | None = None, fleet: str | None = None,
        scene: str | None = None, wind: str | None = None, profile: str = '',
        seed: int | None = None, set: typing.Mapping[str, typing.Any] | None = None,
        mode: str = 'core',
        autopilot: str = 'embedded', px4_dir: str | os.PathLike[str] | None = None,
        px4_schedule: str | None = None, instance: int | None = None,
        record: str | os.PathLike[str] | bool = True, listener: Listener | None = None,
    ) -> None:
        """Check what is to be flown, and claim an instance; nothing is started.

        :param vehicle: name in config/vehicles, or a path; so are `mission`, `profile`, `fleet`,
            `scene`
        :param scenario: name in config/scenarios, a path, or what such a file holds
        :param wind: its model, as of `fly --wind`
        :param set: parameters by name, as {'wind.speed_m_s': 8.0}
        :param px4_dir: a PX4, as of `fly --px4`
        :param px4_schedule: repeatable by default, where the user may have such a priority
        :param instance: of the autopilot; the first that is free by default
        :param record: the folder of the recording; True: one that ends with the result; False: no
            recording, and no tables
        :param listener: is called with events
        :raises ParameterError: one sentence with the name, the value and what is allowed
        """
        _check('mode', mode, MODES)
        _check('autopilot', autopilot, AUTOPILOTS)
        path = pathlib.Path(tempfile.mkdtemp(prefix='px4_sim_ros_'))
        with contextlib.ExitStack() as failed, contextlib.ExitStack() as held:
            failed.callback(shutil.rmtree, path)
            if mode != 'core':
                held.enter_context(domain_claim.choose())
            if instance is None and fleet is None:
                instance = held.enter_context(instances.first_free())
            name, files = given_scenario(scenario)
            overrides = overrides_of(set or {}, {
                'vehicle': vehicle, 'mission': mission, 'wind': wind, 'seed': seed,
                'scenario': name, 'scene': scene})
            if instance is not None:
                overrides.setdefault('hil_bridge', {})['instance'] = instance
            if record is not False:
                bag = path / 'recording' if record is True else pathlib.Path(record)
                overrides[''] |= {'recorder': True}
                overrides.setdefault('recorder', {})['folder'] = str(new_folder(bag))
            spec = flight_of(Options(
                mode, autopilot, str(px4_dir or ''), px4_schedule,
                overrides=overrides, base=OF_ONE_FLIGHT, missions=MISSIONS,
                profile=profile, files=files), None if fleet is None else Fleet.load(fleet))
            held.enter_context(autopilots.claim(spec.vehicles))
            self._held = held.pop_all()
            failed.pop_all()
        if autopilot == 'embedded' and mode == 'core':
            spec = dataclasses.replace(spec, in_process=True)
        super().__init__(spec, path, listener)
        weakref.finalize(self.result, shutil.rmtree, path, ignore_errors=True)

    def do(self, event: typing.Mapping[str, typing.Any], vehicle: str = '') -> str:
        """Let the scenario do something more from the next step on; return the event's name.

        :param event: as a scenario file has it; without a time it begins at once
        :raises ParameterError: it does not fit the flight
        """
        self.check_by_hand('do')
        return self.scenario(vehicle).do(
            dict(event) if isinstance(event, typing.Mapping) else event, check_event)

    def close(self) -> None:
        """End all that was started, and free the instance; a second time nothing happens."""
        super().close()
        self._held.close()


def _check(name: str, value: str, choices: typing.Sequence[str]) -> None:
    if value not in choices:
        raise ParameterError(f"{name} = {value!r}: must be one of {', '.join(choices)}")


def given_scenario(
    scenario: str | typing.Mapping[str, typing.Any] | None,
) -> tuple[str | None, Files]:
    """Return the name of a scenario, and files that have it, if it is what such a file holds."""
    if isinstance(scenario, str | None):
        return scenario, Files()
    return _SCENARIO, Files({('scenarios', _SCENARIO): yaml.dump(
        dict(scenario), Dumper=DUMPER, sort_keys=False)})


def overrides_of(
    given: typing.Mapping[str, typing.Any], shared: typing.Mapping[str, typing.Any],
) -> Settings:
    """Return parameters by node.

    :param given: by name, with the node before a dot
    :param shared: of all nodes; None: not given
    :raises ParameterError: there is no such node
    """
    found: Settings = {'': {key: value for key, value in shared.items() if value is not None}}
    for name, value in given.items():
        node, key = node_and_key(f'set {name!r}', name)
        found.setdefault(node, {})[key] = value
    return found
