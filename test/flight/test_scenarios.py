# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Scenarios as they are flown: examples, modes, replay, verdicts, and actions of the user's."""
import contextlib
import json
import os
import pathlib
import re
import shlex

import campaigns
import pytest
import yaml
from commands import command, run, running, wait_for_line, write_long_hover
from graph_processes import GraphProcesses
from listening import listening
from px4_flight import NEEDS_FIFO

from px4_sim_ros.campaign.folder import Folder
from px4_sim_ros.campaign.plan import Campaign
from px4_sim_ros.messages.event_messages import read_scenario as read_event
from px4_sim_ros.messages.stamps import serialised_stamp_us, stamp_us
from px4_sim_ros.model.errors import InputWarning, ParameterError
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.px4.sitl import REPEATABLE
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.bag.schema import decode
from px4_sim_ros.spec.flight_spec import Options, flight_of
from px4_sim_ros.spec.resources import named_files
from px4_sim_ros.step.graph import FAULTS
from px4_sim_ros.step.side_topics import (
    AUTOPILOT_STATUS,
    ESTIMATE,
    SCENARIO_EVENTS,
)

EXAMPLES = named_files('scenarios')
# About what parameters of PX4 ask for, or what only PX4 can do.
FOR_PX4 = (
    'airspeed_iced', 'data_link_lost', 'failure_in_px4', 'flown_by_hand',
    'gnss_lost_with_vision', 'mission_uploaded', 'servo_hard_over', 'servo_slack',
    'servo_stuck', 'wall_ahead')
# The embedded autopilot without a process of its own: the same bits, as campaigns fly them.
IN_PROCESS = (
    '--autopilot', 'none', '--node', 'hil_bridge=px4_sim_ros.flight.direct_bridge:DirectBridge')
