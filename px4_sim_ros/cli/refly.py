# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command `refly`: fly the mission of a recording again, with its autopilot, and compare."""
from __future__ import annotations

import argparse
import contextlib
import dataclasses
import pathlib
import sys
import tempfile
import typing

from px4_sim_ros.cli import flown_again, output
from px4_sim_ros.cli.compare import report_comparison
from px4_sim_ros.cli.output import FAILED
from px4_sim_ros.cli.progress import Progress
from px4_sim_ros.flight import autopilots
from px4_sim_ros.flight.flight import Flight
from px4_sim_ros.link.hil.link_state import HilParameters
from px4_sim_ros.link.ports import PortTakenError
from px4_sim_ros.model.errors import ParameterError, RunError, sentence
from px4_sim_ros.model.faults.actions import check_allowed
from px4_sim_ros.process import domain_claim
from px4_sim_ros.process.new_folder import new_folder
from px4_sim_ros.px4 import memory
from px4_sim_ros.px4.sitl import ONE_CORE, REPEATABLE, Px4, add_argument
from px4_sim_ros.recording.analysis import recorded_fingerprint
from px4_sim_ros.recording.analysis.comparison import compare_bags
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.bag.run_description import RunDescription
from px4_sim_ros.spec import node_overrides, settings
from px4_sim_ros.spec.configuration import Configuration, profile_parameters
from px4_sim_ros.spec.files import NONE
from px4_sim_ros.spec.flight_spec import FlightSpec, VehicleSpec
from px4_sim_ros.spec.resources import check_page


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    flown_again.add_arguments(parser)
    node_overrides.add_argument(parser)
    add_argument(parser, 'the PX4, if it was flown by one')


def refly(options: argparse.Namespace) -> int:
    """Fly it again and report; return the exit code."""
    return flown_again.run('refly', options, lambda: _refly(options))


def _refly(options: argparse.Namespace) -> int:
    check_page('plot', options.plot)
    output.check_json(options)
    with tempfile.TemporaryDirectory() as folder:
        return _fly_again(options, BagReader(options.bag), pathlib.Path(folder))


def _fly_again(options: argparse.Namespace, bag: BagReader, folder: pathlib.Path) -> int:
    """Fly it again and report; return the exit code."""
    overrides = flown_again.overrides(options)
    new = new_folder(options.record if options.record is not None else folder / 'refly')
    spec = _spec(options, bag.run, _configuration(bag, overrides, options.profile, new))
    with _claimed(spec):
        _fly(spec, bag, folder)
    flown = BagReader(new)
    say(repeats(*of) for of in (('the recording', bag), ('the new flight', flown)))
    found = dataclasses.replace(
        compare_bags(bag, flown), names=(str(bag.folder), 'the new flight'))
    report_comparison(bag, flown, found, options)
    is_what_if = flown_again.is_what_if(options, overrides) or bool(options.node)
    # The world of a fleet runs until the last of its vehicles has flown.
    is_longer = bag.is_one_of_several and found.ends_us[0] > found.ends_us[1]
    has_repeated = found.identical or (
        is_longer and found.agree and not any(found.topics_of_one_run))
    return 0 if is_what_if or has_repeated else FAILED


def _claimed(spec: FlightSpec) -> contextlib.ExitStack:
    """Hold what a flight needs of this machine, as `fly` does, until the result is closed."""
    try:
        return autopilots.claim(spec.vehicles)
    except PortTakenError as error:
        raise ParameterError(sentence(error)) from error


def _fly(spec: FlightSpec, bag: BagReader, folder: pathlib.Path) -> None:
    if spec.first.px4 is not None:
        say(differences(bag.run, spec.first.px4))
    if spec.repeats_px4:
        for remark in memory.remarks():
            print(f'refly: {remark}', file=sys.stderr)
    with contextlib.closing(Progress(spec.events)) as progress:
        result = Flight(spec, folder, progress).fly()
    if result.failure:
        raise RunError(result.failure)
    if result.first.log_warning:
        print(f'refly: {result.first.log_warning}', file=sys.stderr)
    say(f'the new flight: expected {verdict.text}' for verdict in result.first.failed)


