# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Runs the rounds: each measurement in a process of its own, one at a time."""
from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import time
import typing

import tqdm
from pymavlink.dialects.v20 import common as mavlink

from benchmarks.flight import FlightError, FlightSettings
from benchmarks.kinds import OTHERS, PEERS, Kind
from benchmarks.machine import calibration_us
from benchmarks.results import Round
from benchmarks.trivial_peer import connect
from px4_sim_ros.flight.instances import own_instance
from px4_sim_ros.link.hil.server import port_of
from px4_sim_ros.process.children import Child, own_module
from px4_sim_ros.spec.flight_spec import MODES

# To take a graph and an autopilot down.
_STOP_TIMEOUT_S = 20.0
_WAIT_S = 1.0
# Wall time for calibration before and after each flight.
_CALIBRATION_S = 0.1


class RoundPlan(typing.NamedTuple):
    """What a round is."""

    kinds: typing.Sequence[Kind]
    flight: FlightSettings          # how long; kind and instance are set for each
    folder: pathlib.Path            # for all that is written on the way


def run_rounds(plan: RoundPlan, repeat: int) -> list[Round]:
    """Return the figures of `repeat` rounds.

    Kinds take turns, so that a machine that slows down slows all of them. A peer that cannot be
    measured is left out, with a line: it is not ours.

    :raises FlightError: another one has failed
    """
    rounds: list[Round] = []
    kinds = list(plan.kinds)
    with tqdm.tqdm(total=repeat * len(kinds), unit='flight', disable=None) as bar:
        for _ in range(repeat):
            flights = {}
            for kind in tuple(kinds):
                bar.set_postfix_str(kind.name)
                try:
                    flights[kind] = _flight(plan, kind)
                except FlightError as error:
                    if kind.mode not in PEERS:
                        raise
                    bar.write(f'{error}: {kind.name} is left out')
                    kinds.remove(kind)
                bar.update()
            modes = [mode for mode in MODES if any(kind.mode == mode for kind in flights)]
            with own_instance(of_px4=True, flies_here=False) as instance:
                start_s = {mode: first_sensor_s(mode, instance, plan.folder / f'start_{mode}.txt')
                           for mode in modes}
            rounds.append(Round(flights, start_s))
    return [dataclasses.replace(each, flights={kind: each.flights[kind] for kind in kinds})
            for each in rounds]


def first_sensor_s(mode: str, instance: int, log: pathlib.Path) -> float:
    """Return the wall time from the start of `fly` until an autopilot that waits gets a frame.

    :param log: a file for what `fly` prints
    :raises RuntimeError: it has ended, or sent nothing
    """
    started_s = time.perf_counter()
    fly = Child(f'fly --mode {mode}', own_module(
        'px4_sim_ros', 'fly', '--mode', mode, '--autopilot', 'none', '--instance',
        str(instance)), log=log)
    try:
        with connect(port_of(instance)) as link:
            parser = mavlink.MAVLink(None)
            parser.robust_parsing = True
            while data := link.recv(65536):
                if any(message.get_type() == 'HIL_SENSOR'
                       for message in parser.parse_buffer(data) or ()):
                    return time.perf_counter() - started_s
            raise RuntimeError(f'{fly.name} has closed the link before the first HIL_SENSOR')
    finally:
        fly.stop(_STOP_TIMEOUT_S)


def _flight(plan: RoundPlan, kind: Kind) -> dict[str, typing.Any]:
    # PX4 writes its log on the cores that fly; its parameters and folders are not to be kept.
    environment = {'PX4_PARAM_SDLOG_BACKEND': '0', 'ROS_HOME': str(plan.folder / 'ros')}
    if kind.mode in OTHERS:
        environment['PX4_PARAM_SIM_BAT_ENABLE'] = '1'       # they have no battery for it
    before_us = calibration_us(_CALIBRATION_S)
    with own_instance(of_px4=True, flies_here=False) as instance:
        settings = plan.flight._replace(kind=kind, instance=instance)
        figures = _run(kind.name, ['benchmarks.flight', settings.to_json()],
                       plan.folder, environment)
    after_us = calibration_us(_CALIBRATION_S)
    return figures | {'calibration_us': 0.5 * (before_us + after_us)}


def _run(
    name: str, module: typing.Sequence[str], folder: pathlib.Path,
    environment: typing.Mapping[str, str],
) -> dict[str, typing.Any]:
    """Run a measurement to its end and return its result.

    :param module: its name and its arguments; the file to write comes after them
    :raises FlightError: it has failed
    """
    output, log = folder / 'output.json', folder / 'log.txt'
    output.unlink(missing_ok=True)
    child = Child(name, own_module(*module, str(output)),
                  environment=dict(os.environ) | dict(environment), log=log)
    try:
        while not child.wait(_WAIT_S):
            pass
    finally:
        child.stop(_STOP_TIMEOUT_S)
    result = json.loads(output.read_text(encoding='utf-8')) if output.exists() else {
        'failure': f'ended with exit code {child.exit_code}'}
    if 'failure' in result:
        last = _last_error(log)
        raise FlightError(f"{name}: {result['failure']}" + (f'; before: {last}' if last else ''))
    return result


def _last_error(log: pathlib.Path) -> str:
    """Return the last line that reports an error, '' for none."""
    lines = log.read_text(encoding='utf-8', errors='replace').split('\n')
    return next((line.strip() for line in reversed(lines) if 'rror' in line), '')
