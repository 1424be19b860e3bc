# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Parameters that are lists: from YAML, from rclpy, and wrong ones."""
from __future__ import annotations

import array
import dataclasses

import pytest

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.parameters import range_text
from px4_sim_ros.model.sensors.imu import ImuParameters
from px4_sim_ros.model.sensors.magnetometer import MagnetometerParameters
from px4_sim_ros.model.vehicle.sections import Body
from px4_sim_ros.spec.configuration import load_configuration


def mounting(value):
    """Return the IMU's mounting after it was set."""
    return load_configuration(None, {'imu': {'mounting_deg': value}}).nodes['imu'].mounting_deg


@pytest.mark.parametrize('value', [
    [0.0, 10.0, 90.0], [0, 10, 90.0], (0, 10, 90), array.array('d', (0.0, 10.0, 90.0)),
    array.array('q', (0, 10, 90))])
def test_any_list_of_three_numbers(value):
    """A list of YAML, with whole numbers in it, or an array of rclpy."""
    assert mounting(value) == (0.0, 10.0, 90.0)
    assert all(type(v) is float for v in mounting(value))


@pytest.mark.parametrize(('value', 'sentence'), [
    ([0.0, 1.0], 'imu.mounting_deg = [0.0, 1.0]: must be 3 numbers'),
    (5.0, 'imu.mounting_deg = 5.0: must be 3 numbers'),
    ([0.0, 'x', 0.0], "imu.mounting_deg[1] = 'x': must be a number"),
    ([0.0, 0.0, True], 'imu.mounting_deg[2] = True: must be a number'),
    ([0.0, 0.0, 181.0],
     'imu.mounting_deg[2] = 181.0: must be at least -180 and at most 180 deg'),
])
def test_a_wrong_list(value, sentence):
    """The place in the list is named."""
    with pytest.raises(ParameterError) as error:
        mounting(value)
    assert str(error.value) == sentence


def test_what_is_allowed_in_words():
    """How many numbers, and what each may be."""
    infos = ImuParameters.infos()
    assert range_text(infos['mounting_deg']) == '3 numbers, each at least -180 and at most 180 deg'
    assert range_text(MagnetometerParameters.infos()['hard_iron']) == '3 numbers, each finite T'
    assert range_text(Body.infos()['inertia_kg_m2']) == '3 numbers, each greater than 0 kg m^2'


def test_a_list_is_kept_as_a_tuple(configuration):
    """So that parameters stay frozen and can be compared."""
    imu = configuration.nodes['imu']
    assert imu.position_m == (0.0, 0.0, 0.0)
    assert hash(imu) == hash(dataclasses.replace(imu))
