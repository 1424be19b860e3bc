# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Several graphs on one machine: each keeps its flight, or is refused with one sentence."""
import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import time

import psutil
import pytest
from commands import (
    OTHER_CLOCK,
    command,
    family,
    interrupt,
    run,
    run_timed,
    running,
    wait_for_ends,
    wait_for_line,
    wait_gone,
    write_hop,
)
from report_flights import fly, rewritten

from px4_sim_ros.link.hil.server import port_of
from px4_sim_ros.process import domain_claim, machine_locks
from px4_sim_ros.process.machine_locks import is_claimed
from px4_sim_ros.recording.bag.run_description import RunDescription
from px4_sim_ros.spec.configuration import load_configuration

pytestmark = pytest.mark.process

INSTANCES = 93, 94, 95
DOMAIN = os.environ['ROS_DOMAIN_ID']
PATIENCE_S = 120.0


def refusal(program, pid):
    return (f'{program}: ROS_DOMAIN_ID = {DOMAIN}: a graph runs in this domain already (process'
            f' {pid}); end it, or give this one a domain of its own, such as ROS_DOMAIN_ID=')


def instance_refusal(program, instance, pid):
    return (f'{program}: instance = {instance}: another flight has it (process {pid});'
            ' end it or choose another instance\n')


def test_whoever_comes_second_is_refused_and_the_first_flies_on(
        instance, other_instance, here, tmp_path, domains):
    """It is as if nobody had come."""
    mission = tmp_path / 'long.yaml'
    mission.write_text('name: long\nitems:\n  - take_off: {up_m: 0.4}\n'
                       '  - hold: {duration_s: 10}\n  - land: {}\n')
    summary = tmp_path / 'first.json'
    with running(command('fly', '--mission', mission, '--speed-factor', 2, '--instance', instance,
                         '--summary', summary)) as flight:
        wait_for_line(flight, 'armed')
        # It still flies when the last one has come, however long that takes.
        assert here('speed', 0.02).returncode == 0
        other, took_s = run_timed('fly', '--instance', other_instance)
        assert (other.returncode, other.stdout) == (2, '')
        assert other.stderr.startswith(refusal('fly', flight.pid))
        assert other.stderr.count('\n') == 1
        assert re.search(r'=(\d+), and instance \1 if it has an autopilot\n$', other.stderr)
        assert took_s < 1.0
        # A domain of its own is not enough: the autopilots would have the same ports.
        other = run('fly', '--instance', instance, env=os.environ | {
            'ROS_DOMAIN_ID': str(domains())})
        assert (other.returncode, other.stdout) == (2, '')
        assert other.stderr == instance_refusal('fly', instance, flight.pid)
        world = subprocess.run(
            [sys.executable, '-m', 'px4_sim_ros.ros.world', '--ros-args',
             '-p', f'hil_bridge:instance:={other_instance}'], capture_output=True, text=True,
            timeout=PATIENCE_S)
        children = family(flight.pid)
        manager, = (c for c in children if 'px4_sim_ros.ros.world' in c.cmdline())
        assert world.returncode == 2
        assert world.stderr.startswith(refusal('world', manager.pid)), world.stderr
        # In one loop, without ROS, there is nobody to disturb.
        alone = here('fly', '--mode', 'core', '--mission', mission, '--instance', other_instance,
                     '--summary', tmp_path / 'alone.json')
        assert alone.returncode == 0, alone.stderr
        assert flight.poll() is None
        assert here('speed', 'max').returncode == 0
        said = flight.communicate(timeout=PATIENCE_S)[0]
        assert flight.returncode == 0, said
        assert wait_gone(children, 0.0) == []
    fingerprints = [json.loads(file.read_text())['fingerprint']
                    for file in (summary, tmp_path / 'alone.json')]
    assert fingerprints[0] == fingerprints[1]


def test_an_instance_is_of_one_flight(instance, other_instance, tmp_path, here):
    """Of three at once one flies, and whoever else wants its instance is refused as well."""
    words = command('fly', '--mode', 'core', '--mission', 'hover', '--speed-factor', 1,
                    '--instance', instance)
    with contextlib.ExitStack() as stack:
        flights = [stack.enter_context(running(words, stderr=subprocess.PIPE)) for _ in range(3)]
        refused = wait_for_ends(flights, 2)
        first, = (flight for flight in flights if flight not in refused)
        sentence = instance_refusal('fly', instance, first.pid)
        for flight in refused:
            assert (flight.returncode, *flight.communicate()) == (2, '', sentence)
        wait_for_line(first, 'armed')
        fleet = tmp_path / 'two.yaml'
        fleet.write_text('vehicles:\n' + ''.join(
            f'  - {{namespace: v{its}, instance: {its}, start: {{east_m: {its}}}}}\n'
            for its in (other_instance, instance)))
        result = here('fly', '--mode', 'core', '--fleet', fleet)
        assert (result.returncode, result.stdout, result.stderr) == (2, '', sentence)
        assert not is_claimed(other_instance)
        result, took_s = run_timed(*words[3:])
        assert (result.returncode, result.stderr) == (2, sentence) and took_s < 1.0
        assert_not_flown_again(here, instance, tmp_path, instance_refusal(
            'refly', instance, first.pid))
        interrupt(first)
        assert first.communicate()[1].endswith('fly: interrupted\n')
    assert not is_claimed(instance)


