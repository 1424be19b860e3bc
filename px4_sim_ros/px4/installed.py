# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where a PX4 is: a source tree that was built or an installed package; and what it lacks."""
from __future__ import annotations

import contextlib
import functools
import mmap
import os
import pathlib
import re
import shutil

from px4_sim_ros.model.errors import ParameterError

AUTO = 'auto'
"""In place of a folder: the first PX4 that is found and can fly."""

BINARY, FILES = pathlib.Path('bin/px4'), pathlib.Path('etc')
BUILD = pathlib.Path('build/px4_sitl_default')
# Where PX4's documentation has its clone, and where its Debian packages are.
_PLACES = '~/PX4-Autopilot', '/opt/px4-gazebo', '/opt/px4'

_VERSION_FILE = pathlib.Path('src/lib/version/build_git_version.h')
# An installed one has no such file, but its tag in its program; those of tests there are lower.
_TAG = re.compile(rb'\0(v1\.[1-9]\d\.\d+(?:-[\w.-]+)?)\0')
# Only a PX4 without lockstep says this when it starts (its platforms/posix, main.cpp).
_WITHOUT_LOCKSTEP = re.compile(rb'(virtual address space is locked into RAM)')
_MODULES = pathlib.Path('bin/px4-alias.sh')
_LINK_MODULE = 'simulator_mavlink'
_AIRFRAMES = 'etc/init.d-posix/airframes', 'etc/init.d/airframes'


def build_of(px4_dir: str | os.PathLike[str]) -> pathlib.Path:
    """Return the folder of a PX4's program and files: a build folder, or where it is installed.

    :param px4_dir: that folder, or a source tree in which PX4 was built; AUTO or '' for the first
        of PX4_DIR, the places of PX4's documentation and packages, and the PATH
    """
    if str(px4_dir) in ('', AUTO):
        return _first()
    root = pathlib.Path(os.path.realpath(os.path.expanduser(px4_dir)))
    build = _build_in(root)
    if build is None:
        raise ParameterError(
            f'px4_dir = {root}: has no {BINARY} and no {BUILD / BINARY};'
            ' build it there with "make px4_sitl_default"')
    if lacks := lack(build):
        raise ParameterError(f'px4_dir = {root}: {lacks}')
    return build


def _first() -> pathlib.Path:
    if named := os.environ.get('PX4_DIR'):
        return build_of(named) if named != AUTO else _found()
    return _found()


def _found() -> pathlib.Path:
    unfit = ''
    for place in places():
        if (build := _build_in(place)) is not None:
            if not (lacks := lack(build)):
                return build
            unfit += f'; {place}: {lacks}'
    raise ParameterError(
        f"px4_dir: missing: there is no PX4 in {', '.join(_PLACES)} or on the PATH; give the folder"
        f' of one that was built or installed{unfit}')


def places() -> list[pathlib.Path]:
    """Return where a PX4 is looked for."""
    found = [pathlib.Path(os.path.expanduser(place)) for place in _PLACES]
    if (program := shutil.which('px4')) is not None:
        found.append(pathlib.Path(os.path.realpath(program)).parent.parent)
    return found


def _build_in(root: pathlib.Path) -> pathlib.Path | None:
    for build in root, root / BUILD:
        if os.access(build / BINARY, os.X_OK) and (build / FILES).is_dir():
            return build
    return None


@functools.cache
def lack(build: pathlib.Path) -> str:
    """Return the end of a sentence: the part that a PX4 lacks to fly here; '' for none."""
    with contextlib.suppress(OSError):
        if _LINK_MODULE not in (build / _MODULES).read_text('utf-8', 'replace'):
            return (f'this PX4 has no module {_LINK_MODULE}; build it with'
                    ' CONFIG_MODULES_SIMULATION_SIMULATOR_MAVLINK=y, as "make px4_sitl_default"'
                    ' does')
    if _in_program(build, _WITHOUT_LOCKSTEP) is not None:
        return ('this PX4 was built without lockstep; take one without CONFIG_BOARD_NOLOCKSTEP, as'
                ' "make px4_sitl_default" makes it')
    return ''


def check_airframe(build: pathlib.Path, airframe: int) -> None:
    """Check that a PX4 has an airframe, where it is known which it has."""
    folders = [build / name for name in _AIRFRAMES if (build / name).is_dir()]
    if folders and not any(True for folder in folders for _ in folder.glob(f'{airframe}_*')):
        raise ParameterError(f'px4_airframe = {airframe}: the PX4 in {build} has no such airframe;'
                             f" name one of {', '.join(map(str, folders))}")


def px4_version(build: pathlib.Path) -> str:
    """Return tag and commit of a PX4 from its build folder, as far as it is known."""
    try:
        text = (build / _VERSION_FILE).read_text('utf-8', 'replace')
    except OSError:
        tag = _in_program(build, _TAG)
        return 'of an unknown version' if tag is None else tag.decode()
    found = dict(re.findall(r'#define PX4_GIT_(TAG|VERSION)_STR "(.*)"', text))
    return f"{found.get('TAG', '')} {found.get('VERSION', '')[:10]}".strip()


def _in_program(build: pathlib.Path, pattern: re.Pattern[bytes]) -> bytes | None:
    """Return the group of the first match in a PX4's program, None without one."""
    try:
        with (build / BINARY).open('rb') as file, \
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            found = pattern.search(content)
            return None if found is None else bytes(found[1])
    except (OSError, ValueError):        # one that is empty cannot be mapped
        return None
