# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rerun gets of a flight what is in the recording: read back by Rerun's own reader."""
import itertools
import time

import numpy as np
import pytest
from bags import STEP_US
from headless_rerun import Read
from rclpy.duration import Duration
from report_flights import fly, rewritten

pytest.importorskip('rerun', reason='rerun-sdk is not installed')
import rerun

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.telemetry import AutopilotStatus, Estimate, SetPoint
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.recording.analysis.attitudes import roll_pitch_yaw_deg
from px4_sim_ros.recording.analysis.sensor_errors import compare_sensors
from px4_sim_ros.recording.analysis.series import Series, SeriesCollector, Waypoint, read_series
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.bag.run_description import RunDescription
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.framework.session import message_class, ros_node
from px4_sim_ros.ros.tools.rerun_view import POSE, RerunView, Stamped
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.step import side_topics
from px4_sim_ros.viewing.markers import SLOWED_DOWN
from px4_sim_ros.viewing.rerun_bag import write_vehicle
from px4_sim_ros.viewing.rerun_log import RerunLog
from px4_sim_ros.viewing.rerun_target import RerunTarget
from px4_sim_ros.viewing.shapes import vehicle_shapes

DURATION_S = 1.2
# Rerun keeps what is in space as float32, and what is plotted as float64.
FLOAT32 = 1e-6
# Their edges are no multiples of a period.
PORTIONS_S = 0.1, 0.302, 0.304, 0.75
SAID = (0.5, 'INFO', 'pilot', 'armed'), (0.7, 'WARN', 'imu', 'it is silent')
# The autopilot estimates each 32 ms, at a time of its own before that of the step.
ESTIMATE_STEPS, EARLIER_US = 8, 1500
SENT_US, STATUS_US, TEXT_US = 100_500, 220_500, 224_000
PATIENCE_S = 20.0
PLACES = [Waypoint('10 m up', (0.0, 0.0, 10.0)), Waypoint('10 m north', (0.0, 10.0, 10.0))]


def in_us(series):
    return np.rint(series.time_s * US_PER_S).astype(int).tolist()


def cut(series, start_s, end_s):
    """Return a portion: what is after one time and up to another."""
    portion = {}
    for topic, fields in series.items():
        for name, (time_s, values) in fields.items():
            kept = (time_s > start_s) & (time_s <= end_s)
            if kept.any():
                portion.setdefault(topic, {})[name] = Series(time_s[kept], values[kept])
    return portion


def portions(series):
    edges_s = (-1.0, *PORTIONS_S, np.inf)
    return [cut(series, *edges) for edges in itertools.pairwise(edges_s)]


def written(path, configuration, parts):
    """Write portions of a flight and log messages; return what Rerun reads."""
    stream = rerun.RecordingStream('test')
    stream.save(path)
    log = RerunLog(stream, configuration, PLACES)
    for part in parts:
        log.add(part)
    for line in SAID:
        log.log_text(*line)
    stream.flush(timeout_sec=10.0)
    stream.disconnect()
    return Read(path)


def say(listener, steps):
    """Be an autopilot that has turned to the west and takes itself to go east and up."""
    time_us = steps * STEP_US - EARLIER_US
    if steps and steps % ESTIMATE_STEPS == 0:
        time_s = time_us / US_PER_S
        listener.on_estimate(Estimate(
            time_us, (3.0 * time_s, -1.0, 2.0 * time_s), (3.0, 0.0, 2.0),
            (0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.1)))
    if time_us // STEP_US == SENT_US // STEP_US:
        listener.on_set_point(SetPoint(SENT_US, (7.0, 8.0, 9.0)))
    if time_us // STEP_US == STATUS_US // STEP_US:
        listener.on_status(AutopilotStatus(STATUS_US, 'TAKEOFF', True, False, False))
        listener.on_text(TEXT_US, 'takeoff detected')


