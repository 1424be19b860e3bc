"""Who is looked at when, and that a step which is sent is waited for at the end of a round."""
import functools
import types

import pytest

from px4_sim_ros.ros.polling import PollingNode
from px4_sim_ros.ros.step_executor import StepExecutor

STEP_US = 4000


class Looked(PollingNode):
    """Writes down when it is asked; finds something when it is told to."""

    def __init__(self, name, diary, period_us=None):
        super().__init__()
        self.get_name = lambda: name
        self._diary, self.finds = diary, 0
        if period_us:
            self.configure(period_us)

    def configure(self, period_us):
        self.configuration = types.SimpleNamespace(world=types.SimpleNamespace(step_us=STEP_US))
        self.period_us = period_us

    def look(self):
        self._diary.append(self.get_name())
        self.finds -= 1
        return self.finds >= 0

    def finish(self):
        self._diary.append(f'{self.get_name()} finishes')


class Spinning:
    """In the place of the executor of ROS."""

    def __init__(self, diary):
        self._diary, self.timeouts_s = diary, []

    def spin_once(self, timeout_sec):
        self._diary.append('executor')
        self.timeouts_s.append(timeout_sec)


@pytest.fixture
def diary():
    return []


def spun(diary, *nodes):
    """Let a StepExecutor of nodes spin once; return what the executor of ROS was given to wait."""
    executor = Spinning(diary)
    StepExecutor(executor, nodes).spin_once(0.1)
    return executor.timeouts_s


def looks(diary):
    return [entry for entry in diary if 'finishes' not in entry]


def test_a_look_takes_one_message_of_each_topic_that_is_awaited():
    node, heard = PollingNode(), []
    come = {'odom': [(b'1', {}), (b'2', {})], 'wind': [(b'3', {})], 'mag': [(b'4', {})]}
    for topic, messages in come.items():
        take = functools.partial(next, iter(messages), None)
        node._looked_at[topic] = None, take, functools.partial(lambda t, d: heard.append(t), topic)
    node.awaited = lambda: {'odom', 'wind', 'of another process'}
    found = [node.look() for _ in range(3)]
    assert found == [True, True, False]
    assert sorted(heard) == ['odom', 'odom', 'wind']


def test_who_skips_steps_comes_last(diary):
    """Each group in the order that was given; a node without periods acts in every step."""
    spun(diary, Looked('manager', diary), Looked('wind', diary, 20_000),
         Looked('dynamics', diary, STEP_US), Looked('gps', diary, 100_000),
         Looked('imu', diary, STEP_US), Looked('bridge', diary, STEP_US))
    assert looks(diary) == ['manager', 'dynamics', 'imu', 'bridge', 'wind', 'gps', 'executor']


def test_the_order_follows_a_new_configuration(diary):
    sensor, bridge = Looked('sensor', diary), Looked('bridge', diary)
    executor = StepExecutor(Spinning(diary), [sensor, bridge])
    for period_us in (20_000, STEP_US):
        executor.spin_once(0.1)
        bridge.configure(STEP_US)
        sensor.configure(period_us)
    executor.spin_once(0.1)
    sensor.configuration = None
    executor.spin_once(0.1)
    assert ' '.join(looks(diary)) == (
        'sensor bridge executor bridge sensor executor'
        ' sensor bridge executor sensor bridge executor')


def test_all_have_their_look_before_anybody_waits(diary):
    """And what the executor brings is finished before it is asked again."""
    nodes = [Looked('bridge', diary), Looked('sensor', diary)]
    nodes[0].finds = 1
    finished = ['bridge finishes', 'sensor finishes']
    assert spun(diary, *nodes) == [0.1]
    assert diary == ['bridge', 'sensor', *finished, 'bridge', 'sensor', 'executor', *finished]


def test_the_executor_has_its_turn_while_steps_go_on(diary):
    node = Looked('bridge', diary)
    node.finds = 10 ** 9
    assert spun(diary, node) == [0.0]
    # While the autopilot is about the step that was sent last.
    assert diary[-3:] == ['bridge', 'executor', 'bridge finishes']


def test_nodes_know_who_is_beside_them(diary):
    nodes = [Looked(name, diary) for name in ('manager', 'bridge')]
    StepExecutor(Spinning(diary), nodes)
    assert [node.beside for node in nodes] == [{'bridge'}, {'manager'}]
    alone = Looked('bridge', diary)
    StepExecutor(Spinning(diary), [alone])
    assert not alone.beside
