# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rerun gets of a flight what is in the recording: read back by Rerun's own reader."""

import numpy as np
import pytest
from bags import STEP_US
from headless_rerun import Read
from report_flights import fly, rewritten

pytest.importorskip('rerun', reason='rerun-sdk is not installed')
import rerun
from transforms3d.quaternions import quat2mat

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.own_blocks import to_text
from px4_sim_ros.model.scene.moving import placed
from px4_sim_ros.model.telemetry import AutopilotStatus, Estimate, SetPoint
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.recording.analysis.attitudes import roll_pitch_yaw_deg
from px4_sim_ros.recording.analysis.sensor_errors import compare_sensors
from px4_sim_ros.recording.analysis.series import Waypoint, read_series
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.bag.run_description import RunDescription
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.spec.files import Files
from px4_sim_ros.spec.own_blocks import rows_of
from px4_sim_ros.viewing.markers import SLOWED_DOWN
from px4_sim_ros.viewing.rerun_bag import write_vehicle
from px4_sim_ros.viewing.rerun_log import RerunLog
from px4_sim_ros.viewing.shapes import vehicle_shapes

DURATION_S = 1.2
# Rerun keeps what is in space as float32, and what is plotted as float64.
FLOAT32 = 1e-6
SAID = (0.5, 'INFO', 'pilot', 'armed'), (0.7, 'WARN', 'imu', 'it is silent')
# The autopilot estimates each 32 ms, at a time of its own before that of the step.
ESTIMATE_STEPS, EARLIER_US = 8, 1500
SENT_US, STATUS_US, TEXT_US = 100_500, 220_500, 224_000
PLACES = [Waypoint('10 m up', (0.0, 0.0, 10.0)), Waypoint('10 m north', (0.0, 10.0, 10.0))]


def in_us(series):
    return np.rint(series.time_s * US_PER_S).astype(int).tolist()


def written(path, configuration, series):
    """Write a flight and log messages; return what Rerun reads."""
    stream = rerun.RecordingStream('test')
    stream.save(path)
    log = RerunLog(stream, configuration, PLACES)
    log.add(series)
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
    """Return what Rerun reads."""
    configuration, series, folder = flight
    return written(folder / 'once.rrd', configuration, series)


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
    write_vehicle(BagReader(flight[2] / 'bag'), stream)
    stream.flush(timeout_sec=10.0)
    stream.disconnect()
    seen = Read(path)
    assert assert_estimate(seen) == SAID_US
    # A text is at its own time.
    assert seen.values['/log/autopilot']['TextLog:text'] == {
        STATUS_US: ['TAKEOFF, armed, in the air'], TEXT_US: ['takeoff detected']}


def test_a_vehicle_with_other_rotors_is_reported(flight):
    configuration = load_configuration(None, {'': {'vehicle': 'hexa'}})
    log = RerunLog(rerun.RecordingStream('test'), configuration)
    with pytest.raises(ParameterError, match='it has 6 rotors and that of the graph has 4'):
        log.add(flight[1])


# Images, clouds and scans.

SEES = [
    {'class': 'px4_sim_ros:Lidar', 'lines': 4, 'columns': 60, 'position_m': [0.1, 0.0, 0.2]},
    {'class': 'px4_sim_ros:Lidar2d', 'columns': 90},
    {'class': 'px4_sim_ros:Camera', 'width': 16, 'height': 12},
    {'class': 'px4_sim_ros:LabelCamera', 'width': 16, 'height': 12},
    {'class': 'px4_sim_ros:DepthCamera', 'width': 16, 'height': 12},
    {'class': 'px4_sim_ros:DepthCameraInfo', 'width': 16, 'height': 12}]


