# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Flies the commands of a recording again: prepares the run, and conducts it."""
from __future__ import annotations

import contextlib
import dataclasses
import pathlib
import typing

from px4_sim_ros.messages.texts import read_text
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.timebase import seconds_text
from px4_sim_ros.process import domain_claim
from px4_sim_ros.process.children import Child
from px4_sim_ros.process.new_folder import new_folder
from px4_sim_ros.recording.bag.fleet_description import write_run_files
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.bag.run_description import BagError, RunDescription
from px4_sim_ros.recording.playback import commands
from px4_sim_ros.spec import settings
from px4_sim_ros.spec.blocks import make_blocks
from px4_sim_ros.spec.compile_ahead import compile_ahead
from px4_sim_ros.spec.configuration import Configuration, profile_parameters
from px4_sim_ros.spec.parameter_files import FlatParameters
from px4_sim_ros.step import graph
from px4_sim_ros.step.clock import LockstepClock
from px4_sim_ros.step.presence import ALWAYS, Presence, PresenceSchedule
from px4_sim_ros.step.runner import run_in_process

_STARTED_TIMEOUT_S = 30.0


class PreparedReplay(typing.NamedTuple):
    """A recording, ready to be flown again."""

    configuration: Configuration
    run: RunDescription
    survey: Survey
    bag: pathlib.Path          # that comes of it


def prepare(
    bag: BagReader, mode: str, survey: Survey, overrides: settings.Settings, folder: pathlib.Path,
    *, profile: str = '', record: str | None = None,
) -> PreparedReplay:
    """Return a recording, prepared to be flown again."""
    if survey.presence != ALWAYS and mode != 'core':
        raise ParameterError(
            f'mode {mode}: the vehicle of {bag.folder} is not there all the time; it is replayed in'
            ' mode core only')
    new = new_folder(record if record is not None else folder / 'replay')
    configuration = _configuration(bag, overrides, profile, new, survey.steps)
    run = dataclasses.replace(
        RunDescription.of(
            configuration, mode=mode, autopilot='recording', presence=survey.presence),
        mission=bag.run.mission)
    survey = survey._replace(interruptions=[
        i for i in survey.interruptions if i.sensor in configuration.graph.nodes])
    return PreparedReplay(configuration, run, survey, new)


class Interruption(typing.NamedTuple):
    """A sensor was stopped or started in flight."""

    steps: int                     # that were complete then
    sensor: str
    verb: str                      # `stop` or `start`


class Survey(typing.NamedTuple):
    """What a replay has to know of a recording beforehand."""

    steps: int                     # from time 0 on
    interruptions: list[Interruption]      # in the order of time
    presence: Presence = ALWAYS    # from when to when they have a command


def survey(bag: BagReader) -> Survey:
    """Look through a recording.

    :raises BagError: there is no command in it, or one is missing
    """
    step_us, steps, begin_us, end_us = bag.run.world.step_us, 0, 0, 0
    absent_us: dict[str, list[int]] = {}
    silenced: set[str] = set()         # sensors that the scenario keeps from measuring just now
    # Blocks that are added may have no measurement, and run all the same.
    own = {row.name for row in bag.run.world.own_blocks}
    text = ''
    for message in bag.messages():
        if message.topic == graph.FAULTS:
            if text != (text := bag.decode(message).msg):
                silenced = {fault.action.block for fault in read_text(graph.FAULTS, text)
                            if fault.action.SILENCES}
        elif message.topic == graph.COMMAND:
            if not steps and bag.run.joins_us != 0:
                begin_us = message.time_us - step_us
                steps = begin_us // step_us
            steps += 1
            if message.time_us != steps * step_us:
                raise BagError(f'bag {bag.folder}: {graph.COMMAND} for'
                               f' t = {seconds_text(steps * step_us)} is missing')
        elif message.topic == graph.CLOCK and bag.fleet is not None:
            end_us = message.time_us       # others are there longer
        elif message.topic == graph.ABSENCE and (
                sensor := bag.decode(message).frame_id) not in silenced | own:
            absent_us.setdefault(sensor, []).append(message.time_us)
    if not steps:
        raise BagError(f'bag {bag.folder}: there is no message of {graph.COMMAND} in it')
    return Survey(max(steps, end_us // step_us), sorted(
        interruption for sensor, times_us in absent_us.items()
        for interruption in _interruptions(bag, sensor, times_us) if interruption.steps < steps),
        Presence(begin_us, steps * step_us if steps * step_us < end_us else None))


