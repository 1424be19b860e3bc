"""Flies the commands of a recording again: prepares the run, and conducts it."""
from __future__ import annotations

import contextlib
import pathlib
import typing

from px4_sim_ros.config.configuration import (
    Configuration,
    FlatParameters,
    profile_parameters,
    write_configuration,
)
from px4_sim_ros.model.parameters import ParameterError
from px4_sim_ros.model.timebase import seconds_text
from px4_sim_ros.recording.bag.bag_folder import new_folder
from px4_sim_ros.recording.bag.bag_reader import BagReader
from px4_sim_ros.recording.bag.run_description import BagError, RunDescription, with_run_file
from px4_sim_ros.run import settings
from px4_sim_ros.run.core_world import make_simulation
from px4_sim_ros.run.processes import Child
from px4_sim_ros.step import graph

_STARTED_TIMEOUT_S = 30.0


class PreparedReplay(typing.NamedTuple):
    """A recording, ready to be flown again."""

    configuration: Configuration
    run: RunDescription
    steps: int
    bag: pathlib.Path          # that comes of it


def prepare(
    bag: BagReader, mode: str, steps: int, overrides: settings.Settings, folder: pathlib.Path,
    *, profile: str = '', record: str | None = None, namespace: str = '',
) -> PreparedReplay:
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
    return PreparedReplay(with_run_file(configuration, run, folder), run, steps, new)


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


def run(bag: BagReader, replay: PreparedReplay, folder: pathlib.Path) -> None:
    """Fly a recording again in the mode that was prepared.

    :param folder: for files that are needed on the way
    :raises ControlError: the graph does not come up, or does not go on
    """
    if replay.run.mode == 'core':
        _run_core(bag, replay)
    else:
        _run_graph(replay, folder)


def _run_core(bag: BagReader, replay: PreparedReplay) -> None:
    # It needs rclpy, which modes without a recorder do without.
    from px4_sim_ros.run.core_recorder import CoreRecorder
    simulation = make_simulation(replay.configuration)
    references = (0.0,) * len(replay.configuration.vehicle.rotors)
    with contextlib.closing(CoreRecorder(replay.configuration, replay.run)) as recorder:
        for command in _commands(bag):
            step = simulation.step(references)
            recorder.add_step(step, command, link='')
            references = command


def _run_graph(replay: PreparedReplay, folder: pathlib.Path) -> None:
    from px4_sim_ros.run.ros_world import start_graph
    groups = replay.configuration.graph.process_groups(replay.run.mode)
    with contextlib.ExitStack() as stack:
        file = write_configuration(folder, replay.configuration)
        children = [child for _, child in start_graph(groups, [file])]
        for child in children:
            stack.callback(child.stop)
        conduct('', replay.steps, children)


def conduct(namespace: str, steps: int, children: list[Child]) -> None:
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
            return control.is_heard and control.state == 'PAUSED' and control.steps == 0

        control.wait_for(is_up, _STARTED_TIMEOUT_S, 'the node graph has not come up')
        control.ask('step')
        control.wait_for_steps(steps)
        control.ask('stop')
        control.wait_until_ended(_STARTED_TIMEOUT_S)
