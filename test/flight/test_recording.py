# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whole runs that are recorded: nothing is missing, whatever happens to recorder and disk."""
import contextlib
import json
import re
import sys

import pytest
import yaml
from bags import largest_file
from commands import (
    family,
    here,
    running,
    steps_of,
    wait_for_line,
    wait_gone,
    write_hop,
)
from graph_processes import PATIENCE_S, running_graph

from px4_sim_ros.messages.stamps import serialised_stamp_us
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.bag.run_description import RunDescription
from px4_sim_ros.ros.manager.recorder_watch import WINDOW_STEPS
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.step import graph

pytestmark = pytest.mark.process

STEP_US = 4000
STEP_TIMEOUT_S = 1.0
S = 1_000_000


class Flown:
    """What is in a bag."""

    def __init__(self, folder):
        self.folder = folder
        reader = BagReader(folder)
        self.run = reader.run
        self.times_us = {}             # by topic
        self.absent_us = {}            # by node
        for message in reader.messages():
            self.times_us.setdefault(message.topic, []).append(message.time_us)
            if message.topic == graph.ABSENCE:
                header = reader.decode(message)
                assert serialised_stamp_us(message.data) == message.time_us
                self.absent_us.setdefault(header.frame_id, []).append(message.time_us)
        self.damage = reader.damage
        self.end_us = max(self.times_us.get('/clock', [0]))

    def assert_every_message(self):
        """See that each topic of the step has each message from the first step to the end."""
        for name, topic in self.run.graph.topics.items():
            period_us = topic.period_us(STEP_US, self.run.world.periods_us)
            absent_us = set(self.absent_us.get(topic.publisher, ()))
            due_us = set(range(period_us, self.end_us + 1, period_us))
            assert absent_us <= due_us, name
            assert self.times_us.get(name, []) == sorted(due_us - absent_us), name

    def assert_whole(self):
        """See that it is finished, and that the counts of its metadata are right."""
        assert self.damage == ''
        self.assert_every_message()
        text = (self.folder / 'metadata.yaml').read_text()
        information = yaml.safe_load(text)['rosbag2_bagfile_information']
        counts = {t['topic_metadata']['name']: t['message_count']
                  for t in information['topics_with_message_count']}
        assert counts == {self.run.full_name(name): len(self.times_us.get(name, ()))
                          for name in [self.run.relative_name(n) for n in counts]}


@contextlib.contextmanager
def recorded_graph(folder, mode, instance, on_failure='continue', imus=1, apart=None, **recorder):
    """Run a graph that is recorded into the folder `bag`."""
    parameters = {
        '': {'recorder': True, 'instances.imu': imus},
        'manager': {'speed_factor': 0.0, 'step_timeout_s': STEP_TIMEOUT_S},
        'recorder': {'folder': str(folder / 'bag'), 'on_failure': on_failure,
                     'run_file': str(folder / 'described.yaml')} | recorder}
    described = RunDescription.of(
        load_configuration(None, parameters), mode=mode, autopilot='scripted')
    (folder / 'described.yaml').write_text(described.to_yaml())
    with running_graph(folder, mode, instance, parameters, apart=apart) as world:
        yield world


def fly_a_while(world, steps):
    """Connect a scripted autopilot and let time go on."""
    world.wait_up()
    world.connect()
    world.wait_link('LOCKED')
    world.wait_steps(steps)


def stop(world):
    """Take the graph down; return the exit codes and what was the last complete step."""
    world.ask('stop')
    return world.wait_ended(PATIENCE_S)


def last_step_us(world):
    return world.observer.recordings.stamps('actuators/command', -1)[-1]


@pytest.mark.parametrize('mode', [
    'composed', pytest.param('separate', marks=pytest.mark.long)])
def test_every_message_of_two_runs_is_recorded(mode, instance, tmp_path):
    """A sensor is stopped and started in flight, and a reset begins another bag.

    Mode `core` flies the first one again, bit by bit.
    """
    with recorded_graph(tmp_path, mode, instance) as world:
        fly_a_while(world, 200)
        world.change('barometer', 'deactivate')
        world.change('imu', 'deactivate')
        world.wait_steps(100)
        world.change('imu', 'activate')
        world.change('barometer', 'activate')
        world.wait_steps(100)
        world.reset()
        fly_a_while(world, 100)
        end_us = last_step_us(world)
        assert set(stop(world).values()) == {0}, world.report()
    first, second = Flown(tmp_path / 'bag'), Flown(tmp_path / 'bag_2')
    first.assert_whole()
    second.assert_whole()
    assert {path.name for path in tmp_path.glob('bag*')} == {'bag', 'bag_2'}
    # Each of them to the last step that anybody has seen.
    assert first.end_us >= world.observer.recordings.stamps('actuators/command', 0)[-1]
    assert second.end_us >= end_us
    for node, period_us in (('barometer', 20_000), ('imu', STEP_US)):
        absent_us = first.absent_us[node]
        assert len(absent_us) >= 90 * STEP_US / period_us
        # One gap, within the flight.
        assert absent_us == list(range(absent_us[0], absent_us[-1] + 1, period_us))
        assert 0 < absent_us[0] < absent_us[-1] < first.end_us
    assert not second.absent_us
    assert {'/rosout', '/diagnostics', 'hil/state', 'sim/status'} <= first.times_us.keys()
    again, steps = here('replay', first.folder), len(steps_of(first.folder))
    assert (again.returncode, again.stderr) == (0, '')
    assert f'all {steps} common messages are bit-identical' in again.stdout


