"""The command `replay`: fly the recorded commands again and compare all that comes of it."""
from __future__ import annotations

import argparse
import contextlib
import dataclasses
import pathlib
import signal
import sys
import tempfile
import typing

from px4_sim_ros.cli.compare import tell
from px4_sim_ros.cli.fly import MODES
from px4_sim_ros.config.configuration import (
    Configuration,
    FlatParameters,
    profile_parameters,
    write_configuration,
)
from px4_sim_ros.config.resources import check_writable
from px4_sim_ros.model.parameters import ParameterError, sentence
from px4_sim_ros.model.timebase import seconds_text
from px4_sim_ros.recording.analysis.comparison import compare
from px4_sim_ros.recording.bag.bag_folder import new_folder
from px4_sim_ros.recording.bag.bag_reader import BagReader
from px4_sim_ros.recording.bag.run_description import BagError, RunDescription, with_run_file
from px4_sim_ros.run import settings
from px4_sim_ros.run.core_world import make_simulation
from px4_sim_ros.run.processes import Child
from px4_sim_ros.step import graph
from px4_sim_ros.step.pacing import speed_factor

_STARTED_TIMEOUT_S = 30.0
_EXIT_FAILED, _EXIT_BAD_INPUT, _EXIT_INTERRUPTED = 1, 2, 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.add_argument('bag', help='folder of a recording')
    parser.add_argument('--mode', choices=MODES, default='core',
                        help='how the graph is run; the results are the same')
    parser.add_argument('--record', metavar='DIR', help='keep what comes of it as a recording')
    settings.add_arguments(parser)
    parser.add_argument('--seed', type=int, help='seed of all random streams')
    parser.add_argument('--json', type=pathlib.Path, metavar='FILE', help='write the figures here')
    parser.add_argument('--plot', type=pathlib.Path, metavar='FILE.html',
                        help='write a plot of the deviation here')
    # For the launch file: the graph runs already and records into this folder.
    parser.add_argument('--join', help=argparse.SUPPRESS)
    parser.add_argument('--namespace', default='', help='of the graph, or of what is played')
    play = parser.add_argument_group('playing', 'only publish what was recorded, for viewers')
    play.add_argument('--play', action='store_true', help='fly nothing, play')
    play.add_argument('--rate', type=speed_factor, default=1.0, metavar='X|max',
                      help='simulated over wall time')
    play.add_argument('--start', type=float, default=0.0, metavar='S', help='simulated time')
    play.add_argument('--paused', action='store_true', help='begin paused')
    play.add_argument('--loop', action='store_true', help='begin again at the end')


def replay(options: argparse.Namespace) -> int:
    """Fly a recording again and report; return the exit code."""
    # SIGTERM ends it as Ctrl-C does: nothing is left behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        bag = BagReader(options.bag)
        overrides = _overrides(options)
        is_what_if = bool(overrides[''] or len(overrides) > 1 or options.profile)
        if options.play:
            if is_what_if or options.record or options.json or options.plot:
                raise ParameterError('play: it only publishes; leave out what is for a flight')
            from px4_sim_ros.ros.bag_player import play
            return play(bag, rate=options.rate, start_s=options.start, paused=options.paused,
                        loop=options.loop, namespace=options.namespace or None)
        check_writable('json', options.json)
        check_writable('plot', options.plot)
        found = survey(bag)
        if options.join is not None:
            _conduct(options.namespace, found.steps, [])
            return _report(bag, BagReader(options.join), found.stopped_us, options, is_what_if)
        with tempfile.TemporaryDirectory() as folder:
            flight = prepare(bag, options.mode, found.steps, overrides, pathlib.Path(folder),
                             profile=options.profile, record=options.record)
            if options.mode == 'core':
                _fly_core(bag, flight)
            else:
                _fly_graph(options.mode, flight, pathlib.Path(folder))
            return _report(bag, BagReader(flight.bag), found.stopped_us, options, is_what_if)
    except (BagError, ParameterError) as error:
        print(f'replay: {sentence(error)}', file=sys.stderr)
        return _EXIT_BAD_INPUT
    except KeyboardInterrupt:
        print('replay: interrupted', file=sys.stderr)
        return _EXIT_INTERRUPTED
    except (OSError, RuntimeError) as error:
        print(f'replay: {sentence(error)}', file=sys.stderr)
        return _EXIT_FAILED


def _overrides(options: argparse.Namespace) -> settings.Settings:
    """Return what is not as it was.

    :raises ParameterError: it is nothing that is flown
    """
    found = settings.settings(options)
    if options.seed is not None:
        found['']['seed'] = options.seed
    for node in ('manager', 'player', 'recorder'):
        if node in found:
            raise ParameterError(f'{node}: a replay sets the parameters of this node itself')
    return found


def _report(
    bag: BagReader, flown: BagReader, stopped_us: dict[str, int], options: argparse.Namespace,
    is_what_if: bool,
) -> int:
    """Tell how a replay compares with its recording; return the exit code.

    Of a what-if nobody expects that it is the same: how far it is apart is the result.
    """
    found = dataclasses.replace(compare(bag, flown), names=(str(bag.folder), 'the replay'))
    for name, time_us in stopped_us.items():
        print(f'{name} was stopped in flight, first before t = {seconds_text(time_us)}; a replay'
              ' does not stop it')
    tell(bag, flown, found, options, is_what_if=is_what_if)
    return 0 if is_what_if or found.identical else _EXIT_FAILED


