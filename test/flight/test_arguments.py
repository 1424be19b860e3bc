# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A wrong argument gets one sentence that says what is allowed, and where help is."""
import argparse
import contextlib
import json
import os
import re
import shlex
import subprocess
import sys

import pytest
import rclpy
from rclpy.signals import SignalHandlerOptions

from px4_sim_ros.cli import command_line
from px4_sim_ros.cli.command_line import COMMANDS
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.faults.actions import ACTIONS
from px4_sim_ros.ros.framework import parameters
from px4_sim_ros.ros.framework.block_host import BlockHost
from px4_sim_ros.spec import settings
from px4_sim_ros.spec.configuration import (
    load_configuration,
    profile_parameters,
    write_configuration,
)
from px4_sim_ros.spec.resources import config_directory
from px4_sim_ros.step import graph


@pytest.fixture
def refusal(capsys):
    """Return a function that runs a command here, and returns the line with which it refuses."""
    def refused(*words):
        try:
            code = command_line.main([str(word) for word in words])
        except SystemExit as end:
            code = end.code
        printed = capsys.readouterr()
        assert (code, printed.out) == (2, '')
        line, = printed.err.splitlines()
        return line
    return refused


@pytest.mark.parametrize('words, sentence', [
    (['flly'], 'px4_sim_ros: flly: no such command; did you mean fly; `python -m px4_sim_ros'
     ' --help` says what there is'),
    (['fly', '--sed', '3'], 'fly: --sed: no such option; did you mean --seed; `python -m'
     ' px4_sim_ros fly --help` says what there is'),
    (['fly', '--sumary=x'], 'fly: --sumary: no such option; did you mean --summary;'),
    (['top', '--jsn'], 'top: --jsn: no such option; did you mean --json;'),
    (['fly', '--xyzzy'], 'fly: --xyzzy: no such option; `python -m'),
    (['fly', 'hover'], 'fly: hover: one argument too many;'),
    (['fly', '--mode', 'fast'], "fly: --mode: 'fast': must be one of core, composed, separate;"),
    (['fly', '--mode', 'compsed'], "fly: --mode: 'compsed': must be one of core, composed,"
     ' separate; did you mean composed;'),
    (['list', 'vehicle'], "list: kind: 'vehicle': must be one of vehicles, profiles, missions,"
     ' scenarios, scenes, actions, fleets, campaigns; did you mean vehicles;'),
    (['sensor', 'Barometr', 'stop'], 'sensor: name: Barometr: no such sensor; did you mean'
     ' barometer; there are wind, imu,'),
    (['fault', 'motor_of'], "fault: ACTION: 'motor_of' is no action; did you mean motor_off;"
     ' `python -m px4_sim_ros list actions` names all;'),
    ([], 'px4_sim_ros: the following arguments are required: COMMAND;'),
])
def test_what_is_misspelt_is_told_with_the_nearest_name(words, sentence, refusal):
    assert refusal(*words).startswith(sentence)


@pytest.mark.parametrize('words', [
    ('speed', '-1'), ('speed', '0.001'), ('speed', '1001'), ('speed', 'inf'), ('speed', 'nan'),
    ('fly', '--speed-factor', 'fast')])
def test_a_speed_has_the_same_bounds_everywhere(words, refusal):
    assert (f"'{words[-1]}': must be a number, 0 or at least 0.01 and at most 1000, or max;"
            in refusal(*words))


@pytest.mark.parametrize('command', ['fly', 'pilot'])
@pytest.mark.parametrize('text', ['-1', '100', '200', '1.5', 'x'])
def test_an_instance_has_the_same_bounds_everywhere(command, text, refusal):
    assert (f"--instance: '{text}': must be a whole number, at least 0 and at most 99;"
            in refusal(command, '--instance', text))


@pytest.mark.parametrize('words', [('pause',), ('fly',)])
def test_a_namespace_is_one_of_ros_in_each_command(words, refusal):
    assert "--namespace: 'a b': must be a ROS namespace such as uav1" in refusal(
        *words, '--namespace', 'a b')
    line = refusal(*words, '--namespace', 101 * 'a')
    assert 'must be a ROS namespace such as uav1' in line and '\n' not in line.rstrip()


# The names that can be given to options.

KINDS = (
    'vehicles', 'profiles', 'missions', 'scenarios', 'scenes', 'actions', 'fleets', 'campaigns')
OPTIONS = {'campaigns': 'campaign', 'actions': 'events of scenarios'}


def names_of(kind):
    if kind == 'actions':
        return list(ACTIONS)
    return sorted(path.stem for path in (config_directory() / kind).iterdir())


