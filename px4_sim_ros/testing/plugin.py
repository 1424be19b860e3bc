# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The plugin of pytest: the fixture `flight`, and scenario and campaign files as tests.

It is loaded with every run of pytest where this package is installed, so it imports the rest when
there is a flight.
"""
from __future__ import annotations

import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import typing

import pytest

from px4_sim_ros.testing.campaign_file import SUFFIX as CAMPAIGN
from px4_sim_ros.testing.campaign_file import CampaignFile
from px4_sim_ros.testing.places import folder_of, repeatable_px4

if typing.TYPE_CHECKING:
    from px4_sim_ros.testing.flight import Flight

_EMBEDDED, _PX4 = 'embedded', 'px4'
_SUFFIX = '.scenario.yaml'
_YAML = '.yaml', '.yml'
# Of wall time, from SIGTERM on.
_END_LIMIT_S = 10.0
_FLIGHT = pytest.StashKey['Flight']()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup('px4_sim_ros')
    group.addoption('--px4-dir', default=os.environ.get('PX4_DIR', ''),
                    help='a PX4 that was built: flights are flown with it as well; PX4_DIR by'
                    ' default')
    group.addoption('--flights', default='flights', metavar='DIR',
                    help='where recording, report and PX4\'s log of flights go that have failed')
    group.addoption('--wall-limit', type=float, default=300.0, metavar='SECONDS',
                    help='wall time after which a flight hangs and is given up; 300 by default')


def pytest_configure(config: pytest.Config) -> None:
    """Describe the markers."""
    config.addinivalue_line('markers', 'flight(vehicle, mission, seed, weather, place, set, px4):'
                            ' what the fixture flight flies, as in a scenario file')
    config.addinivalue_line('markers', 'px4: flown with PX4; -m "not px4" leaves it out')


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Fly each test with the embedded autopilot, and with PX4 where there is one."""
    if 'flight' in metafunc.fixturenames:
        metafunc.parametrize('flight', _autopilots(metafunc.config), indirect=True)


def _autopilots(config: pytest.Config) -> list[typing.Any]:
    has_px4 = config.getoption('px4_dir')
    return [_EMBEDDED, *([pytest.param(_PX4, marks=pytest.mark.px4)] if has_px4 else [])]


