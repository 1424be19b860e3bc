# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""docs/architecture.md has the rooms and the frames of the code."""
import os
import pathlib
import re
import subprocess
import sys
import tomllib

import instances
import pytest

from px4_sim_ros.messages.codecs import CODECS

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / 'docs' / 'architecture.md').read_text(encoding='utf-8')


class Sample(tuple):
    """What a message is made for, where that matters; the beam goes where it goes by default."""

    direction = 'down'
    rotor_speeds_rad_s = rotor_angles_rad = servo_angles_rad = ()
    wheels = None


MESSAGES = {topic: codec.new(Sample()) for topic, codec in CODECS.items()}


# Of each walk: its first function, the one that is called first after it, and what is called
# meanwhile without being a part of it, by file or function. What `advance`, the integrator, calls
# is none either, but for what a table names.
BESIDE = ('model/rotation.py', 'model/timebase.py', 'step/lane.py', 'HilBlock.link')
WALKS = {
    'force': ('DynamicsBlock.step', 'FramePacker.pack', (
        # What is added, of sensors and of rotors in vortex rings, and how it is drawn.
        'NoiseRows.next', 'NoiseRows._draw', 'VectorNoise._fill', 'model/random_streams.py',
        'DynamicsBlock.reach',         # the fingerprint
        'model/environment/gravity.py', 'model/timebase.py'))}


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


@pytest.fixture(scope='module')
def walked():
    """Return the calls of two steps: the file, the function, and those that it was called from."""
    with instances.free() as found:
        result = subprocess.run(
            [sys.executable, ROOT / 'test' / 'docs' / 'walked_steps.py', str(next(found))],
            env={**os.environ, 'NUMBA_DISABLE_JIT': '1', 'PYTHONPATH': f'{ROOT}:{ROOT / "test"}'},
            capture_output=True, text=True, timeout=60, check=True)
    return [line.split() for line in result.stdout.splitlines()]


@pytest.mark.process
@pytest.mark.parametrize('walk', WALKS)
def test_a_walk_is_what_runs_and_is_as_long_as_it_says(walk, walked):
    """Whatever is called between its ends is in its table, or in WALKS as no part of it."""
    first, last, beside = WALKS[walk]
    told = [(file.strip('`'), name) for names, file, _ in rows(walk) if not names.startswith('(')
            for name in re.findall(r'`([\w.]+)`', names)]
    begin = [function for _, function, *_ in walked].index(first)
    found = set()
    for file, function, *callers in walked[begin:]:
        if function == last:
            break
        function = function.removesuffix('.<locals>.<listcomp>')
        if (file, function) in told or ('advance' not in (function, *callers)
                                        and not {file, function} & {*BESIDE, *beside}):
            found.add((file, function))
    assert found == set(told)
    assert len(told) <= 15
    assert (f'{len(told)} functions in {len({file for file, _ in told})} files:\n\n'
            f'<!-- {walk} -->') in PAGE


# Of the row: what makes the lines of the command.
BESIDE_FILES = {'fault': (), 'row': ('campaign/statistics.py', '_is_shown')}


@pytest.mark.process
@pytest.mark.parametrize('walk', BESIDE_FILES)
def test_a_walk_from_a_file_is_as_it_is_flown(walk, instance):
    """With all that is compiled, as users fly."""
    result = subprocess.run(
        [sys.executable, ROOT / 'test' / 'docs' / 'walked_files.py', walk, str(instance)],
        capture_output=True, text=True, timeout=100, check=False)
    assert result.returncode == 0, result.stderr
    found = {tuple(line.split()) for line in result.stdout.splitlines()}
    found = {each for each in found if not {*each} & {*BESIDE_FILES[walk]}}
    told = {(file.strip('`'), name) for names, file, _ in rows(walk)
            for name in re.findall(r'`([\w.]+)`', names)}
    assert found == told
    assert (f'{len(told)} functions in {len({file for file, _ in told})} files:\n\n'
            f'<!-- {walk} -->') in PAGE


def test_no_node_reads_a_clock_of_ros():
    """So `use_sim_time` is false; docs/time_and_lockstep.md says why."""
    assert not [path for path in (ROOT / 'px4_sim_ros').rglob('*.py')
                if 'get_clock' in path.read_text(encoding='utf-8')]
