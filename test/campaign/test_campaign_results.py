# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is said about a campaign: statistics against closed forms, the page, pairs."""
import concurrent.futures
import json
import math
import re

import numpy as np
import pytest
from campaigns import GROUND, campaign, folder_of, row_of
from report_flights import Page

from px4_sim_ros.campaign import conduct as conducting
from px4_sim_ros.campaign import statistics
from px4_sim_ros.campaign.campaign_report import _histogram, report
from px4_sim_ros.campaign.statistics import compare
from px4_sim_ros.model.errors import ParameterError


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


def of_table(margins):
    """Return what flies runs with margins of a table; None fails by a yes or no."""
    def fly(job):
        answer, margin = row_of(job), margins[job.number - 1]
        holds = margin is not None and margin > 0
        answer['row'] |= {'outcome': 'held' if holds else 'failed', 'expect_1': 'calm',
                          'holds_1': holds, 'margin_1': margin, 'unit_1': 'deg'}
        return answer
    return fly


def test_every_figure_is_that_of_a_table_that_was_worked_out_by_hand(flown):
    """Eight flights in 1 to 8 m/s of wind, four of which fail, one of them by a yes or no."""
    vary = {'weather.speed_m_s': {'table': [1, 2, 3, 4, 5, 6, 7, 8]},
            'vehicle': {'table': ['iris', 'x500'] * 4}}
    folder = flown(fly=of_table([30, 25, 28, 10, -2, -0.2, -140, None]), runs=8, vary=vary)
    rows, page = folder.rows(), report(folder)
    # Clopper and Pearson, 4 of 8: sum of C(8, k) p^k (1 - p)^(8 - k) over k >= 4 is 2.5 % at `low`.
    held = statistics.success(rows)
    assert (held.held, held.runs) == (4, 8)
    for share, alpha in ((held.low, 0.025), (1 - held.high, 0.025),
                         (statistics.at_least(rows), 0.05)):
        assert sum(math.comb(8, k) * share ** k * (1 - share) ** (8 - k)
                   for k in range(4, 9)) == pytest.approx(alpha)
    assert '<b>50.0%</b>' in page and '15.7% to 84.3%' in page and '<b>4</b>' in page
    # Of seven margins in their order: at 0.05 * 6 = 0.3, 3 and 5.7, from 0 on.
    assert ('5 % of the runs are below -98.6, half below 10, 95 % below 29.4; the least is -140. 1'
            ' of 8 runs have no such margin: 0 hold, 1 fail, 0 were not judged.') in page
    # Spearman: 1 - 6 * (36 + 9 + 9 + 0 + 9 + 9 + 36) / (7 * 48).
    (influence,) = statistics.influences(rows, ['weather.speed_m_s'], 'margin_1')
    assert influence.rank_correlation == pytest.approx(1 - 6 * 108 / 336)
    assert '<td class="number">-0.93</td>' in page
    # By value: x500 has 25, 10, -0.2 and none; Student's factor for three is 4.302653.
    half = 4.302653 * np.std([25, 10, -0.2], ddof=1) / math.sqrt(3)
    middle = (25 + 10 - 0.2) / 3
    assert f'{middle:.4g} ({middle - half:.4g} to {middle + half:.4g}), of 3 of 4' in page
    worst = page[page.index('The worst runs'):]
    assert [int(n) for n in re.findall(r'scenarios/run_(\d+)\.yaml', worst)] == [
        7, 5, 6, 8, 4, 2, 3, 1]
    for trace, margins in zip(_histogram(rows, 'margin_1', 'calm').data, (
            [30, 25, 28, 10], [-2, -0.2, -140])):
        assert sum(trace.y) == len(margins)
        for middle, count, width in zip(trace.x, trace.y, trace.width):
            assert count == sum(-1e-9 <= m - middle + width / 2 < width or m == 30 == round(
                middle + width / 2, 9) for m in margins)


def test_two_campaigns_are_compared_as_by_hand(flown):
    first = flown('a', fly=of_table([30, 25, 28, 10, -2, -0.2, -140, None]), runs=8)
    second = flown('b', fly=of_table([29, -1, 31, 14, 3, -6.2, -130, 6]), runs=8)
    lines = list(compare(first, second))
    assert lines[0].split() == ['runs', 'of', 'both', '8']
    assert '4 of 8, 50.0% (95% interval 15.7% to 84.3%)' in lines[1]
    assert '5 of 8, 62.5% (95% interval 24.5% to 91.5%)' in lines[2]
    # McNemar of 1 against 2: both tails are all of the binomial.
    assert '1 fail, 2 hold in the second only; by chance as uneven with p = 1' in lines[3]
    assert [line.split(':')[0] for line in lines if line.startswith('run ')] == [
        'run 2 fails in the second', 'run 5 fails in the first', 'run 8 fails in the first']
    # Of -1, -26, 3, 4, 5, -6, 10: mean -11/7, squares of deviations 863 - 121/7; Student's factor
    # for seven 2.446912. Wilcoxon: ranks below 0 have the sum 1 + 5 + 7 = 13, as many or fewer have
    # 60 of 128.
    half = 2.446912 * math.sqrt((863 - 121 / 7) / 6 / 7)
    margin, = (line for line in lines if line.startswith('margin_1'))
    assert margin.split(maxsplit=1)[1] == (
        f'-1.571 ({-11 / 7 - half:+.4g} to {-11 / 7 + half:+.4g}) in 7 runs, p = 0.938')


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
    # Share and margin along the only input that is drawn from a range; and the margins' histogram.
    figures = json.dumps(Page(page).figures)
    assert figures.count('share that holds') == 1
    assert figures.count('"margin: calm, m/s"') == 2


def test_a_mean_has_the_interval_of_student():
    found = statistics.mean(np.array([0.9, 1.1] * 5))
    half = 2.2621571628 * np.std([0.9, 1.1] * 5, ddof=1) / math.sqrt(10)
    assert (found.low, found.mean, found.high) == pytest.approx((1.0 - half, 1.0, 1.0 + half))


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
