# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Environments of Gymnasium: its checker, episodes that repeat, and what is refused."""
import os
import pathlib
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

gymnasium = pytest.importorskip('gymnasium')
pytest.importorskip('px4_sim_ros.learning')

from gymnasium.utils.env_checker import check_env  # noqa: E402

from px4_sim_ros import Flight  # noqa: E402
from px4_sim_ros.learning.environments import turned  # noqa: E402
from px4_sim_ros.model.errors import ParameterError  # noqa: E402
from px4_sim_ros.model.rotation import difference, matrix, to_body  # noqa: E402
from px4_sim_ros.model.scene.moving import placed  # noqa: E402
from px4_sim_ros.spec.files import Files  # noqa: E402

MOTORS, SET_POINT, PX4 = (f'px4_sim_ros/{name}-v0' for name in ('Motors', 'SetPoint', 'Px4'))
WINDY = {'weather': {'wind': 'dryden'},
         'events': [{'at_s': 9.0, 'push': {'force_n': [2.0, 0.0, 0.0]}, 'for_s': 0.5}]}
ROOT = pathlib.Path(__file__).resolve().parents[2]
WITH_EACH_AUTOPILOT = pytest.mark.parametrize('kind', [
    'SetPoint', pytest.param('Px4', marks=pytest.mark.px4)])
# In a push test_scene_flights lands on it.
IN_THE_LONG_RUN = pytest.mark.parametrize('kind', [
    pytest.param('SetPoint', marks=pytest.mark.long), pytest.param('Px4', marks=pytest.mark.px4)])
PAGE = (ROOT / 'docs' / 'flight_as_a_test.md').read_text(encoding='utf-8')


def episode(environment, seed, size=0.05, options=None):
    """Return the observations of an episode with random actions, its fingerprint and its end."""
    observations = [environment.reset(seed=seed, options=options)[0]]
    random = np.random.default_rng(3)
    while True:
        action = size * random.uniform(-1.0, 1.0, environment.action_space.shape)
        found, reward, is_lost, is_over, info = environment.step(action.astype(np.float32))
        assert np.isfinite(reward)
        observations.append(found)
        if is_lost or is_over:
            return np.array(observations), info['fingerprint'], is_lost


@pytest.fixture
def make():
    """Return a maker of environments, which are closed at the end."""
    made = []

    def make(name, **how):
        made.append(gymnasium.make(name, **how))
        return made[-1]
    yield make
    for environment in made:
        environment.close()


@pytest.mark.slow
@pytest.mark.parametrize('name, how', [
    (MOTORS, {}), (SET_POINT, {'observation': 'both', 'wind': 'dryden'}),
    pytest.param(SET_POINT, {'action': 'velocity'}, marks=pytest.mark.long)])
def test_the_checker_passes(name, how, make):
    with warnings.catch_warnings():
        # Of observations without bounds, which those of a motion are.
        warnings.filterwarnings('ignore', message='.*Box observation space.*infinity')
        check_env(make(name, **how).unwrapped)


@pytest.mark.slow
@pytest.mark.parametrize('name, how', [
    (MOTORS, {'limit_s': 1.0}), (SET_POINT, {'limit_s': 2.0, 'observation': 'estimate'})])
def test_an_episode_repeats_bit_for_bit(name, how, make):
    environment = make(name, scenario=WINDY, **how)
    one, fingerprint, _ = episode(environment, 5)
    episode(environment, 6)
    again, same, _ = episode(environment, 5)
    assert np.array_equal(one, again) and fingerprint == same
    assert episode(make(name, scenario=WINDY, **how), 5)[1] == fingerprint
    other, another, _ = episode(environment, 6)
    assert another != fingerprint and not np.array_equal(one[0:2], other[0:2])
    # The seed of an episode alone decides it.
    _, info = environment.reset(seed=5)
    assert episode(environment, 99, options=info)[1] == fingerprint


