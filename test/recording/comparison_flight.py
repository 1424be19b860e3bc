# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Short flights of mode core with scripted commands, recorded without any link."""
import contextlib
import math

from scripted_flight import fly_scripted

from px4_sim_ros.flight.core_recorder import CoreRecorder
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.bag.run_description import RunDescription
from px4_sim_ros.spec.configuration import load_configuration

STILL_STEPS = 25


def commands(steps, rotors=4):
    """Return references in rad/s: still on the ground, then a take-off with much turning."""
    for i in range(steps):
        t = 0.004 * i
        yield ((0.0,) * rotors if i < STILL_STEPS else
               tuple(880.0 + 20.0 * math.sin(9.0 * t + r) for r in range(rotors)))


def record_flight(folder, steps, overrides=None, interruptions=(), given=None):
    """Fly so many steps and return the reader of the recording.

    :param overrides: parameters by node, '' meaning all
    :param given: commands in place of those for four rotors
    :param interruptions: steps after which a sensor is stopped or started, its name, the verb
    """
    own = {'': {'recorder': True, 'wind': 'dryden'}, 'recorder': {'folder': str(folder)}}
    overrides = overrides or {}
    configuration = load_configuration(None, {
        node: own.get(node, {}) | overrides.get(node, {}) for node in {*own, *overrides}})
    run = RunDescription.of(configuration, mode='core', autopilot='scripted')
    blocks = {}

    def stop_and_start(slots, steps):
        for _, sensor, verb in (i for i in interruptions if i[0] == steps):
            slot = slots[sensor]
            if verb == 'stop':
                blocks[sensor] = slot.block
                slot.stop()
            else:
                slot.block = blocks[sensor]
                slot.block.resume(slot.last_us)

    with contextlib.closing(CoreRecorder(configuration, run)) as recorder:
        recorder.add_side('hil/state', 'LOCKED')
        fly_scripted(configuration, given or commands(steps), recorder.send, stop_and_start)
    return BagReader(folder)
