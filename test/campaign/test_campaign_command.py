# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command `campaign` where something is wrong: what it says, and what it leaves."""
import concurrent.futures
import contextlib
import csv
import json
import re
import sys
import types

import pytest
import yaml
from bags import largest_file
from campaigns import GROUND, campaign, row, row_of
from report_flights import Page

from px4_sim_ros.campaign import executors
from px4_sim_ros.campaign.executors import Opened
from px4_sim_ros.campaign.folder import Folder
from px4_sim_ros.cli import campaign as command
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.px4.log import LogLoss

VARY = {'weather.speed_m_s': {'uniform': [0, 6]}, 'weather.from_deg': {'uniform': [0, 90]}}


@pytest.fixture
def flown(monkeypatch):
    """Let nobody fly; return the numbers of the runs that would have flown."""
    numbers = []

    def fly(job):
        numbers.append(job.number)
        return row_of(job)

    @contextlib.contextmanager
    def opened(workers, scheduler=''):
        with concurrent.futures.ThreadPoolExecutor(2) as executor:
            yield Opened(executor, fly, 2, '')
    monkeypatch.setattr(command, 'opened', opened)
    return numbers


@pytest.fixture
def file(tmp_path):
    path = tmp_path / 'windy.yaml'
    path.write_text(yaml.dump({'scenario': GROUND, 'runs': 12, 'vary': VARY}))
    return path


def test_a_full_disk_is_one_sentence_and_the_same_command_goes_on(
        file, flown, here, tmp_path, monkeypatch):
    words = 'campaign', file, '--out', tmp_path / 'c'
    # Modules that are loaded for the first time would be cut as well.
    monkeypatch.setattr(sys, 'dont_write_bytecode', True)
    with largest_file(4000):
        full = here(*words)
    before = Folder.read(tmp_path / 'c').rows()
    assert 1 < len(before) < 12
    held = sum(row['outcome'] == 'held' for row in before)
    assert (full.returncode, full.stderr) == (
        1, f'campaign: out {tmp_path / "c"}: No space left on device; {len(before)} of 12 runs are'
        f' flown, of which {held} hold; the same command flies the others\n')
    assert here(*words).returncode == 0
    rows = Folder.read(tmp_path / 'c').rows()
    assert [row['run'] for row in rows] == [*range(1, 13)]
    assert [row for row in rows if row['run'] in {r['run'] for r in before}] == before
    # All are flown, and there is no room for the page.
    page = (tmp_path / 'c' / 'report.html').read_bytes()
    with largest_file(100_000):
        full = here('campaign', 'report', tmp_path / 'c')
    assert (full.returncode, full.stderr) == (
        1, f'campaign: out {tmp_path / "c"}: File too large\n')
    assert (tmp_path / 'c' / 'report.html').read_bytes() == page


class Cancelled(concurrent.futures.ThreadPoolExecutor):
    """Has ended after some runs, as Dask without its scheduler has."""

    def submit(self, fn, /, job):
        future = super().submit(fn, job)
        if job.number > 3:
            future = concurrent.futures.Future()
            future.cancel()
            future.set_running_or_notify_cancel()
        return future


def test_an_executor_that_has_ended_is_one_sentence_and_the_rows_stay(
        file, flown, here, tmp_path, monkeypatch):
    @contextlib.contextmanager
    def opened(workers, scheduler=''):
        with Cancelled(1) as executor:
            yield Opened(executor, row_of, 1, '')
    words = 'campaign', file, '--out', tmp_path / 'c'
    with monkeypatch.context() as patched:
        patched.setattr(command, 'opened', opened)
        told = here(*words)
    rows = Folder.read(tmp_path / 'c').rows()
    assert 1 <= len(rows) <= 3
    assert (told.returncode, told.stderr) == (
        1, f'campaign: the executor has ended: a run was cancelled; {len(rows)} of 12 runs are'
        f" flown, of which {sum(row['outcome'] == 'held' for row in rows)} hold; the same command"
        ' flies the others\n')
    assert len((tmp_path / 'c' / 'runs.csv').read_text().splitlines()) == len(rows) + 1
    assert here(*words).returncode == 0
    assert len(Folder.read(tmp_path / 'c').rows()) == 12


def test_a_session_that_was_written_in_part_is_none(file, flown, here, tmp_path):
    assert here('campaign', file, '--out', tmp_path / 'c').returncode == 0
    sessions = tmp_path / 'c' / 'sessions.jsonl'
    sessions.write_text(sessions.read_text() + '[12, 2, 0.')
    assert here('campaign', 'report', tmp_path / 'c').returncode == 0
    assert here('campaign', file, '--runs', '14', '--out', tmp_path / 'c').returncode == 0
    assert [session.flown for session in Folder.read(tmp_path / 'c').sessions()] == [12, 2]


@pytest.mark.parametrize('text', ['{}', '[]', '7', '{"name": ', '{"name": "x", "px4": null}'])
def test_what_is_no_campaign_is_told(text, here, tmp_path):
    (tmp_path / 'campaign.json').write_text(text)
    told = here('campaign', 'report', tmp_path)
    assert (told.returncode, told.stderr) == (
        2, f'campaign: campaign {tmp_path}: campaign.json is not that of a campaign\n')


