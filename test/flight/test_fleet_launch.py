# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Several vehicles under the real `ros2 launch`, where launch_ros is installed."""
import re
import signal
import subprocess

import psutil
import pytest
import yaml
from commands import (
    command,
    family,
    interrupt,
    port_is_free,
    running,
    wait_for_line,
    wait_gone,
)
from workspace import ROS2, needs_workspace

from px4_sim_ros.recording.bag.reader import vehicles_of
from px4_sim_ros.spec.resources import named_files

pytest.importorskip('launch_ros', reason='launch_ros is not installed')
INSTANCES = 17, 18
pytestmark = [pytest.mark.process, needs_workspace]


@pytest.fixture
def fleet(hop, tmp_path):
    """Return the file of two vehicles that hop; the others of the second do without it."""
    file = tmp_path / 'pair.yaml'
    file.write_text(yaml.safe_dump({'vehicles': [
        {'namespace': name, 'mission': str(hop), 'instance': instance,
         'start': {'east_m': 5.0 * instance}, 'when_gone': when_gone}
        for name, instance, when_gone in zip(
            ('alpha', 'bravo'), INSTANCES, ('hold', 'go_on'))]}))
    return file


def launch(*arguments):
    return running(
        [ROS2, 'launch', 'px4_sim_ros', 'fleet.launch.py', *arguments], stdin=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))


def kill(process, *words):
    """Kill the one process of a launch whose command line has all these words."""
    child, = (child for child in family(process.pid)
              if set(words) <= set(child.cmdline()) and not child.children())
    child.send_signal(signal.SIGKILL)


def wait_for_both(process, text):
    """Read what a launch prints until each vehicle has said something."""
    left = {'alpha', 'bravo'}
    while left:
        line = wait_for_line(process, text)[-1]
        left -= {name for name in left if name in line}


def test_every_argument_is_described():
    from px4_sim_ros.launching.arguments import FLEET_ARGUMENTS
    text = subprocess.run([ROS2, 'launch', 'px4_sim_ros', 'fleet.launch.py', '--show-args'],
                          capture_output=True, text=True, timeout=60, check=True).stdout
    assert set(re.findall(r"^ {4}'(\w+)':$", text, re.M)) == set(FLEET_ARGUMENTS)
    assert 'No description given' not in text


@pytest.mark.parametrize('mode', ['composed', 'separate'])
def test_all_fly_are_recorded_and_ctrl_c_ends_everything(mode, fleet, tmp_path):
    with launch(f'fleet:={fleet}', f'mode:={mode}', 'speed_factor:=max',
                f'record:={tmp_path / "bag"}') as process:
        wait_for_both(process, 'disarmed')
        children = family(process.pid)
        assert interrupt(process) < 6.0
        assert wait_gone(children, 1.0) == []
    assert all(port_is_free(instance) for instance in INSTANCES)
    for bag in vehicles_of(tmp_path / 'bag'):
        heights_m = [bag.decode(message).pose.pose.position.z for message in bag.messages()
                     if message.topic == 'ground_truth/odom']
        assert 0.3 < max(heights_m) < 1.0           # 0.4 m are reached from just below


def test_a_reset_starts_each_autopilot_and_mission_again(fleet):
    with launch(f'fleet:={fleet}', 'speed_factor:=max') as process:
        wait_for_both(process, 'armed')
        subprocess.run(command('reset'), timeout=60, check=True)
        wait_for_both(process, 'disarmed')
        assert interrupt(process) < 5.0


def test_an_autopilot_without_which_the_others_go_on(fleet):
    with launch(f'fleet:={fleet}', 'speed_factor:=2') as process:
        wait_for_both(process, 'armed')
        kill(process, 'px4_sim_ros.autopilot.process', str(INSTANCES[1]))
        wait_for_line(process, 'bravo.hil_bridge]: WAITING at t = ')
        wait_for_line(process, ' s: disarmed')
        assert interrupt(process) < 5.0


def test_the_end_of_a_vehicles_process_ends_the_launch(fleet):
    with launch(f'fleet:={fleet}', 'mode:=separate') as process:
        wait_for_both(process, 'armed')
        children = family(process.pid)
        kill(process, 'bravo', '--run')
        lines = wait_for_line(process, 'bravo-')
        assert 'process has died' in lines[-1]
        assert process.wait(15) != 0
        assert wait_gone(children, 2.0) == []
        assert not [p for p in children if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]


def test_a_fleet_that_is_none_is_one_sentence():
    said = subprocess.run([ROS2, 'launch', 'px4_sim_ros', 'fleet.launch.py', 'fleet:=duo'],
                          capture_output=True, text=True, timeout=60, check=False)
    assert said.returncode != 0
    fleets = ', '.join(named_files('fleets'))
    assert f"fleet 'duo': there is no such fleet; there are {fleets}" in said.stderr + said.stdout
