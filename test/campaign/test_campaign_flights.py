# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Campaigns that fly: the same flights as in processes of their own, whatever is killed."""
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import tempfile
import time

import psutil
import pytest
import yaml
from bags import largest_file
from campaigns import GROUND, campaign, folder_of
from commands import command, family, interrupt, running, wait_for_line, wait_gone
from px4_flight import NEEDS_FIFO

from px4_sim_ros.campaign import conduct as conducting
from px4_sim_ros.campaign import flown, jobs, slots
from px4_sim_ros.campaign.executors import opened
from px4_sim_ros.campaign.folder import Folder
from px4_sim_ros.campaign.jobs import Job
from px4_sim_ros.campaign.plan import Campaign
from px4_sim_ros.flight import flight
from px4_sim_ros.flight.autopilots import start_autopilot
from px4_sim_ros.flight.instances import own_instance
from px4_sim_ros.px4.sitl import REPEATABLE, Px4
from px4_sim_ros.spec.resources import config_directory

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / 'examples'
pytestmark = pytest.mark.process          # starts processes and waits

HOP = {'mission': [{'take_off': {'up_m': 1.5}}, {'land': {}}],
       'weather': {'wind': 'dryden', 'speed_m_s': 3.0},
       'expect': [{'always': {'tilt_deg': {'below': 5}}}]}


def conduct(folder, report=lambda progress: None, workers=1):
    with opened(workers) as found:
        return conducting.conduct(folder, found.executor, found.fly, found.slots, report), found


def test_a_process_that_stays_flies_what_a_process_of_its_own_flies(here, instance, tmp_path):
    """Run after run, with noise and a vehicle of their own; each row's command flies the same."""
    found = campaign(scenario=HOP, runs=2, keep_failed=0, vary={
        'weather.speed_m_s': {'uniform': [2, 6]}, 'vehicle.body.mass_kg': {'normal': [1.55, 0.05]}})
    folder = folder_of(tmp_path / 'c', found)
    outcome, _ = conduct(folder)
    rows = folder.rows()
    assert outcome.session.share_not_flying < 1.0
    assert len({row['fingerprint'] for row in rows}) == 2
    assert all(row['repeatable'] and row['mission_flown'] for row in rows)
    # The tilt shows that figures and verdicts are of the same flight.
    assert all(row['holds_1'] == (row['max_tilt_deg'] < 5) for row in rows)
    row = rows[-1]
    words = shlex.split(row['command'])[3:]
    summary = tmp_path / 'summary.json'
    flown = here(*words, '--instance', instance, '--summary', summary)
    assert flown.returncode == (0 if row['outcome'] == 'held' else 1), flown.stderr
    assert json.loads(summary.read_text())['fingerprint'] == row['fingerprint']
    again = here('campaign', 'refly', tmp_path / 'c', 2)
    assert (again.returncode, again.stdout) == (
        0, f"run 2: the same flight, fingerprint {row['fingerprint']}\n")


def test_blocks_are_looked_for_beside_the_file_that_names_them(here, tmp_path, monkeypatch):
    """From another folder: those of a scenario's file, of a vehicle's, and of the campaign's."""
    files, other = tmp_path / 'files', tmp_path / 'other'
    files.mkdir()
    other.mkdir()
    monkeypatch.chdir(other)
    shutil.copy(EXAMPLES / 'sun_sensor.py', files)
    iris = yaml.safe_load((config_directory() / 'vehicles' / 'iris.yaml').read_text())

    def sensor(name):
        return {'blocks': [{'class': 'sun_sensor.py:SunSensor', 'name': name, 'topic': name}]}
    (files / 'mine.yaml').write_text(yaml.dump(iris | sensor('of_vehicle')))
    less = GROUND | {'vehicle': '../files/mine.yaml'}
    ground = less | sensor('of_scenario')
    (files / 'ground.yaml').write_text(yaml.dump(ground))
    rows = []
    with opened(1) as found:
        for name, scenario in (
                ('named', '../files/ground.yaml'), ('within', ground), ('less', less),
                ('bare', GROUND)):
            (files / f'{name}.yaml').write_text(yaml.dump({
                'scenario': scenario, 'runs': 1,
                'vary': {'vehicle.body.mass_kg': {'table': [1.6]}}}))
            folder = folder_of(tmp_path / name, Campaign.load(f'../files/{name}.yaml'))
            conducting.conduct(folder, found.executor, found.fly, 1, lambda progress: None)
            rows += folder.rows()
    assert all(row['outcome'] == 'held' for row in rows), rows
    named, within, less, bare = (row['fingerprint'] for row in rows)
    assert named == within and len({named, less, bare}) == 3
    monkeypatch.chdir(tmp_path)
    again = here('campaign', 'refly', 'named', 1, '--allow', files / 'sun_sensor.py:SunSensor')
    assert (again.returncode, again.stdout) == (
        0, f'run 1: the same flight, fingerprint {named}\n'), again.stderr


