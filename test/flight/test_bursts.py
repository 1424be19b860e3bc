# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Steps that compiled code takes are the steps of Python: the same flight, the same bytes."""
import contextlib
import threading

import pytest
from mavlink_frames import controls_frame, px4_greeting
from stand_in_autopilot import ARMED_FROM_US, StandInAutopilot, scripted_controls

from px4_sim_ros.flight.core_vehicle import VehicleSetup
from px4_sim_ros.flight.core_world import CoreWorld
from px4_sim_ros.link.hil import block
from px4_sim_ros.link.hil.server import port_of
from px4_sim_ros.px4.boot_watch import StartScript
from px4_sim_ros.spec.configuration import load_configuration

STEP_US, END_US = 4000, 2_000_000
HIL_SENSOR = (107).to_bytes(3, 'little')
SOON = 1000.0       # times real time: as fast as possible, but each step has its time


class Listener(StandInAutopilot):
    """It keeps the bytes of all frames."""

    def __init__(self, port):
        self.frames = []
        super().__init__(port)

    def messages(self):
        found = super().messages()
        self.frames += [bytes(m.get_msgbuf()) for m in found]
        return found


@pytest.fixture(autouse=True)
def no_start_script(monkeypatch):
    """The autopilot is this process: its children are none of a start script."""
    monkeypatch.setattr(StartScript, 'runs', lambda self: False)


def answer(time_us):
    # It is in the air soon, and nothing depends on whether the first reply comes in time.
    mode, controls = scripted_controls(time_us + ARMED_FROM_US - 100_000)
    return [controls_frame(time_us, tuple(controls), mode=mode)]


def odd_answer(time_us):
    """Return the same in other pieces, or beside other messages."""
    frame, = answer(time_us)
    step = time_us // STEP_US
    if step % 7 == 0:
        return [frame[:30], frame[30:]]
    if step % 11 == 0:
        return [px4_greeting() + frame]
    if step % 13 == 0 and step > 40:
        return [controls_frame(time_us - 40 * STEP_US, (0.1,) * 16, mode=129) + frame]
    return [frame]


def flown(instance, speed_factor=0.0, answered=answer, **changes):
    """Return frames, fingerprint, the first gap, and the share of steps in compiled code."""
    shared = {'': {}, 'manager': {'speed_factor': speed_factor},
              'hil_bridge': {'instance': instance}} | changes
    stop = threading.Event()

    def last_answer(time_us):
        if time_us == END_US:
            stop.set()
        return answered(time_us)

    with contextlib.closing(CoreWorld([VehicleSetup(load_configuration(None, shared))])) as world:
        world._clock.limit(END_US)
        with contextlib.closing(Listener(port_of(instance))) as autopilot:
            autopilot.start(last_answer)
            world.run(stop)
            while world._clock.complete_us < END_US:
                world._runner.run()
            status = world.status()
            bridge = world._first.bridge
            world.close()
        return (autopilot.frames, status.fingerprint, status.gap,
                bridge.steps_ahead / status.steps)


# In some steps the wind changes, or a measurement arrives that is late; the first one has no reply
# before it.
@pytest.mark.parametrize('share, changes', [
    (0.9, {}), (0.7, {'': {'wind': 'dryden'}, 'wind': {'speed_m_s': 5.0}}),
    (0.9, {'': {'delays_us.barometer': 8000}}), (0.9, {'': {'vehicle': 'standard_vtol'}}),
    (0.9, {'': {'vehicle': 'rover_ackermann'}}), (0.9, {'dynamics': {'integrator': 'euler'}}),
    (0.9, {'magnetometer': {'field_per_current': [1e-7, 2e-7, 3e-7]}}),
    (0.9, {'imu': {'gyro_turn_on_bias': 0.01, 'accel_random_walk': 0.01, 'accel_range': 12.0}}),
    (0.9, {'barometer': {'wind_pressure_coefficient': 0.1, 'warm_up_pa': 30.0}}),
    (0.9, {'': {'gravity_model': 'wgs84', 'ground_slope_deg': 5.0}}),
], ids=str)
def test_it_is_the_same_flight_with_the_same_frames(share, changes, instance):
    ahead, one_by_one = flown(instance, **changes), flown(instance, SOON, **changes)
    assert [pair for pair in zip(ahead[0], one_by_one[0]) if pair[0] != pair[1]][:1] == []
    assert ahead[:2] == one_by_one[:2]
    assert ahead[2] == one_by_one[2] == ''
    assert ahead[3] >= share and one_by_one[3] == 0


def test_what_is_not_as_usual_is_read_in_python(instance):
    ahead, usual = flown(instance, answered=odd_answer), flown(instance)
    assert ahead[:3] == usual[:3]
    assert 0.3 < ahead[3] < usual[3]


@pytest.mark.parametrize('changes', [
    {'': {'instances.imu': 2}}, {'imu': {'sampling': 'mean'}},
    {'dynamics': {'integrator': 'rk45'}}, {'dynamics': {'command_delay_us': 9000}},
], ids=str)
def test_other_flights_are_taken_step_by_step(changes, instance):
    assert flown(instance, **changes)[3] == 0


def test_without_machine_code_a_flight_does_not_wait_for_the_compiler(monkeypatch, instance):
    monkeypatch.setattr(block, 'is_kept', lambda name: False)
    assert flown(instance)[3] == 0
