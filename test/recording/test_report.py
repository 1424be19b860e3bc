# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The report of a flight: what is on the page, that its numbers are right, and odd bags."""
import argparse
import dataclasses
import json
import re

import bags
import numpy as np
import pytest
from report_flights import (
    Page,
    diagnostics,
    fly,
    link_state,
    log_message,
    no_measurement,
    numbers_of,
    rewritten,
)
from scipy.spatial.transform import Rotation

from px4_sim_ros.cli import report as command
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.report import plots
from px4_sim_ros.recording.report.flight_report import report

SECTIONS = [
    'path', 'events', 'motion', 'estimate', 'rotors', 'power', 'sensors', 'lockstep', 'facts']
DURATION_S = 6.0
OVERRIDES = {
    '': {'wind': 'dryden', 'instances.range_finder': 1, 'instances.airspeed': 1,
         'instances.optical_flow': 1, 'instances.visual_odometry': 1, 'instances.imu': 2},
    'imu': {'gyro_noise_density': 0.001, 'accel_noise_density': 0.01},
    'gps': {'delay_s': 0.0}}


@pytest.fixture(scope='module')
def flight(tmp_path_factory):
    """Return the folder of a bag, and the steps that are in it."""
    folder = tmp_path_factory.mktemp('report') / 'flight'
    configuration, steps = fly(folder, DURATION_S, OVERRIDES)
    return folder, configuration, steps


@pytest.fixture(scope='module')
def short(tmp_path_factory):
    """Return the folder of a bag of a second, with two IMUs."""
    folder = tmp_path_factory.mktemp('report') / 'short'
    fly(folder, 1.0, {'': {'instances.imu': 2}})
    return folder


@pytest.fixture(scope='module')
def page(flight):
    """Return the page about it."""
    return Page(report(BagReader(flight[0])))


def _statistics(page):
    """Return samples, mean, standard deviation and largest error by sensor, quantity and axis."""
    found, sensor, quantity = {}, '', ''
    for row in page.rows:
        if len(row) == 7 and row[3].isdecimal():
            sensor, quantity = row[0] or sensor, row[1] or quantity
            found[sensor, quantity, row[2]] = [float(text) for text in row[3:]]
    return found


# What is on the page


def test_page_needs_nothing_from_elsewhere(page):
    assert all(reference.startswith('#') for reference in page.references)
    assert not {'link', 'img', 'iframe', 'object', 'embed', 'base'} & set(page.tags)
    assert 'url(' not in page.styles and '@import' not in page.styles


def test_all_sections_are_there(page):
    assert page.sections == SECTIONS
    assert {r[1:] for r in page.references} == set(SECTIONS)


def test_every_axis_over_time_has_its_unit_and_shows_the_same_time(page):
    figures = page.time_figures()
    assert len(figures) == 3 + 9       # one for each sensor; there are no diagnostics
    for figure in figures:
        axes = {k: v for k, v in figure['layout'].items() if re.match('[xy]axis', k)}
        assert all(v['title']['text'] for k, v in axes.items() if k[0] == 'y')
        assert all(v['range'] == [0.0, DURATION_S] for k, v in axes.items() if k[0] == 'x')


def test_path_shows_the_mission(page):
    above = page.figures[1]
    mission = next(trace for trace in above['data'] if trace['name'] == 'mission')
    assert len(numbers_of(mission['x'])) == 5
    assert {round(x) for x in numbers_of(mission['x'])} == {0, 10}


# Its numbers


def test_facts_agree_with_the_flight(page, flight):
    _, configuration, steps = flight
    up_m = np.array([step.truth.position_enu[2] for step in steps])
    assert page.fact('greatest height over the take-off') == f'{up_m.max() - up_m[0]:.3f} m'
    assert page.fact('simulated time') == f'{DURATION_S:.3f} s'
    assert page.fact('seed') == str(configuration.world.seed)
    assert page.fact('vehicle') == 'iris'
    assert page.fact('mission') == 'square'
    assert page.fact('imu/data_raw') == page.fact('/clock') == str(len(steps))


