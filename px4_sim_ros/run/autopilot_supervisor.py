"""Keeps an autopilot, and a pilot if one is wanted, beside a graph; starts them anew at a reset.

PX4's time cannot go back, so a reset of the world needs a new PX4. A launch file cannot
start a process twice; this program can.
"""
from __future__ import annotations

import argparse
import pathlib
import sys
import typing

import rclpy
from rclpy.signals import SignalHandlerOptions

from px4_sim_ros.config.configuration import load_vehicle
from px4_sim_ros.config.resources import own_arguments
from px4_sim_ros.model.parameters import ParameterError, sentence
from px4_sim_ros.ros.status_client import StatusClient
from px4_sim_ros.ros.world import Stop
from px4_sim_ros.run.autopilots import start_autopilot
from px4_sim_ros.run.processes import Child
from px4_sim_ros.run.px4 import Px4, add_cores_argument

_SPIN_S = 0.05


class Keeper:
    """The processes beside the graph."""

    def __init__(
        self, px4: Px4 | None, vehicle: str, instance: int, mission: str,
        ros_arguments: typing.Sequence[str],
    ) -> None:
        self._start_autopilot = lambda: start_autopilot(
            px4, vehicle, instance, log_in_folder=False)
        self._pilot_command = [
            sys.executable, '-m', 'px4_sim_ros', 'pilot', '--mission', mission, '--instance',
            str(instance), *ros_arguments] if mission else []
        self.autopilot: Child | None = None
        self._pilot: Child | None = None

    def start(self) -> None:
        """Start all, ending those of the run before."""
        self.stop()
        self.autopilot = self._start_autopilot()
        if self._pilot_command:
            self._pilot = Child('the pilot', self._pilot_command)

    def stop(self) -> None:
        """End all."""
        for child in (self._pilot, self.autopilot):
            if child is not None:
                child.stop()
        self.autopilot = self._pilot = None


def keep(keeper: Keeper, ros_arguments: typing.Sequence[str]) -> int:
    """Keep the processes until the autopilot ends or a signal comes; return the exit code."""
    stop = Stop()
    rclpy.init(args=list(ros_arguments), signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node('autopilot_keeper')
    watch = StatusClient(node)
    kept_run: int | None = None
    try:
        keeper.start()
        while not stop.asked:
            rclpy.spin_once(node, timeout_sec=_SPIN_S)
            if kept_run is not None and watch.run != kept_run:
                print('the run begins again: so does its autopilot', flush=True)
                keeper.start()
            kept_run = watch.run
            if keeper.autopilot.exit_code == 0:
                return 0     # the graph was stopped
            if keeper.autopilot.exit_code is not None:
                print(f'{keeper.autopilot.name} has ended with exit code'
                      f' {keeper.autopilot.exit_code}', file=sys.stderr)
                return 1
        return 0
    finally:
        keeper.stop()
        node.destroy_node()
        rclpy.shutdown()


def _without_name(ros_arguments: typing.Sequence[str]) -> list[str]:
    """Return ROS arguments for another node: the namespace, but not the name of this one."""
    arguments = list(ros_arguments)
    return [word for i, word in enumerate(arguments)
            if not word.startswith('__node:=') and not (
                word == '-r' and arguments[i + 1:i + 2] and arguments[i + 1].startswith(
                    '__node:='))]


def main(arguments: typing.Sequence[str] | None = None) -> int:
    """Run from the command line."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    parser = argparse.ArgumentParser(prog='keeper', description=__doc__)
    parser.add_argument('--instance', type=int, default=0, help='as PX4: TCP port 4560 + instance')
    parser.add_argument('--vehicle', default='iris', help='name in config/vehicles, or a path')
    parser.add_argument('--px4-build', type=pathlib.Path,
                        help='build folder of a PX4; without it the embedded autopilot is kept')
    add_cores_argument(parser)
    parser.add_argument('--mission', default='', help='for a pilot; without it there is none')
    own, _ = own_arguments(arguments)
    options = parser.parse_args(own)
    try:
        load_vehicle(options.vehicle)
        px4 = Px4.find(options.px4_build, options.px4_cores) if options.px4_build else None
        keeper = Keeper(px4, options.vehicle, options.instance, options.mission,
                        _without_name(arguments[len(own):]))
        return keep(keeper, arguments)
    except (ParameterError, OSError) as error:
        print(f'keeper: {sentence(error)}', file=sys.stderr)
        return 2


if __name__ == '__main__':
    sys.exit(main())
