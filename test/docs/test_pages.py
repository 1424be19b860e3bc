# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the pages about vehicles, PX4, time and run control say is true: run, or compared."""
import contextlib
import importlib
import json
import math
import os
import pathlib
import re
import shlex

import pytest
import yaml
from stand_in_autopilot import StandInAutopilot

from px4_sim_ros.autopilot.mavlink_interface import AUTOPILOT_PORT
from px4_sim_ros.cli import check_vehicle, command_line, fly
from px4_sim_ros.cli import pilot as pilot_command
from px4_sim_ros.link import ports
from px4_sim_ros.link.hil import battery_link, link_state, lockstep, replies
from px4_sim_ros.link.hil import server as hil_server
from px4_sim_ros.link.pilot import link as pilot_link
from px4_sim_ros.link.pilot import pilot
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.timebase import is_due
from px4_sim_ros.model.vehicle.vehicle import MOST_ROTORS
from px4_sim_ros.px4 import boot_parameters
from px4_sim_ros.px4.sitl import Px4
from px4_sim_ros.ros.framework.endpoints import NodeStatus
from px4_sim_ros.ros.manager import recorder_watch
from px4_sim_ros.ros.manager.overdue_watch import find_overdue
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.spec.files import load_mission, load_vehicle
from px4_sim_ros.spec.parameter_files import default_parameters
from px4_sim_ros.spec.run_parameters import ManagerParameters
from px4_sim_ros.spec.settings import settings
from px4_sim_ros.step import graph, pacing

ROOT = pathlib.Path(__file__).resolve().parents[2]
GRAVITY_M_S2 = 9.80665
T_US, STEP_US = 12_004_000, 4000


def page(name):
    return (ROOT / 'docs' / f'{name}.md').read_text(encoding='utf-8')


VEHICLE, PX4, TIME = page('own_vehicle'), page('px4_and_ports'), page('time_and_lockstep')
CONTROL = page('run_control')


def blocks(text, language):
    return re.findall(f'```{language}\n(.*?)```', text, re.S)