def test_errors_agree_with_known_noise(page, flight):
    _, configuration, steps = flight
    found = _statistics(page)
    for axis in 'xyz':
        samples, mean, deviation, largest = found['imu', 'angular rate, rad/s', axis]
        noise = 0.001 / np.sqrt(configuration.world.step_us / US_PER_S)
        assert samples == len(steps)
        assert deviation == pytest.approx(noise, rel=0.06)
        assert abs(mean) < 4 * noise / np.sqrt(samples)
        assert 2.5 * noise < largest < 5 * noise
    assert found['barometer', 'height from pressure, m', 'up'][2] == pytest.approx(
        1.0 / 12.0 * configuration.nodes['barometer'].noise_pa, rel=0.2)   # 12 Pa are a metre
    assert found['range_finder', 'distance, m', 'beam'][2] == pytest.approx(0.01, rel=0.2)
    assert found['airspeed', 'differential pressure, Pa', 'forward'][2] == pytest.approx(
        1.0, rel=0.15)
    assert found['optical_flow', 'flow, rad/s', 'x'][2] == pytest.approx(0.05, rel=0.15)


def test_errors_agree_with_errors_worked_out_otherwise(page, flight):
    _, configuration, steps = flight
    latitude = np.radians(configuration.world.home_latitude_deg)
    earth_enu = configuration.world.earth_rate_rad_s * np.array(
        [0.0, np.cos(latitude), np.sin(latitude)])

    def turning_flu(truth):
        """Return how the body turns among the stars."""
        w, x, y, z = truth.attitude
        return truth.rate_flu + Rotation.from_quat([x, y, z, w]).inv().apply(earth_enu)

    rate = np.array([np.subtract(step.measurements['imu_1'].rate_flu, turning_flu(step.truth))
                     for step in steps])
    fixes = [step for step in steps if 'gps' in step.measurements]
    position = np.array([np.subtract(
        configuration.world.local_frame().to_local(step.measurements['gps'].position),
        step.truth.position_enu) for step in fixes])
    seen = [step for step in steps if 'visual_odometry' in step.measurements]
    velocity = np.array([np.subtract(
        step.measurements['visual_odometry'].velocity_flu, step.truth.velocity_flu)
        for step in seen])
    found = _statistics(page)
    for error, sensor, quantity, axes in (
            (rate, 'imu_1', 'angular rate, rad/s', 'xyz'),
            (position, 'gps', 'position, m', ('east', 'north', 'up')),
            (velocity, 'visual_odometry', 'velocity, m/s', 'xyz')):
        for column, axis in zip(error.T, axes):
            assert found[sensor, quantity, axis] == pytest.approx(
                [len(column), column.mean(), column.std(), abs(column).max()], rel=6e-3)


# Marks


def test_marks_are_on_all_plots_over_time(short, tmp_path):
    silent_us = range(200_000, 300_000, 4000)
    bag = rewritten(
        short, tmp_path / 'marked',
        lambda m: m.topic != 'imu_1/data_raw' or m.time_us not in silent_us,
        [*(no_measurement(time_us, 'imu_1') for time_us in silent_us),
         link_state(350_000, 'STALLED'), log_message(400_000, 'pilot', 'armed'),
         log_message(410_000, 'imu', 'nothing to mark'),
         *(log_message(420_000 + i, 'imu', 'too <b>hot</b>', level=30) for i in range(3)),
         diagnostics(500_000, 'gps', {'steps': 3}, level=2, sentence='no antenna')])
    page = Page(report(bag))
    events = [row[1:] for row in page.rows if len(row) == 6 and row[0].isdecimal()]
    assert ['0.200', '0.300', 'sensor', 'imu_1', 'stopped for 0.100 s'] in events
    assert ['0.350', '', 'link', 'hil_bridge', 'LOCKED to STALLED'] in events
    assert ['0.400', '', 'pilot', 'pilot', 'armed'] in events
    assert ['0.420', '', 'warning', 'imu',
            'too <b>hot</b> (3 times, lastly at 0.420 s)'] in events
    assert ['0.500', '', 'error', 'gps', 'no antenna'] in events
    assert 'nothing to mark' not in json.dumps(events)
    for figure in page.time_figures():
        rows = sum(key.startswith('yaxis') for key in figure['layout'])
        shapes = figure['layout']['shapes']
        assert sum((s['x0'], s['x1']) == (0.2, 0.3) for s in shapes) == rows
        assert sum((s['x0'], s['x1']) == (0.35, 0.35) for s in shapes) == rows
    assert _statistics(page)['imu_1', 'angular rate, rad/s', 'x'][0] == 250 - len(silent_us)


