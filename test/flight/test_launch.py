# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The launch file under the real `ros2 launch`, where launch_ros is installed."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
from xml.etree import ElementTree

import psutil
import pytest
from commands import (
    addresses,
    command,
    family,
    interrupt,
    port_is_free,
    running,
    wait_for_line,
    wait_gone,
    write_hop,
)
from workspace import ROS2, needs_workspace

from px4_sim_ros.recording.bag.reader import BagReader

pytest.importorskip('launch_ros', reason='launch_ros is not installed')
INSTANCE = 83
CLOSED = '[rviz2-4]: process has finished cleanly'
pytestmark = [pytest.mark.process, needs_workspace]


# Notes how it was started; a window that is closed ends at once, another one with Ctrl-C.
_VIEWER = """#!{python}
import json, pathlib, signal, sys, yaml
signal.signal(signal.SIGINT, lambda *_: sys.exit())
file = sys.argv[sys.argv.index('--params-file') + 1]
parameters = yaml.safe_load(pathlib.Path(file).read_text())['/**']['ros__parameters']
pathlib.Path({note!r}).write_text(json.dumps([sys.argv[1:], parameters]))
if not {closed}:
    signal.pause()
"""


def viewers(folder, **packages):
    """Install packages of one program each; return the environment that has them.

    :param packages: whether the program ends at once
    """
    index = folder / 'share' / 'ament_index' / 'resource_index' / 'packages'
    index.mkdir(parents=True)
    for name, closed in packages.items():
        (index / name).touch()
        program = folder / 'lib' / name / name
        program.parent.mkdir(parents=True)
        program.write_text(_VIEWER.format(
            python=sys.executable, note=str(folder / f'{name}.json'), closed=closed))
        program.chmod(0o755)
    path = os.pathsep.join([str(folder), os.environ['AMENT_PREFIX_PATH']])
    return os.environ | {'AMENT_PREFIX_PATH': path}


def launch(*arguments, **options):
    return running(
        [ROS2, 'launch', 'px4_sim_ros', 'iris.launch.py', f'instance:={INSTANCE}', *arguments],
        stdin=subprocess.DEVNULL, **options,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))


def command_line(*words):
    return subprocess.run(command(*words), timeout=60, check=False)


