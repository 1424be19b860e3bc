# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command `fly`: a world, an autopilot and a pilot, from start to summary."""
from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import shlex
import sys
import tempfile
import typing

from px4_sim_ros.cli import arguments, fly_fleet, fly_plan, fly_summary, output, same_flight
from px4_sim_ros.cli.exit_codes import BAD_INPUT, FAILED, INTERRUPTED
from px4_sim_ros.cli.list import ListAction
from px4_sim_ros.cli.progress import Progress
from px4_sim_ros.flight import autopilots, instances, px4_memory, remapping, settings
from px4_sim_ros.flight.fleet_record import FleetRecord
from px4_sim_ros.flight.flight import conduct
from px4_sim_ros.flight.flight_plan import AUTOPILOTS, MODES, FlightPlan, VehiclePlan
from px4_sim_ros.flight.flight_record import FlightRecord
from px4_sim_ros.flight.px4 import add_schedule_argument, command_line
from px4_sim_ros.link.hil.link_state import HilParameters
from px4_sim_ros.link.hil.server import port_of
from px4_sim_ros.model.errors import ParameterError, sentence
from px4_sim_ros.process import domain_claim, signals
from px4_sim_ros.spec import node_overrides
from px4_sim_ros.spec.configuration import Configuration
from px4_sim_ros.spec.resources import check_page, check_writable

if typing.TYPE_CHECKING:       # a flight that may be any does without the recordings
    from px4_sim_ros.cli.expectation import Expectation


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
                        f'{fly_plan.MISSION}, but none with --autopilot none')
    parser.add_argument('--scenario', help='name in config/scenarios, or a path: what happens in'
                        ' the flight, and what has to hold')
    parser.add_argument('--seed', type=int, help='seed of all random streams')
    parser.add_argument('--speed-factor', type=arguments.speed_factor, metavar='X|max',
                        help='simulated over wall time; max by default')
    parser.add_argument('--instance', type=arguments.instance,
                        help='as PX4: TCP port 4560 + instance; the first free one by default')
    parser.add_argument('--namespace', type=arguments.namespace, default='',
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
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as held:
        return _fly(options, pathlib.Path(folder), held)


def _fly(
    options: argparse.Namespace, folder: pathlib.Path, held: contextlib.ExitStack,
) -> int:
    """Fly; `held` is what others on this machine may not have meanwhile."""
    try:
        fleet = fly_fleet.fleet_of(options)
        options.mode = options.mode or ('composed' if fleet is None else 'core')
        expectation = _expectation(options)
        bag = options.record
        if bag is None and (options.report is not None or (expectation and expectation.reference)):
            bag = folder / 'flight'
        elsewhere = _free_domain(options, held)
        instance = _free_instance(options, held)
        plan, configuration = fly_plan.prepared(options, bag, fleet, instance)
        if instance and instance == configuration.of_node('hil_bridge', HilParameters).instance:
            elsewhere.append(f'instance 0 is in use: this flight has instance {instance}')
        check_writable('summary', options.summary)
        check_page('report', options.report)
        vehicles = plan.vehicles(configuration)
        held.enter_context(autopilots.claim(vehicles))
    except (ParameterError, OSError) as error:
        return output.failed('fly', error, BAD_INPUT)
    for remark in [*elsewhere,
                   *fly_plan.remarks(vehicle.configuration for vehicle in vehicles),
                   *px4_memory.remarks_on(vehicles)]:
        print(f'fly: {remark}', file=sys.stderr)
    record = FlightRecord()
    record.autopilot = plan.autopilot
    record.shares_core = configuration.of_node('hil_bridge', HilParameters).shares_core
    if plan.fleet:
        fly_fleet.prepare_record(record, list(vehicles))
    whole = fly_fleet.fleet_record(record, vehicles) if plan.fleet else record
    code, failure = _conduct(plan, configuration, record, folder, whole)
    # One that has failed before its first step has nothing to show.
    has_begun = bool(record.status.steps) or not failure
    is_written = not has_begun or fly_summary.write_summary(
        whole.summary(fly_summary.head(options, configuration, plan, record.recording,
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
        is_written &= fly_summary.write_report(record.recording, options.report)
    return code if is_written else code or FAILED


def _free_domain(options: argparse.Namespace, held: contextlib.ExitStack) -> list[str]:
    """Choose a ROS domain without a graph where the user names none.

    :return: a sentence if that is not domain 0
    :raises ParameterError: all are in use
    """
    if options.mode == 'core' or os.environ.get('ROS_DOMAIN_ID'):
        return []
    held.enter_context(domain_claim.choose())
    domain = os.environ.get('ROS_DOMAIN_ID')
    return [f'ROS domain 0 is in use: this graph has ROS_DOMAIN_ID={domain}'] if domain else []


def _free_instance(options: argparse.Namespace, held: contextlib.ExitStack) -> int:
    """Return a free instance, for where the user names none.

    An autopilot of the user has its own instance, and a fleet chooses those of its vehicles.

    :raises ParameterError: all are in use
    """
    is_fleet = options.fleet is not None or options.vehicles is not None
    if is_fleet or options.instance is not None or options.autopilot == 'none':
        return 0
    return held.enter_context(instances.first_free())


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
        with signals.unwrapped(), contextlib.closing(Progress(
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
    """Yield what PX4's logs lack, each expectation that has failed, and how to fly that again."""
    records = {plan.namespace: record, **record.others}
    for vehicle, its in records.items():
        if its.log_warning:
            yield f"{f'{vehicle}: ' if plan.fleet else ''}{its.log_warning}"
        for verdict in its.failed:
            yield f"{f'{vehicle}: ' if plan.fleet else ''}expected {verdict.text}"
    if record.failed and not plan.fleet:
        words = ['python', '-m', 'px4_sim_ros', *same_flight.words(options)]
        if not record.unrepeatable:
            words += ['--expect', record.status.fingerprint]
        yield f'again: {command_line(words) if plan.px4 else shlex.join(words)}'


def _ports(vehicles: typing.Sequence[VehiclePlan]) -> str:
    """Return the TCP ports that autopilots of the user connect to."""
    return ', '.join(
        str(port_of(vehicle.hil.instance)) for vehicle in vehicles if vehicle.autopilot == 'none')
