# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A flight through the model against closed forms, and the commands that do it."""
import dataclasses
import json
import math
import pathlib

import numpy as np
import pytest
import simulated

from px4_sim_ros.cli.command_line import main
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.real import held_out, open_loop, predictions, statics
from px4_sim_ros.real.flight import RealFlight
from px4_sim_ros.real.named import with_values
from px4_sim_ros.spec.files import load_vehicle

ROOT_HALF = math.sqrt(0.5)
HOP = pathlib.Path(__file__).resolve().parents[2] / 'examples' / 'first_hop.yaml'


def still(count=400, **values):
    """Return a log of a vehicle that stands in the air, every 10 ms, rotors still."""
    zero = np.zeros((count, 3))
    return RealFlight(**{
        'name': 'still', 'period_s': 0.01, 'position_m': zero, 'velocity_m_s': zero,
        'attitude': np.tile((1.0, 0.0, 0.0, 0.0), (count, 1)), 'rate_rad_s': zero,
        'usable': np.ones(count, bool), 'rotor_speeds_rad_s': np.zeros((count, 4))} | values)


def no_drag():
    iris = load_vehicle('iris')
    return dataclasses.replace(iris, body=dataclasses.replace(
        iris.body, quadratic_drag_n_s2_m2=0.0))


def test_without_thrust_the_model_falls():
    """The error after t is g t^2 / 2 of the position and g t of the velocity."""
    found = predictions.errors(still(), no_drag())
    t, ways = np.array(found.horizons_s), found.ways
    assert t.tolist() == [0.1, 0.5, 2.0]
    for i, after in enumerate(t):
        free = ways[open_loop.FREE][i]
        assert free[0, 0] == pytest.approx(0.5 * 9.80665 * after ** 2, rel=1e-5)
        assert free[0, 1] == pytest.approx(9.80665 * after, rel=1e-5)
        assert not free[:, 2:].any() and not ways[predictions.NONE][i].any()
        # What it lacks is what holds it, and that has been there before.
        assert ways[predictions.TRIMMED][i] == pytest.approx(0.0, abs=1e-9)


def test_what_lasts_is_known_from_the_past():
    """A push that began with the log is in the trimmed model and in the acceleration before."""
    t = 0.01 * np.arange(400)
    push, gravity = 0.7, 9.80665
    zero = 0.0 * t
    log = still(
        position_m=np.stack((0.5 * push * t ** 2, zero, zero), axis=1),
        velocity_m_s=np.stack((push * t, zero, zero), axis=1),
        specific_force_m_s2=np.tile((push, 0.0, gravity + 0.1), (400, 1)))
    found = predictions.errors(log, no_drag())
    h = np.array(found.horizons_s)
    for way in (predictions.TRIMMED, predictions.STEADY):
        assert np.concatenate(found.ways[way]) == pytest.approx(0.0, abs=1e-9)
    none, measured = found.ways[predictions.NONE], found.ways[predictions.MEASURED]
    assert [errors[0, 1] for errors in none] == pytest.approx(push * h)
    # The accelerometer is 0.1 m/s^2 off.
    assert [errors[3, 1] for errors in measured] == pytest.approx(0.1 * h)
    assert [errors[3, 0] for errors in measured] == pytest.approx(0.05 * h ** 2)
    assert not np.concatenate(measured)[:, 2:].any()


def test_each_time_has_its_own_starts():
    """A short window is whole where a long one is broken."""
    log = still(1000)
    log.usable[[300, 520, 560]] = False
    found = predictions.errors(log, no_drag())
    for horizon, starts in zip(found.horizons_s, found.starts_s):
        alone, = predictions.errors(log, no_drag(), [horizon]).starts_s
        assert starts.tolist() == alone.tolist()
    assert [len(starts) for starts in found.starts_s] == sorted(
        map(len, found.starts_s), reverse=True)
    # Between the breaks there are 2.2 s: 0.5 s before, and then not 2 s.
    inside = [((starts > 3.0) & (starts < 5.2)).any() for starts in found.starts_s]
    assert inside == [True, True, False]