def ros2(*words):
    return subprocess.run([ROS2, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=30, check=False).stdout


@pytest.fixture(scope='module', autouse=True)
def no_daemon_is_left():
    """The tools of ROS 2 start a daemon that would stay for two hours."""
    yield
    ros2('daemon', 'stop')


def says(expected, *words):
    """Run a ros2 tool until it prints a text: its discovery may need several tries.

    Each has more time than the one before, for machines that are busy.
    """
    deadline_s, patience_s, said = time.monotonic() + 120.0, 4.0, ''
    while time.monotonic() < deadline_s:
        patience_s *= 2.0
        with running([ROS2, *words], env=os.environ | {'PYTHONUNBUFFERED': '1'}) as process:
            timer = threading.Timer(patience_s, process.terminate)
            timer.start()
            for line in process.stdout:
                said += line
                if expected in line:
                    timer.cancel()
                    return
            timer.cancel()
    raise AssertionError(f'{expected!r} is not in {said!r}')


def test_every_argument_is_described():
    from px4_sim_ros.launching.arguments import ARGUMENTS
    text = ros2('launch', 'px4_sim_ros', 'iris.launch.py', '--show-args')
    assert set(re.findall(r"^ {4}'(\w+)':$", text, re.M)) == set(ARGUMENTS)
    assert 'No description given' not in text


@pytest.mark.parametrize('mode', ['composed', 'separate'])
def test_it_flies_and_ctrl_c_ends_everything(mode):
    with launch(f'mode:={mode}', 'speed_factor:=max') as process:
        wait_for_line(process, 'disarmed')
        children = family(process.pid)
        assert addresses(children) == {'127.0.0.1'}
        assert interrupt(process) < 5.0
        assert wait_gone(children, 1.0) == []
        assert port_is_free(INSTANCE)


def test_time_is_held_until_somebody_resumes_it():
    with launch('paused:=true', 'speed_factor:=max') as process:
        wait_for_line(process, 'all nodes are active and matched')
        shown = subprocess.run(command('status', '--json'), capture_output=True, timeout=60)
        status = json.loads(shown.stdout)
        assert (status['state'], status['steps']) == ('PAUSED', '0')
        assert command_line('resume').returncode == 0
        wait_for_line(process, 'armed')


@pytest.mark.parametrize('mode', ['composed', 'separate'])
def test_a_flight_is_recorded_and_flown_again(mode, tmp_path):
    mission, bag = write_hop(tmp_path, 2.0), tmp_path / 'bag'
    with launch(f'mode:={mode}', 'speed_factor:=max', f'mission:={mission}', 'namespace:=uav1',
                f'record:={bag}') as process:
        wait_for_line(process, 'disarmed')
        assert interrupt(process) < 5.0
    steps = sum(m.topic == 'actuators/command' for m in BagReader(bag).messages())
    assert steps > 2000
    assert command_line('replay', str(bag)).returncode == 0


def test_an_instance_is_of_one_launch_also_in_another_domain(domains):
    """The second is refused with a sentence before it starts anything; the first flies on."""
    with launch('speed_factor:=max') as process:
        wait_for_line(process, 'armed')
        second = subprocess.run(
            [ROS2, 'launch', 'px4_sim_ros', 'iris.launch.py', f'instance:={INSTANCE}'],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False,
            env=os.environ | {'ROS_DOMAIN_ID': str(domains())})
        assert second.returncode != 0
        assert (f'instance = {INSTANCE}: another flight has it (process {process.pid});'
                ' end it or choose another instance') in second.stdout
        assert 'process started' not in second.stdout
        wait_for_line(process, 'disarmed')
        assert interrupt(process) < 5.0


def first_process(process):
    """Return the first that a launch starts, when it has: a part of the graph."""
    line = wait_for_line(process, 'process started with pid')[-1]
    return psutil.Process(int(re.search(r'pid \[(\d+)\]', line)[1]))


@pytest.mark.parametrize('mode', ['composed', 'separate'])
def test_a_launch_whose_world_dies_has_failed(mode):
    with launch(f'mode:={mode}') as process:
        world = first_process(process)
        wait_for_line(process, 'armed')
        children = family(process.pid)
        world.kill()
        said = process.stdout.read()
        assert process.wait(20) == 1, said
        assert 'has ended with exit code -9' in said
        assert wait_gone(children, 1.0) == []


def test_what_is_logged_is_chosen():
    with launch('mission:=none', 'autopilot:=none', 'log_level:=debug') as process:
        wait_for_line(process, '[DEBUG]')
        assert interrupt(process) < 5.0


def test_a_reset_starts_the_autopilot_and_the_mission_again():
    with launch('speed_factor:=max') as process:
        wait_for_line(process, 'held for')
        assert command_line('reset').returncode == 0
        wait_for_line(process, 'the run begins again: so does its autopilot')
        wait_for_line(process, 'armed')
        wait_for_line(process, 'disarmed')
        assert interrupt(process) < 5.0


@pytest.mark.parametrize('mode', ['composed', 'separate'])
def test_another_vehicle_flies_in_the_wind(mode):
    with launch(f'mode:={mode}', 'vehicle:=x500', 'wind:=dryden', 'profile:=adis16448',
                'speed_factor:=max') as process:
        wait_for_line(process, 'disarmed')
        assert interrupt(process) < 5.0


def test_the_wind_is_set_in_flight_with_the_tools_of_ros_2():
    with launch('mission:=none', 'wind:=constant') as process:
        wait_for_line(process, 'LOCKED')
        says('x: 5.0', 'topic', 'echo', '/wind')
        for transition in ('deactivate', 'cleanup'):
            says('Transitioning successful', 'lifecycle', 'set', '/wind', transition)
        says('Set parameter successful', 'param', 'set', '/wind', 'speed_m_s', '8.0')
        for transition in ('configure', 'activate'):
            says('Transitioning successful', 'lifecycle', 'set', '/wind', transition)
        says('x: 8.0', 'topic', 'echo', '/wind')
        assert interrupt(process) < 5.0


@pytest.mark.parametrize('mode', ['composed', 'separate'])
def test_a_launch_that_is_killed_takes_its_processes_with_it(mode):
    with launch(f'mode:={mode}') as process:
        wait_for_line(process, 'armed')
        children = family(process.pid)
        assert len(children) > 2
        process.kill()
        assert wait_gone(children, 8.0) == []
        assert port_is_free(INSTANCE)


@pytest.mark.parametrize('mode, number', [
    ('composed', signal.SIGTERM), ('separate', signal.SIGTERM), ('composed', signal.SIGHUP)])
def test_a_launch_that_is_asked_to_end_leaves_nothing(mode, number, tmp_path, foreground):
    with launch(f'mode:={mode}', env=os.environ | {'TMPDIR': str(tmp_path)}) as process:
        wait_for_line(process, 'armed')
        assert list(tmp_path.glob('px4_sim_ros_*'))
        children = family(process.pid)
        process.send_signal(number)
        said = process.stdout.read()
        assert (process.wait(10), list(tmp_path.iterdir())) == (0, []), said
        assert wait_gone(children, 1.0) == []


# How it ends at a SIGINT, and then the launch.
@pytest.mark.parametrize('at_sigint, code', [
    ('lambda *_: sys.exit(0)', 0), ('lambda *_: sys.exit(130)', 0), ('lambda *_: sys.exit(3)', 1),
    ('lambda *_: os.kill(os.getpid(), signal.SIGKILL)', 1), ('signal.SIG_DFL', 0)])
def test_a_part_that_fails_while_the_launch_ends_is_a_failure(at_sigint, code, tmp_path):
    """It has the exit code of no part alone: the other ends first, and well."""
    from launch import LaunchDescription, LaunchService
    from launch.actions import ExecuteProcess

    from px4_sim_ros.launching.actions import essential
    ready = tmp_path / 'ready'
    os.mkfifo(ready)
    last = (f'import os, signal, sys; signal.signal(signal.SIGINT, {at_sigint});'
            f'open({str(ready)!r}, "w").close(); signal.pause()')
    service = LaunchService(noninteractive=True)
    for script in (last, f'open({str(ready)!r}).read()'):
        service.include_launch_description(LaunchDescription(
            essential(ExecuteProcess(cmd=[sys.executable, '-c', script]))))
    assert service.run() == code


def test_sensors_are_stopped_and_started_with_the_tools_of_ros_2():
    with launch('mission:=none') as process:
        wait_for_line(process, 'LOCKED')
        says('Transitioning successful', 'lifecycle', 'set', '/magnetometer', 'deactivate')
        wait_for_line(process, 'magnetometer has stopped at t = ')
        says('Transitioning successful', 'lifecycle', 'set', '/magnetometer', 'activate')
        wait_for_line(process, 'magnetometer continues from t = ')
        says('success=True', 'service', 'call', '/sim/pause',
             'std_srvs/srv/Trigger')
        says('Set parameter successful', 'param', 'set', '/manager', 'paused', 'false')
        says('Transitioning successful', 'lifecycle', 'set', '/manager', 'shutdown')
        assert process.wait(10) == 0


@pytest.mark.parametrize('mode', ['composed', 'separate'])
def test_time_stands_still_when_the_scenario_is_over(mode, tmp_path):
    """That is no failure; it is said why, and what has become of what was expected."""
    file = tmp_path / 'short.yaml'
    file.write_text('{vehicle: iris, mission: hover, end: {at_s: 1}, expect: [{always: {height_m:'
                    ' {below: 1}}}, {eventually: {height_m: {above: 5}}}]}')
    with launch(f'mode:={mode}', f'scenario:={file}') as process:
        said = wait_for_line(process, 'height_m above 5: fails')
        assert any('height_m below 1: holds' in line for line in said)
        if not any('the scenario is over' in line for line in said):
            said += wait_for_line(process, 'the scenario is over')
        assert not any('[ERROR]' in line for line in said)
        assert interrupt(process) < 5.0


@pytest.mark.px4
def test_px4_flies_under_launch():
    with running(
            [ROS2, 'launch', 'px4_sim_ros', 'iris.launch.py', 'instance:=4', 'autopilot:=px4',
             'mission:=square', 'speed_factor:=max'], stdin=subprocess.DEVNULL,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler)) as process:
        wait_for_line(process, 'its console is px4.log there')      # so the screen stays clean
        wait_for_line(process, 'disarmed')
        children = family(process.pid)
        assert interrupt(process) < 6.0
        assert wait_gone(children, 1.0) == []


