# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Bad input gets one sentence with the name, the value and what is allowed."""
import os
import socket
import subprocess
import sys

import pytest
from commands import family, run

from px4_sim_ros.link.hil.server import port_of
from px4_sim_ros.link.pilot.link import AUTOPILOT_PORT, pilot_port
from px4_sim_ros.process import atomic_write

pytestmark = pytest.mark.process

INSTANCE = 82


def sentence_in(result):
    """See that a command has refused; return the one line that it has said."""
    assert result.returncode == 2
    assert result.stdout == ''
    line, = result.stderr.splitlines()
    return line


@pytest.fixture
def sentence_of(here):
    """Return a function that runs `fly` with bad input here and returns what it says."""
    def of(*words):
        before = family(os.getpid())
        sentence = sentence_in(here('fly', '--instance', INSTANCE, *words))
        assert family(os.getpid()) == before
        return sentence
    return of


def params(tmp_path, text):
    path = tmp_path / 'params.yaml'
    path.write_text(text)
    return path


@pytest.mark.parametrize('section, values, sentence', [
    ('/**/imu', 'gyro_noise_densty: 1.0',
     'imu.gyro_noise_densty: unknown parameter; did you mean gyro_noise_density'),
    ('/**/gps', 'delay_s: 0.12345678',
     'gps.delay_s = 0.12345678: must be a whole number of microseconds, such as 0.123457 s'),
    ('/**', 'seed: yes', 'params.yaml: seed = True: must be a whole number'),
    ('/**', 'vehicle: zeppelin', "vehicle 'zeppelin': there is no such vehicle; there are hexa"),
])
def test_a_wrong_parameter(section, values, sentence, tmp_path, sentence_of):
    file = params(tmp_path, f'{section}:\n  ros__parameters:\n    {values}\n')
    assert sentence in sentence_of('--params-file', file)


def test_a_section_that_no_node_reads(tmp_path):
    """In a process, as a user runs it."""
    file = params(tmp_path, '/**/imo:\n  ros__parameters:\n    seed: 1\n')
    assert "section '/**/imo' matches no node" in sentence_in(
        run('fly', '--instance', INSTANCE, '--params-file', file, timeout_s=30))


def test_an_expectation_that_is_neither_fingerprint_nor_recording(sentence_of):
    assert sentence_of('--expect', '4911f3b3') == (
        'fly: expect 4911f3b3: must be a fingerprint of 16 hexadecimal digits or a recording;'
        ' bag 4911f3b3: there is no such folder')


@pytest.mark.parametrize('option', ['--params-file', '--mission'])
def test_a_missing_file(option, tmp_path, sentence_of):
    assert 'none.yaml: No such file or directory' in sentence_of(option, tmp_path / 'none.yaml')


def test_a_taken_port_is_named_with_its_holder():
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(('127.0.0.1', port_of(INSTANCE)))
        holder.listen()
        sentence = sentence_in(run('fly', '--instance', INSTANCE, timeout_s=30))
    assert f'TCP port {port_of(INSTANCE)} is taken by' in sentence
    assert f'(process {os.getpid()})' in sentence


@pytest.mark.parametrize('port', [pilot_port(INSTANCE), AUTOPILOT_PORT + INSTANCE])
def test_a_taken_port_of_the_flight_is_named_before_anything_starts(port, sentence_of):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as holder:
        holder.bind(('127.0.0.1', port))
        sentence = sentence_of()
    assert sentence.startswith(f'fly: UDP port {port} is taken by ')
    assert sentence.endswith(f'(process {os.getpid()}); stop it or choose another instance')


@pytest.fixture
def px4_dir(tmp_path):
    """Return what looks like a PX4 that was built."""
    (tmp_path / 'bin').mkdir()
    (tmp_path / 'etc').mkdir()
    (tmp_path / 'bin' / 'px4').touch(0o755)
    return tmp_path


def test_a_px4_that_can_have_no_folder(px4_dir, monkeypatch, sentence_of):
    monkeypatch.setenv('ROS_HOME', str(px4_dir / 'bin' / 'px4'))
    assert sentence_of('--autopilot', 'px4', '--px4-dir', px4_dir, '--instance', 9) == (
        f'fly: run folder of PX4: cannot be made in {px4_dir}/bin/px4: Not a directory')


