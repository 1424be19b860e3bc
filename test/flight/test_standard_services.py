# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A graph is run by the services of the package `simulation_interfaces`, where it is installed."""
import contextlib

import pytest
import yaml
from commands import command, running, wait_for_line
from graph_processes import PATIENCE_S, STEP_US, KeptGraph, Observer, running_graph

pytest.importorskip('simulation_interfaces', reason='simulation_interfaces is not installed')

from geometry_msgs.msg import Pose, PoseStamped
from nav_msgs.msg import Odometry
from simulation_interfaces.msg import (
    EntityCategory,
    EntityFilters,
    Resource,
    Result,
    SimulationState,
    SimulatorFeatures,
)
from simulation_interfaces.srv import (
    DeleteEntity,
    GetEntities,
    GetEntitiesStates,
    GetEntityState,
    GetSimulationState,
    GetSimulatorFeatures,
    GetSpawnables,
    ResetSimulation,
    SetSimulationState,
    SpawnEntity,
    StepSimulation,
)

from px4_sim_ros.messages.stamps import stamp_us

pytestmark = pytest.mark.process

INSTANCE = 91
OK, UNSUPPORTED = Result.RESULT_OK, Result.RESULT_FEATURE_UNSUPPORTED
FAILED, NOT_FOUND = Result.RESULT_OPERATION_FAILED, Result.RESULT_NOT_FOUND
STOPPED, PLAYING, PAUSED, QUITTING = (getattr(SimulationState, f'STATE_{name}') for name in (
    'STOPPED', 'PLAYING', 'PAUSED', 'QUITTING'))
RUN_FEATURES = {getattr(SimulatorFeatures, name) for name in (
    'SIMULATION_RESET', 'SIMULATION_STATE_GETTING', 'SIMULATION_STATE_SETTING',
    'SIMULATION_STATE_PAUSE', 'STEP_SIMULATION_SINGLE', 'STEP_SIMULATION_MULTIPLE')}


@pytest.fixture(scope='module')
def kept(tmp_path_factory):
    graphs = KeptGraph(tmp_path_factory, INSTANCE, {
        'manager': {'speed_factor': 2.0, 'step_timeout_s': 0.3}})
    yield graphs
    graphs.finish()


@pytest.fixture
def world(kept):
    """Return a graph that runs, with a pace of 2, and let time go on afterwards."""
    world = kept.running('composed')
    yield world
    assert world.ask('resume').success


def said(answer):
    return answer.result.result, answer.result.error_message


def state_of(world):
    answer = world.call(GetSimulationState, 'get_simulation_state')
    assert answer.result.result == OK
    return answer.state.state


def set_state(world, state):
    return said(world.call(SetSimulationState, 'set_simulation_state',
                           state=SimulationState(state=state)))


def step(world, count):
    return said(world.call(StepSimulation, 'step_simulation', steps=count))


def reset(world, scope=ResetSimulation.Request.SCOPE_ALL):
    return said(world.call(ResetSimulation, 'reset_simulation', scope=scope))


def complete_us(world):
    """Return the time of the last step, by the vehicle's state."""
    answer = world.call(GetEntityState, 'get_entity_state', entity='iris')
    assert said(answer) == (OK, '')
    return stamp_us(answer.state.header.stamp)


def features_of(world):
    return set(world.call(
        GetSimulatorFeatures, 'get_simulator_features').features.features)


def test_what_is_offered_is_told(world):
    assert features_of(world) == RUN_FEATURES | {SimulatorFeatures.ENTITY_STATE_GETTING}


# Time.

def test_time_is_paused_and_goes_on(world):
    assert state_of(world) == PLAYING
    assert set_state(world, PLAYING) == (
        SetSimulationState.Response.ALREADY_IN_TARGET_STATE,
        'the simulation is in that state already')
    assert set_state(world, PAUSED) == (OK, '')
    assert state_of(world) == PAUSED
    stands_us = complete_us(world)
    world.watch(0.3, lambda: True, '')
    assert complete_us(world) == stands_us
    assert set_state(world, PAUSED)[0] == SetSimulationState.Response.ALREADY_IN_TARGET_STATE
    assert set_state(world, PLAYING) == (OK, '')
    world.wait_steps(10)


def test_a_state_that_cannot_be_is_refused(world):
    assert set_state(world, SimulationState.STATE_NO_WORLD) == (
        UNSUPPORTED, 'state = 4: must be 0 (stopped), 1 (playing), 2 (paused) or 3 (quitting)')
    world.wait_steps(10)


@pytest.mark.parametrize('count', [1, 25])
def test_steps_are_complete_when_the_answer_comes(count, world):
    assert set_state(world, PAUSED) == (OK, '')
    stands_us = complete_us(world)
    assert step(world, count) == (OK, '')
    assert complete_us(world) == stands_us + count * STEP_US
    assert state_of(world) == PAUSED