def _configuration(
    bag: BagReader, overrides: settings.Settings, profile: str, new: pathlib.Path,
) -> Configuration:
    """Return the parameters of a recording, for a flight as fast as possible."""
    run = bag.run
    if run.autopilot not in ('embedded', 'px4') or not run.mission:
        raise ParameterError(f'bag {bag.folder}: it has no mission of the embedded autopilot or'
                             ' PX4; `replay` flies its commands again')
    laid = {name: dict(values) for name, values in overrides.items()}
    laid[''] = laid.get('', {}) | {'recorder': True} | (
        {} if run.scenario else {'scenario': NONE})
    for name, values in (('manager', {'speed_factor': 0.0, 'paused': False}),
                         ('pilot', {'at_end': 'hold'}), ('recorder', {'folder': str(new)})):
        laid[name] = values | laid.get(name, {})
    return run.configuration(laid, base=profile_parameters(profile))


def _spec(
    options: argparse.Namespace, run: RunDescription, configuration: Configuration,
) -> FlightSpec:
    if options.mode != 'core':
        domain_claim.check_unclaimed()
    px4, hil = None, configuration.of_node('hil_bridge', HilParameters)
    if run.autopilot == 'px4':
        px4 = dataclasses.replace(
            Px4.find(options.px4_dir, schedule_of(run, shares_core=hil.shares_core)),
            of_recording=tuple(run.px4.get('parameters', {}).items()))
    vehicle = VehicleSpec(configuration, run.autopilot, px4)
    vehicle.check()
    return FlightSpec(options.mode, (vehicle,),
                      own_classes=_own_classes(options.node, run, configuration))


def _own_classes(
    given: typing.Sequence[str], run: RunDescription, configuration: Configuration,
) -> dict[str, str]:
    """Return the blocks of the user that are flown: of the recording, unless others are given."""
    names = configuration.graph.nodes
    own = node_overrides.parse(given, names)
    for name, path in run.own_classes.items():
        if name not in own:
            check_allowed(f'node {name}', path)
    return own | node_overrides.parse(
        (f'{name}={path}' for name, path in run.own_classes.items() if name not in own), names)


def schedule_of(run: RunDescription, *, shares_core: bool) -> str:
    """Return how the PX4 of a recording is to run when it is flown again."""
    recorded = run.px4.get('schedule', ONE_CORE)
    if shares_core:
        return REPEATABLE
    return ONE_CORE if recorded == REPEATABLE else recorded


def differences(run: RunDescription, px4: Px4) -> list[str]:
    """Return in what a PX4 is another one than that of a recording, a sentence each.

    :raises OSError: a file of PX4 cannot be read
    """
    remarks: list[str] = []
    if not run.px4:
        remarks.append('the recording does not say which PX4 has flown, nor with which parameters'
                       ' and schedule: an older version has written it')
        return remarks
    if px4.schedule != run.px4['schedule']:
        remarks.append(
            f"PX4 runs with the schedule {px4.schedule}; it was {run.px4['schedule']}")
    now = px4.digests()
    build = [f'{name} {digest[:16]} and now {now[name][:16]}'
             for name, digest in run.px4['build'].items() if now[name] != digest]
    if build:
        remarks.append(f"another build of PX4: {', '.join(build)}")
    recorded = run.px4['parameters']
    for name, value in px4.parameters.items():
        if name not in recorded:
            remarks.append(f'{name} = {value} is set now, and was not')
        elif value != recorded[name]:
            remarks.append(f'{name} = {value} is set now; it was {recorded[name]}')
    return remarks


def repeats(which: str, bag: BagReader) -> str:
    """Return whether a recorded flight repeats, and why not, as a sentence.

    :param which: the flight, as the beginning of the sentence
    :raises BagError: a file cannot be read
    """
    fingerprint, why_not = recorded_fingerprint.read(bag)
    known = f'fingerprint {fingerprint}, ' if fingerprint else ''
    if not why_not:
        return f'{which}: {known}repeatable'
    sentence = f'{which}: {known}not repeatable: {why_not}'
    return sentence


def say(lines: typing.Iterable[str]) -> None:
    """Print sentences, each on a line."""
    for line in lines:
        print(line, flush=True)