def assert_estimate(read):
    """Check what is shown of the autopilot, as far as it has come; return when it was said."""
    times_us, places_m = read.of('/world/estimate', 'Points3D:positions')
    time_s = np.array(times_us) / US_PER_S
    there_m = np.stack([3.0 * time_s, -1.0 + 0.0 * time_s, 2.0 * time_s], axis=1)
    np.testing.assert_allclose(places_m[:, 0], there_m, rtol=FLOAT32)
    for entity, expected in (
            ('position', there_m),
            # Its nose is to the west: what goes east goes backwards.
            ('velocity', np.broadcast_to((-3.0, 0.0, 2.0), there_m.shape)),
            ('attitude', np.broadcast_to((0.0, 0.0, 180.0), there_m.shape))):
        seen_us, values = read.scalars(f'/autopilot/{entity}')
        assert seen_us == times_us
        np.testing.assert_allclose(values, expected, atol=1e-12)
        names = read.static[f'/autopilot/{entity}']['SeriesLines:names']
        assert len(names) == 3 and all('estimate' in name for name in names)
    seen_us, values = read.scalars('/autopilot/set_point')
    assert (seen_us, values.tolist()) == ([SENT_US], [[7.0, 8.0, 9.0]])
    return times_us


@pytest.fixture(scope='module')
def flight(tmp_path_factory):
    """Return configuration, series and folder of a climb in turbulent wind, with all sensors."""
    folder = tmp_path_factory.mktemp('flight')
    # A portion may begin with airspeed; the wind that it feels came with the one before.
    settings = {'wind': 'dryden', 'periods_us.airspeed': STEP_US, 'instances.airspeed': 1,
                'instances.range_finder': 1, 'instances.optical_flow': 1,
                'instances.visual_odometry': 1, 'instances.imu': 2}
    fly(folder / 'flown', DURATION_S, {'': settings}, say)
    # What an autopilot says of itself is of a graph with a pilot, which would want a real one.
    configuration = load_configuration(None, {'': settings | {'mission': 'hover'}})
    bag = rewritten(folder / 'flown', folder / 'bag', run=RunDescription.of(
        configuration, mode='core', autopilot='none'))
    return configuration, read_series(bag), folder


@pytest.fixture(scope='module')
def read(flight):
    """Return what Rerun reads when all was written at once."""
    configuration, series, folder = flight
    return written(folder / 'once.rrd', configuration, [series])


# In space.

def test_every_pose_is_there_at_its_time(flight, read):
    pose = flight[1]['ground_truth/pose']
    times_us, places_m = read.of('/world/vehicle', 'Transform3D:translation')
    assert times_us == in_us(pose['position_m'])
    assert times_us == list(range(40_000, round(DURATION_S * US_PER_S) + 1, 40_000))
    np.testing.assert_allclose(places_m[:, 0], pose['position_m'].values, atol=FLOAT32)
    _, xyzw = read.of('/world/vehicle', 'Transform3D:quaternion')
    w, x, y, z = pose['attitude_wxyz'].values.T
    np.testing.assert_allclose(xyzw[:, 0], np.stack([x, y, z, w], axis=1), atol=FLOAT32)
    # It has turned, so that another order would not do.
    assert np.abs(xyzw[-1, 0, :3]).max() > 1e-3


def test_the_path_grows_by_pieces_that_touch(flight, read):
    times_us, strips = read.of('/world/path', 'LineStrips3D:strips')
    pieces = strips[:, 0]
    assert pieces.shape == (len(times_us), 2, 3)
    np.testing.assert_array_equal(pieces[1:, 0], pieces[:-1, 1])
    np.testing.assert_allclose(
        pieces[:, 1], flight[1]['ground_truth/pose']['position_m'].values, atol=FLOAT32)