@pytest.mark.slow
def test_hover_speed_holds_it_and_full_thrust_does_not(make):
    """From the beginning, with the control at which the vehicle carries its weight."""
    environment = make(MOTORS, limit_s=1.0)
    environment.reset(seed=1)
    vehicle = environment.unwrapped._configuration.vehicle
    hover = 2.0 * vehicle.hover_command(9.80665) - 1.0
    for _ in range(10):
        found, *_ = environment.step(np.full(4, hover, np.float32))
    assert np.abs(found[:3]).max() < 0.05 and found[3] > 0.999
    for _ in range(25):
        found, *_ = environment.step(np.ones(4, np.float32))
    assert found[2] < -0.5 and found[9] > 1.0          # it climbs


@pytest.mark.slow
def test_it_is_lost_on_the_ground(make):
    environment = make(MOTORS)
    environment.reset(seed=1)
    rewards = []
    for _ in range(100):
        _, reward, is_lost, _, info = environment.step(np.full(4, -1.0, np.float32))
        rewards.append(reward)
        if is_lost:
            break
    assert is_lost and rewards[-1] < -9.0 and 'fingerprint' in info
    fall_s = 0.02 * len(rewards)
    assert 0.5 * 9.8 * fall_s**2 == pytest.approx(1.9, abs=0.4)      # of 2 m


@pytest.mark.slow
def test_set_points_are_flown_to(make):
    for action, reached in ('position', -1.0), ('velocity', None):
        environment = make(SET_POINT, action=action, reach=(1.0, 1.0, 1.0))
        environment.reset(seed=2)
        for _ in range(150):
            found, *_ = environment.step(np.array([1.0, 0.0, 0.0], np.float32))
        if reached is not None:
            assert found[0] == pytest.approx(reached, abs=0.3)
        else:
            assert np.hypot(found[7], found[8]) == pytest.approx(1.0, abs=0.15)


@pytest.mark.slow
@pytest.mark.parametrize('name', [SET_POINT, pytest.param(PX4, marks=pytest.mark.px4)])
def test_attitudes_and_rates_are_flown(name, make):
    """A bank to the right by 0.2 rad, nose to the north; then rates of 0.5 rad/s to the left."""
    how = {'px4_dir': os.environ['PX4_DIR']} if name == PX4 else {}
    environment = make(name, action='attitude', target_enu=(0.0, 0.0, 20.0), limit_s=60.0, **how)
    environment.reset(seed=2)
    for _ in range(100):
        found, *_ = environment.step(np.array([0.4, 0.0, 0.5, 0.0], np.float32))
    expected = turned((0.2, 0.0, 0.5 * np.pi))
    assert abs(np.dot(found[3:7], expected)) > np.cos(0.5 * 0.08)
    environment = make(name, action='rates', target_enu=(0.0, 0.0, 20.0), limit_s=60.0, **how)
    environment.reset(seed=2)
    for _ in range(40):
        found, *_ = environment.step(np.array([0.0, 0.0, 0.5, 0.0], np.float32))
    assert found[10:13] == pytest.approx((0.0, 0.0, 0.5), abs=0.12)


@pytest.mark.slow
def test_eight_at_once(make):
    def of(number):
        return lambda: gymnasium.make(
            MOTORS, limit_s=0.2, vehicle='x500' if number else 'iris', wind='dryden')

    vector = gymnasium.vector.SyncVectorEnv([of(number) for number in range(8)])
    try:
        first = vector.reset(seed=4)[0]
        for _ in range(5):
            found, *_ = vector.step(np.zeros((8, 4), np.float32))
        assert first.shape == found.shape == (8, 13)
        assert not np.array_equal(found[1], found[2])      # their seeds are 5 and 6
    finally:
        vector.close()


@pytest.mark.px4
def test_an_episode_with_px4_repeats(make):
    environment = make(PX4, px4_dir=os.environ['PX4_DIR'], action='velocity', observation='both',
                       limit_s=2.0)
    one, fingerprint, is_lost = episode(environment, 5, 0.5)
    again, same, _ = episode(environment, 5, 0.5)
    assert not is_lost and np.array_equal(one, again) and fingerprint == same
    # The estimate is that of the truth, by and by.
    assert np.abs(one[-1, :3] - one[-1, 13:16]).max() < 0.7


