# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Starting a PX4 that was built as SITL."""
from __future__ import annotations

import argparse
import dataclasses
import datetime
import os
import pathlib

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.vehicle.vehicle import Vehicle

_BUILD = pathlib.Path('build/px4_sitl_default')
_BINARY = pathlib.Path('bin/px4')

PILOTED_INSTANCES = 10
"""PX4 has a port of its own for the pilot of its first ten instances; all others share one."""

CORES = ('one', 'all')
"""Where a PX4 runs: on a core that it keeps to, or wherever the system puts its threads."""


@dataclasses.dataclass(frozen=True)
class Px4:
    """A built PX4."""

    build: pathlib.Path
    cores: str = 'one'

    @classmethod
    def find(cls, px4_dir: str | os.PathLike[str], cores: str = 'one') -> Px4:
        """Find the build in a source tree, or take `px4_dir` as the build folder itself.

        :param cores: of CORES. Threads of PX4 wait for one another in each step: on one core
            none has to be woken on another one.
        :raises ParameterError: there is no binary
        """
        if not str(px4_dir):
            raise ParameterError('px4_dir: missing; give the folder of a PX4 that was built')
        root = pathlib.Path(px4_dir).expanduser().resolve()
        for build in (root, root / _BUILD):
            if os.access(build / _BINARY, os.X_OK) and (build / 'etc').is_dir():
                return cls(build, cores)
        raise ParameterError(
            f'px4_dir = {root}: has no {_BINARY} and no {_BUILD / _BINARY};'
            ' build it there with "make px4_sitl_default"')

    def command(self, instance: int) -> list[str]:
        """Return the command that starts it in its run folder."""
        return [
            *(_on_core_of(instance) if self.cores == 'one' else ()),
            str(self.build / _BINARY), '-d', '-i', str(instance), '-w', '.',
            '-s', 'etc/init.d-posix/rcS', str(self.build / 'etc')]

    @staticmethod
    def environment(vehicle: Vehicle) -> dict[str, str]:
        """Return what PX4 has to find in its environment in addition to ours."""
        parameters = dict(vehicle.px4_parameters)
        if vehicle.battery is not None:
            parameters['SIM_BAT_ENABLE'] = 0      # it gets the battery of the vehicle
        return {
            'PX4_SYS_AUTOSTART': str(vehicle.px4_airframe), 'PX4_SIM_MODEL': 'none',
            'PX4_SIMULATOR': 'mavlink',
            **{f'PX4_PARAM_{name}': f'{value:g}' for name, value in parameters.items()}}


def check_pilot_instance(instance: int) -> None:
    """Check that a pilot can fly the PX4 of an instance.

    :raises ParameterError: it would hear nothing of it
    """
    if instance >= PILOTED_INSTANCES:
        raise ParameterError(
            f'instance = {instance}: must be below {PILOTED_INSTANCES} for a mission with PX4,'
            ' which sends what is for a pilot to one port from there on')


def add_cores_argument(parser: argparse.ArgumentParser) -> None:
    """Describe the option that says where a PX4 runs."""
    parser.add_argument('--px4-cores', choices=CORES, default='one',
                        help='one: it keeps to a core of its own, which is faster where cores are'
                        ' few')


def _on_core_of(instance: int) -> list[str]:
    """Return what before a command keeps it to a core; each instance has another while they last.

    The first core is left to the world.
    """
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) == 1:
        return []
    return ['taskset', '--cpu-list', str(cores[-1 - instance % (len(cores) - 1)])]


def new_run_folder(instance: int) -> pathlib.Path:
    """Make an empty folder where PX4 keeps its parameters and logs of one run."""
    home = pathlib.Path(os.environ.get('ROS_HOME', '~/.ros')).expanduser()
    stamp = datetime.datetime.now().strftime('%Y%m%d-%H%M%S-%f')
    folder = home / 'px4_sim_ros' / f'px4_{instance}_{stamp}'
    folder.mkdir(parents=True)
    return folder