class Flight(typing.NamedTuple):
    """A recording, ready to be flown again."""

    configuration: Configuration
    run: RunDescription
    steps: int
    bag: pathlib.Path          # that comes of it


def prepare(
    bag: BagReader, mode: str, steps: int, overrides: settings.Settings, folder: pathlib.Path,
    *, profile: str = '', record: str | None = None, namespace: str = '',
) -> Flight:
    """Return what is needed to fly a recording again.

    :param steps: how many
    :param overrides: parameters that are not as they were
    :param folder: for files that are needed on the way
    :param record: where the new bag goes; into `folder` without it
    :raises ParameterError: a parameter is wrong, or there is such a bag already
    """
    new = new_folder(record if record is not None else folder / 'replay')
    configuration = _configuration(bag, overrides, profile, folder, new, steps)
    run = RunDescription.of(configuration, mode=mode, autopilot='recording',
                            namespace=namespace, mission=bag.run.mission)
    return Flight(with_run_file(configuration, run, folder), run, steps, new)


class Survey(typing.NamedTuple):
    """What a replay has to know of a recording beforehand."""

    steps: int                     # that have a command, from the first on
    stopped_us: dict[str, int]     # sensors that were stopped in flight, and when first


def survey(bag: BagReader) -> Survey:
    """Look through a recording.

    :raises BagError: there is no command in it, or one is missing
    """
    step_us, steps = bag.run.world.step_us, 0
    stopped_us: dict[str, int] = {}
    for message in bag.messages():
        if message.topic == graph.COMMAND:
            steps += 1
            if message.time_us != steps * step_us:
                raise BagError(f'bag {bag.folder}: {graph.COMMAND} for'
                               f' t = {seconds_text(steps * step_us)} is missing')
        elif message.topic == graph.ABSENCE:
            stopped_us.setdefault(bag.decode(message).frame_id, message.time_us)
    if not steps:
        raise BagError(f'bag {bag.folder}: there is no message of {graph.COMMAND} in it')
    return Survey(steps, stopped_us)


def _configuration(
    bag: BagReader, overrides: settings.Settings, profile: str, folder: pathlib.Path,
    new: pathlib.Path, steps: int,
) -> Configuration:
    """Return the parameters of a recording for a run with its commands.

    The vehicle is that of the recording, whatever has become of its file.
    """
    vehicle = folder / 'vehicle.yaml'
    vehicle.write_text(bag.run.vehicle, encoding='utf-8')
    own: dict[str, FlatParameters] = {
        '': {'commands': 'recording', 'recorder': True},
        'manager': {'paused': True, 'step_count': steps, 'speed_factor': 0.0},
        'player': {'bag': str(bag.folder.absolute())},
        'recorder': {'folder': str(new), 'on_failure': 'fail', 'compression': 'none',
                     'split_size_mb': 0.0, 'split_duration_s': 0.0}}
    laid = {node: overrides.get(node, {}) | own.get(node, {}) for node in {*overrides, *own}}
    laid[''] = {'vehicle': str(vehicle)} | laid['']
    configuration = bag.run.configuration(laid, base=profile_parameters(profile))
    if configuration.world.step_us != bag.run.world.step_us:
        raise ParameterError(
            f'step_us = {configuration.world.step_us}: must be that of the recording,'
            f' {bag.run.world.step_us}: each step has a command')
    rotors, recorded = len(configuration.vehicle.rotors), len(next(_commands(bag)))
    if rotors != recorded:
        raise ParameterError(f'vehicle {configuration.vehicle.name}: it has {rotors} rotors, and'
                             f' the recording commands {recorded}')
    return configuration


def _commands(bag: BagReader) -> typing.Iterator[tuple[float, ...]]:
    for message in bag.messages():
        if message.topic == graph.COMMAND:
            yield tuple(float(v) for v in bag.decode(message).velocity)


def _fly_core(bag: BagReader, flight: Flight) -> None:
    from px4_sim_ros.run.core_recorder import CoreRecorder
    simulation = make_simulation(flight.configuration)
    references = (0.0,) * len(flight.configuration.vehicle.rotors)
    with contextlib.closing(CoreRecorder(flight.configuration, flight.run)) as recorder:
        for command in _commands(bag):
            step = simulation.step(references)
            recorder.add_step(step, command, link='')
            references = command


def _fly_graph(mode: str, flight: Flight, folder: pathlib.Path) -> None:
    from px4_sim_ros.run.ros_world import start_graph
    groups = flight.configuration.graph.process_groups(mode)
    with contextlib.ExitStack() as stack:
        file = write_configuration(folder, flight.configuration)
        children = [child for _, child in start_graph(groups, [file])]
        for child in children:
            stack.callback(child.stop)
        _conduct('', flight.steps, children)


def _conduct(namespace: str, steps: int, children: list[Child]) -> None:
    """Let a graph that begins paused take so many steps, then end it.

    :param children: its processes, as far as they are ours
    :raises ControlError: it does not come up, or does not go on
    """
    from px4_sim_ros.ros.control_client import Control, ControlError
    with contextlib.closing(Control(namespace)) as control:
        def is_up() -> bool:
            for child in children:
                if child.exit_code is not None:
                    raise ControlError(
                        f'{child.name} has ended with exit code {child.exit_code}')
            # One that has taken steps already is somebody else's.
            return control.has_status and control.state == 'PAUSED' and control.steps == 0

        control.wait_for(is_up, _STARTED_TIMEOUT_S, 'the node graph has not come up')
        control.ask('step')
        control.wait_for_steps(steps)
        control.ask('stop')
        control.wait_until_ended(_STARTED_TIMEOUT_S)
