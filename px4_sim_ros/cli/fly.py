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

from px4_sim_ros.cli import arguments, fly_plan, fly_summary, output
from px4_sim_ros.cli.list import ListAction
from px4_sim_ros.cli.output import FAILED, INTERRUPTED
from px4_sim_ros.cli.progress import Progress
from px4_sim_ros.flight import autopilots, instances
from px4_sim_ros.flight.flight import Flight
from px4_sim_ros.flight.record import FlightResult
from px4_sim_ros.link.hil.line import AUTOPILOTS, STARTED
from px4_sim_ros.model.errors import ParameterError, sentence
from px4_sim_ros.process import domain_claim, signals
from px4_sim_ros.px4 import memory, sitl
from px4_sim_ros.spec import node_overrides, remapping, settings
from px4_sim_ros.spec.fleets import MOST_VEHICLES, SPACING_M
from px4_sim_ros.spec.flight_spec import MISSION, MODES
from px4_sim_ros.spec.resources import check_page

if typing.TYPE_CHECKING:       # a flight that may be any does without the recordings
    from px4_sim_ros.cli.compare import Expectation


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.add_argument('--list', action=ListAction)
    parser.add_argument('--mode', choices=MODES,
                        help='one loop, all nodes in one process, or a process a node; composed'
                        ' by default, and core for several vehicles')
    parser.add_argument('--autopilot', choices=AUTOPILOTS, default='embedded',
                        metavar='|'.join(AUTOPILOTS),
                        help='the one that comes along, a PX4 that is started, none: wait for'
                        ' yours, until Ctrl-C or `stop`; or a line to a flight controller in HITL')
    sitl.add_argument(parser)
    sitl.add_schedule_argument(parser, None)
    parser.add_argument('--mission', help='name in config/missions, or a path (.yaml, .plan);'
                        f' by default {MISSION}, but none with --autopilot none')
    parser.add_argument('--scenario', help='name in config/scenarios, or a path: what happens in'
                        ' the flight, and what has to hold')
    parser.add_argument('--seed', type=int, help='seed of all random streams')
    parser.add_argument('--speed-factor', type=arguments.speed_factor, metavar='X|max',
                        help='simulated over wall time; max by default')
    parser.add_argument('--instance', type=arguments.instance,
                        help='as PX4: TCP port 4560 + instance; the first free one by default')
    parser.add_argument('--namespace', type=arguments.namespace, default='',
                        help='of all nodes and relative topics, such as uav1')
    _add_fleet_arguments(parser)
    settings.add_arguments(parser)
    node_overrides.add_argument(parser)
    remapping.add_argument(parser)
    parser.add_argument('--params-file', type=pathlib.Path, help='a ROS 2 parameter file')
    parser.add_argument('--px4-topics', nargs='?', const='', metavar='AWAITED',
                        help="PX4's own ROS 2 topics as a part of the step; with commas between"
                        ' them those to PX4 that are awaited, as trajectory_setpoint')
    parser.add_argument('--agent', action='store_true', help="start eProsima's MicroXRCEAgent"
                        ' beside PX4, for its topics outside the step')
    parser.add_argument('--record', metavar='DIR', help='write all messages into this new folder,'
                        ' a rosbag2 bag; how is set with --set recorder.PARAMETER=VALUE')
    parser.add_argument('--report', type=pathlib.Path, metavar='FILE.html',
                        help='write a page about the flight here; it is recorded for that')
    parser.add_argument('--expect', metavar='FINGERPRINT|BAG', help='fail unless the flight has'
                        ' this fingerprint, that of the summary of an earlier one; with its'
                        ' recording it is said where they part')
    output.add_json(parser, 'the summary', '--summary')


def _add_fleet_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options for several vehicles."""
    several = parser.add_mutually_exclusive_group()
    several.add_argument('--fleet', metavar='FLEET', help='fly several vehicles in one world, in'
                         ' one lockstep: name in config/fleets, or a path')
    several.add_argument('--vehicles', type=_count, metavar='N', help='the same with N vehicles'
                         ' that are alike: px4_1 is instance 1 of PX4, and so on, or from'
                         ' --instance on')
    parser.add_argument('--spacing', type=float, metavar='M', help='how far they are apart at'
                        f' first; {SPACING_M:g} m by default')


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= MOST_VEHICLES:
        raise argparse.ArgumentTypeError(
            f'{text!r}: must be a whole number, at least 1 and at most {MOST_VEHICLES}')
    return int(text)


def fly(options: argparse.Namespace) -> int:
    """Fly a mission and print its summary; return the exit code."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as held:
        return _fly(options, pathlib.Path(folder), held)