def test_a_failed_run_leaves_its_recording_and_a_wrong_fingerprint_is_told(here, tmp_path):
    found = campaign(runs=2, vary={'weather.speed_m_s': {'table': [1, 2]}},
                     scenario=GROUND | {'expect': [{'always': {'height_m': {'above': 1}}}]},
                     keep_failed=1)
    folder = folder_of(tmp_path / 'c', found)
    conduct(folder)
    first, second = folder.rows()
    assert (first['outcome'], second['outcome']) == ('failed', 'failed')
    assert first['failure'].startswith('always height_m above 1: fails at t = 0.004000 s')
    assert here('replay', first['recording']).returncode == 0
    assert second['recording'] == '' or first['recording'] != second['recording']
    rows = tmp_path / 'c' / 'runs.jsonl'
    rows.write_text(rows.read_text().replace(second['fingerprint'], '0123456789abcdef'))
    again = here('campaign', 'refly', tmp_path / 'c', 2)
    assert (again.returncode, again.stderr) == (
        1, 'campaign: run 2: the fingerprint was 0123456789abcdef and is'
        f" {second['fingerprint']}; all versions are the same\n")


@pytest.mark.parametrize(('records', 'why'), [
    ('failed', 'File exists'), ('always', 'File too large'),
    pytest.param('always', 'File exists', marks=pytest.mark.long),
    pytest.param('failed', 'File too large', marks=pytest.mark.long)])
def test_a_recording_for_which_there_is_no_room_takes_no_verdict_away(
        here, tmp_path, records, why):
    """Two of three fail, and only what fails, or all, is to be recorded."""
    file = tmp_path / 'some.yaml'
    file.write_text(yaml.dump({
        'scenario': GROUND, 'runs': 3, 'keep_every': int(records == 'always'),
        'vary': {'expect.1.always.height_m.below': {'table': [1, -1, -2]}}}))
    folder = folder_of(tmp_path / 'c', Campaign.load(str(file)))
    if why == 'File exists':
        (tmp_path / 'c' / 'recordings').touch()
    with largest_file(75_000) if why == 'File too large' else contextlib.nullcontext():
        conduct(folder)
    rows = folder.rows()
    assert [row['outcome'] for row in rows] == ['held', 'failed', 'failed']
    assert [row['margin_1'] for row in rows] == pytest.approx([1, -1, -2])
    assert not any(row['recording'] for row in rows)
    recorded = 3 if records == 'always' else 2
    assert sum(why in row['recording_problem'] for row in rows) == recorded
    said = here('campaign', file, '--out', tmp_path / 'c')
    assert said.returncode == 0 and 'held                         1 of 3' in said.stdout
    assert said.stderr.startswith(
        f'campaign: recordings that could not be kept: {recorded}; the last: ')
    assert why in said.stderr


def test_a_worker_that_is_killed_loses_no_run_and_leaves_nothing(tmp_path, monkeypatch):
    (tmp_path / 'tmp').mkdir()
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path / 'tmp'))
    folder, killed = folder_of(tmp_path / 'c', campaign(scenario=HOP, runs=3)), []
    with opened(1) as found:
        pids = found.fly.__self__.pids

        def kill_once(progress):
            if not killed:
                assert list((tmp_path / 'tmp').iterdir())
                killed.extend(pids())
                os.kill(killed[0], signal.SIGKILL)
        outcome = conducting.conduct(folder, found.executor, found.fly, 1, kill_once)
        assert pids() != killed
    assert outcome.lost == {}
    rows = folder.rows()
    assert [row['run'] for row in rows] == [1, 2, 3]
    assert sum(row['again'] for row in rows) == 1
    assert not any(psutil.pid_exists(pid) for pid in killed)
    assert list((tmp_path / 'tmp').iterdir()) == []