def test_the_tools_of_ros_2_work_beside_it():
    with launch('mission:=none', 'namespace:=uav1') as process:
        wait_for_line(process, 'LOCKED')
        says('/uav1/hil_bridge', 'node', 'list', '--no-daemon', '--spin-time', '3')
        says('active', 'lifecycle', 'get', '--no-daemon', '--spin-time', '3', '/uav1/imu')
        says('average rate: 250', 'topic', 'hz', '/uav1/imu/data_raw', '--window', '250')
        assert interrupt(process) < 5.0


def test_a_pilot_alone_is_in_the_namespace():
    with launch('autopilot:=none', 'mission:=square', 'namespace:=uav1') as process:
        says('/uav1/pilot', 'node', 'list', '--no-daemon', '--spin-time', '3')
        assert interrupt(process) < 5.0


def test_rviz_is_fed_and_may_be_closed(tmp_path):
    environment = viewers(tmp_path, rviz2=True, robot_state_publisher=False)
    with launch('mission:=none', 'rviz:=true', 'namespace:=uav1', 'vehicle:=x500',
                env=environment) as process:
        lines = wait_for_line(process, 'LOCKED')
        if not any(CLOSED in line for line in lines):
            wait_for_line(process, CLOSED)
        arguments, parameters = json.loads((tmp_path / 'rviz2.json').read_text())
        assert pathlib.Path(arguments[arguments.index('-d') + 1]).name == 'iris.rviz'
        assert '__ns:=/uav1' in arguments and parameters == {'use_sim_time': True}
        arguments, parameters = json.loads((tmp_path / 'robot_state_publisher.json').read_text())
        assert 'joint_states:=visual/joint_states' in arguments and '__ns:=/uav1' in arguments
        assert ElementTree.fromstring(parameters['robot_description']).get('name') == 'x500'
        says('ns: thrust', 'topic', 'echo', '/uav1/visual/markers')
        children = family(process.pid)
        assert interrupt(process) < 5.0
        assert wait_gone(children, 1.0) == []
        assert 'failed to terminate' not in process.stdout.read()


