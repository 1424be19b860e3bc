"""The command `fly`: a world, an autopilot and a pilot, from start to summary."""
from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import signal
import sys
import tempfile
import typing

from px4_sim_ros.cli.progress import Progress
from px4_sim_ros.config import node_overrides
from px4_sim_ros.config.configuration import Configuration, load_configuration, profile_parameters
from px4_sim_ros.config.recording import RecorderParameters
from px4_sim_ros.config.resources import check_writable
from px4_sim_ros.config.vehicles_and_missions import load_mission, mission_text
from px4_sim_ros.mavlink.hil_server import check_port_is_free, port_of
from px4_sim_ros.mavlink.link_state import HilParameters
from px4_sim_ros.mavlink.mission import Mission
from px4_sim_ros.model.errors import ParameterError, sentence
from px4_sim_ros.recording.bag.folder import new_folder
from px4_sim_ros.run import remapping, settings
from px4_sim_ros.run.flight import AUTOPILOTS, MODES, FlightPlan, conduct
from px4_sim_ros.run.flight_record import FlightRecord
from px4_sim_ros.run.px4 import Px4, add_cores_argument
from px4_sim_ros.step.pacing import speed_factor
from px4_sim_ros.viewing.rerun_target import RerunTarget

# A flight without a wish is as fast as possible.
_BASE = {'manager': {'speed_factor': 0.0}}
_EXIT_FAILED, _EXIT_BAD_INPUT, _EXIT_INTERRUPTED = 1, 2, 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.add_argument('--mode', choices=MODES, default='composed',
                        help='one loop, all nodes in one process, or a process a node')
    parser.add_argument('--autopilot', choices=AUTOPILOTS, default='embedded',
                        help='the one that comes along, or a PX4 that is started')
    parser.add_argument('--px4-dir', default=os.environ.get('PX4_DIR', ''),
                        help='a PX4 source tree that was built, or its build folder; PX4_DIR'
                        ' by default')
    add_cores_argument(parser)
    parser.add_argument('--mission', default='square', help='name in config/missions, or a path')
    parser.add_argument('--seed', type=int, help='seed of all random streams')
    parser.add_argument('--speed-factor', type=speed_factor, metavar='X|max',
                        help='simulated over wall time; max by default')
    parser.add_argument('--instance', type=int, help='as PX4: TCP port 4560 + instance')
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
    parser.add_argument('--summary', type=pathlib.Path, metavar='FILE.json',
                        help='write the summary here as well')


def fly(options: argparse.Namespace) -> int:
    """Fly a mission and print its summary; return the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        record = options.record
        if record is None and options.report is not None:
            record = pathlib.Path(folder) / 'flight'
        return _fly(options, pathlib.Path(folder), record)


def _fly(
    options: argparse.Namespace, folder: pathlib.Path, bag: str | pathlib.Path | None,
) -> int:
    try:
        configuration = _configuration(options, bag)
        plan = _plan(options, configuration)
        check_writable('summary', options.summary)
        check_writable('report', options.report)
    except (ParameterError, OSError) as error:
        print(f'fly: {sentence(error)}', file=sys.stderr)
        return _EXIT_BAD_INPUT
    # SIGTERM ends a flight as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    record = FlightRecord()
    try:
        with contextlib.closing(Progress(plan.mission.events)) as progress:
            status, bag = conduct(
                plan, configuration, record, folder, on_event=progress.show,
                on_restart=lambda: progress.print('the run begins again: so does the flight'))
    except KeyboardInterrupt:
        print('fly: interrupted', file=sys.stderr)
        return _EXIT_INTERRUPTED
    except (OSError, RuntimeError, ParameterError) as error:
        print(f'fly: {sentence(error)}', file=sys.stderr)
        return _EXIT_FAILED
    summary = record.summary(_head(options, configuration, plan.mission, bag), status)
    _print_summary(summary)
    if options.summary:
        options.summary.write_text(json.dumps(summary, indent=2) + '\n', encoding='utf-8')
    if options.report is not None and not _write_report(bag, options.report):
        return _EXIT_FAILED
    return 0 if summary['landed'] else _EXIT_FAILED


def _configuration(
    options: argparse.Namespace, bag: str | pathlib.Path | None,
) -> Configuration:
    """Return the parameters of the flight.

    :param bag: where it is recorded; None unless the parameters ask for a recording
    :raises ParameterError: one of them is wrong, or there is such a recording already
    """
    configuration = load_configuration(
        options.params_file, _overrides(options, bag),
        base=_BASE | profile_parameters(options.profile))
    if 'recorder' in configuration.nodes:
        new_folder(configuration.of_node('recorder', RecorderParameters).folder)
    return configuration


def _plan(options: argparse.Namespace, configuration: Configuration) -> FlightPlan:
    """Return what is to be flown.

    :raises ParameterError: an option is wrong
    :raises OSError: the port of the autopilot is in use
    """
    mission = load_mission(options.mission)
    node_overrides.parse(options.node, configuration.graph.nodes)
    if options.remap and options.mode == 'core':
        raise ParameterError(f'remap {options.remap[0]!r}: mode core has no topics; fly in mode'
                             ' composed or separate')
    remapping.check(options.remap, configuration.graph)
    _check_viewer(options)
    px4 = Px4.find(options.px4_dir, options.px4_cores) if options.autopilot == 'px4' else None
    hil = configuration.of_node('hil_bridge', HilParameters)
    check_port_is_free(hil.host, port_of(hil.instance))
    return FlightPlan(options.mode, options.autopilot, px4, mission, mission_text(options.mission),
                      options.node, options.remap, options.viewer)


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
    options: argparse.Namespace, configuration: Configuration, mission: Mission, bag: str,
) -> dict[str, typing.Any]:
    head = {'mode': options.mode, 'autopilot': options.autopilot,
            'vehicle': configuration.vehicle.name, 'wind': configuration.world.wind,
            'seed': configuration.world.seed, 'mission': mission.name}
    if options.record is not None:
        head['recording'] = bag
    if options.report is not None:
        head['report'] = str(options.report)
    return head


def _write_report(bag: str, path: pathlib.Path) -> bool:
    """Write the page about a recorded flight; return whether that has worked."""
    from px4_sim_ros.recording.bag.reader import BagReader
    from px4_sim_ros.recording.bag.run_description import BagError
    from px4_sim_ros.recording.report.flight_report import write_report
    try:
        write_report(BagReader(bag), path)
    except (BagError, ParameterError, OSError) as error:
        print(f'fly: report {path}: {sentence(error)}', file=sys.stderr)
        return False
    return True


def _overrides(
    options: argparse.Namespace, bag: str | pathlib.Path | None,
) -> settings.Settings:
    found = settings.settings(options)
    for node, name in (('', 'seed'), ('manager', 'speed_factor'), ('hil_bridge', 'instance')):
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
                east, north, up = arrival['target_enu_m']
                print(f"{'arrival':28} ({round(east)}, {round(north)}, {round(up)}) m ENU, off by"
                      f" {arrival['position_error_m']:g} m")
        elif isinstance(value, dict):
            print(f'{key:28} ' + ', '.join(f'{k} {v:.2f}' for k, v in value.items()))
        else:
            print(f'{key:28} {value}')
