# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""docs/architecture.md has the rooms and the frames of the code."""
import pathlib
import re
import tomllib

import pytest

from px4_sim_ros.messages.codecs import CODECS

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / 'docs' / 'architecture.md').read_text(encoding='utf-8')


class Sample(tuple):
    """What a message is made for, where that matters; the beam goes where it goes by default."""

    direction = 'down'
    rotor_speeds_rad_s = rotor_angles_rad = servo_angles_rad = ()


MESSAGES = {topic: codec.new(Sample()) for topic, codec in CODECS.items()}


def rows(name):
    """Return the cells of the table that follows `<!-- name -->`."""
    table = re.search(f'<!-- {name} -->\n(.*?)<!-- end -->', PAGE, re.S)[1]
    return [[cell.strip() for cell in line.strip('|').split('|')]
            for line in table.splitlines()[2:]]


def frames_of(message):
    """Return the frames of a message: that of its header and, of an Odometry, of the child."""
    return {frame for frame in (
        message.header.frame_id if hasattr(message, 'header') else '',
        getattr(message, 'child_frame_id', '')) if frame}


def test_the_rooms_are_those_of_the_contract():
    contracts = tomllib.loads((ROOT / 'pyproject.toml').read_text(encoding='utf-8'))[
        'tool']['importlinter']['contracts']
    layers, = (contract['layers'] for contract in contracts if contract['type'] == 'layers')
    assert [room.strip('`') for room, _ in rows('rooms')] == layers


def test_the_frames_are_those_of_the_messages():
    told = {(topic, frame.strip('`')) for frame, _, content in rows('frames')
            for topic in re.findall(r'`([\w/]+)`', content) if topic in CODECS}
    assert told == {
        (topic, frame) for topic, message in MESSAGES.items() for frame in frames_of(message)}


def test_what_has_no_frame():
    sentence = re.search(r'^(`.*) have no frame\.', PAGE, re.M)[1]
    assert set(re.findall(r'`([\w/]+)`', sentence)) == {
        topic for topic, message in MESSAGES.items() if not frames_of(message)}


@pytest.mark.parametrize(('walk', 'most'), [('force', 15), ('command', 15)])
def test_a_walk_names_functions_that_exist_and_is_as_long_as_it_says(walk, most):
    functions, files = [], set()
    for names, places, _ in rows(walk):
        if names.startswith('('):
            continue                     # transport
        its_files = re.findall(r'`([\w/]+\.py)`', places)
        text = '\n'.join((ROOT / 'px4_sim_ros' / file).read_text(encoding='utf-8')
                         for file in its_files)
        for name in re.findall(r'`([\w.]+)`', names):
            assert re.search(rf'^ *def {name.rpartition(".")[2]}\(', text, re.M), name
            functions.append(name)
        files.update(its_files)
    assert len(functions) <= most
    assert f'{len(functions)} functions in {len(files)} files:\n\n<!-- {walk} -->' in PAGE


def test_no_node_reads_a_clock_of_ros():
    """So `use_sim_time` is false; docs/time_and_lockstep.md says why."""
    assert not [path for path in (ROOT / 'px4_sim_ros').rglob('*.py')
                if 'get_clock' in path.read_text(encoding='utf-8')]
