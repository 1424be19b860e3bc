# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Wind: directions, gusts, and the statistics of turbulence against their closed forms."""
from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy.linalg import expm
from verification.wind import FT, PARAMETERS, low_scales

from px4_sim_ros.model.encounters import Encounters, reach_m
from px4_sim_ros.model.environment.atmosphere import Atmosphere
from px4_sim_ros.model.environment.downwash import (
    Wake,
    WakeSource,
    WakeTarget,
    downwash_at,
    downwash_m_s,
)
from px4_sim_ros.model.environment.gravity import Gravity
from px4_sim_ros.model.environment.turbulence import DrydenTurbulence, Transverse, scales
from px4_sim_ros.model.environment.wind import Wind, WindParameters
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.model.truth import Truth
from px4_sim_ros.model.world import Environment
from px4_sim_ros.spec.files import load_vehicle

HOME = REST = (0.0, 0.0, 0.0)
MODELS = ('constant', 'gust', 'ornstein_uhlenbeck', 'dryden', 'field')


@pytest.fixture(scope='module')
def build(world):
    """Return a function that builds a model of wind."""
    def built(model, *, period_us=20_000, seed=1, **values):
        altered = dataclasses.replace(
            world, wind=model, seed=seed, periods_us=world.periods_us | {'wind': period_us})
        return Wind('wind', dataclasses.replace(PARAMETERS, **values), altered)
    return built


def blow(wind, count, period_us=20_000, position=HOME, velocity=REST):
    """Return the velocities of `count` samples of a vehicle that stays as it is."""
    return np.array([
        wind.sample((i + 1) * period_us, position, velocity).velocity_enu for i in range(count)])


@pytest.mark.parametrize('name', ['gust_start_s', 'gust_duration_s', 'gust_interval_s'])
def test_times_are_whole_microseconds(name):
    values = dataclasses.asdict(PARAMETERS) | {name: 1.0000001}
    with pytest.raises(ParameterError, match=rf'wind\.{name} = 1\.0000001: must be a whole number'):
        WindParameters.from_mapping('wind', values)


# The mean.

@pytest.mark.parametrize(('from_deg', 'east', 'north'), [
    (0.0, 0.0, -8.0), (90.0, -8.0, 0.0), (180.0, 0.0, 8.0), (270.0, 8.0, 0.0),
    (360.0, 0.0, -8.0), (225.0, 8.0 * math.sqrt(0.5), 8.0 * math.sqrt(0.5))])
def test_wind_blows_to_the_other_side_of_where_it_comes_from(build, from_deg, east, north):
    """A wind from the north blows to -y, one from the west to +x; it may climb."""
    sample = build('constant', from_deg=from_deg, climb_m_s=-0.5).sample(20_000, HOME, REST)
    assert sample.time_us == 20_000
    assert sample.velocity_enu == pytest.approx((east, north, -0.5), abs=1e-14)


@pytest.mark.parametrize('model', [model for model in MODELS if model != 'dryden'])
def test_every_model_grows_with_the_height_over_rough_ground(build, model):
    """Its mean does, what it adds does not: ln(60 / 0.15) / ln(20 / 0.15) of that at 20 ft."""
    foot = 0.3048
    quiet = {'gust_start_s': 1e3, 'ou_intensity_m_s': 0.0, 'ou_vertical_intensity_m_s': 0.0,
             'dryden_medium_intensity_m_s': 0.0, 'field_intensity_m_s': 0.0, 'climb_m_s': 0.5}
    position = (0.0, 0.0, 60.0 * foot)
    rough = build(model, roughness_m=0.15 * foot, **quiet).sample(20_000, position, REST)
    assert rough.velocity_enu == pytest.approx(
        (8.0 * math.log(400.0) / math.log(20.0 / 0.15), 0.0, 0.5), abs=1e-12)


