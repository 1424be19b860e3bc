# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Every process of the graph is killed or suspended; the one at fault is named, in time."""
import os
import re

import pytest
from commands import command, family, port_is_free, running, wait_for_line, wait_gone
from graph_processes import PATIENCE_S, TOLD_S, KeptGraph, running_graph

from px4_sim_ros.step import graph

pytestmark = pytest.mark.process

INSTANCE, FLY_INSTANCE = 73, 77
STEP_TIMEOUT_S = 0.3
REPLY_TIMEOUT_S = 0.5
# Fast enough for the test, slow enough to leave the processor to others.
PARAMETERS = {
    'manager': {'speed_factor': 0.5, 'step_timeout_s': STEP_TIMEOUT_S},
    'hil_bridge': {'reply_timeout_s': REPLY_TIMEOUT_S}}
NAMED_S = STEP_TIMEOUT_S + TOLD_S
# The time without a word after which dynamics misses the manager.
MANAGER_MISSED_S = 1.5 + TOLD_S

MANAGED = graph.of_instances({}).managed
# What a node can be named for, with its period in us: the first of its topics that somebody waits
# for; dynamics and the GNSS receiver may die between two messages of one step.
OWED = {'dynamics': {'ground_truth/odom': 4000, 'ground_truth/accel': 4000, 'battery_state': 20000},
        'imu': {'imu/data_raw': 4000}, 'magnetometer': {'mag': 20000},
        'barometer': {'baro': 20000}, 'gps': {'gps/fix': 100000, 'gps/vel': 100000},
        'hil_bridge': {'actuators/command': 4000}}
# Then no step is due: all nodes are asked alike.
WHILE_PAUSED = 'dynamics', 'imu', 'hil_bridge'
# The other sensors differ from the IMU in their periods only: each push flies without them.
EACH = [pytest.param(name, marks=() if name in WHILE_PAUSED else pytest.mark.long)
        for name in MANAGED]
PAUSED_EACH = ['imu', *(pytest.param(name, marks=pytest.mark.long)
                        for name in WHILE_PAUSED if name != 'imu')]
# That a killed one is named is as of one that is suspended; a new bridge has to listen again.
KILLED_EACH = [pytest.param(name, marks=() if name == 'hil_bridge' else pytest.mark.long)
               for name in MANAGED]
# What is hurt in a push has a process of its own.
APART = None if os.environ.get('LONG') else ('manager', *WHILE_PAUSED)
# What holds while time goes on is done again while it is paused.
AND_PAUSED = pytest.mark.parametrize(
    'paused', [False, pytest.param(True, marks=pytest.mark.long)])
RECORDED = 'gps/fix',
# Steps after which each node has published something.
ENOUGH_STEPS = 50


@pytest.fixture(scope='module')
def kept(tmp_path_factory):
    graphs = KeptGraph(tmp_path_factory, INSTANCE, PARAMETERS, RECORDED, APART)
    yield graphs
    graphs.finish()


@pytest.fixture
def separate(kept):
    """Return a graph in which every node has a process, flown by the scripted autopilot."""
    return kept.running('separate')


@pytest.fixture
def composed(kept):
    return kept.running('composed')


def assert_named(world, node):
    """See that the node is named by one sentence, everywhere."""
    pattern = (rf'{node} has not published ({"|".join(OWED[node])}) for t = (\d+\.\d{{6}}) s;'
               r' its last was (\d+\.\d{6}) s; it does not answer')
    world.wait_sentence('OVERDUE', pattern, NAMED_S)
    topic, due_s, last_s = re.fullmatch(pattern, world.sentence).groups()
    assert float(due_s) - float(last_s) == pytest.approx(OWED[node][topic] * 1e-6)
    assert world.said('manager').count(world.sentence) == 1
    # Once a second of wall time.
    world.wait_for(lambda: world.observer.diagnostics.get('manager') == world.sentence,
                   NAMED_S, 'the sentence on /diagnostics')


def assert_nothing_lost(world):
    """See that no time is missing on topics of this run."""
    for topic, period_us in (('gps/fix', 100_000), ('actuators/command', 4000)):
        stamps = world.observer.recordings.stamps(topic, -1)
        assert stamps, topic
        assert stamps == list(range(stamps[0], stamps[-1] + 1, period_us)), topic


