# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Each kind of fault, and wind, given by hand to a flight that was started without a scenario.

For one of several vehicles, see test_fleet_graph.
"""
import contextlib
import json
import threading

import pytest
from commands import command, running, wait_for_line
from stand_in_autopilot import connect

from px4_sim_ros import Flight
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.faults.actions import ACTIONS
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.step.graph import FAULTS

# In the air, mildest first: the last ones end a flight.
IN_FLIGHT = {
    'note': {'text': 'by hand'},
    'wind': {'speed_m_s': 3.0, 'from_deg': 90},
    'gust': {'speed_m_s': 3.0, 'from_deg': 180, 'duration_s': 0.2},
    'turbulence': {'intensity_m_s': 0.5, 'correlation_time_s': 1.0},
    'air_density': {'share': 0.95},
    'push': {'force_n': [0.5, 0.0, 0.0]},
    'torque': {'torque_n_m': [0.01, 0.0, 0.0]},
    'payload': {'mass_kg': 0.05},
    'battery_cells': {'shorted': 1, 'of': 4},
    'battery_resistance': {'factor': 1.5},
    'battery_capacity': {'share': 0.9},
    'sensor_off': {'sensor': 'magnetometer'},
    'sensor_frozen': {'sensor': 'barometer'},
    'sensor_bias': {'sensor': 'barometer', 'value': -5.0},
    'sensor_drift': {'sensor': 'barometer', 'per_s': 1.0},
    'sensor_scale': {'sensor': 'imu', 'channel': 'gyro', 'factor': 1.01},
    'sensor_noise': {'sensor': 'barometer', 'sigma': 1.0},
    'sensor_spikes': {'sensor': 'barometer', 'value': 5.0, 'every_s': 0.1},
    'sensor_delay': {'sensor': 'barometer', 'delay_s': 0.04},
    'sensor_axes': {'sensor': 'magnetometer', 'axes': 'y -x z'},
    'gnss_denied': {},
    'gnss_jammed': {'error_m': 1.0, 'error_m_s': 0.1, 'horizontal_accuracy_m': 3.0,
                    'vertical_accuracy_m': 4.0},
    'gnss_spoofed': {'path': [[0.5, 0.5, 0.0, 0.0]]},
    'replies_late': {'delay_s': 0.008},
    'replies_lost': {'share': 0.2},
    'motor_thrust': {'motor': 1, 'share': 0.95},
    'motor_slow': {'motor': 1, 'time_constant_s': 0.02},
    'link_lost': {},
    'autopilot_paused': {},
    'motor_stuck': {'motor': 2},
    'motor_off': {'motor': 3},
    'clear': {'event': 'motor_off'},
    'command': {'command': 'MAV_CMD_NAV_LAND'},
    'autopilot_off': {},
}
OF_SERVOS = {
    'servo_slack': {'servo': 'elevator', 'play_deg': 5.0},
    'servo_stuck': {'servo': 'elevator'},
    'servo_hard_over': {'servo': 'rudder', 'side': 'positive'},
}
# What the embedded autopilot has not.
OF_PX4 = {
    'sticks': {'roll': 0.1},
    'mode': {'to': 'POSCTL'},
    'parameter': {'name': 'MPC_XY_P', 'value': 1.0},
    'px4_failure': {'unit': 'gps', 'type': 'off'},
}
# A motor is off for less time than a fall takes.
LASTS_S = 0.1
# By the command in a push; all of IN_FLIGHT are given within a process.
SOME = *OF_PX4, 'note', 'push', 'motor_off', 'clear', 'autopilot_off'


def test_all_kinds_are_here():
    assert {*IN_FLIGHT, *OF_SERVOS, *OF_PX4} == ACTIONS.keys()


def event_of(kind, parameters):
    """Return what is asked for: what lasts has an end, but that which is cleared."""
    lasts = not ACTIONS[kind].INSTANT and kind not in ('note', 'clear', 'motor_off')
    return {kind: parameters, 'name': kind, **({'for_s': LASTS_S} if lasts else {})}


def assert_done(bag, kinds):
    """See in a recording that each was in force, or said, and that nothing else was."""
    reader = BagReader(bag)
    assert not reader.run.scenario
    in_force = {fault['name'] for message in reader.messages() if message.topic == FAULTS
                for fault in json.loads(reader.decode(message).msg or '[]')}
    assert in_force == kinds - {'clear'}


def words_of(kind, parameters):
    """Return the command that gives it."""
    event = event_of(kind, parameters)
    return ['fault', kind, *(f'{name}={json.dumps(value)}' for name, value in parameters.items()),
            '--name', kind, *(['--for', event['for_s']] if 'for_s' in event else [])]


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize(('mode', 'kinds'), [
    ('composed', SOME), *(pytest.param(mode, (*OF_PX4, *IN_FLIGHT), marks=pytest.mark.long)
                          for mode in ('composed', 'separate'))], ids=['some', 'all', 'separate'])
def test_in_a_graph_by_the_command(mode, kinds, here, instance, tmp_path):
    """What the embedded autopilot has not is an event."""
    low = tmp_path / 'low.yaml'
    low.write_text(json.dumps({'name': 'low', 'items': [
        {'take_off': {'up_m': 3.0}}, {'hold': {'duration_s': 120.0}}, {'land': {}}]}))
    words = command('fly', '--mode', mode, '--mission', low, '--speed-factor', '1',
                    '--instance', instance, '--record', tmp_path / 'bag')
    with running(words) as process:
        wait_for_line(process, 'arrived')
        for kind in kinds:
            given = here(*words_of(kind, (OF_PX4 | IN_FLIGHT)[kind]))
            assert (given.returncode, given.stdout) == (0, f'{kind}\n'), given.stderr
            is_refused = kind in OF_PX4 and ACTIONS[kind].IS_ANSWERED
            wait_for_line(process, 'by hand' if kind == 'note' else f'{kind} is refused'
                          if is_refused else f'{kind}: ')
        stopped = here('stop')
        # An autopilot that was off has disarmed, which ends the flight: perhaps before.
        assert stopped.returncode == 0 or 'no manager was found' in stopped.stderr
        process.communicate(timeout=60)
    assert_done(tmp_path / 'bag', set(kinds))
    replayed = here('replay', tmp_path / 'bag')
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr


# The same parameters by the command as those in the air, and the same servos as in this process.
@pytest.mark.slow
@pytest.mark.process
@pytest.mark.long
@pytest.mark.parametrize('mode', ['composed', 'separate'])
def test_of_servos_in_a_graph_by_the_command(mode, here, instance, tmp_path):
    words = command('fly', '--mode', mode, '--vehicle', 'plane', '--autopilot', 'none',
                    '--set', 'by_hand=true',
                    '--instance', instance, '--record', tmp_path / 'bag')
    with running(words) as process:
        wait_for_line(process, 'waiting for your autopilot')
        with contextlib.closing(connect(instance)):
            for kind, parameters in OF_SERVOS.items():
                given = here(*words_of(kind, parameters))
                assert (given.returncode, given.stdout) == (0, f'{kind}\n'), given.stderr
                wait_for_line(process, f'{kind} ends')
            assert here('stop').returncode == 0
            process.communicate(timeout=60)
    assert_done(tmp_path / 'bag', OF_SERVOS.keys())


@pytest.mark.slow
def test_in_this_process(instance, tmp_path):
    with Flight(mission='hover', instance=instance, record=tmp_path / 'bag',
                set={'by_hand': True}) as flight:
        flight.run(lambda situation: situation.height_m > 9.0)
        for kind, parameters in IN_FLIGHT.items():
            assert flight.do(event_of(kind, parameters)) == kind
            until_us = flight.scenario().course.situation.time_us + 300_000
            flight.run(lambda situation, until_us=until_us: situation.time_us >= until_us)
        with pytest.raises(ParameterError, match='iris has no servos'):
            flight.do({'servo_stuck': {'servo': 'rudder'}})
    result = flight.end()
    assert not result.summary()['repeatable']
    assert_done(tmp_path / 'bag', IN_FLIGHT.keys())


@pytest.mark.parametrize('event', [
    {'wind': {'speed_m_s': 2.0, 'from_deg': 90}, 'for_s': 0.1},
    {'wind': {'speed_m_s': 2.0, 'from_deg': 90}, 'at_s': 1.0},
    {'wind': {'speed_m_s': 2.0, 'from_deg': 90}, 'when': {'height_m': {'above': 0.1}}}])
def test_among_steps_that_compiled_code_takes(event, hop, instance):
    """It begins with the next step, also if its time or its condition is there already."""
    with Flight(mission=str(hop), instance=instance, record=False,
                set={'by_hand': True}) as flight:
        flight.run(lambda situation: situation.height_m > 0.3)
        asked_us = flight.scenario().course.situation.time_us
        name = flight.do(event)
        flight.run()
        course = flight.scenario().course
    assert flight.end().summary()['mission_flown']
    assert course._begun_us == {name: asked_us + flight.spec.configuration.world.step_us}


def test_before_the_first_step(hop, instance):
    """A block that begins a run takes it along; one whose vehicle has left refuses it."""
    with Flight(mission=str(hop), instance=instance, record=False,
                set={'by_hand': True}) as flight:
        note = flight.do({'note': {'text': 'early'}})
        block = flight.scenario()
        block.reset()
        assert block.course.names == [note]
        flight.run()
        assert block.course._begun_us == {note: flight.spec.configuration.world.step_us}
        assert block.status().values['gap_us'] == 0
        block.leave()
        with pytest.raises(ParameterError, match='the vehicle has left the world'):
            flight.do({'note': {'text': 'late'}})
        block.reset()
        assert block.course.names == []


@pytest.mark.slow
def test_of_servos_in_this_process(instance, tmp_path):
    with (Flight(vehicle='plane', autopilot='none', mission='none', instance=instance,
                 record=tmp_path / 'bag', set={'by_hand': True}) as flight):
        connected = []
        threading.Thread(target=lambda: connected.append(connect(instance))).start()
        flight.run(lambda situation: situation.time_us >= 100_000)
        for kind, parameters in OF_SERVOS.items():
            assert flight.do(event_of(kind, parameters)) == kind
            until_us = flight.scenario().course.situation.time_us + 300_000
            flight.run(lambda situation, until_us=until_us: situation.time_us >= until_us)
    connected[0].close()
    flight.end()
    assert_done(tmp_path / 'bag', OF_SERVOS.keys())
