# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Sensors are stopped and started while time goes on, and there can be several of each."""

import pytest
from commands import command, here, running, wait_for_line, write_hop
from graph_processes import COMMAND, PATIENCE_S, STEP_US, KeptGraph, running_graph
from graph_recording import OVERRIDES, RECORDED, WHOLE, assert_same_messages, record_core
from rclpy.serialization import deserialize_message

from px4_sim_ros.model.rotation import matrix, to_body
from px4_sim_ros.ros.framework.session import message_class
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.step import graph
from px4_sim_ros.step.repeatability import first_gap

pytestmark = pytest.mark.process

INSTANCE = 75
GRAPH = load_configuration(None, WHOLE).graph
WORLD = load_configuration(None, {}).world
PERIODS_US = {topic.name: topic.period_us(STEP_US, WORLD.periods_us)
              for topic in GRAPH.topics.values()}
# Steps in which every sensor measures at least twice.
SOME_STEPS = 60
EXACT = WHOLE | {'manager': {'speed_factor': 0.0, 'paused': True}}


def outputs(sensor):
    return [topic.name for topic in GRAPH.outputs(sensor)]


def due(topic, first_us, last_us):
    """Return the times after the first, up to the last, at which a topic is due."""
    period_us = PERIODS_US[topic]
    return list(range(first_us // period_us * period_us + period_us, last_us + 1, period_us))


@pytest.fixture(scope='module')
def kept(tmp_path_factory):
    graphs = KeptGraph(
        tmp_path_factory, INSTANCE, WHOLE | {'manager': {'speed_factor': 2.0}}, RECORDED)
    yield graphs
    graphs.finish()


def test_each_sensor_stops_and_starts_in_flight(kept, tmp_path):
    """One after the other, within one flight."""
    world = kept.begun_again('composed', 'embedded')
    with running(command(
            'pilot', '--mission', write_hop(tmp_path, 20.0), '--instance', INSTANCE)) as pilot:
        wait_for_line(pilot, 'armed')
        world.wait_steps(10 * SOME_STEPS)
        first_us = world.observer.recordings.stamps(COMMAND, -1)[-1]
        for sensor in GRAPH.sensors:
            world.change(sensor, 'deactivate')
            world.wait_steps(SOME_STEPS)
            world.change(sensor, 'activate')
            world.wait_steps(SOME_STEPS)
        world.pause()
        world.wait_for(lambda: all_recorded(world), PATIENCE_S, 'the last messages')
        assert world.link == 'LOCKED'
    gaps = {sensor: {only_gap(world, topic) for topic in outputs(sensor)}
            for sensor in GRAPH.sensors}
    # Both topics of the GNSS receiver at the same step.
    assert all(len(its) == 1 for its in gaps.values()), gaps
    edges = [edge for sensor in GRAPH.sensors for edge in next(iter(gaps[sensor]))]
    assert edges[0] > first_us
    assert edges == sorted(edges)
    for topic in set(RECORDED) - {t for sensor in GRAPH.sensors for t in outputs(sensor)}:
        assert only_gap(world, topic) is None, topic


def test_a_sensors_own_parameters_are_changed_in_flight(kept):
    world = kept.begun_again('composed')
    world.wait_steps(SOME_STEPS)
    world.change('magnetometer', 'deactivate')
    world.change('magnetometer', 'cleanup')
    world.wait_steps(SOME_STEPS)
    assert world.set('magnetometer', noise_density=1e-3)[0].successful
    world.change('magnetometer', 'configure')
    world.change('magnetometer', 'activate')
    world.wait_steps(SOME_STEPS)
    world.pause()
    world.wait_for(lambda: all_recorded(world), PATIENCE_S, 'the last messages')
    stamps = world.observer.recordings.stamps('mag', -1)
    assert only_gap(world, 'mag') is not None
    for topic in set(RECORDED) - {'mag'}:
        assert only_gap(world, topic) is None, topic
    first, last = (deserialize_message(
        world.observer.recordings.of_run(-1)['mag', time_us], message_class(
            GRAPH.topics['mag'].type)).magnetic_field_covariance[0]
        for time_us in (stamps[0], stamps[-1]))
    # The variance is that of white noise over a period: it grows with the density squared.
    assert last / first == pytest.approx((1e-3 / 4e-8) ** 2)


def only_gap(world, topic):
    """Return the first and the last time that is missing on a topic; None without a gap."""
    stamps = world.observer.recordings.stamps(topic, -1)
    missing = sorted(set(due(topic, stamps[0] - 1, stamps[-1])) - set(stamps))
    if not missing:
        return None
    assert missing == due(topic, missing[0] - 1, missing[-1]), f'{topic} has several gaps'
    return missing[0], missing[-1]


def all_recorded(world, run=-1):
    """Return whether each topic's last message of a run that is paused has come."""
    now_us = world.steps * STEP_US
    recordings = world.observer.recordings
    return all(
        recordings.stamps(topic, run)[-1:] == [now_us // PERIODS_US[topic] * PERIODS_US[topic]]
        for topic in RECORDED)


def test_sensors_are_stopped_and_started_by_the_command_line(kept):
    world = kept.running('composed')
    for verb, state in (('status', 'active'), ('stop', 'inactive'), ('start', 'active')):
        result = here('sensor', 'gps', verb)
        assert (result.returncode, result.stderr) == (0, '')
        assert result.stdout == f'gps is {state}\n'
    for text in 'gps has stopped at t = ', 'gps continues from t = ':
        world.wait_said('world', text)


def test_time_goes_on_without_any_sensor(kept):
    world = kept.running('composed')
    world.wait_steps(SOME_STEPS)
    for sensor in GRAPH.sensors:
        world.change(sensor, 'deactivate')
    world.wait_steps(2)
    silent = {t: len(world.observer.recordings.stamps(t, -1))
              for sensor in GRAPH.sensors for t in outputs(sensor)}
    world.wait_steps(5 * SOME_STEPS)
    assert {t: len(world.observer.recordings.stamps(t, -1)) for t in silent} == silent
    for sensor in GRAPH.sensors:
        world.change(sensor, 'activate')
    world.wait_steps(SOME_STEPS)
    assert all(len(world.observer.recordings.stamps(t, -1)) > silent[t] for t in silent)
    assert world.link == 'LOCKED'


def test_a_sensor_that_starts_again_feels_the_wind_that_goes_on(kept):
    """The wind is stopped and blows on as it did last, for who starts meanwhile, too."""
    world = kept.begun_again('composed')
    world.wait_steps(SOME_STEPS)
    for node in 'wind', 'airspeed':
        world.change(node, 'deactivate')
    world.wait_steps(SOME_STEPS)
    world.change('airspeed', 'activate')
    world.wait_steps(SOME_STEPS)
    recording = world.observer.recordings.of_run(-1)
    stamps, winds = (world.observer.recordings.stamps(t, -1) for t in ('airspeed', 'wind'))
    last_us = max(t for t in stamps if ('ground_truth/odom', t) in recording)

    def message(topic, time_us):
        return deserialize_message(
            recording[topic, time_us], message_class(graph.TOPICS[topic].type))

    def pressure_pa(time_us):
        """Return that of the wind of then in air of 1.17 kg/m^3, as the vehicle moves in it."""
        odometry = message('ground_truth/odom', time_us)
        wind = message('wind', max(t for t in winds if t <= time_us)).twist.linear
        q = odometry.pose.pose.orientation
        wind_m_s = to_body(matrix((q.w, q.x, q.y, q.z)), (wind.x, wind.y, wind.z))
        speed_m_s = odometry.twist.twist.linear.x - wind_m_s[0]
        return 0.5 * 1.17 * speed_m_s * abs(speed_m_s)

    for time_us in stamps[0], last_us:
        # Its noise is 1 Pa; without wind it would be some 10 Pa more, however the vehicle moves.
        assert message('airspeed', time_us).fluid_pressure == pytest.approx(
            pressure_pa(time_us), abs=5.0)
    assert winds[-1] < stamps[-1] - SOME_STEPS * STEP_US
    world.change('wind', 'activate')


# Several of a kind.

@pytest.fixture(scope='module')
def several(kept, tmp_path_factory):
    """Return a graph with as many sensors as there can be, after 500 steps that are recorded."""
    kept.close()
    shared = WHOLE[''] | {'instances.imu': 3, 'instances.magnetometer': 2, 'instances.gps': 2}
    with running_graph(
            tmp_path_factory.mktemp('several'), 'composed', INSTANCE,
            EXACT | {'': shared}) as world:
        world.record()
        world.wait_state('PAUSED')
        world.connect()
        world.step(500)
        world.wait_for(lambda: all_recorded(world, 0), PATIENCE_S, 'the last messages')
        assert world.link == 'LOCKED'
        yield world


KINDS = {
    'imu/data_raw': ('imu_1/data_raw', 'imu_2/data_raw'), 'mag': ('mag_1',),
    'gps/fix': ('gps_1/fix',), 'gps/vel': ('gps_1/vel',)}


@pytest.mark.parametrize('first', KINDS)
def test_further_sensors_measure_at_the_same_times_with_other_noise(first, several):
    recordings = several.observer.recordings
    recording = recordings.of_run(0)
    cls = message_class(graph.TOPICS[first].type)
    topics = first, *KINDS[first]
    stamps = due(first, 0, 500 * STEP_US)
    for topic in topics:
        assert recordings.stamps(topic) == stamps, topic
    for time_us in stamps:
        values = [measured(deserialize_message(recording[t, time_us], cls)) for t in topics]
        assert len(set(values)) == len(topics), time_us


def measured(message):
    """Return the numbers of a measurement."""
    for field in ('angular_velocity', 'magnetic_field'):
        if hasattr(message, field):
            v = getattr(message, field)
            return v.x, v.y, v.z
    if hasattr(message, 'twist'):
        v = message.twist.linear
        return v.x, v.y, v.z
    return message.latitude, message.longitude, message.altitude


def test_the_first_sensors_do_not_notice_further_ones(several, instance):
    """Core flies the same script with one sensor of each kind."""
    oracle = record_core(
        500 * STEP_US, OVERRIDES | {'hil_bridge': {'instance': instance}})
    recording = several.observer.recordings.of_run(0)
    mine = {key: data for key, data in recording.items() if key[0] in RECORDED}
    assert_same_messages(mine, oracle.between(0, 500 * STEP_US))


# At exact steps.

def test_stops_and_starts_at_the_same_steps_give_the_same_bits(several):
    world, recordings = several, several.observer.recordings
    silent_us = [follow_the_script(world, run) for run in (1, 2)]
    end_us = world.steps * STEP_US
    assert silent_us[0] == silent_us[1]
    for topic in RECORDED:
        silence = [t for first, last in silent_us[0].get(topic, ())
                   for t in due(topic, first, last)]
        expected = [t for t in due(topic, 0, end_us) if t not in silence]
        assert recordings.stamps(topic, 1) == recordings.stamps(topic, 2) == expected, topic
    whole, once, again = map(recordings.of_run, range(3))
    assert_same_messages(once, again)
    # Nor does it matter for what a sensor measures later that it was stopped; but a receiver
    # does not know where the vehicle was before it was started.
    starts = {(topic, due(topic, last, end_us)[0]) for topic in ('gps/fix', 'gps/vel')
              for _, last in silent_us[0][topic]}
    assert_same_messages(*({key: data for key, data in its.items()
                            if key in once and key not in starts} for its in (once, whole)))


def follow_the_script(world, run):
    """Begin again, stop and start sensors between steps; return when each topic was silent."""
    world.reset()
    world.wait_state('PAUSED')
    assert first_gap([world.values]) == ''       # that of the run before is forgotten
    world.connect()
    world.step(250)
    silent_us, stopped_us = {}, {}
    # With overlaps; and one that is stopped and started within the same step.
    for verb, sensor, steps in (
            ('deactivate', 'imu', 33), ('deactivate', 'gps', 51), ('activate', 'imu', 7),
            ('deactivate', 'barometer', 3), ('activate', 'barometer', 20),
            ('deactivate', 'magnetometer', 44), ('activate', 'gps', 26),
            ('deactivate', 'imu', 0), ('activate', 'imu', 5), ('activate', 'magnetometer', 61)):
        world.change(sensor, verb)
        now_us = world.steps * STEP_US
        if verb == 'deactivate':
            stopped_us[sensor] = now_us
        else:
            for topic in outputs(sensor):
                silent_us.setdefault(topic, []).append((stopped_us[sensor], now_us))
        if steps:
            world.step(steps)
    world.wait_for(lambda: all_recorded(world, run), PATIENCE_S, 'the last messages')
    # Steps can be chosen so only in a pause: the run is not called repeatable.
    assert first_gap([world.values]) == 't = 1.000000 s: imu was stopped by hand'
    return silent_us


# The last one with this graph: time goes on.
def test_a_further_sensor_stops_and_starts(several):
    world, recordings = several, several.observer.recordings
    assert world.set(speed_factor=2.0)[0].successful
    world.go_on()
    world.wait_steps(SOME_STEPS)
    # The first one: the second goes on.
    world.change('imu', 'deactivate')
    world.wait_steps(2)
    counts = [len(recordings.stamps(t, -1)) for t in ('imu/data_raw', 'imu_1/data_raw')]
    world.wait_steps(SOME_STEPS)
    assert len(recordings.stamps('imu/data_raw', -1)) == counts[0]
    stamps = recordings.stamps('imu_1/data_raw', -1)
    assert len(stamps) > counts[1]
    assert stamps == due('imu/data_raw', stamps[0] - 1, stamps[-1])
    world.change('imu', 'activate')
    world.wait_steps(SOME_STEPS)
    assert len(recordings.stamps('imu/data_raw', -1)) > counts[0]