def test_turbulence_is_carried_past_by_the_wind_at_its_height(build):
    """What is at rest in the air at 60 ft meets the same gusts as what is so without shear."""
    foot = 0.3048
    position, gusts = (0.0, 0.0, 60.0 * foot), []
    for roughness_m in (0.0, 0.15 * foot):
        mean = 8.0 if not roughness_m else 8.0 * math.log(400.0) / math.log(20.0 / 0.15)
        wind = build('dryden', roughness_m=roughness_m)
        gusts.append(blow(wind, 50, position=position, velocity=(mean + 9.0, 0.0, 0.0))
                     - (mean, 0.0, 0.0))
    assert gusts[0] == pytest.approx(gusts[1], abs=1e-12)


@pytest.mark.parametrize('model', MODELS)
def test_every_model_has_the_mean(build, model):
    """What it adds does not depend on it, but for the dryden turbulence's strength and speed."""
    calm, windy = (
        build(model, from_deg=180.0, speed_m_s=8.0, climb_m_s=climb, field_intensity_m_s=0.0)
        for climb in (0.0, 1.0))
    difference = (
        blow(windy, 50, velocity=(3.0, 8.0, 1.0)) - blow(calm, 50, velocity=(3.0, 8.0, 0.0)))
    assert difference == pytest.approx(np.tile((0.0, 0.0, 1.0), (50, 1)), abs=1e-12)


@pytest.mark.parametrize('model', MODELS)
def test_no_wind_at_all(build, model):
    """With every strength zero nothing blows, whatever the direction."""
    wind = build(
        model, speed_m_s=0.0, from_deg=30.0, gust_speed_m_s=0.0, ou_intensity_m_s=0.0,
        ou_vertical_intensity_m_s=0.0, field_intensity_m_s=0.0)
    assert not blow(wind, 200, position=(0.0, 0.0, 100.0)).any()


# Gusts.

def gust_speeds(wind, times_s):
    """Return the speed along the mean wind, which comes from the west, beyond the mean."""
    return np.array([
        wind.sample(round(t * US_PER_S), HOME, REST).velocity_enu[0] - 8.0 for t in times_s])


def test_gust_is_one_pulse(build):
    """Zero before 2 s and after 6 s, half at 3 s and 5 s, the peak at 4 s."""
    speeds = gust_speeds(build('gust'), (0.02, 1.98, 2.0, 3.0, 4.0, 5.0, 6.0, 6.02, 100.0))
    assert speeds == pytest.approx([0, 0, 0, 3.0, 6.0, 3.0, 0, 0, 0], abs=1e-14)


def test_gusts_repeat_after_the_interval(build):
    """4 s long and 1 s apart: the same every 5 s, but none before the first."""
    wind = build('gust', gust_interval_s=1.0)
    times = np.arange(100, 350) * 0.02
    assert gust_speeds(wind, times + 5.0) == pytest.approx(gust_speeds(wind, times), abs=1e-12)
    assert gust_speeds(wind, (6.5, 9.0, 14.0)) == pytest.approx([0.0, 6.0, 6.0], abs=1e-14)
    assert not gust_speeds(wind, np.arange(0, 100) * 0.02).any()


def test_gust_blows_along_the_mean(build):
    """From the north, and a negative one is a lull."""
    lull = build('gust', from_deg=0.0, gust_speed_m_s=-6.0).sample(4_000_000, HOME, REST)
    assert lull.velocity_enu == pytest.approx((0.0, -2.0, 0.0), abs=1e-14)


# Ornstein-Uhlenbeck.

def test_ornstein_uhlenbeck_variance_and_correlation(build):
    """Standard deviations on the axes, and exp(-t / tau) with tau = 0.5 s = 25 samples."""
    gusts = blow(build('ornstein_uhlenbeck'), 100_000) - (8.0, 0.0, 0.0)
    assert gusts.mean(axis=0) == pytest.approx((0.0, 0.0, 0.0), abs=0.1)
    assert gusts.std(axis=0) == pytest.approx((1.5, 1.5, 0.5), rel=0.05)
    for lag in (5, 25, 50):
        correlation = (gusts[lag:] * gusts[:-lag]).mean(axis=0) / gusts.var(axis=0)
        assert correlation == pytest.approx(np.full(3, math.exp(-lag / 25)), abs=0.05)


