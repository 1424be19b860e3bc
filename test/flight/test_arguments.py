# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A wrong argument gets one sentence that says what is allowed, and where help is."""
import pytest

from px4_sim_ros.cli import command_line


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
    (['top', '--onec'], 'top: --onec: no such option; did you mean --once;'),
    (['fly', '--xyzzy'], 'fly: --xyzzy: no such option; `python -m'),
    (['fly', 'hover'], 'fly: hover: one argument too many;'),
    (['fly', '--mode', 'fast'], "fly: --mode: 'fast': must be one of core, composed, separate;"),
    (['fly', '--mode', 'compsed'], "fly: --mode: 'compsed': must be one of core, composed,"
     ' separate; did you mean composed;'),
    (['list', 'vehicle'], "list: kind: 'vehicle': must be one of vehicles, profiles, missions,"
     ' scenarios, actions, fleets, campaigns; did you mean vehicles;'),
    (['sensor', 'barometr', 'stop'], 'sensor: name: barometr: no such sensor; did you mean'
     ' barometer; there are wind, imu,'),
    (['fault', 'motor_of'], "fault: ACTION: 'motor_of' is no action; did you mean motor_off;"
     ' `python -m px4_sim_ros list actions` names all;'),
    ([], 'px4_sim_ros: the following arguments are required: COMMAND;'),
])
def test_what_is_misspelt_is_told_with_the_nearest_name(words, sentence, refusal):
    assert refusal(*words).startswith(sentence)


@pytest.mark.parametrize('words', [
    ('speed', '-1'), ('speed', '0.001'), ('speed', '1001'), ('speed', 'inf'),
    ('fly', '--speed-factor', 'fast'), ('replay', 'bag', '--play', '--rate', 'nan')])
def test_a_speed_has_the_same_bounds_everywhere(words, refusal):
    assert (f"'{words[-1]}': must be a number, 0 or at least 0.01 and at most 1000, or max;"
            in refusal(*words))


@pytest.mark.parametrize('command', ['fly', 'pilot'])
@pytest.mark.parametrize('text', ['-1', '100', '200', '1.5', 'x'])
def test_an_instance_has_the_same_bounds_everywhere(command, text, refusal):
    assert (f"--instance: '{text}': must be a whole number, at least 0 and at most 99;"
            in refusal(command, '--instance', text))


@pytest.mark.parametrize('words', [
    ('pause',), ('replay', 'bag'), ('replay', 'bag', '--play'), ('replay', 'bag', '--join', 'x'),
    ('view',), ('view', 'bag')])
def test_a_namespace_is_one_of_ros_in_each_command(words, refusal):
    assert "--namespace: 'a b': must be a ROS namespace such as uav1" in refusal(
        *words, '--namespace', 'a b')
