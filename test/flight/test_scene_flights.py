# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A flight in a scene, with all that sees it: the same bits in all modes, replayed, at any load."""
import os
import pathlib
import re
import shutil

import numpy as np
import pytest
import trimesh
import yaml
from commands import IN_MODES, MODES, command, flown_in_modes, here, replayed, running

from px4_sim_ros import Flight
from px4_sim_ros.model.rotation import difference, matrix, to_body
from px4_sim_ros.model.scene.moving import placed
from px4_sim_ros.recording.analysis.comparison import compare_bags
from px4_sim_ros.recording.analysis.export import read_table
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.spec.files import Files
from px4_sim_ros.spec.resources import config_directory
from px4_sim_ros.step.runner import Runner

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / 'examples'
SCENARIO = '''
scene: {scene}
mission: [{take_off: {up_m: 0.5}}, {land: {}}]
weather: {wind: dryden}
place: {instances.range_finder: 1, instances.optical_flow: 1, instances.gps: 2, gnss_sky: true}
set: {range_finder.direction: left}
blocks:
  - {class: 'px4_sim_ros:Lidar', columns: 60, lines: 4, drop_out: 0.1}
  - {class: 'px4_sim_ros:Lidar2d', columns: 90, to_autopilot: true}
  - {class: 'px4_sim_ros:DepthCamera', width: 32, height: 24}
  - {class: 'px4_sim_ros:DepthCameraInfo', width: 32, height: 24}
'''
LENS = 'width: 64, height: 48, distortion: [-0.2, 0.05, 0, 0, 0]'
CAMERAS = f'''  - {{class: 'px4_sim_ros:Camera', noise: 0.01, mounting_deg: [0, 20, 0], {LENS}}}
  - {{class: 'px4_sim_ros:CameraCalibration', {LENS}}}
  - {{class: 'px4_sim_ros:LabelCamera', period_us: 200000, {LENS}}}
'''
DOWN = CAMERAS.replace('[0, 20, 0]', '[0, 90, 0]')
# A fault of each kind, up to the end of the last.
MANY = {
    'vehicle': 'vehicle.yaml', 'weather': {'wind': 'dryden', 'speed_m_s': 3.0},
    'mission': [{'take_off': {'up_m': 0.4}}, {'land': {}}],
    'events': [
        {'at_s': 0.4, 'for_s': 0.2, 'autopilot_off': None},
        {'when': {'height_m': {'above': 0.1}}, 'for_s': 0.1, 'autopilot_paused': None},
        {'when': {'height_m': {'above': 0.15}}, 'for_s': 0.1, 'replies_lost': {'share': 0.5}},
        {'at_s': 2.5, 'for_s': 0.5, 'sensor_bias': {
            'sensor': 'imu', 'channel': 'accel', 'value': [0.3, 0.0, 0.1]}},
        {'at_s': 2.6, 'for_s': 0.5, 'sensor_off': {'sensor': 'magnetometer'}},
        {'at_s': 2.6, 'for_s': 0.5, 'sensor_noise': {'sensor': 'barometer', 'sigma': 5}},
        {'at_s': 2.6, 'for_s': 0.3, 'sensor_frozen': {'sensor': 'sun_sensor'}},
        {'at_s': 2.6, 'gnss_spoofed': {'path': [[5, 0.5, 0, 0]]}},
        {'at_s': 2.6, 'turbulence': {'intensity_m_s': 1.0, 'correlation_time_s': 1.0}},
        {'at_s': 2.6, 'motor_slow': {'motor': 2, 'time_constant_s': 0.02}},
        {'at_s': 2.6, 'payload': {'mass_kg': 0.02, 'position_m': [0.05, 0.0, 0.0],
                                  'inertia_kg_m2': [0.001, 0.0, 0.0]}},
        {'at_s': 2.6, 'for_s': 0.3, 'torque': {'torque_n_m': [0.05, 0.0, 0.0]}},
        {'at_s': 2.6, 'air_density': {'share': 0.98}},
        {'at_s': 2.6, 'for_s': 0.5, 'replies_late': {'delay_s': 0.01}},
        {'at_s': 2.6, 'battery_capacity': {'share': 0.5}}],
    'expect': [{'always': {'tilt_deg': {'below': 30}}},
               {'eventually': {'height_m': {'above': 0.15}}},
               {'never': {'clearance_m': {'below': -1}}}],
    'end': {'at_s': 4.2}}