def _fly(
    options: argparse.Namespace, folder: pathlib.Path, held: contextlib.ExitStack,
) -> int:
    """Fly; `held` is what others on this machine may not have meanwhile."""
    fleet = fly_plan.fleet_of(options)
    options.mode = options.mode or ('composed' if fleet is None else 'core')
    expectation = _expectation(options)
    bag = options.record
    if bag is None and (options.report is not None or (expectation and expectation.reference)):
        bag = folder / 'flight'
    elsewhere = _free_domain(options, held)
    instance = _free_instance(options, held)
    spec = fly_plan.spec_of(options, bag, fleet, instance)
    if instance and instance == spec.first.hil.instance:
        elsewhere.append(f'instance 0 is in use: this flight has instance {instance}')
    output.check_json(options)
    check_page('report', options.report)
    held.enter_context(autopilots.claim(spec.vehicles))
    for remark in [*elsewhere,
                   *fly_plan.left_out(spec.vehicles),
                   *fly_plan.remarks(vehicle.configuration for vehicle in spec.vehicles),
                   *(memory.remarks() if spec.repeats_px4 else []),
                   *fly_plan.settled_schedule(options, spec)]:
        print(f'fly: {remark}', file=sys.stderr)
    with contextlib.closing(Progress(spec.events, spec.awaited_at)) as progress:
        flight = Flight(spec, folder, progress)
        code, failure = _flown(flight)
    result = flight.result
    # One that has failed before its first step has nothing to show.
    has_begun = bool(result.first.status.steps) or not failure
    is_written = not has_begun or fly_summary.write_summary(
        result.summary(fly_summary.head(options, result, failure, has_page=code != INTERRUPTED))
        | {'failure': failure}, options.json)
    if code == 0 and expectation is not None:
        failure = expectation.failure(result.fingerprint, result.recording)
        code = FAILED if failure else 0
    if code == INTERRUPTED:
        return output.interrupted('fly')
    for sentence_ in [failure, *_broken(options, result)]:
        if sentence_:
            print(f'fly: {sentence_}', file=sys.stderr)
    # After the sentence: it takes a while, too long after an interrupt.
    if has_begun and options.report is not None:
        is_written &= fly_summary.write_report(result.recording, options.report)
    return code if is_written else code or FAILED


def _flown(flight: Flight) -> tuple[int, str]:
    """Fly; return the exit code, and why the flight has failed, '' if it has not."""
    try:
        with signals.unwrapped():
            result = flight.fly()
    except KeyboardInterrupt:
        return INTERRUPTED, 'interrupted'
    except (OSError, RuntimeError, ParameterError) as error:
        return FAILED, sentence(error)
    return 0 if result.has_succeeded or result.was_stopped else FAILED, result.failure


def _free_domain(options: argparse.Namespace, held: contextlib.ExitStack) -> list[str]:
    """Choose a ROS domain without a graph where the user names none."""
    has_ros = options.mode != 'core' or options.px4_topics is not None
    if not has_ros or os.environ.get('ROS_DOMAIN_ID'):
        return []
    held.enter_context(domain_claim.choose())
    domain = os.environ.get('ROS_DOMAIN_ID')
    return [f'ROS domain 0 is in use: this graph has ROS_DOMAIN_ID={domain}'] if domain else []


def _free_instance(options: argparse.Namespace, held: contextlib.ExitStack) -> int:
    """Return a free instance, for where the user names none."""
    is_fleet = options.fleet is not None or options.vehicles is not None
    if is_fleet or options.instance is not None or options.autopilot not in STARTED:
        return 0
    return held.enter_context(instances.first_free())


def _expectation(options: argparse.Namespace) -> Expectation | None:
    """Return which flight this one has to be, None for any."""
    if options.expect is None:
        return None
    from px4_sim_ros.cli.compare import Expectation
    return Expectation.parse(options.expect)


def _broken(options: argparse.Namespace, result: FlightResult) -> typing.Iterator[str]:
    """Yield the gaps in PX4's logs, each expectation that has failed, and how to fly that again."""
    for name, its in result.vehicles.items():
        if its.log_warning:
            yield f"{f'{name}: ' if name else ''}{its.log_warning}"
        for verdict in its.failed:
            yield f"{f'{name}: ' if name else ''}expected {verdict.text}"
    if result.first.failed and not result.spec.fleet:
        words = ['python', '-m', 'px4_sim_ros', *fly_plan.words_of(options)]
        if not result.unrepeatable:
            words += ['--expect', result.fingerprint]
        yield f'again: {sitl.command_line(words) if result.spec.first.px4 else shlex.join(words)}'
