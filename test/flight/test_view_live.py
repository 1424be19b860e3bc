# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command `view` beside a running graph: real processes, a file or a viewer over gRPC."""
import contextlib
import os
import signal
import sys
import warnings

import pytest
from graph_processes import PATIENCE_S, STEP_US, running_graph
from headless_rerun import listening

pytest.importorskip('rerun', reason='rerun-sdk is not installed')
from rerun.chunk import RrdReader

from px4_sim_ros.process.children import Child
from px4_sim_ros.ros.tools.rerun_view import POSE, RunSorter, Stamped
from px4_sim_ros.spec.ros_environment import ros_environment
from px4_sim_ros.viewing.rerun_target import NODE

pytestmark = pytest.mark.process

INSTANCE = 92
POSE_US, BATTERY_US = 40_000, 20_000
PARAMETERS = {'manager': {'paused': True, 'speed_factor': 2.0}}
STEPS = 300


class Viewer:
    """The command `view` beside a graph."""

    def __init__(self, world, folder, viewer, name='viewer'):
        self._world, self.log = world, folder / f'{name}.log'
        before = self._listening()
        self.child = Child(name, [
            sys.executable, '-m', 'px4_sim_ros', 'view', '--viewer', viewer, '--params-file',
            folder / 'run.yaml'], environment=ros_environment(), log=self.log)
        world.wait_for(lambda: self._listening() > before, PATIENCE_S, 'the viewer')

    def _listening(self):
        """Return how many viewers there are."""
        infos = self._world.observer.node.get_subscriptions_info_by_topic(POSE)
        return sum(info.node_name == NODE for info in infos)

    def end(self, number=signal.SIGTERM):
        """Send a signal; return the exit code."""
        os.kill(self.child.pid, number)
        assert self.child.wait(PATIENCE_S)
        return self.child.exit_code


def flown(world):
    """Let a scripted autopilot fly some steps of a graph that is paused."""
    world.connect()
    world.step(STEPS)


def flown_until(world, condition, what):
    """Let it fly until something is seen: who looks on is known to all nodes then."""
    world.connect()
    world.go_on()
    world.wait_for(condition, PATIENCE_S, what)
    world.pause()


