# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The benchmark works, and its parts keep their promises; no speed is tested."""
import contextlib
import json
import math
import os
import re
import signal
import socket
import subprocess
import sys
import time

import psutil
import pytest
from commands import family, interrupt, running, wait_for_line, wait_gone
from mavlink_frames import controls_frame
from pymavlink.dialects.v20 import common as mavlink
from stand_in_autopilot import StandInAutopilot

from benchmarks import ceiling
from benchmarks.__main__ import main
from benchmarks.kinds import CEILING_KIND, CEILING_ON_ALL_CORES, Kind
from benchmarks.machine import name_of
from benchmarks.results import Results, Round
from benchmarks.subscriber import VIEWED
from benchmarks.trivial_peer import Answers
from benchmarks.worlds import Window, WorkLog
from px4_sim_ros.link.hil.codec import HilEncoder
from px4_sim_ros.model.sensors.imu import ImuMeasurement
from px4_sim_ros.process.children import Child
from px4_sim_ros.spec.configuration import load_configuration

STEP_US = 4000
G = 9.80665


def command(*words):
    return [sys.executable, '-m', 'benchmarks', *map(str, words)]


def run(*words):
    return subprocess.run(command(*words), capture_output=True, text=True, timeout=240, check=False)


def frames(time_us, encoder=None):
    """Return a HIL_SENSOR of id 0."""
    return (encoder or HilEncoder()).sensor(
        time_us, ImuMeasurement(time_us, (0.0, 0.0, G), (0.0, 0.0, 0.0), 0.0, 0.0))


def parsed(data):
    """Return the messages in some bytes, of which each has to be right."""
    return mavlink.MAVLink(None).parse_buffer(data) or []      # raises for a wrong checksum


def test_what_viewers_show_is_there():
    assert set(VIEWED) < set(load_configuration(None, {}).graph.topics)


# The command

KIND = {'core': 'core/trivial', 'composed': 'composed/trivial/subscriber'}


# What looks on is flown by test-long; that a composed one starts, Ctrl-C shows.
@pytest.fixture(scope='module', params=[
    ['core'], pytest.param(['core', 'composed'], marks=pytest.mark.long)])
def measured(request, tmp_path_factory):
    """Return the modes, the table and the figures of trivial peers."""
    file = tmp_path_factory.mktemp('bench') / 'bench.json'
    result = run('--quick', *(word for mode in request.param for word in ('--only', KIND[mode])),
                 '--px4-dir', '', '--json', file)
    assert result.returncode == 0, result.stderr
    return request.param, result.stdout, json.loads(file.read_text())


@pytest.mark.process
def test_the_figures_are_there(measured):
    modes, _, figures = measured
    assert set(figures['kinds']) == {KIND[mode] for mode in modes}
    assert figures['quick']
    assert figures['machine']['cores'] == os.cpu_count()
    assert figures['calibration_us'] > 0.0
    assert all(figures['start_s'][mode]['median'] > 0.1 for mode in modes)
    for kind in figures['kinds'].values():
        least, most = kind['real_time_factor']['least'], kind['real_time_factor']['most']
        assert 0.0 < least <= kind['real_time_factor']['median'] <= most
        assert kind['misses'] == 0
        flight, = kind['rounds']
        assert flight['simulated_s'] >= 2.0
        assert flight['height_m'] > 0.1                        # the peer's vehicle flies
        assert flight['real_time_factor'] == pytest.approx(
            flight['simulated_s'] / flight['wall_s'])
        assert flight['total_us'] == pytest.approx(sum(flight['parts_us'].values()))
        assert kind['own_us']['median'] + kind['waiting_us']['median'] == pytest.approx(
            flight['total_us'])


@pytest.mark.process
def test_the_table_has_the_same_figures(measured):
    _, text, figures = measured
    factor = figures['kinds']['core/trivial']['real_time_factor']['median']
    assert re.search(rf'^core/trivial +{factor:.1f} ', text, re.M)
    assert f"{figures['machine']['cpu']}, " in text


def started(pid):
    """Return what a benchmark has started, by the names in its results."""
    names = []
    for child in family(pid):
        with contextlib.suppress(psutil.Error):      # it has just ended
            names.append(name_of(child.cmdline()))
    return names


