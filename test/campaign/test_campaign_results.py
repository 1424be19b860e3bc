# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is said about a campaign: statistics against closed forms, the page, searches, pairs."""
import concurrent.futures
import math
import re
import sys
import warnings

import numpy as np
import pytest
from campaigns import GROUND, campaign, folder_of, row_of

from px4_sim_ros.campaign import conduct as conducting
from px4_sim_ros.campaign import search, statistics
from px4_sim_ros.campaign.campaign_report import report
from px4_sim_ros.campaign.comparison import compare
from px4_sim_ros.campaign.executors import Opened
from px4_sim_ros.campaign.search import Search
from px4_sim_ros.model.errors import ParameterError, RunError


@pytest.fixture
def executor():
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        yield executor


@pytest.fixture
def flown(executor, tmp_path):
    """Return a function that returns the folder of a campaign that nobody has flown."""
    def flown(name='c', fly=row_of, **more):
        folder = folder_of(tmp_path / name, campaign(**more))
        conducting.conduct(folder, executor, fly, 2, lambda progress: None)
        return folder
    return flown


def test_the_interval_is_that_of_clopper_and_pearson():
    """None of n has failed: the true share is at least (alpha / 2) ** (1 / n)."""
    for runs in (1, 10, 100):
        found = statistics.share(runs, runs)
        assert found.low == pytest.approx(0.025 ** (1 / runs), rel=1e-9)
        assert found.high == 1.0
    half = statistics.share(7, 14)
    assert half.low == pytest.approx(1.0 - half.high)
    nothing = statistics.share(0, 0)
    assert (nothing.low, nothing.high) == (0.0, 1.0)


def test_how_many_flights_show_a_share():
    """All of n hold: at least 0.05 ** (1 / n) do; 299 flights show 99 %."""
    held = [{'outcome': 'held'}] * 299
    assert statistics.at_least(held) == pytest.approx(0.05 ** (1 / 299))
    assert statistics.at_least(held) > 0.99 > statistics.at_least(held[1:])
    for share in 0.99, 0.9, 0.5, 0.01:
        runs = statistics.runs_to_show(share)
        assert statistics.at_least(held[:1] * runs) >= share
        assert runs == 1 or statistics.at_least(held[:1] * (runs - 1)) < share


def test_the_input_that_matters_comes_first():
    noise = np.random.default_rng(1)
    rows = [{'a': a, 'b': float(b), 'word': 'x', 'margin_1': -a ** 3}
            for a, b in zip(range(50), noise.random(50))]
    first, second = statistics.influences(rows, ['b', 'word', 'a'], 'margin_1')
    assert (first.name, first.rank_correlation) == ('a', pytest.approx(-1.0))
    assert second.name == 'b' and abs(second.rank_correlation) < 0.4


def test_paired_differences():
    first = np.arange(10.0)
    found = statistics.paired(first, first + np.where(np.arange(10) % 2, 0.9, 1.1), 'x')
    half = 2.2621571628 * np.std([0.9, 1.1] * 5, ddof=1) / math.sqrt(10)       # Student, 9
    assert found.mean == pytest.approx(1.0)
    assert (found.low, found.high) == pytest.approx((1.0 - half, 1.0 + half))
    assert found.p_value == pytest.approx(2 / 2 ** 10)
    assert statistics.paired(first, first, 'x').p_value == 1.0


def test_the_page_has_what_the_rows_say(flown):
    folder = flown(runs=60, sampling='sobol')
    page = report(folder)
    held = statistics.success(folder.rows())
    assert 20 < held.held < 40
    assert f'<b>{held.share:.1%}</b>' in page
    assert f'{held.low:.1%} to {held.high:.1%}' in page
    assert '<td class="number">-1.00</td>' in page          # the wind and the margin
    worst = min(folder.rows(), key=lambda row: row['margin_1'])
    first = page[page.index('The worst runs'):]
    assert re.search(r'scenarios/run_(\d+)\.yaml', first)[1] == f"{worst['run']:06d}"
    assert worst['fingerprint'] in first
    # Without any run there is a page as well.
    assert 'There is nothing to plot' in report(folder_of(folder.path.with_name('e')))