def test_rviz_that_is_not_installed():
    if subprocess.run([ROS2, 'pkg', 'prefix', 'rviz2'], capture_output=True,
                      check=False).returncode == 0:
        pytest.skip('rviz2 is installed')
    said = ros2('launch', 'px4_sim_ros', 'iris.launch.py', 'rviz:=true')
    assert 'rviz = true: the package rviz2 is not installed' in said
    assert 'process started' not in said


@pytest.mark.parametrize('argument, sentence', [
    ('seed:=x', "seed = 'x': must be a whole number"),
    ('params_file:=none.yaml', 'parameter file none.yaml: No such file or directory'),
    ('mission:=none.yaml', 'mission file none.yaml: No such file or directory'),
    ('vehicle:=none.yaml', 'vehicle file none.yaml: No such file or directory'),
    ('vehicle:=plane', 'vehicle plane: the embedded autopilot controls multirotors only'),
    ('profile:=none.yaml', 'parameter file none.yaml: No such file or directory'),
    ('wind:=breeze', "wind = 'breeze': must be one of none, constant, gust"),
    ('record:=/', 'record /: exists already; name a folder that does not'),
    ('speed_factor:=-1', 'manager.speed_factor = -1.0: must be at least 0'),
])
def test_bad_input_is_one_sentence(argument, sentence):
    result = subprocess.run(
        [ROS2, 'launch', 'px4_sim_ros', 'iris.launch.py', argument], capture_output=True,
        text=True, timeout=60, check=False, env=dict(os.environ))
    assert result.returncode != 0
    assert sentence in result.stderr + result.stdout


def test_a_px4_dir_without_a_binary(tmp_path):
    said = ros2('launch', 'px4_sim_ros', 'iris.launch.py', 'autopilot:=px4', f'px4_dir:={tmp_path}')
    assert f'px4_dir = {tmp_path}: has no bin/px4' in said