@pytest.mark.process
def test_ctrl_c_ends_all_that_was_started():
    words = command('--quick', '--only', 'composed/trivial', '--px4-dir', '')
    with running(words) as process:
        wait_for_line(process, 'load average')
        deadline_s = time.monotonic() + 30.0
        while 'graph' not in started(process.pid):
            assert time.monotonic() < deadline_s
            time.sleep(0.05)
        children = family(process.pid)
        assert interrupt(process, signal.SIGINT) < 15.0
        assert process.returncode == 130
        assert wait_gone(children, 1.0) == []
        assert 'benchmarks: interrupted' in process.stdout.read()


@pytest.mark.parametrize(('words', 'sentence'), [
    (['--only', 'core/nobody'], "only = 'core/nobody': matches none of ceiling, ceiling/all-cores"),
    (['--only', 'core/px4'], "only = 'core/px4': needs a PX4; give its folder with --px4-dir"),
    (['--repeat', '0'], 'repeat = 0: must be at least 1'),
    (['--px4-dir', '/nowhere'], 'px4_dir = /nowhere: has no bin/px4'),
    (['--json', '/nowhere/x.json'], 'json /nowhere/x.json: its folder is missing')])
def test_bad_input_is_told_before_anything_starts(words, sentence, monkeypatch, capsys):
    monkeypatch.delenv('PX4_DIR', raising=False)
    monkeypatch.setattr(sys, 'argv', ['benchmarks', *words])
    assert main() == 2
    assert capsys.readouterr().err.startswith(f'benchmarks: {sentence}')


@pytest.mark.process
@pytest.mark.px4
def test_a_real_px4_and_its_ceiling(tmp_path):
    file = tmp_path / 'bench.json'
    result = run('--quick', '--only', 'core/px4', '--json', file)
    assert result.returncode == 0, result.stderr
    assert re.search(r'^core +[0-9.]+ +[0-9.]+$', result.stdout, re.M)
    figures = json.loads(file.read_text())
    for kind in 'ceiling', 'core/px4':
        flight, = figures['kinds'][kind]['rounds']
        assert flight['height_m'] == pytest.approx(10.0, abs=1.0)
        assert flight['misses'] == 0
    assert set(figures['kinds']['ceiling']['processes']) == {
        'monitor', 'pilot', 'ceiling', 'px4'}
    assert figures['machine']['px4']


# Figures

def test_each_part_is_measured_by_its_own_words():
    """A step of 1000 us of wall time; the parts speak at times of their own."""
    log = WorkLog()
    for k in range(0, 1001, 100):
        log.add_wall(k * STEP_US, 5.0 + k * 1e-3)
    for k in range(30, 1001, 70):
        log.add_busy('hil_bridge', k * STEP_US, k * 500e-6)
        log.add_busy('autopilot', k * STEP_US, k * 400e-6)
    for k in range(10, 1001, 90):
        log.add_busy('dynamics', k * STEP_US, k * 250e-6)
    window = Window(200 * STEP_US, 800 * STEP_US, 0.0, 800 * STEP_US)
    assert log.covers(window)
    figures = log.figures(window, STEP_US)
    assert figures.real_time_factor == pytest.approx(4.0)
    assert figures.simulated_s == pytest.approx(3.2)
    assert figures.total_us == pytest.approx(1000.0)
    assert figures.parts_us == pytest.approx(
        {'hil_bridge': 100.0, 'autopilot': 400.0, 'dynamics': 250.0, 'rest': 250.0})


def flight(factor, waiting_us=100.0):
    total_us = STEP_US / factor
    return {'real_time_factor': factor, 'total_us': total_us, 'misses': 0, 'processes': [],
            'calibration_us': 100.0, 'parts_us': {'models': 50.0, 'autopilot': waiting_us,
                         'rest': total_us - waiting_us - 50.0}}


def measured_in(*rounds):
    return Results([Round(flights) for flights in rounds])


def test_ratios_are_taken_within_a_round():
    """The machine was half as fast in the second round, which changes no ratio."""
    core, recorded = Kind('core', 'px4'), Kind('core', 'px4', True)
    both = measured_in(
        {CEILING_KIND: flight(20.0), CEILING_ON_ALL_CORES: flight(12.5),
                 core: flight(10.0), recorded: flight(8.0)},
        {CEILING_KIND: flight(10.0), CEILING_ON_ALL_CORES: flight(6.25),
                 core: flight(5.0), recorded: flight(4.0)})
    first, other, second, third = both.kinds()
    assert first.to_ceiling is other.to_ceiling is other.to_ceiling_on_all_cores is None
    assert second.to_ceiling_on_all_cores == pytest.approx((0.8, 0.8, 0.8))
    assert second.to_ceiling == (0.5, 0.5, 0.5)
    assert third.to_ceiling == pytest.approx((0.4, 0.4, 0.4))
    assert third.to_recorder_off == pytest.approx((0.8, 0.8, 0.8))
    assert second.real_time_factor == (7.5, 5.0, 10.0)
    assert second.own_us.median == pytest.approx((300.0 + 700.0) / 2)