@pytest.fixture
def landing(kind, monkeypatch):
    """Return both examples that land; without PX4 their camera has fewer pixels."""
    pytest.importorskip('cv2')
    monkeypatch.syspath_prepend(ROOT / 'examples')
    import land_on_deck
    import land_on_marker
    if kind == 'SetPoint':
        small = {'WIDTH': 240, 'HEIGHT': 180, 'FOCAL_PX': 0.75 * land_on_marker.FOCAL_PX}
        for module in land_on_marker, land_on_deck:
            for name, value in small.items():
                monkeypatch.setattr(module, name, value)
        for name in 'WIDTH', 'HEIGHT':
            monkeypatch.setitem(land_on_marker.SCENARIO['blocks'][0], name.lower(), small[name])
    return land_on_marker, land_on_deck


@pytest.mark.slow
@WITH_EACH_AUTOPILOT
def test_it_lands_on_a_marker_that_a_camera_sees(kind, landing):
    land_on_marker, _ = landing
    found = set()
    for _ in range(2 if kind == 'Px4' else 1):
        with land_on_marker.environment(kind) as made:
            place, fingerprint = land_on_marker.land(made)
        assert np.hypot(place[0] - 3.0, place[1] - 2.0) < 0.3
        found.add(fingerprint)
    assert len(found) == 1


@pytest.mark.slow
@IN_THE_LONG_RUN
def test_it_lands_on_a_ship(kind, landing):
    """Upright, and near the marker, with which it moves on."""
    _, land_on_deck = landing
    ship, fingerprints = Files().scene('moving_deck'), set()
    marker = next(its for its in ship.objects if its.name == 'marker')
    for _ in range(2 if kind == 'Px4' else 1):
        with land_on_deck.environment(kind) as made:
            *truths, fingerprint = land_on_deck.land(made)
        fingerprints.add(fingerprint)
        for truth in truths:
            middle, attitude = placed(ship, marker, truth.time_us)
            east, north, up = to_body(matrix(attitude), difference(truth.position_enu, middle))
            assert np.hypot(east, north) < 1.0 and 0.0 < up < 0.15
            assert matrix(truth.attitude)[8] > 0.95
        assert truths[1].time_us - truths[0].time_us == 3_000_000
    assert len(fingerprints) == 1


def test_a_topic_is_that_of_a_block():
    for scenario, allowed in ({}, 'there is none'), (
            {'blocks': [{'class': 'px4_sim_ros:Lidar2d'}]}, 'scan'):
        with pytest.raises(ParameterError, match=f"topics: 'x': must be the .* {allowed}"):
            gymnasium.make(MOTORS, scenario=scenario, topics=['x'])


@pytest.mark.process
@pytest.mark.parametrize('code', re.findall(r'<!-- learned -->\n```python\n(.*?)```', PAGE, re.S))
def test_the_code_of_the_page_runs(code):
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, cwd=ROOT,
                          timeout=200)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize('name, how, sentence', [
    (MOTORS, {'observation': 'estimate'}, "observation = 'estimate': must be truth"),
    (MOTORS, {'control_us': 5000}, 'control_us = 5000: must be a multiple of step_us = 4000'),
    (MOTORS, {'vehicle': 'no_such'}, 'there is no such vehicle'),
    (SET_POINT, {'action': 'motors'}, "action = 'motors': must be position, velocity, attitude, r"),
    (SET_POINT, {'vehicle': 'plane'}, 'vehicle plane')])
def test_bad_input_is_one_sentence(name, how, sentence):
    with pytest.raises(ParameterError, match=sentence) as refused:
        gymnasium.make(name, **how)
    assert '\n' not in str(refused.value)


@pytest.mark.slow
def test_others_fly_while_it_holds_its_instance(make):
    environment = make(SET_POINT)
    environment.reset(seed=1)
    result = Flight(scenario={'mission': [{'take_off': {'up_m': 0.5}}, {'land': {}}]},
                    record=False).fly()
    assert result.has_succeeded
    environment.step(np.zeros(3, np.float32))