def test_a_step_that_cannot_be_is_refused(world):
    assert step(world, 5) == (FAILED, 'time is not paused')
    world.pause()
    assert step(world, 0) == (FAILED, 'steps = 0: must be at least 1')


def begin(world, kind, name, /, **fields):
    """Ask for something that takes a while, without waiting for the answer."""
    client = world.observer.client(kind, name)
    world.wait_for(client.service_is_ready, PATIENCE_S, f'the service {name}')
    return client.call_async(kind.Request(**fields))


def test_steps_wait_for_an_autopilot(world):
    world.pause()
    world.disconnect()
    call = begin(world, StepSimulation, 'step_simulation', steps=3)
    world.wait_state('WAITING')
    answer = world.call(GetSimulationState, 'get_simulation_state')
    assert answer.state.state == PLAYING
    assert answer.result.error_message == world.sentence
    assert not call.done()
    world.connect()
    world.wait_for(call.done, PATIENCE_S, 'the steps')
    assert said(call.result()) == (OK, '')


def test_a_pause_of_a_step_that_is_held_says_so(world):
    world.disconnect()
    world.wait_state('WAITING')
    code, sentence = set_state(world, PAUSED)
    assert code == SetSimulationState.Response.STATE_TRANSITION_ERROR
    assert sentence == f'time pauses at the end of the step under way: {world.sentence}'
    world.connect()
    world.wait_state('PAUSED')


def test_steps_that_are_cut_short_are_counted(world):
    world.pause()
    call = begin(world, StepSimulation, 'step_simulation', steps=100_000)
    world.watch(0.3, lambda: True, '')
    assert world.ask('pause').success
    world.wait_for(call.done, PATIENCE_S, 'an answer')
    code, sentence = said(call.result())
    assert code == FAILED
    assert sentence.endswith(' of 100000 steps are complete: PAUSED')
    assert 0 < int(sentence.split()[0]) < 100_000


def test_whoever_has_gone_meanwhile_gets_no_answer(world):
    world.pause()
    with contextlib.closing(Observer()) as other:
        client = other.client(StepSimulation, 'step_simulation')
        world.wait_for(client.service_is_ready, PATIENCE_S, 'the service')
        client.call_async(StepSimulation.Request(steps=200))
        world.watch(0.1, lambda: True, '')
    world.wait_steps(150)
    world.wait_state('PAUSED')
    assert step(world, 1) == (OK, '')


# Again from time 0.

def test_a_reset_is_over_when_the_answer_comes(world):
    before = world.run
    assert reset(world) == (OK, '')
    assert state_of(world) == PLAYING
    world.wait_for(lambda: world.run == before + 1, PATIENCE_S, 'the next run')
    world.connect()
    world.wait_steps(10)


@pytest.mark.parametrize('scope', [1, 2, 3, 4])
def test_a_part_cannot_be_reset(scope, world):
    before = world.run
    assert reset(world, scope) == (
        UNSUPPORTED, f'scope = {scope}: must be 0 or 255, since time, state and vehicles are reset'
        ' together')
    assert world.run == before


def test_stopped_is_a_pause_at_the_beginning(world):
    before = world.run
    assert set_state(world, STOPPED) == (OK, '')
    assert state_of(world) == STOPPED
    world.wait_for(lambda: world.run == before + 1, PATIENCE_S, 'the next run')
    assert world.state == 'PAUSED'
    assert set_state(world, STOPPED)[0] == SetSimulationState.Response.ALREADY_IN_TARGET_STATE
    assert said(world.call(GetEntityState, 'get_entity_state', entity='iris')) == (
        FAILED, 'iris has no complete step yet')
    assert set_state(world, PAUSED) == (OK, '')
    assert state_of(world) == PAUSED
    world.connect()
    assert step(world, 2) == (OK, '')
    assert complete_us(world) == 2 * STEP_US
    assert set_state(world, PLAYING) == (OK, '')
    world.wait_steps(10)


# Vehicles.

def test_the_vehicle_is_an_entity(world):
    def entities(**filters):
        answer = world.call(GetEntities, 'get_entities', filters=EntityFilters(**filters))
        return answer.result.result, answer.entities

    assert entities() == entities(filter='i.*') == (OK, ['iris'])
    assert entities(filter='i') == (OK, [])
    assert entities(categories=[EntityCategory()]) == (UNSUPPORTED, [])
    assert entities(filter='(') == (FAILED, [])
    answer = world.call(GetEntityState, 'get_entity_state', entity='hexa')
    assert said(answer) == (NOT_FOUND, 'there is no vehicle hexa; there are iris')


def test_its_state_is_the_ground_truth(world):
    heard = []
    world.observer.node.create_subscription(
        Odometry, 'ground_truth/odom', heard.append, 10)
    world.pause()
    assert step(world, 1) == (OK, '')
    answer = world.call(GetEntitiesStates, 'get_entities_states')
    assert (answer.result.result, answer.entities) == (OK, ['iris'])
    state, = answer.states
    world.wait_for(lambda: heard and heard[-1].header.stamp == state.header.stamp, PATIENCE_S,
                   'its message')
    assert state.header.frame_id == heard[-1].header.frame_id == 'map'
    assert state.pose == heard[-1].pose.pose


