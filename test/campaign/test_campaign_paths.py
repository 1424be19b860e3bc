# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Paths of flights: taken in few points, kept beside the rows, laid over each other."""
import concurrent.futures
import types

import pytest
from campaigns import campaign, folder_of, row_of

from px4_sim_ros.campaign import conduct as conducting
from px4_sim_ros.campaign.campaign_report import paths, report
from px4_sim_ros.campaign.paths import FlownPath, PathTaker

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
    assert '9 of 9 flights' in page and 'east of the start, m' in page


def test_of_many_paths_some_are_drawn():
    flown = {run: FlownPath(run, 0.1, [[0.0, 0.0, 0.0]]) for run in range(1, 1001)}
    rows = [{'run': run, 'outcome': 'failed' if run % 100 == 0 else 'held'} for run in flown]
    # 10 that failed, every fifth of the 990 that held.
    assert '208 of 1000 flights' in paths(rows, flown, COLOURS)
    assert 'flights' not in paths(rows, {}, COLOURS)