def test_what_has_a_choice_is_told_by_value(flown):
    """A vehicle that always holds, and one that never does."""
    def fly(job):
        answer, holds = row_of(job), job.scenario['vehicle'] == 'iris'
        answer['row'] |= {'outcome': 'held' if holds else 'failed',
                          'margin_1': 2.0 if holds else -1.0}
        return answer
    page = report(flown(fly=fly, runs=40, vary={
        'vehicle': {'choice': ['iris', 'x500']}, 'weather.from_deg': {'choice': [0, 90]},
        'weather.speed_m_s': {'uniform': [0, 6]}}))
    section = page[page.index('Spearman'):page.index('The worst runs')]
    rows = re.findall(r'<tr><td>(.*?)</td><td class="number">(.*?)</td>'
                      r'<td class="number">(.*?)</td></tr>', section)
    told = {value: (share, margin) for value, share, margin in rows}
    assert told['x500'] == ('0 of 20, 0.0% (95% interval 0.0% to 16.8%)', '-1 (-1 to -1)')
    assert told['iris'] == ('20 of 20, 100.0% (95% interval 83.2% to 100.0%)', '2 (2 to 2)')
    assert [value for value, *_ in rows if value in ('iris', 'x500')] == ['x500', 'iris']
    assert {'0', '90'} < told.keys()
    # Share and margin along the only input that is drawn from a range.
    assert section.count('share that holds') == section.count('"margin: calm, m\\u002fs"') == 1


def test_a_mean_has_the_interval_of_student():
    found = statistics.mean(np.array([0.9, 1.1] * 5))
    half = 2.2621571628 * np.std([0.9, 1.1] * 5, ddof=1) / math.sqrt(10)
    assert (found.low, found.mean, found.high) == pytest.approx((1.0 - half, 1.0, 1.0 + half))


def test_a_limit_is_found_by_bisection(executor):
    """What is windy fails: at 3 m/s."""
    found, values = campaign(seed=4), []
    limit = Search(found, None, Opened(executor, row_of, 2, '')).limit(
        'weather.speed_m_s', 0.01, 2, lambda value, cases: values.append((value, len(cases))))
    assert limit.holds < 3 <= limit.fails
    assert limit.fails - limit.holds <= 0.01
    assert values[:3] == [(0.0, 2), (6.0, 2), (3.0, 2)]
    assert limit.flights == 2 * len(values) == 2 * (2 + math.ceil(math.log2(6 / 0.01)))
    assert limit.last_held.holds and not limit.first_failed.holds
    assert limit.first_failed.run.scenario['weather']['speed_m_s'] == limit.fails


@pytest.mark.parametrize('times', [1, 2])
def test_a_flight_of_a_search_that_hangs_is_flown_once_more(executor, times):
    hung, kept = [], []

    def fly(job):
        if job.scenario['weather']['speed_m_s'] == 3.0 and job.number == 2 and len(hung) < times:
            hung.append(job)
            return {'lost': 'it has hung for 600 s of wall time'}
        return row_of(job)
    found = Search(campaign(), None, Opened(executor, fly, 2, ''), kept.append)
    if times == 1:
        limit = found.limit('weather.speed_m_s', 1.0, 2, lambda value, cases: None)
        assert limit.flights == len(kept) == 10 and limit.holds < 3 <= limit.fails
        return
    with pytest.raises(RunError, match=r'^weather.speed_m_s 3: it has hung for 600 s'):
        found.limit('weather.speed_m_s', 1.0, 2, lambda value, cases: None)
    assert {case.run.inputs['weather.speed_m_s'] for case in kept} >= {0.0, 6.0}


def test_bisection_ends_where_no_value_is_between(executor):
    limit = Search(campaign(), None, Opened(executor, row_of, 2, '')).limit(
        'weather.speed_m_s', 1e-300, 1, lambda value, cases: None)
    # Of what is called _s the grid is a millionth.
    assert (limit.holds, limit.fails) == (2.999999, 3.0)