def test_rotors_turn_in_the_sense_of_the_vehicle_file(flight, read):
    configuration, series, _ = flight
    time_s, speeds = series['joint_states']['rotor_speed_rad_s']
    assert speeds.min() >= 0.0 and speeds.max() > 500.0
    for i, rotor in enumerate(configuration.vehicle.rotors):
        times_us, xyzw = read.of(
            f'/world/vehicle/rotor_{i + 1}_link/turning', 'Transform3D:quaternion')
        assert times_us == in_us(series['joint_states']['rotor_speed_rad_s'])
        x, y, z, w = xyzw[:, 0].T
        assert not x.any() and not y.any()
        turned = np.diff(np.unwrap(2.0 * np.arctan2(z, w)))
        sense = {'ccw': 1.0, 'cw': -1.0}[rotor.turns]
        np.testing.assert_allclose(
            turned, sense * speeds[1:, i] * np.diff(time_s) / SLOWED_DOWN, atol=1e-5)
        place = read.static[f'/world/vehicle/rotor_{i + 1}_link']['Transform3D:translation']
        np.testing.assert_allclose(place[0], rotor.position_m, atol=FLOAT32)


def test_thrust_is_as_the_square_of_the_speed(flight, read):
    configuration, series, _ = flight
    speeds = series['joint_states']['rotor_speed_rad_s'].values
    _, vectors = read.of('/world/vehicle/thrust', 'Arrows3D:vectors')
    assert vectors.shape == (*speeds.shape, 3)
    assert not vectors[:, :, :2].any()
    vehicle = configuration.vehicle
    weight_n = vehicle.body.mass_kg * configuration.world.gravity_m_s2
    thrust_n = vehicle.rotor_model.thrust_coefficient_n_s2 * speeds**2
    # An arrow of a share of the weight has 0.35 m.
    np.testing.assert_allclose(
        vectors[:, :, 2], 0.35 * thrust_n / (weight_n / len(vehicle.rotors)), rtol=1e-5)
    origins = read.static['/world/vehicle/thrust']['Arrows3D:origins']
    np.testing.assert_allclose(origins, [r.position_m for r in vehicle.rotors], atol=FLOAT32)


def test_all_shapes_of_the_vehicle_are_there(flight, read):
    shapes = vehicle_shapes(flight[0].vehicle)
    drawn = [entity for entity, values in read.static.items() if any(
        name.startswith(('Boxes3D', 'Cylinders3D', 'Ellipsoids3D')) for name in values)
        and entity.startswith('/world/vehicle')]
    assert sorted(entity.rpartition('/')[2] for entity in drawn) == sorted(
        shape.name for shape in shapes)
    for i in range(4):
        turning = [e for e in drawn if e.startswith(f'/world/vehicle/rotor_{i + 1}_link/turning/')]
        assert len(turning) == sum(shape.frame == f'rotor_{i + 1}_link' for shape in shapes) > 0
    for shape in shapes:
        entity, = [e for e in drawn if e.endswith(f'/{shape.name}')]
        w, *xyz = shape.attitude
        found = {name.partition(':')[2]: value for name, value in read.static[entity].items()}
        np.testing.assert_allclose(found['centers'], [shape.position_m], atol=FLOAT32)
        np.testing.assert_allclose(found['quaternions'], [[*xyz, w]], atol=FLOAT32)


def test_mission_wind_and_accuracy_are_there(flight, read):
    series = flight[1]
    np.testing.assert_allclose(read.static['/world/mission']['Points3D:positions'],
                               [place.position_enu_m for place in PLACES])
    times_us, arrows = read.of('/world/above/wind', 'Arrows3D:vectors')
    wind = series['wind']['velocity_m_s']
    assert times_us == in_us(wind)
    np.testing.assert_allclose(arrows[:, 0], wind.values / 5.0, atol=FLOAT32)
    times_us, sizes = read.of('/world/gps', 'Ellipsoids3D:half_sizes')
    assert times_us == in_us(series['gps/fix']['deviation_m'])
    np.testing.assert_allclose(
        sizes[:, 0], series['gps/fix']['deviation_m'].values, rtol=FLOAT32)
    _, centres = read.of('/world/gps', 'Ellipsoids3D:centers')
    measured, = [c for c in compare_sensors(flight[0], series)
                 if (c.sensor, c.quantity) == ('gps', 'position')]
    np.testing.assert_allclose(centres[:, 0], measured.measured, rtol=FLOAT32, atol=FLOAT32)


