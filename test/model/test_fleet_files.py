# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Fleet files: what they come to, and one clear sentence with its place for each mistake."""
import math
import re

import pytest
import yaml

from px4_sim_ros.link.hil.link_state import HilParameters
from px4_sim_ros.model.body.dynamics import Dynamics
from px4_sim_ros.model.body.integrators import DynamicsParameters
from px4_sim_ros.model.environment.wind import Wind
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.rotation import matrix, to_world
from px4_sim_ros.model.world import Environment
from px4_sim_ros.spec import fleets
from px4_sim_ros.spec.files import Files
from px4_sim_ros.spec.fleets import Fleet, check_presences
from px4_sim_ros.spec.resources import named_files

GOOD = {
    'set': {'wind': 'constant', 'wind.speed_m_s': 4.0},
    'vehicles': [
        {'namespace': 'alpha'},
        {'namespace': 'bravo', 'vehicle': 'x500', 'mission': 'hover', 'instance': 39, 'seed': 9,
         'start': {'east_m': 5.0, 'north_m': -2.0, 'heading_deg': 0.0}, 'when_gone': 'go_on',
         'set': {'hil_bridge.reply_timeout_s': 2.0}},
        {'namespace': 'charlie', 'autopilot': 'none', 'mission': 'none', 'start': {'east_m': -5}}]}


def load(content, tmp_path):
    file = tmp_path / 'fleet.yaml'
    file.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return Fleet.load(str(file))


def configured(fleet, overrides=None):
    return {vehicle.namespace: (vehicle, its) for vehicle, its in fleets.configurations(
        fleet, 'embedded', None, overrides or {}, lambda autopilot: {
            'manager': {'speed_factor': 0.0}, '': {'mission': 'square'}}, Files())}


def link(configuration):
    return configuration.of_node('hil_bridge', HilParameters)


def test_what_is_said_of_a_vehicle_and_of_all(tmp_path):
    found = configured(load(GOOD, tmp_path))
    _, alpha = found['alpha']
    bravo_said, bravo = found['bravo']
    charlie_said, charlie = found['charlie']
    assert (alpha.vehicle.name, bravo.vehicle.name) == ('iris', 'x500')
    assert (alpha.world.mission, bravo.world.mission, charlie.world.mission) == (
        'square', 'hover', 'none')
    assert (bravo_said.autopilot, charlie_said.autopilot) == ('embedded', 'none')
    assert {its.nodes['wind'].speed_m_s for _, its in found.values()} == {4.0}
    assert (link(alpha).on_waiting, link(bravo).on_waiting) == ('hold', 'hold_first')
    assert link(bravo).reply_timeout_s == 2.0 != link(alpha).reply_timeout_s


def test_each_has_ports_and_random_streams_of_its_own(tmp_path):
    found = configured(load(GOOD, tmp_path), {'hil_bridge': {'instance': 38}})
    assert [link(its).instance for _, its in found.values()] == [38, 39, 40]
    found = configured(load(GOOD, tmp_path), {'hil_bridge': {'instance': 39}})
    assert [link(its).instance for _, its in found.values()] == [40, 39, 41]
    seeds = [its.world.seed for _, its in found.values()]
    assert seeds[:2] == [1, 9]       # the first has that of the world
    assert len(set(seeds)) == 3
    # Whoever joins or leaves changes no other's.
    fewer = {**GOOD, 'vehicles': [GOOD['vehicles'][0], GOOD['vehicles'][2]]}
    assert configured(load(fewer, tmp_path))['charlie'][1].world.seed == seeds[2]
    assert configured(load(GOOD, tmp_path), {'': {'seed': 2}})['charlie'][1].world.seed != seeds[2]