def test_the_world_waits_for_a_suspended_recorder_and_nothing_is_lost(instance, tmp_path):
    with recorded_graph(tmp_path, 'separate', instance, imus=3, apart=['recorder']) as world:
        fly_a_while(world, 100)
        # All that are stopped speak on one topic.
        for node in 'imu_1', 'imu_2':
            world.change(node, 'deactivate')
        assert world.set(step_timeout_s=PATIENCE_S)[0].successful
        world.suspend('recorder')
        seen_us = last_step_us(world)
        # The status may come before the last command that it counts.
        world.wait_for(
            lambda: world.sentence == 'the recorder is behind'
            and last_step_us(world) == world.steps * STEP_US, PATIENCE_S,
            'a world that stands still')
        stands_us = last_step_us(world)
        assert stands_us - seen_us <= (WINDOW_STEPS + 80) * STEP_US
        world.watch(0.5, lambda: last_step_us(world) == stands_us, 'time goes on')
        assert world.state == 'RUNNING'
        world.resume('recorder')
        world.wait_steps(200)
        # Once more, until the manager gives it up.
        assert world.set(step_timeout_s=STEP_TIMEOUT_S)[0].successful
        world.suspend('recorder')
        world.wait_sentence('RUNNING', r'recorder does not answer; on disk is all up to'
                            r' t = \d+\.\d{6} s, and the run continues without it', PATIENCE_S)
        told_s = float(re.search(r't = ([\d.]+) s', world.sentence).group(1))
        world.wait_steps(300)
        world.resume('recorder')
        assert world.said('world').count('recorder does not answer') == 1
        world.wait_said('recorder', 'was lost')
        # What is left of the graph goes on, and begins again, without it.
        world.terminate('recorder')
        world.wait_for(lambda: not world.is_alive('recorder'), PATIENCE_S, 'its end')
        world.wait_steps(50)
        world.reset()
        fly_a_while(world, 50)
        assert set(stop(world).values()) == {0}, world.report()
    assert not (tmp_path / 'bag_2').exists()
    bag = Flown(tmp_path / 'bag')
    bag.assert_whole()
    assert bag.absent_us['imu_1'][-1] == bag.absent_us['imu_2'][-1] == bag.end_us
    assert stands_us * 1e-6 < told_s + 1.0
    assert told_s <= bag.end_us * 1e-6
    assert bag.end_us >= stands_us + (200 - WINDOW_STEPS) * STEP_US


def test_a_killed_world_leaves_a_bag_that_lacks_a_second_at_most(instance, tmp_path):
    with recorded_graph(tmp_path, 'composed', instance, split_duration_s=1.0) as world:
        fly_a_while(world, 900)
        world.kill('world')
        world.wait_for(lambda: not world.is_alive('world'), PATIENCE_S, 'the end')
        seen_us = last_step_us(world)
    bag = Flown(tmp_path / 'bag')
    bag.assert_every_message()
    assert len(list((tmp_path / 'bag').glob('*.mcap'))) > 2
    assert 'ends too early' in bag.damage
    assert seen_us - bag.end_us <= S + WINDOW_STEPS * STEP_US


ENDS = r'the recording in \S+/bag ends at t = (\d\.\d{6}) s: File too large'


# That it goes on without its recorder is also seen with one that is suspended.
@pytest.mark.parametrize('on_failure', [
    pytest.param('continue', marks=pytest.mark.long), 'fail'])
def test_a_graph_whose_disk_is_full(on_failure, instance, tmp_path):
    with contextlib.ExitStack() as stack:
        with largest_file(1_200_000):
            world = stack.enter_context(recorded_graph(
                tmp_path, 'composed', instance, on_failure, flush_us=400_000))
        world.wait_up()
        world.connect()
        state = {'continue': 'RUNNING', 'fail': 'STOPPING'}[on_failure]
        world.wait_sentence(state, ENDS, PATIENCE_S)
        sentence = world.sentence
        if on_failure == 'continue':
            world.wait_steps(300)
            codes = stop(world)
        else:
            codes = world.wait_ended(PATIENCE_S)
        assert codes == {'world': int(on_failure == 'fail')}
        assert world.said('world').count('File too large') == 1
    bag = Flown(tmp_path / 'bag')
    bag.assert_whole()
    assert bag.end_us == round(float(re.fullmatch(ENDS, sentence).group(1)) * S) > 0


@pytest.fixture(scope='module')
def missions(tmp_path_factory):
    return write_hop(tmp_path_factory.mktemp('missions'), 0.4)