HANGS = '''
import dataclasses, time
from px4_sim_ros.model.faults.sensors import SensorAction

@dataclasses.dataclass(frozen=True)
class Hangs(SensorAction):
    """The model of a sensor does not come to an end."""

    def begin(self, onset):
        return lambda time_us, measured: time.sleep(1000)
'''


def test_a_flight_that_hangs_is_given_up_and_the_others_fly(tmp_path, monkeypatch):
    (tmp_path / 'hanging.py').write_text(HANGS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv('PYTHONPATH', f"{tmp_path}:{os.environ['PYTHONPATH']}")
    monkeypatch.setattr(slots, '_GRACE_S', 0.0)
    monkeypatch.setattr(slots, '_TRIES', 1)
    hangs = GROUND | {'actions': {'hangs': 'hanging:Hangs'}, 'events': [
        {'at_s': 0.0, 'hangs': {'sensor': 'barometer'}}]}
    found = campaign(scenario=hangs, runs=3, limit_s=8.0, vary={
        'events.1.at_s': {'table': [50.0, 0.0, 50.0]}})
    outcome, _ = conduct(folder_of(tmp_path / 'c', found))
    assert [row['run'] for row in outcome.rows] == [1, 3]
    assert outcome.lost.keys() == {2}
    assert outcome.lost[2].startswith('its process has ended with exit code -')


@pytest.fixture
def flown_until_killed(tmp_path, monkeypatch):
    """Return a function that flies with an autopilot that gets a signal after a second.

    The embedded one stands in for PX4.
    """
    started = []

    def start(vehicle, folder, **more):
        started.append(start_autopilot(vehicle, folder, **more))
        return started[0]

    def spec_of(scenario, vehicle, px4, *more):
        found = jobs.spec_of(scenario, vehicle, None, *more)
        return dataclasses.replace(found, in_process=False)

    def fly(number):
        class Kills(flown._Figures):
            def add(self, situation):
                super().add(situation)
                if situation and situation.time_us == 1_000_000:
                    os.kill(started[0].pid, number)
        monkeypatch.setattr(flown, '_Figures', Kills)
        job = Job.of(campaign(scenario=HOP).run(1), ('somewhere', 'one-core'), 60.0)
        with own_instance(of_px4=False) as instance:
            return flown.fly(job, tmp_path, instance)
    monkeypatch.setattr(flown, 'spec_of', spec_of)
    monkeypatch.setattr(flight, 'start_autopilot', start)
    return fly


def test_an_autopilot_that_is_killed_from_outside_says_nothing_about_the_vehicle(
        flown_until_killed):
    with pytest.raises(flown.KilledAutopilotError, match='exit code -9: it was killed'):
        flown_until_killed(signal.SIGKILL)


def test_an_autopilot_that_crashes_has_failed(flown_until_killed):
    row = flown_until_killed(signal.SIGSEGV)
    assert row['outcome'] == 'failed'
    assert row['failure'].endswith('has ended with exit code -11')


@pytest.fixture
def file(tmp_path):
    """Return a campaign file of short flights."""
    path = tmp_path / 'hops.yaml'
    path.write_text(yaml.dump({'scenario': HOP, 'runs': 3, 'vary': {
        'weather.speed_m_s': {'uniform': [0, 6]}}}))
    return path


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGKILL])
def test_what_is_interrupted_goes_on_with_the_same_command(
        file, here, tmp_path, number):
    temporary = tmp_path / 'tmp'
    temporary.mkdir()
    words = ['campaign', file, '--out', tmp_path / 'c', '--workers', 1]
    with running(command(*words), env=os.environ | {'TMPDIR': str(temporary)}) as process:
        wait_for_line(process, 'run 1: ')
        children = family(process.pid)
        assert children
        assert interrupt(process, number) < 20
        if number != signal.SIGKILL:
            said = process.stdout.read()
            *_, flown, interrupted = said.splitlines()
            assert process.returncode == 130
            assert 'look at ' not in said
            assert flown.endswith('hold; the same command flies the others; `campaign report'
                                  f' {tmp_path}/c` makes the page')
            assert interrupted == 'campaign: interrupted'
            assert not list(temporary.iterdir())
        assert wait_gone(children, 20) == []
    before = Folder.read(tmp_path / 'c').rows()
    assert 1 <= len(before) < 3
    again = here(*words)
    assert again.returncode == 0, again.stderr
    rows = Folder.read(tmp_path / 'c').rows()
    assert [row['run'] for row in rows] == [1, 2, 3]
    assert [row for row in rows if row['run'] in {r['run'] for r in before}] == before
    assert (tmp_path / 'c' / 'report.html').stat().st_size > 1000


