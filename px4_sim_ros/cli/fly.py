# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command `fly`: a world, an autopilot and a pilot, from start to summary."""
from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import shlex
import sys
import tempfile
import typing

from px4_sim_ros.cli import fly_fleet, output, same_flight
from px4_sim_ros.cli.arguments import instance, namespace, speed_factor
from px4_sim_ros.cli.exit_codes import BAD_INPUT, FAILED, INTERRUPTED
from px4_sim_ros.cli.list import ListAction
from px4_sim_ros.cli.progress import Progress
from px4_sim_ros.config import domain_claim, node_overrides
from px4_sim_ros.config.configuration import (
    Configuration,
    checked_scenario,
    load_configuration,
    profile_parameters,
)
from px4_sim_ros.config.fleets import Fleet
from px4_sim_ros.config.recording import RecorderParameters
from px4_sim_ros.config.resources import check_page, check_writable
from px4_sim_ros.config.scenarios import NONE
from px4_sim_ros.config.vehicles_and_missions import flown_mission
from px4_sim_ros.mavlink.hil_server import port_of
from px4_sim_ros.mavlink.link_state import HilParameters
from px4_sim_ros.mavlink.pilot_events import place_text
from px4_sim_ros.model.errors import ParameterError, sentence
from px4_sim_ros.model.vehicle.checks import check_is_multirotor
from px4_sim_ros.recording.bag.folder import new_folder
from px4_sim_ros.run import autopilots, fleet_plan, remapping, settings
from px4_sim_ros.run.fleet import FleetOptions, laid_over
from px4_sim_ros.run.fleet_record import FleetRecord
from px4_sim_ros.run.flight import conduct
from px4_sim_ros.run.flight_plan import AUTOPILOTS, MODES, FlightPlan, VehiclePlan
from px4_sim_ros.run.flight_record import FlightRecord
from px4_sim_ros.run.px4 import (
    Px4,
    add_schedule_argument,
    schedule_parameters,
)
from px4_sim_ros.viewing.rerun_target import RerunTarget

if typing.TYPE_CHECKING:       # a flight that may be any does without the recordings
    from px4_sim_ros.cli.expectation import Expectation

# Of a flight without a wish, which is also as fast as possible.
_MISSION = 'square'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.add_argument('--list', action=ListAction)
    parser.add_argument('--mode', choices=MODES,
                        help='one loop, all nodes in one process, or a process a node; composed'
                        ' by default, and core for several vehicles')
    parser.add_argument('--autopilot', choices=AUTOPILOTS, default='embedded',
                        help='the one that comes along, a PX4 that is started, or none: wait for'
                        ' yours, until Ctrl-C or `stop`')
    parser.add_argument('--px4-dir', default=os.environ.get('PX4_DIR', ''),
                        help='a PX4 source tree that was built, or its build folder; PX4_DIR'
                        ' by default')
    add_schedule_argument(parser)
    parser.add_argument('--mission', help='name in config/missions, or a path; by default '
                        f'{_MISSION}, but none with --autopilot none')
    parser.add_argument('--scenario', help='name in config/scenarios, or a path: what happens in'
                        ' the flight, and what has to hold')
    parser.add_argument('--seed', type=int, help='seed of all random streams')
    parser.add_argument('--speed-factor', type=speed_factor, metavar='X|max',
                        help='simulated over wall time; max by default')
    parser.add_argument('--instance', type=instance,
                        help='as PX4: TCP port 4560 + instance')
    parser.add_argument('--namespace', type=namespace, default='',
                        help='of all nodes and relative topics, such as uav1')
    fly_fleet.add_arguments(parser)
    settings.add_arguments(parser)
    node_overrides.add_argument(parser)
    remapping.add_argument(parser)
    parser.add_argument('--params-file', type=pathlib.Path, help='a ROS 2 parameter file')
    parser.add_argument('--record', metavar='DIR', help='write all messages into this new folder,'
                        ' a rosbag2 bag; how is set with --set recorder.PARAMETER=VALUE')
    parser.add_argument('--report', type=pathlib.Path, metavar='FILE.html',
                        help='write a page about the flight here; it is recorded for that')
    parser.add_argument('--viewer', metavar='rerun|FILE.rrd|URL', help='show the flight live in'
                        ' Rerun: open it, write a file for it, or send to one that runs')
    parser.add_argument('--expect', metavar='FINGERPRINT|BAG', help='fail unless the flight has'
                        ' this fingerprint, that of the summary of an earlier one; with its'
                        ' recording it is said where they part')
    parser.add_argument('--summary', type=pathlib.Path, metavar='FILE.json',
                        help='write the summary here as well')


