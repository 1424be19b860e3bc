# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command `doctor`: what this machine has for a flight, what it lacks, and what to do."""
from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import typing

from px4_sim_ros import PACKAGE, __version__
from px4_sim_ros.cli import output
from px4_sim_ros.cli.output import FAILED
from px4_sim_ros.flight import autopilots
from px4_sim_ros.jit import code_cache
from px4_sim_ros.link.hil.link_state import HilParameters
from px4_sim_ros.model.errors import ParameterError, sentence
from px4_sim_ros.process import domain_claim
from px4_sim_ros.px4 import installed, memory, sitl
from px4_sim_ros.spec.compile_ahead import not_compiled
from px4_sim_ros.spec.configuration import load_configuration

OK, LACKS, FAILS = STATES = 'ok', 'lacks', 'fails'
"""Of a finding: nothing to do; flights are flown without it; a flight fails."""

_TOOLS = 'taskset', 'chrt', 'prlimit', 'setpriv'
# What an extra is for, and the packages that show whether it is there.
_EXTRAS = {
    'rerun': ('the viewer Rerun', ['rerun']), 'test': ('flights as tests', ['pytest']),
    'campaign': ('campaigns, Parquet files', ['scipy', 'pyarrow']),
    'real': ('logs of real flights', ['scipy', 'pyulog'])}
_VIEWERS = 'rviz2', 'foxglove_bridge', 'plotjuggler'


class Finding(typing.NamedTuple):
    """What was found of one thing."""

    name: str
    state: str                 # of STATES
    found: str
    advice: str = ''           # what to do, '' for nothing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    sitl.add_argument(parser, 'the PX4 that is looked at')
    output.add_json(parser)


def doctor(options: argparse.Namespace) -> int:
    """Print what was found; return the exit code, 1 if a flight would fail."""
    findings = [*_of_python(), *_of_machine(), *_of_px4(options.px4_dir), *_of_ros(),
                *_of_viewers()]
    fails = [finding for finding in findings if finding.state == FAILS]
    if options.json:
        output.write_json(options.json, {
            'findings': [finding._asdict() for finding in findings], 'can_fly': not fails})
    else:
        for finding in findings:
            print(f'{finding.state:6} {finding.name:14} {finding.found}')
            if finding.advice:
                print(f"{'':21} -> {finding.advice}")
    return FAILED if fails else 0


def _of_python() -> typing.Iterator[Finding]:
    yield Finding(PACKAGE, OK, f'{__version__}, Python {platform.python_version()} on'
                               f' {platform.machine()}')
    wrong = list(_unfulfilled())
    yield Finding('versions', FAILS if wrong else OK, '; '.join(wrong) or 'all that are needed',
                  f'pip install --upgrade {PACKAGE}' if wrong else '')
    for name, (purpose, packages) in _EXTRAS.items():
        if all(map(importlib.util.find_spec, packages)):
            yield Finding(f'[{name}]', OK, f'{purpose}: there')
        else:
            yield Finding(f'[{name}]', LACKS, f"{purpose}: {', '.join(packages)}",
                          f"pip install '{PACKAGE}[{name}]'")


def _unfulfilled() -> typing.Iterator[str]:
    """Yield the packages that are needed and not there, where pip has installed this one."""
    try:
        needed = importlib.metadata.requires(PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:        # in a clone, or a workspace of colcon
        return
    for line in needed:
        found = re.match(r'[\w.-]+', line)
        if found is None or 'extra ==' in line:
            continue
        try:
            importlib.metadata.version(found[0])
        except importlib.metadata.PackageNotFoundError:
            yield f'{line} is not installed'


def _of_machine() -> typing.Iterator[Finding]:
    cores = len(os.sched_getaffinity(0))
    yield Finding('cores', OK if cores > 1 else LACKS, str(cores), '' if cores > 1 else (
        'with two or more the world and the autopilot run at the same time, and campaigns too'))
    wrong = sitl.no_priority()
    yield _finding('priority', 'real time (SCHED_FIFO)', wrong and [wrong])
    yield _finding('memory', f'PX4 may be locked in memory; {memory.MEMORY} can be written',
                   [_without_parameter(remark) for remark in memory.remarks()])
    folder = code_cache.cache_folder()
    missing = not_compiled()
    if folder is None:
        yield Finding('compiled', LACKS, 'nothing can be kept: each flight compiles for a minute',
                      'set XDG_CACHE_HOME to a folder that can be written')
    else:
        yield Finding('compiled', LACKS if missing else OK,
                      f"{', '.join(missing)} not yet" if missing else str(folder),
                      'the first flight compiles, once' if missing else '')
    yield from _of_ports()


def _of_ports() -> typing.Iterator[Finding]:
    taken = ''
    try:
        hil = load_configuration(None, {}).of_node('hil_bridge', HilParameters)
        autopilots.check_ports(hil, 'px4', is_piloted=True)
        domain_claim.check_unclaimed()
    except (OSError, ParameterError) as error:
        taken = sentence(error)
    yield Finding('ports', LACKS if taken else OK, taken or 'those of instance 0 are free',
                  '`fly` takes the first instance and the first ROS domain that are free'
                  if taken else '')


def _of_px4(named: str) -> typing.Iterator[Finding]:
    lacking = [tool for tool in _TOOLS if shutil.which(tool) is None]
    yield Finding('util-linux', FAILS if lacking else OK, ', '.join(lacking or _TOOLS),
                  'install util-linux (apt-get install util-linux)' if lacking else '')
    try:
        build = installed.build_of(named)
    except ParameterError as error:
        yield _finding('px4', '', [_without_parameter(str(error))],
                       state=FAILS if named else LACKS)
    else:
        yield Finding('px4', OK, f'{installed.px4_version(build)} in {build}')


def _of_ros() -> typing.Iterator[Finding]:
    if importlib.util.find_spec('rclpy') is None:
        yield Finding('ros', FAILS, 'no rclpy', f'pip install {PACKAGE}, or source the setup.bash'
                                                ' of a ROS 2')
        return
    version = next((d.version for name in ('ros-rclpy', 'rclpy')
                    for d in importlib.metadata.distributions(name=name)), 'of an unknown version')
    distro = os.environ.get('ROS_DISTRO')
    where = f'{distro} installed, and sourced' if distro else 'as wheels, without tools'
    yield Finding('ros', OK, f'rclpy {version}, {where}')


def _of_viewers() -> typing.Iterator[Finding]:
    there = [name for name in _VIEWERS if shutil.which(name)] or ['none']
    yield Finding('viewers', OK, f"of an installed ROS 2: {', '.join(there)}")


def _finding(
    name: str, good: str, problems: typing.Sequence[str], state: str = LACKS,
) -> Finding:
    """Return a finding of sentences: what is wrong; what to do."""
    if not problems:
        return Finding(name, OK, good)
    parts = [problem.split('; ', 1) for problem in problems]
    return Finding(name, state, '; '.join(part[0] for part in parts),
                   '; '.join(part[-1] for part in parts))


def _without_parameter(text: str) -> str:
    """Return a sentence without the parameter that it is about."""
    return re.sub(r'^px4_\w+(?: = [^:]*)?: ', '', text)