def test_dask_flies_the_same_and_goes_on_after_a_run_that_kills_its_workers(
        tmp_path, monkeypatch):
    """Of the run that is lost it is told why; the others have their rows."""
    distributed = pytest.importorskip('distributed')
    dask = pytest.importorskip('dask')
    killer = 2

    def fly(job):
        if job[0] == killer:
            os.kill(os.getpid(), signal.SIGKILL)
        return slots.fly(job)

    rows = {}
    # So that no other run waits on a worker that is killed: Dask takes it for guilty as well.
    monkeypatch.setattr(conducting, '_AHEAD', 1)
    # Dask tries it on four workers otherwise, each of which has to be started again.
    with dask.config.set({'distributed.scheduler.allowed-failures': 0}), distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, host='127.0.0.1',
            dashboard_address='127.0.0.1:0') as cluster:
        for scheduler in '', cluster.scheduler_address:
            found = campaign(runs=3)
            folder = folder_of(tmp_path / f'c{len(rows)}', found)
            with opened(1, scheduler) as there:
                conducting.conduct(
                    folder, there.executor, there.fly, there.slots, lambda progress: None)
                if scheduler:
                    killed = folder_of(tmp_path / 'killed', found)
                    outcome = conducting.conduct(
                        killed, there.executor, fly, there.slots, lambda progress: None)
            rows[scheduler] = [row['fingerprint'] for row in folder.rows()]
    here, by_dask = rows.values()
    assert by_dask == here
    assert outcome.lost.keys() == {killer}
    assert re.fullmatch(r'each worker of Dask that flew it was killed, lastly that at tcp:[\d./:]+',
                        outcome.lost[killer])
    there = {row['run']: row['fingerprint'] for row in killed.rows()}
    assert there == {run: here[run - 1] for run in (1, 3)}


@pytest.fixture
def px4():
    """Return a PX4 that repeats itself."""
    return str(Px4.find(os.environ['PX4_DIR'], REPEATABLE).build), REPEATABLE


@pytest.mark.px4
@NEEDS_FIFO
def test_a_px4_that_hangs_is_given_up_and_nothing_of_it_is_left(px4):
    run = campaign(scenario=HOP).run(1)
    job = Job(1, run.scenario, None, px4, 'never', '', 12.0, {})
    seen = []
    with opened(1) as found:
        future = found.executor.submit(found.fly, job)
        while not (seen := _px4_of(found.fly.__self__.pids())):
            time.sleep(0.1)
        seen[0].send_signal(signal.SIGSTOP)
        answer = future.result()
    assert answer['lost'] in (
        'the flight has hung for 12 s of wall time', 'PX4 has not connected')
    assert wait_gone(seen, 10) == []
    assert not list(_memory())


@pytest.mark.px4
@NEEDS_FIFO
def test_px4_flies_a_run_again(px4, tmp_path):
    folder = Folder.make(tmp_path / 'c', campaign(scenario=HOP, runs=1), px4)
    with opened(1) as found:
        outcome = conducting.conduct(folder, found.executor, found.fly, 1, lambda progress: None)
        assert outcome.lost == {}
        assert outcome.rows[0]['repeatable'], outcome.rows[0]
        before, now = conducting.fly_again(folder, 1, found.fly, px4)
    assert before['fingerprint'] == now['fingerprint']


def _px4_of(pids):
    found = []
    for pid in pids:
        with contextlib.suppress(psutil.NoSuchProcess):
            found += [one for one in psutil.Process(pid).children(recursive=True)
                      if one.name() == 'px4']
    return found


def _memory():
    return [name for name in os.listdir('/dev/shm') if name.startswith('px4_sim_ros_px4_')]
