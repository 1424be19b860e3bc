# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What ends a campaign loses no row, and no run has two: with runs that nobody flies."""
import concurrent.futures
import csv
import json
import re
import sys

import pytest
from bags import largest_file
from campaigns import campaign, folder_of, row_of

from px4_sim_ros.campaign import conduct as conducting
from px4_sim_ros.campaign.folder import Folder
from px4_sim_ros.campaign.jobs import Job
from px4_sim_ros.campaign.worker import answer
from px4_sim_ros.model.errors import InputWarning, ParameterError
from px4_sim_ros.recording.analysis import tables
from px4_sim_ros.recording.analysis.tables import NO_PARQUET


@pytest.fixture
def conduct():
    """Return a function that flies what has no row yet in a folder."""
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        def conduct(folder, fly=row_of, report=lambda progress: None):
            return conducting.conduct(folder, executor, fly, 2, report)
        yield conduct


def numbers(folder):
    return [row['run'] for row in folder.rows()]


def test_each_run_has_a_row_with_its_inputs_and_the_command_that_flies_it_again(conduct, tmp_path):
    folder = folder_of(tmp_path / 'c')
    outcome = conduct(folder)
    assert (outcome.session.flown, outcome.lost) == (6, {})
    rows = folder.rows()
    assert [row['run'] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [row['weather.speed_m_s'] for row in rows] == [
        folder.campaign.run(n).inputs['weather.speed_m_s'] for n in range(1, 7)]
    file = tmp_path / 'c' / 'scenarios' / 'run_000004.yaml'
    assert rows[3]['command'].endswith(f'--scenario {file} --expect 0000000000000004')
    assert f"speed_m_s: {rows[3]['weather.speed_m_s']}" in file.read_text()


def test_it_goes_on_where_it_stopped_and_no_row_is_there_twice(conduct, tmp_path):
    """Interrupted after two rows, as by Ctrl-C, and the last row written in part, as by SIGKILL."""
    folder, flown = folder_of(tmp_path / 'c'), []

    def stop(progress):
        if progress.flown == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        conduct(folder, report=stop)
    with open(tmp_path / 'c' / 'runs.jsonl', 'a') as file:
        file.write('{"run": 3, "outcome": "he')
    with pytest.warns(InputWarning, match=r'2 of 3 lines can be used; .* is line 3$'):
        before = folder.rows()
    assert len(before) == 2

    def fly(job):
        flown.append(job.number)
        return row_of(job)
    conduct(folder, fly)
    assert numbers(folder) == [1, 2, 3, 4, 5, 6]
    assert sorted(flown) == sorted({1, 2, 3, 4, 5, 6} - {row['run'] for row in before})
    assert conduct(folder).session.flown == 0


@pytest.fixture
def edited(conduct, tmp_path, here):
    """Return a function that edits the rows of a campaign as text and reads it by a command."""
    folder = folder_of(tmp_path / 'c')
    conduct(folder)
    path = tmp_path / 'c' / 'runs.jsonl'
    text = path.read_text()

    def read(edit):
        path.write_text(edit(text))
        return here('campaign', 'report', folder.path), (folder.path / 'report.html').read_text()
    return read


@pytest.mark.parametrize('edit', [
    lambda text: text + text.splitlines()[0] + '\n',                    # a run is there twice
    lambda text: text.replace('"run": 6', '"run": 7'),
    lambda text: text.replace('"run": 6', '"run": [6]'),
    lambda text: text.replace('"run": 6', '"run": 6.5'),
    lambda text: text + '[1, 2]\n', lambda text: text + '7\n', lambda text: text + '\n',
    lambda text: text + '[' * 100_000 + '\n',
    lambda text: text.replace('"outcome": "held"', '"outcome": "helt"', 1),
    lambda text: text.replace('"expect_1": "calm"', '"expect_1": 5', 1),
    lambda text: text.replace('"unit_1"', '"unit_2"', 1),
    lambda text: text.replace('"sim_time_s": 1.0', '"sim_time_s": NaN', 1),
    lambda text: text.replace('"failure": ""', r'"failure": "\ud800"', 1),
    lambda text: text.replace('"weather.speed_m_s"', '"weather.speed"', 1),
    lambda text: text[:-20]])
def test_a_row_of_another_shape_is_left_out_and_told(edit, edited):
    told, page = edited(edit)
    assert told.returncode == 0
    line, = told.stderr.splitlines()
    found = re.fullmatch(r'campaign (.*): runs.jsonl is damaged: (\d) of (\d) lines can be used;'
                         r' the first that cannot is line \d', line)
    assert int(found[2]) == int(found[3]) - 1
    assert f'<p class="warning">{line}</p>' in page
    assert f'<b>{found[2]} of 6</b>' in page


def test_paths_and_sessions_of_another_shape_are_left_out_and_told(edited, tmp_path):
    for name, line in (('paths', '[1, 2.0, [[0, 0]]]\n[1, 2.0, [[0, 0, 1e308]]]'),
                       ('sessions', '[1, 0, 0.0, 0.0, 0.0]')):
        with open(tmp_path / 'c' / f'{name}.jsonl', 'a') as file:
            file.write(line + '\n')
    told, page = edited(lambda text: text)
    assert told.returncode == 0
    assert [line.partition(': ')[2] for line in told.stderr.splitlines()] == [
        'paths.jsonl is damaged: 0 of 2 lines can be used; the first that cannot is line 1',
        'sessions.jsonl is damaged: 1 of 2 lines can be used; the first that cannot is line 2']
    assert page.count('class="warning"') == 2


def test_a_damaged_row_is_not_flown_over(conduct, tmp_path):
    folder = folder_of(tmp_path / 'c')
    (tmp_path / 'c' / 'runs.jsonl').write_text('7\n')
    with pytest.raises(ParameterError, match='is line 1; remove that line to continue'):
        conduct(folder)
    assert (tmp_path / 'c' / 'runs.jsonl').read_text() == '7\n'


@pytest.mark.parametrize('name', ['campaign.json', 'runs.jsonl', 'paths.jsonl'])
def test_a_file_without_an_end_is_not_read(name, conduct, tmp_path, here):
    conduct(folder_of(tmp_path / 'c'))
    (tmp_path / 'c' / name).unlink(missing_ok=True)
    (tmp_path / 'c' / name).symlink_to('/dev/zero')
    told = here('campaign', 'report', tmp_path / 'c')
    assert (told.returncode, told.stdout) == (2, '')
    line, = told.stderr.splitlines()
    assert line.endswith(f'{name}: is no regular file')


@pytest.mark.parametrize('plan', ['', '7', '[]', '{}', '[' * 100_000, '{"name": 1, "px4": null}',
                                  '{"name": "x", "px4": 5, "campaign": {}}',
                                  '{"name": "x", "px4": ["a"], "campaign": {}}',
                                  '{"name": "x", "px4": null, "campaign": []}'])
def test_a_plan_of_another_shape_is_refused(plan, tmp_path, here):
    (tmp_path / 'campaign.json').write_text(plan)
    told = here('campaign', 'report', tmp_path)
    assert told.returncode == 2
    line, = told.stderr.splitlines()
    assert line.startswith(f'campaign: campaign {tmp_path}')


def test_a_full_disk_loses_no_row(conduct, tmp_path):
    folder = folder_of(tmp_path / 'c')
    conduct(folder, report=lambda progress: None)
    size = (tmp_path / 'c' / 'runs.jsonl').stat().st_size
    (tmp_path / 'c' / 'runs.jsonl').write_bytes(b'')
    with largest_file(size * 2 // 3), pytest.raises(
            OSError, match=f'out {folder.path}: No space left'):
        conduct(folder)
    there = numbers(folder)
    assert 2 <= len(there) < 6
    conduct(folder)
    assert numbers(folder) == [1, 2, 3, 4, 5, 6]


def test_a_full_disk_of_a_worker_ends_it_before_it_loses_some_kinds_of_runs(conduct, tmp_path):
    folder = folder_of(tmp_path / 'c')
    run = Job.of(folder.campaign.run(3), None, 60.0, 'always', str(tmp_path / 'kept'))
    with largest_file(10):
        full = answer(json.dumps(run), 0, tmp_path)
    assert full['lost'].endswith('File too large') and full['is_full']
    with pytest.raises(OSError, match=r'^run 3: .*File too large$'):
        conduct(folder, lambda job: full if job.number == 3 else row_of(job))
    assert 3 not in numbers(folder)
    conduct(folder)
    assert numbers(folder) == [1, 2, 3, 4, 5, 6]


def test_a_run_that_is_lost_has_no_row_and_is_flown_by_the_next_command(conduct, tmp_path):
    folder, told = folder_of(tmp_path / 'c'), []

    def fly(job):
        return {'lost': 'it hangs'} if job.number == 4 else row_of(job)
    outcome = conduct(folder, fly, lambda p: told.append((p.run, p.lost)))
    assert outcome.lost == {4: 'it hangs'}
    assert (4, 'it hangs') in told and len(told) == 6
    assert numbers(folder) == [1, 2, 3, 5, 6]
    assert conduct(folder).session.flown == 1
    assert numbers(folder) == [1, 2, 3, 4, 5, 6]


def test_a_value_that_is_refused_ends_it_with_a_sentence(conduct, tmp_path):
    with pytest.raises(ParameterError, match=r'^run [1-4]: wind.speed_m_s = 3: too much$'):
        conduct(folder_of(tmp_path / 'c'), lambda job: {'refused': 'wind.speed_m_s = 3: too much'})


def test_more_runs_are_added_where_the_draws_stay(conduct, tmp_path):
    conduct(folder_of(tmp_path / 'c'))
    more = folder_of(tmp_path / 'c', campaign(runs=9))
    assert conduct(more).session.flown == 3
    assert numbers(more) == list(range(1, 10))
    conduct(folder_of(tmp_path / 'l', campaign(sampling='latin_hypercube')))
    with pytest.raises(ParameterError, match='holds a campaign with another runs; name a new'):
        folder_of(tmp_path / 'l', campaign(sampling='latin_hypercube', runs=9))


def test_another_campaign_is_refused(tmp_path):
    folder_of(tmp_path / 'c')
    with pytest.raises(ParameterError, match='holds a campaign with another seed and another vary'):
        folder_of(tmp_path / 'c', campaign(seed=2, vary={}))
    (tmp_path / 'other').mkdir()
    (tmp_path / 'other' / 'letter.txt').write_text('x')
    with pytest.raises(ParameterError, match='exists and holds no campaign'):
        folder_of(tmp_path / 'other')
    with pytest.raises(ParameterError, match=r'has no campaign\.json: No such file'):
        Folder.read(tmp_path / 'nowhere')


def test_two_processes_do_not_write_one_campaign(tmp_path):
    folder = folder_of(tmp_path / 'c')
    rows = folder.open_rows()
    with pytest.raises(ParameterError, match='another process flies this campaign'):
        folder.open_rows()
    rows.close()
    folder.open_rows().close()


def test_failed_runs_and_a_sample_are_recorded(conduct, tmp_path):
    """As many failed ones as are asked for; with one slot, the first ones."""
    folder, kept = folder_of(tmp_path / 'c', campaign(keep_failed=1, keep_every=4, runs=40)), {}

    def fly(job):
        kept[job.number] = job.records
        return row_of(job)
    conduct(folder, fly)
    assert {n for n, records in kept.items() if records == 'always'} == set(range(4, 41, 4))
    assert kept[1] == 'failed'
    assert kept[39] == 'never'


def test_no_text_of_a_table_is_a_formula(tmp_path):
    """Neither in a head; numbers stay numbers."""
    tables.write_csv(tmp_path / 'x.csv', [{
        '=a': text, 'b': -1.5, 'c': 1, 'd': None, 'e': 'a=b'}
        for text in ('=1+1', '+1', '-1', '@a', '\ta', 'calm')])
    with open(tmp_path / 'x.csv', newline='') as file:
        head, *rows = csv.reader(file)
    assert head == ["'=a", 'b', 'c', 'd', 'e']
    assert [row[0] for row in rows] == ["'=1+1", "'+1", "'-1", "'@a", "'\ta", 'calm']
    assert all(row[1:] == ['-1.5', '1', '', 'a=b'] for row in rows)


def test_the_tables_have_all_rows(conduct, tmp_path, monkeypatch):
    parquet = pytest.importorskip('pyarrow.parquet')
    folder = folder_of(tmp_path / 'c')
    conduct(folder)
    assert conducting.write_tables(folder) == []
    rows = folder.rows()
    with open(tmp_path / 'c' / 'runs.csv', newline='') as file:
        table = list(csv.DictReader(file))
    assert [int(row['run']) for row in table] == [1, 2, 3, 4, 5, 6]
    assert [float(row['margin_1']) for row in table] == [row['margin_1'] for row in rows]
    assert parquet.read_table(tmp_path / 'c' / 'runs.parquet').to_pylist() == rows
    (tmp_path / 'c' / 'runs.parquet').unlink()
    monkeypatch.setitem(sys.modules, 'pyarrow', None)
    assert conducting.write_tables(folder) == [NO_PARQUET]
    assert not (tmp_path / 'c' / 'runs.parquet').exists()