def test_a_px4_dir_that_is_not_given(monkeypatch, sentence_of):
    monkeypatch.delenv('PX4_DIR', raising=False)
    assert 'px4_dir: missing' in sentence_of('--autopilot', 'px4')


@pytest.mark.parametrize('name, value', [('namespace', 'uav1'), ('remap', 'imu/data_raw:=imu/x')])
def test_what_is_about_topics_is_not_for_the_mode_without(name, value, sentence_of):
    assert sentence_of('--mode', 'core', f'--{name}', value) == (
        f"fly: {name} '{value}': mode core has no topics; fly in mode composed or separate")


def test_a_node_refuses_what_it_does_not_know(tmp_path):
    """The same check in the nodes themselves, for those who start them with ros2 run."""
    file = params(tmp_path, '/**/imu:\n  ros__parameters:\n    colour: red\n')
    result = subprocess.run(
        [sys.executable, '-m', 'px4_sim_ros.ros.world', '--ros-args', '--params-file', file,
         '-p', f'hil_bridge:instance:={INSTANCE}'],
        capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 1
    assert 'imu did not configure: imu.colour: unknown parameter' in result.stderr
    assert 'Traceback' not in result.stderr


def test_ros_arguments_with_a_missing_file():
    result = subprocess.run(
        [sys.executable, '-m', 'px4_sim_ros.ros.world', '--ros-args', '--params-file',
         'none.yaml'],
        capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 2
    assert 'none.yaml' in result.stderr
    assert 'Traceback' not in result.stderr


def test_a_node_that_is_not_there_is_named(tmp_path):
    file = params(tmp_path, '/**/manager:\n  ros__parameters:\n    startup_timeout_s: 2.0\n')
    result = subprocess.run(
        [sys.executable, '-m', 'px4_sim_ros.ros.world', 'manager', 'dynamics', '--ros-args',
         '--params-file', file],
        capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 1
    assert 'imu has not appeared' in result.stderr


@pytest.mark.parametrize('words, sentence', [
    (('step', '0'), "'0': must be a whole number, at least 1"),
    (('step', '99999999999999999999'), 'at most 1000000000'),
    (('step', 'two'), "'two': must be a whole number"),
    (('sensor', 'imu_0', 'stop'), 'imu_0: no such sensor; did you mean imu; there are wind,'),
    (('sensor', 'dynamics', 'stop'), 'dynamics: no such sensor'),
    (('pilot', '--mission', 'none'), 'pilot: mission none: must be one that is flown'),
])
def test_commands_to_a_running_graph_refuse_at_once(words, sentence, here):
    result = here(*words)
    assert result.returncode == 2
    assert sentence in result.stderr
    assert 'Traceback' not in result.stderr


@pytest.mark.parametrize('path', ['loop', '~no_such_user/x'])
@pytest.mark.parametrize('words', [
    ('export', '{}'), ('report', '{}'), ('compare', '{}', '{}'), ('replay', '{}'), ('refly', '{}'),
    ('view', '{}', '--viewer', 'x.rrd'), ('validate', '{}', '--vehicle', 'iris'),
    ('identify', '{}', '--vehicle', 'iris', '-o', 'y.yaml'), ('check-vehicle', '{}.yaml'),
    ('px4-msgs', 'made', '--px4', '{}'), ('fly', '--autopilot', 'px4', '--px4', '{}'),
    ('fly', '--node', 'imu={}.py:X'), ('fly', '--scene', 'scene.yaml')],
    ids=lambda words: ' '.join(words[:2]))
def test_a_link_to_itself_and_the_home_of_no_user_are_no_files(
        words, path, tmp_path, monkeypatch, here):
    monkeypatch.chdir(tmp_path)
    for name in ('loop', 'loop.py', 'loop.yaml', 'loop.npy'):
        (tmp_path / name).symlink_to(name)
    (tmp_path / 'scene.yaml').write_text(
        f"ground: {{file: '{path}.npy', spacing_m: 5}}\n")
    result = here(*(word.format(path) for word in words))
    assert (result.returncode, result.stdout) == (2, ''), result.stderr
    line, = result.stderr.splitlines()
    assert path in line


def test_a_file_takes_the_place_of_a_link_to_itself(tmp_path):
    (tmp_path / 'loop').symlink_to('loop')
    atomic_write.write(tmp_path / 'loop', 'x')
    assert (tmp_path / 'loop').read_text() == 'x'