PAD = {'name': 'pad', 'shape': 'mesh', 'file': 'cube.stl', 'scale': 2.0, 'place_m': [0, 0, -0.8]}
TOPICS = ('lidar/points', 'scan', 'depth/image', 'depth/camera_info', 'range', 'optical_flow',
          'gps/sky', 'gps_1/sky', 'camera/image_raw', 'camera/camera_info', 'labels/image_raw')


def write_scenario(folder, text):
    """Write it and its scene: the street, with a mesh on which the vehicle starts, and a tower."""
    street = yaml.safe_load((config_directory() / 'scenes' / 'street.yaml').read_text())
    street['objects'] += [PAD, PAD | {'name': 'tower', 'scale': 3.0, 'place_m': [1, 6, 1]}]
    (folder / 'yard.yaml').write_text(yaml.safe_dump(street))
    trimesh.creation.box((1.0, 1.0, 1.0)).export(folder / 'cube.stl')
    (folder / 'mine.yaml').write_text(text.replace('{scene}', str(folder / 'yard.yaml')))


def write_sea(folder):
    """Write a scene; return it: a mesh on a ship's deck, and one that passes the ship."""
    trimesh.creation.box((1.0, 1.0, 1.0)).export(folder / 'cube.stl')
    sea = yaml.safe_load((config_directory() / 'scenes' / 'moving_deck.yaml').read_text())
    sea['paths']['boat'] = {'points': [{'time_s': 0, 'place_m': [-5, 6, 0]},
                                       {'time_s': 20, 'place_m': [55, 6, 0], 'yaw_deg': 40}]}
    sea['objects'] += [PAD | {'scale': 6.0, 'place_m': [-8, 0, -0.9], 'path': 'ship'},
                       PAD | {'name': 'boat', 'place_m': [0, 0, 3], 'path': 'boat'}]
    (folder / 'sea.yaml').write_text(yaml.safe_dump(sea))
    return sea


@pytest.mark.process
@pytest.mark.parametrize(
    'modes', [MODES[:2], pytest.param(MODES, marks=pytest.mark.long)], ids=['two', 'all'])
