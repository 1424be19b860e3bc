# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Scenario and campaign files as tests of pytest; each is flown by its command."""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import typing

import pytest

from px4_sim_ros.testing.artefacts import (
    EMBEDDED,
    PX4,
    folder_of,
    new_folder,
    px4_of,
    where_to_look,
)

CAMPAIGN = '.campaign.yaml'
# Of the failed runs: a report is read.
_MOST_SHOWN = 10
# Of wall time, from SIGTERM on.
_END_LIMIT_S = 10.0


class CommandFailure(Exception):
    """What a command has said about its flights."""


class _Item(pytest.Item):
    """What a command flies with an autopilot, which is the name."""

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: typing.Any = None,
    ) -> typing.Any:
        """Return the output of the command."""
        if isinstance(excinfo.value, CommandFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[pathlib.Path, int, str]:
        """Return where it stands."""
        return self.path, 0, f'{self.path.name} with {self.name}'

    def px4_options(self) -> list[str]:
        """Return the options of a command that flies with PX4."""
        px4 = px4_of(self)
        return ['--px4-dir', str(px4.build), '--px4-schedule', px4.schedule]


class ScenarioFile(pytest.File):
    """A scenario file: a test with each autopilot."""

    def collect(self) -> typing.Iterator[pytest.Item]:
        """Yield its flights."""
        yield ScenarioItem.from_parent(self, name=EMBEDDED)
        if self.config.getoption('px4_dir'):
            item = ScenarioItem.from_parent(self, name=PX4)
            item.add_marker(pytest.mark.px4)
            yield item


class ScenarioItem(_Item):
    """A flight of a scenario file."""

    def runtest(self) -> None:
        """Fly it in a process of its own."""
        from px4_sim_ros.flight.instances import own_instance
        folder = new_folder(self)
        words = [sys.executable, '-m', 'px4_sim_ros', 'fly', '--mode', 'core', '--scenario',
                 str(self.path), '--autopilot', self.name, '--record',
                 str(folder / 'recording'), '--report', str(folder / 'report.html')]
        is_px4 = self.name == PX4
        if is_px4:
            words += self.px4_options()
        with own_instance(of_px4=is_px4, flies_here=False) as instance:
            code, printed, said = _flown(
                [*words, '--instance', str(instance)], self.config.getoption('wall_limit'), folder)
        self.add_report_section('call', 'flight', printed)
        if code:
            raise CommandFailure(f'{said.strip()}\n{where_to_look(self, folder)}')
        shutil.rmtree(folder)


def _flown(
    words: typing.Sequence[str], limit_s: float, ros_home: pathlib.Path,
) -> tuple[int, str, str]:
    """Run a flight; return its exit code, what it has printed and what it has said of failures."""
    with subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ | {'ROS_HOME': str(ros_home)}) as flight:
        try:
            printed, said = flight.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            printed, said = _ended(flight)
            return 1, printed, f'{said}\nthe flight has hung for {limit_s:g} s of wall time'
        return flight.returncode, printed, said


def _ended(flight: subprocess.Popen[str]) -> tuple[str, str]:
    """End a flight with its autopilot; return its output."""
    flight.terminate()
    try:
        return flight.communicate(timeout=_END_LIMIT_S)
    except subprocess.TimeoutExpired:
        flight.kill()
        return flight.communicate()


class CampaignFile(pytest.File):
    """A campaign file: one test, with the autopilot that it names."""

    def collect(self) -> typing.Iterator[pytest.Item]:
        """Yield its test."""
        from px4_sim_ros.campaign.plan import Campaign
        from px4_sim_ros.model.errors import ParameterError
        try:
            settings = Campaign.load(str(self.path)).settings
        except ParameterError as error:
            raise self.CollectError(str(error)) from error
        item = CampaignItem.from_parent(
            self, name=settings.autopilot, is_judged=bool(settings.at_least))
        if settings.autopilot == PX4:
            item.add_marker(pytest.mark.px4)
        yield item


class CampaignItem(_Item):
    """All flights of a campaign."""

    def __init__(self, *, is_judged: bool, **arguments: typing.Any) -> None:
        super().__init__(**arguments)
        self._is_judged = is_judged

    def runtest(self) -> None:
        """Fly it in processes of its own; it gives up by itself what hangs."""
        folder = folder_of(self)
        words = [sys.executable, '-m', 'px4_sim_ros', 'campaign', str(self.path), '--out',
                 str(folder)]
        if self.name == PX4:
            if not self.config.getoption('px4_dir'):
                pytest.skip('it is flown with PX4: name one with --px4-dir')
            words += self.px4_options()
        flown = subprocess.run(words, capture_output=True, text=True)
        self.add_report_section('call', 'campaign', flown.stdout)
        failed = _failed(folder)
        if flown.returncode or (failed and not self._is_judged):
            lines = [flown.stderr.strip(), *_failures(failed)]
            raise CommandFailure('\n'.join([*filter(None, lines), f'look at {folder}']))
        shutil.rmtree(folder)


def _failed(folder: pathlib.Path) -> list[dict[str, typing.Any]]:
    from px4_sim_ros.campaign.folder import Folder
    from px4_sim_ros.model.errors import ParameterError
    try:
        return [row for row in Folder.read(folder).rows() if row['outcome'] == 'failed']
    except ParameterError:             # it was refused before anything was flown, and says why
        return []


def _failures(failed: typing.Sequence[dict[str, typing.Any]]) -> typing.Iterator[str]:
    for row in failed[:_MOST_SHOWN]:
        yield f"run {row['run']}: {row['failure']}"
        yield f"again: {row['command']}"
    if len(failed) > _MOST_SHOWN:
        yield f'{len(failed) - _MOST_SHOWN} more runs have failed; report.html there has the worst'