def test_a_wind_that_is_given_is_not_taken_for_still_air():
    log = still(unknown=('wind: taken as still air', 'mass: no'))
    assert with_values(log, {'mounting_rad[0]': 0.1}).unknown == log.unknown
    mass, wind = with_values(log, {'wind_m_s[0]': -4.0}).unknown
    assert mass == 'mass: no' and 'as -4 m/s to the east and 0 m/s to the north' in wind


@pytest.mark.parametrize('turning', [open_loop.FREE, open_loop.LOGGED, open_loop.HELD])
def test_how_the_model_turns(turning):
    """Thrust on one side rolls a free model; otherwise it turns as the log, or as at its start."""
    iris, rate = no_drag(), 0.5
    hover = iris.hover_speed_rad_s(9.80665, 1.225)
    angle = 0.5 * rate * 0.01 * np.arange(400)
    log = still(
        rotor_speeds_rad_s=hover * np.tile((1.01, 0.99, 0.99, 1.01), (400, 1)),
        attitude=np.stack((np.cos(angle), 0 * angle, 0 * angle, np.sin(angle)), axis=1),
        rate_rad_s=np.tile((0.0, 0.0, rate), (400, 1)))
    state, = open_loop.fly(log, iris, np.array([0]), [50], turning=turning)[0]
    if turning == open_loop.FREE:
        # Roll torque: thrust of left rotors less that of right ones, times their levers.
        assert state[10] < -0.1
    else:
        assert state[10:] == pytest.approx((0.0, 0.0, rate), abs=1e-9)
        assert state[6:10] == pytest.approx(log.attitude[49 if turning == open_loop.LOGGED else 50],
                                            abs=0.003)


def test_wind_pushes():
    log = still(wind_m_s=np.tile((3.0, 4.0, 0.0), (400, 1)))
    body = load_vehicle('iris').body
    state, = open_loop.fly(log, load_vehicle('iris'), np.array([0]), [1])[0]
    push = body.quadratic_drag_n_s2_m2 * 25.0 / body.mass_kg * 0.01
    assert state[3:5] == pytest.approx((0.6 * push, 0.8 * push), rel=2e-3)


def test_turns_between_attitudes():
    turn = np.array([[1.0, 0.0, 0.0, 0.0], [ROOT_HALF, 0.0, 0.0, ROOT_HALF]])
    zero = np.zeros((1, 3))
    first, last = (np.concatenate((zero, zero, q[None], zero), axis=1) for q in turn)
    found = open_loop.differences(last, first)
    assert found[0, 6:9] == pytest.approx((0.0, 0.0, 0.5 * math.pi))
    # A quaternion and its negative are one attitude.
    last[0, 6:10] *= -1.0
    assert open_loop.differences(last, first) == pytest.approx(found)
    assert open_loop.lengths(found)[0] == pytest.approx((0.0, 0.0, 90.0, 0.0))


def test_a_simulated_flight_has_no_error_but_its_noise():
    flight = simulated.fly(simulated.iris(), duration_s=8.0, noise=(0.0,) * 4)
    found = predictions.errors(flight, load_vehicle('iris'))
    # At first the rotors' speeds are those that are asked for; the lag forgets that soon.
    late = [starts > 1.0 for starts in found.starts_s]
    assert max(errors[i].max() for i, errors in zip(late, found.ways[open_loop.FREE])) < 1e-3
    assert (found.ways[predictions.NONE][-1][late[-1], :2] > 0.1).all()
    samples = statics.sampled(flight, load_vehicle('iris'))
    assert samples.model_lift_m_s2.mean() == pytest.approx(samples.lift_m_s2.mean(), rel=0.01)
    assert min(open_loop.torque_shares(flight, load_vehicle('iris'))) > 0.8