@pytest.mark.parametrize('node', EACH)
def test_a_suspended_node_is_named_and_goes_on(node, separate):
    world = separate
    world.wait_steps(ENOUGH_STEPS)
    world.suspend(node)
    assert_named(world, node)
    world.resume(node)
    world.wait_state('RUNNING', TOLD_S)
    assert world.sentence == 'RUNNING'
    world.wait_said('manager', f'{node} is back', TOLD_S)
    world.wait_steps(ENOUGH_STEPS)
    assert_nothing_lost(world)
    assert world.link == 'LOCKED'


@pytest.mark.parametrize('node', PAUSED_EACH)
def test_a_suspended_node_is_named_while_time_is_paused(node, separate):
    world = separate
    world.pause()
    stands = world.steps
    world.suspend(node)
    world.wait_sentence('OVERDUE', f'{node} does not answer', NAMED_S)
    assert f'{node} does not answer' in world.said('manager')
    world.resume(node)
    world.wait_state('PAUSED', NAMED_S)
    assert world.steps == stands
    world.go_on()
    world.wait_steps(ENOUGH_STEPS)
    assert_nothing_lost(world)


@pytest.mark.parametrize('node', KILLED_EACH)
def test_a_killed_node_is_named_and_a_new_one_joins_with_a_reset(node, separate):
    world = separate
    world.wait_steps(ENOUGH_STEPS)
    world.kill(node)
    assert_named(world, node)
    begin_again(world, node)
    world.connect()
    world.wait_steps(ENOUGH_STEPS)
    assert world.values['state'] == 'RUNNING'
    assert_nothing_lost(world)


def begin_again(world, node):
    """Start a node's process again and reset the run."""
    run = world.run
    world.start(node)
    world.wait_answers(node)
    world.reset()
    assert world.run == run + 1


@AND_PAUSED
def test_a_suspended_manager_is_missed_and_goes_on(paused, separate):
    world = separate
    if paused:
        world.pause()
    missed = world.said('dynamics').count('manager has been silent')
    back = world.said('dynamics').count('manager is back')
    world.suspend('manager')
    assert_missed(world, missed + 1)
    world.resume('manager')
    world.wait_for(lambda: world.said('dynamics').count('manager is back') == back + 1,
                   TOLD_S, 'manager is back')
    if paused:
        world.wait_state('PAUSED', TOLD_S)
        world.go_on()
    world.wait_steps(ENOUGH_STEPS)
    assert_nothing_lost(world)


@AND_PAUSED
def test_a_killed_manager_is_missed_and_a_new_one_begins_at_0(paused, separate):
    world = separate
    world.wait_steps(ENOUGH_STEPS)
    if paused:
        world.pause()
    missed = world.said('dynamics').count('manager has been silent')
    world.kill('manager')
    assert_missed(world, missed + 1)
    world.forget()
    world.start('manager')
    world.wait_up()
    world.connect()
    world.wait_steps(ENOUGH_STEPS)
    assert world.run == 1
    assert world.observer.recordings.stamps('actuators/command', -1)[0] == 4000
    assert_nothing_lost(world)


def assert_missed(world, times):
    """See that dynamics says once more when it heard the last time."""
    sentence = r'manager has been silent for 1\.5 s; its last /clock was t = \d+\.\d{6} s'
    world.wait_for(lambda: len(re.findall(sentence, world.said('dynamics'))) == times,
                   MANAGER_MISSED_S, sentence)


def test_on_overdue_pause_stands_still_after_the_step(separate):
    world = separate
    assert world.set(on_overdue='pause')[0].successful
    world.suspend('imu')
    assert_named(world, 'imu')
    world.resume('imu')
    world.wait_state('PAUSED', TOLD_S)
    stands = world.steps
    world.watch(0.5, lambda: world.steps == stands, 'time goes on')
    assert world.set(on_overdue='wait')[0].successful
    world.go_on()
    world.wait_steps(ENOUGH_STEPS)
    assert_nothing_lost(world)


# The autopilot. Here, the same processes go on from test to test as well.
BOTH_MODES = pytest.mark.parametrize(
    'mode', [pytest.param('separate', marks=pytest.mark.long), 'composed'], scope='module')


@pytest.fixture
def flown(mode, kept):
    """Return a graph that the embedded autopilot flies, in a process of its own."""
    return kept.running(mode, 'embedded')