def test_low_battery_and_a_receiver_without_fix_are_marked(tmp_path):
    fly(tmp_path / 'bag', 1.0, {
        'dynamics': {'initial_charge': 0.06}, 'gps': {'fix_type': 'none'}})
    page = Page(report(BagReader(tmp_path / 'bag')))
    events = [row[1:] for row in page.rows if len(row) == 6 and row[0].isdecimal()]
    assert ['0.100', '1.000', 'sensor', 'gps', 'no fix for 0.900 s'] in events
    assert [row[4][:9] for row in events if row[2] == 'battery'] == ['below 15%', 'below 7%:']
    assert ['gps', 'position, m', 'east', '0', '-', '-', '-'] in page.rows


def test_lockstep_comes_from_differences_of_counters(short, tmp_path):
    bag = rewritten(short, tmp_path / 'counted', added=[
        message for second in range(1, 6) for message in (
            diagnostics(second * US_PER_S, 'manager', {
                'steps': 250 * second, 'sim_time_s': second, 'wall_time_s': 0.5 * second ** 2,
                'real_time_factor': f'{2 / second:.3f}', 'paced_s': 0.0,
                'busy_s': 0.01 * second}),
            diagnostics(second * US_PER_S, 'hil_bridge', {
                'steps': 250 * second, 'busy_s': 0.3 * second, 'waited_s': 0.2 * second,
                'misses': second // 4, 'unanswered': 3 * second, 'time_ratio': '1.000000',
                'seconds_LOCKED': second}))])
    page = Page(report(bag))
    figure = page.time_figures()[-1]
    lines = {trace['name']: numbers_of(trace['y']) for trace in figure['data']}
    assert lines['of the last second'] == pytest.approx(
        [1 / 0.5, 1 / 1.5, 1 / 2.5, 1 / 3.5, 1 / 4.5])
    assert lines['since the start'] == pytest.approx([2.0, 1.0, 0.667, 0.5, 0.4])
    assert lines['hil_bridge'] == pytest.approx([400.0] * 5, rel=1e-5)
    assert lines['autopilot'] == pytest.approx([800.0] * 5, rel=1e-5)
    assert lines['misses'] == [0, 0, 0, 0, 1, 1]
    assert page.fact('misses') == '1'
    assert page.fact('steps without an answer') == '15'
    assert page.fact("simulated time over the autopilot's") == '1.000'
    assert page.fact('real-time factor') == '0.40'
    assert page.fact('wall time in the states of the link') == 'LOCKED 5.00 s'


# Odd bags


@pytest.mark.parametrize('duration_us', [0, 4000, 200_000])
def test_bag_with_little_in_it_gives_a_page(tmp_path, duration_us):
    writer = bags.begin_bag(tmp_path / 'bag')
    if duration_us:
        bags.write_all(
            writer, bags.side_messages() + bags.messages_of(bags.description(), duration_us))
    writer.close()
    assert Page(report(BagReader(tmp_path / 'bag'))).sections == SECTIONS


@pytest.mark.parametrize('missing', [
    '/clock', 'ground_truth/odom', 'ground_truth/accel', 'joint_states', 'battery_state',
    'imu/data_raw', 'gps/fix', 'gps/vel', 'actuators/command'])
def test_bag_without_a_topic_gives_a_page(tmp_path, missing):
    writer = bags.begin_bag(tmp_path / 'bag', bags.description('uav1'))
    bags.write_all(writer, [m for m in bags.messages_of(bags.description('uav1'), 100_000)
                            if m.topic != missing])
    writer.close()
    assert Page(report(BagReader(tmp_path / 'bag'))).sections == SECTIONS