def test_motors_that_only_answer_explain_nothing():
    """Rates at random, and a controller that answers each: its motors did not cause them."""
    hover, levers = 700.0, np.array([(-1, -1, -1), (1, 1, -1), (1, -1, 1), (-1, 1, 1)])
    rate = np.random.default_rng(0).normal(0.0, 0.1, (4000, 3))
    shares = open_loop.torque_shares(still(
        4000, rate_rad_s=rate, rotor_speeds_rad_s=hover - 100.0 * rate @ levers.T), no_drag())
    assert max(shares[:2]) < 0.1


def test_a_linear_fit_finds_what_is_linear():
    """It predicts what it has learnt better than holding the rates does."""
    flight = simulated.fly(simulated.iris(), seed=3, duration_s=20.0)
    iris = load_vehicle('iris')
    found = held_out.linear_errors(
        flight, iris, held_out.linear_fit([flight], iris, 0.1), 0.1).mean(axis=0)
    none = predictions.errors(
        flight, iris, [0.1]).ways[predictions.NONE][0].mean(axis=0)
    assert found[3] < 0.3 * none[3] and found[1] < 0.3 * none[1]


def test_windows_have_no_gap_in_them():
    log = still(100)
    log.usable[50] = False
    assert log.starts(20, 10).tolist() == [0, 10, 20, 60, 70]
    # A window ends with a sample of its own.
    assert log.starts(29, 10).tolist() == [0, 10, 20, 60, 70]
    with pytest.raises(ParameterError, match=(
            r'no part without gaps is as long as 1 s and 0\.5 s before')):
        predictions.errors(log, load_vehicle('iris'), [1.0])


def test_a_vehicle_with_other_rotors_is_refused():
    with pytest.raises(ParameterError, match='log still: has 4 motors, and the vehicle'):
        open_loop.drive(still(), load_vehicle('hexa'))


@pytest.mark.parametrize(('words', 'why'), [
    (['validate', 'gone.ulg', '--vehicle', 'iris'], 'validate: log gone.ulg: No such file'),
    (['validate', 'gone.ulg', '--vehicle', 'irs'], "validate: vehicle 'irs': there is no such"),
    (['validate', 'gone.ulg', '--vehicle', 'iris', '--report', 'x.txt'],
     'validate: report x.txt: is a page'),
    (['identify', 'gone.ulg', '--vehicle', 'iris', '--out', 'x.yml'],
     'identify: out x.yml: is a vehicle file; its name must end with .yaml'),
    (['identify', 'gone.ulg', '--vehicle', 'iris', '--out', 'x.yaml', '--horizon', '9'],
     'identify: horizon = 9: must be at least 0.05 and at most 5 s')])
def test_bad_input_is_one_sentence(words, why, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    error = capsys.readouterr().err
    assert error.startswith(why) and error.count('\n') == 1


@pytest.mark.process       # it flies
def test_a_recording_through_the_vehicle_that_flew_it(tmp_path, capsys, instance):
    """What is left is that the voltage of the bus is recorded at 10 Hz only."""
    bag, figures, page = tmp_path / 'bag', tmp_path / 'figures.json', tmp_path / 'page.html'
    assert main(['fly', '--mode', 'core', '--mission', str(HOP), '--autopilot', 'embedded',
                 '--instance', str(instance), '--record', str(bag)]) == 0
    assert main(['validate', str(bag), '--vehicle', 'iris', '--report', str(page),
                 '--json', str(figures)]) == 0
    found = json.loads(figures.read_text(encoding='utf-8'))
    after = found['errors']['free']['0.5 s']
    assert after['position']['95 %'] < 1e-3 and after['attitude']['95 %'] < 0.05
    assert found['steady']['current, mean']['model'] == pytest.approx(
        found['steady']['current, mean']['log'], rel=0.01)
    text = page.read_text(encoding='utf-8')
    for title in ('Open loop', 'Steady flight', 'What the log does not determine', 'The log'):
        assert f'>{title}<' in text
