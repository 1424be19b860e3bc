# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The integrators alone: coefficients, equal steps, and steps that follow the tolerance."""
from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.integrate
import scipy.special
from verification.fixed_step import FixedStep
from verification.integrators import adaptive, kepler, oscillator, pendulum

from px4_sim_ros.model.body.integrators import (
    ADAPTIVE,
    FIXED,
    INTEGRATOR_NAMES,
    Adaptive,
    check_substeps,
    euler,
    rk4,
)
from px4_sim_ros.model.errors import ParameterError

PAIRS = tuple(ADAPTIVE)
NODES = {'rk23': '0 1/2 3/4 1', 'rk45': '0 1/5 3/10 4/5 8/9 1 1'}


def tumbling(x):
    """Return the rates of a free body with a falling, braked rotor: w, attitude, rotor, height."""
    wx, wy, wz, qw, qx, qy, qz, rotor, _, velocity = x
    return np.array([
        -0.5 * wy * wz, 0.8 * wz * wx, -0.4 * wx * wy,
        0.5 * (-qx * wx - qy * wy - qz * wz),
        0.5 * (qw * wx + qy * wz - qz * wy),
        0.5 * (qw * wy + qz * wx - qx * wz),
        0.5 * (qw * wz + qx * wy - qy * wx),
        20.0 * (700.0 + 50.0 * wx - rotor), velocity, -9.8 + 1e-5 * rotor * rotor - 0.1 * velocity])


TUMBLING = [1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]


# The coefficients.

def rooted_trees(order):
    """Return all rooted trees with so many nodes; a tree is the sorted tuple of its branches."""
    if order == 1:
        return [()]
    smaller = [tree for n in range(1, order) for tree in rooted_trees(n)]
    return [
        tree for count in range(1, order)
        for tree in itertools.combinations_with_replacement(sorted(smaller), count)
        if nodes(tree) == order]


def nodes(tree):
    """Return how many nodes a tree has."""
    return 1 + sum(nodes(branch) for branch in tree)


def density(tree):
    """Return the tree's gamma: nodes times the gammas of the branches."""
    return nodes(tree) * math.prod(density(branch) for branch in tree)


def stage_weights(rows, tree):
    """Return the tree's weight at each stage."""
    inner = [stage_weights(rows, branch) for branch in tree]
    return [
        math.prod((sum(a * g for a, g in zip(row, branch)) for branch in inner), start=Fraction(1))
        for row in ((), *rows)]


def fulfils(rows, result, order):
    """Return whether these weights of the result fulfil all conditions of just this order."""
    return all(
        sum(b * g for b, g in zip(result, stage_weights(rows, tree))) == Fraction(1, density(tree))
        for tree in rooted_trees(order))


@pytest.mark.parametrize('name', PAIRS)
def test_rows_sum_to_the_published_nodes_and_results_to_one(name):
    """Bogacki and Shampine 1989, Dormand and Prince 1980; in fractions."""
    pair = ADAPTIVE[name]
    assert [sum(row, Fraction(0)) for row in ((), *pair.rows)] == [
        Fraction(node) for node in NODES[name].split()]
    assert sum(pair.rows[-1]) == sum(pair.lower) == 1
    assert [len(row) for row in pair.rows] == list(range(1, len(pair.lower)))


@pytest.mark.parametrize('name', PAIRS)
def test_both_results_of_a_pair_fulfil_the_order_conditions(name):
    """Butcher's conditions, one for each rooted tree; in fractions, and not one order more."""
    pair = ADAPTIVE[name]
    assert [len(rooted_trees(n)) for n in range(1, 6)] == [1, 1, 2, 4, 9]
    higher = (*pair.rows[-1], Fraction(0))
    for result, order in ((higher, pair.order), (pair.lower, pair.order - 1)):
        assert all(fulfils(pair.rows, result, n) for n in range(1, order + 1))
        assert not fulfils(pair.rows, result, order + 1)


@pytest.mark.parametrize('name', PAIRS)
def test_the_stages_written_out_are_those_of_the_coefficients(name):
    """State, derivative and error of one step against plain loops over the fractions."""
    pair, h = ADAPTIVE[name], 0.3
    x = np.array([1.0, 0.5])
    stages = [np.array(pendulum(x))]
    for row in pair.rows:
        new = x + h * sum(float(a) * k for a, k in zip(row, stages))
        stages.append(np.array(pendulum(new)))
    lower = x + h * sum(float(b) * k for b, k in zip(pair.lower, stages))
    trial = pair.trial(pendulum, list(x), h, pendulum(x))
    assert trial[0] == pytest.approx(new, abs=1e-15)
    assert trial[1] == pytest.approx(stages[-1], abs=1e-15)
    assert trial[2] == pytest.approx(new - lower, abs=1e-15)