@pytest.mark.parametrize(('name', 'bounds', 'sentence'), [
    ('weather.speed', [0, 6], "input 'weather.speed': the campaign has no such input; did you mean"
                              ' weather.speed_m_s; it has weather.speed_m_s'),
    ('weather.speed_m_s', [0, 2], 'there is none between 0 and 2: it holds at both'),
    ('weather.speed_m_s', [4, 6], 'there is none between 4 and 6: it fails at both'),
])
def test_a_limit_that_is_not_there(executor, name, bounds, sentence):
    found = campaign(vary={'weather.speed_m_s': {'uniform': bounds}})
    with pytest.raises(ParameterError) as error:
        Search(found, None, Opened(executor, row_of, 2, '')).limit(
            name, None, 1, lambda value, cases: None)
    assert sentence in str(error.value)


def test_nothing_is_said_of_a_package_that_is_not_needed(monkeypatch):
    """As in a fresh environment, which has no matplotlib."""
    pytest.importorskip('cma')
    for name in [name for name in sys.modules if name.split('.')[0] == 'cma']:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, 'matplotlib', None)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter('always')
        assert search._cma().CMAEvolutionStrategy
    assert said == []


def test_the_least_margin_is_found(executor):
    """A margin with its least value, 1, at a known place."""
    pytest.importorskip('cma')
    def bowl(job):
        speed_m_s, from_deg = (job.scenario['weather'][k] for k in ('speed_m_s', 'from_deg'))
        answer = row_of(job)
        answer['row']['margin_1'] = 1 + (speed_m_s - 2) ** 2 + ((from_deg - 70) / 30) ** 2
        return answer
    found = campaign(runs=400, vary={
        'weather.speed_m_s': {'uniform': [0, 6]}, 'weather.from_deg': {'uniform': [0, 360]}})
    told = []
    case, margin = Search(found, None, Opened(executor, bowl, 2, '')).worst(
        1, lambda case, margin: told.append(margin))
    assert margin == pytest.approx(1.0, abs=1e-3)
    assert case.run.inputs['weather.speed_m_s'] == pytest.approx(2.0, abs=0.05)
    assert case.run.inputs['weather.from_deg'] == pytest.approx(70.0, abs=1.5)
    assert told == sorted(told, reverse=True)
    for number in 0, 2:
        with pytest.raises(ParameterError, match=f'margin = {number}: must be the number of'):
            Search(found, None, None).worst(number, print)
    with pytest.raises(ParameterError, match='at least two inputs must vary'):
        Search(campaign(), None, Opened(executor, bowl, 2, '')).worst(1, print)


def test_two_campaigns_are_compared_run_by_run(flown):
    """The second is half a metre a second better."""
    def better(job):
        answer = row_of(job)
        margin = answer['row']['margin_1'] = answer['row']['margin_1'] + 0.5
        answer['row']['outcome'] = 'held' if margin > 0 else 'failed'
        answer['row']['fingerprint'] = 'b'
        return answer
    first, second = flown('a', runs=40), flown('b', better, runs=40)
    lines = list(compare(first, second))
    changed = [row for row in first.rows() if -0.5 < row['margin_1'] <= 0]
    assert changed
    assert f'0 fail, {len(changed)} hold in the second only' in lines[3]
    assert [line.split()[1] for line in lines if line.startswith('run ')] == [
        str(row['run']) for row in changed]
    assert all('--scenario' in line for line in lines if line.startswith('run '))
    margin, = (line for line in lines if line.startswith('margin_1'))
    assert '+0.5 (+0.5 to +0.5) in 40 runs' in margin
    other = flown('o', runs=40, seed=2)
    with pytest.raises(ParameterError, match='they must have the same draws'):
        list(compare(first, other))


def test_what_differs_in_all_runs_is_no_other_draw(flown):
    """Another scenario over the same draws."""
    first = flown('a')
    second = flown('b', scenario=GROUND | {'end': {'at_s': 0.2}})
    assert next(iter(compare(first, second))).endswith(' 6')