# The trivial peer


def test_the_peer_answers_the_first_imu_only_whatever_the_pieces():
    encoder, answers = HilEncoder(), Answers(1, [0.5] * 16)
    imu = ImuMeasurement(0, (0.0, 0.0, G), (0.0, 0.0, 0.0), 0.0, 0.0)
    heartbeat = mavlink.MAVLink(None)
    data, times_us = b'', [k * STEP_US for k in range(1, 301)]
    for time_us in times_us:
        data += heartbeat.heartbeat_encode(6, 8, 0, 0, 4).pack(heartbeat)
        data += frames(time_us, encoder)
        data += encoder.sensor(time_us, imu, sensor_id=1)
    found = parsed(b''.join(answers.to(data[i:i + 37]) for i in range(0, len(data), 37)))
    assert [m.time_usec for m in found] == times_us
    assert [m.get_seq() for m in found] == [k % 256 for k in range(300)]


# The ceiling

def receive(autopilot, wanted_us):
    """Return the messages of a step."""
    found = []
    while True:
        messages = autopilot.messages()
        assert messages, 'the link has ended'
        found += messages
        if found[-1].get_type() == 'HIL_SENSOR':
            assert found[-1].time_usec == wanted_us
            return found


@pytest.fixture
def server(tmp_path, request):
    """Compile and start the server; return an autopilot, what reads its lines, and its process.

    The parameter is for how long it stays awake in a step, in s.
    """
    if ceiling.compiler() is None:
        pytest.skip('no C compiler')
    configuration = load_configuration(None, {})
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        port = probe.getsockname()[1]
    # The last word wins. The peer of a test may be slow to answer.
    words = [*ceiling.arguments(configuration), f'port={port}', 'freewheel_s=5', 'gap_s=5',
             f'awake_s={request.param}']
    lines = tmp_path / 'lines.txt'
    child = Child('the ceiling', [ceiling.build(tmp_path), *words], log=lines)
    autopilot = StandInAutopilot(port)
    yield autopilot, lambda: lines.read_text().splitlines(), psutil.Process(child.pid)
    autopilot.close()
    assert child.wait(2.0)
    assert child.exit_code == 0


@pytest.mark.process
@pytest.mark.parametrize('server', [0], indirect=True)
def test_the_ceiling_talks_as_a_simulator_does_and_flies(server):
    autopilot, lines, _ = server
    vertical, up = [], []
    for k in range(1, 501):
        time_us = k * STEP_US
        *others, sensor = receive(autopilot, time_us)
        assert [m.get_type() for m in others] == (['HIL_GPS'] if k % 25 == 0 else [])
        slow = 0x1BC0 if k % 5 == 0 else 0
        assert sensor.fields_updated == 0x3F | slow
        (vertical if k <= 250 else up).append(sensor.zacc)
        if slow:
            field = math.hypot(sensor.xmag, sensor.ymag, sensor.zmag)
            assert 0.45 < field < 0.52                     # gauss, near Zurich
            assert sensor.abs_pressure == pytest.approx(956.0, abs=2.0)
        armed = k > 250
        autopilot.send(controls_frame(
            time_us, (0.8 if armed else 0.0,) * 16, mode=129 if armed else 1))
    assert sum(vertical) / len(vertical) == pytest.approx(-G, abs=0.01)
    assert sum(up[-100:]) / 100 < -1.1 * G
    gps, = (m for m in others if m.get_type() == 'HIL_GPS')
    assert (gps.lat, gps.lon) == pytest.approx((473977420, 85455940), abs=50)
    assert gps.alt > 488_000 + 500 and gps.vd < -50
    receive(autopilot, 501 * STEP_US)                      # so the line of 2 s is there
    first, second = (line.split() for line in lines())
    assert (first[0], second[0]) == ('1000000', '2000000')
    assert float(second[3]) == pytest.approx((gps.alt - 488_000) / 1e3, abs=0.01)
    assert int(second[1]) - int(first[1]) > int(second[2]) - int(first[2]) > 0
    assert second[4] == '0'
