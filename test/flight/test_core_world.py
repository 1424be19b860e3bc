# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The world of mode `core` gives back what it has taken, whatever happens."""
import contextlib
import threading

import pytest
from commands import port_is_free
from mcap.writer import MCAP0_MAGIC
from stand_in_autopilot import connect

from px4_sim_ros.flight.core_recorder import CoreRecorder
from px4_sim_ros.flight.core_world import CoreWorld
from px4_sim_ros.link.hil.block import HilBlock
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.bag.run_description import RunDescription
from px4_sim_ros.spec.configuration import load_configuration


class Unwilling(HilBlock):
    """A block that cannot be made."""

    def __init__(self, configuration):
        raise ParameterError('it will not')


class UnwillingToBegin(HilBlock):
    """A block that has taken the port when it fails."""

    def reset(self):
        super().reset()
        raise ParameterError('it will not')


@pytest.fixture
def configuration(instance, tmp_path):
    return load_configuration(None, {
        '': {'recorder': True}, 'manager': {'speed_factor': 0.0},
        'hil_bridge': {'instance': instance},
        'recorder': {'folder': str(tmp_path / 'bag'), 'on_failure': 'fail'}})


@pytest.fixture
def recorder(configuration):
    return CoreRecorder(
        configuration, RunDescription.of(configuration, mode='core', autopilot='scripted'))


@pytest.mark.parametrize('block', [Unwilling, UnwillingToBegin])
def test_a_world_that_cannot_be_made_leaves_a_whole_recording(
        block, configuration, recorder, instance, tmp_path):
    with pytest.raises(ParameterError, match='it will not'):
        CoreWorld(configuration, recorder=recorder,
                  own_classes={'hil_bridge': f'{__name__}:{block.__name__}'})
    assert port_is_free(instance)
    file, = (tmp_path / 'bag').glob('*.mcap')
    assert file.read_bytes().endswith(MCAP0_MAGIC)
    bag = BagReader(tmp_path / 'bag')
    assert bag.damage == ''
    assert all(message.time_us == 0 for message in bag.messages())


def test_a_recording_that_cannot_be_finished_does_not_keep_the_port(
        configuration, recorder, instance, monkeypatch):
    stop = threading.Event()
    world = CoreWorld(configuration, lambda time_us, values: stop.set(), recorder)
    with contextlib.closing(connect(instance)):
        world.run(stop)

        def disk_is_full(outputs):
            raise OSError('the disk is full')

        monkeypatch.setattr(recorder, 'send', disk_is_full)
        with pytest.raises(OSError, match='the disk is full'):
            world.close()
    assert port_is_free(instance)
    world.close()
