# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""BATTERY_STATUS as PX4 reads it: of its own system, another component, twice a second."""

import pytest
from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.hil.battery_link import BatteryLink
from px4_sim_ros.model.truth import BatteryStatus

HOST = '127.0.0.1'
STATUS = BatteryStatus(500_000, 11.7, 20.25, 3.4, 5.0, 5.0)


@pytest.fixture
def link():
    battery = BatteryLink(3, cells=3)
    yield battery
    battery.close()


def received(px4):
    message, = mavlink.MAVLink(None).parse_buffer(px4.recv(1024))
    return message


def test_each_field(px4, link):
    link.send(STATUS, HOST)
    message = received(px4)
    assert message.get_type() == 'BATTERY_STATUS'
    assert message.get_srcSystem() == 4
    assert message.get_srcComponent() == mavlink.MAV_COMP_ID_BATTERY
    assert message.voltages == [3900] * 3 + [65535] * 7
    assert message.current_battery == 2025           # 10 mA, positive when discharging
    assert message.current_consumed == 1600          # mAh
    assert message.battery_remaining == 68           # %
    assert message.temperature == 32767
    assert message.energy_consumed == -1


@pytest.mark.parametrize(('period_us', 'count'), [(20_000, 4), (18_000, 4), (700_000, 2)])
def test_twice_a_second_of_simulated_time(px4, link, period_us, count):
    for time_us in range(period_us, 2_000_001, period_us):
        link.send(STATUS._replace(time_us=time_us), HOST)
    assert [received(px4).get_seq() for _ in range(count)] == list(range(count))
    px4.setblocking(False)
    with pytest.raises(BlockingIOError):
        px4.recv(1024)


def test_nothing_is_said_of_no_battery(px4, link):
    link.send(None, HOST)
    link.send(STATUS._replace(voltage_v=12.0), HOST)
    assert received(px4).voltages[0] == 4000


def test_a_capacity_that_is_lost_was_not_consumed(px4, link):
    """1.6 Ah had flown before; then 20 A for half a second while the capacity goes, then 0.1 Ah."""
    for time_us, charge_ah, capacity_ah in (
            (500_000, 3.4, 5.0), (1_000_000, 0.17, 0.25), (1_500_000, 0.07, 0.25)):
        link.send(STATUS._replace(time_us=time_us, current_a=20.0, charge_ah=charge_ah,
                                  capacity_ah=capacity_ah), HOST)
    found = [received(px4).current_consumed for _ in range(3)]
    assert found == [1600, round(1600 + 20e3 * 0.5 / 3600), round(1700 + 20e3 * 0.5 / 3600)]


@pytest.mark.parametrize(('status', 'field', 'value'), [
    (STATUS._replace(charge_ah=-0.1), 'battery_remaining', 0),
    (STATUS._replace(charge_ah=5.1), 'battery_remaining', 100),
    (STATUS._replace(current_a=1e6), 'current_battery', 32767),
    (STATUS._replace(current_a=-2.0), 'current_battery', -200),
])
def test_limits(px4, link, status, field, value):
    link.send(status, HOST)
    assert getattr(received(px4), field) == value


def test_a_pack_of_many_cells_keeps_its_voltage(px4):
    """PX4 reads ten cells at most and adds them up."""
    link = BatteryLink(3, cells=12)
    link.send(STATUS._replace(voltage_v=45.0), HOST)
    link.close()
    assert received(px4).voltages == [4500] * 10


def test_time_may_start_over(px4, link):
    link.send(STATUS._replace(time_us=90_000_000), HOST)
    link.send(STATUS._replace(time_us=20_000), HOST)
    assert [received(px4).get_seq() for _ in range(2)] == [0, 1]


def test_no_autopilot_is_told_nothing(px4, link):
    link.send(STATUS, None)
    link.send(STATUS._replace(voltage_v=12.0), HOST)
    assert received(px4).voltages[0] == 4000


@pytest.mark.parametrize('host', [HOST, '255.255.255.255'])
def test_nobody_has_to_listen(px4, link, host):
    px4.close()
    for second in range(3):
        link.send(STATUS._replace(time_us=second * 1_000_000), host)