# Nobody flies, and it is over after a tenth of a second.
GROUND = {'mission': 'none', 'end': {'at_s': 0.1}}


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a scenario; it returns its file."""
    def write(content):
        file = tmp_path / 'scenario.yaml'
        file.write_text(yaml.dump(content), encoding='utf-8')
        return file
    return write


@pytest.fixture
def fly(here, instance, tmp_path):
    """Return a function that flies a scenario in this process; it returns code and summary."""
    def fly(scenario, *words):
        summary = tmp_path / 'summary.json'
        result = here('fly', '--mode', 'core', '--scenario', scenario, '--instance', instance,
                      '--summary', summary, *words)
        found = json.loads(summary.read_text()) if summary.is_file() else {}
        return result.returncode, found, result.stderr
    return fly


@pytest.mark.parametrize('name', FOR_PX4)
def test_what_is_for_px4_is_told_or_refused_with_another_autopilot(name):
    asked = Options(overrides={'': {'scenario': name}})
    if name in ('data_link_lost', 'gnss_lost_with_vision'):
        parameters = yaml.safe_load(EXAMPLES[name].read_text(encoding='utf-8'))['px4']
        with pytest.warns(InputWarning, match=f"this flight is without {', '.join(parameters)}$"):
            flight_of(asked)
    else:
        with pytest.raises(ParameterError):
            flight_of(asked)


@pytest.mark.process
def test_parameters_without_px4_are_one_sentence(fly, write):
    code, _, said = fly(write(GROUND | {'px4': {'MPC_XY_P': 0.9, 'NO_SUCH': 1}}), *IN_PROCESS)
    assert (code, said) == (0, 'scenario scenario: px4: is for a PX4 that is started here; this'
                               ' flight is without MPC_XY_P, NO_SUCH\n')


@pytest.mark.process
@pytest.mark.parametrize('name', sorted(EXAMPLES.keys() - {'by_hand', *FOR_PX4}))
def test_each_example_holds_with_the_embedded_autopilot(fly, name):
    code, summary, said = fly(name, *IN_PROCESS)
    assert (code, said) == (0, ''), summary.get('expectations')
    assert summary['events'] and summary['fingerprint'], summary
    assert summary['expectations'] and all(e['holds'] for e in summary['expectations'])


@pytest.mark.process
@pytest.mark.px4
@pytest.mark.parametrize('name', [
    'airspeed_iced', 'data_link_lost',
    # Its expectations leave a tenth of a second for a command on its way, which is steps later on
    # a machine that is busy, unless PX4 goes before all else on the core that sends it.
    pytest.param('flown_by_hand', marks=NEEDS_FIFO),
    'gnss_lost', 'mission_uploaded', 'motor_out', 'payload_drop', 'servo_stuck', 'wall_ahead'])
def test_an_example_holds_with_px4(fly, name):
    schedule = ['--px4-schedule', REPEATABLE] if name == 'flown_by_hand' else []
    code, summary, said = fly(name, '--autopilot', 'px4', '--instance', 8, *schedule)
    assert (code, said) == (0, ''), summary.get('expectations')


@pytest.mark.process
def test_what_fails_is_a_sentence_with_the_command_that_flies_it_again(fly, write):
    file = write(GROUND | {'expect': [{'always': {'height_m': {'above': 1}}}]})
    code, summary, said = fly(file)
    sentence, again = said.splitlines()
    assert code == 1
    assert sentence == ('fly: expected always height_m above 1: fails at t = 0.004000 s:'
                        ' height_m is 0 m, margin -1 m')
    words = shlex.split(again.removeprefix('fly: again: '))
    assert words[:4] == ['python', '-m', 'px4_sim_ros', 'fly']
    assert words[words.index('--scenario') + 1] == str(file)
    assert words[words.index('--expect') + 1] == summary['fingerprint']
    (verdict,) = summary['expectations']
    assert (verdict['holds'], verdict['margin'], verdict['time_s']) == (False, -1.0, 0.004)


@pytest.mark.process
def test_a_scenario_that_holds_ends_with_code_0(fly, write):
    file = write(GROUND | {'expect': [{'always': {'height_m': {'below': 1}}}], 'events': [
        {'at_s': 0.02, 'note': {'text': 'it stands'}}]})
    code, summary, said = fly(file)
    assert (code, said, summary['sim_time_s']) == (0, '', 0.096)
    assert summary['events'] == [{'time_s': 0.02, 'event': 'it stands'}]


@pytest.mark.parametrize(('content', 'sentence'), [
    (GROUND | {'events': [{'at_s': 0.01, 'motor_off': {'motor': 9}}]},
     'fly: scenario scenario: event 1.motor = 9: must be at most 4, as many as iris has\n'),
    (GROUND | {'place': {'home_altitude': 3}}, 'home_altitude: unknown parameter; did you mean'),
    (GROUND | {'set': {'barometer.noise': 3}}, 'barometer.noise: unknown parameter'),
    ({'mission': 'none'}, 'end: missing; there is no mission that ends the flight\n'),
    ({'mission': 'none', 'end': {'when': {'height_m': {'above': 1}}}}, 'end.at_s: missing;'),
    (GROUND | {'events': [{'at_s': 1, 'command': {'command': 'MAV_CMD_NAV_LANDING'}}]},
     "command = 'MAV_CMD_NAV_LANDING': is no MAV_CMD; did you mean MAV_CMD_NAV_LAND"),
    (GROUND | {'end': {'when': {'mode': 'LANDING'}}}, "mode = 'LANDING': must be one of MANUAL"),
    (GROUND | {'events': [{'at_s': 1, 'mode': {'to': 'POSITION'}}]},
     "event 1: to = 'POSITION': must be one of MANUAL"),
    (GROUND | {'mission': 'hover', 'events': [{'at_s': 1, 'sticks': {'roll': 0.2}}]},
     'event 1: sticks: the embedded autopilot has no modes to fly by hand; fly with the autopilot'),
    (GROUND | {'mission': 'hover', 'events': [
        {'at_s': 1, 'parameter': {'name': 'MPC_XY_P', 'value': 1}}]},
     'event 1: parameter: the embedded autopilot has none; fly with the autopilot px4'),
    (GROUND | {'events': [{'at_s': 1, 'refused': True, 'note': {'text': 'x'}}]},
     'events[0].refused: only a command, mode, parameter or px4_failure can be refused'),
    (GROUND | {'events': [{'at_s': 1, 'parameter': {'name': 'MPC_XY_P', 'value': 99999999999}}]},
     'value = 99999999999: must fit into 32 bits'),
    (GROUND | {'events': [{'at_s': 1, 'parameter': {'name': 'MPC_XY_P', 'value': '1.0e+300'}}]},
     'value = 1e+300: must be 0, or in size at least 1e-30'),
    (GROUND | {'events': [{'at_s': 1, 'command': {
        'command': 'MAV_CMD_NAV_LAND', 'params': [1, '-1e+300']}}]},
     'params[1] = -1e+300: must be 0, or in size at least'),
])
def test_a_file_that_is_wrong_is_refused_before_anything_starts(fly, write, content, sentence):
    code, summary, said = fly(write(content))
    assert code == 2 and not summary
    assert sentence in said and said.count('\n') == 1 and 'scenario' in said


@pytest.mark.process
def test_what_the_autopilot_refuses_fails_the_flight_unless_that_is_expected(fly, write):
    """The embedded autopilot knows neither this command nor a parameter."""
    mode = {'command': 'MAV_CMD_DO_SET_MODE', 'params': [1, 3]}
    file = write({'mission': [{'take_off': {'up_m': 0.4}}, {'land': {}}], 'events': [
        {'at_s': 2.6, 'command': {'command': 'MAV_CMD_DO_WINCH'}},
        {'at_s': 2.6, 'refused': True, 'command': mode},
        {'at_s': 2.6, 'refused': True, 'parameter': {'name': 'MPC_XY_P', 'value': 1}}]})
    code, summary, said = fly(file)
    assert code == 1 and said.startswith(
        'fly: expected the autopilot takes event 1: command: command MAV_CMD_DO_WINCH: fails at'
        ' t = 2.6')
    assert [(v['holds'], v['text'].partition(' s: ')[2]) for v in summary['expectations']] == [
        (False, 'MAV_RESULT_UNSUPPORTED'), (True, 'MAV_RESULT_UNSUPPORTED'),
        (True, 'MAV_PARAM_ERROR_DOES_NOT_EXIST')]


def test_the_embedded_autopilot_is_refused_a_mission_to_upload(fly, write):
    code, _, said = fly(write(GROUND | {'mission': 'hover', 'set': {'pilot.missions': 'uploaded'}}))
    assert (code, said) == (2, "fly: pilot.missions = 'uploaded': the embedded autopilot has no"
                               ' navigator; fly with the autopilot px4\n')


OWN = '''
import dataclasses
from px4_sim_ros.model.faults.sensors import SensorAction
from px4_sim_ros.model.parameters import parameter

@dataclasses.dataclass(frozen=True)
class Saturated(SensorAction):
    """A barometer that reads no more than a limit."""

    limit_pa: float = parameter('largest pressure', 'Pa', above=0)

    def begin(self, onset):
        return lambda time_us, measured: measured._replace(
            pressure_pa=min(measured.pressure_pa, self.limit_pa))
'''


@pytest.mark.process
def test_an_action_of_the_users_own_is_flown_and_replayed(
        fly, here, write, tmp_path, monkeypatch):
    from rosbags.highlevel import AnyReader
    (tmp_path / 'my_faults.py').write_text(OWN, encoding='utf-8')
    monkeypatch.syspath_prepend(tmp_path)
    file = write(GROUND | {'actions': {'saturated': 'my_faults:Saturated'}, 'events': [
        {'at_s': 0.05, 'saturated': {'sensor': 'barometer', 'limit_pa': 95000}}]})
    code, _, said = fly(file, '--record', tmp_path / 'bag')
    assert (code, said) == (0, '')
    with AnyReader([tmp_path / 'bag']) as bag:
        connections = [c for c in bag.connections if c.topic == '/baro']
        found = {bag.deserialize(data, c.msgtype).fluid_pressure > 95000.0: t
                 for c, t, data in bag.messages(connections)}
    assert found[True] == 40_000_000 and found[False] == 80_000_000      # the last times
    assert here('replay', tmp_path / 'bag', '--allow', 'my_faults:Saturated').returncode == 0
    # A recording is data, as the folder of a campaign is: what it would import has to be allowed.
    folder = Folder.make(tmp_path / 'c', Campaign.from_mapping('c', 'campaign c', {
        'scenario': yaml.safe_load(file.read_text()), 'runs': 1}), None)
    (tmp_path / 'c' / 'runs.jsonl').write_text(json.dumps(campaigns.row()) + '\n')
    monkeypatch.setenv('PYTHONPATH', str(tmp_path), prepend=os.pathsep)
    (tmp_path / 'my_faults.py').write_text("raise SystemExit('it was run')", encoding='utf-8')
    for words in (('replay', tmp_path / 'bag'), ('replay', '--mode', 'composed', tmp_path / 'bag'),
                  ('campaign', 'refly', folder.path, 1)):
        refused = run(*words)
        assert refused.returncode, refused.stdout
        assert "'my_faults:Saturated': data may not import a class" in refused.stderr
        assert 'it was run' not in refused.stderr + refused.stdout


@pytest.mark.process
def test_a_command_and_a_parameter_reach_the_autopilot(here, instance, write):
    """It is told to land in the middle of its hold; the mode follows.

    That the mission is not flown so is an event of a scenario with an end of its own.
    """
    file = write({'mission': [{'take_off': {'up_m': 2.0}}, {'hold': {'duration_s': 60.0}},
                              {'land': {}}],
                  'events': [{'name': 'land', 'when': {'height_m': {'above': 1.5}},
                              'command': {'command': 'MAV_CMD_NAV_LAND'}}],
                  'expect': [
                      {'eventually': {'mode': 'AUTO_LAND'},
                       'after': {'age_s': {'event': 'land', 'above': 0}}, 'within_s': 1.1},
                      {'eventually': {'landed': True},
                       'after': {'age_s': {'event': 'land', 'above': 0}}, 'within_s': 15}],
                  'end': {'when': {'armed': False, 'age_s': {'event': 'land', 'above': 3}}}})
    result = here('fly', '--mode', 'core', '--scenario', file, '--instance', instance)
    assert (result.returncode, result.stderr) == (0, ''), result.stdout
    assert re.search(r'^t = [ .\d]+ s  the autopilot has disarmed before the end of the mission$',
                     result.stdout, re.M)
    assert re.search(r'^mission_flown +False$', result.stdout, re.M)


@pytest.mark.process
def test_a_link_that_is_lost_keeps_the_pilot_from_arming(fly, write):
    """The embedded autopilot is told to arm when the link is back, and flies then."""
    file = write({'mission': [{'take_off': {'up_m': 2.0}}, {'land': {}}],
                  'events': [{'name': 'lost', 'at_s': 0.5, 'for_s': 6, 'link_lost': None}],
                  'expect': [{'never': {'armed': True}, 'within_s': 6.5},
                             {'eventually': {'armed': True}, 'from_s': 6.5, 'within_s': 9},
                             {'eventually': {'flown': True}}]})
    code, summary, said = fly(file)
    assert (code, said) == (0, ''), summary


# Of each kind of what a file is refused as well.
WRONG_BY_HAND = [
    (['mode', 'to=HOLDD'], "fault: fault: to = 'HOLDD': must be one of MANUAL"),
    (['command', 'command=MAV_CMD_ENUM_END'], 'is no MAV_CMD'),
    (['parameter', 'name=MPC XY', 'value=1'], "name = 'MPC XY': must be 1 to 16 letters"),
    (['parameter', 'name=MPC_XY_P', f'value=1{"0" * 400}'], 'is beyond 64 bits'),
    (['parameter', 'name=MPC_XY_P', 'value=2020-01-01'], 'must be a number'),
    (['note', 'text=x', '--refused'], 'can be refused by the autopilot')]


@pytest.mark.process
def test_a_fault_is_given_by_hand_and_replayed(here, instance, tmp_path):
    """In a graph that runs, by the command; what is wrong is refused in a sentence."""
    words = command('fly', '--mode', 'composed', '--scenario', 'by_hand', '--mission', 'hover',
                    '--speed-factor', '1', '--instance', instance, '--record', tmp_path / 'bag')
    with (listening(ESTIMATE, AUTOPILOT_STATUS, SCENARIO_EVENTS) as heard,
          running(words) as process):
        wait_for_line(process, 'armed')
        wrong = here('fault', 'motor_off', 'motor=9')
        assert (wrong.returncode, wrong.stderr) == (
            2, 'fault: fault.motor = 9: must be at most 4, as many as iris has\n')
        for words, sentence in WRONG_BY_HAND:
            wrong = here('fault', *words)
            assert (wrong.returncode, wrong.stderr.count('\n')) == (2, 1), wrong.stderr
            assert sentence in wrong.stderr
        given = here('fault', 'sensor_bias', 'sensor=barometer', 'value=-50', '--name', 'leak')
        assert (given.returncode, given.stdout) == (0, 'leak\n'), given.stderr
        said = wait_for_line(process, 'leak: sensor_bias: sensor barometer, value -50')
        assert here('fault', 'clear', 'event=leak').stdout == 'hand_1\n'
        said += wait_for_line(process, 'leak ends')
        blown = here('fault', 'wind', 'speed_m_s=2', 'from_deg=90', '--for', '1')
        assert (blown.returncode, blown.stdout) == (0, 'hand_2\n'), blown.stderr
        wait_for_line(process, 'hand_2 ends')
        assert here('stop').returncode == 0
        process.wait(30)
        found = heard()
    assert_heard(found, BagReader(tmp_path / 'bag'), ''.join(said))
    replayed = here('replay', tmp_path / 'bag')
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr


@pytest.mark.process
def test_a_graph_without_a_scenario_says_how_to_have_one(here, instance, tmp_path):
    mission, vehicle = write_long_hover(tmp_path, 3600.0)      # until it is stopped
    words = command('fly', '--mode', 'composed', '--mission', mission, '--vehicle', vehicle,
                    '--instance', instance)
    with running(words) as process:
        wait_for_line(process, 'ready to fly')
        refused = here('fault', 'motor_off', 'motor=1')
        assert (refused.returncode, refused.stderr) == (
            1, 'fault: this graph has no node scenario, which does faults; start it with by_hand:'
            ' true\n')
        assert here('stop').returncode == 0


def assert_heard(found, bag, said):
    """Check what an outside subscriber has got of a flight: its times are simulated ones.

    :param found: serialised messages by topic
    :param bag: has the steps
    :param said: what was printed, with times
    """
    recorded = {}
    for message in bag.messages():
        recorded.setdefault(message.topic, []).append((message.time_us, bag.decode(message)))
    step_us = bag.run.world.step_us
    for topic in ESTIMATE, AUTOPILOT_STATUS:
        stamps_us = [serialised_stamp_us(data) for data in found[topic.name]]
        assert stamps_us == sorted(set(stamps_us)) and not any(t % step_us for t in stamps_us)
        # The recorder has had them with a step soon afterwards.
        later_us = {stamp_us(said.header.stamp): at_us for at_us, said in recorded[topic.name]}
        assert all(-step_us <= later_us[t] - t < US_PER_S for t in stamps_us)
    assert len(found[ESTIMATE.name]) > 100
    statuses = [decode(data, AUTOPILOT_STATUS.type) for data in found[AUTOPILOT_STATUS.name]]
    assert 'armed, in the air' in statuses[-1].status[0].message
    events = [read_event(decode(data, SCENARIO_EVENTS.type))
              for data in found[SCENARIO_EVENTS.name]][:3]
    assert [event.text for event in events] == [
        'leak: sensor_bias: sensor barometer, value -50', 'hand_1: clear: event leak', 'leak ends']
    for event in events:
        assert f't = {event.time_us / US_PER_S:7.2f} s  {event.text}\n' in said
    # In the steps the action is in force between both.
    in_force_us = [time_us for time_us, faults in recorded[FAULTS] if 'leak' in faults.msg]
    assert (in_force_us[0], in_force_us[-1] + step_us) == (events[0].time_us, events[2].time_us)


def test_the_examples_are_listed_with_what_they_are_about():
    assert len(EXAMPLES) >= 12
    for path in EXAMPLES.values():
        assert pathlib.Path(path).read_text(encoding='utf-8').startswith('# ')


@pytest.mark.parametrize('mode', ['composed', pytest.param('separate', marks=pytest.mark.long)])
def test_a_graph_prints_the_verdicts(mode, instance, tmp_path):
    """Under `ros2 launch` nothing else does."""
    scenario = tmp_path / 'short.yaml'
    scenario.write_text(json.dumps({'mission': 'none', 'end': {'at_s': 0.1}, 'expect': [
        {'always': {'height_m': {'below': 1}}}, {'eventually': {'height_m': {'above': 5}}}]}))
    with contextlib.closing(GraphProcesses(
            tmp_path, mode, instance, {'': {'scenario': str(scenario)}})) as graph:
        graph.wait_up()
        graph.connect()
        name = 'scenario' if mode == 'separate' else 'world'
        graph.wait_said(name, 'height_m above 5: fails')
        assert graph.said(name).count('height_m below 1: holds') == 1