def _interruptions(
    bag: BagReader, sensor: str, absent_us: typing.Sequence[int],
) -> typing.Iterator[Interruption]:
    """Yield when a sensor was stopped and started.

    :param absent_us: the times at which it would have measured
    """
    if sensor not in bag.run.graph.nodes:
        raise BagError(f'bag {bag.folder}: {graph.ABSENCE} names {sensor}, which is no node of it')
    step_us, period_us = bag.run.world.step_us, bag.run.world.period_us(sensor)
    absent = set(absent_us)
    for time_us in absent:
        if time_us - period_us not in absent:
            yield Interruption(time_us // step_us - 1, sensor, 'stop')
        if time_us + period_us not in absent:
            yield Interruption((time_us + period_us) // step_us - 1, sensor, 'start')


def _configuration(
    bag: BagReader, overrides: settings.Settings, profile: str, new: pathlib.Path, steps: int,
) -> Configuration:
    """Return the parameters of a recording for a run with its commands."""
    own: dict[str, FlatParameters] = {
        '': {'commands': 'recording', 'recorder': True},
        'manager': {'paused': True, 'step_count': steps, 'speed_factor': 0.0},
        'player': {'bag': str(bag.folder.absolute())},
        **({'scenario_player': {'bag': str(bag.folder.absolute())}}
           if bag.run.world.has_scenario or bag.run.world.by_hand else {}),
        **({'wake_player': {'bag': str(bag.folder.absolute())}}
           if bag.run.world.downwash or bag.run.world.collisions else {}),
        'recorder': {'folder': str(new), 'on_failure': 'fail', 'compression': 'none',
                     'split_size_mb': 0.0, 'split_duration_s': 0.0}}
    laid = {node: overrides.get(node, {}) | own.get(node, {}) for node in {*overrides, *own}}
    configuration = bag.run.configuration(laid, base=profile_parameters(profile))
    if configuration.world.step_us != bag.run.world.step_us:
        raise ParameterError(
            f'step_us = {configuration.world.step_us}: must be that of the recording,'
            f' {bag.run.world.step_us}: each step has a command')
    count, recorded = configuration.vehicle.reference_count, len(next(commands(bag))[1])
    if count != recorded:
        what = 'rotors' if configuration.vehicle.is_multirotor else 'actuators'
        raise ParameterError(f'vehicle {configuration.vehicle.name}: it has {count} {what}, and'
                             f' the recording commands {recorded}')
    return configuration


def run(replay: PreparedReplay, folder: pathlib.Path) -> None:
    """Fly a recording again in the mode that was prepared."""
    compile_ahead(sees=replay.configuration.world.sees)
    if replay.run.mode == 'core':
        _run_core(replay)
    else:
        _run_graph(replay, folder)


def _run_core(replay: PreparedReplay) -> None:
    # It needs messages, which mode `core` does without while nothing is recorded.
    from px4_sim_ros.flight.core_recorder import CoreRecorder
    configuration, survey = replay.configuration, replay.survey
    clock = LockstepClock(configuration.world.step_us, 0.0)
    blocks = make_blocks(configuration)
    with contextlib.closing(CoreRecorder(configuration, replay.run)) as recorder:
        runner = run_in_process(
            configuration.graph, configuration.world, blocks, clock, recorder,
            PresenceSchedule({'': survey.presence}))
        for steps, sensor, verb in [*survey.interruptions, Interruption(survey.steps, '', '')]:
            clock.step(steps - clock.steps)
            while clock.steps < steps:
                runner.run()
            if verb == 'stop':
                runner.slots[sensor].stop()
            elif verb == 'start':
                slot = runner.slots[sensor]
                slot.block = blocks[sensor]
                slot.block.resume(slot.last_us)
        runner.flush()


def _run_graph(replay: PreparedReplay, folder: pathlib.Path) -> None:
    from px4_sim_ros.flight.ros_world import start_graph
    groups = replay.configuration.graph.process_groups(replay.run.mode)
    with domain_claim.claim_start() as stack:
        parameters, described = write_run_files(replay.run, {'': replay.configuration}, folder)
        children = [child for _, child in start_graph(stack, groups, parameters, run=described)]
        _conduct(replay.survey, children)


def _conduct(survey: Survey, children: list[Child]) -> None:
    """Let a graph that begins paused take the steps of a recording, then end it."""
    from px4_sim_ros.ros.tools.control_client import Control, ControlError
    with contextlib.closing(Control('')) as control:
        def is_up() -> bool:
            for child in children:
                if child.exit_code is not None:
                    raise ControlError(
                        f'{child.name} has ended with exit code {child.exit_code}')
            # One that has taken steps already is another graph.
            return control.has_status and control.state == 'PAUSED' and control.steps == 0

        control.wait_for(is_up, _STARTED_TIMEOUT_S, 'the node graph has not come up')
        for steps, sensor, verb in survey.interruptions:
            if steps > control.steps:
                control.take_steps(steps - control.steps)
            control.sensor(sensor, verb)
        control.take_steps(survey.steps - control.steps)
        control.stop(_STARTED_TIMEOUT_S)