# Dryden turbulence: scales.

@pytest.mark.parametrize(('height_ft', 'horizontal_ft', 'vertical_ft', 'ratio'), [
    (10.0, 10.0 / 0.18523 ** 1.2, 10.0, 0.18523 ** -0.4),
    (100.0, 100.0 / 0.2593 ** 1.2, 100.0, 0.2593 ** -0.4),
    (1000.0, 1000.0, 1000.0, 1.0),
    (-5.0, 10.0 / 0.18523 ** 1.2, 10.0, 0.18523 ** -0.4)])
def test_scales_at_low_altitude(height_ft, horizontal_ft, vertical_ft, ratio):
    """MIL-F-8785C, 3.7.3.4; sigma_w = 0.1 W20. Below 10 ft they stay."""
    assert scales(height_ft * FT, 12.0, 2.0) == pytest.approx(
        (horizontal_ft * FT, vertical_ft * FT, 1.2 * ratio, 1.2), rel=1e-12)


@pytest.mark.parametrize(('height_ft', 'length_ft', 'intensity'), [
    (1500.0, 1375.0, 1.6), (2000.0, 1750.0, 2.0), (9000.0, 1750.0, 2.0)])
def test_scales_at_medium_altitude(height_ft, length_ft, intensity):
    """1750 ft on all axes from 2000 ft on; between 1000 and 2000 ft a straight line."""
    assert scales(height_ft * FT, 12.0, 2.0) == pytest.approx(
        (length_ft * FT, length_ft * FT, intensity, intensity), rel=1e-12)


# Dryden turbulence: the filters.

class ListedStream:
    """Numbers that are known."""

    def __init__(self, numbers):
        self._numbers = iter(numbers)

    def next(self):
        """Return the next one."""
        return next(self._numbers)


@pytest.mark.parametrize('distance', [1e-4, 0.05, 1.0, 5.0])
def test_step_of_the_transverse_filter_is_exact(distance):
    """Against Van Loan's method (1978) with a matrix exponential and NumPy's Cholesky root."""
    a = np.array([[-1.0, 0.0], [2.0, -1.0]])
    b = math.sqrt(2.0) * np.array([[1.0], [-1.0]])
    block = np.block([[-a, b @ b.T], [np.zeros((2, 2)), a.T]])
    exponential = expm(block * distance)
    transition = exponential[2:, 2:].T
    root = np.linalg.cholesky(transition @ exponential[:2, 2:])
    output = np.array([math.cos(math.pi / 12), -math.sin(math.pi / 12)])
    state, numbers = np.array([0.3, -1.2]), np.random.default_rng(3).standard_normal((20, 2))
    transverse = Transverse(ListedStream([*state, *numbers.ravel()]))
    for pair in numbers:
        state = transition @ state + root @ pair
        assert transverse.next(distance) == pytest.approx(output @ state, abs=1e-9)


# Dryden turbulence: strength. Spectrum and correlation are checks of the verification.

def test_variance_is_right_while_height_and_airspeed_change():
    """Each gust over the standard deviation of its height has variance 1, low and high."""
    turbulence = DrydenTurbulence(8.0, 2.0, 0.5, 1, 'wind')
    steps = np.arange(100_000)
    heights = 300.0 * (1.0 + np.sin(0.05 * steps)) + 3.0
    airspeeds = 15.0 * (1.0 + np.sin(0.037 * steps)) + 2.0
    ratios = []
    for height, airspeed in zip(heights.tolist(), airspeeds.tolist()):
        _, _, horizontal, vertical = scales(height, 8.0, 2.0)
        u, v, w = turbulence.next(height, airspeed)
        ratios.append((u / horizontal, v / horizontal, w / vertical))
    ratios = np.array(ratios)
    for part in (heights < 60.0, heights > 500.0, airspeeds < 4.0, airspeeds > 25.0):
        assert ratios[part].std(axis=0) == pytest.approx(np.ones(3), rel=0.1)