# Fixed steps.

def test_one_euler_step_is_the_tangent():
    """It is x + h f(x)."""
    assert list(euler(oscillator, [1.0, 2.0], 0.5)) == [2.0, 1.5]


def test_fixed_steps_are_equal_parts():
    """The same bits as the method called by hand."""
    x = [1.0, 0.5]
    for _ in range(4):
        x = rk4(pendulum, x, 0.001)
    assert FixedStep(rk4, 4).advance(pendulum, [1.0, 0.5], 4000).tolist() == x.tolist()


def test_all_methods_have_a_name():
    """The names a parameter may take."""
    assert INTEGRATOR_NAMES == ('euler', 'rk4', 'rk23', 'rk45') == (*FIXED, *ADAPTIVE)


@pytest.mark.parametrize(('step_us', 'substeps'), [(4000, 1), (4000, 32), (4000, 4000), (1, 1)])
def test_parts_of_whole_microseconds_are_accepted(step_us, substeps):
    """Every divisor of the step."""
    check_substeps(step_us, substeps)


@pytest.mark.parametrize(('step_us', 'substeps', 'valid'), [
    (4000, 3, 'values are 2 and 4'), (4000, 999, 'values are 800 and 1000'),
    (4000, 4001, 'value is 4000'), (4000, 0, 'value is 1'), (4000, -2, 'value is 1'),
    (4001, 2, 'values are 1 and 4001')])
def test_other_parts_are_refused_with_the_nearest_valid(step_us, substeps, valid):
    """One sentence with name, value and what is allowed."""
    with pytest.raises(ParameterError) as error:
        check_substeps(step_us, substeps)
    assert str(error.value) == (
        f'substeps = {substeps}: must divide step_us = {step_us} into whole microseconds;'
        f' the nearest valid {valid}')


# Adaptive steps.

@pytest.mark.parametrize('name', PAIRS)
@pytest.mark.parametrize('tolerance', [1e-4, 1e-6, 1e-8])
def test_error_is_a_small_multiple_of_the_tolerance(name, tolerance):
    """A tumbling body with a rotor, 2 s in calls of 100 ms, against scipy's DOP853 at 1e-12."""
    integrator = adaptive(name, tolerance, 10, relative=tolerance)
    x = TUMBLING
    for _ in range(20):
        x = integrator.advance(tumbling, x, 100_000)
    reference = scipy.integrate.solve_ivp(
        lambda _, y: tumbling(y), (0.0, 2.0), TUMBLING, 'DOP853', rtol=1e-12, atol=1e-12)
    assert x == pytest.approx(reference.y[:, -1], abs=20.0 * tolerance, rel=20.0 * tolerance)
    assert integrator.forced_steps == 0


@pytest.mark.parametrize('name', PAIRS)
def test_relative_tolerance_scales_with_the_state(name):
    """The same motion a million times larger, or with the other sign: the same steps."""
    steps = set()
    for scale in (1.0, 2.0 ** 20, -1.0):
        integrator = adaptive(name, 1e-30, 2, relative=1e-4)
        integrator.advance(oscillator, [scale, scale], 500_000)
        steps.add((integrator.accepted_steps, integrator.proposal_us))
        assert integrator.forced_steps == 0
    assert len(steps) == 1


@pytest.mark.parametrize('name', PAIRS)
@pytest.mark.parametrize('duration_us', [1, 7, 4000, 8_300_000])
def test_steps_end_exactly_at_the_duration(name, duration_us):
    """A clock in the state, with x' = 1, is off by less than a nanosecond in many steps."""
    integrator = adaptive(name, 1e-7, 3)
    x = [1.0, 0.5, 0.0]
    for _ in range(2):
        x = integrator.advance(lambda x: np.array([*pendulum(x), 1.0]), x, duration_us)
    assert x[2] == pytest.approx(2 * duration_us / 1e6, abs=1e-10)
    assert integrator.accepted_steps > (20 if duration_us > 4000 else 1)


@pytest.mark.parametrize('name', PAIRS)
def test_no_time_is_no_change(name):
    """A call of 0 us, first or later."""
    integrator = adaptive(name, 1e-6, 2)
    for duration_us in (0, 4000, 0):
        before = integrator.accepted_steps
        end = integrator.advance(pendulum, [1.0, 0.5], duration_us)
        assert (list(end) == [1.0, 0.5]) is (duration_us == 0)
        assert (integrator.accepted_steps == before) is (duration_us == 0)