# The end, and other graphs.

def test_quitting_ends_all(alone, tmp_path):
    with running_graph(tmp_path, 'composed', INSTANCE, {'manager': {'speed_factor': 2.0}}) as world:
        world.wait_up()
        assert set_state(world, QUITTING) == (OK, '')
        assert set(world.wait_ended(PATIENCE_S).values()) == {0}
        assert world.values.get('unasked', '') == ''


def test_where_the_truth_is_elsewhere_it_is_said(alone, tmp_path):
    with running_graph(tmp_path, 'separate', INSTANCE) as world:
        world.wait_up()
        assert features_of(world) == RUN_FEATURES
        assert said(world.call(GetEntityState, 'get_entity_state', entity='iris')) == (
            UNSUPPORTED, 'the manager has the true motion of vehicles in mode composed only')


@pytest.fixture
def client():
    """Return what calls a service of a graph that somebody else has started."""
    with contextlib.closing(Observer()) as observer:
        def call(kind, name, /, **fields):
            asked = observer.client(kind, name)
            while not asked.service_is_ready():
                observer.spin()
            answer = asked.call_async(kind.Request(**fields))
            while not answer.done():
                observer.spin()
            return answer.result()
        yield call


@pytest.mark.parametrize('mode', ['composed', 'separate'])
def test_vehicles_of_a_fleet_join_and_leave(
        mode, alone, hop, free_instances, client, tmp_path):
    file = tmp_path / 'trio.yaml'
    file.write_text(yaml.safe_dump({'vehicles': [
        {'namespace': name, 'mission': str(hop), 'instance': instance,
         'start': {'north_m': north_m}, 'in_reserve': name == 'spare'}
        for name, instance, north_m in zip(
            ('alpha', 'bravo', 'spare'), free_instances, (0.0, 10.0, 20.0))]}))

    def spawn(uri, **fields):
        answer = client(SpawnEntity, 'spawn_entity', entity_resource=Resource(uri=uri), **fields)
        return answer.result.result, answer.entity_name

    def names():
        return client(GetEntities, 'get_entities').entities

    with running(command(
            'fly', '--fleet', file, '--mode', mode, '--speed-factor', 1)) as process:
        wait_for_line(process, 'bravo: ready to fly')
        offered = client(GetSimulatorFeatures, 'get_simulator_features').features.features
        assert {SimulatorFeatures.SPAWNING, SimulatorFeatures.DELETING,
                SimulatorFeatures.SPAWNABLES} <= set(offered)
        assert names() == ['alpha', 'bravo']
        spawnable, = client(GetSpawnables, 'get_spawnables').spawnables
        assert spawnable.entity_resource.uri == 'spare'
        assert said(client(GetSpawnables, 'get_spawnables', sources=['models'])) == (
            OK, 'unknown: models')
        codes, pose = SpawnEntity.Response, Pose()
        pose.position.x = 1.0
        assert spawn('') == (codes.NO_RESOURCE, '')
        assert spawn('model.sdf') == (codes.UNSUPPORTED_FORMAT, '')
        assert spawn('spare', name='other') == (codes.NAME_INVALID, '')
        assert spawn('spare', entity_namespace='other') == (codes.NAMESPACE_INVALID, '')
        assert spawn('spare', initial_pose=PoseStamped(pose=pose)) == (codes.INVALID_POSE, '')
        assert spawn('alpha') == (codes.NAME_NOT_UNIQUE, '')
        assert names() == ['alpha', 'bravo']
        assert spawn('spare', name='other', allow_renaming=True) == (OK, 'spare')
        wait_for_line(process, 'spare: ready to fly')
        assert names() == ['alpha', 'bravo', 'spare']
        found = client(GetEntityState, 'get_entity_state', entity='spare')
        if mode == 'composed':
            assert found.state.pose.position.y == pytest.approx(20.0, abs=0.5)
        else:
            assert found.result.result == UNSUPPORTED
        assert said(client(DeleteEntity, 'delete_entity', entity='nobody')) == (
            NOT_FOUND, 'there is no vehicle nobody; there are alpha, bravo, spare')
        assert said(client(DeleteEntity, 'delete_entity', entity='bravo')) == (OK, '')
        assert said(client(DeleteEntity, 'delete_entity', entity='alpha')) == (OK, '')
        assert names() == ['spare']
        assert said(client(DeleteEntity, 'delete_entity', entity='spare')) == (
            FAILED, 'spare is the last one in the world; stop ends the run')
        assert said(client(
            SetSimulationState, 'set_simulation_state', state=SimulationState(state=QUITTING))
        ) == (OK, '')
        text = process.communicate(timeout=PATIENCE_S)[0]
    assert process.returncode == 0, text
