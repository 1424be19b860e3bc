# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A program that finds its motion in images: how exactly, the same bits in all modes, with PX4."""
import pathlib
import re
import shutil

import instances
import numpy as np
import pytest
import yaml
from commands import flown_in_modes, replayed, run
from px4_flight import NEEDS_FIFO

from px4_sim_ros import Flight
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.recording.analysis.export import read_table
from px4_sim_ros.recording.bag.reader import BagReader

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / 'examples'
CLASS = 'visual_odometry.py:ImageOdometry'
TOPIC = 'camera/odometry'
HOP = [{'take_off': {'up_m': 2.0}}, {'go_to': {'north_m': 1.0, 'east_m': 2.0, 'up_m': 2.0}},
       {'land': {}}]


@pytest.fixture
def folder(tmp_path):
    """Return a folder with the example, and its scenario as an embedded autopilot may fly it."""
    pytest.importorskip('cv2')
    scenario = yaml.safe_load((EXAMPLES / 'visual_odometry.yaml').read_text())
    for key in 'events', 'expect', 'px4':
        del scenario[key]
    (tmp_path / 'mine.yaml').write_text(yaml.safe_dump(scenario | {'mission': HOP}))
    shutil.copy(EXAMPLES / 'visual_odometry.py', tmp_path)
    return tmp_path


@pytest.mark.slow
def test_its_velocity_is_the_true_one(folder, instance):
    """Above 1 m, where an image shows enough; it is that of the middle between two images."""
    scenario = yaml.safe_load((folder / 'mine.yaml').read_text()) | {'end': {'at_s': 13.0}}
    (folder / 'mine.yaml').write_text(yaml.safe_dump(scenario))
    result = Flight(scenario=str(folder / 'mine.yaml'), instance=instance).fly()
    found, truth = result.table(TOPIC), result.table()
    middles_s = found['time_s'] - 0.03
    errors = []
    for axis in 'xyz':
        true, up_m = (np.interp(middles_s, truth['time_s'], truth[name])
                      for name in (f'velocity_m_s.{axis}', 'position_m.z'))
        errors.append((found[f'twist.twist.linear.{axis}'] - true)[up_m > 1.0])
    assert len(errors[0]) > 100
    assert np.sqrt(np.mean(np.square(errors), axis=1)).max() < 0.12
    # What does not average out moves the place away.
    assert np.abs(np.mean(errors, axis=1)).max() < 0.02


@pytest.mark.process
@pytest.mark.long
def test_it_is_the_same_in_all_modes_and_is_replayed(folder, instance):
    """With small images, also where there is none at first: a replay goes on from that."""
    scenario = yaml.safe_load((folder / 'mine.yaml').read_text())
    scenario['blocks'][0] |= {'width': 96, 'height': 72}
    scenario['mission'] = [{'take_off': {'up_m': 1.0}}, {'land': {}}]
    (folder / 'mine.yaml').write_text(yaml.safe_dump(scenario))
    _, compared = flown_in_modes(folder, instance, '--scenario', 'mine.yaml')
    assert all(50 < found.topics[TOPIC].equal < 200 for found in compared)
    for mode in 'core', 'composed':
        replayed(folder, 'core', '--mode', mode, '--allow', CLASS)


def test_what_it_sees_has_to_come_before_it(folder):
    scenario = yaml.safe_load((folder / 'mine.yaml').read_text())
    scenario['blocks'].reverse()
    (folder / 'mine.yaml').write_text(yaml.safe_dump(scenario))
    with pytest.raises(ParameterError, match="image_odometry: inputs = 'camera/image_raw': must"):
        Flight(scenario=str(folder / 'mine.yaml'))


@pytest.mark.process
@pytest.mark.px4
@NEEDS_FIFO
def test_px4_flies_on_it_without_gnss_and_repeats_itself(tmp_path):
    """What its place is off by, it was off by when it lost GNSS, but for half a metre."""
    fingerprints = set()
    for name in 'one', 'two':
        flown = run('fly', '--mode', 'core', '--autopilot', 'px4', '--px4-schedule', 'repeatable',
                    '--scenario', EXAMPLES / 'visual_odometry.yaml', '--record', tmp_path / name,
                    '--instance', instances.of_px4())
        assert flown.returncode == 0, flown.stdout + flown.stderr
        fingerprints.add(re.search(r'^fingerprint +(\w+)', flown.stdout, re.M)[1])
    assert len(fingerprints) == 1
    lost_s = float(re.search(r'gnss_denied, at ([\d.]+) s', flown.stdout)[1])
    estimate, truth = (read_table(BagReader(tmp_path / 'one'), topic)
                       for topic in ('autopilot/odometry', 'ground_truth/odom'))
    times_s = estimate['time_s']
    off = np.stack([
        estimate[f'position_m.{axis}'] - np.interp(times_s, truth['time_s'],
                                                   truth[f'position_m.{axis}'])
        for axis in 'xy'], axis=1)
    flies = (times_s > lost_s) & (times_s < times_s[-1] - 5.0)
    drift_m = np.hypot(*(off[flies] - off[flies][0]).T)
    assert flies.sum() > 300 and drift_m.max() < 0.5
