# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Runs an autopilot with a graph, and restarts it at a reset.

PX4's time cannot go back, so a reset of the world needs a new PX4. A launch file cannot
start a process twice; this program can.
"""
from __future__ import annotations

import argparse
import dataclasses
import pathlib
import sys
import tempfile
import time
import typing

from diagnostic_msgs.msg import DiagnosticStatus

from px4_sim_ros.flight.autopilots import start_autopilot
from px4_sim_ros.messages import event_messages
from px4_sim_ros.model.errors import ParameterError, sentence
from px4_sim_ros.model.scenario.happening import Happening
from px4_sim_ros.process import leaving
from px4_sim_ros.process.children import Child
from px4_sim_ros.process.signals import Stop
from px4_sim_ros.px4.log import loss_of
from px4_sim_ros.px4.sitl import Px4, add_schedule_argument
from px4_sim_ros.recording.bag.fleet_description import read_run_file
from px4_sim_ros.ros.framework import qos, status_client
from px4_sim_ros.ros.framework.session import ros_node, spin_once
from px4_sim_ros.ros.framework.status_client import StatusClient
from px4_sim_ros.ros.tools.flown_watch import FlownWatch
from px4_sim_ros.spec.flight_spec import VehicleSpec
from px4_sim_ros.spec.resources import own_arguments
from px4_sim_ros.step import side_topics
from px4_sim_ros.step.presence import Change

_SPIN_S = 0.05
# Launch kills it 10 s after a Ctrl-C, and to end a PX4 takes 4 s at most.
_OUTLAST_S = 2.0


class AutopilotSupervisor:
    def __init__(
        self, vehicle: VehicleSpec, folder: pathlib.Path,
    ) -> None:
        """Start nothing yet.

        :param folder: for what the autopilot reads
        """
        self._joins = vehicle.presence.joins_us != 0
        self.autopilot = vehicle.autopilot
        self.shares_core = vehicle.px4 is not None and vehicle.px4.repeats
        self._start_autopilot = lambda: start_autopilot(vehicle, folder)
        self._autopilot: Child | None = None

    def begin(self) -> None:
        """Let there be one if its vehicle is in the world at first, and end that of before."""
        self.stop()
        if not self._joins:
            self.restart()

    def attend(self, change: Change) -> None:
        """Let there be one while its vehicle is in the world."""
        self.stop()
        if change.joins:
            self.restart()

    def restart(self) -> None:
        """Start it, after ending that of the run before."""
        self.stop()
        self._autopilot = self._start_autopilot()

    def stop(self) -> None:
        if self._autopilot is not None:
            self._autopilot.stop()
            loss = loss_of([self._autopilot])
            if loss is not None and (warning := loss.warning(self.shares_core)):
                print(warning, file=sys.stderr, flush=True)
        self._autopilot = None

    def ended_autopilot(self) -> Child | None:
        autopilot = self._autopilot
        return None if autopilot is None or autopilot.exit_code is None else autopilot


def supervise(
    supervisor: AutopilotSupervisor, ros_arguments: typing.Sequence[str], *,
    of_fleet: bool = False, begins_again: bool = False,
) -> int:
    """Run it until it ends or a signal comes; return the exit code."""
    stop = Stop()
    with ros_node('autopilot_supervisor', ros_arguments) as node:
        watch = StatusClient(node, of_fleet=of_fleet)

        def follow(message: DiagnosticStatus) -> None:
            happening = event_messages.read_scenario(message)
            if isinstance(happening, Happening) and happening.restarts:
                supervisor.restart()

        node.create_subscription(
            DiagnosticStatus, side_topics.SCENARIO_EVENTS.name, follow, qos.LATCHED_LOG)

        def attend(change: Change, its_run: int) -> None:
            if change.vehicle == node.get_namespace().strip('/') and its_run >= (watch.run or 0):
                supervisor.attend(change)

        if of_fleet:
            status_client.hear(node, attend)
        flown = None if of_fleet else FlownWatch(
            node, supervisor.autopilot, supervisor.shares_core)
        run: int | None = None
        try:
            supervisor.begin()
            while not stop.asked:
                spin_once(node, _SPIN_S)
                if run is not None and watch.run != run:
                    print('the run begins again: so does its autopilot', flush=True)
                    supervisor.begin()
                    if flown is not None:
                        flown.reset()
                run = watch.run
                if flown is not None and (news := flown.news()):
                    print(news, flush=True)
                if (ended := supervisor.ended_autopilot()) is not None:
                    if ended.exit_code == 0:
                        return 0     # the graph was stopped
                    print(ended.end_sentence, file=sys.stderr)
                    if not begins_again:
                        return 1
                    supervisor.restart()
            _outlast_graph(node, watch)
            return 0
        finally:
            supervisor.stop()


def _outlast_graph(node: typing.Any, watch: StatusClient) -> None:
    """Wait for the end of the graph, which gets the same signal, so that none is missed there."""
    deadline_s = time.monotonic() + _OUTLAST_S
    while watch.is_connected and time.monotonic() < deadline_s:
        spin_once(node, _SPIN_S)


def main(arguments: typing.Sequence[str] | None = None) -> int:
    """Run from the command line."""
    if arguments is None:
        return leaving.run(lambda: main(sys.argv[1:]))
    parser = argparse.ArgumentParser(prog='autopilot_supervisor', description=__doc__)
    parser.add_argument('--run', type=pathlib.Path, required=True, metavar='FILE',
                        help='what is flown, as recordings carry it')
    parser.add_argument('--member', default='', help='which of several vehicles it flies')
    parser.add_argument('--px4-build', type=pathlib.Path,
                        help='build folder of a PX4; without it the embedded autopilot runs')
    add_schedule_argument(parser)
    parser.add_argument('--agent', action='store_true', help='with an XRCE agent beside PX4')
    parser.add_argument('--core-instance', type=int, help='whose core a PX4 is on; its own')
    options = parser.parse_args(own_arguments(arguments))
    try:
        vehicle = _vehicle(options)
        with tempfile.TemporaryDirectory() as folder:
            return supervise(
                AutopilotSupervisor(vehicle, pathlib.Path(folder)), arguments,
                of_fleet=bool(vehicle.name),
                begins_again=vehicle.hil.on_waiting == 'begin_again')
    except (ParameterError, OSError) as error:
        print(f'autopilot_supervisor: {sentence(error)}', file=sys.stderr)
        return 2


def _vehicle(options: argparse.Namespace) -> VehicleSpec:
    members = read_run_file(options.run).members
    if options.member not in members:
        raise ParameterError(f"member {options.member!r}: there are {', '.join(members)}")
    run = members[options.member]
    px4 = None
    if options.px4_build:
        px4 = dataclasses.replace(
            Px4.find(options.px4_build, options.px4_schedule),
            core_instance=options.core_instance)
        px4 = px4.with_agent() if options.agent else px4
    return VehicleSpec(run.configuration({}), 'px4' if px4 else 'embedded', px4, options.member,
                       run.namespace, run.presence)


if __name__ == '__main__':
    leaving.end(main())
