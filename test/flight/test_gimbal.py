# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Sensors on gimbals: PX4 turns one by MAVLink's protocol; the same images in all modes."""
import math
import pathlib
import re

import instances
import numpy as np
import pytest
import yaml
from commands import flown_in_modes, replayed, run
from px4_flight import NEEDS_FIFO
from rclpy.serialization import deserialize_message
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import Image

from px4_sim_ros.recording.analysis.export import read_table
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.spec.resources import config_directory

PAGE = (pathlib.Path(__file__).resolve().parents[2] / 'docs' / 'scenes.md').read_text('utf-8')
OF_VEHICLE, EVENTS = (yaml.safe_load(text) for text in re.findall(
    r'```yaml\n(.*?)```', PAGE[PAGE.index('### A sensor on a gimbal'):], re.S)[:2])
SMALL = {'class': 'px4_sim_ros:LabelCamera', 'width': 32, 'height': 24, 'period_us': 80_000}


def write(folder, vehicle, more, scenario):
    """Write a vehicle that has more, and a scenario with it."""
    content = yaml.safe_load((config_directory() / 'vehicles' / f'{vehicle}.yaml').read_text())
    for key, value in more.items():
        content[key] = (content.get(key, {}) | value if isinstance(value, dict)
                        else content.get(key, []) + value)
    (folder / 'vehicle.yaml').write_text(yaml.safe_dump(content))
    (folder / 'mine.yaml').write_text(yaml.safe_dump({'vehicle': 'vehicle.yaml', **scenario}))


@pytest.mark.process
@pytest.mark.long
def test_it_is_the_same_in_all_modes_and_is_replayed(tmp_path, instance):
    """By the control of a rotor, which moves all the time."""
    write(tmp_path, 'iris', {
        'servos': [{'name': 'pan', 'control': 0, 'lag_s': 0.02, 'rate_rad_s': 9.0,
                    'travel_rad': 3.0}],
        'blocks': [SMALL | {'gimbal_yaw': 'pan', 'position_m': [0, 0, 0.2]},
                   {'class': 'px4_sim_ros:DistanceSensor', 'gimbal_pitch': 'pan',
                    'to_autopilot': True, 'field_of_view_deg': 5}]}, {
            'scene': 'street', 'mission': [{'take_off': {'up_m': 1.0}}, {'land': {}}]})
    _, compared = flown_in_modes(tmp_path, instance, '--scenario', 'mine.yaml')
    assert all(found.topics[topic].equal > 50 for found in compared
               for topic in ('labels/image_raw', 'distance'))
    angles = read_table(BagReader(tmp_path / 'core'), 'joint_states')['servo_angle_rad.1']
    assert np.ptp(angles) > 0.1
    replayed(tmp_path, 'core', '--mode', 'composed')


@pytest.mark.process
@pytest.mark.px4
@NEEDS_FIFO
def test_px4_turns_it_and_repeats_itself(tmp_path):
    """As the page says; it is held while PX4 tilts the vehicle on its way."""
    write(tmp_path, 'iris', OF_VEHICLE | {
        'blocks': [kind | {'gimbal_pitch': 'camera_pitch', 'gimbal_yaw': 'camera_yaw'}
                   for kind in (SMALL, {'class': 'px4_sim_ros:DistanceSensor',
                                        'to_autopilot': True})]}, {
        **EVENTS, 'scene': 'scene.yaml',
        'mission': [{'take_off': {'up_m': 5.0}}, {'go_to': {'north_m': 9.0, 'east_m': 0.0,
                                                            'up_m': 5.0}}, {'land': {}}],
        'end': {'at_s': 60.0, 'when': {'flown': True}}})
    # There it looks where it hovers at the end, to the north.
    (tmp_path / 'scene.yaml').write_text(
        'objects: [{name: it, shape: box, size_m: [1.5, 1.5, 0.1], place_m: [2.5, 13.3, 0.05]}]')
    fingerprints = set()
    for name in 'one', 'two':
        flown = run('fly', '--mode', 'core', '--autopilot', 'px4', '--px4-schedule', 'repeatable',
                    '--scenario', 'mine.yaml', '--record', name, '--instance',
                    instances.of_px4(), cwd=tmp_path)
        assert flown.returncode == 0, flown.stdout + flown.stderr
        fingerprints.add(re.search(r'^fingerprint +(\w+)', flown.stdout, re.M)[1])
    assert len(fingerprints) == 1
    bag = BagReader(tmp_path / 'two')
    joints, truth = (read_table(bag, topic) for topic in ('joint_states', 'ground_truth/odom'))
    times_s = joints['time_s']
    up, right = (np.degrees(joints[f'servo_angle_rad.{i}']) for i in (1, 2))
    # PX4's outputs have 1000 steps, of 0.36 and 0.18 degrees.
    looks = np.abs(right - 30.0) < 0.2
    assert times_s[looks][-1] - times_s[looks][0] > 4.0 and looks.sum() > 100
    attitude = Rotation.from_quat(np.stack([np.interp(
        times_s, truth['time_s'], truth[f'attitude_wxyz.{axis}']) for axis in 'xyzw'], axis=1))
    nose_up = -attitude.as_euler('ZYX', degrees=True)[:, 1]
    assert np.ptp(nose_up[looks]) > 10.0
    # But for what the vehicle turns by until a servo follows.
    assert np.abs(up + nose_up + 45.0)[looks].max() < 2.0
    hovers = looks & (times_s > times_s[looks][-1] - 1.5)
    assert np.abs(up + nose_up + 45.0)[hovers].max() < 0.5
    middles = {round(1e-3 * time_us): np.frombuffer(
        deserialize_message(data, Image).data, '<u2').reshape(24, 32)[11:13, 15:17]
        for topic, time_us, data in bag.messages() if topic == 'labels/image_raw'}
    shown = [middles[round(1e3 * time_s)] for time_s in times_s[hovers]
             if round(1e3 * time_s) in middles]
    assert len(shown) > 10 and (np.array(shown) == 2).all()
    ranges = read_table(bag, 'distance')
    height_m = np.interp(ranges['time_s'], truth['time_s'], truth['position_m.z']) - 0.1
    near = np.isin(np.round(1e3 * ranges['time_s']), np.round(1e3 * times_s[hovers]))
    assert near.sum() > 10
    assert (ranges['range'] / height_m)[near] == pytest.approx(math.sqrt(2.0), abs=0.03)