@pytest.mark.parametrize('model', ['ornstein_uhlenbeck', 'dryden'])
def test_first_sample_is_as_strong_as_any(build, model):
    """Over 1000 seeds; nothing has to settle."""
    first = np.array([
        build(model, seed=seed).sample(20_000, (0.0, 0.0, 20.0), REST).velocity_enu
        for seed in range(1000)]) - (8.0, 0.0, 0.0)
    sigmas = (1.5, 1.5, 0.5) if model == 'ornstein_uhlenbeck' else low_scales(20.0)[1]
    assert first.std(axis=0) == pytest.approx(sigmas, rel=0.08)
    assert np.corrcoef(first.T) == pytest.approx(np.eye(3), abs=0.1)


def test_axes_of_the_turbulence_lie_along_the_mean_wind(build):
    """The same numbers from another direction are the same gusts, turned."""
    def deviations(from_deg, mean):
        return blow(build('dryden', from_deg=from_deg), 100, velocity=mean) - mean

    from_west = deviations(270.0, (8.0, 0.0, 0.0))
    from_north = deviations(0.0, (0.0, -8.0, 0.0))
    turned = np.column_stack((from_west[:, 1], -from_west[:, 0], from_west[:, 2]))
    assert from_north == pytest.approx(turned, abs=1e-12)


def test_air_at_rest_past_the_vehicle_is_taken_to_move_at_1_m_s(build):
    """Carried along, as a balloon is: slow gusts, but no frozen ones."""
    def carried(airspeed):
        return blow(build('dryden'), 100, velocity=(8.0, airspeed, 0.0))

    assert np.array_equal(carried(0.0), carried(1.0))
    assert not np.array_equal(carried(0.0), carried(1.1))


@pytest.mark.parametrize('model', ['ornstein_uhlenbeck', 'dryden'])
def test_same_seed_same_wind(build, model):
    """To the last bit; another seed, and each axis, is another wind."""
    def blown(seed):
        return blow(build(model, seed=seed, period_us=400_000), 20_000, velocity=(8.0, 30.0, 0.0),
                    position=(0.0, 0.0, 5.0))

    first, again, other = blown(1), blown(1), blown(2)
    assert np.array_equal(first, again)
    assert np.corrcoef(np.hstack((first, other)).T) == pytest.approx(np.eye(6), abs=0.05)


# The field.

def test_what_one_meets_another_one_further_along_the_wind_meets_later(build):
    """Taylor's frozen field: u(x + U t, t0 + t) = u(x, t0), whoever moves through it."""
    wind = build('field', climb_m_s=-0.5)
    now = wind.sample(2_000_000, (3.0, -20.0, 9.0), REST).velocity_enu
    later = wind.sample(7_000_000, (3.0 + 5.0 * 8.0, -20.0, 9.0 - 5.0 * 0.5), (9.0, 1.0, 0.0))
    assert later.velocity_enu == pytest.approx(now, abs=1e-12)
    beside = wind.sample(2_000_000, (3.0, 100.0, 9.0), REST).velocity_enu
    assert math.dist(now, beside) > 0.1


def test_the_field_makes_no_air(build):
    """Its divergence is zero everywhere, by central differences."""
    wind, h = build('field', field_length_m=100.0), 1e-4
    for place in np.random.default_rng(3).uniform(-500.0, 500.0, (20, 3)):
        rates = [[(wind.sample(20_000, place + sign * h * axis, REST).velocity_enu[i]) * sign
                  for sign in (1, -1)] for i, axis in enumerate(np.eye(3))]
        terms = [sum(pair) / (2.0 * h) for pair in rates]
        assert abs(sum(terms)) < 1e-6 * max(map(abs, terms)) + 1e-7