def test_instances_end(tmp_path):
    with pytest.raises(ParameterError) as error:
        configured(load(GOOD, tmp_path), {'hil_bridge': dict(instance=99)})
    assert str(error.value) == ('fleet fleet: charlie: there is no instance left for it from 99'
                                ' on; instances end at 99')
    assert len(configured(Fleet.of_number(100, 3.0, 0))) == 100
    with pytest.raises(ParameterError, match=r'^vehicles 4: px4_100 has no instance; instances end'
                       r' at 99, and --instance sets the first, which is 97$'):
        Fleet.of_number(4, 3.0, 97)


def test_a_name_of_px4_is_that_of_its_instance(tmp_path):
    """PX4's topics of instance 3 are below /px4_3; its seed is that of its place in the fleet."""
    def those(*fleet):
        return {name: (link(its).instance, its.world.seed)
                for name, (_, its) in configured(*fleet).items()}

    # The seeds of px4_1 and px4_2 before they had these instances.
    assert those(Fleet.of_number(2, 3.0)) == {'px4_1': (1, 1), 'px4_2': (2, 756284969)}
    assert those(Fleet.of_number(2, 3.0, 5)) == {'px4_5': (5, 1), 'px4_6': (6, 756284969)}
    assert those(Fleet.of_number(1, 3.0, 0)) == {'px4_0': (0, 1)}
    file = {'vehicles': [{'namespace': name} | entry for name, entry in (
        ('lead', {}), ('px4_2', {}), ('px4_0', {}), ('px4_7', dict(instance=3)), ('px4_03', {}),
        ('px4_100', {}))]}
    assert [instance for instance, _ in those(load(file, tmp_path)).values()] == [1, 2, 0, 3, 4, 5]
    file['vehicles'][0]['instance'] = 2
    with pytest.raises(ParameterError, match='instance = 2: 2 vehicles have it; each needs one'):
        load(file, tmp_path)


def test_all_meet_the_same_field_of_turbulence(tmp_path):
    fleet = load(GOOD, tmp_path)
    for field, seed in ({}, 1), ({'field_seed': 5}, 5):
        found = configured(fleet, {'': {'wind': 'field'}, 'wind': field})
        winds = {name: Wind('wind', its.nodes['wind'], its.world)
                 for name, (_, its) in found.items()}
        there = {wind.sample(20_000, (3.0, 4.0, 5.0), (0.0, 0.0, 0.0)) for wind in winds.values()}
        assert len(there) == 1
        assert [its.nodes['wind'].field_seed for _, its in found.values()][1:] == [seed] * 2
    # The seed of the world is that of the field.
    other = configured(fleet, {'': {'wind': 'field', 'seed': 2}})['bravo'][1]
    assert other.nodes['wind'].field_seed == 2


def test_where_a_vehicle_stands_at_first(tmp_path):
    _, bravo = configured(load(GOOD, tmp_path))['bravo']
    dynamics = Dynamics(bravo.of_node('dynamics', DynamicsParameters), bravo.vehicle,
                        Environment.of(bravo.world), bravo.world.step_us)
    truth = dynamics.truth()
    assert truth.position_enu[:2] == (5.0, -2.0)
    nose = to_world(matrix(truth.attitude), (1.0, 0.0, 0.0))
    assert nose == pytest.approx((0.0, 1.0, 0.0))      # north


@pytest.mark.parametrize('count', [1, 2, 4, 5, 40])
def test_a_number_of_vehicles_in_rows(count):
    fleet = Fleet.of_number(count, 3.0)
    places = [(v.settings['dynamics']['start_east_m'], v.settings['dynamics']['start_north_m'])
              for v in fleet.vehicles]
    assert places[0] == (0.0, 0.0)
    assert [v.namespace for v in fleet.vehicles] == [f'px4_{i + 1}' for i in range(count)]
    if count > 1:
        assert min(math.dist(a, b) for i, a in enumerate(places) for b in places[:i]) == 3.0
    assert max(map(max, places)) <= 3.0 * math.ceil(math.sqrt(count))


@pytest.mark.parametrize('name', named_files('fleets'))
def test_those_that_come_along(name):
    fleet = Fleet.load(name)
    fleets.check_starts({n: its for n, (_, its) in configured(fleet).items()})