@pytest.mark.parametrize('name', PAIRS)
def test_each_component_is_held_to_its_own_tolerance(name):
    """Two oscillators that do not touch: 1e6 large at 1 rad/s, 1e-6 small at 5 rad/s."""
    def f(x):
        return np.array([x[1], -x[0], 5.0 * x[3], -5.0 * x[2]])

    def run(large, small):
        """Return steps and relative errors for the relative tolerances of both."""
        integrator = Adaptive(
            ADAPTIVE[name], 0.0, [1e6 * large, 1e6 * large, 1e-6 * small, 1e-6 * small], 1)
        x = integrator.advance(f, [1e6, 0.0, 1e-6, 0.0], 3_000_000)
        return integrator.accepted_steps, (
            math.hypot(x[0] / 1e6 - math.cos(3.0), x[1] / 1e6 + math.sin(3.0)),
            math.hypot(x[2] / 1e-6 - math.cos(15.0), x[3] / 1e-6 + math.sin(15.0)))

    loose, (loose_large, loose_small) = run(1e-2, 1e-2)
    assert loose_large < 0.1 and loose_small < 0.3
    for large, small in ((1e-8, 1e-2), (1e-2, 1e-8)):
        steps, (large_error, small_error) = run(large, small)
        assert steps > 3 * loose
        assert large_error < 30.0 * large and large_error < loose_large
        assert small_error < 30.0 * small and small_error < loose_small
    # With the large one's tolerance for both, the small one is lost.
    assert run(1e-2, 1e12)[1][1] > 0.5


@pytest.mark.parametrize('components', [1, 3])
def test_a_tolerance_is_needed_for_each_component(components):
    """Neither fewer nor more."""
    with pytest.raises(ValueError, match=f'2 components but {components} tolerances'):
        adaptive('rk45', 1e-6, components).advance(oscillator, [1.0, 0.0], 4000)


@pytest.mark.parametrize(('name', 'stages'), [('rk23', 4), ('rk45', 7)])
def test_the_last_stage_is_the_first_of_the_next_step(name, stages):
    """One derivative a call, and one less than the stages for each step, accepted or not."""
    count = 0

    def f(x):
        nonlocal count
        count += 1
        return kepler(x)

    integrator, x, calls = adaptive(name, 1e-7, 4), [1.0, 0.0, 0.0, 0.6], 8
    for _ in range(calls):
        x = integrator.advance(f, x, 500_000)
    steps = integrator.accepted_steps + integrator.rejected_steps
    assert integrator.rejected_steps > 0
    assert count == calls + steps * (stages - 1)


@pytest.mark.parametrize('name', PAIRS)
def test_a_call_sees_inputs_and_a_state_changed_since_the_last(name):
    """No derivative is carried over: x' = u is followed exactly when u jumps."""
    integrator = adaptive(name, 1e-9, 1)
    x = integrator.advance(lambda _: np.array([1.0]), [0.0], 1000)
    x[0] += 5.0
    x = integrator.advance(lambda _: np.array([-3.0]), x, 1000)
    assert x == pytest.approx([5.0 + 0.001 - 0.003], abs=1e-14)
    assert integrator.rejected_steps == 0


@pytest.mark.parametrize('name', PAIRS)
def test_a_step_cut_short_to_land_leaves_the_proposal(name):
    """After 1 us and 10 us, a call of the length before still takes one step."""
    integrator = adaptive(name, 1e-5, 2)
    x = integrator.advance(oscillator, [1.0, 0.0], 4000)
    proposal_us = integrator.proposal_us
    assert proposal_us > 4000
    for duration_us in (1, 10, 4000):
        x, before = integrator.advance(oscillator, x, duration_us), integrator.accepted_steps
        assert integrator.proposal_us >= proposal_us
    x = integrator.advance(oscillator, x, 4000)
    assert integrator.accepted_steps == before + 1
    assert integrator.rejected_steps == 0


@pytest.mark.parametrize('name', PAIRS)
def test_the_proposal_follows_the_motion(name):
    """It starts at the first call's duration, shrinks where that is too long and grows again."""
    def fast(x):
        return np.array([100.0 * x[1], -100.0 * x[0]])

    integrator = adaptive(name, 1e-8, 2)
    integrator.advance(lambda x: np.array([0.0, 0.0]), [1.0, 0.0], 10_000)
    assert (integrator.accepted_steps, integrator.proposal_us) == (1, 50_000)
    integrator.advance(fast, [1.0, 0.0], 10_000)
    shrunk_us = integrator.proposal_us
    assert integrator.rejected_steps > 0
    assert shrunk_us < 5_000
    integrator.advance(oscillator, [1.0, 0.0], 500_000)
    assert integrator.proposal_us > 4 * shrunk_us