@pytest.mark.parametrize('on_failure', ['continue', 'fail'])
def test_a_flight_in_mode_core_whose_disk_is_full(on_failure, missions, instance, tmp_path):
    with largest_file(1_500_000):
        result = here('fly', '--mode', 'core', '--mission', missions, '--instance', instance,
                      '--record', tmp_path / 'bag', '--set', f'recorder.on_failure={on_failure}',
                      '--summary', tmp_path / 'summary.json')
    assert result.returncode == int(on_failure == 'fail'), result.stderr
    assert re.fullmatch(rf'fly: {ENDS}\n', result.stderr), result.stderr
    assert bool(re.search(r'landed +True', result.stdout)) == (on_failure == 'continue')
    problem = result.stderr.removeprefix('fly: ').strip()
    assert f'recording_problem            {problem}\n' in result.stdout
    summary = json.loads((tmp_path / 'summary.json').read_text())
    assert summary['recording_problem'] == problem
    assert summary['failure'] == ('' if on_failure == 'continue' else problem)
    bag = Flown(tmp_path / 'bag')
    bag.assert_whole()
    assert bag.end_us * 1e-6 == float(re.search(r't = ([\d.]+) s', result.stderr).group(1)) > 0.0


# All nodes but the recorder share a process, which costs less than one for each.
RECORDER_APART = '''
import sys
from px4_sim_ros.cli import command_line
from px4_sim_ros.flight import ros_world
ros_world.process_groups = lambda members, mode: [
    [name for name in members[0].graph.nodes if name != 'recorder'], ['recorder']]
sys.exit(command_line.main())
'''


@pytest.mark.parametrize('python, on_failure', [
    (['-c', RECORDER_APART], 'continue'), *(
        pytest.param(['-m', 'px4_sim_ros'], on_failure, marks=pytest.mark.long)
        for on_failure in ('continue', 'fail'))], ids=['apart', 'continue', 'fail'])
def test_a_flight_whose_recorder_is_killed(python, on_failure, missions, instance, tmp_path):
    scenario = tmp_path / 'up.yaml'
    scenario.write_text(yaml.safe_dump({'mission': str(missions), 'end': {'at_s': 3.0}}))
    # So slow that it is killed between two flushes: one that was just made is reported later.
    words = ('fly', '--mode', 'separate', '--scenario', scenario, '--instance', instance,
             '--record', tmp_path / 'bag', '--set', f'recorder.on_failure={on_failure}',
             '--speed-factor', 1)
    with running([sys.executable, *python, *map(str, words)]) as process:
        wait_for_line(process, 'ready to fly')
        children = family(process.pid)
        recorder, = (child for child in children if 'recorder' in child.cmdline())
        recorder.kill()
        said = process.stdout.read()
        assert process.wait(20) == int(on_failure == 'fail'), said
        assert wait_gone(children, 1.0) == []
    bag = Flown(tmp_path / 'bag')
    bag.assert_every_message()
    assert 'bag_0.mcap ends too early' in bag.damage
    summary = [line for line in said.splitlines() if line.startswith('recording_problem')]
    sentences = [line for line in said.splitlines()
                 if re.search(r'recorder\W.*\b(does|has)', line) and line not in summary]
    assert len(sentences) == 1, said
    if on_failure == 'fail':
        assert sentences == ['fly: world (recorder) has ended with exit code -9']
        assert said.splitlines()[-1] == sentences[0]
        return
    assert re.search(r'sim_time_s +2\.996', said)
    told = re.search(r'\[manager\]: recorder does not answer; on disk is all up to t = (\S+) s, and'
                     ' the run continues without it', sentences[0])
    assert bag.end_us == round(float(told.group(1)) * S)
    assert [line.split(maxsplit=1)[1] for line in summary] == [
        sentences[0].partition('[manager]: ')[2]]


def exists(folder):
    (folder / 'bag').mkdir()
    return folder / 'bag', 'exists already; name a folder that does not'


def below_a_file(folder):
    (folder / 'file').touch()
    return folder / 'file/bag', f'cannot be made in {folder}/file: Not a directory'


@pytest.mark.parametrize('problem', [exists, below_a_file])
def test_a_folder_that_cannot_become_a_bag_is_refused(problem, instance, here, tmp_path):
    path, reason = problem(tmp_path)
    before = set(tmp_path.rglob('*'))
    result = here('fly', '--mode', 'separate', '--instance', instance, '--record', path)
    assert result.returncode == 2
    assert result.stderr == f'fly: record {path}: {reason}\n'
    assert result.stdout == ''
    assert set(tmp_path.rglob('*')) == before


def test_a_recorder_whose_folder_exists_is_named_at_the_start(instance, tmp_path):
    (tmp_path / 'bag').mkdir()
    with recorded_graph(tmp_path, 'composed', instance) as world:
        assert world.wait_ended(PATIENCE_S) == {'world': 1}
        assert re.search(r'recorder did not configure: record \S+/bag: exists already; name a'
                         ' folder that does not; the graph is taken down', world.said('world'))
