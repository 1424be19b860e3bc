# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is drawn: distributions against closed forms and SciPy, and how runs are spread."""
import concurrent.futures
import json
import types

import numpy as np
import pytest
from campaigns import campaign, folder_of, row_of
from report_flights import Page

from px4_sim_ros.campaign import conduct as conducting
from px4_sim_ros.campaign.campaign_report import paths, report
from px4_sim_ros.campaign.inputs import (
    Choice,
    Input,
    Normal,
    Table,
    Uniform,
    draw,
    read_distribution,
    seed_of,
    shares,
)
from px4_sim_ros.campaign.jobs import FlownPath, PathTaker
from px4_sim_ros.model.errors import ParameterError

SHARES = 0.001, 0.2, 0.5, 0.9, 0.999


@pytest.fixture(scope='module')
def stats():
    """SciPy's; it takes a second to load, which workers without these tests can do without."""
    from scipy import stats
    return stats


def test_a_normal_input_has_the_quantiles_of_scipy(stats):
    found = [Normal(2.0, 0.5).value(share, 1) for share in SHARES]
    assert found == pytest.approx(stats.norm.ppf(SHARES, 2.0, 0.5), abs=1e-9)


def test_one_that_is_cut_off_has_those_of_the_truncated_one(stats):
    cut = Normal(2.0, 0.5, low=1.5, high=2.2)
    theirs = stats.truncnorm.ppf(SHARES, -1.0, 0.4, 2.0, 0.5)
    assert [cut.value(share, 1) for share in SHARES] == pytest.approx(theirs, abs=1e-9)


def test_a_share_of_nothing_is_no_infinity():
    assert np.isfinite(Normal(0.0, 1.0).value(0.0, 1))


def test_uniform_and_choice_cover_what_they_may():
    assert [Uniform(-1.0, 3.0).value(share, 1) for share in (0.0, 0.25, 0.5)] == [-1.0, 0.0, 1.0]
    chosen = [Choice(('a', 'b', 'c')).value(share, 1) for share in np.arange(9) / 9]
    assert chosen == ['a'] * 3 + ['b'] * 3 + ['c'] * 3


def test_rows_of_tables_belong_together():
    found = draw([Input('x', Table((1, 2, 3))), Input('y', Table(('a', 'b', 'c')))], 'random', 1, 4)
    assert found == [{'x': 1, 'y': 'a'}, {'x': 2, 'y': 'b'}, {'x': 3, 'y': 'c'},
                     {'x': 1, 'y': 'a'}]


def test_a_latin_hypercube_has_one_run_in_each_stratum():
    found = shares('latin_hypercube', 3, 40, 3)
    for column in found.T:
        assert sorted(np.floor(column * 40)) == list(range(40))


@pytest.mark.parametrize('sampling', ['random', 'sobol'])
def test_more_runs_begin_with_the_same_ones(sampling):
    assert (shares(sampling, 5, 100, 4)[:13] == shares(sampling, 5, 13, 4)).all()


def test_sobol_is_more_even_than_chance():
    from scipy.stats import qmc
    assert qmc.discrepancy(shares('sobol', 1, 64, 2)) < 0.3 * qmc.discrepancy(
        shares('random', 1, 64, 2))


@pytest.mark.parametrize('sampling', ['random', 'sobol', 'latin_hypercube'])
def test_a_seed_gives_its_own_draws(sampling):
    assert (shares(sampling, 5, 8, 2) == shares(sampling, 5, 8, 2)).all()
    assert (shares(sampling, 5, 8, 2) != shares(sampling, 6, 8, 2)).all()


def test_each_run_has_noise_of_its_own():
    seeds = {seed_of(seed, run) for seed in (1, 2) for run in range(1, 1001)}
    assert len(seeds) == 2000
    assert all(0 <= seed < 2**31 for seed in seeds)


