# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Scenario files as tests of pytest."""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import typing

import pytest

from px4_sim_ros.flight.instances import own_instance
from px4_sim_ros.testing.artefacts import EMBEDDED, PX4, new_folder, px4_of, where_to_look

# Of wall time, from SIGTERM on.
_END_LIMIT_S = 10.0


class ScenarioFile(pytest.File):
    """A scenario file: a test with each autopilot."""

    def collect(self) -> typing.Iterator[pytest.Item]:
        """Yield its flights."""
        yield ScenarioItem.from_parent(self, name=EMBEDDED, autopilot=EMBEDDED)
        if self.config.getoption('px4_dir'):
            item = ScenarioItem.from_parent(self, name=PX4, autopilot=PX4)
            item.add_marker(pytest.mark.px4)
            yield item


class ScenarioFailure(Exception):
    """What `fly` has said about a flight."""


class ScenarioItem(pytest.Item):
    """A flight of a scenario file."""

    def __init__(self, *, autopilot: str, **arguments: typing.Any) -> None:
        super().__init__(**arguments)
        self._autopilot = autopilot

    def runtest(self) -> None:
        """Fly it in a process of its own."""
        folder = new_folder(self)
        words = [sys.executable, '-m', 'px4_sim_ros', 'fly', '--mode', 'core', '--scenario',
                 str(self.path), '--autopilot', self._autopilot, '--record',
                 str(folder / 'recording'), '--report', str(folder / 'report.html')]
        is_px4 = self._autopilot == PX4
        if is_px4:
            px4 = px4_of(self)
            words += ['--px4-dir', str(px4.build), '--px4-schedule', px4.schedule]
        with own_instance(of_px4=is_px4, flies_here=False) as instance:
            code, printed, said = _flown(
                [*words, '--instance', str(instance)], self.config.getoption('wall_limit'), folder)
        self.add_report_section('call', 'flight', printed)
        if code:
            raise ScenarioFailure(f'{said.strip()}\n{where_to_look(self, folder)}')
        shutil.rmtree(folder)

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: typing.Any = None,
    ) -> typing.Any:
        """Return the output of `fly`."""
        if isinstance(excinfo.value, ScenarioFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[pathlib.Path, int, str]:
        """Return where it stands."""
        return self.path, 0, f'{self.path.name} with {self._autopilot}'


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
