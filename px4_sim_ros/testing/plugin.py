# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The plugin of pytest: the fixture `flight`, and scenario and campaign files as tests.

It is loaded with every run of pytest where this package is installed, so it imports the rest when
there is a flight.
"""
from __future__ import annotations

import os
import pathlib
import shutil
import typing

import pytest

from px4_sim_ros.testing.artefacts import EMBEDDED, PX4, note_unrepeatable, px4_of, summary
from px4_sim_ros.testing.collected_files import CAMPAIGN, CampaignFile, ScenarioFile

if typing.TYPE_CHECKING:
    from px4_sim_ros.testing.flight import Flight

_SUFFIX = '.scenario.yaml'
_YAML = '.yaml', '.yml'
_FLIGHT = pytest.StashKey['Flight']()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup('px4_sim_ros')
    group.addoption('--px4', '--px4-dir', dest='px4_dir', metavar='PATH|auto',
                    default=os.environ.get('PX4_DIR', ''),
                    help='a PX4 that was built or installed, or the first that is found: flights'
                    ' are flown with it as well; PX4_DIR by default')
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
    if 'flight' in metafunc.fixturenames and _is_ours(metafunc):
        metafunc.parametrize('flight', _autopilots(metafunc.config), indirect=True)


def _is_ours(metafunc: pytest.Metafunc) -> bool:
    """Return whether the fixture is that of this plugin, or one of that name which asks for it.

    The plugin is loaded everywhere, and others call something of theirs a flight.
    """
    for fixture in reversed(metafunc._arg2fixturedefs.get('flight', ())):
        if fixture.func.__module__ == __name__:
            return True
        if 'flight' not in fixture.argnames:
            return False
    return False


def _autopilots(config: pytest.Config) -> list[typing.Any]:
    has_px4 = config.getoption('px4_dir')
    return [EMBEDDED, *([pytest.param(PX4, marks=pytest.mark.px4)] if has_px4 else [])]


@pytest.fixture
def flight(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory,
) -> typing.Iterator[Flight]:
    """Return a flight with ports and a folder of its own, judged at the end of the test."""
    from px4_sim_ros.flight.instances import own_instance
    from px4_sim_ros.testing.flight import Flight, Plan
    px4 = px4_of(request.node) if request.param == PX4 else None
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
    flight = pyfuncitem.stash.get(_FLIGHT, None)
    try:
        result = yield
        if flight is not None:
            flight.check()
        return result
    finally:
        if flight is not None and flight.fingerprint:
            pyfuncitem.user_properties.append(('fingerprint', flight.fingerprint))
            note_unrepeatable(pyfuncitem, flight.unrepeatable)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> typing.Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep what a flight that has failed has left, and say where."""
    report = yield
    if report.when == 'call' and report.failed and _FLIGHT in item.stash:
        from px4_sim_ros.testing.artefacts import keep
        crash = getattr(report.longrepr, 'reprcrash', None)
        report.sections.append(('flight', keep(
            item, item.stash[_FLIGHT], getattr(crash, 'message', ''))))
    return report


def pytest_terminal_summary(terminalreporter: typing.Any) -> None:
    """Say which flights do not repeat, and why."""
    for line in summary(report for reports in terminalreporter.stats.values()
                        for report in reports if isinstance(report, pytest.TestReport)):
        terminalreporter.write_line(line)


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