@pytest.mark.parametrize(('content', 'sentence'), [
    ({'unifrom': [0, 1]}, "x: 'unifrom' is no distribution; did you mean uniform; there are"),
    ([0, 1], 'x = [0, 1]: must hold one of uniform, normal, choice, table'),
    ({'uniform': [2, 1]}, 'x.uniform = [2, 1]: the first must be less than the second'),
    ({'uniform': [0, 'a']}, "x.uniform[1] = 'a': must be a number"),
    ({'uniform': 3}, 'x.uniform = 3: must be [lowest, highest]'),
    ({'normal': [0, 0]}, 'x.normal.sigma = 0: must be greater than 0'),
    ({'normal': {'mean': 1}}, "must be [mean, sigma], or a mapping of mean, sigma, low, high"),
    ({'normal': {'mean': 1, 'sigma': 1, 'low': 2, 'high': 1}}, 'x.normal.low = 2: must be less'),
    ({'choice': []}, 'x.choice = []: must be a list of values'),
])
def test_what_is_wrong_is_a_sentence(content, sentence):
    with pytest.raises(ParameterError) as error:
        read_distribution('x', content)
    assert sentence in str(error.value)


# Paths of flights: taken in few points, kept beside the rows, laid over each other.

COLOURS = {'held': '#000001', 'failed': '#000002'}


def taken(duration_s, step_us=4000):
    """Return a path to the east at 1 m/s, from a start that is not at home."""
    taker = PathTaker()
    for time_us in range(0, round(duration_s * 1e6), step_us):
        taker.add(types.SimpleNamespace(
            time_us=time_us, start_enu=(3.0, 0.0, 1.0), truth=types.SimpleNamespace(
                position_enu=(3.0 + time_us / 1e6, 0.0, 1.0))))
    return taker.path(7)


@pytest.mark.parametrize('duration_s', [1.0, 19.0, 60.0, 1000.0])
def test_a_path_has_few_points_at_equal_times(duration_s):
    path = taken(duration_s)
    assert path.run == 7 and len(path.points) < 200
    assert duration_s < 19.5 or len(path.points) >= 100
    for i, (east, north, up) in enumerate(path.points):
        # A step may be late by one; places are to the centimetre.
        assert east == pytest.approx(i * path.every_s, abs=0.01)
        assert (north, up) == (0.0, 0.0)
    assert path.points[-1][0] >= duration_s - path.every_s - 0.01


def test_paths_are_kept_and_drawn(tmp_path):
    """Also when the campaign goes on: each run that has a row has its path."""
    def fly(job):
        answer = row_of(job)
        points = [[0.0, 0.0, 0.0], [job.number, 1.0, 2.0]]
        answer['row']['path'] = FlownPath(job.number, 0.1, points)
        return answer

    folder = folder_of(tmp_path / 'c', campaign(runs=6))
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        conducting.conduct(folder, executor, fly, 2, lambda progress: None)
        folder = folder_of(tmp_path / 'c', campaign(runs=9))
        conducting.conduct(folder, executor, fly, 2, lambda progress: None)
    assert sorted(folder.paths()) == [row['run'] for row in folder.rows()] == [*range(1, 10)]
    assert all('path' not in row for row in folder.rows())
    assert folder.paths()[9].points[1] == [9, 1.0, 2.0]
    page = report(folder)
    assert '9 of 9 flights' in page
    assert 'east of the start, m' in json.dumps(Page(page).figures)


def test_of_many_paths_some_are_drawn():
    flown = {run: FlownPath(run, 0.1, [[0.0, 0.0, 0.0]]) for run in range(1, 1001)}
    rows = [{'run': run, 'outcome': 'failed' if run % 100 == 0 else 'held'} for run in flown]
    # 10 that failed, every fifth of the 990 that held.
    assert '208 of 1000 flights' in paths(rows, flown, COLOURS)
    assert 'flights' not in paths(rows, {}, COLOURS)
