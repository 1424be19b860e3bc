# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The profiles of sensors in `config/profiles`."""
from __future__ import annotations

import pytest

from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.spec.resources import config_directory

PROFILES = sorted((config_directory() / 'profiles').glob('*.yaml'))


def loaded(name):
    """Return the parameters of all nodes with a profile."""
    return load_configuration(config_directory() / 'profiles' / f'{name}.yaml', {}).nodes


def test_there_are_profiles():
    """Those that docs/models.md names."""
    assert [path.stem for path in PROFILES] == [
        'adis16448', 'cheap', 'gazebo-classic', 'ideal-but-quiet', 'iim42653']


@pytest.mark.parametrize('path', PROFILES, ids=lambda path: path.stem)
def test_a_profile_is_a_parameter_file_for_sensors(path, configuration):
    """It loads as params_file, too, and leaves everything else alone."""
    loaded_configuration = load_configuration(path, {})
    assert loaded_configuration.world == configuration.world
    changed = {name for name, own in loaded_configuration.nodes.items()
               if own != configuration.nodes[name]}
    assert changed <= {'imu', 'magnetometer', 'barometer', 'gps'}


def test_iim42653_is_the_default(configuration):
    """So its file says nothing."""
    assert loaded('iim42653') == configuration.nodes


def test_adis16448_has_the_figures_of_the_peers():
    """Gyro and accelerometer."""
    imu = loaded('adis16448')['imu']
    assert (imu.gyro_noise_density, imu.gyro_random_walk, imu.gyro_turn_on_bias) == (
        3.3937e-4, 3.8785e-5, 8.7e-3)
    assert (imu.accel_noise_density, imu.accel_random_walk, imu.accel_turn_on_bias) == (
        4e-3, 6e-3, 0.196)


def test_the_quietest_profile_still_changes_every_sample():
    """PX4 cuts the first IMU to 16 bits; below one step its values would stand still."""
    imu = loaded('ideal-but-quiet')['imu']
    root_of_rate = 250.0 ** 0.5
    assert imu.gyro_noise_density * root_of_rate > 1.0653e-3
    assert imu.accel_noise_density * root_of_rate > 4.7884e-3