def test_the_field_has_a_seed_of_its_own_if_it_is_given_one(build):
    own = blow(build('field', field_seed=5, seed=1), 3)
    assert (own == blow(build('field', field_seed=5, seed=2), 3)).all()
    assert (own == blow(build('field', seed=5), 3)).all()
    assert (own != blow(build('field', seed=1), 3)).all()


# The air below rotors: who makes it, and where it blows. Its numbers are in test/verification.

ZERO = 0.0, 0.0, 0.0
UPRIGHT = 1.0, 0.0, 0.0, 0.0
AIR = Environment(Gravity.uniform(9.81), Atmosphere(101_325.0, 288.15), 0.0)
WAKE = Wake((0.0, 0.0, 10.0), (0.0, 0.0, -1.0), 5.0, 0.5)


def at(position_enu, attitude=UPRIGHT):
    return Truth(0, position_enu, attitude, ZERO, ZERO, ZERO, ZERO, (), ())


def test_half_of_it_is_felt_at_the_half_width():
    below_m = 3.0
    half_width_m = 0.07668 * (below_m + 5.817 * WAKE.motor_distance_m)
    assert downwash_m_s(WAKE, below_m, half_width_m) == pytest.approx(
        0.25 * downwash_m_s(WAKE, below_m, 0.0) * (2.0 / math.sqrt(2.0)) ** 2)


@pytest.mark.parametrize('height_m', [10.0, 10.1, 12.0])
def test_nothing_blows_above_the_rotors(height_m):
    assert downwash_at([WAKE], (0.0, 0.0, height_m)) == ZERO


def test_several_wakes_add_up_in_their_own_directions():
    aside = Wake((5.0, 0.0, 5.0), (-1.0, 0.0, 0.0), 5.0, 0.5)
    east, north, up = downwash_at([WAKE, aside], (0.0, 0.0, 5.0))
    assert (east, north) == (-downwash_m_s(aside, 5.0, 0.0), 0.0)
    assert up == -downwash_m_s(WAKE, 5.0, 0.0)


def test_a_vehicle_that_stands_has_no_wake():
    source = WakeSource(load_vehicle('iris'), AIR)
    wake = source.wake(at(ZERO), 0.0)
    assert wake.induced_m_s == 0.0
    assert downwash_at([wake], (0.0, 0.0, -1.0)) == ZERO


def test_it_blows_against_the_lift_of_a_vehicle_that_tilts():
    roll = math.cos(0.1), math.sin(0.1), 0.0, 0.0          # 0.2 rad about x, which points east
    wake = WakeSource(load_vehicle('iris'), AIR).wake(at(ZERO, roll), 15.0)
    assert wake.direction_enu == pytest.approx((0.0, math.sin(0.2), -math.cos(0.2)))


@pytest.mark.parametrize(('name', 'count'), [
    ('iris', 4), ('hexa', 6), ('standard_vtol', 4), ('plane', 0), ('rover_ackermann', 0)])
def test_rotors_that_lift_make_it(name, count):
    assert len(WakeSource(load_vehicle(name), AIR).rotors) == count


def test_what_is_felt_is_the_mean_at_the_rotors():
    iris = load_vehicle('iris')
    places = [rotor.position_m for rotor in iris.rotors]
    alone = [downwash_at([WAKE], (x, y, 8.0 + z)) for x, y, z in places]
    felt = WakeTarget(iris).felt([WAKE], at((0.0, 0.0, 8.0)))
    assert felt[2] == pytest.approx(sum(up for _, _, up in alone) / len(alone))
    assert WakeTarget(iris).felt([], at(ZERO)) == ZERO
    # Who has no rotors feels it in the middle.
    rover = WakeTarget(load_vehicle('rover_ackermann'))
    assert rover.felt([WAKE], at((0.0, 0.0, 8.0))) == downwash_at([WAKE], (0.0, 0.0, 8.0))


# Distances between vehicles against closed forms.

STEP_US = 4000