def fly(options: argparse.Namespace) -> int:
    """Fly a mission and print its summary; return the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        return _fly(options, pathlib.Path(folder))


def _fly(options: argparse.Namespace, folder: pathlib.Path) -> int:
    try:
        fleet = fly_fleet.fleet_of(options)
        options.mode = options.mode or ('composed' if fleet is None else 'core')
        expectation = _expectation(options)
        bag = options.record
        if bag is None and (options.report is not None or (expectation and expectation.reference)):
            bag = folder / 'flight'
        plan, configuration = _prepared(options, bag, fleet)
        check_writable('summary', options.summary)
        check_page('report', options.report)
    except (ParameterError, OSError) as error:
        return output.failed('fly', error, BAD_INPUT)
    record = FlightRecord()
    record.autopilot = plan.autopilot
    record.shares_core = configuration.of_node('hil_bridge', HilParameters).shares_core
    vehicles = plan.vehicles(configuration)
    if plan.fleet:
        fly_fleet.prepare_record(record, list(vehicles))
    whole = fly_fleet.fleet_record(record, vehicles) if plan.fleet else record
    code, failure = _conduct(plan, configuration, record, folder, whole)
    # One that has failed before its first step has nothing to show.
    has_begun = bool(record.status.steps) or not failure
    is_written = not has_begun or _write_summary(
        whole.summary(_head(options, configuration, plan, record.recording,
                            has_page=code != INTERRUPTED), failure),
        options.summary)
    if code == 0 and expectation is not None:
        failure = expectation.failure(whole.fingerprint, record.recording)
        code = FAILED if failure else 0
    if code == INTERRUPTED:
        return output.interrupted('fly')
    for sentence_ in [failure, *_broken(options, plan, record)]:
        if sentence_:
            print(f'fly: {sentence_}', file=sys.stderr)
    # After the sentence: it takes a while, too long for whoever has interrupted.
    if has_begun and options.report is not None:
        is_written &= _write_report(record.recording, options.report)
    return code if is_written else code or FAILED


def _expectation(options: argparse.Namespace) -> Expectation | None:
    """Return which flight this one has to be, None for any.

    :raises ParameterError: it is not known
    """
    if options.expect is None:
        return None
    from px4_sim_ros.cli.expectation import Expectation
    return Expectation.parse(options.expect)


def _conduct(
    plan: FlightPlan, configuration: Configuration, record: FlightRecord, folder: pathlib.Path,
    whole: FlightRecord | FleetRecord,
) -> tuple[int, str]:
    """Fly; return the exit code, and why the flight has failed, '' if it has not."""
    vehicles = plan.vehicles(configuration)
    try:
        with contextlib.closing(Progress(
                sum(v.mission.events for v in vehicles if v.mission))) as progress:
            conduct(
                plan, configuration, record, folder, on_event=progress.show,
                on_restart=lambda: progress.print('the run begins again: so does the flight'),
                on_waiting=lambda: progress.print(
                    f'waiting for your autopilot on TCP port {_ports(vehicles)}'))
    except KeyboardInterrupt:
        return INTERRUPTED, 'interrupted'
    except (OSError, RuntimeError, ParameterError) as error:
        return FAILED, sentence(error)
    return 0 if whole.has_succeeded or record.was_stopped else FAILED, ''


def _broken(
    options: argparse.Namespace, plan: FlightPlan, record: FlightRecord,
) -> typing.Iterator[str]:
    """Yield a sentence for each expectation that has failed, and how to fly that again."""
    records = {plan.namespace: record, **record.others}
    for vehicle, its in records.items():
        for verdict in its.failed:
            yield f"{f'{vehicle}: ' if plan.fleet else ''}expected {verdict.text}"
    if record.failed and not plan.fleet:
        words = ['python', '-m', 'px4_sim_ros', *same_flight.words(options)]
        if not record.unrepeatable:
            words += ['--expect', record.status.fingerprint]
        yield f'again: {shlex.join(words)}'


def _prepared(
    options: argparse.Namespace, bag: str | pathlib.Path | None, fleet: Fleet | None,
) -> tuple[FlightPlan, Configuration]:
    """Return what is to be flown, and the parameters of the vehicle, of several the first.

    :param bag: where it is recorded; None unless the parameters ask for a recording
    :raises ParameterError: something is wrong
    :raises OSError: a port of the flight is in use
    """
    if fleet is None:
        configuration = _configuration(options, bag)
        return _plan(options, configuration), configuration
    vehicles = fleet_plan.plans(fleet, options.autopilot, FleetOptions(
        options.params_file, _overrides(options, bag),
        lambda autopilot: laid_over(
            _base(autopilot, options.px4_schedule), profile_parameters(options.profile))),
        lambda: Px4.find(options.px4_dir, options.px4_schedule))
    for vehicle in vehicles:
        _check_vehicle(vehicle.configuration, vehicle.autopilot)
        autopilots.check(vehicle.hil, vehicle.autopilot, vehicle.mission is not None)
    first = vehicles[0].configuration
    own_classes = node_overrides.parse(options.node, first.graph.nodes)
    if options.mode != 'core':
        domain_claim.check_unclaimed()
    return fleet_plan.flight_plan(fleet, options.mode, vehicles, own_classes), first


def _configuration(
    options: argparse.Namespace, bag: str | pathlib.Path | None,
) -> Configuration:
    """Return the parameters of the flight.

    :param bag: where it is recorded; None unless the parameters ask for a recording
    :raises ParameterError: one of them is wrong, or there is such a recording already
    """
    configuration = load_configuration(
        options.params_file, _overrides(options, bag), options.namespace,
        base=_base(options.autopilot, options.px4_schedule)
        | profile_parameters(options.profile))
    _check_vehicle(configuration, options.autopilot)
    return configuration


def _check_vehicle(configuration: Configuration, autopilot: str) -> None:
    """Check that an autopilot can fly a vehicle, and that it can be recorded if it is to be.

    :raises ParameterError: it cannot
    """
    if autopilot == 'embedded':
        check_is_multirotor(configuration.vehicle)
    if 'recorder' in configuration.nodes:
        new_folder(configuration.of_node('recorder', RecorderParameters).folder)


def _plan(options: argparse.Namespace, configuration: Configuration) -> FlightPlan:
    """Return what is to be flown.

    :raises ParameterError: an option is wrong
    :raises OSError: a port of the flight is in use
    """
    mission = flown_mission(configuration.world)
    if mission is not None:
        vehicle = configuration.vehicle
        mission.check_fits(f'vehicle {vehicle.name}', vehicle.drives)
    scenario = checked_scenario(configuration)
    own_classes = node_overrides.parse(options.node, configuration.graph.nodes)
    if options.mode == 'core':
        for name, value in (('remap', ''.join(options.remap[:1])),
                            ('namespace', options.namespace)):
            if value:
                raise ParameterError(f'{name} {value!r}: mode core has no topics; fly in mode'
                                     ' composed or separate')
    remapping.check(options.remap, configuration.graph)
    _check_viewer(options)
    if options.mode != 'core':
        domain_claim.check_unclaimed()
    px4 = Px4.find(options.px4_dir, options.px4_schedule) if options.autopilot == 'px4' else None
    hil = configuration.of_node('hil_bridge', HilParameters)
    autopilots.check(hil, options.autopilot, mission is not None)
    return FlightPlan(options.mode, options.autopilot, px4, mission, own_classes,
                      options.remap, options.viewer, options.namespace, scenario)


def _base(autopilot: str, px4_schedule: str) -> settings.Settings:
    """Return what holds unless parameters or options say otherwise."""
    # The mission ends a flight, so that it ends with a step that is always the same.
    base: settings.Settings = {'manager': {'speed_factor': 0.0}, 'pilot': {'at_end': 'hold'}}
    if autopilot == 'px4':
        base |= schedule_parameters(px4_schedule)
    return base if autopilot == 'none' else base | {'': {'mission': _MISSION}}


def _ports(vehicles: typing.Sequence[VehiclePlan]) -> str:
    """Return the TCP ports that autopilots of the user connect to."""
    return ', '.join(
        str(port_of(vehicle.hil.instance)) for vehicle in vehicles if vehicle.autopilot == 'none')


def _check_viewer(options: argparse.Namespace) -> None:
    """Check that the flight can be shown, if that is wanted.

    :raises ParameterError: it cannot, and why
    """
    if options.viewer is None:
        return
    if options.mode == 'core':
        raise ParameterError(f'viewer {options.viewer!r}: mode core has no topics to look at;'
                             ' --record the flight and look at the recording with `view`')
    RerunTarget(options.viewer)


def _head(
    options: argparse.Namespace, configuration: Configuration, plan: FlightPlan, bag: str,
    *, has_page: bool,
) -> dict[str, typing.Any]:
    world = configuration.world
    head = {'mode': options.mode, 'wind': world.wind, 'seed': world.seed}
    if plan.fleet:
        head |= {'name': plan.fleet, 'vehicles': len(plan.others) + 1}
    else:
        head = {'mode': options.mode, 'autopilot': options.autopilot,
                'vehicle': configuration.vehicle.name, 'wind': world.wind, 'seed': world.seed,
                'mission': plan.mission.name if plan.mission else 'none'}
    if configuration.world.scenario != NONE:
        head['scenario'] = pathlib.Path(configuration.world.scenario).stem
    if options.record is not None:
        head['recording'] = bag
    if options.report is not None and has_page:
        head['report'] = str(options.report)
    return head


def _write_summary(summary: dict[str, typing.Any], path: pathlib.Path | None) -> bool:
    """Print the summary, and write it if that is wanted; return whether that has worked."""
    _print_summary(summary)
    sys.stdout.flush()         # before what is said on stderr
    try:
        if path is not None:
            path.write_text(json.dumps(summary, indent=2) + '\n', encoding='utf-8')
    except OSError as error:
        print(f'fly: summary {path}: {sentence(error)}', file=sys.stderr)
        return False
    return True


def _write_report(bag: str, path: pathlib.Path) -> bool:
    """Write the page about a recorded flight; return whether that has worked."""
    from px4_sim_ros.recording.bag.run_description import BagError
    from px4_sim_ros.recording.report.any_report import write_any_report
    try:
        write_any_report(bag, path)
    except (BagError, ParameterError, OSError) as error:
        print(f'fly: report {path}: {sentence(error)}', file=sys.stderr)
        return False
    print(f'look at {path}')
    return True


def _overrides(
    options: argparse.Namespace, bag: str | pathlib.Path | None,
) -> settings.Settings:
    found = settings.settings(options)
    for node, name in (('', 'seed'), ('', 'mission'), ('', 'scenario'), ('manager', 'speed_factor'),
                       ('hil_bridge', 'instance')):
        value = getattr(options, name)
        if value is not None:
            found.setdefault(node, {})[name] = value
    if bag is not None:
        found['']['recorder'] = True
        found.setdefault('recorder', {})['folder'] = str(new_folder(bag))
    return found


def _print_summary(summary: dict[str, typing.Any]) -> None:
    for key, value in summary.items():
        if key == 'arrivals':
            for arrival in value:
                print(f"{'arrival':28} {place_text(arrival['target_enu_m'])}, off by"
                      f" {arrival['position_error_m']:g} m")
        elif key == 'events':
            for event in value:
                print(f"{'event':28} {event['event']}, at {event['time_s']:.3f} s")
        elif key == 'distances':
            for pair in value:
                print(f"{'least distance':28} {' and '.join(pair['vehicles'])},"
                      f" {pair['distance_m']:g} m at {pair['time_s']:.3f} s")
        elif key == 'fleet':
            for vehicle in value:
                fly_fleet.print_vehicle(vehicle)
        elif key == 'expectations':
            for verdict in value:
                print(f"{'expected':28} {verdict['text']}")
        elif value in (None, '', {}) or key == 'failure':
            continue           # there is none, or it is said on stderr
        elif isinstance(value, dict):
            print(f'{key:28} ' + ', '.join(f'{k} {v:.2f}' for k, v in value.items()))
        else:
            print(f'{key:28} {value}')
