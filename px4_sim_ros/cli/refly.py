# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command `refly`: fly the mission of a recording again, with its autopilot, and compare."""
from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import pathlib
import sys
import tempfile

from px4_sim_ros.cli import output
from px4_sim_ros.cli.compare import report_comparison
from px4_sim_ros.cli.exit_codes import BAD_INPUT, FAILED
from px4_sim_ros.cli.progress import Progress
from px4_sim_ros.config import domain_claim
from px4_sim_ros.config.configuration import Configuration, profile_parameters
from px4_sim_ros.config.resources import check_page, check_writable
from px4_sim_ros.config.vehicles_and_missions import load_mission
from px4_sim_ros.mavlink.link_state import HilParameters
from px4_sim_ros.model.errors import ParameterError, sentence
from px4_sim_ros.recording.analysis.comparison import compare_bags
from px4_sim_ros.recording.bag.folder import new_folder
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.bag.run_description import BagError, RunDescription
from px4_sim_ros.run import settings
from px4_sim_ros.run.autopilots import check_ports
from px4_sim_ros.run.flight import MODES, FlightPlan, conduct
from px4_sim_ros.run.flight_record import FlightRecord
from px4_sim_ros.run.px4 import SCHEDULES, Px4, check_pilot_instance


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.add_argument('bag', help='folder of a recording')
    parser.add_argument('--mode', choices=MODES, default='core',
                        help='how the graph is run; the results are the same')
    parser.add_argument('--px4-dir', default=os.environ.get('PX4_DIR', ''),
                        help='a PX4 source tree that was built, or its build folder, if it was'
                        ' flown by PX4; PX4_DIR by default')
    parser.add_argument('--record', metavar='DIR', help='keep what comes of it as a recording')
    settings.add_arguments(parser)
    parser.add_argument('--seed', type=int, help='seed of all random streams')
    parser.add_argument('--json', type=pathlib.Path, metavar='FILE', help='write the figures here')
    parser.add_argument('--plot', type=pathlib.Path, metavar='FILE.html',
                        help='write a plot of the deviation here')


def refly(options: argparse.Namespace) -> int:
    """Fly it again and report; return the exit code."""
    try:
        check_page('plot', options.plot)
        check_writable('json', options.json)
        with tempfile.TemporaryDirectory() as folder:
            return _refly(options, BagReader(options.bag), pathlib.Path(folder))
    except (BagError, ParameterError) as error:
        print(f'refly: {sentence(error)}', file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        return output.interrupted('refly: interrupted')
    except (OSError, RuntimeError) as error:
        print(f'refly: {sentence(error)}', file=sys.stderr)
        return FAILED


def _refly(options: argparse.Namespace, bag: BagReader, folder: pathlib.Path) -> int:
    """Fly it again and report; return the exit code.

    What is flown otherwise is expected to differ: where, and how far, is the result.
    """
    overrides = settings.settings(options)
    if options.seed is not None:
        overrides['']['seed'] = options.seed
    is_what_if = bool(overrides[''] or len(overrides) > 1 or options.profile)
    new = new_folder(options.record if options.record is not None else folder / 'refly')
    configuration = _configuration(bag, overrides, options.profile, folder, new)
    plan = _plan(options, bag.run, configuration)
    with contextlib.closing(Progress(plan.mission.events if plan.mission else 0)) as progress:
        conduct(plan, configuration, FlightRecord(), folder, on_event=progress.show,
                on_restart=lambda: None, on_waiting=lambda: None)
    flown = BagReader(new)
    found = dataclasses.replace(
        compare_bags(bag, flown), names=(str(bag.folder), 'the new flight'))
    report_comparison(bag, flown, found, options)
    return 0 if is_what_if or found.identical else FAILED


def _configuration(
    bag: BagReader, overrides: settings.Settings, profile: str, folder: pathlib.Path,
    new: pathlib.Path,
) -> Configuration:
    """Return the parameters of a recording, for a flight as fast as possible.

    Vehicle and mission are those of the recording, whatever has become of their files.

    :raises ParameterError: one of them is wrong, or nothing has flown a mission
    """
    run = bag.run
    if run.autopilot not in ('embedded', 'px4') or not run.mission:
        raise ParameterError(f'bag {bag.folder}: no autopilot of ours has flown a mission in it;'
                             ' `replay` flies its commands again')
    (folder / 'vehicle.yaml').write_text(run.vehicle, encoding='utf-8')
    (folder / 'mission.yaml').write_text(run.mission, encoding='utf-8')
    laid = {name: dict(values) for name, values in overrides.items()}
    laid[''] = {'vehicle': str(folder / 'vehicle.yaml')} | laid.get('', {}) | {
        'mission': str(folder / 'mission.yaml'), 'recorder': True}
    for name, values in (('manager', {'speed_factor': 0.0, 'paused': False}),
                         ('pilot', {'at_end': 'hold'}), ('recorder', {'folder': str(new)})):
        laid[name] = values | laid.get(name, {})
    return run.configuration(laid, base=profile_parameters(profile))


def _plan(
    options: argparse.Namespace, run: RunDescription, configuration: Configuration,
) -> FlightPlan:
    """Return what is to be flown.

    :raises ParameterError: an option is wrong
    :raises OSError: a port of the flight is in use
    """
    if options.mode != 'core':
        domain_claim.check_unclaimed()
    hil = configuration.of_node('hil_bridge', HilParameters)
    px4 = None
    if run.autopilot == 'px4':
        px4 = Px4.find(options.px4_dir, 'repeatable' if hil.shares_core else SCHEDULES[0])
        check_pilot_instance(hil.instance)
    check_ports(hil, run.autopilot, True)
    return FlightPlan(options.mode, run.autopilot, px4, load_mission(configuration.world.mission),
                      run.mission, {}, (), None)