def fly_past(encounters, miss_m, speed_m_s=5.0, seconds=4.0):
    """Let one fly past another that stands, nearest in the middle; return who came near whom."""
    found = []
    for step in range(1, round(seconds * 1e6) // STEP_US + 1):
        along_m = speed_m_s * (step * STEP_US * 1e-6 - 0.5 * seconds)
        found += encounters.step(step * STEP_US, [(0.0, 0.0, 5.0), (along_m, 0.0, 5.0 + miss_m)])
    return found


@pytest.mark.parametrize('miss_m', [0.3, 2.0, 7.0])
def test_the_least_distance_of_a_fly_past(miss_m):
    encounters = Encounters({'one': 0.1, 'other': 0.1}, 0.5)
    fly_past(encounters, miss_m)
    nearest, = encounters.nearest()
    assert nearest == ('one', 'other', pytest.approx(miss_m, abs=1e-12), 2_000_000)


def test_when_they_nearly_meet_and_collide():
    encounters = Encounters({'one': 0.4, 'other': 0.6}, 2.0)
    near, collision = fly_past(encounters, 0.8)
    # Along the way sqrt(d^2 - 0.8^2) before the middle, at 5 m/s; at the step after that.
    for encounter, distance_m in ((near, 3.0), (collision, 1.0)):
        at_s = 2.0 - math.sqrt(distance_m ** 2 - 0.8 ** 2) / 5.0
        assert 0 < encounter.time_us - at_s * 1e6 <= STEP_US
        assert distance_m - 5.0 * STEP_US * 1e-6 <= encounter.distance_m < distance_m
    assert (near.is_collision, collision.is_collision) == (False, True)
    assert (encounters.near_misses, encounters.collisions) == (1, 1)
    assert near.text.startswith('one and other nearly meet, 2.9')


def test_who_parts_and_comes_again_is_counted_again():
    encounters = Encounters({'one': 0.1, 'other': 0.1}, 1.0)
    for _ in range(3):
        fly_past(encounters, 0.5)
    assert (encounters.near_misses, encounters.collisions) == (3, 0)


def test_all_pairs_are_looked_at():
    places = {f'v{i}': (3.0 * i, 0.25 * i * i, 0.0) for i in range(5)}
    encounters = Encounters(dict.fromkeys(places, 0.1), 1.0)
    encounters.step(STEP_US, list(places.values()))
    found = {(pair.one, pair.other): pair.distance_m for pair in encounters.nearest()}
    assert found == {
        (one, other): pytest.approx(math.dist(places[one], places[other]))
        for one in places for other in places if one < other}
    assert list(found.values()) == sorted(found.values())


def test_one_vehicle_meets_nobody():
    encounters = Encounters({'one': 0.4}, 2.0)
    assert encounters.step(STEP_US, [(0.0, 0.0, 0.0)]) == []
    assert encounters.nearest() == []


def test_a_sphere_holds_the_rotors():
    iris = load_vehicle('iris')
    rotor = max(iris.rotors, key=lambda r: math.hypot(*r.position_m))
    disc_m = 0.5 * iris.model_of(rotor).propeller_diameter_m
    assert reach_m(iris) == pytest.approx(math.hypot(*rotor.position_m) + disc_m)


def test_one_that_is_not_there_is_far_from_all():
    encounters = Encounters({'one': 0.4, 'other': 0.6}, 2.0)
    assert encounters.step(STEP_US, [(0.0, 0.0, 0.0), None]) == []
    assert encounters.nearest() == []
    found, = encounters.step(2 * STEP_US, [(0.0, 0.0, 0.0), (2.5, 0.0, 0.0)])
    assert not found.is_collision
    # It has left, and comes back as near: they meet again.
    assert encounters.step(3 * STEP_US, [(0.0, 0.0, 0.0), None]) == []
    assert len(encounters.step(4 * STEP_US, [(0.0, 0.0, 0.0), (2.5, 0.0, 0.0)])) == 1
    assert (encounters.near_misses, encounters.collisions) == (2, 0)