@pytest.mark.parametrize('name', PAIRS)
@pytest.mark.parametrize('ratio', [0.8, 0.1, 1e-9])
def test_the_next_step_is_as_long_as_the_error_allows(name, ratio):
    """The error goes with the step to the power of the order: 0.9 ratio^(-1/order), at most 5."""
    pair = ADAPTIVE[name]
    error = pair.trial(pendulum, [1.0, 0.5], 0.2, pendulum([1.0, 0.5]))[2]
    integrator = Adaptive(pair, 0.0, [abs(e) / ratio for e in error], 1)
    integrator.advance(pendulum, [1.0, 0.5], 200_000)
    assert (integrator.accepted_steps, integrator.rejected_steps) == (1, 0)
    assert integrator.proposal_us == pytest.approx(
        200_000 * min(5.0, 0.9 * ratio ** (-1.0 / pair.order)), abs=1)


@pytest.mark.parametrize('name', PAIRS)
def test_the_step_after_a_rejection_is_no_longer(name):
    """Of 4000 us: one refused, then 800, 800 and, grown again, the rest."""
    # The third stage: both pairs use it in their error.
    values = iter([1.0, 1.0, math.nan])
    integrator = adaptive(name, 1e-9, 1)
    integrator.advance(lambda x: np.array([next(values, 1.0)]), [0.0], 4000)
    assert (integrator.rejected_steps, integrator.accepted_steps) == (1, 3)


@pytest.mark.parametrize('name', PAIRS)
def test_a_jump_of_the_derivative_is_passed(name):
    """A push of 100 that begins where x = 0.5: steps shrink to the least, then grow again."""
    integrator = adaptive(name, 1e-9, 2, min_step_us=50)
    x = integrator.advance(
        lambda x: np.array([1.0, 100.0 if x[0] > 0.5 else 0.0]), [0.0, 0.0], 1_000_000)
    # Within the least step it does not know where the jump was.
    assert x == pytest.approx([1.0, 50.0], abs=100.0 * 50e-6)
    assert 1 <= integrator.forced_steps <= 2
    assert integrator.accepted_steps < 40
    assert integrator.proposal_us > 1000


@pytest.mark.parametrize('name', PAIRS)
def test_sliding_along_a_jump_ends(name):
    """The solution of x' = -sign(x) stays at 0: nothing but forced steps there."""
    integrator = adaptive(name, 1e-9, 1, min_step_us=100)
    x = integrator.advance(lambda x: np.array([-math.copysign(1.0, x[0])]), [0.05], 100_000)
    assert abs(x[0]) < 2 * 100e-6
    assert 100 < integrator.forced_steps < 600


@pytest.mark.parametrize('name', PAIRS)
@pytest.mark.parametrize('value', [math.nan, math.inf])
@pytest.mark.parametrize('broken', [0, 1, 2])
def test_a_derivative_that_is_no_number_ends(name, value, broken):
    """Steps of the least length, all forced; whichever component is broken."""
    def f(x):
        return np.array([value if i == broken else 0.0 for i in range(3)])

    integrator = adaptive(name, 1e-6, 3, min_step_us=10)
    x = integrator.advance(f, [0.0] * 3, 1005)
    assert [math.isfinite(a) for a in x] == [i != broken for i in range(3)]
    assert integrator.forced_steps == integrator.accepted_steps == 101
    assert integrator.proposal_us == 10


@pytest.mark.parametrize('name', PAIRS)
def test_a_trial_step_out_of_the_domain_is_taken_back(name):
    """The solution of x' = -50 sqrt(x) from 1 is (1 - 25 t)^2; a long step meets x < 0."""
    def f(x):
        return np.array([-50.0 * math.sqrt(x[0]) if x[0] >= 0.0 else math.nan])

    integrator = adaptive(name, 1e-9, 1)
    x = integrator.advance(f, [1.0], 36_000)
    assert x == pytest.approx([0.01], abs=1e-6)
    assert integrator.rejected_steps > 0
    assert integrator.forced_steps == 0


@pytest.mark.parametrize('name', PAIRS)
def test_no_step_is_below_the_least_but_to_land(name):
    """With a tolerance that cannot be met, 1005 us fall into 100 steps of 10 us and one of 5."""
    integrator = adaptive(name, 1e-300, 2, min_step_us=10)
    integrator.advance(pendulum, [1.0, 0.5], 1005)
    assert integrator.accepted_steps == 101
    assert integrator.proposal_us == 10


@pytest.mark.parametrize('name', PAIRS)
def test_the_same_calls_give_the_same_bits(name):
    """State, proposal and counters after calls of changing length."""
    def run():
        integrator, x = adaptive(name, 1e-7, 10, relative=1e-7), TUMBLING
        for duration_us in (4000, 1, 20_000, 333, 100_000):
            x = integrator.advance(tumbling, x, duration_us)
        return (
            [a.hex() for a in x], integrator.proposal_us,
            integrator.accepted_steps, integrator.rejected_steps, integrator.forced_steps)

    assert run() == run()