def test_the_beam_ends_where_the_range_says(flight, read):
    measured = flight[1]['range']['range_m']
    seen = np.isfinite(measured.values[:, 0])
    times_us, strips = read.of('/world/vehicle/range', 'LineStrips3D:strips')
    assert times_us == np.array(in_us(measured))[seen].tolist()
    beams = np.diff(strips[:, 0], axis=1)[:, 0]
    # It looks down.
    np.testing.assert_allclose(
        beams, [(0.0, 0.0, -r) for r in measured.values[seen, 0]], atol=FLOAT32)


# Over time.

def test_sensors_are_compared_with_the_truth(flight, read):
    comparisons = compare_sensors(*flight[:2])
    assert {c.sensor for c in comparisons} >= {
        'imu', 'imu_1', 'magnetometer', 'barometer', 'gps', 'airspeed', 'range_finder',
        'optical_flow', 'visual_odometry'}
    for c in comparisons:
        entity = f"/sensors/{c.sensor}/{c.quantity.replace(' ', '_')}"
        for part, expected in ('measured', c.measured), ('truth', c.truth):
            times_us, values = read.scalars(f'{entity}/{part}')
            assert times_us == in_us(c)
            np.testing.assert_array_equal(values, expected)
            names = read.static[f'{entity}/{part}']['SeriesLines:names']
            assert len(names) == values.shape[1]
            assert all(c.unit in name for name in names)


def test_motion_rotors_and_battery_are_the_recorded_ones(flight, read):
    series = flight[1]
    odometry = series['ground_truth/odom']
    for entity, found in (
            ('/truth/position', odometry['position_m']),
            ('/truth/velocity', odometry['velocity_m_s']),
            ('/truth/rate', odometry['rate_rad_s']),
            ('/rotors/speed', series['joint_states']['rotor_speed_rad_s']),
            ('/rotors/reference', series['actuators/command']['rotor_speed_reference_rad_s']),
            ('/battery/voltage', series['battery_state']['voltage_v']),
            ('/battery/current', series['battery_state']['current_a']),
            ('/wind/velocity', series['wind']['velocity_m_s'])):
        times_us, values = read.scalars(entity)
        assert times_us == in_us(found), entity
        np.testing.assert_array_equal(values, found.values)
    np.testing.assert_array_equal(
        read.scalars('/truth/attitude')[1],
        roll_pitch_yaw_deg(odometry['attitude_wxyz'].values))


def test_what_is_said_is_there_at_its_time(read):
    for time_s, level, who, text in SAID:
        lines = read.values[f'/log/{who}']
        time_us = round(time_s * US_PER_S)
        assert lines['TextLog:text'] == {time_us: [text]}
        assert lines['TextLog:level'] == {time_us: [level]}


# What the autopilot says of itself.