def changed(**entry):
    """Return a fleet whose second vehicle is otherwise."""
    return {**GOOD, 'vehicles': [GOOD['vehicles'][0], {**GOOD['vehicles'][1], **entry}]}


@pytest.mark.parametrize(('content', 'sentence'), [
    ('- 1', ': must hold a list of vehicles'),
    ({'vehicles': []}, ': vehicles: 0 of them; must be at least 1 and at most 100'),
    ({**GOOD, 'windy': 1},
     ': fleet.windy: unknown parameter; known are near_miss_m, set, vehicles'),
    ({**GOOD, 'near_miss_m': -1.0}, '.near_miss_m = -1.0: must be at least 0 and at most 1000 m'),
    ({'vehicles': [3]}, ': vehicles[0] = 3: must be a mapping'),
    ({'vehicles': [{}]}, ': vehicles[0].namespace: missing; it is of its nodes, topics and frames'),
    (changed(namespace='a/b'), ": vehicles[1].namespace = 'a/b': must be a name of ROS without"
     ' slashes, such as px4_1'),
    (changed(namespace='alpha'),
     ": namespace = 'alpha': 2 vehicles have it; each needs one of its own"),
    (changed(instance=100), ': vehicles[1].instance = 100: must be at least 0 and at most 99'),
    (changed(autopilot='ardupilot'), ": vehicles[1].autopilot = 'ardupilot': must be one of"
     ' embedded, px4, none, udp:HOST:PORT, serial:DEVICE:BAUD'),
    (changed(when_gone='cry'),
     ": vehicles[1].when_gone = 'cry': must be one of hold, go_on, begin_again"),
    (changed(start={'east': 1}), ': vehicles[1].start.east: unknown parameter; did you mean'
     ' east_m?'),
    (changed(start={'east_m': 'far'}), ": vehicles[1].start.east_m = 'far': must be a number"),
    (changed(joins_at_s=-1.0),
     ': vehicles[1].joins_at_s = -1.0: must be at least 0 and at most 1000000 s'),
    (changed(joins_at_s=12.0, leaves_at_s=12.0), ': vehicles[1].leaves_at_s = 12: must be greater'
     ' than joins_at_s, which is 12 s'),
    (changed(in_reserve=True, leaves_at_s=12.0), ': vehicles[1].leaves_at_s = 12: is not for a'
     ' vehicle in reserve, which joins and leaves by hand'),
    (changed(set=[]), ': vehicles[1].set = []: must be a mapping'),
    (changed(set={'iMu.x': 1}),
     ': vehicles[1].set.iMu.x: there is no node iMu; did you mean imu'),
    (changed(set={'manager.speed_factor': 1.0}),
     ': vehicles[1].set: manager is of the world; set it for all of the fleet')])
def test_a_file_that_is_refused(content, sentence, tmp_path):
    with pytest.raises(ParameterError) as error:
        load(content, tmp_path)
    assert str(error.value) == f'fleet file {tmp_path / "fleet.yaml"}{sentence}'


@pytest.mark.parametrize(('entry', 'sentence'), [
    ({'set': {'imus.x': 1}}, 'there is no node imus; did you mean imu'),
    ({'vehicle': 'irs'}, "vehicle 'irs': there is no such vehicle; did you mean iris"),
    ({'set': {'step_us': 2000, 'periods_us.imu': 2000}},
     'step_us = 2000: is of the world, where it is 4000; set step_us and periods_us.imu to 4000'
     ' for all of the fleet'),
    ({'set': {'wind': 'none'}},
     "wind = 'none': is of the world, where it is 'constant'; set it for all of the fleet"),
    ({'scenario': 'motor_ou'},
     "scenario 'motor_ou': there is no such scenario; did you mean motor_out; `list scenarios`"
     " prints all ")])