@pytest.mark.parametrize('kind', KINDS)
def test_each_name_has_a_line(kind, capsys):
    assert command_line.main(['list', kind]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head == f"{kind}, for {OPTIONS.get(kind, f'--{kind[:-1]}')}"
    assert [line.split()[0] for line in lines] == names_of(kind)
    assert all(len(line.split()) > 1 and len(line) < 120 for line in lines)


@pytest.mark.parametrize('words', [['list'], ['fly', '--list']])
def test_all_are_listed_by_default(words, capsys):
    with contextlib.suppress(SystemExit):      # an option ends as --help does
        assert command_line.main(words) == 0
    printed = capsys.readouterr().out
    assert re.search(r'^  iris +3DR Iris$', printed, re.MULTILINE)
    assert '  hover   Take off to 10 m, stay for two minutes, land\n' in printed
    assert len(printed.splitlines()) == sum(1 + len(names_of(kind)) for kind in KINDS)


# Parameters set on the command line.


def parsed(*words):
    parser = argparse.ArgumentParser()
    settings.add_arguments(parser)
    return settings.settings(parser.parse_args(words))


def test_nothing_given_sets_nothing():
    assert parsed() == {'': {}}


def test_each_way_to_name_a_parameter():
    found = parsed('--vehicle', 'x500', '--wind', 'dryden', *(
        word for text in (
            'wind.speed_m_s=8', 'magnetometer.noise_density=4e-8', 'gravity_m_s2=3.7',
            'periods_us.gps=200000', 'imu_1.accel_turn_on_bias=1',
            'imu.position_m=[0.1, 0, -0.02]', 'dynamics.integrator=rk45')
        for word in ('--set', text)))
    assert found == {
        '': {'vehicle': 'x500', 'wind': 'dryden', 'gravity_m_s2': 3.7, 'periods_us.gps': 200000},
        'wind': {'speed_m_s': 8}, 'magnetometer': {'noise_density': 4e-8},
        'imu_1': {'accel_turn_on_bias': 1}, 'imu': {'position_m': [0.1, 0, -0.02]},
        'dynamics': {'integrator': 'rk45'}}


def test_they_reach_the_configuration():
    configuration = load_configuration(None, parsed(
        '--wind', 'constant', '--set', 'wind.speed_m_s=8', '--set', 'wind.from_deg=0',
        '--set', 'imu.position_m=[0.1, 0, -0.02]'))
    assert configuration.nodes['wind'].speed_m_s == 8.0
    assert configuration.nodes['imu'].position_m == (0.1, 0.0, -0.02)


@pytest.mark.parametrize(('words', 'sentence'), [
    (('--set', 'wind.speed_m_s'), 'must be \\[NODE.\\]PARAMETER=VALUE'),
    (('--set', '=3'), 'must be \\[NODE.\\]PARAMETER=VALUE'),
    (('--set', 'seed=[1'), r"set 'seed=\[1': not YAML: "),
    (('--set', 'sead=3'), 'sead: unknown parameter; did you mean seed'),
    (('--set', 'seed=three'), "seed = 'three': must be a whole number"),
    (('--set', 'wint.speed_m_s=3'),
     "there is no node wint; did you mean wind$"),
    (('--set', 'instnces.imu=2'), 'there is no node instnces; did you mean instances$'),
    (('--set', 'xy.speed_m_s=3'), 'there is no node xy; nodes are manager, wake_player, wind, '),
    (('--set', 'winD.speed_m_s=3'),
     "set 'winD.speed_m_s=3': there is no node winD; did you mean wind$"),
    (('--set', 'rubbish=3'), '^rubbish: unknown parameter; docs/reference.md lists all$'),
    (('--set', 'imu.rubbish=3'), '^imu.rubbish: unknown parameter; docs/reference.md lists all$'),
    (('--set', 'integrator=rk4'),
     r'^integrator: not all nodes have this parameter; did you mean dynamics\.integrator\?$'),
    (('--set', 'seed=3000000000'), '^seed = 3000000000: must be at least 0 and at most 2147483647'),
    (('--set', 'wind.speed_m_s=3'),
     'wind: there is no such node in this run; add it with --wind constant$'),
    (('--set', 'imu_1.gyro_turn_on_bias=0.1'),
     'imu_1: .*; add it with --set instances.imu=2$'),
    (('--set', 'airspeed.noise_pa=2'),
     'airspeed: .*; add it with --set instances.airspeed=1$'),
    (('--set', 'recorder.compression=lz4'),
     'recorder: .*; add it with --record DIR$'),
    (('--wind', 'breeze'), "wind = 'breeze': must be one of none, constant, gust"),
    (('--wind', 'dyrden'), "^wind = 'dyrden': must be one of .*; did you mean dryden$"),
    (('--set', 'periods_us.magnetometer=12000'),
     'periods_us.magnetometer = 12000: must be a multiple or a divisor of periods_us.battery'),
])
def test_a_wrong_setting_gets_a_sentence(words, sentence):
    with pytest.raises(ParameterError, match=sentence):
        load_configuration(None, parsed(*words))


def test_a_profile_is_for_all_instances_and_below_what_the_user_says(tmp_path):
    file = tmp_path / 'mine.yaml'
    file.write_text('/**/imu_1: {ros__parameters: {gyro_turn_on_bias: 0.5}}')
    base = {'manager': {'speed_factor': 0.0}} | profile_parameters('adis16448')
    overrides = {'': {'instances.imu': 2}}
    nodes = load_configuration(file, overrides, base=base).nodes
    assert nodes['imu'].gyro_noise_density == nodes['imu_1'].gyro_noise_density == 3.3937e-4
    assert (nodes['imu'].gyro_turn_on_bias, nodes['imu_1'].gyro_turn_on_bias) == (8.7e-3, 0.5)


@pytest.mark.parametrize(('content', 'sentence'), [
    ('/**/manager: {ros__parameters: {speed_factor: 1.0}}', 'matches no node'),
    ('[1, 2]', 'must be a mapping'),
])
def test_a_profile_is_about_sensors(content, sentence, tmp_path):
    file = tmp_path / 'profile.yaml'
    file.write_text(content)
    with pytest.raises(ParameterError, match=sentence):
        profile_parameters(str(file))


def test_a_profile_that_is_not_there():
    with pytest.raises(ParameterError, match='no such profile; did you mean cheap; there are'):
        profile_parameters('chep')


PROFILES = sorted(path.stem for path in (config_directory() / 'profiles').glob('*.yaml'))


@pytest.mark.parametrize('profile', PROFILES)
def test_ros_reads_the_same_as_we_do(profile, tmp_path):
    """With a profile, a file of the user for one node by its full name, and an override."""
    file = tmp_path / 'mine.yaml'
    file.write_text('/imu: {ros__parameters: {gyro_turn_on_bias: 0.5, accel_turn_on_bias: 0.4}}')
    overrides = parsed('--wind', 'dryden', '--set', 'imu.gyro_turn_on_bias=0.25',
                       '--set', 'imu.position_m=[0, 0.5, 0]', '--set', 'instances.imu=2')
    configuration = load_configuration(file, overrides, base=profile_parameters(profile))
    path = write_configuration(tmp_path, {'': configuration})
    with graph_of_ros(path):
        for name, own in configuration.nodes.items():
            if name == 'manager':
                continue
            node = graph.load(graph.spec_of(name).node)(name, BlockHost())
            its = parameters.read(node, name)
            node.destroy_node()
            assert its.own == own
            assert its.world == configuration.world
    imu = configuration.nodes['imu']
    assert (imu.gyro_turn_on_bias, imu.accel_turn_on_bias) == (0.25, 0.4)


@contextlib.contextmanager
def graph_of_ros(path):
    """Let nodes read a parameter file, as they do when they are started with it."""
    rclpy.init(args=['--ros-args', '--params-file', str(path)],
               signal_handler_options=SignalHandlerOptions.NO)
    try:
        yield
    finally:
        rclpy.shutdown()


# The help, and what is completed.


@pytest.mark.parametrize('name', list(COMMANDS))
def test_each_example_is_one_that_the_command_takes(name):
    words = shlex.split(COMMANDS[name].example)
    assert words[0] == name
    parser, _, _ = command_line._parser(words)
    assert parser.parse_args(words).command == name


def test_the_help_has_each_command_once_with_its_purpose(capsys):
    with pytest.raises(SystemExit):
        command_line.main(['--help'])
    printed = capsys.readouterr().out
    for name, command in COMMANDS.items():
        assert re.findall(rf'^  {name} +(.*)$', printed, re.M) == [command.purpose]


def test_json_is_printed_alone_or_written(capsys, tmp_path):
    assert command_line.main(['check-vehicle', 'iris', '--json']) == 0
    printed = json.loads(capsys.readouterr().out)
    file = tmp_path / 'iris.json'
    assert command_line.main(['check-vehicle', 'iris', '--json', str(file)]) == 0
    assert json.loads(file.read_text()) == printed
    assert capsys.readouterr().out == ''


@pytest.mark.parametrize(('line', 'expected'), [
    ('px4_sim_ros che', ['check-vehicle ']),
    ('px4_sim_ros fly --sp', ['--speed-factor', '--spacing']),
    ('px4_sim_ros fly --vehicle x5', ['x500 ']),
    ('px4_sim_ros fly --mode c', ['core', 'composed'])])
@pytest.mark.process
def test_a_word_is_completed(line, expected, tmp_path):
    pytest.importorskip('argcomplete')
    result = subprocess.run(
        [sys.executable, '-c', 'import sys; from px4_sim_ros.cli import executables;'
         ' sys.exit(executables.command_line())'],
        env=os.environ | {'_ARGCOMPLETE': '1', 'COMP_LINE': line, 'COMP_POINT': str(len(line)),
                          '_ARGCOMPLETE_STDOUT_FILENAME': str(tmp_path / 'words'),
                          '_ARGCOMPLETE_IFS': '\n'},
        cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (tmp_path / 'words').read_text().split('\n') == expected, result.stderr