SAID_US = [steps * STEP_US - EARLIER_US for steps in range(
    ESTIMATE_STEPS, round(DURATION_S * US_PER_S) // STEP_US, ESTIMATE_STEPS)]


def test_the_estimate_is_there_at_its_own_times(read):
    assert assert_estimate(read) == SAID_US


def test_a_recording_shows_mode_and_texts_of_the_autopilot(flight):
    path = flight[2] / 'recording.rrd'
    stream = rerun.RecordingStream('test')
    stream.save(path)
    write_vehicle(BagReader(flight[2] / 'bag'), lambda: stream)
    stream.flush(timeout_sec=10.0)
    stream.disconnect()
    seen = Read(path)
    assert assert_estimate(seen) == SAID_US
    # A text is at its own time.
    assert seen.values['/log/autopilot']['TextLog:text'] == {
        STATUS_US: ['TAKEOFF, armed, in the air'], TEXT_US: ['takeoff detected']}


class Once:
    """Asks a viewer to stop after the first look, before which messages have been sent."""

    def __init__(self, send):
        self._send = send

    @property
    def asked(self):
        send, self._send = self._send, None
        if send is not None:
            send()
        return send is None


def test_a_stream_shows_the_autopilot_as_a_recording_does(flight, tmp_path):
    """The viewer of a running graph, with the messages of the recording over DDS."""
    configuration, _, folder = flight
    bag = BagReader(folder / 'bag')
    names = POSE, side_topics.ESTIMATE.name, side_topics.SET_POINT.name
    messages = [message for message in bag.messages() if message.topic in names]
    with ros_node('viewed') as node:
        view = RerunView(node, configuration, RerunTarget(str(tmp_path / 'live.rrd')))
        types = {topic.name: topic.type for topic in (
            bag.run.graph.topics[POSE], side_topics.ESTIMATE, side_topics.SET_POINT)}
        publishers = {name: node.create_publisher(message_class(types[name]), name, qos.LATCHED_LOG)
                      for name in names}

        def send():
            for message in messages:
                publishers[message.topic].publish(message.data)
            for publisher in publishers.values():
                assert publisher.wait_for_all_acked(Duration(seconds=PATIENCE_S))
        deadline_s = time.monotonic() + PATIENCE_S
        while not all(p.get_subscription_count() for p in publishers.values()):
            assert time.monotonic() < deadline_s, 'the viewer does not subscribe'
            time.sleep(0.01)
        view.run(Once(send))
    seen = Read(tmp_path / 'live.rrd')
    assert assert_estimate(seen) == SAID_US
    poses = flight[1][POSE]['position_m']
    assert seen.of('/world/vehicle', 'Transform3D:translation')[0] == in_us(poses)


# In portions.

def test_portions_are_the_same_as_the_whole(flight, read):
    """The path, the angles and the wind that a sensor feels go on from one to the next."""
    configuration, series, folder = flight
    parts = portions(series)
    assert all(parts)
    again = written(folder / 'portions.rrd', configuration, parts)
    assert again.values == read.values
    assert again.static == read.static


def test_a_portion_of_a_stream_ends_where_the_truth_is_known(flight, tmp_path):
    """What is measured later waits for the truth beside it."""
    configuration, _, folder = flight
    bag = BagReader(folder / 'bag')
    with ros_node('viewed') as node:
        view = RerunView(node, configuration, RerunTarget(str(tmp_path / 'live.rrd')))
        view._begin_run([])
        poses_us = []
        for message in bag.messages():
            if message.topic in (POSE, 'baro'):
                view._add(Stamped(message.topic, message.time_us, message.data))
            if message.topic == POSE:
                poses_us.append(message.time_us)
                if not len(poses_us) % 7:
                    view._show(message.time_us)
        view._end_run()
    seen = Read(tmp_path / 'live.rrd')
    entity = '/sensors/barometer/height_from_pressure/truth'
    assert seen.scalars(entity)[0] == poses_us[2:-2]


def test_a_vehicle_with_other_rotors_is_reported(flight):
    configuration = load_configuration(None, {'': {'vehicle': 'hexa'}})
    log = RerunLog(rerun.RecordingStream('test'), configuration)
    with pytest.raises(ParameterError, match='it has 6 rotors and that of the graph has 4'):
        log.add(flight[1])


def test_a_collector_keeps_the_rest(flight):
    bag = BagReader(flight[2] / 'bag')
    collector = SeriesCollector(bag.run.graph)
    for message in bag.messages():
        if message.topic in collector:
            collector.add(message.topic, message.time_us, bag.decode(message))
    edges_us = [round(edge_s * US_PER_S) for edge_s in PORTIONS_S]
    taken = [*map(collector.take, edges_us), collector.take()]
    assert collector.take() == {}
    whole = flight[1]
    for topic, fields in whole.items():
        for name, series in fields.items():
            parts = [part[topic][name] for part in taken if topic in part]
            np.testing.assert_array_equal(
                np.concatenate([p.time_s for p in parts]), series.time_s)
            np.testing.assert_array_equal(
                np.concatenate([p.values for p in parts]), series.values)
    for part, start_us, end_us in zip(taken, [0, *edges_us], edges_us):
        times_us = in_us(next(iter(part['ground_truth/odom'].values())))
        assert times_us == [
            t for t in range(0, end_us + 1, STEP_US) if t > start_us]
