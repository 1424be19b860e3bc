# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the page about scenes says is true: its commands are run, its files are read."""
import pathlib
import re
import shlex

import pytest
import yaml
from commands import here, write_hop

from px4_sim_ros.messages import scene_sensors
from px4_sim_ros.model.scene.paths import FASTEST_M_S, MOST_PATHS, MOST_POINTS, MOST_WAVES
from px4_sim_ros.model.scene.scene import MOST_OBJECTS, MOST_POSTS, MOST_TRIANGLES, Scene
from px4_sim_ros.spec.own_blocks import rows_of
from px4_sim_ros.spec.resources import config_directory, named_files

PAGE = (pathlib.Path(__file__).resolve().parents[2] / 'docs' / 'scenes.md').read_text('utf-8')
COMMANDS, *_, OF_PX4 = (block.splitlines() for block in re.findall(r'```sh\n(.*?)```', PAGE, re.S))
SCENE, PATHS, BLOCKS, *_ = (
    yaml.safe_load(text) for text in re.findall(r'```yaml\n(.*?)```', PAGE, re.S))


@pytest.mark.process
def test_its_commands(tmp_path, instance):
    write_hop(tmp_path, 0.4)
    for command in COMMANDS:
        words = shlex.split(command.removeprefix('python -m px4_sim_ros '))
        if words[0] == 'fly':
            # The same flight as composed.
            words += ['--mode', 'core', '--mission', 'hop.yaml', '--instance', instance]
        done = here(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith('common messages are bit-identical\n')


def test_its_scene_is_one():
    found = Scene.from_mapping('page', 'page', SCENE)
    assert len(found.objects) == 3 and found.ground.heights_m[1, 4] == 6.0
    assert found.ground.corner_m == (-40.0, -20.0)


def test_its_paths_are_some():
    found = Scene.from_mapping('page', 'page', PATHS)
    assert found.paths[found.objects[0].path].loop and len(found.paths['ship'].roll_deg) == 1
    for count, what in (MOST_PATHS, 'paths'), (MOST_POINTS, 'points'), (MOST_WAVES, 'waves'):
        assert f'{count} {what}' in PAGE
    assert f'{FASTEST_M_S:g} m/s' in PAGE


def test_its_table_has_the_scenes():
    table = PAGE[PAGE.index('| scene |'):].partition('\n\n')[0]
    assert re.findall(r'^\| `(\w+)`', table, re.M) == [
        'street', 'forest', 'warehouse', 'wall', 'canyon', 'hills', 'landing_pad', 'moving_deck',
        'traffic']
    assert set(re.findall(r'^\| `(\w+)`', table, re.M)) == set(named_files('scenes'))
    for count, what in (MOST_POSTS, 'posts'), (MOST_TRIANGLES, 'triangles'):
        assert f'{count:,} {what}'.replace(',', ' ') in PAGE
    assert f'At most {MOST_OBJECTS} objects' in PAGE


def test_its_blocks_are_as_the_table_says():
    rows = {row.path: row for row in rows_of({'page': BLOCKS['blocks']})}
    table = PAGE[PAGE.index('| class |'):].partition('\n\n')[0].splitlines()[2:]
    assert len(table) == len(rows)
    for line in table:
        name, topic, message, period = (cell.strip() for cell in line.strip('|').split('|'))
        row = rows[f'px4_sim_ros:{name.strip("`")}']
        assert (f'`{row.topic}`', f'{row.period_us // 1000} ms') == (topic, period)
        assert message.startswith(f'`{row.type.rpartition("/")[2]}`')


@pytest.mark.parametrize('kind', ['Lidar', 'Lidar2d', 'DepthCamera'])
def test_it_names_all_parameters(kind):
    for name in getattr(scene_sensors, kind).defaults:
        assert f'`{name}' in PAGE, name


def test_its_scenario_is_there():
    assert OF_PX4 == ['python -m px4_sim_ros fly --scenario wall_ahead --autopilot px4']
    assert (config_directory() / 'scenarios' / 'wall_ahead.yaml').is_file()