def test_bag_that_was_cut_off_says_so(short, tmp_path):
    rewritten(short, tmp_path / 'cut')
    path = next((tmp_path / 'cut').glob('*.mcap'))
    path.write_bytes(path.read_bytes()[:path.stat().st_size * 2 // 3])
    text = report(BagReader(tmp_path / 'cut'))
    assert re.search('class="warning">[^<]*ends too early; it was read up to t = ', text)
    assert Page(text).sections == SECTIONS


def test_text_of_the_bag_means_nothing_but_itself(short, tmp_path):
    evil = '</script><img src="http://example.org/x.png"><a href="http://example.org">'
    run = BagReader(short).run
    assert 'name: iris' in run.vehicle
    run = dataclasses.replace(
        run, vehicle=run.vehicle.replace('name: iris', f"name: '{evil}'"),
        mission=f"name: '{evil}'", versions={'x': evil}, autopilot=evil)
    bag = rewritten(short, tmp_path / 'evil', run=run, added=[
        log_message(100_000, 'pilot', evil), log_message(110_000, evil, evil, level=40),
        diagnostics(200_000, evil, {'steps': 1, evil: evil}, level=1, sentence=evil),
        link_state(210_000, evil), no_measurement(220_000, evil)])
    page = Page(report(bag))
    assert all(reference.startswith('#') for reference in page.references)
    assert page.fact('vehicle') == evil
    hovers = [a['hovertext'] for a in page.time_figures()[0]['layout']['annotations']
              if 'hovertext' in a]
    assert '&lt;img' in ''.join(hovers) and '<img' not in ''.join(hovers)


# The command


def _run(*arguments):
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.report(parser.parse_args([str(argument) for argument in arguments]))


def test_command_writes_the_page(short, tmp_path, capsys):
    path = tmp_path / 'page.html'
    assert _run(short, '-o', path) == 0
    assert path.stat().st_size < 8_000_000
    assert str(path) in capsys.readouterr().out


@pytest.mark.parametrize('bag, output', [('nothing', 'x.html'), ('flight', 'none/x.html')])
def test_command_says_what_is_wrong_in_one_sentence(short, tmp_path, here, bag, output):
    folder = short if bag == 'flight' else tmp_path / bag
    refused = here('report', folder, '-o', tmp_path / output)
    error = refused.stderr
    assert refused.returncode == 2
    assert error.startswith('report: ') and error.count('\n') == 1


# Plots show few points of many, and lose no extreme.


def test_decimation_keeps_the_extremes():
    rng = np.random.default_rng(1)
    time_s, values = np.arange(100_000) * 0.004, rng.normal(size=100_000)
    values[[12_345, 80_000]] = 50.0, -60.0
    line = plots.Line('noise', time_s, values, '#000')
    shown_s, shown = plots.drawn(line, (0.0, 400.0), 1000)
    assert 990 <= len(shown) <= 1000
    assert shown.max() == 50.0 and shown.min() == -60.0
    assert shown_s[shown.argmax()] == pytest.approx(12_345 * 0.004)
    assert (np.diff(shown_s) > 0).all()
    # Each interval of time shows its own lowest and highest.
    for values_of, shown_of in ((values[:200], shown[:2]), (values[-200:], shown[-2:])):
        assert sorted(shown_of) == pytest.approx([values_of.min(), values_of.max()])


def test_line_is_broken_in_gaps_and_where_there_is_no_number():
    time_s = np.concatenate([np.arange(0.0, 1.0, 0.01), np.arange(3.0, 4.0, 0.01)])
    values = np.ones(len(time_s))
    values[20:30] = np.inf
    _, shown = plots.drawn(plots.Line('gaps', time_s, values, '#000'), (0.0, 4.0), 1000)
    assert np.isnan(shown).sum() == 2
    assert np.isfinite(shown).sum() == 190
    _, shown = plots.drawn(plots.Line('none', time_s, values * np.nan, '#000'), (0.0, 4.0), 1000)
    assert len(shown) == 0


def test_a_touch_is_among_the_events(flight, tmp_path):
    bag = rewritten(flight[0], tmp_path / 'bag', added=[
        log_message(100_000, 'dynamics', 'touches wall with 0.74 m/s')])
    assert any('touches wall with 0.74 m/s' in row for row in Page(report(bag)).rows)