def rows(text, head):
    """Return the cells of the table whose head begins with a text, without its quotes."""
    table = text[text.index(f'| {head}'):].partition('\n\n')[0].partition('\n<!--')[0]
    return [[cell.strip().replace('`', '') for cell in line.strip('|').split('|')]
            for line in table.splitlines()[2:]]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Go to a folder with the files of the pages, under the names that they are given there."""
    vehicle = (ROOT / 'examples' / 'my_quad.yaml').read_text(encoding='utf-8')
    mission, = blocks(VEHICLE, 'yaml')
    parameters, = blocks(PX4, 'yaml')
    for name, text in (
            ('my_quad', vehicle), ('first_hop', mission), ('far', parameters)):
        (tmp_path / f'{name}.yaml').write_text(text)
    monkeypatch.chdir(tmp_path)
    # What is compiled once on a machine is kept there: no process compiles it again.
    cache = os.environ.get('XDG_CACHE_HOME') or pathlib.Path.home() / '.cache'
    monkeypatch.setenv('XDG_CACHE_HOME', str(cache))
    monkeypatch.setenv('HOME', str(tmp_path))
    return tmp_path


@contextlib.contextmanager
def said(sentence, *errors):
    """See that a sentence of a page is what the code says."""
    with pytest.raises(errors) as error:
        yield
    assert (getattr(error.value, 'strerror', None) or str(error.value)) == sentence


# Your own vehicle.

def test_the_vehicle_is_plausible(files, capsys):
    assert command_line.main(['check-vehicle', 'my_quad.yaml']) == 0
    assert capsys.readouterr().out.splitlines()[-1] == 'plausible'


@pytest.mark.process
def test_the_vehicle_flies(files, instance):
    assert command_line.main([
        'fly', '--mode', 'core', '--mission', 'first_hop.yaml', '--vehicle', 'my_quad.yaml',
        '--instance', str(instance), '--summary', 'summary.json']) == 0
    summary = json.loads((files / 'summary.json').read_text())
    assert summary['vehicle'] == 'my_quad'
    assert summary['mission_flown']
    assert summary['landed']
    assert summary['max_altitude_m'] == pytest.approx(3.0, abs=0.7)
    assert summary['position_error_at_landing_m'] < 0.5


def test_the_figures_of_the_vehicle(files, capsys):
    assert command_line.main(['check-vehicle', 'my_quad.yaml', '--json']) == 0
    figures = json.loads(capsys.readouterr().out)['figures']
    table = rows(VEHICLE, 'figure |')
    assert len(table) >= 5
    for name, value, _ in table:
        assert f'{figures[name]:.3g}' == f'{float(value):.3g}'


def test_what_is_measured_gives_the_numbers_of_the_file(files):
    vehicle = load_vehicle('my_quad.yaml')
    body, rotor = vehicle.body, vehicle.rotor_model
    distance_m, length_m = 0.40, 1.50
    for (_, period_s, told), inertia in zip(rows(VEHICLE, 'axis that'), body.inertia_kg_m2):
        measured = (body.mass_kg * GRAVITY_M_S2 * distance_m ** 2 * float(period_s) ** 2
                    / (16 * math.pi ** 2 * length_m))
        assert float(told) == inertia == round(measured, 4)
    thrust, moment = rotor.thrust_coefficient_n_s2, rotor.moment_coefficient_m
    assert thrust == pytest.approx(12.0 / 885 ** 2, rel=1e-3)
    assert moment == pytest.approx(0.197 / 12.0, rel=3e-3)
    diameter, density = rotor.propeller_diameter_m, rotor.reference_density_kg_m3
    assert thrust == pytest.approx(0.1185 * density * diameter ** 4 / (4 * math.pi ** 2), rel=5e-3)
    assert moment == pytest.approx(0.0480 * diameter / (math.tau * 0.1185), rel=5e-3)
    assert rotor.inertia_kg_m2 == pytest.approx(0.008 * diameter ** 2 / 12, rel=1e-2)
    assert rotor.command_gain_rad_s == rotor.max_speed_rad_s - rotor.command_offset_rad_s
    assert vehicle.motor_model.motor_kv_rad_s_v == pytest.approx(700 * math.pi / 30, rel=1e-3)
    contact, feet = vehicle.contact_model, len(vehicle.contact_points_m)
    assert contact.stiffness_n_m == pytest.approx(
        body.mass_kg * GRAVITY_M_S2 / (feet * 0.002), rel=1e-2)
    assert contact.damping_n_s_m == pytest.approx(
        0.8 * math.sqrt(contact.stiffness_n_m * body.mass_kg / feet), rel=1e-2)
    pack, = vehicle.battery.packs
    assert pack.polarisation_capacitance_f * pack.polarisation_resistance_ohm == pytest.approx(
        20.0, rel=5e-2)
    assert f'up to {MOST_ROTORS} fixed rotors' in VEHICLE


def test_px4_knows_the_rotors_of_the_file(files):
    vehicle = load_vehicle('my_quad.yaml')
    told = vehicle.px4_parameters
    for i, rotor in enumerate(vehicle.rotors):
        forward, left, _ = rotor.position_m
        assert (told[f'CA_ROTOR{i}_PX'], told[f'CA_ROTOR{i}_PY']) == (forward, -left)
        assert told[f'CA_ROTOR{i}_KM'] == rotor.spin * vehicle.rotor_model.moment_coefficient_m


WARNINGS = rows(VEHICLE, 'in the file')


@pytest.mark.parametrize(('change', 'warning'), [row[:2] for row in WARNINGS],
                         ids=[row[1] for row in WARNINGS])
def test_warnings(change, warning, files, capsys):
    content = yaml.safe_load((files / 'my_quad.yaml').read_text())
    name, _, value = change.partition(': ')
    section, _, key = name.partition('.')
    assert key in content[section]
    content[section][key] = yaml.safe_load(value)
    (files / 'changed.yaml').write_text(yaml.safe_dump(content))
    assert command_line.main(['check-vehicle', 'changed.yaml']) == 1
    assert f'implausible: {warning}' in capsys.readouterr().out


def test_a_vehicle_that_is_refused(files, capsys):
    sentence, = (b.strip() for b in blocks(VEHICLE, 'text') if 'must be' in b)
    text = (files / 'my_quad.yaml').read_text()
    (files / 'changed.yaml').write_text(
        text.replace('zero_thrust_advance_ratio: 0.67', 'zero_thrust_advance_ratio: 0.2'))
    assert command_line.main(['check-vehicle', 'changed.yaml']) == 2
    assert capsys.readouterr().err.strip().endswith(f': {sentence}')


# PX4 and ports.

def test_ports():
    ports = {row[0] for row in rows(PX4, 'port |')}
    of_instance = {f'{protocol} {first} + i' for protocol, first in (
        ('TCP', hil_server.HIL_PORT), ('UDP', AUTOPILOT_PORT),
        ('UDP', battery_link.PAYLOAD_PORT))}
    first, later = pilot_link.pilot_port(0), pilot_link.pilot_port(10) - 10
    assert of_instance | {f'UDP {first} + i; {later} + i from 10 on'} <= ports
    assert hil_server.port_of(7) == hil_server.HIL_PORT + 7
    assert pilot_link.pilot_port(9) == 14549
    assert pilot_link.pilot_port(12) == 14702       # of the sentence about instances from 10 on


@pytest.mark.skipif(not os.environ.get('PX4_DIR'), reason='PX4_DIR does not point to a built PX4')
def test_ports_of_px4():
    script = (Px4.find(os.environ['PX4_DIR']).build / 'etc/init.d-posix/px4-rc.mavlink').read_text()
    theirs = set(re.findall(r'=\$\(\((\d+)\+px4_instance\)\)', script.partition('SIH')[0]))
    assert theirs == {'18570', '14580', '14540', '14280', '14030', '13030', '13280'}
    for port in theirs:
        assert f'{port} + i' in PX4
    assert 'udp_offboard_port_remote=14549' in script


def test_choices_and_states_of_the_link():
    info = link_state.HilParameters.infos()['instance']
    assert f"at least {info['minimum']} and at most {info['maximum']}" in PX4
    choices = {row[0] for row in rows(PX4, 'value | what follows')}
    assert choices == set(link_state.HilParameters.infos()['on_stall']['choices'])
    states = [row[0] for row in rows(PX4, 'state | meaning')]
    assert states == [state.value for state in link_state.LinkState]


def test_numbers_of_the_link():
    for text, value in (
            (r'among the last (\d+)\.', replies.STEPS_REMEMBERED),
            (r'until (\d+) steps in a row', lockstep._TRUSTED_REPLIES),
            (r'a step waits ([\d.]+) s at most', lockstep._GAP_TIMEOUT_S),
            (r'sends a HEARTBEAT each ([\d.]+) s', lockstep.HEARTBEAT_PERIOD_S),
            (r'takes longer than ([\d.]+) s', lockstep.RESTART_S),
            (r'gives up after ([\d.]+) s', pilot._SILENCE_LIMIT_S)):
        found = re.search(text, PX4.replace('\n', ' '))
        assert found, text
        assert float(found[1]) == value
    assert battery_link._PERIOD_US == 500_000      # twice a simulated second


def test_what_px4_finds_in_its_environment(files):
    told = {name: value for name, value, _ in rows(PX4, 'variable |')}
    px4 = Px4(files)                 # without a list of its parameters
    ours, _ = boot_parameters.environment(px4, load_vehicle('my_quad.yaml'), None)
    assert ours['PX4_SYS_AUTOSTART'] == '10016'
    for name in 'PX4_SIM_MODEL', 'PX4_SIMULATOR', 'PX4_PARAM_SIM_BAT_ENABLE':
        assert re.match(rf'{ours[name]}\b', told[name])
    content = yaml.safe_load((files / 'my_quad.yaml').read_text())
    del content['battery']
    (files / 'without.yaml').write_text(yaml.safe_dump(content))
    ours, _ = boot_parameters.environment(px4, load_vehicle('without.yaml'), None)
    assert 'PX4_PARAM_SIM_BAT_ENABLE' not in ours
    command = Px4(pathlib.Path('<build>'), 'all-cores').command(0)
    assert ' '.join(command).removeprefix('<build>/') in PX4


def test_ports_that_are_taken(instance):
    tcp, udp = next(b for b in blocks(PX4, 'text') if b.startswith('TCP port')).splitlines()

    def of(sentence, first):
        return sentence.replace(str(first), str(first + instance))

    with contextlib.closing(hil_server.HilServer('127.0.0.1', hil_server.port_of(instance))):
        with pytest.raises(ports.PortTakenError) as error:
            ports.check_port_is_free('TCP', ports.LOCAL, hil_server.port_of(instance))
        holder = re.compile(r'by .* \(process \d+\)')
        assert holder.sub('', error.value.strerror) == holder.sub('', of(tcp, 4560))
    with contextlib.closing(pilot.Pilot(instance, print)):
        with pytest.raises(ports.PortTakenError) as error:
            pilot.Pilot(instance, print)
        assert holder.sub('', error.value.strerror) == holder.sub('', udp.replace(
            str(pilot_link.pilot_port(0)), str(pilot_link.pilot_port(instance))))


def test_a_folder_without_px4():
    sentence, = (b.strip() for b in blocks(PX4, 'text') if b.startswith('px4_dir'))
    with said(sentence, ParameterError):
        Px4.find('/home/me/nowhere')


def test_sentences_of_the_link(instance, monkeypatch):
    silence, restart = (b.strip() for b in blocks(PX4, 'text') if b.startswith('the autopilot'))
    values = default_parameters('hil_bridge')
    parameters = link_state.HilParameters.from_mapping('hil_bridge', {
        name: values[name] for name in link_state.HilParameters.infos()} | {
            'on_stall': 'fail', 'freewheel_pause_s': 0.5})
    monkeypatch.setattr(lockstep, 'RESTART_S', 0.0)
    with contextlib.ExitStack() as stack:
        port = hil_server.port_of(instance)
        server = stack.enter_context(
            contextlib.closing(hil_server.HilServer('127.0.0.1', port)))
        link = lockstep.Lockstep(server, parameters, STEP_US)
        autopilot = stack.enter_context(contextlib.closing(StandInAutopilot(port)))
        link.wait(1.0)
        autopilot.reply(T_US - STEP_US)
        assert link.exchange(T_US - STEP_US, b'frames') is not None
        assert link.state is link_state.LinkState.LOCKED
        with said(silence, lockstep.StallError):
            link.exchange(T_US, b'frames')
        link.reset()
        link.report.take_events()
        assert link.exchange(STEP_US, b'frames') is None
        assert link.report.take_events() == [(True, f'WAITING at t = 0.004000 s: {restart}')]
    refusal = 'This simulator already serves an autopilot'
    assert refusal in PX4.replace('\n', ' ')
    assert refusal.encode() in hil_server._refusal()


# Time and lockstep.


def test_who_is_due():
    periods = default_parameters('manager')
    head = re.search(r'\| t in us \|(.*)\|', TIME)[1]
    columns = [column.strip().split(', ') for column in head.split('|')]
    assert sum(map(len, columns)) == 7
    for time_us, *cells in rows(TIME, 't in us'):
        for names, cell in zip(columns, cells):
            for name in names:
                assert is_due(int(time_us), periods[f'periods_us.{name}']) == (cell == 'x')


def test_the_step_is_that_of_the_graph():
    whole = graph.of_instances({'wind': 1})
    table = {name: published.split(', ') for name, _, published in rows(TIME, 'node | waits')[1:-1]}
    assert list(table) == list(whole.managed)
    for name, published in table.items():
        assert set(published) == {topic.name for topic in whole.outputs(name)}
    previous = {name: spec.previous for name, spec in whole.nodes.items() if spec.previous}
    assert previous == {'wind': ('ground_truth/odom',), 'dynamics': (graph.COMMAND,)}


@pytest.mark.parametrize(('setting', 'value'), [
    ('periods_us.gps', 99000), ('periods_us.imu', 8000), ('periods_us.magnetometer', 12000),
    ('substeps', 3)])
def test_what_is_refused(setting, value):
    sentence, = (line for block in blocks(TIME, 'text') for line in block.splitlines()
                 if line.startswith(f'{setting} = {value}: '))
    node = 'dynamics' if setting == 'substeps' else ''
    with said(sentence, ParameterError):
        load_configuration(None, {node: {setting: value}})


def test_the_node_that_is_late_is_named():
    sentence, = (b.strip() for b in blocks(TIME, 'text') if b.startswith('imu has'))
    statuses = {'hil_bridge': NodeStatus('active', '', T_US, {'imu/data_raw': T_US - STEP_US}),
                'imu': None}
    overdue = find_overdue(
        graph.of_instances({}), statuses, graph.COMMAND, T_US, T_US - STEP_US, STEP_US)
    assert overdue.sentence == sentence


def test_numbers_of_time():
    defaults = default_parameters('manager')
    assert f"({defaults['step_timeout_s']:g} s)" in TIME
    assert '`wait` (the default)' in TIME
    assert defaults['on_overdue'] == 'wait'
    assert f'behind by more than {pacing._MAX_LAG_S:g} s' in CONTROL
    assert f'{recorder_watch.WINDOW_STEPS} steps behind' in CONTROL
    values = {name: defaults[name] for name in ManagerParameters.infos()}
    ManagerParameters.from_mapping('manager', values | {'speed_factor': 0.01})
    with pytest.raises(ParameterError, match=r'at least 0\.01'):
        ManagerParameters.from_mapping('manager', values | {'speed_factor': 0.009})
    assert 'at least 0.01' in CONTROL


# Commands that need files of the pages.

COMMANDS = [shlex.split(re.sub(r'^(?:[A-Z0-9_]+=\S+ )+', '', line))
            for text in (VEHICLE, PX4, TIME, CONTROL.partition('\n## With an installed ROS 2')[0])
            for block in blocks(text, 'bash')
            for line in block.replace('\\\n', '').splitlines()]


@pytest.mark.parametrize('words', COMMANDS, ids=' '.join)
def test_commands(words, files, monkeypatch):
    if words[0] == 'ros2':
        assert words[:2] == ['ros2', 'run']
        return
    python, minus_m, module, *options = words
    assert (python, minus_m) == ('python', '-m')
    if module == 'px4_sim_ros.ros.world':
        assert callable(importlib.import_module(module).main)
        if options:
            assert options[:2] == ['--ros-args', '--params-file']
            assert load_configuration(options[2], {}).nodes['hil_bridge'].host == '0.0.0.0'
        return
    assert module == 'px4_sim_ros'
    seen = []
    monkeypatch.setattr(fly, 'fly', lambda o: seen.append(o) or 0)
    monkeypatch.setattr(pilot_command, 'pilot', lambda o: seen.append(o) or 0)
    monkeypatch.setattr(check_vehicle, 'check_vehicle', lambda o: seen.append(o) or 0)
    assert command_line.main(options) == 0
    given, = seen
    if given.command == 'check-vehicle':
        load_vehicle(given.vehicle)
    else:
        load_mission(given.mission or 'square')
    if given.command == 'fly':
        load_configuration(None, settings(given))