def test_what_sensors_see_of_a_scene_is_in_their_frames(tmp_path):
    fly(tmp_path / 'bag', 0.3, {'': {
        'scene': 'street', 'blocks': to_text(rows_of({'vehicle': SEES}))}})
    bag = BagReader(tmp_path / 'bag')
    stream = rerun.RecordingStream('test')
    stream.save(tmp_path / 'seen.rrd')
    write_vehicle(bag, stream)
    stream.flush(timeout_sec=10.0)
    stream.disconnect()
    read = Read(tmp_path / 'seen.rrd')
    messages = {}
    for message in bag.messages():
        if message.topic in ('lidar/points', 'scan', 'camera/image_raw', 'labels/image_raw',
                             'depth/image', 'depth/camera_info'):
            messages.setdefault(message.topic, {})[message.time_us] = bag.decode(message)
    vehicle, optical = '/world/vehicle', '/world/vehicle/{}_optical_frame'
    camera, depth, labels = map(optical.format, ('camera', 'depth_camera', 'label_camera'))

    # Points of the cloud and of the scan, in the frame of the lidar.
    times_us, clouds = read.of(f'{vehicle}/lidar_link/lidar/points', 'Points3D:positions')
    assert times_us == sorted(messages['lidar/points'])
    for time_us, points in zip(times_us, clouds):
        raw = np.asarray(messages['lidar/points'][time_us].data, np.uint8)
        first = raw.reshape(len(points), -1)[:, :12].copy()         # x, y and z
        np.testing.assert_array_equal(points, first.view('<f4'))
    assert read.static[f'{vehicle}/lidar_link']['Transform3D:translation'][0] == pytest.approx(
        [0.1, 0.0, 0.2])
    found = read.values[f'{vehicle}/lidar2d_link/scan']['Points3D:positions']
    for time_us, scan in messages['scan'].items():
        ranges_m = np.asarray(scan.ranges)
        points = np.array(found[time_us])
        np.testing.assert_allclose(
            np.hypot(*points[:, :2].T), ranges_m[np.isfinite(ranges_m)], rtol=1e-5)
        ahead = np.abs(np.arctan2(points[:, 1], points[:, 0])).argmin()
        middle = len(ranges_m) // 2
        assert points[ahead, 0] == pytest.approx(
            np.nanmin(ranges_m[middle - 1:middle + 1]), rel=0.05)

    # Pixels, and the calibration of what has one.
    def pixels(entity, archetype, dtype, time_us):
        buffer, = read.values[entity][f'{archetype}:buffer'][time_us]
        return np.array(buffer, np.uint8).view(dtype).reshape(12, 16, -1)

    for entity, topic, archetype, dtype in (
            (camera, 'camera/image_raw', 'Image', 'u1'),
            (labels, 'labels/image_raw', 'SegmentationImage', '<u2'),
            (depth, 'depth/image', 'DepthImage', '<f4')):
        for time_us, image in messages[topic].items():
            data = np.asarray(image.data, np.uint8).view(dtype).reshape(12, 16, -1)
            data = np.where(np.isfinite(data), data, 0)
            np.testing.assert_array_equal(
                pixels(f'{entity}/{topic}', archetype, dtype, time_us), data)
            assert data.any()
    info = next(iter(messages['depth/camera_info'].values()))
    matrix, = next(iter(read.values[depth]['Pinhole:image_from_camera'].values()))
    np.testing.assert_allclose(np.reshape(matrix, (3, 3), order='F'), np.reshape(info.k, (3, 3)))
    context, = read.static[vehicle]['AnnotationContext:context']
    assert [entry['class_description']['info']['label'] for entry in context][:3] == [
        'sky', 'ground', bag.run.configuration({}).scene.objects[0].name]


def test_what_moves_in_a_scene_is_where_it_is_at_the_time(tmp_path):
    fly(tmp_path / 'bag', 0.3, {'': {'scene': 'moving_deck'}})
    stream = rerun.RecordingStream('test')
    stream.save(tmp_path / 'moving.rrd')
    write_vehicle(BagReader(tmp_path / 'bag'), stream)
    stream.flush(timeout_sec=10.0)
    stream.disconnect()
    read, scene = Read(tmp_path / 'moving.rrd'), Files().scene('moving_deck')
    for its in scene.objects:
        entity = f'/world/scene/{its.name}'
        assert any(name.endswith(('half_sizes', 'lengths')) for name in read.static[entity])
        times_us, places_m = read.of(entity, 'Transform3D:translation')
        assert times_us[0] == 0 and times_us[-1] >= 250_000
        _, turns = read.of(entity, 'Transform3D:quaternion')
        (in_ship,), = (value for name, value in read.static[entity].items()
                       if name.endswith('translations') or name.endswith('centers'))
        for time_us, (place_m,), (turn,) in zip(times_us, places_m, turns):
            assert place_m + quat2mat(np.roll(turn, 1)) @ in_ship == pytest.approx(
                placed(scene, its, time_us)[0], abs=1e-5)
    assert 'Mesh3D:albedo_texture_buffer' in read.static['/world/scene/marker/picture']