def times_of_recordings(path, entity='/world/vehicle'):
    """Return the times of an entity in each recording of a file, which may be cut off."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        reader = RrdReader(path)
        recordings = [reader.stream(store=entry).to_chunks() for entry in reader.recordings()]
    return sorted(sorted(
        t.value // 1000 for chunk in chunks if chunk.entity_path == entity and not chunk.is_static
        for t in chunk.to_record_batch().column('sim_time')) for chunks in recordings)


def times_us(path, entity='/world/vehicle'):
    times, = times_of_recordings(path, entity)
    return times


def have_poses(path, count=1):
    """Return whether so many recordings in a file that is just written have poses."""
    with contextlib.suppress(OSError, RuntimeError, ValueError):
        return sum(map(bool, times_of_recordings(path))) == count
    return False


def all_of(period_us):
    return list(range(period_us, STEPS * STEP_US + 1, period_us))


def test_a_file_has_each_run_and_a_killed_viewer_disturbs_nothing(tmp_path):
    with running_graph(tmp_path, 'composed', INSTANCE, PARAMETERS) as world:
        viewer = Viewer(world, tmp_path, tmp_path / 'flight.rrd')
        killed = Viewer(world, tmp_path, tmp_path / 'killed.rrd', 'killed')
        try:
            world.wait_up()
            flown_until(world, lambda: have_poses(tmp_path / 'flight.rrd') and have_poses(
                tmp_path / 'killed.rrd'), 'both files')
            assert killed.end(signal.SIGKILL) == -signal.SIGKILL
            first_us = world.steps * STEP_US
            world.reset()
            flown(world)
            assert world.is_well()
            assert viewer.end() == 0
        finally:
            viewer.child.stop()
            killed.child.stop()
    assert viewer.log.read_text() == ''
    path = tmp_path / 'flight_2.rrd'
    assert times_us(path) == all_of(POSE_US)
    # Also what came before the first pose.
    assert times_us(path, '/battery/voltage') == all_of(BATTERY_US)
    # The motion is that between poses; nothing that comes in each step is heard.
    assert times_us(path, '/truth/position') == all_of(POSE_US)[2:-2]
    assert times_us(path, '/sensors/barometer/height_from_pressure/truth') == (
        all_of(POSE_US)[2:-2])
    assert times_us(path, '/sensors/imu/angular_rate/truth') == []
    for name in 'flight.rrd', 'flight_2.rrd':
        assert times_us(tmp_path / name, '/log/manager')
        assert times_us(tmp_path / name, '/log/hil_bridge')
    # Of the first run nothing is missing from when they were there.
    for name, end_us in ('flight.rrd', first_us), ('killed.rrd', None):
        seen = times_us(tmp_path / name)
        assert seen == list(range(seen[0], seen[-1] + 1, POSE_US))
        assert end_us is None or seen[-1] == end_us // POSE_US * POSE_US
    assert not (tmp_path / 'flight_3.rrd').exists()


def test_a_viewer_gets_it_over_grpc_and_may_go_away(tmp_path):
    """Rerun without a screen takes it and writes it down."""
    got = tmp_path / 'got.rrd'
    with (listening(got) as (url, server),
          running_graph(tmp_path, 'composed', INSTANCE, PARAMETERS) as world):
        children = []
        try:
            first = Viewer(world, tmp_path, url, 'first')
            children.append(first.child)
            world.wait_up()
            flown_until(world, lambda: have_poses(got), 'the recording')
            first_us = world.steps * STEP_US
            assert first.end() == 0
            assert first.log.read_text() == ''
            # In the middle of a run, and the viewer goes away.
            second = Viewer(world, tmp_path, url, 'second')
            children.append(second.child)
            world.go_on()
            world.wait_for(lambda: have_poses(got, 2), PATIENCE_S, 'the second recording')
            server.send_signal(signal.SIGINT)
            server.wait(PATIENCE_S)
            world.wait_for(lambda: second.child.exit_code is not None, PATIENCE_S,
                           'the end of the second')
            assert second.child.exit_code == 1
            line, = second.log.read_text().splitlines()
            assert line.startswith(f'view: viewer {url}: ')
            assert world.is_well()
        finally:
            for child in children:
                child.stop()
    seen = times_of_recordings(got)
    assert len(seen) == 2
    for poses_us in seen:
        assert poses_us == list(range(poses_us[0], poses_us[-1] + 1, POSE_US))
    assert seen[0][-1] == first_us // POSE_US * POSE_US < seen[1][0]


# Which run a message is of.

class Heard:
    """What is heard, look by look: the runs that come out of it, as (topic, time) pairs."""

    def __init__(self):
        self._sorter = RunSorter()
        self.runs = []

    def look(self, *messages):
        for topic, *stamps in messages:
            for time_us in stamps:
                if self._sorter.add(Stamped(topic, time_us, b'')):
                    self.runs[-1].append((topic, time_us))
        begun = self._sorter.next_run()
        if begun is not None:
            self.runs.append([(m.topic, m.time_us) for m in begun])

    def of(self, run, topic):
        return [t for name, t in self.runs[run] if name == topic]


ODOM, IMU, FIX = 'ground_truth/odom', 'imu/data_raw', 'gps/fix'


def test_what_comes_before_the_first_pose_is_kept():
    heard = Heard()
    heard.look((ODOM, 4, 8, 12))
    assert heard.runs == []
    heard.look((POSE, 40), (ODOM, 16, 40))
    assert heard.of(0, ODOM) == [4, 8, 12, 16, 40]
    assert heard.of(0, POSE) == [40]


def test_topics_change_to_the_next_run_one_after_the_other():
    heard = Heard()
    heard.look((POSE, 40, 80), (ODOM, 40, 80), (IMU, 40, 80), (FIX, 80))
    # The pose is ahead, then the motion; what measures is behind.
    heard.look((POSE, 120, 40), (ODOM, 84, 120), (IMU, 84))
    heard.look((ODOM, 4, 8), (IMU, 88, 120))
    assert len(heard.runs) == 1
    heard.look((POSE, 80), (ODOM, 12), (IMU, 4, 8))
    # GNSS has said nothing yet: it is not waited for for ever.
    heard.look()
    assert len(heard.runs) == 2
    assert heard.of(0, ODOM) == [40, 80, 84, 120]
    assert heard.of(0, IMU) == [40, 80, 84, 88, 120]
    assert heard.of(0, POSE) == [40, 80, 120]
    assert [heard.of(1, topic) for topic in (POSE, ODOM, IMU)] == [[40, 80], [4, 8, 12], [4, 8]]
    heard.look((POSE, 120), (FIX, 80))
    assert heard.of(1, FIX) == [80]


def test_motion_may_be_ahead_of_the_pose():
    heard = Heard()
    heard.look((POSE, 40, 80), (ODOM, 80))
    heard.look((ODOM, 4, 8))
    heard.look((POSE, 40), (ODOM, 12, 40))
    assert heard.of(0, ODOM) == [80]
    assert heard.of(1, ODOM) == [4, 8, 12, 40]


def test_two_resets_in_a_row_leave_only_the_last():
    heard = Heard()
    heard.look((POSE, 400), (ODOM, 400))
    heard.look((ODOM, 4, 8, 4))
    heard.look((POSE, 40), (ODOM, 8, 40))
    assert heard.of(1, ODOM) == [4, 8, 40]


def test_what_is_repeated_or_late_is_no_new_run():
    heard = Heard()
    heard.look((POSE, 40), (ODOM, 36, 40))
    heard.look((POSE, 40, 80), (ODOM, 40, 32, 44, 48))
    heard.look((POSE, 120), (ODOM, 52))
    assert len(heard.runs) == 1
    assert heard.of(0, ODOM) == [36, 40, 44, 48, 52]
    assert heard.of(0, POSE) == [40, 80, 120]


def test_what_is_left_of_a_long_run_is_not_in_the_next():
    heard = Heard()
    heard.look((POSE, 40), (ODOM, 40))
    heard.look((POSE, 9_000_000), (ODOM, 9_000_000))
    for _ in range(8):
        heard.look((POSE, 40))
    heard.look((IMU, 9_000_000, 80))
    assert len(heard.runs) == 2
    assert heard.of(1, IMU) == [80]
