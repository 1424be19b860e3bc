# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a scenario says to the autopilot, as MAVLink has it; and the names of PX4's modes."""
import math

import pytest
from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.pilot.scenario_mavlink import command_of
from px4_sim_ros.model.faults.actions import read_action
from px4_sim_ros.px4.modes import MODES, auto_mode, mode_name

MAV = mavlink.MAVLink(None, srcSystem=245)


def message(kind, **values):
    return command_of(MAV, 3, read_action('test', kind, values, {}))


def test_a_command_has_its_number_its_parameters_and_zeros():
    m = message('command', command='MAV_CMD_NAV_LAND', params=[1.5, None])
    assert (m.command, m.target_system, m.target_component) == (21, 3, 1)
    assert m.param1 == 1.5 and math.isnan(m.param2)
    assert [m.param3, m.param4, m.param5, m.param6, m.param7] == [0.0] * 5


@pytest.mark.parametrize('kind', ['off', False])      # what YAML takes for off
def test_a_failure_within_px4_has_its_unit_its_type_and_its_instance(kind):
    m = message('px4_failure', unit='gps', type=kind, instance=2)
    assert m.command == mavlink.MAV_CMD_INJECT_FAILURE and m.target_system == 3
    assert (m.param1, m.param2, m.param3) == (
        mavlink.FAILURE_UNIT_SENSOR_GPS, mavlink.FAILURE_TYPE_OFF, 2)


@pytest.mark.parametrize(('name', 'main', 'sub'), [
    ('POSCTL', 3, 0), ('ALTCTL', 2, 0), ('AUTO_MISSION', 4, 4), ('AUTO_RTL', 4, 5)])
def test_a_mode_is_set_by_its_numbers(name, main, sub):
    """Those of PX4's px4_custom_mode.h."""
    m = message('mode', to=name)
    assert (m.command, m.target_system) == (mavlink.MAV_CMD_DO_SET_MODE, 3)
    assert (m.param1, m.param2, m.param3) == (
        mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED, main, sub)


def test_the_modes_that_fly_by_themselves_survive():
    names = [name for name in MODES if name.startswith('AUTO_')]
    assert len(names) > 5 and [mode_name(auto_mode(name)) for name in names] == names
    assert mode_name(6 << 16) == 'OFFBOARD' and mode_name(99 << 16) == ''
