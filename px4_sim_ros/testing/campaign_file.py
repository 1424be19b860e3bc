# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A campaign file as a test: whether as many of its runs hold as `at_least` in it says."""
from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys
import typing

import pytest

from px4_sim_ros.testing.artefacts import PX4, folder_of, px4_of

SUFFIX = '.campaign.yaml'
# Of the failed runs: a report is read.
_MOST_SHOWN = 10


class CampaignFailure(Exception):
    """What is to be said about a campaign that does not show what it has to."""


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


class CampaignItem(pytest.Item):
    """All flights of a campaign."""

    def __init__(self, *, is_judged: bool, **arguments: typing.Any) -> None:
        """Begin."""
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
            px4 = px4_of(self)
            words += ['--px4-dir', str(px4.build), '--px4-schedule', px4.schedule]
        flown = subprocess.run(words, capture_output=True, text=True)
        self.add_report_section('call', 'campaign', flown.stdout)
        failed = _failed(folder)
        if flown.returncode or (failed and not self._is_judged):
            lines = [flown.stderr.strip(), *_failures(failed)]
            raise CampaignFailure('\n'.join([*filter(None, lines), f'look at {folder}']))
        shutil.rmtree(folder)

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: typing.Any = None,
    ) -> typing.Any:
        """Return the output of `campaign`, and the failed runs."""
        if isinstance(excinfo.value, CampaignFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[pathlib.Path, int, str]:
        """Return where it stands."""
        return self.path, 0, f'{self.path.name} with {self.name}'


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