def test_a_flight_without_an_instance_takes_the_first_that_is_free(
        here, monkeypatch, tmp_path):
    """Others have instance 0 and ROS domain 0 meanwhile; the bits are the same."""
    hop = write_hop(tmp_path, 0.3)
    monkeypatch.delenv('ROS_DOMAIN_ID')
    flown = {}
    with contextlib.ExitStack() as others:
        for name in 'instance/0', '0/clock':
            # A test of another worker has it for a moment; a flight of the user may keep it.
            until_s = time.monotonic() + PATIENCE_S
            while (held := machine_locks.hold(name)) is None and time.monotonic() < until_s:
                time.sleep(0.02)
            if held is not None:
                others.enter_context(held)
        for mode in 'core', 'composed':
            summary = tmp_path / f'{mode}.json'
            result = (here if mode == 'core' else run)(
                'fly', '--mode', mode, '--mission', hop, '--summary', summary)
            assert result.returncode == 0, result.stderr
            instance = re.search(
                r'^fly: instance 0 is in use: this flight has instance ([1-9])$',
                result.stderr, re.M)
            domain = re.search(
                r'^fly: ROS domain 0 is in use: this graph has ROS_DOMAIN_ID=([1-9]\d*)$',
                result.stderr, re.M)
            assert instance and bool(domain) == (mode == 'composed'), result.stderr
            flown[mode] = json.loads(summary.read_text())['fingerprint']
    assert flown['core'] == flown['composed']


def test_who_only_looks_is_in_nobodys_way(instance, monkeypatch):
    """A flight that claims its instance or domain at the same moment would be refused."""
    with machine_locks.hold(f'instance/{instance}'):
        monkeypatch.setattr(machine_locks, 'hold', None)
        assert is_claimed(instance)
    assert not is_claimed(instance)
    domain_claim.check_unclaimed()


def assert_not_flown_again(here, instance, folder, sentence):
    """Check that `refly` is refused with a sentence, and that nothing is written."""
    fly(folder / 'flown', 0.1)
    rewritten(folder / 'flown', folder / 'bag', run=RunDescription.of(
        load_configuration(None, {'': {'mission': 'hover'}}), mode='core', autopilot='embedded'))
    before = sorted(folder.rglob('*'))
    result = here('refly', folder / 'bag', '--set', f'hil_bridge.instance={instance}',
                  '--record', folder / 'again', '--json', folder / 'figures.json',
                  '--plot', folder / 'plot.html')
    assert (result.returncode, result.stdout, result.stderr) == (2, '', sentence)
    assert sorted(folder.rglob('*')) == before


def test_refly_without_its_port_is_refused(here, instance, tmp_path):
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(('127.0.0.1', port_of(instance)))
        other.listen()
        assert_not_flown_again(here, instance, tmp_path, (
            f'refly: TCP port {port_of(instance)} is taken by {psutil.Process().name()} (process'
            f' {os.getpid()}); stop it or choose another instance\n'))


def test_a_graph_ends_beside_the_clock_of_another_simulator(instance, domains):
    environment = os.environ | {'ROS_DOMAIN_ID': str(domains())}
    world = [sys.executable, '-m', 'px4_sim_ros.ros.world', '--ros-args', '--log-level', 'warn',
             '-p', f'hil_bridge:instance:={instance}']
    with running([sys.executable, '-c', OTHER_CLOCK], env=environment) as simulator:
        wait_for_line(simulator, 'publishes')
        result = subprocess.run(
            world, capture_output=True, text=True, env=environment, timeout=PATIENCE_S)
        assert result.returncode == 1
        sentence, = result.stderr.splitlines()
        assert sentence.endswith('[manager]: /clock is published by /simulator as well; give this'
                                 ' graph a ROS_DOMAIN_ID of its own')


# That all fly is seen in each run of the tests with several workers.
@pytest.mark.parametrize('own_domains', [pytest.param(True, marks=pytest.mark.long), False])
def test_three_at_once(own_domains, hop, tmp_path, domains):
    """With domains of their own all fly; in one domain one does."""
    with contextlib.ExitStack() as stack:
        flights = []
        for i, instance in enumerate(INSTANCES):
            environment = os.environ | ({'ROS_DOMAIN_ID': str(domains())} if own_domains else {})
            flights.append(stack.enter_context(running(
                command('fly', '--mission', hop, '--instance', instance,
                        '--summary', tmp_path / f'{i}.json'),
                stderr=subprocess.PIPE, env=environment)))
        ends = [(process.communicate(timeout=PATIENCE_S)[1], process.returncode)
                for process in flights]
    flown = [i for i, (_, code) in enumerate(ends) if code == 0]
    assert len(flown) == (len(INSTANCES) if own_domains else 1), ends
    for i, (said, code) in enumerate(ends):
        if i in flown:
            summary = json.loads((tmp_path / f'{i}.json').read_text())
            assert said == '' and summary['landed']
        else:
            assert code in (1, 2) and said.count('\n') == 1
            assert f'ROS_DOMAIN_ID = {DOMAIN}: a graph runs in this domain already' in said


@pytest.mark.parametrize('mode', [
    'composed', pytest.param('separate', marks=pytest.mark.long)])
def test_stop_ends_a_flight_well(mode, instance, here, tmp_path):
    """Whoever stops it: there is a summary and a report, as after a landing."""
    words = command('fly', '--mode', mode, '--mission', 'hover', '--instance', instance,
                    '--speed-factor', 2, '--report', tmp_path / 'flight.html',
                    '--summary', tmp_path / 'summary.json')
    with running(words) as process:
        wait_for_line(process, 'armed')
        children = family(process.pid)
        assert here('stop').returncode == 0
        said = process.stdout.read()
        assert process.wait(20) == 0, said
        assert wait_gone(children, 1.0) == []
    summary = json.loads((tmp_path / 'summary.json').read_text())
    assert summary['stopped'] and not summary['mission_flown'] and summary['steps'] > 0
    assert 'stopped                      True' in said
    assert (tmp_path / 'flight.html').stat().st_size > 10_000
