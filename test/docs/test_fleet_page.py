# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What docs/fleets.md shows and says is so."""
import pathlib
import re
import shlex

import pytest

from px4_sim_ros.cli import command_line, fly
from px4_sim_ros.link.hil.link_state import HilParameters
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.spec import fleets
from px4_sim_ros.spec.files import Files
from px4_sim_ros.spec.fleets import NEAR_MISS_M, SPACING_M, Fleet, VehicleEntry
from px4_sim_ros.spec.flight_spec import Options, flight_of
from px4_sim_ros.spec.parameter_files import default_parameters
from px4_sim_ros.spec.resources import named_files
from px4_sim_ros.step.scenario_block import ScenarioParameters

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / 'docs' / 'fleets.md').read_text(encoding='utf-8')
FILE, WITH_SCENARIO, COMERS = re.findall(r'```yaml\n(.*?)```', PAGE, re.S)
COMMANDS = [shlex.split(line)[3:] for block in re.findall(r'```sh\n(.*?)```', PAGE, re.S)
            for line in block.splitlines()]


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / 'my.yaml'
    path.write_text(FILE, encoding='utf-8')
    return path


def test_the_file_of_the_page(file):
    fleet = Fleet.load('my.yaml')
    found = fleets.configurations(
        fleet, 'embedded', None, {}, lambda autopilot: {'': {'mission': 'square'}}, Files())
    fleets.check_starts({vehicle.namespace: its for vehicle, its in found})
    leader, heavy, mine = (its for _, its in found)
    assert (leader.vehicle.name, heavy.vehicle.name) == ('iris', 'hexa')
    assert heavy.nodes['gps'].horizontal_error_m == 1.5
    assert [its.of_node('hil_bridge', HilParameters).instance for its in (leader, heavy, mine)] == [
        0, 1, 7]
    assert found[2][0].autopilot == 'none'
    assert mine.world.mission == 'none'


def test_the_fleet_of_which_one_has_a_scenario(file):
    file.write_text(WITH_SCENARIO, encoding='utf-8')
    vehicles = flight_of(
        Options(missions={'embedded': 'square'}), Fleet.load('my.yaml')).vehicles
    assert [v.scenario.name if v.scenario else None for v in vehicles] == [None, 'motor_weak']
    assert vehicles[1].configuration.of_node('scenario', ScenarioParameters).at_end == 'go_on'


def test_the_fleet_of_which_some_come_and_go(file):
    file.write_text(COMERS, encoding='utf-8')
    vehicles = flight_of(
        Options(missions={'embedded': 'square'}), Fleet.load('my.yaml')).vehicles
    assert [v.presence for v in vehicles] == [
        (0, None), (12_000_000, None), (4_000_000, 40_000_000)]


def test_all_keys_are_told():
    told = re.findall(r'^\| `(\w+)` \|', PAGE.partition('<!-- fleet keys -->')[2].partition(
        '<!-- end -->')[0], re.M)
    assert set(told) == {*VehicleEntry.infos(), 'start', 'set'}
    when_gone = re.findall(r'^\| `(\w+)` \|', PAGE.partition('| `when_gone` | what')[2].partition(
        '\n\n')[0], re.M)
    assert tuple(when_gone) == VehicleEntry.infos()['when_gone']['choices']


def test_the_sentence_of_the_page(file):
    sentence, = re.findall(r'```text\n(.*?)\n```', PAGE, re.S)
    file.write_text(FILE.replace('east_m: -6.0', 'east_m: far'), encoding='utf-8')
    with pytest.raises(ParameterError) as error:
        Fleet.load('my.yaml')
    assert str(error.value) == sentence


def test_numbers_of_the_page():
    assert f'{SPACING_M:g} m apart' in PAGE
    assert f'near_miss_m: {NEAR_MISS_M}' in FILE
    assert default_parameters('hil_bridge')['reply_timeout_s'] == 1.0
    for name in named_files('fleets'):
        assert f'`{name}`' in PAGE


@pytest.mark.parametrize(
    'words', [words for words in COMMANDS if words[0] == 'fly'], ids=' '.join)
def test_options_of_the_page(words, file, monkeypatch):
    file.write_text(COMERS, encoding='utf-8')
    seen = []
    monkeypatch.setattr(fly, 'fly', lambda options: seen.append(options) or 0)
    assert command_line.main(words) == 0
    if '--fleet' in words:
        assert Fleet.load(seen[0].fleet).vehicles
