# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a flight that has failed leaves, and how to fly it again."""
from __future__ import annotations

import dataclasses
import os
import pathlib
import shlex
import shutil
import typing

import pytest

from px4_sim_ros.model.errors import sentence
from px4_sim_ros.process import atomic_write

if typing.TYPE_CHECKING:
    from px4_sim_ros.px4.sitl import Px4
    from px4_sim_ros.testing.flight import Flight


EMBEDDED, PX4 = 'embedded', 'px4'
"""The autopilots; the second one is a marker as well."""
UNREPEATABLE = 'not_repeatable_because'
"""The property of a test, also in JUnit, that says why its flight may be another the next time."""


def px4_of(item: pytest.Item) -> Px4:
    """Return a PX4 that repeats itself, or one on a core of its own where that is not permitted."""
    from px4_sim_ros.px4.sitl import Px4, no_priority
    px4 = Px4.find(item.config.getoption('px4_dir'), None)
    if not px4.repeats:
        note_unrepeatable(item, no_priority())
    return px4


def note_unrepeatable(item: pytest.Item, reason: str) -> None:
    """Note why a flight may be another the next time; the first reason counts."""
    if reason and UNREPEATABLE not in dict(item.user_properties):
        item.user_properties.append((UNREPEATABLE, reason))


def summary(reports: typing.Iterable[pytest.TestReport]) -> list[str]:
    """Return a line for each reason why flights do not repeat, with how many there are."""
    reasons = [dict(report.user_properties).get(UNREPEATABLE) for report in reports
               if report.when == 'call']
    return [f'flights that may be others the next time: {reasons.count(reason)}, because {reason}'
            for reason in dict.fromkeys(filter(None, reasons))]


_PLUGIN = 'px4_sim_ros.testing.plugin'
_AGAIN = 'again.txt'


def folder_of(item: pytest.Item) -> pathlib.Path:
    """Return a place for what a flight leaves; that of the run before is removed."""
    name = ''.join(c if c.isalnum() or c in '._-' else '_' for c in item.nodeid)
    folder = pathlib.Path(item.config.getoption('flights')).resolve() / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    return folder


def new_folder(item: pytest.Item) -> pathlib.Path:
    """Return the same as an empty folder."""
    folder = folder_of(item)
    folder.mkdir()
    return folder


def keep(item: pytest.Item, flight: Flight, why: str) -> str:
    """Keep what a flight has left, with a report; return the sentences about it."""
    from px4_sim_ros.recording.bag.reader import RUN_FILE, BagReader
    from px4_sim_ros.testing.flight import FILE
    said, fingerprint = [*flight.said], flight.fingerprint
    flight.close()
    if unrepeatable := dict(item.user_properties).get(UNREPEATABLE):
        fingerprint += f'; another flight may have another one: {unrepeatable}'
    said.append(f'fingerprint {fingerprint}')
    try:
        folder = folder_of(item)
        alone = flight.command(folder / FILE)
        text = flight.write_scenario(
            f'{item.nodeid} failed: {why}\nThe same flight without the test, up to where it ended;'
            f' a Python assertion of the test is not judged:\n{alone}')
        shutil.copytree(flight.folder, folder, symlinks=True)
        if (folder / 'recording').is_dir():
            # For `refly`: the recording was begun before it was known what would happen.
            run = BagReader(folder / 'recording').run
            atomic_write.write(folder / 'recording' / RUN_FILE,
                              dataclasses.replace(run, scenario=text).to_yaml())
            _write_report(folder)
    except OSError as error:
        return '\n'.join([*said, _not_kept(error), f'again: {shlex.join(_again(item))}'])
    return '\n'.join([*said, where_to_look(item, folder), f'alone: {alone}'])


def _not_kept(error: OSError) -> str:
    return f'what the flight has left cannot be kept: {sentence(error)}'


def where_to_look(item: pytest.Item, folder: pathlib.Path) -> str:
    """Write the command that flies it again beside what is kept; return it, and where that is."""
    for path in folder.rglob('*'):
        if path.is_symlink():          # of PX4, to its build, which is no part of the flight
            path.unlink()
    again = shlex.join(_again(item))
    try:
        atomic_write.write(folder / _AGAIN, f'{again}\n')
    except OSError as error:           # the verdict is not lost
        return f'{_not_kept(error)}\nagain: {again}'
    return f'look at {folder}\nagain: {again}'


def _again(item: pytest.Item) -> list[str]:
    """Return the command that flies a test again, as it was flown."""
    words = ['python', '-m', 'pytest']
    if _PLUGIN in item.config.getoption('plugins'):
        words += ['-p', _PLUGIN]
    if item.get_closest_marker(PX4):
        # As one word: pytest takes the folder for one of tests otherwise, and looks for its
        # configuration there.
        words += [f"--px4-dir={item.config.getoption('px4_dir')}"]
    # The file as seen from here: names of tests begin in the root folder of pytest.
    file = os.path.relpath(item.path, item.config.invocation_params.dir)
    return [*words, '::'.join([file, *item.nodeid.split('::')[1:]])]


def _write_report(folder: pathlib.Path) -> None:
    from px4_sim_ros.recording.bag.reader import BagReader
    from px4_sim_ros.recording.report.flight_report import write_report
    write_report(BagReader(folder / 'recording'), folder / 'report.html')