def test_a_vehicle_that_does_not_fit(entry, sentence, tmp_path):
    fleet = load(changed(**entry), tmp_path)
    with pytest.raises(ParameterError) as error:
        configured(fleet)
    assert str(error.value).startswith(f'fleet fleet: bravo: {sentence}')


@pytest.mark.parametrize(('settings', 'sentence'), [
    ({'wind.spedd': 2}, 'wind: there is no such node in this run; add it with --wind constant'),
    ({'wind': 'constant', 'wind.spedd': 2},
     'wind.spedd: unknown parameter; did you mean seed'),
    ({'airspeed.offset_pa': 1.0},
     'airspeed: there is no such node in this run; add it with --set instances.airspeed=1'),
    ({'recorder.evry': 2}, 'recorder.evry: unknown parameter; did you mean every')])
def test_what_all_are_set_and_none_has_is_refused(settings, sentence, tmp_path):
    fleet = load({'vehicles': GOOD['vehicles'], 'set': settings}, tmp_path)
    with pytest.raises(ParameterError, match=re.escape(sentence)):
        configured(fleet)


def test_whoever_does_what_the_sentence_says_has_a_rover_beside_a_quad(tmp_path):
    pair = {'vehicles': [{'namespace': 'quad'}, {
        'namespace': 'rover', 'vehicle': 'rover_ackermann', 'mission': 'rover'}]}
    with pytest.raises(ParameterError) as error:
        configured(load(pair, tmp_path))
    assert str(error.value) == (
        'fleet fleet: rover: step_us = 10000: is of the world, where it is 4000; set step_us and'
        ' periods_us.imu to 10000 for all of the fleet')
    found = configured(load(
        {**pair, 'set': {'step_us': 10_000, 'periods_us.imu': 10_000}}, tmp_path))
    assert {its.world.step_us for _, its in found.values()} == {10_000}


def presences(tmp_path, *entries):
    fleet = load({'vehicles': [{'namespace': f'v{i}', **entry}
                               for i, entry in enumerate(entries)]}, tmp_path)
    found = {vehicle.namespace: vehicle.presence(4000) for vehicle in fleet.vehicles}
    check_presences('fleet', found)
    return list(found.values())


def test_from_when_to_when_a_vehicle_is_there(tmp_path):
    assert presences(
        tmp_path, {'leaves_at_s': 12.001}, {'joins_at_s': 12.0},
        {'joins_at_s': 0.5, 'leaves_at_s': 6}, {'in_reserve': True}) == [
            (0, 12_000_000), (12_000_000, None), (500_000, 6_000_000), (None, None)]


@pytest.mark.parametrize(('entries', 'sentence'), [
    ([{'joins_at_s': 2.0}],
     'fleet: no vehicle is in the world at t = 0.000000 s, before v0 joins it at t = 2.000000 s'),
    ([{'leaves_at_s': 2.0}, {'joins_at_s': 3.0}],
     'fleet: no vehicle is in the world at t = 2.000000 s, before v1 joins it at t = 3.000000 s'),
    ([{}, {'joins_at_s': 1.0, 'leaves_at_s': 1.001}],
     'fleet: v1 joins and leaves at t = 1.000000 s, to the nearest step; it has to stay for one'
     ' step at least'),
    ([{'in_reserve': True}], 'fleet: all vehicles are in reserve; one at least has to be there from'
     ' the beginning')])
def test_somebody_has_to_be_there(entries, sentence, tmp_path):
    with pytest.raises(ParameterError) as error:
        presences(tmp_path, *entries)
    assert str(error.value) == sentence


def test_vehicles_do_not_begin_within_each_other(tmp_path):
    fleet = load(changed(start={'east_m': 0.3}), tmp_path)
    with pytest.raises(ParameterError) as error:
        fleets.check_starts({n: its for n, (_, its) in configured(fleet).items()})
    assert str(error.value).startswith('alpha and bravo start 0.3 m apart: must be more than 0.')