def test_all_at_once_is_the_same_in_all_modes_and_is_replayed(modes, tmp_path, instance):
    """From a mesh on a ship's deck: all that sees, one on a gimbal, own code, faults of each kind.

    It heaves and rolls, and another mesh passes it. Commands are late, so that `core` and
    `composed` act ahead, and `separate` and the replays do not.
    """
    for name in 'sun_sensor.py', 'visual_odometry.py':
        shutil.copy(EXAMPLES / name, tmp_path)
    sea = write_sea(tmp_path)
    iris = yaml.safe_load((config_directory() / 'vehicles' / 'iris.yaml').read_text())
    # By the control of a rotor, which moves all the time.
    iris['servos'] = [{'name': 'pan', 'control': 0, 'lag_s': 0.02, 'rate_rad_s': 9.0,
                       'travel_rad': 3.0}]
    (tmp_path / 'vehicle.yaml').write_text(yaml.safe_dump(iris))
    sees = yaml.safe_load(SCENARIO.replace('{scene}', 'sea.yaml') + DOWN)
    sees['set']['range_finder.direction'] = 'down'
    # ImageOdometry joins the images with the range, each 60 ms.
    sees['place']['periods_us.range_finder'] = 20_000
    for block in sees['blocks']:
        if block['class'].startswith('px4_sim_ros:Camera'):
            block['period_us'] = 60_000
    sees['blocks'] += [
        {'class': 'px4_sim_ros:DistanceSensor', 'gimbal_pitch': 'pan', 'gimbal_yaw': 'pan'},
        {'class': 'sun_sensor.py:SunSensor'}, {'class': 'visual_odometry.py:ImageOdometry'}]
    (tmp_path / 'mine.yaml').write_text(yaml.safe_dump(sees | MANY))
    bags, compared = flown_in_modes(
        tmp_path, instance, '--scenario', 'mine.yaml', '--set', 'dynamics.command_delay_us=8000',
        modes=modes)
    for found in compared:
        assert all(found.topics[topic].equal > 10 for topic in (*TOPICS, 'distance', 'sun'))
        assert found.topics['camera/odometry'].equal       # so low it sees little
    assert np.ptp(read_table(bags['core'], 'joint_states')['servo_angle_rad.1']) > 0.1
    labels = [frozenset(np.frombuffer(data[-64 * 48 * 2:], '<u2').tolist())
              for topic, _, data in bags['core'].messages() if topic.endswith('labels/image_raw')]
    assert len(set(labels)) > 1, 'nothing moves'
    meshes = {sea['objects'].index(its) + 2 for its in sea['objects'] if its['shape'] == 'mesh'}
    assert meshes <= frozenset.union(*labels)
    # The recording has a copy of the scenario, and of what it names.
    for name in 'mine.yaml', 'vehicle.yaml', 'sea.yaml', 'cube.stl':
        (tmp_path / name).unlink()
    allow = [word for its in ('sun_sensor.py:SunSensor', 'visual_odometry.py:ImageOdometry')
             for word in ('--allow', its)]
    for mode in modes[:-1]:
        replayed(tmp_path, mode, '--mode', mode, *allow)
    again = here('refly', 'core', *allow, cwd=tmp_path)
    assert again.returncode == 0, again.stdout + again.stderr


@pytest.mark.process
@pytest.mark.long
def test_it_is_the_same_in_all_modes_and_is_replayed(tmp_path, instance):
    write_scenario(tmp_path, SCENARIO + CAMERAS + 'end: {at_s: 3.5}')
    bags, compared = flown_in_modes(tmp_path, instance, '--scenario', 'mine.yaml')
    core = bags['core']
    for found in compared:
        assert all(found.topics[topic].equal > 10 for topic in TOPICS)
    images = [np.frombuffer(data[-64 * 48 * 3:], np.uint8)
              for topic, _, data in core.messages() if topic.endswith('camera/image_raw')]
    assert len(images) > 50
    first, second, later = (image.astype(float) for image in (*images[:2], images[-20]))
    noise, moved = (np.abs(other - first).mean() for other in (second, later))
    assert moved > 3.0 * noise, 'it has moved'
    replayed(tmp_path, 'core')             # in the scene of the recording
    # Another scene is a what-if: the motion is the same, and what is seen is not.
    (tmp_path / 'pad.yaml').write_text(yaml.safe_dump({'objects': [PAD]}))
    other = here('replay', 'core', '--scene', 'pad.yaml', '--record', 'other', cwd=tmp_path)
    assert other.returncode == 0, other.stdout + other.stderr
    found = compare_bags(core, BagReader(tmp_path / 'other'))
    assert found.topics['ground_truth/odom'].differ == 0 and found.topics['scan'].differ > 10


