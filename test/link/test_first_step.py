# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The first step of an autopilot: the same whenever in it the autopilot connects."""
from __future__ import annotations

import contextlib

import pytest
from stand_in_autopilot import HOST, TIME_LIMIT_S, StandInAutopilot

from px4_sim_ros.link.hil.battery_link import PAYLOAD_PORT
from px4_sim_ros.link.hil.block import HilBlock
from px4_sim_ros.link.hil.boot import Boot
from px4_sim_ros.link.hil.server import port_of
from px4_sim_ros.link.ports import bound_socket
from px4_sim_ros.model.sensors.imu import ImuMeasurement
from px4_sim_ros.model.truth import BatteryStatus
from px4_sim_ros.spec.blocks import block_configuration
from px4_sim_ros.spec.configuration import load_configuration

STEP_US = 4_000
ZERO = (0.0, 0.0, 0.0)


@pytest.fixture
def block(instance):
    """Return a bridge that listens."""
    configuration = load_configuration(None, {'hil_bridge': {'instance': instance}})
    with contextlib.closing(HilBlock(block_configuration(configuration, 'hil_bridge'))) as block:
        block.reset()
        yield block


def inputs(time_us):
    """Return what is measured in each step."""
    return {'imu/data_raw': ImuMeasurement(time_us, (0.0, 0.0, 9.8), ZERO, 0.0, 0.0),
            'battery_state': BatteryStatus(time_us, 12.0, 1.0, 4.0, 5.0, 5.0)}


@pytest.mark.parametrize('connects', ['before', 'before, and boots', 'after'])
def test_it_brings_no_battery(block, instance, monkeypatch, connects):
    """PX4 is not there for it yet, and the next one comes half a second later."""
    with contextlib.ExitStack() as stack:
        payload = stack.enter_context(bound_socket('UDP', HOST, PAYLOAD_PORT + instance))
        payload.setblocking(False)
        if connects == 'before, and boots':
            looks = iter([False])
            monkeypatch.setattr(Boot, 'may_begin', lambda self: next(looks, True))
        if connects != 'after':
            peer = stack.enter_context(contextlib.closing(StandInAutopilot(port_of(instance))))
            assert block.link.server.accept(1.0)
        block.step(STEP_US, inputs(STEP_US))
        if connects == 'after':
            peer = stack.enter_context(contextlib.closing(StandInAutopilot(port_of(instance))))
            block.wait(1.0)
        peer.reply(STEP_US)
        assert block.finish(STEP_US)
        with pytest.raises(BlockingIOError):
            payload.recv(1024)
        peer.reply(2 * STEP_US)
        block.step(2 * STEP_US, inputs(2 * STEP_US))
        assert block.finish(2 * STEP_US)
        payload.settimeout(TIME_LIMIT_S)
        assert payload.recv(1024)
