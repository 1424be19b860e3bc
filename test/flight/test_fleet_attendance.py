# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Vehicles that join a world that flies, and leave it: as planned."""
import json

import pytest
import yaml
from commands import here, write_hop

from px4_sim_ros.recording.bag.reader import vehicles_of

INSTANCES = 19, 32, 98, 99
NAMES = 'first', 'late', 'guest', 'spare'
JOINS_S, GUEST_S = 1.5, (0.5, 2.5)

pytestmark = pytest.mark.process       # flies


@pytest.fixture(scope='module')
def hop(tmp_path_factory):
    return write_hop(tmp_path_factory.mktemp('mission'), 0.4)


@pytest.fixture(scope='module')
def fleet(hop):
    file = hop.parent / 'comers.yaml'
    entries = ({}, {'joins_at_s': JOINS_S},
               {'joins_at_s': GUEST_S[0], 'leaves_at_s': GUEST_S[1]}, {'in_reserve': True})
    file.write_text(yaml.safe_dump({'vehicles': [
        {'namespace': name, 'mission': str(hop), 'instance': instance,
         'start': {'east_m': 3.0 * i}, **entry}
        for i, (name, instance, entry) in enumerate(zip(NAMES, INSTANCES, entries))]}))
    return file


def fly(fleet, folder, *words):
    """Fly; return the summary of a flight that is recorded in `folder/bag`."""
    file = folder / 'summary.json'
    result = here('fly', '--fleet', fleet, '--summary', file, '--record', folder / 'bag', *words)
    assert result.returncode == 0, result.stderr
    return json.loads(file.read_text())


@pytest.fixture(scope='module')
def flown(fleet, tmp_path_factory):
    """Return the folder of a flight in core, and its summary."""
    folder = tmp_path_factory.mktemp('flown')
    return folder, fly(fleet, folder, '--report', folder / 'page.html')


def test_they_come_and_go_when_they_are_to(flown):
    _, summary = flown
    first, late, guest, spare = summary['fleet']
    assert [(v['joined_s'], v['left_s']) for v in summary['fleet']] == [
        (0.0, None), (JOINS_S, None), (*GUEST_S,), (None, None)]
    assert (first['landed'], late['landed'], guest['landed']) == (True, True, False)
    assert summary['repeatable'], summary['not_repeatable_because']
    # Each has answered the steps that it was there for.
    end_s = summary['sim_time_s']
    assert [v['replies'] for v in summary['fleet']] == [
        round(250 * s) for s in (end_s, end_s - JOINS_S, GUEST_S[1] - GUEST_S[0], 0)]
    stays_s = 2 * end_s - JOINS_S + GUEST_S[1] - GUEST_S[0]
    assert summary['vehicle_seconds_per_second'] == pytest.approx(
        summary['real_time_factor'] * stays_s / end_s, rel=0.01,
        abs=0.0051 * (1.0 + stays_s / end_s))          # both are rounded to hundredths
    assert {tuple(pair['vehicles']) for pair in summary['distances']} == {
        ('first', 'late'), ('first', 'guest'), ('late', 'guest')}
    assert spare['failure'] == ''


def test_the_bits_of_who_was_there_before_do_not_change(flown, hop, here, tmp_path):
    file = tmp_path / 'alone.json'
    assert here('fly', '--mode', 'core', '--mission', hop, '--instance', INSTANCES[0],
                '--summary', file).returncode == 0
    assert json.loads(file.read_text())['fingerprint'] == flown[1]['fleet'][0]['fingerprint']


# In the other modes vehicles join and leave in test_downwash_flights, and after a reset in
# test_fleet_graph.


def test_the_recording_has_them_from_when_to_when_they_were_there(flown):
    times_s = {}
    for bag in vehicles_of(flown[0] / 'bag'):
        stamps = [m.time_us for m in bag.messages() if m.topic == 'ground_truth/odom']
        times_s[bag.run.namespace] = (stamps[0] / 1e6, stamps[-1] / 1e6) if stamps else None
    assert times_s == {
        'first': (0.004, flown[1]['sim_time_s']), 'late': (1.504, flown[1]['sim_time_s']),
        'guest': (0.504, 2.5), 'spare': None}
    said = [(m.time_us, bag.decode(m).name, bag.decode(m).msg) for bag in vehicles_of(
        flown[0] / 'bag')[:1] for m in bag.messages() if m.topic == '/rosout']
    assert [it for it in said if it[1].endswith('.world')] == [
        (500_000, 'guest.world', 'it joins'), (1_500_000, 'late.world', 'it joins'),
        (2_500_000, 'guest.world', 'it leaves')]


def test_each_of_them_is_replayed(flown, here):
    result = here('replay', flown[0] / 'bag')
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count('bit-identical') == 3
    refused = here('replay', flown[0] / 'bag' / 'late', '--mode', 'composed')
    assert refused.returncode == 2
    assert 'is not there all the time; it is replayed in mode core only' in refused.stderr


def test_the_report_tells_when_they_were_there(flown):
    page = (flown[0] / 'page.html').read_text()
    assert '0.504 to 2.500' in page
    assert 'never' in page
    assert 'guest.world' in page


def test_rerun_shows_each_while_it_is_there(flown, tmp_path):
    rerun = pytest.importorskip('rerun', reason='rerun-sdk is not installed')
    from rerun.chunk import RrdReader

    from px4_sim_ros.viewing.rerun_bag import write_fleet
    stream = rerun.RecordingStream('test')
    stream.save(tmp_path / 'fleet.rrd')
    write_fleet(vehicles_of(flown[0] / 'bag'), lambda: stream)
    stream.flush(timeout_sec=10.0)
    stream.disconnect()
    points = {name: 0 for name in NAMES}
    for chunk in RrdReader(tmp_path / 'fleet.rrd').stream().to_chunks():
        name = chunk.entity_path.split('/')[1]
        if chunk.entity_path.endswith('/distance') and not chunk.is_static:
            points[name] += sum(map(bool, chunk.to_record_batch().column(
                'Scalars:scalars').to_pylist()))
    assert points['spare'] == 0 < points['guest'] < points['late'] < points['first']