@pytest.mark.process
@IN_MODES
def test_propellers_break_in_all_modes_and_in_a_replay(modes, tmp_path, instance):
    """In the same step: as compiled code takes steps at once, and as messages go around."""
    # From nearer to the wall.
    bags, _ = flown_in_modes(tmp_path, instance, '--scenario', 'propeller_breaks',
                             '--set', 'dynamics.start_east_m=12', modes=modes)
    said = {mode: [(found.stamp.sec, found.stamp.nanosec, found.msg) for its in bag.messages()
                   if its.topic == '/rosout' and ' touch' in (found := bag.decode(its)).msg]
            for mode, bag in bags.items()}
    assert all(its == said['core'] for its in said.values())
    assert [text.partition(',')[0] for *_, text in said['core'] if 'rotor' in text] == [
        f'rotor {number} has touched wall' for number in (1, 3)]
    speeds = [message.velocity for message in (
        bags['core'].decode(its) for its in bags['core'].messages()
        if its.topic == 'joint_states')]
    assert max(speeds[-1][0], speeds[-1][2]) < 10.0 < 100.0 < min(speeds[-1][1], speeds[-1][3])
    replayed(tmp_path, 'core')


@pytest.mark.process
def test_an_export_leaves_out_octets(tmp_path, instance):
    write_scenario(tmp_path, SCENARIO + 'end: {at_s: 0.5}')
    assert here('fly', '--mode', 'core', '--scenario', 'mine.yaml', '--record', 'bag',
                '--instance', instance, cwd=tmp_path).returncode == 0
    done = here('export', 'bag', '-o', 'tables', cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    heads = {topic: (tmp_path / 'tables' / f'{topic}.csv').read_text().partition('\n')[0]
             for topic in ('lidar_points', 'depth_image', 'scan')}
    assert 'width' in heads['lidar_points'] and 'data' not in heads['lidar_points']
    assert 'data' not in heads['depth_image'] and 'ranges.89' in heads['scan']


@pytest.mark.slow
def test_a_range_finder_sees_the_scene(instance):
    """Its nose is to the east; 16.75 m to the left, the north, is a column of the warehouse."""
    result = Flight(
        scenario={'scene': 'warehouse', 'mission': [{'take_off': {'up_m': 2.0}}, {'land': {}}],
                  'place': {'instances.range_finder': 1},
                  'set': {'range_finder.direction': 'left', 'range_finder.max_range_m': 40.0,
                          'range_finder.noise_m': 0.0, 'range_finder.position_m': [0, 0, 0],
                          'range_finder.field_of_view_deg': 0.0}}, instance=instance).fly()
    ranges, truth = result.table('range'), result.table()
    at = np.searchsorted(truth['time_s'], ranges['time_s'] - 1e-6)
    north, east = (truth[f'position_m.{axis}'][at] for axis in 'yx')
    yaw = 2.0 * np.arctan2(truth['attitude_wxyz.z'][at], truth['attitude_wxyz.w'][at])
    is_level = np.hypot(east, yaw * 17.0) < 0.05
    assert is_level.sum() > 20
    assert ranges['range_m'][is_level] == pytest.approx(16.75 - north[is_level], abs=0.03)


@pytest.mark.slow
def test_satellites_are_lost_in_a_street_and_come_back(instance):
    """The flight of the example, but faster: towers on both sides from 31 to 85 m to the north."""
    example = yaml.safe_load((EXAMPLES / 'canyon.yaml').read_text())
    example['mission'][1]['go_to']['speed_m_s'] = 8.0
    result = Flight(scenario=example, instance=instance).fly()
    sky, fix, truth = (result.table(name) for name in ('gps/sky', 'gps/fix', 'ground_truth/odom'))
    at = np.searchsorted(truth['time_s'], sky['time_s'] - 1e-6)
    north, count = truth['position_m.y'][at], sky['satellites']
    assert count[north < 5.0].min() >= 14 and count[north > 100.0].min() >= 14
    between = (north > 45.0) & (north < 75.0)
    assert set(count[between]) <= {3, 4, 5, 6, 7} and count[between].min() <= 4
    has_fix = fix['status'] >= 0
    assert np.array_equal(has_fix, np.hypot(sky['hdop'], sky['vdop']) <= 25.0)
    assert sky['hdop'][between].min() > 2.0 * sky['hdop'][north < 5.0].max()
    # The accuracy that is reported is in proportion: 0.9 m times HDOP over that of an open sky.
    for axis, dop in ('x', 'hdop'), ('z', 'vdop'):
        ratio = fix[f'deviation_m.{axis}'][has_fix] / sky[dop][has_fix]
        assert ratio.max() / ratio.min() < 1.5
    assert result.summary()['mission_flown']


@pytest.mark.process
@pytest.mark.long
def test_a_busy_machine_changes_nothing(tmp_path, instance, other_instance):
    """Two processes at once, which want both cores."""
    write_scenario(tmp_path, SCENARIO)
    words = ['fly', '--mode', 'core', '--scenario', tmp_path / 'mine.yaml']
    with running(command(*words, '--instance', instance)) as one, running(
            command(*words, '--instance', other_instance)) as other:
        said = [process.communicate(timeout=120)[0] for process in (one, other)]
    found = {re.search(r'^fingerprint +(\w+)', text, re.M)[1] for text in said}
    assert len(found) == 1


@pytest.mark.slow
def test_in_a_step_that_a_sensor_holds_none_acts_twice(instance, monkeypatch):
    """Steps at once and step by step, with a scenario and an airspeed that is not late."""
    def fingerprint():
        return Flight(scenario={
            'mission': [{'take_off': {'up_m': 0.3}}, {'land': {}}],
            'place': {'instances.airspeed': 1, 'delays_us.airspeed': 0}},
            instance=instance, record=False).fly().fingerprint

    at_once, counts = fingerprint(), []
    monkeypatch.setattr(Runner, '_run_ahead', lambda *arguments: counts.append(1))
    assert fingerprint() == at_once and counts


# The embedded autopilot goes from the deck and back onto it, PX4 from the ground onto the deck.
FROM_THE_DECK = {
    'end': {'at_s': 20}, 'set': {'dynamics.start_east_m': 12.0, 'dynamics.start_north_m': 2.0},
    'mission': [{'take_off': {'up_m': 1.0}}, {'land': {}}]}
FROM_THE_GROUND = {
    'end': {'at_s': 55}, 'set': {'dynamics.start_east_m': -8.0},
    'mission': [{'take_off': {'up_m': 6.0}},
                {'go_to': {'north_m': 2.0, 'east_m': 48.0, 'up_m': 6.0}}, {'land': {}}]}


@pytest.mark.slow
@pytest.mark.parametrize(('autopilot', 'scenario', 'landed_s'), [
    ('embedded', FROM_THE_DECK, 13.0),
    pytest.param('px4', FROM_THE_GROUND, 45.0, marks=pytest.mark.px4)])
def test_it_lands_on_a_ship_disarms_and_sails_with_it(instance, autopilot, scenario, landed_s):
    """Where it stands on the deck does not change any more, while that goes on."""
    given = {'px4_dir': os.environ['PX4_DIR']} if autopilot == 'px4' else {}
    result = Flight(scenario={'scene': 'moving_deck', **scenario}, autopilot=autopilot,
                    instance=instance, **given).fly()
    assert result.has_succeeded
    assert any('touches hull' in str(event) for event in result.events)
    truth, ship = result.table(), Files().scene('moving_deck')
    hull = ship.objects[0]

    def on_deck(time_s):
        i = np.searchsorted(truth['time_s'], time_s)
        middle, attitude = placed(ship, hull, round(truth['time_s'][i] * 1e6))
        place = tuple(truth[f'position_m.{axis}'][i] for axis in 'xyz')
        return to_body(matrix(attitude), difference(place, middle))

    landed, end = on_deck(landed_s), on_deck(truth['time_s'][-1] - 0.1)
    assert landed[2] == pytest.approx(2.053, abs=0.01)
    assert landed == pytest.approx(end, abs=0.01)
    assert truth['position_m.x'][-1] - truth['position_m.x'][
        np.searchsorted(truth['time_s'], landed_s)] > 5.0