@pytest.mark.parametrize(('words', 'sentence'), [
    (['FILE', '--at-least', '99'], 'at_least = 99: must be greater than 0 and less than 1'),
    (['FILE', '--at-least', '0.99'],
     'at_least = 0.99: 12 runs cannot show it, even if all hold; 299 can'),
    (['FILE', '--at-least', 'nan'], 'at_least = nan: must be greater than 0 and less than 1'),
    *((['FILE', '--workers', count], f'workers = {count}: must be at least 1 and at most 20, which'
       ' is for how many there are ports with autopilot embedded') for count in ('0', '21')),
    *(([word, *['FILE'] * count, '--workers', '2'], 'workers = 2: is only for `campaign FILE`')
      for word, count in (('refly', 2), ('report', 1), ('compare', 2))),
    (['report', 'FILE', '--px4-dir', 'x'],
     'px4_dir = x: is only for `campaign FILE`, `campaign refly`'),
    (['FILE', '--out', '/proc/none'], 'out /proc/none: cannot be made: No such file or directory'),
])
def test_what_is_wrong_is_told_before_anything_flies(
        words, sentence, file, flown, here, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = here('campaign', *(word.replace('FILE', str(file)) for word in words))
    assert (told.returncode, told.stdout, flown) == (2, '', [])
    assert told.stderr == f'campaign: {sentence}\n'.replace('out FILE', f'out {file}')


@pytest.fixture
def px4s(tmp_path):
    """Return two folders that look like a PX4 that was built."""
    for name in 'old', 'new':
        build = tmp_path / name
        (build / 'etc').mkdir(parents=True)
        (build / 'bin').mkdir()
        (build / 'bin' / 'px4').write_text('')
        (build / 'bin' / 'px4').chmod(0o755)
    return tmp_path / 'old', tmp_path / 'new'


def test_refly_flies_with_the_px4_of_this_machine_and_names_what_differs(
        px4s, here, tmp_path, monkeypatch):
    old, new = px4s
    folder, jobs = Folder.make(tmp_path / 'c', campaign(runs=1), (str(old), 'one-core')), []
    (tmp_path / 'c' / 'runs.jsonl').write_text(json.dumps(row(**{
        'weather.speed_m_s': 0.0, 'versions': 'numba 0.68.1, numpy 2.4.6, px4 0123'})) + '\n')

    def fly(job):
        jobs.append(job.px4)
        return {'row': {'fingerprint': 'b', 'versions': 'numba 0.69.0, numpy 2.4.6, px4 4567'}}

    @contextlib.contextmanager
    def opened(workers, scheduler=''):
        yield Opened(None, fly, 1, '')
    monkeypatch.setattr(command, 'opened', opened)
    told = here('campaign', 'refly', folder.path, 1, '--px4-dir', new)
    assert (told.returncode, told.stderr) == (
        1, 'campaign: run 1: the fingerprint was a and is b; numba was 0.68.1 and is 0.69.0, px4'
        f' was 0123 and is 4567, PX4 was {old} one-core and is {new} one-core\n')
    # The folder is data: the program that it names is not started.
    monkeypatch.delenv('PX4_DIR', raising=False)
    told = here('campaign', 'refly', folder.path, 1)
    assert (told.returncode, told.stderr) == (
        2, f'campaign: px4_dir: {folder.path} was flown by {old}; --px4-dir or PX4_DIR names the'
        ' PX4 that may be started\n')
    monkeypatch.setenv('PX4_DIR', str(new))
    here('campaign', 'refly', folder.path, 1)
    assert [build for build, _ in jobs] == [str(new), str(new)]
    embedded = Folder.make(tmp_path / 'e', campaign(runs=1), None)
    told = here('campaign', 'refly', embedded.path, 1, '--px4-dir', new)
    assert (told.returncode, told.stderr) == (
        2, f'campaign: px4_dir = {new}: is for nothing: the embedded autopilot flies'
        f' {embedded.path}\n')


def test_a_cluster_without_this_package_is_refused():
    """Before anything is sent there, which Dask could not read."""
    pytest.importorskip('distributed')
    found = {'tcp://a:1': True, 'tcp://b:2': True}
    client = types.SimpleNamespace(
        run_on_scheduler=lambda find, name: find(name),
        run=lambda find, name: {at: find(name) if there else None for at, there in found.items()})
    executors._check_package(client, 'tcp://s:3')
    found['tcp://b:2'] = False
    with pytest.raises(ParameterError, match=(
            'scheduler tcp://s:3: px4_sim_ros is not installed for tcp://b:2')):
        executors._check_package(client, 'tcp://s:3')


def test_what_px4s_logs_lack_is_said_of_the_campaign(file, flown, here, tmp_path, monkeypatch):
    """In the summary, in a sentence, in columns and on the page."""
    losses = {1: (2, 3.0), 4: (1, 0.3), 6: (None, None)}       # of run 6 there is no log
    fly_one = row_of

    def fly(job):
        lost = dict(zip(LogLoss._fields, losses.get(job.number, (0, 0.0))))
        return {'row': fly_one(job)['row'] | lost, 'again': 0}
    monkeypatch.setitem(globals(), 'row_of', fly)
    result = here('campaign', file, '--out', tmp_path / 'c')
    assert re.search(r'^log_dropouts +3\nlog_lost_s +3\.3$', result.stdout, re.M)
    assert result.stderr == (
        "campaign: 2 of 12 runs: PX4's log lacks 3.3 s in 3 dropouts, because the machine was busy:"
        ' fly with --px4-schedule repeatable, or with fewer other processes\n')
    with (tmp_path / 'c' / 'runs.csv').open(newline='') as table:
        assert [(row['log_dropouts'], row['log_lost_s']) for row in csv.DictReader(table)][:6] == [
            ('2', '3.0'), *[('0', '0.0')] * 2, ('1', '0.3'), ('0', '0.0'), ('', '')]
    page = Page((tmp_path / 'c' / 'report.html').read_text())
    assert page.fact("PX4's log lacks") == '3.3 s in 3 dropouts, in 2 runs'