@pytest.fixture
def flight(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory,
) -> typing.Iterator[Flight]:
    """Return a flight with ports and a folder of its own, judged at the end of the test."""
    from px4_sim_ros.campaign.instances import own_instance
    from px4_sim_ros.testing.flight import Flight, Plan
    px4 = None
    if request.param == _PX4:
        px4 = repeatable_px4(request.config.getoption('px4_dir'))
    marker = request.node.get_closest_marker('flight')
    with own_instance(of_px4=px4 is not None) as instance:
        folder = tmp_path_factory.mktemp('flight')
        found = Flight(Plan(
            instance, px4, marker.kwargs if marker else {},
            request.config.getoption('wall_limit')), folder)
        request.node.stash[_FLIGHT] = found
        try:
            yield found
        finally:
            found.close()
            shutil.rmtree(folder, ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(
    pyfuncitem: pytest.Function,
) -> typing.Generator[None, object, object]:
    """Judge what a test expects of its flight as a part of the test."""
    __tracebackhide__ = True
    result = yield
    if _FLIGHT in pyfuncitem.stash:
        pyfuncitem.stash[_FLIGHT].check()
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> typing.Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep what a flight that has failed has left, and say where."""
    report = yield
    if report.when == 'call' and report.failed and _FLIGHT in item.stash:
        report.sections.append(('flight', _keep(item, item.stash[_FLIGHT])))
    return report


def _keep(item: pytest.Item, flight: Flight) -> str:
    """Keep the recording of a flight and its report; return what is to be said about them."""
    said, fingerprint = [*flight.said], flight.fingerprint
    flight.close()
    folder = folder_of(item)
    shutil.copytree(flight.folder, folder)
    lines = [*said, f'fingerprint {fingerprint}', f'look at {folder}']
    if (folder / 'recording').is_dir():
        _write_report(folder)
    return '\n'.join([*lines, f'again: python -m pytest {shlex.quote(item.nodeid)}'])


def _write_report(folder: pathlib.Path) -> None:
    from px4_sim_ros.recording.bag.reader import BagReader
    from px4_sim_ros.recording.report.flight_report import write_report
    write_report(BagReader(folder / 'recording'), folder / 'report.html')


# Scenario and campaign files.

def pytest_collect_file(
    file_path: pathlib.Path, parent: pytest.Collector,
) -> pytest.Collector | None:
    """Take `NAME.scenario.yaml` for a test, and any YAML file that is named on the command line.

    `NAME.campaign.yaml` is a campaign.
    """
    if file_path.name.endswith(CAMPAIGN):
        return CampaignFile.from_parent(parent, path=file_path)
    if file_path.name.endswith(_SUFFIX) or (
            file_path.suffix in _YAML and parent.session.isinitpath(file_path)):
        return ScenarioFile.from_parent(parent, path=file_path)
    return None


class ScenarioFile(pytest.File):
    """A scenario file: a test with each autopilot."""

    def collect(self) -> typing.Iterator[pytest.Item]:
        """Yield its flights."""
        yield ScenarioItem.from_parent(self, name=_EMBEDDED, autopilot=_EMBEDDED)
        if self.config.getoption('px4_dir'):
            item = ScenarioItem.from_parent(self, name=_PX4, autopilot=_PX4)
            item.add_marker(pytest.mark.px4)
            yield item


def _flown(words: typing.Sequence[str], limit_s: float) -> tuple[int, str, str]:
    """Run a flight; return its exit code, what it has printed and what it has said of failures.

    :param limit_s: of wall time; whatever is slower than this hangs, and is ended
    """
    with subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as flight:
        try:
            printed, said = flight.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            printed, said = _ended(flight)
            return 1, printed, f'{said}\nthe flight has hung for {limit_s:g} s of wall time'
        return flight.returncode, printed, said


def _ended(flight: subprocess.Popen[str]) -> tuple[str, str]:
    """End a flight with its autopilot; return what it has printed and said."""
    flight.terminate()
    try:
        return flight.communicate(timeout=_END_LIMIT_S)
    except subprocess.TimeoutExpired:
        flight.kill()
        return flight.communicate()


class ScenarioFailure(Exception):
    """What `fly` has said about a flight."""


class ScenarioItem(pytest.Item):
    """A flight of a scenario file."""

    def __init__(self, *, autopilot: str, **arguments: typing.Any) -> None:
        super().__init__(**arguments)
        self._autopilot = autopilot

    def runtest(self) -> None:
        """Fly it in a process of its own."""
        from px4_sim_ros.campaign.instances import own_instance
        folder = folder_of(self)
        folder.mkdir()
        words = [sys.executable, '-m', 'px4_sim_ros', 'fly', '--mode', 'core', '--scenario',
                 str(self.path), '--autopilot', self._autopilot, '--record',
                 str(folder / 'recording'), '--report', str(folder / 'report.html')]
        is_px4 = self._autopilot == _PX4
        if is_px4:
            px4 = repeatable_px4(self.config.getoption('px4_dir'))
            words += ['--px4-dir', str(px4.build), '--px4-schedule', px4.schedule]
        with own_instance(of_px4=is_px4, flies_here=False) as instance:
            code, printed, said = _flown(
                [*words, '--instance', str(instance)], self.config.getoption('wall_limit'))
        self.add_report_section('call', 'flight', printed)
        if code:
            raise ScenarioFailure(f'{said.strip()}\nlook at {folder}')
        shutil.rmtree(folder)

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: typing.Any = None,
    ) -> typing.Any:
        """Return what `fly` has said."""
        if isinstance(excinfo.value, ScenarioFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[pathlib.Path, int, str]:
        """Return where it stands."""
        return self.path, 0, f'{self.path.name} with {self._autopilot}'