@BOTH_MODES
def test_a_suspended_autopilot_stalls_the_link_and_locks_again(flown):
    world = flown
    world.suspend('autopilot')
    world.wait_link('STALLED', REPLY_TIMEOUT_S + TOLD_S)
    world.wait_steps(ENOUGH_STEPS)
    world.resume('autopilot')
    world.wait_link('LOCKED', TOLD_S)
    world.wait_steps(ENOUGH_STEPS)
    assert_nothing_lost(world)


@BOTH_MODES
def test_an_autopilot_that_is_suspended_while_time_is_paused_locks_again(flown):
    world = flown
    world.pause()
    world.suspend('autopilot')
    world.watch(REPLY_TIMEOUT_S + 0.5, lambda: world.state == 'PAUSED', 'the pause has ended')
    world.resume('autopilot')
    world.go_on()
    world.wait_link('LOCKED', TOLD_S)
    world.wait_steps(ENOUGH_STEPS)
    assert_nothing_lost(world)


@BOTH_MODES
@AND_PAUSED
def test_a_killed_autopilot_is_waited_for_and_the_next_one_is_taken(paused, flown):
    world = flown
    if paused:
        world.pause()
    world.kill('autopilot')
    world.wait_link('WAITING', TOLD_S)
    if paused:
        world.go_on()
    world.wait_sentence(
        'WAITING', rf'.*: no autopilot is connected to TCP port {4560 + INSTANCE}', NAMED_S)
    waited = world.steps
    world.watch(0.5, lambda: world.steps == waited, 'time goes on without an autopilot')
    world.start('autopilot')
    world.wait_link('LOCKED')
    world.wait_steps(ENOUGH_STEPS)
    assert_nothing_lost(world)


# The last one with this graph: it is over then.
@pytest.mark.parametrize('mode', ['separate'], scope='module')
def test_on_overdue_fail_takes_the_graph_down(flown):
    world = flown
    assert world.set(on_overdue='fail')[0].successful
    world.wait_steps(ENOUGH_STEPS)
    world.kill('imu')
    world.wait_sentence('STOPPING', r'imu has not published imu/data_raw for t = .*', NAMED_S)
    sentence = world.sentence
    codes = world.wait_ended(PATIENCE_S, but=['imu'])
    assert codes.pop('manager') == 1
    assert set(codes.values()) == {0}, codes
    assert sentence in world.said('manager')


@AND_PAUSED
def test_a_suspended_world_goes_on(paused, composed):
    world = composed
    if paused:
        world.pause()
    world.suspend('world')
    # Its own wall clock goes on meanwhile, further than the bound of a step.
    world.watch(2 * STEP_TIMEOUT_S, lambda: True, '')
    world.resume('world')
    if paused:
        world.go_on()
    world.wait_steps(ENOUGH_STEPS, TOLD_S)
    assert world.link == 'LOCKED'
    assert_nothing_lost(world)


def test_a_killed_process_leaves_no_shared_memory(composed):
    """Shared memory would stay behind, so none is used."""
    assert not composed.shared_memory()


# These have a graph of their own.

def test_a_graph_with_a_node_missing_gives_up(alone, tmp_path):
    with running_graph(tmp_path, 'separate', INSTANCE, {
            'manager': {'startup_timeout_s': 6.0}}, absent=['imu'], apart=['imu']) as world:
        # The manager counts from its own start, which a busy machine delays.
        world.wait_for(lambda: world.state == 'STARTING', PATIENCE_S, 'the manager')
        codes = world.wait_ended(6.0 + 5.0)
        assert codes == {'world': 1}
        assert 'imu has not appeared; the graph is taken down' in world.said('world')
        assert world.said('world').count('ERROR') == 1


@pytest.mark.parametrize('mode, words, name', [
    ('composed', 'px4_sim_ros.ros.world', r'world \(.*\)'),
    # As test_fleet_graph does with two vehicles.
    pytest.param('separate', 'manager', r'world \(manager\)', marks=pytest.mark.long),
])
def test_fly_ends_when_a_process_is_killed(mode, words, name, alone):
    with running(command('fly', '--mode', mode, '--instance', FLY_INSTANCE)) as process:
        wait_for_line(process, 'armed')
        children = family(process.pid)
        victim, = (child for child in children if words in child.cmdline())
        victim.kill()
        *_, last = wait_for_line(process, 'has ended')
        assert re.fullmatch(rf'fly: {name} has ended with exit code -9', last.strip())
        assert process.wait(20) == 1
        # One sentence, and nothing after it.
        assert process.stdout.read() == ''
        assert wait_gone(children, 1.0) == []
        assert port_is_free(FLY_INSTANCE)
